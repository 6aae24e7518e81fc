//! One party's run of a job: load and connect at the same time, agree, run the protocol, write the result.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tacita_core::channel::{Channel, Traffic};
use tacita_core::{Error, Result};

use crate::agreement::handshake::{self, Greeted};
use crate::agreement::{Clients, Job, JobSpec, Known, Network, Reveal, Terms};
use crate::base::memory::Limit;
use crate::base::random::fresh_rng;
use crate::base::threads::set_threads;
use crate::base::{interrupt, text};
use crate::console::watch::Watcher;
use crate::console::{Voice, print};
use crate::identity::Identity;
use crate::jobs::answer::{Brought, Found, Told};
use crate::jobs::choose::choose;
use crate::jobs::dot::clients;
use crate::jobs::dot::pool::Place;
use crate::jobs::intersect::disk;
use crate::jobs::intersect::disk::Disk;
use crate::jobs::{intersect, learned, memory, rules};
use crate::run::meet::{Meeting, Ready};
use crate::run::report::{Report, Seconds, round};
use crate::simulate::Instructions;
use crate::table::read::ReadOptions;
use crate::transport::links::Links;
use crate::transport::{self, Peer, Shape};

/// How long a peer may be busy with itself by default: loading a table, or computing on a large one.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Everything that a party needs to run a job.
pub struct PartyRun {
    /// The job.
    pub job: JobSpec,
    /// Where it was read from, if it was.
    pub job_file: Option<PathBuf>,
    /// The party to be.
    pub me: String,
    /// Its data.
    pub source: Source,
    /// Its key pair.
    pub identity: Identity,
    /// How the two meet.
    pub meeting: Meeting,
    /// Where the result goes.
    pub output: Option<PathBuf>,
    /// Where the report goes.
    pub report: Option<PathBuf>,
    /// Where the page for readers goes, in a job that has one.
    pub html: Option<PathBuf>,
    /// Where encryptions are taken from that were made in advance.
    pub pool: Option<Place>,
    /// How long to wait for the peer.
    pub timeout: Duration,
    /// How long the peer may be connected and alive, and send or read nothing.
    pub patience: Duration,
    /// Memory that the job may use, in bytes.
    pub memory: Option<u64>,
    /// What is said meanwhile.
    pub voice: Voice,
}

/// Where a party's data comes from.
#[derive(Clone)]
pub enum Source {
    /// A table.
    File {
        /// Its path, or `-` for CSV on standard input.
        path: PathBuf,
        /// How to read it.
        options: ReadOptions,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
    },
    /// What `tacita prepare` made of a table.
    Prepared {
        /// Where it is kept.
        directory: PathBuf,
        /// The table that it must have been made of, if the user gives it again.
        check: Option<(PathBuf, ReadOptions)>,
    },
    /// A table that is sorted on disk, and intersected there.
    Disk {
        /// Its path, or `-` for CSV on standard input.
        path: PathBuf,
        /// How to read it.
        options: ReadOptions,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
        /// Where the work is kept.
        work: disk::Work,
    },
    /// Share files.
    Shares(Vec<PathBuf>),
}

impl Source {
    /// What the user gave with --input, once or several times: for the job to say what it is.
    pub fn of(job: &JobSpec, paths: Vec<PathBuf>, options: ReadOptions, allow_unreadable: bool) -> Result<Source> {
        match (job.job, <[PathBuf; 1]>::try_from(paths)) {
            (Job::Shares, Ok(paths)) => Ok(Source::Shares(paths.into())),
            (Job::Shares, Err(paths)) => Ok(Source::Shares(paths)),
            (_, Ok([path])) => Ok(Source::File { path, options, allow_unreadable }),
            (job, Err(paths)) => Err(Error::Input(format!(
                "--input is there {} times: job = \"{}\" takes one table of each party",
                paths.len(),
                job.name()
            ))),
        }
    }

    /// The same with the work on disk.
    pub fn on_disk(self, work: disk::Work) -> Result<Source> {
        match self {
            Source::File { path, options, allow_unreadable } => {
                Ok(Source::Disk { path, options, allow_unreadable, work })
            }
            _ => Err(Error::Input("--work: only a table can be on disk".into())),
        }
    }

