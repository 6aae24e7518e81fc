//! A relay that does not keep to the rules, and a party that comes to it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, SystemTime};

use tacita_core::Error;
use tacita_node::identity::Identity;
use tacita_node::transport::relay::{
    ConnectionEnd, HEADER_BYTES, Reception, RelayAddress, RelayMessage, look, meet, record_bytes,
};
use tacita_node::transport::{self, Options, Peer};

fn identity(name: &str) -> Identity {
    let now = SystemTime::now();
    Identity::generate(name, now, now + Duration::from_secs(3600)).unwrap()
}

/// Takes in one party, and says `words`, and whatever `then` is in the same breath.
fn receive(
    listener: &TcpListener,
    relay: &Identity,
    party: &Identity,
    words: &[RelayMessage],
    then: &[u8],
) -> TcpStream {
    let (mut socket, _) = listener.accept().unwrap();
    let mut reception = Reception::new(relay, vec![party.fingerprint()]).unwrap();
    loop {
        let mut record = vec![0; HEADER_BYTES];
        socket.read_exact(&mut record).unwrap();
        let length = record_bytes(*record.first_chunk().unwrap()).unwrap();
        record.resize(HEADER_BYTES + length, 0);
        socket.read_exact(&mut record[HEADER_BYTES..]).unwrap();
        let asked = reception.take(&record).unwrap();
        if asked.is_some() {
            break;
        }
        socket.write_all(&reception.outgoing()).unwrap();
    }
    words.iter().for_each(|word| reception.say(*word));
    socket.write_all(&[reception.outgoing(), then.to_vec()].concat()).unwrap();
    socket
}

struct Scene {
    listener: TcpListener,
    relay: Identity,
    party: Identity,
    peer: Identity,
}

impl Scene {
    fn new() -> Scene {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Scene { listener, relay: identity("relay"), party: identity("party"), peer: identity("peer") }
    }

    fn place(&self) -> RelayAddress {
        let address = self.listener.local_addr().unwrap().to_string();
        RelayAddress { address, pin: self.relay.fingerprint(), agreement: [1; 32], lane: 0 }
    }

    fn meet(&self, side: ConnectionEnd, seconds: u64) -> Option<Error> {
        let peer = Peer { name: "peer".into(), pin: self.peer.fingerprint() };
        let options = Options { timeout: Duration::from_secs(seconds), ..Options::default() };
        meet(&self.place(), &peer, side, &self.party, &options).err()
    }
}

/// Forwards bytes between two sockets, in both directions.
fn carry(one: TcpStream, two: TcpStream) {
    for (mut from, mut to) in [(one.try_clone().unwrap(), two.try_clone().unwrap()), (two, one)] {
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}

/// A relay that plays the peer itself is found out, whichever side it plays.
#[test]
fn a_relay_cannot_be_the_peer() {
    for side in [ConnectionEnd::Dials, ConnectionEnd::Listens] {
        let scene = Scene::new();
        let own = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = own.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let guest = receive(&scene.listener, &scene.relay, &scene.party, &[RelayMessage::Joined], b"");
                // Its own end, under its own identity.
                let options = Options { timeout: Duration::from_secs(3), ..Options::default() };
                let party = Peer { name: "party".into(), pin: scene.party.fingerprint() };
                match side {
                    ConnectionEnd::Dials => {
                        carry(guest, TcpStream::connect(address).unwrap());
                        assert!(transport::listen(&own, &party, &scene.relay, &options).is_err());
                    }
                    ConnectionEnd::Listens => {
                        let carried = scope.spawn(|| carry(guest, own.accept().unwrap().0));
                        assert!(transport::dial(&address.to_string(), &party, &scene.relay, &options).is_err());
                        carried.join().unwrap();
                    }
                }
            });
            let error = scene.meet(side, 5).unwrap();
            assert!(
                matches!(&error, Error::Authentication { peer, what } if peer == "peer" && what.contains("it presents")),
                "{error}"
            );
        });
    }
}

