//! The subcommands, one file each.

mod approve;
mod arguments;
mod completions;
mod crosstab;
mod demo;
mod desk;
mod doctor;
mod dot;
mod help;
mod helper;
mod identity;
mod init;
mod inspect;
mod intersect;
mod key;
mod ledger;
mod pair;
mod plan;
mod policy;
mod pool;
mod prepare;
mod receipt;
mod relay;
mod results;
mod roles;
mod round;
mod rules;
mod run;
mod serve;
mod show;
mod simulate;
mod submit;
mod union;
mod wait;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use tacita_core::Result;
use tacita_node::base::text::{without_command_line, without_job_file};
use tacita_node::jobs;

use crate::console::{Log, LogOptions};

/// Joint computation on private data of several organisations.
///
/// The parties agree on a job file, and each runs `tacita run` on its own table. The parties in `reveal_to` learn the
/// result; the others learn no more than the job states. `tacita plan` prints what each party learns before any data is
/// sent.
#[derive(Parser)]
#[command(
    name = "tacita",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    args = help::flags(),
    help_template = help::template::<Command>(),
    after_help = r"Examples:
  tacita demo
  tacita plan examples/patients/job.toml \
    --rows hospital=1000000 --rows insurer=500000
  tacita simulate examples/patients/job.toml \
    --input hospital=examples/patients/hospital.csv \
    --input insurer=examples/patients/insurer.csv --output out

`tacita COMMAND --help` describes a command. docs/start.md has the first steps."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print only warnings and errors.
    #[arg(long, short, global = true, help_heading = help::GENERAL)]
    quiet: bool,
    /// Print details of each batch and connection, but never keys, items or values.
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = help::GENERAL)]
    verbose: bool,
    /// Format of messages on standard error [default: $TACITA_LOG_FORMAT, or text].
    #[arg(long, visible_alias = "log-format", global = true, value_enum, help_heading = help::GENERAL)]
    log: Option<LogForm>,
}

/// The form of what is said.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "lower")]
enum LogForm {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The form that the environment asks for.
pub fn log_form() -> Log {
    match std::env::var("TACITA_LOG_FORMAT") {
        Ok(form) if form.eq_ignore_ascii_case("json") => Log::Json,
        _ => Log::Text,
    }
}

impl From<LogForm> for Log {
    fn from(form: LogForm) -> Log {
        match form {
            LogForm::Text => Log::Text,
            LogForm::Json => Log::Json,
        }
    }
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::RunCommand>),
    Intersect(Box<intersect::IntersectOptions>),
    Union(Box<union::UnionOptions>),
    Dot(Box<dot::DotOptions>),
    Rules(Box<rules::RulesOptions>),
    Crosstab(Box<crosstab::CrosstabOptions>),
    Demo(demo::Demo),
    Init(Box<init::Init>),
    Inspect(inspect::Inspect),
    Plan(plan::PlanCommand),
    Doctor(doctor::Doctor),
    Simulate(simulate::Simulate),
    Prepare(prepare::Prepare),
    Pool(pool::PoolCommand),
    Serve(Box<serve::Serve>),
    Desk(desk::DeskCommand),
    Relay(relay::RelayCommand),
    Helper(helper::Helper),
    Submit(Box<submit::Submit>),
    Results(Box<results::ResultsCommand>),
    Round(round::RoundCommand),
    Proxy(roles::Proxy),
    Oracle(roles::Oracle),
    Database(roles::Database),
    Key(key::KeyCommand),
    Policy(policy::PolicyCommand),
    Approve(approve::Approve),
    Ledger(ledger::LedgerCommand),
    Receipt(receipt::ReceiptCommand),
    Identity(identity::IdentityCommand),
    Completions(completions::Completions),
    Man(completions::Man),
    #[command(name = SIMULATED_PARTY, hide = true)]
    SimulatedParty,
}

/// Name of the hidden command that is a party of a simulation.
const SIMULATED_PARTY: &str = "simulated-party";

