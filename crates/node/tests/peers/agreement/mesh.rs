//! The handshake of three parties that all talk to each other: whoever tells one this and another that is found out
//! between them.

use tacita_core::channel::{Channel, Label};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Error, ErrorKind, Result};
use tacita_node::agreement::handshake::{self, Greeted};
use tacita_node::agreement::mesh::{self, MeshAgreement};
use tacita_node::agreement::{Chosen, JobSpec, Network, Sizes, Terms};
use tacita_node::transport::links::Links;

const CHOICE: Label = Label::new(0xf2, "choice");
const NAMES: [&str; 3] = ["a", "b", "c"];

fn job() -> JobSpec {
    let parties = "[parties.a]\n[parties.b]\n[parties.c]\n";
    let text = format!("job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n{parties}");
    JobSpec::parse(&text, false).unwrap()
}

fn sizes(items: u64) -> Sizes {
    Sizes { items, ..Sizes::default() }
}

fn nonce(me: &str, _: &str) -> [u8; 32] {
    [me.as_bytes()[0]; 32]
}

/// Messages that a party sends instead of the correct ones, from `sizes` on.
type Script = dyn Fn(Vec<Greeted>, &mut [Channel]) -> Result<()> + Sync;

/// Returns the outcome for each of the three parties. `nonce` is that of a party on its connection to another; `liar`
/// sends the messages of its script.
fn outcome(nonce: fn(&str, &str) -> [u8; 32], liar: Option<(&str, &Script)>) -> [Result<Option<MeshAgreement>>; 3] {
    let job = &job();
    let (a_b, b_a) = Channel::pair("a", "b");
    let (a_c, c_a) = Channel::pair("a", "c");
    let (b_c, c_b) = Channel::pair("b", "c");
    let party = |me: &str, mut channels: Vec<Channel>| {
        let links = Links::default();
        channels.iter().for_each(|channel| links.add(channel.handle()));
        links.guard(|| {
            let greet = |channel: &mut Channel| {
                let nonce = nonce(me, channel.peer());
                handshake::greet_as(job, me, nonce, &[7; 32], channel)
            };
            let greeted = channels.iter_mut().map(greet).collect::<Result<Vec<_>>>()?;
            match liar.filter(|(name, _)| *name == me) {
                Some((_, script)) => script(greeted, &mut channels).map(|()| None),
                None => agree(job, me, greeted, &mut channels).map(Some),
            }
        })
    };
    std::thread::scope(|scope| {
        let ends = NAMES.into_iter().zip([vec![a_b, a_c], vec![b_a, b_c], vec![c_a, c_b]]);
        let parties: Vec<_> = ends.map(|(me, channels)| scope.spawn(move || party(me, channels))).collect();
        let ended: Vec<_> = parties.into_iter().map(|party| party.join().unwrap()).collect();
        ended.try_into().unwrap_or_else(|_| panic!("three"))
    })
}

fn agree(job: &JobSpec, me: &str, greeted: Vec<Greeted>, channels: &mut [Channel]) -> Result<MeshAgreement> {
    let check = |theirs: &Sizes, channel: &Channel| match theirs.row_bytes {
        0 => Ok(()),
        _ => Err(channel.violation("it gives rows")),
    };
    let choose = |sizes: &_| job.job.choose(job, sizes, Network::default()).map(|choice| choice.chosen);
    mesh::agree(job, me, &sizes(3), greeted, channels, check, choose)
}

fn kind(ended: &Result<Option<MeshAgreement>>) -> Option<ErrorKind> {
    ended.as_ref().err().map(Error::kind)
}

/// A third party that follows the protocol with each of the others, and tells the first one that it has `told[0]` keys,
/// the second that it has `told[1]`.
fn third(told: [u64; 2]) -> impl Fn(Vec<Greeted>, &mut [Channel]) -> Result<()> {
    move |greeted, channels| {
        let job = &job();
        let own = told.map(|items| serde_json::to_vec(&sizes(items)).unwrap());
        let mut theirs = Vec::new();
        for (channel, own) in channels.iter_mut().zip(&own) {
            theirs.push(handshake::exchange_sizes(job, own.clone(), channel)?.1);
        }
        let choice = channels[0].receive_up_to(CHOICE, 64)?;
        let nonces: Vec<_> = greeted.iter().map(|greeted| greeted.nonces.clone()).collect();
        for (place, greeted) in greeted.into_iter().enumerate() {
            // As the party at the other end sees it.
            let mut transcript = Transcript::new("mesh");
            transcript.append("terms", Terms::of(job).canonical().as_bytes());
            for (other, bytes) in theirs.iter().enumerate() {
                transcript.append("nonce", nonces[other][1].as_bytes()).append("sizes", bytes);
            }
            transcript.append("nonce", nonces[place][0].as_bytes()).append("sizes", &own[place]);
            transcript.append("choice", &choice);
            let session = Session::new(transcript);
            let own = greeted.bound_to(&[("mesh", session.id())]).within(&session);
            handshake::confirm(&own, job, "c", &mut channels[place])?;
        }
        Ok(())
    }
}

