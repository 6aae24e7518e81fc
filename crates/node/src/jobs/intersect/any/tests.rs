use std::time::Duration;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::channel::{Channel, MAX_PAYLOAD_BYTES};
use tacita_core::primitive::kernel::block;
use tacita_core::primitive::okvs;
use tacita_core::primitive::ot::BASE_POINTS;
use tacita_core::primitive::ot::softspoken::{self, CorrelatedReceiver};
use tacita_core::primitive::vole::VoleReceiver;
use tacita_core::primitive::vole::silent::SilentReceiver;
use tacita_core::protocol::intersect::vole::{COIN, COMMITMENT, MASKED, OPENING, SEED, overfitted_items};
use tacita_core::security::STATISTICAL_BITS;
use tacita_core::session::Transcript;
use tacita_core::{Chance, Result, Role, Security, Session};

use super::{Alternatives, load_all};
use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{
    Chosen, DiskRun, JobSpec, MAX_ALTERNATIVES, PartContext, PartyInput, Peers, Protocol, Sizes, Source,
};
use crate::jobs::intersect::{disk, params};
use crate::table::ReadOptions;

fn job(keys: &str, reveal: &str) -> JobSpec {
    let text = format!(
        "job = \"intersect\"\nid = \"t\"\nreveal = \"{reveal}\"\nreveal_to = [\"a\"]\n{}\n[key]\n{keys}\n[parties.a]\n[parties.b]\n",
        if reveal == "payload" { "gives = { b = [\"z\"] }" } else { "" }
    );
    JobSpec::parse(&text, false).unwrap()
}

/// Checks the total probability of failure by chance in a job with the maximum number of keys. A chance that is not
/// counted for all runs together occurs once per run.
#[test]
fn chances_of_several_keys_stay_below_the_whole() {
    let chance = |bits: u32| 2f64.powi(-(bits as i32));
    // Codes are the same in all runs; all else is counted for all runs together.
    let counted: f64 = [Chance::Store, Chance::Tag, Chance::Bucket, Chance::Code, Chance::Fit]
        .map(|chance| chance.bits())
        .map(chance)
        .iter()
        .sum();
    assert!(counted < chance(STATISTICAL_BITS));
    // What a malicious receiver may fit: somewhat more in each of several runs, so that no more fits in any but with
    // the same probability.
    let fit = |runs: usize| overfitted_items(1000, Chance::Store.bits(), runs).unwrap();
    assert!(fit(MAX_ALTERNATIVES) >= fit(1) && fit(1 << 40) > fit(1) && fit(1 << 40) < fit(1) + 10);

    let all =
        "any = [[\"x\"], [\"y\"], [\"x\", \"y\"], [\"v\"], [\"w\"], [\"v\", \"w\"], [\"x\", \"w\"], [\"y\", \"v\"]]";
    let sizes = Sizes { items: 1 << 20, entries: 1 << 20, ..Sizes::default() };
    for reveal in ["rows", "payload"] {
        let one = params(&job("columns = [\"x\"]", reveal), "a", &sizes, &sizes);
        for several in job(all, reveal).alternatives() {
            let several = params(&several, "a", &sizes, &sizes);
            assert_eq!(several.store_bits, one.store_bits + 3);
            assert!(8 * (several.tag_bytes as u32) >= Chance::Tag.bits() + 3 + 40, "{reveal}");
        }
    }
    let on_disk = Sizes { work: Some(DiskRun { memory: 1 << 24, kept: None }), entries: 0, ..sizes };
    let buckets = |job: &JobSpec| disk::params(job, "a", Protocol::named("vole"), &on_disk, &on_disk).unwrap();
    let (one, several) = (buckets(&job("columns = [\"x\"]", "rows")), buckets(&job(all, "rows").alternatives()[0]));
    assert!(several.bound(Role::Receiver) > one.bound(Role::Receiver));
    assert_eq!(several.bucket().store_bits, one.bucket().store_bits + 3);
}

