//! One party's run of a job: load and connect at the same time, agree, run the protocol, write the result.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::channel::{Channel, Handle};
use tacita_core::{Error, Result};

use crate::agree::{self, Greeted};
use crate::answer::{self, Brought, Found, Told};
use crate::choose::{Network, choose};
use crate::console::{Voice, print};
use crate::identity::{Fingerprint, Identity};
use crate::job::{Job, JobSpec, Reveal, Terms};
use crate::pool::{Place, Pool};
use crate::report::{Report, Seconds, round};
use crate::simulate::Instructions;
use crate::table::read::ReadOptions;
use crate::transport::{self, Cancel, Connected, Peer, Shape};
use crate::watch::Watcher;
use crate::{interrupt, learned, rules, text};

/// How long a peer may be busy with itself by default: loading a table, or computing on a large one.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(30 * 60);

/// How long a party that cannot go on waits for its peer, to tell it: a little longer than the pauses between two
/// attempts of one that dials.
const WORTH_WAITING: Duration = Duration::from_millis(1300);

/// How often a party that loads its table looks whether the peer is still there.
const PEER_LOOK: Duration = Duration::from_millis(200);

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

    /// The files that are read.
    fn paths(&self) -> Vec<&Path> {
        match self {
            Source::File { path, .. } => vec![path],
            Source::Prepared { .. } => Vec::new(),
            Source::Shares(paths) => paths.iter().map(PathBuf::as_path).collect(),
        }
    }
}

/// How the two parties meet.
pub struct Meeting {
    /// The peer's fingerprint.
    pub pin: Fingerprint,
    /// Dial this address; absent: listen.
    pub dial: Option<String>,
    /// Listen here.
    pub listen: String,
    /// Write the address that is listened on to this file.
    pub announce: Option<PathBuf>,
    /// Latency and bandwidth to imitate.
    pub shape: Shape,
}

/// What the connecting and the loading thread report.
enum Event {
    Loaded(Box<Result<Brought>>, Duration),
    Met(Box<Result<Met>>),
}

/// A peer that is connected and has the same terms.
struct Met {
    channel: Channel,
    greeted: Greeted,
    connect: Duration,
    round_trip: Duration,
}

impl PartyRun {
    /// The run of a party of a simulation.
    pub fn simulated(job: JobSpec, told: Instructions, voice: Voice) -> Result<PartyRun> {
        let peer = job.peer_of(&told.party).to_owned();
        let pin = told.pins.get(&peer).map(|pin| pin.parse()).transpose()?;
        let settings = told.settings;
        set_threads(settings.threads)?;
        let shape = Shape { latency: Duration::from_secs_f64(settings.latency), bandwidth: settings.bandwidth };
        Ok(PartyRun {
            identity: Identity::load(&told.identity)?,
            meeting: Meeting {
                pin: pin.ok_or_else(|| Error::Internal("a simulated party has no pin for its peer".into()))?,
                dial: told.dial,
                listen: "127.0.0.1:0".into(),
                announce: Some(told.announce),
                shape,
            },
            source: Source::of(&job, told.inputs, ReadOptions::default(), settings.allow_unreadable)?,
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
            voice: Voice { relayed: settings.progress, ..voice },
        })
    }

    /// Runs the job to its end, and prints the result in one line on standard output.
    pub fn run(self) -> Result<()> {
        let started = Instant::now();
        interrupt::install();
        self.announce();
        let (brought, load, met) = self.load_and_meet()?;
        let (mut channel, connect) = (met.channel, met.connect);
        let setup_started = Instant::now();
        let done = self.settle_and_run(&brought, met.greeted, met.round_trip, &mut channel, setup_started);
        let (found, mut report) = match done {
            Ok(done) => done,
            Err(error) => {
                channel.abort(&error);
                return Err(error);
            }
        };
        let write = || interrupt::uncut(|| found.write(&self.job, &self.me, &brought, self.output.as_deref()));
        let output_started;
        let (traffic, result) = match self.job.reveal {
            // A share that one party cannot keep is of no use to the other: it hears of that before it is done.
            Reveal::Shares => {
                output_started = Instant::now();
                match write() {
                    Ok(result) => (channel.finish()?, result),
                    Err(error) => {
                        channel.abort(&error);
                        return Err(error);
                    }
                }
            }
            _ => {
                let traffic = channel.finish()?;
                output_started = Instant::now();
                (traffic, write()?)
            }
        };
        report.bytes = traffic.into();
        report.rounds = traffic.rounds;
        report.result = result.json.clone();
        report.seconds.load = round(load);
        report.seconds.connect = round(connect);
        report.seconds.output = round(output_started.elapsed());
        report.measure(started);
        if let Some(path) = &self.report {
            report.write(path)?;
        }
        let page = self.write_page(&found, &report);
        self.say(&report, &result, page.is_ok())?;
        result.written?;
        page
    }

