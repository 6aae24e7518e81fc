//! `tacita simulate`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tacita_core::{Error, ErrorKind, Result};
use tempfile::TempDir;

use super::show::show;
use super::{arguments, help, helper, roles};
use crate::console::{self, Log, LogOptions, ParentRelay};
use crate::interrupt;
use crate::threads::set_threads;
use tacita_aggregate::simulate as aggregate;
use tacita_node::agreement::JobSpec;
use tacita_node::base::exit::exit_code;
use tacita_node::base::files::{Existing, check_output, is_read_once, scratch};
use tacita_node::base::text;
use tacita_node::run::report;
use tacita_node::run::write::all_beside;
use tacita_node::simulate::{self, HELPER, Instructions, JobText, Settings, Simulation, SimulationOutcome, simulate};
use tacita_node::table::output::Format;
use tacita_node::watch::{NoProgress, ProgressSink};

/// Run all parties of a job on this machine.
///
/// Each party is a process of its own, and all communicate over TLS on the loopback interface.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita simulate examples/patients/job.toml \
    --input hospital=examples/patients/hospital.csv \
    --input insurer=examples/patients/insurer.csv --output out
  tacita simulate examples/patients/count.toml \
    --input hospital=examples/patients/hospital.csv \
    --input insurer=examples/patients/insurer.csv \
    --latency 20ms --bandwidth 100Mbit --report report.json")]
pub struct Simulate {
    /// Job file, TOML or JSON. Addresses and identities are optional.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Table of a party, or its share files. Repeat it for every party.
    #[arg(
        long,
        value_name = "NAME=FILE",
        value_parser = arguments::named_file,
        required = true,
        help_heading = help::INPUT
    )]
    input: Vec<(String, PathBuf)>,
    #[command(flatten)]
    reading: arguments::ReadingOf,
    /// Directory for NAME.csv of each party that learns rows, rules or a number, or NAME.json with its shares.
    #[arg(long, value_name = "DIR", help_heading = help::RESULT)]
    output: Option<PathBuf>,
    /// Format of the files in --output.
    #[arg(long, value_name = "csv|parquet|arrow|json|xlsx", default_value = "csv", help_heading = help::RESULT)]
    format: Format,
    /// HTML file for a page with plots and tables (job "rules" or "crosstab").
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    html: Option<PathBuf>,
    /// JSON file for the reports of all parties.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    report: Option<PathBuf>,
    /// Overwrite existing files: results, the files beside them, and the page.
    #[arg(long, help_heading = help::RESULT)]
    force: bool,
    /// One-way latency to simulate, as 50ms.
    #[arg(long, value_name = "TIME", value_parser = arguments::latency, help_heading = help::CONNECTION)]
    latency: Option<Duration>,
    /// Bandwidth to simulate, as 100Mbit.
    #[arg(long, value_name = "RATE", value_parser = arguments::bandwidth, help_heading = help::CONNECTION)]
    bandwidth: Option<u64>,
    /// Threads of each party [default: all cores].
    #[arg(long, value_name = "N", help_heading = help::RESOURCES)]
    threads: Option<usize>,
    /// Memory of each party besides its table, as 4GiB [default: available memory].
    #[arg(long, value_name = "SIZE", value_parser = arguments::memory, help_heading = help::RESOURCES)]
    memory: Option<u64>,
    /// Directory for sorting tables larger than memory, with a subdirectory for each party (jobs "intersect" and
    /// "union", reveal "rows").
    #[arg(long, value_name = "DIR", help_heading = help::RESOURCES)]
    work: Option<PathBuf>,
    /// Storage of the databases of an aggregation, as for `tacita database`. Several [[database]] need
    /// postgresql://USER@HOST/DATABASE.
    #[arg(long, value_name = "URL", help_heading = help::RESOURCES)]
    storage: Option<String>,
    #[arg(long, hide = true)]
    resume: bool,
    /// Continue although more than half of the keys are unreadable.
    #[arg(long, help_heading = help::INPUT)]
    allow_unreadable: bool,
    /// Allow breakable security levels (bits112 and paper80), and protocols that leak more than they should.
    #[arg(long, help_heading = help::PROTOCOL)]
    allow_insecure: bool,
}

