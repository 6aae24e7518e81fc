//! Parties and helpers that do not follow the protocol.

mod words;

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use tacita_core::channel::Channel;
use tacita_core::channel::labels::depot::{DEPOT_ANSWER, DEPOT_REQUEST};
use tacita_core::depot::{Depot, DepotParty, DepotStep, Parcel};
use tacita_core::{Error, ErrorKind};
use tacita_node::agreement::{JobSpec, Source, Terms};
use tacita_node::base::cancel::Cancel as RunCancel;
use tacita_node::base::files::Existing;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::outsourced::{Helping, expected};
use tacita_node::run::connect::ConnectPlan;
use tacita_node::run::helper::terms;
use tacita_node::run::party::PartyRun;
use tacita_node::table::ReadOptions;
use tacita_node::transport::depot::frame::{DepotRequest, DepotResponse, MAX_FRAME_BYTES};
use tacita_node::transport::depot::{self, DepotClient, Expected, look, word};
use tacita_node::transport::{ConnectCancel, LinkShape, Options, Peer, Purpose, dial, door};
use tacita_node::watch::{ProgressSink, ProgressView, Snapshot};
use tacita_serve::helper::{self, HelperConfig};

const STEP: DepotStep = DepotStep { code: 5, name: "entries" };

/// A job of these parties.
fn text(parties: &[Identity]) -> String {
    let identities: String =
        parties.iter().map(|one| format!("[parties.{}]\nidentity = \"{}\"\n", one.name(), one.fingerprint())).collect();
    format!(
        "job = \"intersect\"\nid = \"t\"\nprotocol = \"outsourced\"\nreveal_to = [\"a\"]\n[limits]\npad_to = 50\n[key]\n\
         columns = [\"k\"]\n{identities}"
    )
}

struct Setting {
    job: JobSpec,
    helper: Identity,
    parties: Vec<Identity>,
    address: String,
}

impl Setting {
    fn new(home: &Path) -> Setting {
        let make = |name: &str| Identity::create(&home.join(name), name).unwrap();
        let (helper, parties) = (make("helper"), ["a", "b", "c"].map(make).to_vec());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = text(&parties);
        let job = JobSpec::parse(&text, false).unwrap();
        Setting { job, helper, parties, address: format!("127.0.0.1:{port}") }
    }

    fn text(&self) -> String {
        text(&self.parties)
    }

    fn peers(&self) -> Vec<Peer> {
        self.parties.iter().map(|one| Peer { name: one.name().to_owned(), pin: one.fingerprint() }).collect()
    }

    fn helping(&self) -> Helping {
        Helping::new(&self.job, self.peers()).unwrap()
    }

    /// Runs `visit` while an honest helper serves.
    fn serve(&self, visit: impl FnOnce()) {
        let drain = ConnectCancel::default();
        let serving = HelperConfig {
            jobs: vec![("job".into(), self.helping())],
            identity: self.helper.clone(),
            listen: self.address.clone(),
            state: None,
            status: None,
            timeout: Duration::from_secs(1),
            patience: Duration::from_secs(20),
            drain: drain.clone(),
            once: false,
            announce: None,
            report: None,
        };
        let server = std::thread::spawn(move || helper::serve(serving));
        visit();
        drain.cancel();
        assert_eq!(server.join().unwrap(), Ok(()));
    }

    fn place(&self) -> depot::HelperAddress {
        let helper = Peer { name: "the helper".into(), pin: self.helper.fingerprint() };
        depot::HelperAddress { address: self.address.clone(), helper, parties: self.peers() }
    }

    fn client(&self, me: usize) -> DepotClient {
        let place = self.place();
        let terms = terms(&self.job);
        let times = [Duration::from_secs(5), Duration::from_secs(5)];
        let ways = (LinkShape::default(), Expected::default());
        DepotClient::new(place, me, self.parties[me].clone(), terms, times, ways, RunCancel::default()).unwrap()
    }

