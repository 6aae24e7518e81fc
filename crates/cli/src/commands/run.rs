//! `tacita run`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args};
use tacita_core::{Error, Result};

use super::show::show;
use super::{arguments, help};
use crate::console::{self, LogOptions};
use crate::threads::set_threads;
use tacita_node::agreement::{Ability, DiskOptions, JobSpec, OwnRows, PoolPlace, Source};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::Existing;
use tacita_node::govern::account::Governance;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::prepared;
use tacita_node::jobs::on_disk;
use tacita_node::run::addresses::meeting;
use tacita_node::run::connect::ConnectPlan;
use tacita_node::run::party::PartyRun;
use tacita_node::table::DecimalMark;
use tacita_serve::run::{check, start};

/// Run one party of a job on its own data.
///
/// Every party starts its own `tacita run` with the same job file, in any order.
#[derive(Args)]
#[command(
    mut_arg("output", |output| output.help(OUTPUT_OF_RULES)),
    after_help = r"Examples:
  tacita run job.toml --as hospital --identity id \
    --input patients.csv --output common.csv
  tacita run job.toml --as hospital --identity id \
    --input patients.parquet --output common.parquet --report report.json
  tacita run job.toml --as hospital --identity id \
    --input patients.csv --output common.csv --work work --resume")]
pub struct RunCommand {
    /// Job file, identical at every party.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Name of this party in the job file.
    #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
    me: String,
    /// Table: CSV, Parquet or Arrow, FIMI .dat for baskets, or - for CSV on standard input. Repeat it for share files.
    #[arg(long, value_name = "FILE", required_unless_present = "work", help_heading = help::INPUT)]
    input: Vec<PathBuf>,
    /// Directory for sorting a table larger than memory (jobs "intersect" and "union", reveal "rows"). Its files are
    /// encrypted under this identity, and deleted after success. A directory made by `tacita prepare` also works: omit
    /// --input, or give the same table again.
    #[arg(long, value_name = "DIR", help_heading = help::RESOURCES)]
    work: Option<PathBuf>,
    /// Resume the interrupted run in --work; the other parties must do the same.
    #[arg(long, requires = "work", help_heading = help::RESOURCES)]
    resume: bool,
    /// Address to listen on, in place of the one in the job file. Not for jobs with a relay, where no party listens.
    #[arg(long, value_name = "ADDR", help_heading = help::CONNECTION)]
    listen: Option<String>,
    /// Null words in this party's key columns, as NULL,unknown. They replace the usual ones and those of the job file.
    #[arg(long, value_name = "WORD,...", value_delimiter = ',', action = ArgAction::Set, help_heading = help::INPUT)]
    nulls: Option<Vec<String>>,
    #[command(flatten)]
    common: PartyOptions,
    #[command(flatten)]
    rows: ShownRows,
    #[command(flatten)]
    page: PageOptions,
    #[command(flatten)]
    stock: StockOptions,
}

/// Rows that the output of an intersection shows, and the columns beside them.
#[derive(Args, Default)]
#[command(next_help_heading = help::RESULT)]
pub struct ShownRows {
    /// Rows to write (job "intersect"): common; all, with a column `common`; or others, which are not common [default:
    /// the job file's setting, or common].
    #[arg(long, value_name = "WHICH")]
    keep: Option<OwnRows>,
    /// Append the canonical form of each key column, as compared (job "intersect").
    #[arg(long)]
    with_key: bool,
}

impl ShownRows {
    /// The job with what these options say in the part of `me`.
    pub fn put_into(&self, job: &mut JobSpec, me: &str) -> Result<()> {
        let Some(own) = job.parties.get_mut(me) else { return Ok(()) };
        own.show.rows = self.keep.unwrap_or(own.show.rows);
        own.show.key |= self.with_key;
        if self.keep.is_some() || self.with_key { job.check() } else { Ok(()) }
    }
}