impl Simulate {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<u8> {
        let job = JobText::load(&self.job)?;
        let spec = JobSpec::parse(&job.text, job.is_json)?;
        spec.check_secure(self.allow_insecure)?;
        // What the plan warns of, but for limits, which are against a peer that nobody knows.
        for warning in spec.insecure().into_iter().chain(spec.job.warnings(&spec)) {
            tracing::warn!("{warning}");
        }
        if spec.job.name() == "aggregate" {
            return self.aggregate(job, &spec, voice);
        }
        if self.storage.is_some() {
            return Err(Error::Input("--storage: only for job = \"aggregate\"; omit it".into()));
        }
        self.reading.check(&spec)?;
        if self.resume {
            return Err(Error::Input(
                "--resume: a simulation cannot be resumed, because its parties have new identities each time; use \
                 `tacita run`"
                    .into(),
            ));
        }
        let (inputs, _spooled) = gathered(self.input)?;
        if let Some(path) = &self.html {
            check_output(path, Existing::unless(self.force))?;
        }
        if let Some(path) = &self.report {
            tacita_node::base::files::check_writable(path)?;
            let inputs = inputs.values().flatten().chain([&self.job]).map(|file| ("an input", file));
            inputs.chain(self.html.iter().map(|file| ("the page", file))).try_for_each(|(what, file)| {
                tacita_node::base::files::check_distinct(&[(what, file), ("the report", path)])
            })?;
        }
        let settings = Settings {
            latency: self.latency.unwrap_or_default().as_secs_f64(),
            bandwidth: self.bandwidth,
            allow_unreadable: self.allow_unreadable,
            threads: self.threads,
            memory: self.memory,
            work: self
                .work
                .map(std::path::absolute)
                .transpose()
                .map_err(|error| Error::Input(format!("--work: {error}")))?,
            progress: !voice.quiet,
            logged: voice.log == Log::Json,
            force: self.force,
        };
        let simulation = Simulation {
            job,
            reading: inputs.keys().map(|name| (name.clone(), self.reading.options(name))).collect(),
            inputs,
            output: self.output,
            format: self.format,
            html: self.html,
            program: program()?,
            settings,
        };
        let outcome = match simulate(&simulation, &*console::screen(voice), interrupt::calls)? {
            Ok(outcome) => outcome,
            Err(failure) => {
                tracing::error!("{}: {}", failure.party, failure.text);
                return Ok(failure.code);
            }
        };
        if let Some(path) = &self.report {
            report::write_json(path, &outcome.report)?;
        }
        print(&outcome, &JobSpec::parse(&simulation.job.text, simulation.job.is_json)?, &simulation, voice)?;
        Ok(0)
    }
}

impl Simulate {
    /// A job whose roles serve.
    fn aggregate(self, job: JobText, spec: &JobSpec, voice: LogOptions) -> Result<u8> {
        for (given, option) in [
            (self.html.is_some(), "--html"),
            (self.memory.is_some(), "--memory"),
            (self.resume, "--resume"),
            (self.latency.is_some(), "--latency"),
            (self.bandwidth.is_some(), "--bandwidth"),
        ] {
            if given {
                return Err(Error::Input(format!("{option}: not for a simulation of job = \"aggregate\"; omit it")));
            }
        }
        if let Some(path) = &self.report {
            tacita_node::base::files::check_writable(path)?;
        }
        let (inputs, _spooled) = gathered(self.input)?;
        let simulation = aggregate::RoundSimulation {
            job,
            reading: inputs.keys().map(|name| (name.clone(), self.reading.options(name))).collect(),
            inputs,
            output: self.output,
            ending: self.format.ending(),
            existing: Existing::unless(self.force),
            allow_unreadable: self.allow_unreadable,
            threads: self.threads,
            at_once: std::thread::available_parallelism().map_or(2, |cores| cores.get()) + 1,
            storage: roles::storage(self.storage)?,
            directory: self.work,
            logged: voice.log == Log::Json,
            program: program()?,
        };
        let outcome = match aggregate::simulate(&simulation, &NoProgress, interrupt::calls)? {
            Ok(outcome) => outcome,
            // All of them are interrupted.
            Err(failure) if failure.code == exit_code(ErrorKind::Interrupted) => return Err(Error::Interrupted),
            Err(failure) => {
                tracing::error!("{}: {}", failure.party, failure.text);
                return Ok(failure.code);
            }
        };
        if let Some(path) = &self.report {
            report::write_json(path, &outcome.report)?;
        }
        let same = outcome.printed.windows(2).all(|pair| pair[0].1 == pair[1].1);
        for (place, (name, lines)) in outcome.printed.iter().enumerate() {
            for line in lines {
                if !same {
                    console::print(format_args!("{name}: {line}"))?
                } else if place == 0 {
                    console::print(line)?
                }
            }
        }
        for (_, role) in outcome.report["roles"].as_object().into_iter().flatten() {
            let bytes = |way: &str| text::bytes(role["bytes"][way].as_u64().unwrap_or_default());
            let cpu = Duration::from_secs_f64(role["cpu_seconds"].as_f64().unwrap_or_default());
            tracing::info!(
                "{}: {} sent, {} received, {} of CPU",
                role["name"].as_str().unwrap_or_default(),
                bytes("sent"),
                bytes("received"),
                text::duration(cpu)
            );
        }
        if let Some(output) = &simulation.output {
            let wrote = outcome.printed.iter().map(|(name, _)| output.join(format!("{name}.{}", simulation.ending)));
            let wrote: Vec<String> = wrote.take(3).map(|path| path.display().to_string()).collect();
            let more = outcome.printed.len().saturating_sub(wrote.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            tracing::info!("{}: wrote {}{more}", spec.id, wrote.join(", "));
        }
        Ok(0)
    }
}

/// The files of each party.
type Inputs = BTreeMap<String, Vec<PathBuf>>;

/// Inputs by party. What can be read only once is copied for the process that reads it, into a directory that goes with
/// the value.
fn gathered(given: Vec<(String, PathBuf)>) -> Result<(Inputs, Option<TempDir>)> {
    let (mut inputs, mut spooled) = (Inputs::new(), None);
    for (place, (name, file)) in given.iter().enumerate() {
        let mut file = file.clone();
        if is_read_once(&file) {
            if given[..place].iter().any(|(_, other)| *other == file) {
                return Err(Error::Input(format!(
                    "--input {name}={}: can be read only once; give each party a file of its own",
                    file.display()
                )));
            }
            let failed = |error: std::io::Error| Error::Input(format!("--input {name}={}: {error}", file.display()));
            let directory = match &spooled {
                Some(directory) => directory,
                None => spooled.insert(scratch()?),
            };
            let copy = directory.path().join(format!("input-{place}.csv"));
            let mut from: Box<dyn std::io::Read> = if file.as_os_str() == "-" {
                Box::new(std::io::stdin())
            } else {
                Box::new(std::fs::File::open(&file).map_err(failed)?)
            };
            std::io::copy(&mut from, &mut std::fs::File::create_new(&copy).map_err(failed)?).map_err(failed)?;
            file = copy;
        }
        inputs.entry(name.clone()).or_default().push(file);
    }
    Ok((inputs, spooled))
}

/// Returns the path of this program, which every simulated party runs.
pub fn program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| Error::Internal(format!("cannot find this program: {error}")))
}