    /// A word as long as the honest ones.
    fn word(&self, byte: u8) -> Vec<u8> {
        vec![byte; self.helping().word_bytes() - word::SIGNED_BYTES]
    }

    /// Returns the result of `act` for each of three clients.
    fn all<T: Send>(&self, act: impl Fn(usize, &DepotClient) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let act = &act;
            let start = |me| scope.spawn(move || act(me, &self.client(me)));
            let started: Vec<_> = (0..3).map(start).collect();
            started.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    /// A connection with which a party may do what it likes.
    fn connect(&self, me: usize) -> Channel {
        let options = Options { purpose: Purpose::Helper, timeout: Duration::from_secs(5), ..Options::default() };
        let peer = Peer { name: "the helper".into(), pin: self.helper.fingerprint() };
        dial(&self.address, &peer, &self.parties[me], &options).unwrap().channel
    }
}

fn parcel(from: u8, to: u8) -> Parcel {
    Parcel { step: STEP, from: DepotParty::Party(from), to: DepotParty::Party(to) }
}

/// Ends of an honest run of nothing but words and one part.
fn honest(setting: &Setting) -> Vec<tacita_core::Result<()>> {
    setting.all(|me, client| {
        let words = client.announce(setting.word(me as u8))?;
        assert_eq!(words, [0, 1, 2].map(|byte| setting.word(byte)));
        if me == 0 {
            client.leave(parcel(0, 1), 0, vec![7; 100])?;
        }
        if me == 1 {
            assert_eq!(client.collect(parcel(0, 1), 0, 100)?, vec![7; 100]);
        }
        client.done()
    })
}

fn is_well(setting: &Setting) {
    honest(setting).into_iter().for_each(|end| end.unwrap());
}

#[test]
fn what_breaks_the_rules_ends_the_run_and_is_named() {
    let home = tempfile::tempdir().unwrap();
    let setting = Setting::new(home.path());
    setting.serve(|| {
        is_well(&setting);
        type Act = fn(&DepotClient) -> tacita_core::Result<()>;
        let bad: [Act; 4] = [
            // Another thing in the place of one.
            |client| {
                client.leave(parcel(2, 0), 0, vec![1; 10])?;
                client.leave(parcel(2, 0), 0, vec![2; 10])
            },
            // More than the sizes take.
            |client| (0..100).try_for_each(|part| client.leave(parcel(2, 0), part, vec![0; 1 << 19])),
            // For nobody.
            |client| client.leave(parcel(2, 9), 0, vec![1]),
            |client| client.leave(parcel(2, 2), 0, vec![1]),
        ];
        for act in bad {
            let ends = setting.all(|me, client| {
                client.announce(setting.word(me as u8))?;
                if me == 2 { act(client) } else { client.collect(parcel(2, me as u8), 99, 1).map(drop) }
            });
            let by_the_helper =
                |end: &Error| matches!(end, Error::Peer { peer, kind: ErrorKind::Protocol } if peer == "the helper");
            assert!(ends[2].as_ref().is_err_and(by_the_helper), "{:?}", ends[2]);
            for end in &ends[..2] {
                let reported = end.as_ref().unwrap_err();
                let named =
                    matches!(reported, Error::Reported { culprit, kind: ErrorKind::Protocol, .. } if culprit == "c");
                assert!(named, "{reported:?}");
            }
        }
        // A word of another length.
        let ends = setting.all(|me, client| {
            let word = setting.word(me as u8);
            client.announce(if me == 1 { word[1..].to_vec() } else { word })
        });
        // Whoever comes when that run has ended begins another one, and misses its author.
        let named = match &ends[0] {
            Err(Error::Reported { culprit, .. }) => culprit,
            Err(Error::Network { peer, .. }) => peer,
            end => panic!("{end:?}"),
        };
        assert_eq!(named, "b");
        // The words of that other run are still there, and a run may begin with one who has left: not the next one.
        assert!((0..3).any(|_| honest(&setting).iter().all(Result::is_ok)));
    });
}

/// One says what another has done: it, and the third, are told.
#[test]
fn a_fault_that_one_party_finds_is_told_all() {
    let home = tempfile::tempdir().unwrap();
    let setting = Setting::new(home.path());
    setting.serve(|| {
        let ends = setting.all(|me, client| {
            client.announce(setting.word(me as u8))?;
            if me == 0 {
                let error = Error::Protocol { peer: "b".into(), check: "its proof is wrong".into() };
                client.end(&error);
                return Err(error);
            }
            client.collect(parcel(0, me as u8), 0, 1)
        });
        for end in &ends[1..] {
            let told = end.as_ref().unwrap_err();
            assert_eq!(told.to_string(), "b broke the protocol, as the helper says in the name of a");
            assert_eq!(told.kind(), ErrorKind::Protocol);
        }
        is_well(&setting);
    });
}

/// Garbage, other requests first, frames of any kind: the connection ends, and the others are served.
#[test]
fn garbage_ends_a_connection_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let setting = Setting::new(home.path());
    setting.serve(|| {
        let terms = Terms::of(&setting.job).canonical();
        let arrive = DepotRequest::Arrive { ticket: [1; 32], begun: false, terms: terms.as_bytes() }.write();
        let firsts = [
            vec![],
            vec![9; 40],
            DepotRequest::Done.write(),
            arrive[..20].to_vec(),
            DepotRequest::Arrive { ticket: [1; 32], begun: false, terms: b"{" }.write(),
            DepotRequest::Look(b"{").write(),
        ];
        for first in firsts {
            let mut channel = setting.connect(0);
            channel.send(DEPOT_REQUEST, first).unwrap();
            assert!(channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES).is_err());
        }
        let mut channel = setting.connect(0);
        channel.send(DEPOT_REQUEST, arrive.clone()).unwrap();
        assert_eq!(channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES).unwrap(), DepotResponse::Welcome.write());
        channel.send(DEPOT_REQUEST, vec![77]).unwrap();
        assert!(channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES).is_err());
        drop(channel);
        // Before all have come nothing can be left.
        let mut channel = setting.connect(1);
        channel.send(DEPOT_REQUEST, arrive).unwrap();
        channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES).unwrap();
        let early = DepotRequest::Leave { step: 1, to: DepotParty::Helper, part: 0, bytes: b"x" }.write();
        channel.send(DEPOT_REQUEST, early).unwrap();
        let answer = channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES).unwrap();
        assert!(matches!(DepotResponse::read(&answer), Some(DepotResponse::Ended { .. })), "{answer:?}");
        drop(channel);
        is_well(&setting);
    });
}

