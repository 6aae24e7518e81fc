//! Relay with all pairs of a large job.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use tacita_core::Error;
use tacita_core::channel::Label;
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::identity::Identity;
use tacita_node::transport::relay::{ConnectionEnd, RelayAddress, meet};
use tacita_node::transport::{ConnectCancel, Options, Peer};
use tacita_serve::relay::{RelayConfig, serve};

const SAID: Label = Label::new(1, "said");

/// Number of bytes that each party sends to each other: more than any buffer of the relay holds.
const BYTES: usize = 200_000;

fn identity(name: &str) -> Identity {
    let now = SystemTime::now();
    Identity::generate(name, now, now + Duration::from_secs(3600)).unwrap()
}

#[test]
fn all_pairs_of_a_large_job_meet() {
    all_pairs_meet(12);
}

#[test]
#[ignore = "slow: 276 pairs"]
fn all_pairs_of_a_larger_job_meet() {
    all_pairs_meet(24);
}

/// Each of so many parties meets each.
fn all_pairs_meet(parties: usize) {
    let names: Vec<_> = (0..parties).map(|place| format!("p{place}")).collect();
    let identities: Vec<_> = names.iter().map(|name| identity(name)).collect();
    let mut text = "job = \"dot\"\nid = \"t\"\ncolumn = \"x\"\nreveal_to = [\"p0\"]\n".to_owned();
    for (place, (name, identity)) in names.iter().zip(&identities).enumerate() {
        let role =
            if place == 0 { "role = \"server\"".to_owned() } else { format!("role = \"client\"\nslice = {place}") };
        text += &format!("[parties.{name}]\nidentity = \"{}\"\n{role}\n", identity.fingerprint());
    }
    let learners: Vec<_> = names[1..].iter().map(|name| format!("{name:?}")).collect();
    let job = JobSpec::parse(&text.replace("\"p0\"]", &format!("{}]", learners.join(", "))), false).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let relay = identity("relay");
    let agreement = Terms::of(&job).agreement_bytes();
    let place = RelayAddress { address: address.clone(), pin: relay.fingerprint(), agreement, lane: 0 };
    let cancel = ConnectCancel::default();
    let serving = RelayConfig {
        jobs: vec![(PathBuf::from("job.toml"), job)],
        identity: relay,
        listen: address,
        cancel: cancel.clone(),
    };
    let served = std::thread::spawn(move || serve(serving));
    std::thread::scope(|scope| {
        for own in 0..parties {
            for other in (0..parties).filter(|other| *other != own) {
                let (place, names, identities) = (&place, &names, &identities);
                scope.spawn(move || {
                    let peer = Peer { name: names[other].clone(), pin: identities[other].fingerprint() };
                    let side = if own > other { ConnectionEnd::Dials } else { ConnectionEnd::Listens };
                    let connected = meet(place, &peer, side, &identities[own], &Options::default()).unwrap();
                    let mut channel = connected.channel;
                    let said = channel.exchange(SAID, vec![own as u8; BYTES], BYTES).unwrap();
                    assert!(said.iter().all(|byte| usize::from(*byte) == other));
                    channel.finish().unwrap();
                });
            }
        }
    });
    cancel.cancel();
    assert_eq!(served.join().unwrap(), Ok(()));
}