/// The parties' results: once where all say the same, else with their names.
fn print(outcome: &SimulationOutcome, job: &JobSpec, simulation: &Simulation, voice: LogOptions) -> Result<()> {
    let speakers: Vec<_> = outcome.printed.iter().filter(|(_, lines)| !lines.is_empty()).collect();
    let same = speakers.windows(2).all(|pair| pair[0].1 == pair[1].1);
    for (position, (name, lines)) in speakers.iter().enumerate() {
        for line in lines {
            if !same {
                console::print(format_args!("{name}: {line}"))?
            } else if position == 0 {
                console::print(line)?
            }
        }
    }
    if voice.quiet {
        return Ok(());
    }
    for (name, party) in outcome.report["parties"].as_object().into_iter().flatten() {
        let output = simulation.output_of(job, name);
        let output = output.filter(|path| path.exists() && !party["result"].is_null());
        let beside = output.as_deref().map_or(Ok(Vec::new()), |output| all_beside(job, output))?;
        let beside = beside.into_iter().map(|(_, path)| path);
        // The first party writes the page.
        let page = simulation.html.clone().filter(|_| Some(&name.as_str()) == job.parties.names().first());
        let wrote: Vec<String> =
            output.into_iter().chain(beside).chain(page).map(|path| path.display().to_string()).collect();
        tracing::info!(
            "{name}: {} sent, {} received, {} of CPU{}",
            text::bytes(party["bytes"]["sent"].as_u64().unwrap_or_default()),
            text::bytes(party["bytes"]["received"].as_u64().unwrap_or_default()),
            text::duration(Duration::from_secs_f64(party["cpu_seconds"].as_f64().unwrap_or_default())),
            if wrote.is_empty() { String::new() } else { format!(", wrote {}", wrote.join(", ")) }
        );
    }
    Ok(())
}

/// One party of a simulation, as its parent process instructs it on standard input.
pub fn party(voice: LogOptions) -> Result<()> {
    // A simulation that is killed takes its parties with it.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    let instructions: Instructions = serde_json::from_reader(std::io::stdin().lock())
        .map_err(|_| Error::Input("`simulated-party` is only for `tacita simulate`".into()))?;
    let job = JobSpec::parse(&instructions.job.text, instructions.job.is_json)?;
    set_threads(instructions.settings.threads)?;
    let screen: Arc<dyn ProgressSink> =
        if instructions.settings.progress { Arc::new(ParentRelay) } else { console::screen(voice) };
    if instructions.party == HELPER {
        return helper::simulated(&job, instructions);
    }
    show(simulate::party(job, instructions, screen)?)
}
