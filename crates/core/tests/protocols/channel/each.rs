//! Several channels at once: whatever ends one ends all, at once, and the error is the one that began it.

use std::time::{Duration, Instant};

use crate::support::{Frame, Tap, passing, tapped};
use tacita_core::channel::{Channel, Label, each};
use tacita_core::{Error, ErrorKind, Result};

const QUESTION: Label = Label::new(1, "question");
const ANSWER: Label = Label::new(2, "answer");

/// Whatever ends the channels must do so within this.
const BOUND: Duration = Duration::from_secs(5);

const NAMES: [&str; 3] = ["ann", "bob", "eve"];

/// Program of a peer at its end.
type Peer = fn(Channel) -> Result<()>;

/// Answers 100 questions as an honest peer.
fn honest(mut channel: Channel) -> Result<()> {
    for _ in 0..100 {
        let question = channel.receive(QUESTION, 4)?;
        channel.send(ANSWER, question)?;
    }
    channel.finish().map(drop)
}

/// A party that asks three peers at once, each in its own order; and how everybody ended.
fn asked(peers: [Peer; 3], patience: Duration) -> (Result<Vec<u32>>, [Result<()>; 3]) {
    let (mut channels, ends): (Vec<_>, Vec<_>) = NAMES.iter().map(|name| Channel::pair("hub", name)).unzip();
    channels.iter_mut().for_each(|channel| channel.set_patience(patience));
    let began = Instant::now();
    let ended = std::thread::scope(|scope| {
        let threads: Vec<_> = ends.into_iter().zip(peers).map(|(end, peer)| scope.spawn(move || peer(end))).collect();
        let asked = ask(&mut channels);
        let asked = asked.and_then(|sums| channels.into_iter().try_for_each(|c| c.finish().map(drop)).map(|()| sums));
        let peers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        (asked, peers.try_into().unwrap())
    });
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
    ended
}

fn ask(channels: &mut [Channel]) -> Result<Vec<u32>> {
    each(channels, vec![0u32, 1000, 2000], |start, channel| {
        let answer = |question: u32| {
            channel.send(QUESTION, question.to_le_bytes().to_vec())?;
            let answer = channel.receive(ANSWER, 4)?;
            Ok(u32::from_le_bytes(answer.try_into().unwrap()))
        };
        (start..start + 100).map(answer).sum()
    })
}

/// The honest ones among `peers` were told that a connection is lost, and blame the party that told them.
fn told(peers: &[Result<()>]) {
    for ended in peers {
        assert!(matches!(ended, Err(Error::Peer { peer, kind: ErrorKind::Network }) if peer == "hub"), "{ended:?}");
    }
}

#[test]
fn what_each_returns_stands_in_its_place() {
    let (sums, peers) = asked([honest; 3], BOUND);
    assert_eq!(sums.unwrap(), [4950, 104_950, 204_950]);
    assert!(peers.iter().all(Result::is_ok));
    assert_eq!(each(&mut [], Vec::<()>::new(), |(), _| Ok(())).unwrap(), []);
    let (mut channel, _other) = Channel::pair("hub", "ann");
    assert!(matches!(each(std::slice::from_mut(&mut channel), vec![(); 2], |(), _| Ok(())), Err(Error::Internal(_))));
}

#[test]
fn a_peer_that_hangs_up_ends_all() {
    let hangs_up = |mut channel: Channel| {
        channel.receive(QUESTION, 4)?;
        Ok(())
    };
    for at in 0..3 {
        let mut peers = [honest as Peer; 3];
        peers[at] = hangs_up;
        let (asked, ended) = asked(peers, BOUND);
        assert!(matches!(&asked, Err(Error::Network { peer, .. }) if peer == NAMES[at]), "{asked:?}");
        told(&[&ended[..at], &ended[at + 1..]].concat());
    }
}

