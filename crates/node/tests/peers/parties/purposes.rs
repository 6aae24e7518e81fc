//! Identity and purpose of the other end. A run meets a run of the peer that it is named after, and nothing else in its
//! place.

use std::net::TcpListener;

use tacita_core::Error;
use tacita_node::transport::{Options, Purpose, dial, listen, listen_for_all};

use super::*;

fn options(purpose: Purpose) -> Options {
    Options { purpose, timeout: BOUND, ..Options::default() }
}

fn local() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// A doctor that comes to a run is told so, and the run waits for the peer's run.
#[test]
fn a_doctor_is_no_run() {
    let (a, b) = (identity("a"), identity("b"));
    let (listener, address) = local();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| listen(&listener, &peer("b", &b), &a, &options(Purpose::Run)));
        let doctor = dial(&address, &peer("a", &a), &b, &options(Purpose::Doctor));
        assert!(matches!(&doctor, Err(Error::NotReady(_))), "{:?}", doctor.err());
        let run = dial(&address, &peer("a", &a), &b, &options(Purpose::Run)).unwrap();
        assert_eq!(run.exporter, waits.join().unwrap().unwrap().exporter);
    });
}

/// Nor does a helper answer in the place of a run.
#[test]
fn a_helper_is_no_run() {
    let (a, b) = (identity("a"), identity("b"));
    let (listener, address) = local();
    let short = |purpose| Options { timeout: Duration::from_millis(500), ..options(purpose) };
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| listen(&listener, &peer("b", &b), &a, &short(Purpose::Helper)));
        let run = dial(&address, &peer("a", &a), &b, &short(Purpose::Run));
        let said = text(run);
        assert!(said.contains("a helper answers"), "{said}");
        assert!(waits.join().unwrap().is_err());
    });
}

/// Each of several awaited peers is identified by its key, in whatever order they come.
#[test]
fn each_of_several_is_who_it_is() {
    let (a, b, c) = (identity("a"), identity("b"), identity("c"));
    let (listener, address) = local();
    let mut found = BTreeMap::new();
    let peers = [peer("b", &b), peer("c", &c)];
    let came = std::thread::scope(|scope| {
        let dials = scope.spawn(|| {
            [&c, &b].map(|who| dial(&address, &peer("a", &a), who, &options(Purpose::Run)).unwrap().exporter)
        });
        listen_for_all(&listener, &peers, &a, &options(Purpose::Run), |peer, connected| {
            let connected = connected.unwrap();
            assert_eq!(connected.channel.peer(), peer.name);
            found.insert(peer.name.clone(), connected.exporter);
        })
        .unwrap();
        dials.join().unwrap()
    });
    assert_eq!([found["c"], found["b"]], came);
}