/// The intersections of one job are those of no other.
#[test]
fn alternatives_have_terms_of_their_own() {
    use crate::agreement::Terms;
    let several = job("any = [[\"x\"], [\"y\"]]", "rows");
    let mut all: Vec<_> = several.alternatives().iter().map(|job| Terms::of(job).agreement()).collect();
    all.extend(["x", "y"].map(|column| Terms::of(&job(&format!("columns = [\"{column}\"]"), "rows")).agreement()));
    all.push(Terms::of(&several).agreement());
    all.push(Terms::of(&job("any = [[\"y\"], [\"x\"]]", "rows")).agreement());
    all.push(Terms::of(&job("columns = [\"x\", \"y\"]", "rows")).agreement());
    let count = all.len();
    assert_eq!(all.into_iter().collect::<std::collections::BTreeSet<_>>().len(), count);
}

/// A job of two keys among malicious parties, and what one of them brings to it.
fn malicious(reveal: &str, party: &str) -> (JobSpec, Alternatives) {
    let mut job = job("any = [[\"x\"], [\"y\"]]", reveal);
    job.security = Security::Malicious;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.csv");
    std::fs::write(&path, "x,y,z\n1,u,one\n2,v,two\n3,w,three\n").unwrap();
    let source = Source::File { path, options: ReadOptions::default(), allow_unreadable: false };
    let part = load_all(&job, party, &source).unwrap();
    (job, part)
}

/// A receiver that is bound by the first key and not by the second hears nothing yet of what the sender has.
#[test]
fn no_key_is_answered_before_all_are_bound() {
    for reveal in ["rows", "payload"] {
        let [(job, mut sender), (_, receiver)] = ["b", "a"].map(|party| malicious(reveal, party));
        let agreed = HandshakeResult {
            session: Session::new(Transcript::new("test")),
            chosen: Chosen::only(Protocol::named("vole")),
            own_sizes: sender.sizes(),
            peer_sizes: receiver.sizes(),
        };
        let (mut to_receiver, mut channel) = Channel::pair("b", "a");
        channel.set_patience(Duration::from_secs(60));
        let (answered, ended) = std::thread::scope(|scope| {
            let sends = scope.spawn(|| {
                let peers = Peers::One { agreed: &agreed, channel: &mut to_receiver };
                let rng = &mut ChaCha20Rng::from_seed([1; 32]);
                let ran = sender.run(PartContext { job: &job, me: "b", peers, allowed: None, secret: &[0; 32], rng });
                ran.inspect_err(|error| to_receiver.handle().interrupt(error.clone())).map(drop)
            });
            let answered = is_bound(&job, &agreed, &mut channel).and_then(|()| {
                // The base OTs of the second key are due.
                channel.receive_up_to(BASE_POINTS, MAX_PAYLOAD_BYTES).map(drop)
            });
            drop(channel);
            (answered, sends.join().unwrap())
        });
        assert!(answered.is_ok() && ended.is_err(), "{reveal}: {answered:?}, {ended:?}");
    }
}

/// The receiver's program by the first key, with any store.
fn is_bound(job: &JobSpec, agreed: &HandshakeResult, channel: &mut Channel) -> Result<()> {
    let (session, rng) = (agreed.session.child("alternative", 0), &mut ChaCha20Rng::from_seed([2; 32]));
    let sizes = params(&job.alternatives()[0], "a", &agreed.peer_sizes.any[0], &agreed.own_sizes.any[0]);
    let columns = okvs::Params::new(sizes.receiver_items, sizes.store_bits)?.columns();
    let transfers = softspoken::Params::new(Security::Malicious, 8)?;
    let transfers = CorrelatedReceiver::setup(&transfers, &session, "intersection", channel, rng)?;
    let mut vole = SilentReceiver::new(transfers, Security::Malicious, &session, "intersection", rng);
    channel.receive(COMMITMENT, 32)?;
    channel.send(SEED, vec![3; 32])?;
    let (mut a, mut c) = (block::zeros(columns), block::zeros(columns));
    vole.extend(&mut a, &mut c, channel)?;
    channel.send(MASKED, block::as_bytes(&a).to_vec())?;
    channel.send(COIN, vec![4; 16])?;
    channel.receive(OPENING, 32).map(drop)
}
