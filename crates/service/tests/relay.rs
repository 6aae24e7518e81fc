//! All pairs of a large job at one relay.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tacita_core::channel::Label;
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::identity::Identity;
use tacita_node::transport::relay::{Place, Side, meet};
use tacita_node::transport::{Cancel, Options, Peer};
use tacita_service::relay::{Serving, serve};

/// Parties of the job, of which each meets each.
const PARTIES: usize = 24;

const SAID: Label = Label::new(1, "said");

/// What each tells each: more than any buffer of the relay holds.
const BYTES: usize = 200_000;

fn identity(name: &str) -> Identity {
    let now = SystemTime::now();
    Identity::generate(name, now, now + Duration::from_secs(3600)).unwrap()
}

#[test]
fn all_pairs_of_a_large_job_meet() {
    let names: Vec<_> = (0..PARTIES).map(|place| format!("p{place}")).collect();
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
    let place = Place { address: address.clone(), pin: relay.fingerprint(), agreement, lane: 0 };
    let cancel = Cancel::default();
    let serving = Serving {
        jobs: vec![(PathBuf::from("job.toml"), job)],
        identity: relay,
        listen: address,
        cancel: cancel.clone(),
    };
    let served = std::thread::spawn(move || serve(serving));
    std::thread::scope(|scope| {
        for own in 0..PARTIES {
            for other in (0..PARTIES).filter(|other| *other != own) {
                let (place, names, identities) = (&place, &names, &identities);
                scope.spawn(move || {
                    let peer = Peer { name: names[other].clone(), pin: identities[other].fingerprint() };
                    let side = if own > other { Side::Dials } else { Side::Listens };
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

/// Two parties have as many connections at a time as a job that is spread needs, each between those who name the same lane, and not more than the relay allows.
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
    let place = |lane| Place { address: address.clone(), pin: relay.fingerprint(), agreement, lane };
    let cancel = Cancel::default();
    let serving = Serving {
        jobs: vec![(PathBuf::from("job.toml"), job)],
        identity: relay.clone(),
        listen: address.clone(),
        cancel: cancel.clone(),
    };
    let served = std::thread::spawn(move || serve(serving));
    let come = |lane: u64, own: usize, timeout: Duration| {
        let peer = Peer { name: ["a", "b"][1 - own].into(), pin: identities[1 - own].fingerprint() };
        let side = if own == 1 { Side::Dials } else { Side::Listens };
        meet(&place(lane), &peer, side, &identities[own], &Options { timeout, ..Options::default() })
    };
    let (all, come) = (std::sync::Barrier::new(2 * LANES as usize), &come);
    std::thread::scope(|scope| {
        for (lane, own) in (0..LANES).flat_map(|lane| [(lane, 0), (lane, 1)]) {
            let all = &all;
            scope.spawn(move || {
                let mut channel = come(lane, own, Duration::from_secs(60)).unwrap().channel;
                // All are connected at once; one more is not.
                if all.wait().is_leader() {
                    assert!(come(LANES, own, Duration::from_millis(500)).is_err());
                }
                all.wait();
                let said = channel.exchange(SAID, lane.to_le_bytes().to_vec(), 8).unwrap();
                assert_eq!(said, lane.to_le_bytes());
                channel.finish().unwrap();
            });
        }
    });
    cancel.cancel();
    assert_eq!(served.join().unwrap(), Ok(()));
}