/// Two parties have as many connections at a time as a job that is spread needs, each between those who name the same
/// lane, and not more than the relay allows.
#[test]
fn lanes_of_two_parties_are_apart() {
    const LANES: u64 = 256;
    let identities = ["a", "b"].map(identity);
    let [a, b] = identities.each_ref().map(|identity| identity.fingerprint().to_string());
    let text = format!(
        "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"k\"]\n[parties.a]\nidentity = \"{a}\"\n[parties.b]\nidentity = \"{b}\"\n"
    );
    let job = JobSpec::parse(&text, false).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let relay = identity("relay");
    let agreement = Terms::of(&job).agreement_bytes();
    let place = |lane| RelayAddress { address: address.clone(), pin: relay.fingerprint(), agreement, lane };
    let cancel = ConnectCancel::default();
    let serving = RelayConfig {
        jobs: vec![(PathBuf::from("job.toml"), job)],
        identity: relay.clone(),
        listen: address.clone(),
        cancel: cancel.clone(),
    };
    let served = std::thread::spawn(move || serve(serving));
    let come = |lane: u64, own: usize, timeout: Duration| {
        let peer = Peer { name: ["a", "b"][1 - own].into(), pin: identities[1 - own].fingerprint() };
        let side = if own == 1 { ConnectionEnd::Dials } else { ConnectionEnd::Listens };
        meet(&place(lane), &peer, side, &identities[own], &Options { timeout, ..Options::default() })
    };
    let (all, come) = (std::sync::Barrier::new(2 * LANES as usize), &come);
    let met = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (lane, own) in (0..LANES).flat_map(|lane| [(lane, 0), (lane, 1)]) {
            let (all, met) = (&all, &met);
            scope.spawn(move || {
                let mut channel = come(lane, own, Duration::from_secs(60)).unwrap().channel;
                // All are connected at once; two more are not. Who finds otherwise says so where nobody waits for it.
                if all.wait().is_leader() {
                    let more =
                        [0, 1].map(|own| scope.spawn(move || come(LANES, own, Duration::from_millis(500)).is_ok()));
                    let more = more.map(|one| usize::from(one.join().unwrap()));
                    met.store(more[0] + more[1], Ordering::Relaxed);
                }
                all.wait();
                let said = channel.exchange(SAID, lane.to_le_bytes().to_vec(), 8).unwrap();
                assert_eq!(said, lane.to_le_bytes());
                channel.finish().unwrap();
            });
        }
    });
    assert_eq!(met.into_inner(), 0);
    cancel.cancel();
    assert_eq!(served.join().unwrap(), Ok(()));
}

/// A relay of a job of two, while `visit` visits: with the place of the two there, and their identities.
fn of_two(visit: impl FnOnce(&RelayAddress, &[Identity; 2])) {
    let identities = ["a", "b"].map(identity);
    let [a, b] = identities.each_ref().map(|identity| identity.fingerprint().to_string());
    let text = format!(
        "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"k\"]\n[parties.a]\nidentity = \"{a}\"\n[parties.b]\nidentity = \"{b}\"\n"
    );
    let job = JobSpec::parse(&text, false).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (relay, cancel) = (identity("relay"), ConnectCancel::default());
    let agreement = Terms::of(&job).agreement_bytes();
    let place = RelayAddress { address: address.clone(), pin: relay.fingerprint(), agreement, lane: 0 };
    let jobs = vec![(PathBuf::from("job.toml"), job)];
    let serving = RelayConfig { jobs, identity: relay, listen: address, cancel: cancel.clone() };
    let served = std::thread::spawn(move || serve(serving));
    visit(&place, &identities);
    cancel.cancel();
    assert_eq!(served.join().unwrap(), Ok(()));
}

/// Waits for a moment, and not for good.
fn briefly() -> Options {
    Options { timeout: Duration::from_secs(20), ..Options::default() }
}

fn peer(name: &str, identity: &Identity) -> Peer {
    Peer { name: name.into(), pin: identity.fingerprint() }
}

/// Whoever comes for another job, or to meet itself, is told so at once, and keeps nobody waiting.
#[test]
fn strangers_to_a_pair_are_told_so() {
    of_two(|place, [a, b]| {
        let meet =
            |place: &RelayAddress, of: &Peer| meet(place, of, ConnectionEnd::Dials, a, &briefly()).err().unwrap();
        let alone = meet(place, &peer("a", a));
        assert!(matches!(&alone, Error::Authentication { what, .. } if what.contains("has no peer a")), "{alone}");
        let nobody = meet(place, &peer("c", &identity("c")));
        assert!(matches!(&nobody, Error::Authentication { what, .. } if what.contains("has no peer c")), "{nobody}");
        let other = meet(&RelayAddress { agreement: [7; 32], ..place.clone() }, &peer("b", b));
        assert!(matches!(&other, Error::Terms(what) if what.contains("does not know this job")), "{other}");
    });
}

/// The later one of two processes of one party waits, and meets the other party: neither is taken for that.
#[test]
fn who_comes_twice_is_met_once() {
    of_two(|place, [a, b]| {
        let (ended, ends) = std::sync::mpsc::channel();
        let twice = || meet(place, &peer("b", b), ConnectionEnd::Dials, a, &briefly()).map(drop);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let ended = ended.clone();
                scope.spawn(move || ended.send(twice()).unwrap());
            }
            // One of them is sent away: the other one waits then.
            let replaced = ends.recv().unwrap().unwrap_err().to_string();
            assert!(replaced.contains("replaced this one"), "{replaced}");
            meet(place, &peer("a", a), ConnectionEnd::Listens, b, &briefly()).unwrap();
            ends.recv().unwrap().unwrap();
        });
    });
}