    /// The files that are read.
    fn paths(&self) -> Vec<&Path> {
        match self {
            Source::File { path, .. } | Source::Disk { path, .. } => vec![path],
            Source::Prepared { .. } => Vec::new(),
            Source::Shares(paths) => paths.iter().map(PathBuf::as_path).collect(),
        }
    }
}

/// What a run has come to, before its connections end.
struct Done {
    found: Found,
    protocol: &'static str,
    choice: String,
    learned: Vec<String>,
    setup: Duration,
    running: Duration,
    /// Flights that no connection of this party has seen.
    further_rounds: u32,
}

impl PartyRun {
    /// The run of a party of a simulation.
    pub fn simulated(job: JobSpec, told: Instructions, voice: Voice) -> Result<PartyRun> {
        let mut meeting = Meeting {
            dials: Vec::new(),
            awaits: Vec::new(),
            listen: "127.0.0.1:0".into(),
            announce: Some(told.announce),
            shape: Shape::default(),
        };
        for name in job.peers_of(&told.party) {
            let pin = told.pins.get(name).map(|pin| pin.parse()).transpose()?;
            let pin = pin.ok_or_else(|| Error::Internal("a simulated party has no pin for its peer".into()))?;
            let peer = Peer { name: name.to_owned(), pin };
            match told.dials.get(name) {
                Some(address) => meeting.dials.push((peer, address.clone())),
                None => meeting.awaits.push(peer),
            }
        }
        let settings = told.settings;
        set_threads(settings.threads)?;
        meeting.shape = Shape { latency: Duration::from_secs_f64(settings.latency), bandwidth: settings.bandwidth };
        let voice = Voice { relayed: settings.progress, ..voice };
        let identity = Identity::load(&told.identity)?;
        let source = Source::of(&job, told.inputs, ReadOptions::default(), settings.allow_unreadable)?;
        let source = match settings.work {
            Some(directory) => {
                let (directory, identity) = (directory.join(&told.party), identity.clone());
                source.on_disk(disk::Work { directory, resume: false, memory: settings.memory, identity, voice })?
            }
            None => source,
        };
        Ok(PartyRun {
            identity,
            meeting,
            source,
            me: told.party,
            job,
            job_file: None,
            output: told.output,
            report: Some(told.report),
            html: told.html,
            pool: None,
            timeout: transport::DEFAULT_TIMEOUT,
            patience: DEFAULT_PATIENCE,
            memory: settings.memory,
            voice,
        })
    }

    /// Runs the job to its end, and prints the result in one line on standard output.
    pub fn run(self) -> Result<()> {
        let started = Instant::now();
        interrupt::install();
        if let Source::Disk { work, .. } = &self.source
            && let Some(disk) = Disk::ended(&self.job, &self.me, work)?
        {
            self.check_paths()?;
            tracing::info!("all buckets are done: what is left is to write the result");
            return self.write_ended(disk, started)?.clear();
        }
        self.announce();
        let Ready { brought, load, met, links } = match self.load_and_meet() {
            Ok(ready) => ready,
            Err(error) => return self.write_alone(error, started),
        };
        let connect = met.iter().map(|met| met.connect).max().unwrap_or_default();
        let round_trip = met.iter().map(|met| met.round_trip).max().unwrap_or_default();
        let (mut channels, greeted): (Vec<_>, Vec<_>) = met.into_iter().map(|met| (met.channel, met.greeted)).unzip();
        let done = links.guard(|| self.settle_and_run(&brought, greeted, round_trip, &mut channels, &links))?;
        let write = || interrupt::uncut(|| done.found.write(&self.job, &self.me, &brought, self.output.as_deref()));
        let output_started;
        let (traffic, result) = match self.job.reveal {
            // A share that one party cannot keep is of no use to the other: it hears of that before it is done.
            Reveal::Shares => {
                output_started = Instant::now();
                let result = links.guard(write)?;
                (links.guard(|| finish(channels))?, result)
            }
            _ => {
                let traffic = links.guard(|| finish(channels))?;
                brought.end()?;
                output_started = Instant::now();
                (traffic, write()?)
            }
        };
        let mut report = self.report_of(&brought, &done, traffic);
        report.result = result.json.clone();
        report.seconds.load = round(load);
        report.seconds.connect = round(connect);
        report.seconds.output = round(output_started.elapsed());
        report.measure(started);
        if let Some(path) = &self.report {
            report.write(path)?;
        }
        let page = self.write_page(&done.found, &report);
        self.say(&report, &result, page.is_ok())?;
        result.written?;
        brought.clear()?;
        page
    }

