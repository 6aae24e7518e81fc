//! `tacita run`

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use tacita_core::{Error, Result};

use super::arguments;
use super::show::show;
use crate::console::{self, Voice};
use crate::threads::set_threads;
use tacita_node::agreement::{Ability, JobSpec, OnDisk, OwnRows, PoolPlace, Source};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::Existing;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::{live, prepared};
use tacita_node::jobs::on_disk;
use tacita_node::run::check::check_identity;
use tacita_node::run::meet::Meeting;
use tacita_node::run::party::PartyRun;
use tacita_node::run::reach::meeting;
use tacita_node::table::DecimalMark;
use tacita_serve::helper::Hosting;

/// Run one party of a job, on its own data, with the other parties elsewhere.
#[derive(Args)]
#[command(
    mut_arg("output", |output| output.help(OUTPUT_OF_RULES)),
    after_help = "Example: tacita run job.toml --as hospital --input patients.csv --identity id --output common.csv"
)]
pub struct Run {
    /// The job file: the same at every party.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The party to be.
    #[arg(long = "as", value_name = "NAME")]
    me: String,
    /// The party's table: CSV, Parquet or Arrow; - for CSV on standard input; FIMI .dat for baskets. Or share files, each with an --input.
    #[arg(long, value_name = "FILE", required_unless_present = "work")]
    input: Vec<PathBuf>,
    /// Directory where a table larger than memory is sorted and worked on (jobs "intersect" and "union", reveal "rows"), sealed with a
    /// key that only this identity can derive; the run's files go when it has succeeded. Or a directory made by `tacita prepare`. Then
    /// leave out --input, or give the same table again.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Go on with the run that was cut off in the directory of --work; the other party does the same.
    #[arg(long, requires = "work")]
    resume: bool,
    /// Listen here rather than on the address in the job file; not in a job with a relay, where nobody listens.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Words that stand for no value in this party's key columns, as NULL,unknown, in place of the usual ones and of nulls in its part of
    /// the job file.
    #[arg(long, value_name = "WORD,...", value_delimiter = ',', action = ArgAction::Set)]
    nulls: Option<Vec<String>>,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    rows: ShownRows,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    stock: Stock,
}

