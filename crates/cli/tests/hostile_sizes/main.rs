//! A peer that is who it should be and claims any size: for each job and protocol, in each role, over TLS. The job must
//! end with an error that is not this party's fault and no bug of ours, and what is claimed takes no memory.

mod claims;
#[path = "../common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::common::Home;
use chacha20::ChaCha20Rng;
use claims::{FEW_NUMBERS, NUMBERS, cases, claims};
use rand_core::SeedableRng;
use serde_json::{Value, json};
use tacita_core::channel::{Channel, Label};
use tacita_core::primitive::ot::softspoken::{self, CorrelatedReceiver};
use tacita_core::protocol::dot::{Integers, Modulus, ProductRange, Shares};
use tacita_core::protocol::intersect::vole;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Error, ErrorKind, Result, Security};
use tacita_node::agreement::handshake::{self, MAX_MESSAGE_BYTES};
use tacita_node::agreement::{DiskOptions, JobSpec, Network, Sizes, Source};
use tacita_node::base::files::Existing;
use tacita_node::base::usage;
use tacita_node::govern::account::Governance;
use tacita_node::identity::{Fingerprint, Identity, VALIDITY};
use tacita_node::jobs::dot::{Dot, DotJob};
use tacita_node::jobs::intersect::{Loaded, disk, prepared};
use tacita_node::jobs::numbers::ShareFile;
use tacita_node::run::connect::ConnectPlan;
use tacita_node::run::party::PartyRun;
use tacita_node::table::ReadOptions;
use tacita_node::table::payload::PayloadSchema;
use tacita_node::transport::{self, LinkShape, Options, Peer};
use tacita_node::watch::NoProgress;

const SIZES: Label = Label::new(0xf1, "sizes");
const CHOICE: Label = Label::new(0xf2, "choice");