    /// Writes the page for readers, if one is wanted.
    fn write_page(&self, found: &Found, report: &Report) -> Result<()> {
        let (Some(path), Found::Rules(found)) = (&self.html, found) else { return Ok(()) };
        let known = learned::Known { common: Some(found.named().rows.into()), ..learned::Known::default() };
        let names = self.job.parties.names().into_iter();
        let learned = names.map(|name| (name.to_owned(), learned::sentences(&self.job, name, known)));
        let page = found.page(&self.job, &report.choice, learned.collect());
        crate::files::write_whole(path, page.as_bytes())
    }

    /// Where itemsets go, in a job that has them.
    fn itemsets(&self) -> Result<Option<PathBuf>> {
        let output = self.output.as_deref().filter(|_| self.job.job == Job::Rules);
        output.map_or(Ok(None), rules::itemsets_path)
    }

    /// Says what each party will learn.
    fn announce(&self) {
        for party in self.job.parties.names() {
            for sentence in learned::sentences(&self.job, party, learned::Known::default()) {
                tracing::info!("{sentence}");
            }
        }
    }

    /// What can be checked before anything is read or sent.
    fn check_paths(&self) -> Result<()> {
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
            crate::files::check_writable(path)?;
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
        crate::files::check_distinct(&files)?;
        match (&self.job.reveal, self.output.as_deref()) {
            (Reveal::Shares, Some(output)) if output.as_os_str() == "-" => {
                return Err(Error::Input("--output -: a share is a secret, and goes to a file of its own".into()));
            }
            (Reveal::Shares, Some(output)) => {
                if self.meeting.announce.is_none() {
                    crate::shares::check_replaceable(output)?;
                }
                crate::files::check_writable(output)?;
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
        self.report.as_deref().map_or(Ok(()), crate::files::check_writable)
    }

    /// Loads the table and meets the peer, at the same time. Whichever fails first ends both.
    fn load_and_meet(&self) -> Result<(Brought, Duration, Met)> {
        let listener = self.listener()?;
        let (cancel, connected) = (Cancel::default(), Mutex::new(None));
        std::thread::scope(|scope| {
            let (events, reported) = mpsc::channel();
            let (loading, meeting) = (events.clone(), events);
            let (job, me, source) = (self.job.clone(), self.me.clone(), self.source.clone());
            let place = self.pool.clone();
            // Not of the scope: when meeting the peer fails, nobody waits for a table that is no longer needed.
            let checked = self.check_paths();
            std::thread::spawn(move || {
                let started = Instant::now();
                let loaded = checked.and_then(|()| {
                    let pool = place.map(|place| Pool::open(&place, &job)).transpose()?;
                    Brought::load(&job, &me, &source)?.with_pool(pool)
                });
                let _ = loading.send(Event::Loaded(Box::new(loaded), started.elapsed()));
            });
            let (cancelled, handle) = (&cancel, &connected);
            scope.spawn(move || {
                let met = self.meet(listener, cancelled, handle);
                let _ = meeting.send(Event::Met(Box::new(met)));
            });
            let (mut brought, mut met) = (None, None);
            loop {
                match reported.recv_timeout(PEER_LOOK) {
                    Ok(Event::Met(peer)) => met = Some((*peer)?),
                    Ok(Event::Loaded(loaded, time)) => match *loaded {
                        Ok(loaded) => brought = Some((loaded, time)),
                        Err(error) => {
                            self.tell(&error, &connected);
                            cancel.cancel();
                            return Err(error);
                        }
                    },
                    Err(RecvTimeoutError::Timeout) => {
                        // A peer that goes away while the table is being loaded is noticed now.
                        if let Some(failure) = lock(&connected).as_ref().and_then(Handle::failure) {
                            return Err(failure);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Error::Internal("loading or connecting ended without a word".into()));
                    }
                }
                if let (Some(_), Some(_)) = (&brought, &met)
                    && let (Some((brought, load)), Some(met)) = (brought.take(), met.take())
                {
                    return Ok((brought, load, met));
                }
            }
        })
    }

    /// Tells the peer that this party cannot go on. A peer that is about to connect, or that waits to be dialed, is
    /// worth a moment: else it would wait in vain until its time-out.
    fn tell(&self, error: &Error, connected: &Mutex<Option<Handle>>) {
        let until = Instant::now() + WORTH_WAITING.min(self.timeout);
        loop {
            if let Some(channel) = lock(connected).as_ref() {
                channel.interrupt(error.clone());
                return;
            }
            if Instant::now() >= until {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn listener(&self) -> Result<Option<TcpListener>> {
        if self.meeting.dial.is_some() {
            return Ok(None);
        }
        let address = &self.meeting.listen;
        let bad = |error: std::io::Error| {
            Error::Input(format!("cannot listen on {address}: {error}: give another address with --listen"))
        };
        let listener = TcpListener::bind(address).map_err(bad)?;
        if let Some(path) = &self.meeting.announce {
            let local = listener.local_addr().map_err(bad)?.to_string();
            crate::files::write_whole(path, local.as_bytes())?;
        }
        Ok(Some(listener))
    }

    /// Connects, authenticates and compares terms.
    fn meet(&self, listener: Option<TcpListener>, cancel: &Cancel, connected: &Mutex<Option<Handle>>) -> Result<Met> {
        let started = Instant::now();
        let peer = Peer { name: self.job.peer_of(&self.me).to_owned(), pin: self.meeting.pin };
        let options = transport::Options {
            timeout: self.timeout,
            shape: self.meeting.shape,
            cancel: cancel.clone(),
            ..transport::Options::default()
        };
        let Connected { mut channel, exporter, round_trip } = match (&self.meeting.dial, listener) {
            (Some(address), _) => {
                tracing::info!("dialing {} at {address}", peer.name);
                transport::dial(address, &peer, &self.identity, &options)?
            }
            (None, Some(listener)) => {
                tracing::info!("waiting for {} on {}", peer.name, self.meeting.listen);
                transport::listen(&listener, &peer, &self.identity, &options)?
            }
            (None, None) => return Err(Error::Internal("neither an address to dial nor a listener".into())),
        };
        let connect = started.elapsed();
        interrupt::tell(channel.handle());
        *lock(connected) = Some(channel.handle());
        tracing::info!("connected to {}", peer.name);
        // Nothing has to be computed or loaded for the first message.
        channel.set_patience(self.timeout);
        let mut rng = fresh_rng()?;
        match agree::greet(&self.job, &self.me, &exporter, &mut channel, &mut rng) {
            Ok(greeted) => {
                channel.set_patience(self.patience);
                Ok(Met { channel, greeted, connect, round_trip })
            }
            Err(error) => {
                channel.abort(&error);
                Err(error)
            }
        }
    }

    fn settle_and_run(
        &self,
        brought: &Brought,
        greeted: Greeted,
        round_trip: Duration,
        channel: &mut Channel,
        setup_started: Instant,
    ) -> Result<(Found, Report)> {
        let (job, me) = (&self.job, self.me.as_str());
        for warning in &greeted.warnings {
            tracing::warn!("{warning}");
        }
        let peer_version = greeted.peer_version.clone();
        let own = brought.sizes();
        let network = Network { round_trip, bandwidth: self.meeting.shape.bandwidth };
        let choose = |theirs: &_| choose(job, me, &own, theirs, network).map(|choice| choice.chosen);
        let agreed = agree::settle(greeted, job, me, &own, choose, channel)?;
        agree::confirm(&agreed.session, job, me, channel)?;
        answer::check_peer(job, &agreed, channel)?;
        answer::check_memory(job, me, &agreed, self.memory)?;
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
        let report = Report {
            job: job.job.name().into(),
            id: job.id.clone(),
            protocol: found.protocol(&agreed.chosen).name().into(),
            security: job.security.name().into(),
            level: job.level.name().into(),
            agreement: Terms::of(job).agreement(),
            version: env!("CARGO_PKG_VERSION").into(),
            party: me.into(),
            peers: vec![channel.peer().to_owned()],
            rows: brought.row_counts(),
            result: serde_json::Value::Null,
            learned: found.learned(job, me, &agreed),
            bytes: channel.traffic().into(),
            rounds: 0,
            seconds: Seconds { setup: round(setup), protocol: round(protocol_started.elapsed()), ..Seconds::default() },
            cpu_seconds: 0.0,
            peak_memory: None,
            choice: agreed.chosen.to_string(),
            levels: found.levels().to_vec(),
            encryptions: found.encryptions(),
        };
        Ok((found, report))
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// More threads than any machine makes use of are a typing error.
const MAX_THREADS: usize = 256;

/// Uses `threads` threads for computation; all cores if `None`.
pub fn set_threads(threads: Option<usize>) -> Result<()> {
    match threads {
        Some(threads) if threads == 0 || threads > MAX_THREADS => {
            Err(Error::Input(format!("--threads {threads}: use 1 to {MAX_THREADS}")))
        }
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .map_err(|error| Error::Internal(error.to_string())),
        None => Ok(()),
    }
}

/// A generator seeded by the operating system.
pub fn fresh_rng() -> Result<ChaCha20Rng> {
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed)
        .map_err(|error| Error::Internal(format!("the operating system gives no randomness: {error}")))?;
    Ok(ChaCha20Rng::from_seed(*seed))
}