/// The help of --output where there may be rules.
pub const OUTPUT_OF_RULES: &str = "Output file: CSV, Parquet, Arrow, JSON or .xlsx by ending; - for CSV on \
    standard output. Itemsets of rules go to NAME.itemsets.csv beside NAME.csv";

/// Additional outputs of some jobs.
#[derive(Args, Default)]
#[command(next_help_heading = help::RESULT)]
pub struct PageOptions {
    /// HTML file for a page with plots and tables (job "rules" or "crosstab").
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Stock made in advance from which some jobs can take.
#[derive(Args, Default)]
#[command(next_help_heading = help::RESOURCES)]
pub struct StockOptions {
    /// Pool to take encryptions from (job "dot" with protocol "paillier"): see `tacita pool fill`.
    #[arg(long, value_name = "DIR")]
    pool: Option<PathBuf>,
    /// Key file of the pool, if it was moved.
    #[arg(long, value_name = "FILE", requires = "pool")]
    pool_key: Option<PathBuf>,
}

/// Options of every command that runs one party.
#[derive(Args)]
pub struct PartyOptions {
    /// Directory of this party's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    pub identity: PathBuf,
    /// Output file: CSV, Parquet, Arrow, JSON or .xlsx by ending; - for CSV on standard output.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    pub output: Option<PathBuf>,
    /// JSON file for the report of the run.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    pub report: Option<PathBuf>,
    /// Overwrite existing files: the output, the files beside it, and the page.
    #[arg(long, help_heading = help::RESULT)]
    pub force: bool,
    /// Longest wait for the other parties.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = arguments::duration,
        help_heading = help::CONNECTION
    )]
    pub timeout: Duration,
    /// Longest silence of a connected party that neither sends nor reads.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30min",
        value_parser = arguments::duration,
        help_heading = help::CONNECTION
    )]
    pub patience: Duration,
    /// Memory for the job besides the table, as 4GiB [default: available memory]. With --work, memory of the whole
    /// process [default: half of it].
    #[arg(long, value_name = "SIZE", value_parser = arguments::memory, help_heading = help::RESOURCES)]
    pub memory: Option<u64>,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N", help_heading = help::RESOURCES)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub reading: arguments::ReadArguments,
    /// Decimal mark of numbers in text: , or . [default: the job file's setting, or a point].
    #[arg(long, value_name = "MARK", help_heading = help::INPUT)]
    pub decimal: Option<DecimalMark>,
    /// Continue although more than half of the keys are unreadable.
    #[arg(long, help_heading = help::INPUT)]
    pub allow_unreadable: bool,
    /// Allow breakable security levels (bits112 and paper80), and protocols that leak more than they should.
    #[arg(long, help_heading = help::PROTOCOL)]
    pub allow_insecure: bool,
    #[command(flatten)]
    pub governance: GovernanceOptions,
}

/// Receipts of a run, and what [`PolicyOptions`] say.
#[derive(Args, Default)]
#[command(next_help_heading = help::GOVERNANCE)]
pub struct GovernanceOptions {
    #[command(flatten)]
    places: PolicyOptions,
    /// File for the receipts that the parties sign for each other.
    #[arg(long, value_name = "FILE", help_heading = help::GOVERNANCE)]
    receipt: Option<PathBuf>,
}