/// Bytes that this process holds, and the most that it has held since that was last set.
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn add(bytes: usize) {
    PEAK.fetch_max(HELD.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller has promised.
        unsafe { System.realloc(start, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Memory that a party may use, and memory that it may have taken at the end of each run with too large a claim.
const ALLOWED: u64 = 2 << 30;
const TAKEN: usize = 160 << 20;

const NAMES: [&str; 2] = ["a", "b"];

/// A job with what both parties bring.
struct Case {
    name: &'static str,
    job: JobSpec,
    home: Home,
    identities: [Identity; 2],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Table,
    /// Tables on disk.
    Disk,
    /// A part that `b` has prepared.
    Prepared,
    Shares,
}

impl Case {
    fn new(name: &'static str, kind: Kind, terms: &str) -> Case {
        let home = Home::new();
        let now = SystemTime::now();
        let identities = NAMES.map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
        let [a, b] = [0, 1].map(|place| identities[place].fingerprint());
        let text =
            format!("id = \"test\"\n{terms}\n[parties.a]\nidentity = \"{a}\"\n[parties.b]\nidentity = \"{b}\"\n");
        let job = JobSpec::parse(&text, false).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (party, city) in [("a", "Rom"), ("b", "Bonn")] {
            let rows = format!("1,1,{city},4\n2,0,{city},5\n3,1,{city},6\n");
            home.file(&format!("{party}.csv"), &format!("id,x,{party}city,cost\n{rows}"));
        }
        let case = Case { name, job, home, identities, kind };
        if kind == Kind::Prepared {
            let loaded = Loaded::read(&case.job, "b", &case.table("b"), &ReadOptions::default(), false).unwrap();
            let directory = PathBuf::from(case.home.at("prepared"));
            prepared::prepare(&case.job, "b", &loaded, &directory, false, &mut ChaCha20Rng::from_seed([4; 32]))
                .unwrap();
        }
        case
    }

    fn table(&self, party: &str) -> PathBuf {
        self.home.at(&format!("{party}.csv")).into()
    }

    /// Returns the input of a party to a run; `directory` is for that run alone.
    fn source(&self, party: &str, directory: &Path) -> Source {
        let (path, options) = (self.table(party), ReadOptions::default());
        match self.kind {
            Kind::Disk => {
                let identity = self.identities[usize::from(party == "b")].clone();
                let directory = directory.join("work");
                let work = DiskOptions {
                    directory,
                    resume: false,
                    memory: Some(ALLOWED),
                    identity,
                    screen: Arc::new(NoProgress),
                };
                Source::Disk { path, options, allow_unreadable: false, work }
            }
            Kind::Prepared if party == "b" => {
                Source::Prepared { directory: self.home.at("prepared").into(), check: None }
            }
            Kind::Shares => {
                let range = ProductRange::new(3, 2, Integers::BINARY).unwrap();
                let shares = Shares::new(Modulus::power_of_two(64).unwrap(), vec![7]).unwrap();
                let session = Session::new(Transcript::new("shares"));
                let path = directory.join(format!("{party}.share"));
                let share = ShareFile::new(
                    &DotJob { spec: &self.job, own: &Dot::default() },
                    party,
                    &session,
                    &range,
                    &shares,
                    false,
                );
                std::fs::write(&path, share.text().unwrap().as_bytes()).unwrap();
                std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
                Source::Shares(vec![path])
            }
            _ => Source::File { path, options, allow_unreadable: false },
        }
    }

    /// Returns the sizes that an honest party states of its input.
    fn sizes(&self, party: &str) -> Sizes {
        let directory = tempfile::tempdir().unwrap();
        self.job.job.load(&self.job, party, &self.source(party, directory.path()), None).unwrap().sizes()
    }

    /// Returns how `me` ends against a peer that says `claimed`, then does what `further` says, and hangs up.
    fn against(&self, me: &str, claimed: &Value, allowed: u64, further: Further) -> Result<()> {
        let directory = tempfile::tempdir().unwrap();
        let peer = NAMES[usize::from(me == "a")];
        let [own, other] = [me, peer].map(|name| &self.identities[usize::from(name == "b")]);
        let [to_me, to_peer] =
            [(me, own), (peer, other)].map(|(name, identity)| Peer { name: name.into(), pin: identity.fingerprint() });
        let announce = directory.path().join("address");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut meeting = ConnectPlan {
            dials: Vec::new(),
            awaits: Vec::new(),
            listen: "127.0.0.1:0".into(),
            relay: None,
            helper: None,
            announce: Some(announce.clone()),
            shape: LinkShape::default(),
        };
        match me {
            "a" => meeting.awaits.push(to_peer),
            _ => meeting.dials.push((to_peer, listener.local_addr().unwrap().to_string())),
        }
        let run = PartyRun {
            job: self.job.clone(),
            job_file: None,
            me: me.into(),
            source: self.source(me, directory.path()),
            identity: own.clone(),
            meeting,
            output: None,
            report: None,
            html: None,
            existing: Existing::Replaced,
            governance: Governance::default(),
            pool: None,
            timeout: Duration::from_secs(10),
            patience: Duration::from_secs(10),
            memory: Some(allowed),
            screen: Arc::new(NoProgress),
            cancel: tacita_node::base::cancel::Cancel::default(),
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let options = Options { timeout: Duration::from_secs(10), ..Options::default() };
                let connected = match me {
                    "a" => {
                        let address =
                            std::iter::repeat_with(|| std::fs::read_to_string(&announce).ok()).find_map(|text| {
                                std::thread::sleep(Duration::from_millis(1));
                                text
                            });
                        transport::dial(&address.unwrap(), &to_me, other, &options)
                    }
                    _ => transport::listen(&listener, &to_me, other, &options),
                };
                // It may be told that the job has ended at any time.
                let _ = connected
                    .and_then(|connected| self.claim((peer, other), claimed, further, connected, own.fingerprint()));
            });
            run.run().and_then(|outcome| outcome.ended)
        })
    }

    /// A peer that follows the handshake, but for what it claims.
    fn claim(
        &self,
        (me, identity): (&str, &Identity),
        claimed: &Value,
        further: Further,
        connected: transport::Connected,
        pin: Fingerprint,
    ) -> Result<()> {
        let transport::Connected { mut channel, exporter, .. } = connected;
        let mut rng = ChaCha20Rng::from_seed([9; 32]);
        let greeted = handshake::greet(&self.job, me, &exporter, &mut channel, &mut rng)?;
        let own = claimed.to_string().into_bytes();
        let theirs = channel.exchange(SIZES, own.clone(), MAX_MESSAGE_BYTES)?;
        let choice = match me {
            "a" => {
                let [own, theirs] = NAMES.map(|name| self.sizes(name));
                let choice = self
                    .job
                    .job
                    .choose(&self.job, &self.job.sizes_of_both("a", &own, &theirs), Network::default())?
                    .chosen
                    .to_string()
                    .into_bytes();
                channel.send(CHOICE, choice.clone())?;
                channel.receive_up_to(CHOICE, 64)?
            }
            _ => {
                let choice = channel.receive_up_to(CHOICE, 64)?;
                channel.send(CHOICE, choice.clone())?;
                choice
            }
        };
        let (one, two) = if me == "a" { (&own, &theirs) } else { (&theirs, &own) };
        let session = greeted.bound_to(&[("sizes", one), ("sizes", two), ("choice", &choice)]);
        handshake::confirm(&session, &self.job, me, &mut channel)?;
        let read = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap();
        let peer = channel.peer().to_owned();
        let sizes = BTreeMap::from([(me.to_owned(), read(&own)), (peer.clone(), read(&theirs))]);
        let account = Arc::new(Governance::default().open(&self.job, me, identity, &[])?);
        let (pins, choice) = (BTreeMap::from([(peer, pin)]), String::from_utf8(choice).unwrap());
        let channels = std::slice::from_mut(&mut channel);
        account.agreed(&self.job, &session, &choice, &sizes, &pins, channels)?;
        further(&session, &mut channel)
    }
}

/// Action of a peer once the handshake is done.
type Further = fn(&Session, &mut Channel) -> Result<()>;

fn hang_up(_: &Session, _: &mut Channel) -> Result<()> {
    Ok(())
}

/// A peer that waits until the other end refuses: one that hangs up may be found gone before its claim is read.
fn wait(_: &Session, channel: &mut Channel) -> Result<()> {
    channel.receive_up_to(SIZES, 0).map(drop)
}

/// One after the other in one test: what one takes is not to be held against another.
#[test]
fn whatever_a_peer_claims_takes_no_memory_and_ends_no_process() {
    no_claim_takes_memory(&FEW_NUMBERS, false);
    the_peers_number_is_told();
    a_peer_that_leaves_after_a_claim_costs_nothing();
}

#[test]
#[ignore = "slow: to be run alone, as it counts what the process holds"]
fn whatever_a_peer_claims_in_any_number() {
    no_claim_takes_memory(&NUMBERS, true);
}

/// Tries the claims against each case in both roles: all of them, or a part. Cases with one name share the claims among
/// them: every third one each if there are three or more such cases. Otherwise each role of a case gets every second
/// one.
fn no_claim_takes_memory(numbers: &[u64], all: bool) {
    // What is made once in a process, and what the thread pool takes, is there.
    rayon::broadcast(|_| ());
    let mut counts = [0; 3];
    let cases = cases();
    let mut turns: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        let namesakes = cases.iter().filter(|other| other.name == case.name).count();
        let stride = if all { 1 } else { namesakes.clamp(2, 3) };
        let turn = turns.entry(case.name).and_modify(|turn| *turn += 1).or_insert(0);
        for (role, (me, peer)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
            let started = Instant::now();
            let claims = claims(case, peer, numbers).into_iter();
            let claims: Vec<_> = claims.skip((*turn + role) % stride).step_by(stride).collect();
            let number = claims.len();
            for (what, claimed) in claims {
                let what = format!("{} ({}), {me}: {what}", case.name, case.job.protocol.name());
                let before = HELD.load(Ordering::Relaxed);
                PEAK.store(before, Ordering::Relaxed);
                let error = case.against(me, &claimed, ALLOWED, hang_up).expect_err(&what);
                let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
                assert!(taken < TAKEN, "{what}: {taken} bytes, then {error}");
                let text = error.to_string();
                assert!(!text.contains('\n') && text.contains(peer), "{what}: {text}");
                match error.kind() {
                    ErrorKind::Protocol => counts[0] += 1,
                    ErrorKind::Terms => counts[1] += 1,
                    // It was small enough, and the peer has hung up.
                    ErrorKind::Network => counts[2] += 1,
                    kind => panic!("{what}: {kind:?}: {error}"),
                }
                let items = claimed["items"].as_u64().unwrap();
                let too_many = items > u64::from(u32::MAX) || claimed["entries"].as_u64() > Some(u64::from(u32::MAX));
                assert!(!too_many || error.kind() == ErrorKind::Protocol, "{what}: {error}");
            }
            println!("{} ({}), {me}: {number} claims, {:?}", case.name, case.job.protocol.name(), started.elapsed());
        }
    }
    println!("{counts:?}");
    let least = if all { 100 } else { 20 };
    assert!(counts.iter().all(|count| *count > least), "{counts:?}");
}