/// A command line that cannot be understood, in one line: what, and what to do.
pub fn usage_error(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let (command, actions) = asked_for(std::env::args().skip(1));
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return if actions.is_empty() {
            format!("no command is given: see `{command} --help`")
        } else {
            format!("`{command}` needs an action: {}; see `{command} --help`", actions.join(" or "))
        };
    }
    if let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
        && let Some(job) = jobs::usual().find(|job| job.name() == word)
        && Cli::command().find_subcommand(word).is_none()
    {
        let does = if job.served().is_some() {
            "start its roles with `tacita proxy`, `oracle` and `database`, and `tacita submit` to it"
        } else {
            "`tacita run` it"
        };
        return format!("`{word}` is a job, not a command: write a job file with job = \"{word}\", and {does}");
    }
    // Up to the usage, which --help shows in full. The hidden command is nobody's typo.
    let text = error.render().to_string();
    let text = text.replace(
        "some similar subcommands exist: 'simulate', 'simulated-party'",
        "a similar subcommand exists: 'simulate'",
    );
    let text = text.replace(
        "some similar subcommands exist: 'simulated-party', 'simulate'",
        "a similar subcommand exists: 'simulate'",
    );
    let text = text.replace("'simulated-party'", "'simulate'");
    let text = text.trim_start_matches("error: ").lines().take_while(|line| !line.starts_with("Usage:"));
    let text: Vec<_> = text.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
    format!("{}: see `{command} --help`", text.join(" "))
}

/// The command that these arguments name, and the commands that it has itself.
fn asked_for(arguments: impl Iterator<Item = String>) -> (String, Vec<String>) {
    let mut command = Cli::command();
    let mut name = command.get_name().to_owned();
    for word in arguments.filter(|word| !word.starts_with('-')) {
        let Some(inner) = command.find_subcommand(&word).filter(|inner| !inner.is_hide_set()).cloned() else { break };
        name.push_str(&format!(" {word}"));
        command = inner;
    }
    let own = name != "tacita";
    let actions = command.get_subcommands().filter(|_| own).map(|action| action.get_name().to_owned());
    (name, actions.filter(|action| action != "help").collect())
}

/// Returns an error's text with the advice that fits the command in use: for a job file if it takes one, else for its
/// options.
pub fn fitting(text: &str) -> String {
    if takes_job_file(std::env::args().skip(1)) { without_command_line(text) } else { without_job_file(text) }
}

/// Whether the command that these arguments name takes a job file, or is a party of a simulation, whose job came from
/// one.
fn takes_job_file(arguments: impl Iterator<Item = String>) -> bool {
    let mut command = Cli::command();
    for word in arguments {
        if let Some(inner) = command.find_subcommand(&word) {
            command = inner.clone();
        }
    }
    command.get_name() == SIMULATED_PARTY || command.get_positionals().any(|argument| argument.get_id() == "job")
}

impl Cli {
    /// Returns the log settings given by the global options.
    pub fn voice(&self) -> LogOptions {
        LogOptions { quiet: self.quiet, verbose: self.verbose, log: self.log.map_or_else(log_form, Log::from) }
    }

    /// Carries the command out, and returns the exit code where that is more than success or an error.
    pub fn execute(self) -> Result<u8> {
        let voice = self.voice();
        let done = match self.command {
            Command::Simulate(command) => return command.execute(voice),
            Command::Init(command) => command.execute(),
            Command::Inspect(command) => command.execute(voice),
            Command::Plan(command) => command.execute(),
            Command::Identity(command) => command.execute(),
            Command::Run(command) => command.execute(voice),
            Command::Intersect(command) => command.execute(voice),
            Command::Union(command) => command.execute(voice),
            Command::Dot(command) => command.execute(voice),
            Command::Rules(command) => command.execute(voice),
            Command::Crosstab(command) => command.execute(voice),
            Command::Prepare(command) => command.execute(),
            Command::Serve(command) => command.execute(),
            Command::Desk(command) => command.execute(),
            Command::Relay(command) => command.execute(),
            Command::Helper(command) => command.execute(),
            Command::Proxy(command) => command.execute(),
            Command::Oracle(command) => command.execute(),
            Command::Database(command) => command.execute(),
            Command::Round(command) => command.execute(),
            Command::Key(command) => command.execute(),
            Command::Submit(command) => command.execute(voice),
            Command::Results(command) => command.execute(),
            Command::Pool(command) => command.execute(),
            Command::Policy(command) => command.execute(),
            Command::Approve(command) => command.execute(),
            Command::Ledger(command) => command.execute(),
            Command::Receipt(command) => command.execute(),
            Command::Doctor(command) => return command.execute(),
            Command::Demo(command) => return command.execute(),
            Command::Completions(command) => command.execute(),
            Command::Man(command) => command.execute(),
            Command::SimulatedParty => simulate::party(voice),
        };
        done.map(|()| 0)
    }
}
