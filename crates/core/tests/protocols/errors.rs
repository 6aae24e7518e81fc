//! Errors as a program tells them apart: by kind, party and exit code, whatever their texts say.

use crate::support::rng;
use tacita_core::agree::agree;
use tacita_core::channel::labels::agree::CLAIM;
use tacita_core::{Channel, Error, ErrorKind, Result, Session};

type Agreed = Result<(Session, usize)>;

/// Runs a party that agrees on 10 items at most: how it ends, and what its peer says.
fn met<T: Send>(peer: impl FnOnce(Channel) -> T + Send) -> (Agreed, T) {
    let (mut channel, far_end) = Channel::pair("honest", "peer");
    std::thread::scope(|scope| {
        let other = scope.spawn(move || peer(far_end));
        let outcome = agree(b"terms", 3, 10, &mut channel, &mut rng(1));
        (channel.end(outcome).map(|(agreed, _)| agreed), other.join().unwrap())
    })
}

fn agreeing(terms: &'static [u8], items: usize) -> (Agreed, Agreed) {
    met(move |mut channel| {
        let outcome = agree(terms, items, 10, &mut channel, &mut rng(2));
        channel.end(outcome).map(|(agreed, _)| agreed)
    })
}

/// The kind of an error, the party that it is about, and the exit code.
fn of<T>(ended: Result<T>) -> (ErrorKind, Option<String>, u8) {
    let error = ended.err().expect("an error");
    (error.kind(), error.peer().map(str::to_owned), error.kind().exit_code())
}

fn about(peer: &str) -> Option<String> {
    Some(peer.to_owned())
}

#[test]
fn both_have_one_session_and_the_sizes() {
    let (here, there) = agreeing(b"terms", 10);
    let (here, there) = (here.unwrap(), there.unwrap());
    assert!(here.0 == there.0 && (here.1, there.1) == (10, 3));
}

#[test]
fn a_peer_that_misbehaves() {
    let sends = |payload: Vec<u8>| move |mut channel: Channel| channel.exchange(CLAIM, payload, 1 << 10).map(drop);
    for payload in [vec![0; 71], Vec::new(), vec![0; 73]] {
        let (here, _) = met(sends(payload));
        assert_eq!(of(here), (ErrorKind::Protocol, about("peer"), 4));
    }
    // The own message comes back.
    let (here, there) = met(|mut channel| {
        let claim = channel.receive(CLAIM, 72)?;
        channel.send(CLAIM, claim)?;
        channel.finish()
    });
    assert_eq!(of(here), (ErrorKind::Protocol, about("peer"), 4));
    assert_eq!(of(there), (ErrorKind::Protocol, about("honest"), 4), "it hears of it");
}

#[test]
fn a_peer_that_goes_away() {
    let (here, ()) = met(drop);
    assert_eq!(of(here), (ErrorKind::Network, about("peer"), 3));
}

/// Reasons of a peer's own mean that it stopped; its refusal means terms.
#[test]
fn a_peer_that_stops_or_refuses() {
    for (error, expected) in [
        (Error::Input("no such file".into()), ErrorKind::Network),
        (Error::Internal("a bug".into()), ErrorKind::Network),
        (Error::Interrupted, ErrorKind::Network),
        (Error::Policy("policy.toml, line 3".into()), ErrorKind::Terms),
    ] {
        let own = error.kind().exit_code();
        let (here, there) = met(|channel: Channel| channel.end::<()>(Err(error)).map(drop));
        assert_eq!(of(here), (expected, about("peer"), expected.exit_code()));
        assert_eq!(of(there).2, own);
    }
}

#[test]
fn terms_that_differ() {
    let (here, there) = agreeing(b"other terms", 3);
    assert_eq!([of(here), of(there)], [(ErrorKind::Terms, None, 5), (ErrorKind::Terms, None, 5)]);
    // More items than are allowed: who sees it stops, and the other hears of it.
    let (here, there) = agreeing(b"terms", 11);
    assert_eq!(of(here), (ErrorKind::Terms, None, 5));
    assert_eq!(of(there), (ErrorKind::Terms, about("honest"), 5));
}