/// Policy of the party, and the record of its runs.
#[derive(Args, Default)]
#[command(next_help_heading = help::GOVERNANCE)]
pub struct PolicyOptions {
    /// Policy that has to allow the run [default: policy.toml in the identity's directory, if there is one].
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Directory of the ledger in which the run is entered [default: the identity's directory].
    #[arg(long, value_name = "DIR")]
    ledger: Option<PathBuf>,
}

impl GovernanceOptions {
    /// The places that these options name, for a party with this identity.
    pub fn places(self, identity: &Path) -> Governance {
        Governance { receipt: self.receipt, ..self.places.at(identity) }
    }
}

impl PolicyOptions {
    /// The places that these options name, for a party with this identity.
    pub fn at(self, identity: &Path) -> Governance {
        Governance { policy: self.policy, ledger: self.ledger, ..Governance::at(identity) }
    }
}

impl RunCommand {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        let mut job = JobSpec::load(&self.job)?;
        check(&job, &self.me).map_err(|error| match (self.me.as_str(), &job.helper) {
            ("helper", Some(_)) => Error::Input(
                "--as helper: the helper is not a party; start it with `tacita helper --listen ADDR --identity \
                 DIR JOB`"
                    .into(),
            ),
            _ => error,
        })?;
        self.rows.put_into(&mut job, &self.me)?;
        if let Some(own) = job.parties.get_mut(&self.me) {
            own.decimal = self.common.decimal.or(own.decimal);
        }
        if let (Some(words), Some(party)) = (&self.nulls, job.parties.get_mut(&self.me)) {
            party.nulls = Some(arguments::words(words));
            job.check()?;
        }
        let source = match self.work.clone() {
            None => self.common.source(&job, &self.me, self.input.clone())?,
            Some(directory) => self.source_at(&job, directory, voice)?,
        };
        let meeting = meeting(&job, &self.me, self.listen.clone())?;
        self.common.run((job, Some(self.job)), self.me, source, meeting, (self.page, self.stock), voice)
    }
}

impl RunCommand {
    /// Returns the source in the directory of --work: a prepared part, or the place for a table that is sorted.
    fn source_at(&self, job: &JobSpec, directory: PathBuf, voice: LogOptions) -> Result<Source> {
        let prepared = prepared::is_in(&directory);
        if !prepared && !self.input.is_empty() {
            job.job.can(job, Ability::Disk)?;
            let (resume, memory) = (self.resume, self.common.memory);
            let identity = Identity::load(&self.common.identity)?;
            let work = DiskOptions { directory, resume, memory, identity, screen: console::screen(voice) };
            return self.common.source(job, &self.me, self.input.clone())?.on_disk(job, &self.me, work);
        }
        if !prepared && on_disk::holds_run(&directory) {
            return Err(Error::Input(format!(
                "{}: holds an unfinished run; to resume it, also give the --input that it began with",
                directory.display()
            )));
        }
        job.job.can(job, Ability::Prepared)?;
        if !prepared && self.resume {
            return Err(Error::Input(format!(
                "{}: holds neither a run to resume nor a prepared part; give --input to start a run",
                directory.display()
            )));
        }
        if self.resume {
            return Err(Error::Input(format!(
                "--resume: {} holds a prepared part, which needs no resuming; omit --resume",
                directory.display()
            )));
        }
        let options = job.reading(&self.me, self.common.reading.options());
        Ok(Source::Prepared { directory, check: self.input.first().map(|path| (path.clone(), options)) })
    }
}

impl PartyOptions {
    /// A party's files, to be read as these options say.
    pub fn source(&self, job: &JobSpec, me: &str, paths: Vec<PathBuf>) -> Result<Source> {
        let options = self.reading.options();
        Source::of(job, me, paths, options, self.allow_unreadable)
    }

    /// Runs the party.
    pub fn run(
        self,
        (job, job_file): (JobSpec, Option<PathBuf>),
        me: String,
        source: Source,
        meeting: ConnectPlan,
        (page, stock): (PageOptions, StockOptions),
        voice: LogOptions,
    ) -> Result<()> {
        set_threads(self.threads)?;
        let identity = Identity::load(&self.identity)?;
        let run = PartyRun {
            job,
            job_file,
            me,
            source,
            identity,
            meeting,
            output: self.output,
            report: self.report,
            html: page.html,
            existing: Existing::unless(self.force),
            governance: self.governance.places(&self.identity),
            pool: stock.pool.map(|directory| PoolPlace { directory, key_file: stock.pool_key }),
            timeout: self.timeout,
            patience: self.patience,
            memory: self.memory,
            screen: console::screen(voice),
            cancel: Cancel::default(),
        };
        start(run, self.allow_insecure, show)
    }
}
