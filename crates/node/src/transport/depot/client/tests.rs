//! Helpers that lie, and what a party makes of it.

use std::net::TcpListener;
use std::time::SystemTime;

use tacita_core::channel::labels::depot::{DEPOT_ANSWER, DEPOT_REQUEST};
use tacita_core::depot::{DepotParty, DepotStep};

use super::super::frame::MAX_FRAME_BYTES;
use super::*;
use crate::identity::VALIDITY;

const STEP: DepotStep = DepotStep { code: 5, name: "entries" };

/// Three parties, of which this is the first, and a helper.
struct Scene {
    listener: TcpListener,
    helper: Identity,
    own: Identity,
}

impl Scene {
    fn new() -> Scene {
        let [helper, own] = ["hub", "a"].map(|name| {
            let now = SystemTime::now();
            Identity::generate(name, now, now + VALIDITY).unwrap()
        });
        Scene { listener: TcpListener::bind("127.0.0.1:0").unwrap(), helper, own }
    }

    /// The first party's way to the helper; it waits for what others do as long as `patience`.
    fn client(&self, patience: Duration) -> DepotClient {
        let pin = self.own.fingerprint();
        let place = HelperAddress {
            address: self.listener.local_addr().unwrap().to_string(),
            helper: Peer { name: "hub".into(), pin: self.helper.fingerprint() },
            parties: ["a", "b", "c"].map(|name| Peer { name: name.into(), pin }).to_vec(),
        };
        let terms = DepotTerms { id: "t".into(), text: "{}".into(), agreement: [7; 32], differences: |_, _| None };
        let (times, ways) = ([Duration::from_secs(20), patience], (LinkShape::default(), Expected::default()));
        DepotClient::new(place, 0, self.own.clone(), terms, times, ways, Cancel::default()).unwrap()
    }

    /// The first party's next connection, at the helper.
    fn welcome(&self) -> Channel {
        let peer = Peer { name: "a".into(), pin: self.own.fingerprint() };
        let options = Options { purpose: Purpose::Helper, timeout: Duration::from_secs(20), ..Options::default() };
        transport::listen(&self.listener, &peer, &self.helper, &options).unwrap().channel
    }

    /// Returns the error with which a party ends that waits for the second one's parcel, if the helper answers the
    /// request with `lie`.
    fn collect(&self, patience: Duration, lie: &DepotResponse<'_>) -> Error {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut channel = self.welcome();
                for answer in [DepotResponse::Welcome.write(), lie.write()] {
                    channel.receive_up_to(DEPOT_REQUEST, MAX_FRAME_BYTES).unwrap();
                    channel.send(DEPOT_ANSWER, answer).unwrap();
                }
                // Until the party has gone.
                let _ = channel.receive_up_to(DEPOT_REQUEST, MAX_FRAME_BYTES);
            });
            let client = self.client(patience);
            let parcel = Parcel { step: STEP, from: DepotParty::Party(1), to: DepotParty::Party(0) };
            let error = client.collect(parcel, 0, 100).unwrap_err();
            drop(client);
            error
        })
    }
}

/// A helper that is started again may have heard a party, and have gone before it could answer.
#[test]
fn a_helper_that_goes_before_it_answers_is_dialled_again() {
    let scene = Scene::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for answer in [None, Some(DepotResponse::Welcome)] {
                let mut channel = scene.welcome();
                channel.receive_up_to(DEPOT_REQUEST, MAX_FRAME_BYTES).unwrap();
                if let Some(answer) = answer {
                    channel.send(DEPOT_ANSWER, answer.write()).unwrap();
                }
            }
        });
        scene.client(Duration::ZERO).arrive().unwrap();
    });
}