/// A helper that was started again without what it had: whoever is in a run that has begun ends at once, blames nobody,
/// and is not in the way of the next run.
#[test]
fn a_run_that_is_lost_ends_at_once() {
    let home = tempfile::tempdir().unwrap();
    let setting = Setting::new(home.path());
    let clients: Vec<_> = (0..3).map(|me| setting.client(me)).collect();
    // The helper ends with the run, and remembers nothing of it.
    setting.serve(|| {
        std::thread::scope(|scope| {
            let announce = |me: usize| {
                clients[me].announce(setting.word(me as u8))?;
                clients[me].done()
            };
            let started: Vec<_> = (0..3).map(|me| scope.spawn(move || announce(me))).collect();
            started.into_iter().for_each(|one| one.join().unwrap().unwrap());
        });
    });
    setting.serve(|| {
        let started = Instant::now();
        let acts: [&dyn Fn() -> tacita_core::Result<()>; 3] = [
            &|| clients[0].collect(parcel(1, 0), 0, 1).map(drop),
            &|| clients[1].leave(parcel(1, 0), 0, vec![1]),
            &|| clients[2].arrive(),
        ];
        for act in acts {
            let lost = act().unwrap_err();
            let said = matches!(&lost, Error::Network { peer, what } if peer == "the helper" && what.contains("has lost the run: start again"));
            assert!(said, "{lost:?}");
            clients[0].end(&lost);
        }
        // What it needs was there, and all that others need of it.
        assert_eq!(clients[1].done(), Ok(()));
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
        is_well(&setting);
    });
}

