//! Two doctors, one of whom says what it likes: the other ends, in one line, with the peer to blame.

use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use tacita_core::channel::labels::handshake::{CLOCK, HELLO};
use tacita_core::{Channel, Error};
use tacita_node::agreement::JobSpec;
use tacita_node::identity::Identity;
use tacita_node::run::connect::ConnectPlan;
use tacita_node::run::rehearsal::{Rehearsal, RehearsedPeer};
use tacita_node::transport::{ConnectCancel, LinkShape, Options, Peer, Purpose, listen};

const JOB: &str =
    "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\n[parties.b]\n";

/// Returns the report of the doctor of `b` on an `a` that sends the messages of `says`.
fn seen(says: impl FnOnce(&mut Channel) + Send) -> Result<RehearsedPeer, Error> {
    let now = SystemTime::now();
    let identity = |name| Identity::generate(name, now, now + Duration::from_secs(3600)).unwrap();
    let (a, b) = (identity("a"), identity("b"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let peer = |name: &str, identity: &Identity| Peer { name: name.into(), pin: identity.fingerprint() };
    let timeout = Duration::from_secs(2);
    let meeting = ConnectPlan {
        dials: vec![(peer("a", &a), address)],
        awaits: Vec::new(),
        listen: String::new(),
        relay: None,
        helper: None,
        announce: None,
        shape: LinkShape::default(),
    };
    let job = JobSpec::parse(JOB, false).unwrap();
    // A connection that is closed with something unread in it takes along what was said before.
    let (over, ended) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let from = peer("b", &b);
        let options = Options { purpose: Purpose::Doctor, timeout, ..Options::default() };
        scope.spawn(move || {
            let mut channel = listen(&listener, &from, &a, &options).unwrap().channel;
            says(&mut channel);
            let _ = ended.recv();
        });
        let cancel = ConnectCancel::default();
        let rehearsal = Rehearsal { job: &job, me: "b", identity: &b, meeting: &meeting, timeout, cancel };
        let mut all = rehearsal.run().unwrap();
        drop(over);
        assert_eq!((all.len(), &*all[0].0), (1, "a"));
        all.remove(0).1
    })
}

fn refused(says: impl FnOnce(&mut Channel) + Send) -> String {
    let error = seen(says).err().expect("it is refused");
    assert!(matches!(&error, Error::Protocol { peer, .. } | Error::Network { peer, .. } if peer == "a"), "{error:?}");
    let text = error.to_string();
    assert!(!text.contains('\n'));
    text
}

#[test]
fn a_clock_is_eight_bytes_and_any_time_is_a_number() {
    for bytes in [vec![], vec![1; 7]] {
        assert!(refused(|channel| channel.send(CLOCK, bytes).unwrap()).contains("8 bytes"));
    }
    assert!(refused(|channel| channel.send(CLOCK, vec![0; 9]).unwrap()).contains("instead of 8 at most"));
    assert!(refused(|channel| channel.send(HELLO, vec![0; 8]).unwrap()).contains("was due"));
    for time in [0, u64::MAX] {
        let seen = seen(|channel| {
            channel.exchange(CLOCK, time.to_le_bytes().to_vec(), 8).unwrap();
            channel.exchange(HELLO, hello("{\"job\": \"dot\"}"), 1 << 18).unwrap();
        });
        // Whether the peer ends in good order does not matter here.
        if let Ok(seen) = seen {
            assert_eq!(seen.clock_ahead > 0, time > 0);
        }
    }
}

fn hello(terms: &str) -> Vec<u8> {
    let nonce = "ab".repeat(32);
    format!(
        r#"{{"tacita": 3, "version": "\u001b[31m9", "as": "a", "nonce": "{nonce}", "profiles": [], "terms": {terms}}}"#
    )
    .into()
}

/// A hello that does not parse is the peer's fault. Differences are shown without anything that a terminal would act
/// upon.
#[test]
fn a_hello_may_hold_anything() {
    let clock = |channel: &mut Channel| drop(channel.exchange(CLOCK, vec![0; 8], 8).unwrap());
    for text in [&b""[..], b"{", b"[[[[", b"\xff\xfe", b"{\"tacita\": -1}"] {
        let said = refused(|channel| {
            clock(channel);
            channel.send(HELLO, text.to_vec()).unwrap();
        });
        assert!(said.contains("cannot be read"), "{said}");
    }
    let deep = "[".repeat(100_000);
    assert!(
        refused(|channel| {
            clock(channel);
            channel.send(HELLO, deep.into()).unwrap();
        })
        .contains("hello")
    );
}

#[test]
fn a_peer_that_says_nothing_is_waited_for_no_longer_than_asked() {
    let started = std::time::Instant::now();
    let said = refused(|_| std::thread::sleep(Duration::from_secs(4)));
    assert!(started.elapsed() < Duration::from_secs(8), "{said}");
}