#[test]
fn all_arrive_at_one_run() {
    let ended = outcome(nonce, None);
    let agreed: Vec<_> = ended.iter().map(|ended| ended.as_ref().unwrap().as_ref().unwrap()).collect();
    assert!(agreed.iter().all(|one| one.session.id() == agreed[0].session.id() && one.sizes == agreed[0].sizes));
    let pair = |me: usize, peer: usize| {
        let pair = agreed[me].pairs.iter().find(|pair| pair.peer == NAMES[peer]).unwrap();
        *pair.session.id()
    };
    assert!(pair(0, 1) == pair(1, 0) && pair(0, 2) == pair(2, 0) && pair(1, 2) == pair(2, 1));
    // The script below is an honest party where it tells both the same.
    assert!(outcome(nonce, Some(("c", &third([3, 3])))).iter().all(Result::is_ok));
}

#[test]
fn a_party_that_tells_two_different_sizes_is_found_out_between_them() {
    let [a, b, _] = outcome(nonce, Some(("c", &third([3, 4]))));
    for (ended, other) in [(a, "b"), (b, "a")] {
        let Err(Error::Protocol { peer, .. }) = ended else { panic!("two sizes pass") };
        assert_eq!(peer, format!("{other}, or a party that sends contradictory messages,"));
    }
}

#[test]
fn connections_of_two_runs_do_not_make_one() {
    let two = |me: &str, peer: &str| if (me, peer) == ("c", "b") { [9; 32] } else { nonce(me, peer) };
    let [a, b, _] = outcome(two, Some(("c", &third([3, 3]))));
    assert_eq!([kind(&a), kind(&b)], [Some(ErrorKind::Protocol); 2]);
}

#[test]
fn nobody_has_the_nonce_of_another() {
    let same = |me: &str, peer: &str| nonce(if (me, peer) == ("c", "a") { "b" } else { me }, peer);
    let [a, ..] = outcome(same, Some(("c", &third([3, 3]))));
    assert!(
        matches!(&a, Err(Error::Protocol { check, .. }) if check.contains("another party's nonce")),
        "{:?}",
        kind(&a)
    );
}

/// An invalid choice, or a protocol other than that of the terms, is the fault of the party that chose it.
#[test]
fn the_first_party_chooses_what_the_terms_allow() {
    for choice in ["vole", "polynomial", "star ", ""] {
        let first = |_: Vec<Greeted>, channels: &mut [Channel]| {
            for channel in channels.iter_mut() {
                handshake::exchange_sizes(&job(), serde_json::to_vec(&sizes(3)).unwrap(), channel)?;
            }
            channels.iter_mut().try_for_each(|channel| channel.send(CHOICE, choice.into()))?;
            // Until they end it.
            channels[0].receive_up_to(Label::new(0xf3, "confirm"), 32).map(drop)
        };
        let [_, b, _] = outcome(nonce, Some(("a", &first)));
        assert!(matches!(&b, Err(Error::Protocol { peer, .. }) if peer == "a"), "{choice:?}: {:?}", kind(&b));
    }
    assert!(Chosen::read(&job(), "star").is_some());
}

/// Requirements of a job on the sizes of a peer apply to all peers.
#[test]
fn sizes_are_held_against_the_job() {
    let gives = |_: Vec<Greeted>, channels: &mut [Channel]| {
        let own = serde_json::to_vec(&Sizes { row_bytes: 1, ..sizes(3) }).unwrap();
        for channel in channels.iter_mut() {
            handshake::exchange_sizes(&job(), own.clone(), channel)?;
        }
        channels[0].receive_up_to(CHOICE, 64).map(drop)
    };
    let [a, ..] = outcome(nonce, Some(("c", &gives)));
    assert!(
        matches!(&a, Err(Error::Protocol { peer, check }) if peer == "c" && check == "it gives rows"),
        "{:?}",
        kind(&a)
    );
}