/// Whether a job is served can be asked without taking part.
#[test]
fn a_look_is_answered_and_begins_nothing() {
    let home = tempfile::tempdir().unwrap();
    let setting = Setting::new(home.path());
    let ask = |text: &str, differences: fn(&str, &[u8]) -> Option<Vec<String>>| {
        let job = JobSpec::parse(text, false).unwrap();
        let terms = depot::DepotTerms { differences, ..terms(&job) };
        look(&setting.place(), &setting.parties[1], &terms, Duration::from_secs(5))
    };
    let text = setting.text();
    setting.serve(|| {
        assert!(ask(&text, |_, _| None).unwrap().is_post_quantum());
        let other = ask(&text.replace("pad_to = 50", "pad_to = 60"), |_, _| Some(vec!["limits.pad_to".into()]));
        assert!(matches!(&other, Err(Error::Terms(what)) if what.contains("limits.pad_to")), "{other:?}");
        let unknown = ask(&text.replace("id = \"t\"", "id = \"auto\""), |_, _| None);
        assert!(
            matches!(&unknown, Err(Error::Terms(what)) if what.contains("does not serve a job \"auto\"")),
            "{unknown:?}"
        );
        is_well(&setting);
    });
}

/// A screen that keeps what it is shown.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<Snapshot>>>);

impl ProgressSink for Kept {
    fn open(&self, _name: Option<&str>) -> Box<dyn ProgressView> {
        Box::new(self.clone())
    }
}

impl ProgressView for Kept {
    fn show(&mut self, now: &Snapshot) {
        self.0.lock().unwrap().push(now.clone());
    }
}

#[test]
fn who_waits_sees_how_far_a_run_is() {
    let home = tempfile::tempdir().unwrap();
    let mut setting = Setting::new(home.path());
    setting.job = JobSpec::parse(&setting.text().replace("pad_to = 50", "pad_to = 2000"), false).unwrap();
    let keys: String = (0..2000).map(|key| format!("{key}\n")).collect();
    let input = home.path().join("keys.csv");
    std::fs::write(&input, format!("k\n{keys}")).unwrap();
    let run = |me: usize, screen: Kept| {
        let source =
            Source::of(&setting.job, setting.parties[me].name(), vec![input.clone()], ReadOptions::default(), false)?;
        let run = PartyRun {
            job: setting.job.clone(),
            job_file: None,
            me: setting.parties[me].name().to_owned(),
            source,
            identity: setting.parties[me].clone(),
            meeting: ConnectPlan::at(setting.place()),
            output: None,
            report: None,
            html: None,
            existing: Existing::Replaced,
            governance: tacita_node::govern::account::Governance::default(),
            pool: None,
            timeout: Duration::from_secs(20),
            patience: Duration::from_secs(20),
            memory: None,
            screen: Arc::new(screen),
            cancel: RunCancel::default(),
        };
        run.run().map(drop)
    };
    setting.serve(|| {
        std::thread::scope(|scope| {
            let start = |me| {
                let (screen, run) = (Kept::default(), &run);
                let shown = screen.clone();
                scope.spawn(move || run(me, screen).map(|()| shown))
            };
            let started: Vec<_> = (0..3).map(start).collect();
            for (me, one) in started.into_iter().enumerate() {
                let shown = one.join().unwrap().unwrap().0;
                let Expected { left, collected } = expected(&setting.job, me).unwrap();
                let shown = shown.lock().unwrap();
                let last = shown.last().unwrap();
                assert_eq!((last.phase.as_str(), last.total), ("bytes at the helper", left + collected.unwrap()));
                assert!(last.done > 0 && last.sent > 0 && shown.is_sorted_by_key(|one| one.done), "{shown:?}");
            }
        });
    });
}