    /// A peer that cannot be reached is not missed by a party that was cut off after its last bucket.
    fn write_alone(&self, error: Error, started: Instant) -> Result<()> {
        let (Error::Network { peer, .. }, Source::Disk { work, .. }) = (&error, &self.source) else {
            return Err(error);
        };
        let Ok(Some(disk)) = Disk::complete(&self.job, &self.me, work) else { return Err(error) };
        self.write_ended(disk, started)?;
        tracing::warn!(
            "{error}; all buckets are done here, so the result was written without it. {} is kept, for {peer} may need this \
             party to finish: --resume goes on when it is there; else remove it",
            work.directory.display()
        );
        Ok(())
    }

    /// Writes the result of a run that was cut off after its last bucket.
    fn write_ended(&self, disk: Disk, started: Instant) -> Result<Brought> {
        let protocol = disk.protocol()?;
        let done = Done {
            found: Found::Intersect(match self.job.learns(&self.me) {
                true => intersect::Found::OnDisk,
                false => intersect::Found::Nothing,
            }),
            protocol: protocol.name(),
            choice: protocol.name().into(),
            learned: learned::sentences(&self.job, &self.me, Known::default()),
            setup: Duration::ZERO,
            running: Duration::ZERO,
            further_rounds: 0,
        };
        let brought = Brought::Intersect(intersect::Brought::Disk(Box::new(disk)));
        let output_started = Instant::now();
        let result = done.found.write(&self.job, &self.me, &brought, self.output.as_deref())?;
        let mut report = self.report_of(&brought, &done, Traffic::default());
        report.result = result.json.clone();
        report.seconds.output = round(output_started.elapsed());
        report.measure(started);
        if let Some(path) = &self.report {
            report.write(path)?;
        }
        self.say(&report, &result, false)?;
        Ok(brought)
    }

    /// Writes the page for readers, if one is wanted.
    fn write_page(&self, found: &Found, report: &Report) -> Result<()> {
        let (Some(path), Found::Rules(found)) = (&self.html, found) else { return Ok(()) };
        let known = Known { common: Some(found.named().rows.into()), ..Known::default() };
        let names = self.job.parties.names().into_iter();
        let learned = names.map(|name| (name.to_owned(), learned::sentences(&self.job, name, known)));
        let page = found.page(&self.job, &report.choice, learned.collect());
        crate::base::files::write_whole(path, page.as_bytes())
    }

    /// Where itemsets go, in a job that has them.
    fn itemsets(&self) -> Result<Option<PathBuf>> {
        let output = self.output.as_deref().filter(|_| self.job.job == Job::Rules);
        output.map_or(Ok(None), rules::itemsets_path)
    }

    /// Says what each party will learn.
    fn announce(&self) {
        for party in self.job.parties.names() {
            for sentence in learned::sentences(&self.job, party, Known::default()) {
                tracing::info!("{sentence}");
            }
        }
    }