/// Checks that the message names the party whose number it is.
fn the_peers_number_is_told() {
    let case = Case::new(
        "rows",
        Kind::Table,
        "job = \"intersect\"\nreveal_to = [\"a\"]\nprotocol = \"vole\"\n[key]\ncolumns = [\"id\"]",
    );
    let claimed = json!({"items": u32::MAX, "entries": 0, "row_bytes": 0, "schema": ""});
    let text = match case.against("b", &claimed, ALLOWED, wait) {
        Err(Error::Terms(text)) => text,
        other => panic!("no difference in terms: {other:?}"),
    };
    for word in ["a brings 4,294,967,295 keys", "--memory allows 2.1 GB", "limits.max_rows", "--work DIR"] {
        assert!(text.contains(word), "`{text}` lacks `{word}`");
    }
    // Own rows that need more than is allowed are the own user's affair.
    let error = case.against("b", &json!({"items": 5, "entries": 0, "row_bytes": 0, "schema": ""}), 1 << 20, wait);
    assert!(matches!(&error, Err(Error::Input(text)) if text.contains("split the input")), "{error:?}");
}

/// Checks that an allowed claim costs no more than the peer's own work for it. Here, oblivious transfers are set up for
/// 2
/// * 10^8 keys. The memory touched also stands for the time taken.
fn a_peer_that_leaves_after_a_claim_costs_nothing() {
    for security in ["semi-honest", "malicious"] {
        let terms = format!(
            "job = \"intersect\"\nreveal_to = [\"a\"]\nprotocol = \"vole\"\nsecurity = \"{security}\"\n[key]\ncolumns = [\"id\"]"
        );
        let case = Case::new("vole", Kind::Table, &terms);
        let further: Further = match security {
            "malicious" => |session, channel| begin(Security::Malicious, session, channel),
            _ => |session, channel| begin(Security::SemiHonest, session, channel),
        };
        let claimed = json!({"items": 200_000_000, "entries": 0, "row_bytes": 0, "schema": ""});
        let error = case.against("b", &claimed, 1 << 40, further).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    }
    let held = usage::peak_memory().unwrap_or_default();
    assert!(held < 1 << 30, "{held} bytes of memory were touched");
}

/// Plays the receiver in `vole` up to the messages before the correlation is made.
fn begin(security: Security, session: &Session, channel: &mut Channel) -> Result<()> {
    let params = softspoken::Params::new(security, 8)?;
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    CorrelatedReceiver::setup(&params, session, "intersection", channel, &mut rng)?;
    if security == Security::Malicious {
        channel.receive(vole::COMMITMENT, 32)?;
    }
    channel.send(vole::SEED, vec![1; 32])?;
    // So that it has come when the peer leaves.
    std::thread::sleep(Duration::from_millis(300));
    Ok(())
}