/// Which rows the output of an intersection shows, and what beside them.
#[derive(Args, Default)]
pub struct ShownRows {
    /// Which of this party's rows the output has (job "intersect"): common; all, with a column `common`; or others, which are not common
    /// [default: what the job file says, or common].
    #[arg(long, value_name = "WHICH")]
    keep: Option<OwnRows>,
    /// Write the canonical form of each key column, as it was compared, behind this party's own columns (job "intersect").
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
pub const OUTPUT_OF_RULES: &str = "Where the result goes: CSV, Parquet, Arrow, JSON or .xlsx by ending; - for CSV on standard \
    output. Itemsets of rules go to NAME.itemsets.csv beside NAME.csv";

/// What some jobs can write besides.
#[derive(Args, Default)]
pub struct Page {
    /// Write a page with plots and tables to this HTML file (job "rules").
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Where some jobs can take from what was made in advance.
#[derive(Args, Default)]
pub struct Stock {
    /// Take encryptions from this pool (job "dot" with protocol "paillier"): see `tacita pool fill`.
    #[arg(long, value_name = "DIR")]
    pool: Option<PathBuf>,
    /// The file of the pool's key, if it was moved.
    #[arg(long, value_name = "FILE", requires = "pool")]
    pool_key: Option<PathBuf>,
}

/// Options of every command that runs one party.
#[derive(Args)]
pub struct Common {
    /// Directory of this party's key pair.
    #[arg(long, value_name = "DIR")]
    pub identity: PathBuf,
    /// Where the result goes: CSV, Parquet, Arrow, JSON or .xlsx by ending; - for CSV on standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a report to this JSON file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Replace files that are there: the output, what stands beside it, and the page.
    #[arg(long)]
    pub force: bool,
    /// How long to wait for the peer.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = arguments::duration)]
    pub timeout: Duration,
    /// How long the peer may be connected and alive, and neither send nor read anything.
    #[arg(long, value_name = "TIME", default_value = "30min", value_parser = arguments::duration)]
    pub patience: Duration,
    /// Memory that the job may use besides the table, as 4GiB [default: what the machine has available; with --work half of it,
    /// for all that the process takes].
    #[arg(long, value_name = "SIZE", value_parser = arguments::memory)]
    pub memory: Option<u64>,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub reading: arguments::Reading,
    /// The decimal mark of this party's numbers, where they are text: , or . [default: what the job file says, or a point].
    #[arg(long, value_name = "MARK")]
    pub decimal: Option<DecimalMark>,
    /// Go on although more than half of the keys cannot be read.
    #[arg(long)]
    pub allow_unreadable: bool,
    /// Allow levels of security that can be broken (bits112 and paper80), and protocols that tell more than they should.
    #[arg(long)]
    pub allow_insecure: bool,
}

impl Run {
    /// Carries the command out.
    pub fn execute(self, voice: Voice) -> Result<()> {
        let mut job = JobSpec::load(&self.job)?;
        job.check_run()?;
        job.party(&self.me).map_err(|error| match (self.me.as_str(), &job.helper) {
            ("helper", Some(_)) => Error::Input(
                "--as helper: the helper is no party: it is started with `tacita helper --listen ADDR --identity DIR JOB`".into(),
            ),
            _ => error,
        })?;
        self.rows.put_into(&mut job, &self.me)?;
        if let Some(own) = job.parties.get_mut(&self.me) {
            own.decimal = self.common.decimal.or(own.decimal);
        }
        live::refuse_run(&job)?;
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

impl Run {
    /// What is in the directory of --work: a part that was prepared, or the place for a table that is sorted.
    fn source_at(&self, job: &JobSpec, directory: PathBuf, voice: Voice) -> Result<Source> {
        let prepared = prepared::is_in(&directory);
        if !prepared && !self.input.is_empty() {
            job.job.can(job, Ability::Disk)?;
            let (resume, memory) = (self.resume, self.common.memory);
            let identity = Identity::load(&self.common.identity)?;
            let work = OnDisk { directory, resume, memory, identity, screen: console::screen(voice) };
            return self.common.source(job, &self.me, self.input.clone())?.on_disk(job, &self.me, work);
        }
        if !prepared && on_disk::holds_run(&directory) {
            return Err(Error::Input(format!(
                "{}: there is an unfinished run in it: give the --input that it began with, too",
                directory.display()
            )));
        }
        job.job.can(job, Ability::Prepared)?;
        if !prepared && self.resume {
            return Err(Error::Input(format!(
                "{}: there is no run in it to go on with, and no prepared part: give --input, to start one",
                directory.display()
            )));
        }
        if self.resume {
            return Err(Error::Input(format!(
                "--resume: {} is for a prepared part, which answers every run from the beginning: leave --resume out",
                directory.display()
            )));
        }
        let options = job.reading(&self.me, self.common.reading.options());
        Ok(Source::Prepared { directory, check: self.input.first().map(|path| (path.clone(), options)) })
    }
}

impl Common {
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
        mut meeting: Meeting,
        (page, stock): (Page, Stock),
        voice: Voice,
    ) -> Result<()> {
        job.check_secure(self.allow_insecure)?;
        set_threads(self.threads)?;
        let identity = Identity::load(&self.identity)?;
        let times = [self.timeout, self.patience];
        // Else the others would be served under a name that is not this party's.
        check_identity(&job, &me, &identity)?;
        let hosting = Hosting::begin(&job, &identity, &mut meeting, times)?;
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
            pool: stock.pool.map(|directory| PoolPlace { directory, key_file: stock.pool_key }),
            timeout: self.timeout,
            patience: self.patience,
            memory: self.memory,
            screen: console::screen(voice),
            cancel: Cancel::default(),
        };
        let shown = show(run);
        let hosted = hosting.map_or(Ok(()), |hosting| hosting.end(shown.is_ok()));
        shown.and(hosted)
    }
}