#[test]
fn a_peer_that_sends_garbage_is_blamed_and_the_others_are_not() {
    let too_long = |mut channel: Channel| {
        channel.receive(QUESTION, 4)?;
        channel.send(ANSWER, vec![0; 5])?;
        channel.receive(QUESTION, 4).map(drop)
    };
    let another = |mut channel: Channel| {
        channel.receive(QUESTION, 4)?;
        channel.send(QUESTION, vec![0; 4])?;
        channel.receive(QUESTION, 4).map(drop)
    };
    for culprit in [too_long as Peer, another] {
        for at in 0..3 {
            let mut peers = [honest as Peer; 3];
            peers[at] = culprit;
            let (asked, ended) = asked(peers, BOUND);
            assert!(matches!(&asked, Err(Error::Protocol { peer, .. }) if peer == NAMES[at]), "{asked:?}");
            let its = &ended[at];
            assert!(matches!(its, Err(Error::Peer { kind: ErrorKind::Protocol, .. })), "{its:?}");
            told(&[&ended[..at], &ended[at + 1..]].concat());
        }
    }
}

#[test]
fn a_peer_that_sends_nothing_is_given_up() {
    let waits = |mut channel: Channel| loop {
        channel.receive(QUESTION, 4)?;
    };
    let (asked, ended) = asked([honest, waits, waits], Duration::from_millis(300));
    // Both have been waited for as long: either may be the first.
    let Err(Error::Network { peer, what }) = &asked else { panic!("{asked:?}") };
    assert!(NAMES[1..].contains(&peer.as_str()) && what.contains("given up"), "{asked:?}");
    assert!(ended[1].is_err() && ended[2].is_err());
}

/// A party's own error is no peer's fault, and its kind is told to all.
#[test]
fn the_first_error_is_returned_whatever_follows() {
    let (mut channels, ends): (Vec<_>, Vec<_>) = NAMES.iter().map(|name| Channel::pair("hub", name)).unzip();
    let ended = std::thread::scope(|scope| {
        let waits = |mut end: Channel| end.receive(QUESTION, 4).map(drop);
        let threads: Vec<_> = ends.into_iter().map(|end| scope.spawn(move || waits(end))).collect();
        let own = each(&mut channels, vec![0, 1, 2], |number, channel| match number {
            1 => Err::<(), _>(Error::Input("too much".into())),
            _ => channel.receive(ANSWER, 4).map(drop).map_err(|_| Error::Internal("what follows".into())),
        });
        assert_eq!(own, Err(Error::Input("too much".into())));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for ended in ended {
        assert!(matches!(ended, Err(Error::Peer { kind: ErrorKind::Input, .. })), "{ended:?}");
    }
}

#[test]
fn a_panic_ends_all() {
    let (mut channels, ends): (Vec<_>, Vec<_>) = NAMES.iter().map(|name| Channel::pair("hub", name)).unzip();
    std::thread::scope(|scope| {
        let waits = |mut end: Channel| end.receive(QUESTION, 4).map(drop);
        let threads: Vec<_> = ends.into_iter().map(|end| scope.spawn(move || waits(end))).collect();
        let panics = scope.spawn(move || {
            each(&mut channels, vec![0, 1, 2], |number, channel| {
                assert_ne!(number, 2, "as this test wants it");
                channel.receive(ANSWER, 4).map(drop)
            })
        });
        assert!(panics.join().is_err());
        for thread in threads {
            let ended = thread.join().unwrap();
            assert!(matches!(ended, Err(Error::Peer { kind: ErrorKind::Internal, .. })), "{ended:?}");
        }
    });
}

/// The same over a wire, where a frame of one peer is changed on its way.
#[test]
fn a_changed_frame_ends_all() {
    let number = std::sync::atomic::AtomicUsize::new(0);
    let tap: std::sync::Arc<Tap> = std::sync::Arc::new(move |frame| {
        let changed = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 10;
        Some(vec![if changed { Frame { kind: 9, payload: Vec::new(), ..frame } } else { frame }])
    });
    let (hub, end) = tapped(passing(), tap);
    let (mut channels, mut ends): (Vec<_>, Vec<_>) = NAMES[..2].iter().map(|name| Channel::pair("hub", name)).unzip();
    channels.push(hub);
    ends.push(end);
    let culprit = channels[2].peer().to_owned();
    std::thread::scope(|scope| {
        let threads: Vec<_> = ends.into_iter().map(|end| scope.spawn(move || honest(end))).collect();
        let asked = ask(&mut channels);
        assert!(matches!(&asked, Err(Error::Protocol { peer, .. }) if *peer == culprit), "{asked:?}");
        drop(channels);
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        told(&ended[..2]);
        assert!(ended[2].is_err());
    });
}