    /// What can be checked before anything is read or sent.
    pub(crate) fn check_paths(&self) -> Result<()> {
        let party = self.job.party(&self.me)?;
        if let Some(expected) = &party.identity
            && *expected != self.identity.fingerprint()
            && self.meeting.announce.is_none()
        {
            return Err(Error::Input(format!(
                "parties.{}.identity: the job says {expected}, the identity given is {}: use the right --identity, or tell the other party",
                self.me,
                self.identity.fingerprint()
            )));
        }
        if let Some(path) = &self.html {
            if self.job.job != Job::Rules {
                return Err(Error::Input(format!(
                    "--html is for job = \"rules\", and this is \"{}\"",
                    self.job.job.name()
                )));
            }
            crate::base::files::check_writable(path)?;
        }
        let inputs = self.source.paths();
        let beside = self.itemsets()?;
        for path in inputs.iter().filter(|path| path.as_os_str() != "-") {
            std::fs::File::open(path)
                .map_err(|error| Error::Input(format!("{}: cannot read: {error}", path.display())))?;
        }
        let files = [
            ("the job file", self.job_file.as_deref()),
            ("the output", self.output.as_deref()),
            ("the itemsets", beside.as_deref()),
            ("the page", self.html.as_deref()),
            ("the report", self.report.as_deref()),
        ];
        let files = files.into_iter().filter_map(|(what, path)| Some((what, path?)));
        let files: Vec<_> = inputs.iter().map(|path| ("an input", *path)).chain(files).collect();
        crate::base::files::check_distinct(&files)?;
        match (&self.job.reveal, self.output.as_deref()) {
            (Reveal::Shares, Some(output)) if output.as_os_str() == "-" => {
                return Err(Error::Input("--output -: a share is a secret, and goes to a file of its own".into()));
            }
            (Reveal::Shares, Some(output)) => {
                if self.meeting.announce.is_none() {
                    crate::jobs::numbers::check_replaceable(output)?;
                }
                crate::base::files::check_writable(output)?;
            }
            (Reveal::Shares, None) if self.meeting.announce.is_none() => {
                return Err(Error::Input(
                    "reveal = \"shares\": give --output FILE, where this party's share is kept".into(),
                ));
            }
            (_, Some(output)) => {
                if !self.job.learns(&self.me) {
                    tracing::warn!("{} learns nothing in this job: {} will not be written", self.me, output.display());
                }
                crate::table::output::check_writable(output, None)?;
                if let Some(beside) = beside.as_deref() {
                    crate::table::output::check_writable(beside, None)?;
                }
            }
            (_, None) => (),
        }
        self.report.as_deref().map_or(Ok(()), crate::base::files::check_writable)
    }

    fn settle_and_run(
        &self,
        brought: &Brought,
        greeted: Vec<Greeted>,
        round_trip: Duration,
        channels: &mut [Channel],
        links: &Links,
    ) -> Result<Done> {
        for warning in greeted.iter().flat_map(|greeted| &greeted.warnings) {
            tracing::warn!("{warning}");
        }
        match (self.job.clients(), channels, <[Greeted; 1]>::try_from(greeted)) {
            (None, [channel], Ok([greeted])) => self.run_with_one(brought, greeted, round_trip, channel),
            (Some(roles), channels, Err(greeted)) => self.run_with_clients(&roles, brought, greeted, channels, links),
            _ => Err(Error::Internal("peers of another job".into())),
        }
    }

    fn run_with_one(
        &self,
        brought: &Brought,
        greeted: Greeted,
        round_trip: Duration,
        channel: &mut Channel,
    ) -> Result<Done> {
        let setup_started = Instant::now();
        let (job, me) = (&self.job, self.me.as_str());
        let peer_version = greeted.peer_version.clone();
        let own = brought.sizes();
        let network = Network { round_trip, bandwidth: self.meeting.shape.bandwidth };
        let choose = |theirs: &_| choose(job, me, &own, theirs, network).map(|choice| choice.chosen);
        let agreed = handshake::settle(greeted, job, me, &own, choose, channel)?;
        handshake::confirm(&agreed.session, job, me, channel)?;
        memory::check(job, me, &agreed, self.memory, channel)?;
        let setup = setup_started.elapsed();
        let things = job.things();
        tracing::info!(
            "agreed with {} ({peer_version}): {}, {} {things} here, {} there",
            channel.peer(),
            agreed.chosen,
            text::count(own.items),
            text::count(agreed.peer_sizes.items)
        );

        let protocol_started = Instant::now();
        let watcher = Watcher::start(channel.handle(), self.voice);
        let found = brought.run(job, me, &agreed, self.memory, channel, &mut fresh_rng()?);
        drop(watcher);
        let found = found?;
        Ok(Done {
            protocol: found.protocol(&agreed.chosen).name(),
            choice: agreed.chosen.to_string(),
            learned: found.learned(job, me, &agreed),
            setup,
            running: protocol_started.elapsed(),
            further_rounds: 0,
            found,
        })
    }