/// Bytes that follow the last word at once belong to the peer, and none of them is lost.
#[test]
fn what_follows_in_the_same_breath_is_the_peers() {
    let scene = Scene::new();
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = own.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The peer dials, and its first bytes are there before the party has come.
            let (mut peer, _) = own.accept().unwrap();
            let mut hello = vec![0; HEADER_BYTES];
            peer.read_exact(&mut hello).unwrap();
            let length = record_bytes(*hello.first_chunk().unwrap()).unwrap();
            hello.resize(HEADER_BYTES + length, 0);
            peer.read_exact(&mut hello[HEADER_BYTES..]).unwrap();
            let words = [RelayMessage::Wait, RelayMessage::Wait, RelayMessage::Joined];
            carry(receive(&scene.listener, &scene.relay, &scene.party, &words, &hello), peer);
        });
        scope.spawn(|| {
            let party = Peer { name: "party".into(), pin: scene.party.fingerprint() };
            transport::dial(&address, &party, &scene.peer, &Options::default()).unwrap();
        });
        assert_eq!(scene.meet(ConnectionEnd::Listens, 10), None);
    });
}

/// Words that refuse end the wait, or are kept for its end, and each says whom it is about.
#[test]
fn words_that_refuse_are_told() {
    for (word, about) in [
        (RelayMessage::UnknownJob, "does not know this job"),
        (RelayMessage::NoSuchPair, "has no peer peer"),
        (RelayMessage::Replaced, "start only one"),
    ] {
        let (error, took) = told(word);
        assert!(error.contains(about) && took < Duration::from_millis(900), "{word:?}: {error}");
    }
    // They wait beside each other.
    std::thread::scope(|scope| {
        for (word, about) in [
            (RelayMessage::Busy, "peer: did not come to the relay"),
            (RelayMessage::Late, "peer: did not come to the relay"),
            (RelayMessage::Ending, "did not answer within 1 s (it was ended)"),
            (RelayMessage::Known, "did not answer within 1 s"),
        ] {
            scope.spawn(move || {
                let (error, took) = told(word);
                let in_time = took >= Duration::from_secs(1) && took < Duration::from_secs(3);
                assert!(error.contains(about) && error.contains("within 1 s") && in_time, "{word:?}: {error}");
            });
        }
    });
}

/// Returns what a party says that has one second and is told a word, and how long it took to say so.
fn told(word: RelayMessage) -> (String, Duration) {
    let scene = Scene::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            scene.listener.set_nonblocking(false).unwrap();
            drop(receive(&scene.listener, &scene.relay, &scene.party, &[word], b""));
            // It comes again, if it does, to a relay that does nothing.
            scene.listener.set_nonblocking(true).unwrap();
            std::thread::sleep(Duration::from_millis(1200));
        });
        let started = std::time::Instant::now();
        let error = scene.meet(ConnectionEnd::Dials, 1).unwrap().to_string();
        (error, started.elapsed())
    })
}

/// A doctor's look: answered, refused, and nobody there.
#[test]
fn a_look_says_what_is_there() {
    let scene = Scene::new();
    let seen = |word: RelayMessage| {
        std::thread::scope(|scope| {
            scope.spawn(|| drop(receive(&scene.listener, &scene.relay, &scene.party, &[word], b"")));
            look(&scene.place(), &scene.party, Duration::from_secs(3))
        })
    };
    assert!(seen(RelayMessage::Known).is_ok());
    assert!(matches!(seen(RelayMessage::UnknownJob), Err(Error::Terms(_))));
    let place = scene.place();
    drop(scene.listener);
    let error = look(&place, &scene.party, Duration::from_secs(1)).unwrap_err();
    assert!(matches!(&error, Error::Network { peer, .. } if peer.starts_with("the relay (")), "{error}");
    // And what it means for a connection that was lost.
    let lost = Error::Network { peer: "peer".into(), what: "went away".into() };
    let blamed = place.blame(lost, &scene.party).to_string();
    assert!(blamed.starts_with("the relay (") && blamed.contains("peer"), "{blamed}");
    let told = Error::Peer { peer: "peer".into(), kind: tacita_core::ErrorKind::Input };
    assert_eq!(place.blame(told.clone(), &scene.party), told);
}