/// Statements by a helper about a party are known from the helper alone, and are reported as such.
#[test]
fn what_a_helper_says_of_others_is_told_as_what_it_says() {
    use ErrorKind::{Authentication, Input, Internal, Interrupted, Network, Protocol};
    let client = Scene::new().client(Duration::ZERO);
    let [own, b, c] = [0, 1, 2].map(DepotParty::Party);
    for (by, kind, culprit, text) in [
        (b, Input, None, "b stopped: its input, its files or its limits do not allow the job, as hub says"),
        (b, Network, None, "b cannot be reached any more, as hub says"),
        (b, Interrupted, Some(b), "b was interrupted by its user, as hub says"),
        (b, Protocol, Some(c), "c broke the protocol, as hub says in the name of b"),
        (b, Authentication, Some(DepotParty::Helper), "hub failed authentication, as it has heard from b"),
        (b, Protocol, Some(own), "a broke the protocol, as hub says in the name of b"),
        (DepotParty::Helper, Network, Some(c), "c cannot be reached any more, as hub says"),
        // What it says of itself, and of what it has seen of this party.
        (DepotParty::Helper, Internal, None, "hub stopped on an internal error"),
        (
            DepotParty::Helper,
            Protocol,
            Some(own),
            "hub stopped: a message of ours failed its checks; are both versions the same?",
        ),
    ] {
        let error = client.ended(by, kind, culprit);
        assert_eq!(error.to_string(), text);
        assert_eq!(error.kind() == Protocol, kind == Protocol);
    }
}

#[test]
fn a_helper_that_invents_who_has_ended_the_run_is_named() {
    let lie = DepotResponse::Ended {
        by: DepotParty::Party(1),
        kind: ErrorKind::Protocol,
        culprit: Some(DepotParty::Party(2)),
    };
    let error = Scene::new().collect(Duration::from_secs(20), &lie);
    assert_eq!(error.to_string(), "c broke the protocol, as hub says in the name of b");
}

/// Whoever has left nothing may wait for another, and only the helper says that it has left nothing.
#[test]
fn who_leaves_nothing_in_time_is_not_accused() {
    let error = Scene::new().collect(Duration::ZERO, &DepotResponse::NotYet);
    assert!(matches!(&error, Error::Network { peer, .. } if peer == "hub"), "{error:?}");
    let text = error.to_string();
    for part in ["hub: says that b has sent no `entries`", "may itself wait for another party"] {
        assert!(text.contains(part), "`{text}` lacks `{part}`");
    }
    let client = Scene::new().client(Duration::ZERO);
    let own = client
        .overdue(Parcel { step: STEP, from: DepotParty::Helper, to: DepotParty::Party(0) }, Duration::from_secs(3));
    assert!(own.to_string().starts_with("hub: has no `entries` after 3"), "{own}");
    // Those who are missing are so by the helper's word.
    let missing = client.missing(&[1, 2], Instant::now() - Duration::from_secs(60)).unwrap_err();
    assert!(missing.to_string().ends_with("as hub says: is it running?"), "{missing}");
}

/// A part that was cut on its way is no part; the helper keeps parts, and could have cut it.
#[test]
fn a_part_of_another_length_is_refused() {
    let (short, long) = ([0; 99], [0; 101]);
    for part in [&short[..], &long] {
        let error = Scene::new().collect(Duration::from_secs(20), &DepotResponse::Part(part));
        assert!(matches!(&error, Error::Protocol { peer, .. } if peer == "hub, or b,"), "{error:?}");
    }
}

/// Either the word of each party is present, or the helper has left it out.
#[test]
fn a_helper_that_leaves_out_a_word_is_named() {
    let scene = Scene::new();
    let client = scene.client(Duration::ZERO);
    let signed = |place| word::sign(&scene.own, &[7; 32], place, b"keys").unwrap();
    let words: Vec<_> = (0..3).map(signed).collect();
    assert_eq!(client.words(4, &words.concat()).unwrap(), vec![b"keys".to_vec(); 3]);
    for left_out in [words[..2].concat(), words[1..].concat(), Vec::new()] {
        let error = client.words(4, &left_out).unwrap_err();
        assert!(matches!(&error, Error::Protocol { peer, .. } if peer == "hub"), "{error:?}");
    }
}