    fn run_with_clients(
        &self,
        roles: &Clients<'_>,
        brought: &Brought,
        greeted: Vec<Greeted>,
        channels: &mut [Channel],
        links: &Links,
    ) -> Result<Done> {
        let setup_started = Instant::now();
        let (job, me) = (&self.job, self.me.as_str());
        let Brought::Dot(brought) = brought else {
            return Err(Error::Internal("clients in another job".into()));
        };
        let rows = clients::agree(job, roles, me, brought.sizes(), greeted, channels)?;
        Limit::of(self.memory).check(clients::memory(job, roles, me, &rows)?, "split the input")?;
        let setup = setup_started.elapsed();
        tracing::info!("agreed with {}: {} rows in all", job.peers_of(me).join(", "), text::count(rows.all));

        let protocol_started = Instant::now();
        let watcher = channels.first().map(|channel| Watcher::start(channel.handle(), self.voice));
        let found = clients::run(job, roles, me, brought, &rows, channels, links);
        drop(watcher);
        Ok(Done {
            found: Found::Dot(found?),
            protocol: clients::PROTOCOL.name(),
            choice: clients::PROTOCOL.name().into(),
            learned: clients::learned(job, roles, me, Some(&rows)),
            setup,
            running: protocol_started.elapsed(),
            further_rounds: clients::rounds_of_chain(roles),
        })
    }

    fn report_of(&self, brought: &Brought, done: &Done, traffic: Traffic) -> Report {
        let job = &self.job;
        let others = job.parties.names().into_iter().filter(|name| *name != self.me);
        Report {
            job: job.job.name().into(),
            id: job.id.clone(),
            protocol: done.protocol.into(),
            security: job.security.name().into(),
            level: job.level.name().into(),
            agreement: Terms::of(job).agreement(),
            version: env!("CARGO_PKG_VERSION").into(),
            party: self.me.clone(),
            peers: others.map(str::to_owned).collect(),
            rows: brought.row_counts(),
            result: serde_json::Value::Null,
            learned: done.learned.clone(),
            bytes: traffic.into(),
            rounds: traffic.rounds + done.further_rounds,
            seconds: Seconds { setup: round(done.setup), protocol: round(done.running), ..Seconds::default() },
            cpu_seconds: 0.0,
            peak_memory: None,
            choice: done.choice.clone(),
            levels: done.found.levels().to_vec(),
            encryptions: done.found.encryptions(),
            work: brought.work(),
        }
    }

    fn say(&self, report: &Report, Told { line, written, .. }: &Told, paged: bool) -> Result<()> {
        // A table on standard output stands there alone.
        let alone = self.output.as_ref().is_some_and(|path| path.as_os_str() == "-");
        if let Some(line) = line.as_ref().filter(|_| !alone || written.is_err()) {
            print(line)?;
        }
        let output = self.output.clone().filter(|_| line.is_some() && written.is_ok());
        let beside = if output.is_some() { self.itemsets()? } else { None };
        let wrote = [output, beside, self.html.clone().filter(|_| paged)];
        let wrote: Vec<String> = wrote.into_iter().flatten().map(|path| path.display().to_string()).collect();
        tracing::info!(
            "done in {}: {} sent, {} received{}",
            text::duration(Duration::from_secs_f64(report.seconds.total)),
            text::bytes(report.bytes.sent),
            text::bytes(report.bytes.received),
            if wrote.is_empty() { String::new() } else { format!(", wrote {}", wrote.join(", ")) }
        );
        if line.is_some() && self.output.is_none() {
            match self.job.reveal {
                Reveal::Rows | Reveal::Payload => {
                    tracing::info!("the rows were not kept: run again with --output FILE")
                }
                Reveal::Frequent | Reveal::Counts => {
                    tracing::info!("the rules were not kept: run again with --output FILE");
                }
                _ => (),
            }
        }
        Ok(())
    }
}

/// Ends all connections in good order, at the same time. Returns what travelled over all of them, and the most flights of one.
fn finish(channels: Vec<Channel>) -> Result<Traffic> {
    let all = std::thread::scope(|scope| {
        let ending: Vec<_> = channels.into_iter().map(|channel| scope.spawn(move || channel.finish())).collect();
        let ended = ending.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect::<Result<Vec<_>>>()
    })?;
    let sum = |all: Traffic, one: Traffic| Traffic {
        sent: all.sent + one.sent,
        received: all.received + one.received,
        rounds: all.rounds.max(one.rounds),
    };
    Ok(all.into_iter().fold(Traffic::default(), sum))
}
