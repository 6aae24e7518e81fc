//! Tests that the messages each role of oblivious transfer receives do not depend on the other's secrets. They look
//! uniformly random, whatever the choices and the messages are. Every check is also run on a deliberately leaky
//! variant, which must fail it.

use std::collections::HashSet;
use std::sync::Mutex;

use crate::support::{Frame, payloads, rng, session, two};
use tacita_core::primitive::group::{Group, Ristretto255};
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::additive::{self, Sharing};
use tacita_core::primitive::ot::softspoken::{Params, RandomReceiver, RandomSender};
use tacita_core::primitive::ot::{
    BASE_KEY, BASE_POINTS, CONSISTENCY, CORRECTIONS, Choices, FLIPS, MESSAGES, RandomOtReceiver, RandomOtSender,
    StoredReceiver, StoredSender, TREES, base, chosen, ideal,
};
use tacita_core::security::Security;
use tacita_core::{Channel, Result};

type Check = std::result::Result<(), String>;

/// Records the frames that the receiver sent, and those that the sender sent.
fn record(
    receive: impl FnMut(&mut Channel) -> Result<()> + Send,
    send: impl FnMut(&mut Channel) -> Result<()> + Send,
) -> [Vec<Frame>; 2] {
    let (receive, send) = (Mutex::new(receive), Mutex::new(send));
    two::record(&|channel| receive.lock().unwrap()(channel), &|channel| send.lock().unwrap()(channel)).0
}

/// Bytes are uniform: chi-square of how often each of the 256 values comes, at most 6 standard deviations above its
/// mean.
fn uniform(what: &str, bytes: &[u8]) -> Check {
    let mut counts = [0u64; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let expected = bytes.len() as f64 / 256.0;
    assert!(expected >= 5.0, "{what}: {} bytes are too few for a check", bytes.len());
    let chi_square: f64 = counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
    match (chi_square - 255.0) / 510f64.sqrt() {
        far if far > 6.0 => Err(format!("{what} are not uniform: {far:.1} standard deviations")),
        _ => Ok(()),
    }
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// Checks that no 16 bytes in a row come twice.
fn fresh<'a>(what: &str, parts: impl Iterator<Item = &'a [u8]>) -> Check {
    let mut seen = HashSet::new();
    if parts.into_iter().all(|part| seen.insert(part.to_vec())) {
        Ok(())
    } else {
        Err(format!("a part of {what} came twice"))
    }
}

const K: usize = 4;
const TREES_COUNT: usize = 32;
const COUNT: usize = 4096;

fn params(security: Security) -> Params {
    Params::new(security, K).unwrap()
}

/// Two calls of COUNT OTs with these choices.
fn extension(security: Security, choices: &Choices, seed: u8) -> [Vec<Frame>; 2] {
    let params = params(security);
    record(
        |channel| {
            let (mut base, _) = ideal::pair([seed; 32]);
            let mut ot = RandomReceiver::setup_over(&params, &session(), "test", &mut base, channel, &mut rng(seed))?;
            let mut outputs = vec![Block::ZERO; choices.len()];
            (0..2).try_for_each(|_| ot.receive(choices, &mut outputs, channel))
        },
        |channel| {
            let (_, mut base) = ideal::pair([seed; 32]);
            let rng = &mut rng(seed.wrapping_add(100));
            let mut ot = RandomSender::setup_over(&params, &session(), "test", &mut base, channel, rng)?;
            let mut outputs = vec![[Block::ZERO; 2]; choices.len()];
            (0..2).try_for_each(|_| ot.send(&mut outputs, channel))
        },
    )
}

/// Corrections hide the choices: uniform, independent of each other from tree to tree and from call to call. `calls`
/// holds the corrections of each call: a row for each tree, all equally long.
fn corrections_hide_choices(calls: &[Vec<u8>], trees: usize) -> Check {
    for call in calls {
        uniform("corrections", call)?;
        let rows: Vec<&[u8]> = call.chunks(call.len() / trees).collect();
        let differences: Vec<u8> = rows.windows(2).flat_map(|pair| xor(pair[0], pair[1])).collect();
        uniform("differences between trees", &differences)?;
    }
    for pair in calls.windows(2) {
        uniform("differences between calls", &xor(&pair[0], &pair[1]))?;
    }
    fresh("corrections", calls.iter().flat_map(|call| call.chunks_exact(16)))
}

#[test]
fn the_sender_sees_uniform_corrections_whatever_the_choices() {
    let all =
        [Choices::zeros(COUNT), Choices::from_bits((0..COUNT).map(|_| true)), Choices::random(COUNT, &mut rng(1))];
    for security in [Security::SemiHonest, Security::Malicious] {
        for choices in &all {
            let [receiver, _] = extension(security, choices, 1);
            let corrections = payloads(&receiver, CORRECTIONS.code);
            let bytes = params(security).corrections_bytes(COUNT);
            assert_eq!(corrections.len(), 2 * bytes);
            let calls: Vec<Vec<u8>> = corrections.chunks(bytes).map(<[u8]>::to_vec).collect();
            corrections_hide_choices(&calls, TREES_COUNT).unwrap();
        }
    }
    // Leaky: no stream hides the choices; all trees are the same; both calls use the same blocks of the streams.
    let random = |seed: u8, bytes: usize| {
        let mut bytes = vec![0; bytes];
        rand_core::Rng::fill_bytes(&mut rng(seed), &mut bytes);
        bytes
    };
    let bytes = params(Security::SemiHonest).corrections_bytes(COUNT);
    corrections_hide_choices(&[vec![0; bytes], random(1, bytes)], TREES_COUNT).unwrap_err();
    let row = random(2, bytes / TREES_COUNT);
    corrections_hide_choices(&[row.repeat(TREES_COUNT), random(3, bytes)], TREES_COUNT).unwrap_err();
    let first = random(4, bytes);
    let mut second = first.clone();
    second.iter_mut().for_each(|byte| *byte ^= 0xff);
    corrections_hide_choices(&[first, second], TREES_COUNT).unwrap_err();
}

#[test]
fn the_sender_sees_fresh_uniform_trees() {
    for security in [Security::SemiHonest, Security::Malicious] {
        let runs: Vec<Vec<u8>> =
            (0..4).map(|seed| payloads(&extension(security, &Choices::zeros(1), seed)[0], TREES.code)).collect();
        assert!(runs.iter().all(|run| run.len() == params(security).trees_bytes()));
        let check = |runs: &[Vec<u8>]| {
            uniform("trees", &runs.concat())?;
            fresh("trees", runs.iter().flat_map(|run| run.chunks_exact(16)))
        };
        check(&runs).unwrap();
        // Leaky: trees from the same roots, and sums that nothing hides.
        check(&[runs[0].clone(), runs[0].clone()]).unwrap_err();
        let plain: Vec<u8> = runs[0].chunks(16).flat_map(|_| [7; 16]).collect();
        check(&[plain]).unwrap_err();
    }
}

/// The check tells the sender a hash of all choices, which random ones hide.
#[test]
fn the_check_says_nothing_of_the_choices() {
    let hash_of = |seed: u8| {
        let [receiver, _] = extension(Security::Malicious, &Choices::zeros(3), seed);
        let responses = payloads(&receiver, CONSISTENCY.code);
        assert_eq!(responses.len(), 2 * Params::consistency_bytes());
        responses.chunks(Params::consistency_bytes()).map(|response| response[..16].to_vec()).collect::<Vec<_>>()
    };
    let hashes: Vec<Vec<u8>> = (0..60).flat_map(hash_of).collect();
    let check = |hashes: &[Vec<u8>]| {
        uniform("hashes of choices", &hashes.concat())?;
        fresh("hashes of choices", hashes.iter().map(|hash| &hash[..]))
    };
    check(&hashes).unwrap();
    // Leaky: without the random choices the hash of no choices is nought.
    check(&vec![vec![0; 16]; 120]).unwrap_err();
}

/// Base OTs with these choices.
fn base_ots(choices: &Choices, seed: u8) -> [Vec<Frame>; 2] {
    record(
        |channel| {
            let mut ot = base::BaseOtReceiver::new(&session(), "test", &mut rng(seed));
            ot.receive(choices, &mut vec![Block::ZERO; choices.len()], channel)
        },
        |channel| {
            let mut ot = base::BaseOtSender::new(&session(), "test", &mut rng(seed + 100));
            ot.send(&mut vec![[Block::ZERO; 2]; choices.len()], channel)
        },
    )
}

/// Valid points, never the same twice, uniform in those bits of their encodings that are; both of each OT alike. (An
/// encoding's first byte is even and its last below 128.)
fn points_are_uniform(runs: &[Vec<u8>]) -> Check {
    for run in runs {
        Ristretto255.decode(run).map_err(|error| error.to_string())?;
    }
    fresh("points", runs.iter().flat_map(|run| run.chunks(32)))?;
    for side in 0..2 {
        let points = runs.iter().flat_map(|run| run.chunks(32).skip(side).step_by(2));
        uniform("points", &points.flat_map(|point| point[1..31].to_vec()).collect::<Vec<_>>())?;
    }
    Ok(())
}

#[test]
fn points_are_uniform_whatever_the_choices() {
    for choices in [Choices::zeros(64), Choices::from_bits((0..64).map(|_| true))] {
        let runs: Vec<[Vec<Frame>; 2]> = (0..3).map(|seed| base_ots(&choices, seed)).collect();
        let points: Vec<Vec<u8>> = runs.iter().map(|[receiver, _]| payloads(receiver, BASE_POINTS.code)).collect();
        assert!(points.iter().all(|points| points.len() == 64 * 64));
        points_are_uniform(&points).unwrap();
        // Leaky: the point that the receiver does not know is always the same.
        let mut leaky = points.clone();
        let (first, rest) = leaky[0].split_at_mut(64);
        rest[..32].copy_from_slice(&first[..32]);
        points_are_uniform(&leaky).unwrap_err();
        let keys: Vec<Vec<u8>> = runs.iter().map(|[_, sender]| payloads(sender, BASE_KEY.code)).collect();
        assert!(keys.iter().all(|key| Ristretto255.decode(key).is_ok_and(|points| points.len() == 1)));
        fresh("keys", keys.iter().map(|key| &key[..])).unwrap();
    }
}

/// Checks that the receiver's messages on top of random OTs are uniform, however little random the sender's inputs are.
#[test]
fn messages_are_hidden() {
    let choices = Choices::zeros(COUNT);
    for (bits, sharing) in [(16, Sharing::modulo(16).unwrap()), (16, Sharing::exclusive_or(16).unwrap())] {
        let (mut dealt_sender, mut dealt_receiver) = ideal::pair([1; 32]);
        let [_, sender] = record(
            |channel| additive::receive(sharing, &mut dealt_receiver, &choices, &mut vec![0u16; COUNT], channel),
            |channel| additive::send(sharing, &mut dealt_sender, &vec![1; COUNT], &mut vec![0u16; COUNT], channel),
        );
        let messages = payloads(&sender, MESSAGES.code);
        assert_eq!(messages.len(), COUNT * bits / 8);
        uniform("messages", &messages).unwrap();
        let neighbours = xor(&messages[..messages.len() - 2], &messages[2..]);
        uniform("differences between messages", &neighbours).unwrap();
    }
    for bytes in [3, 40] {
        let (mut dealt_sender, mut dealt_receiver) = ideal::pair([1; 32]);
        let [_, sender] = record(
            |channel| chosen::receive(&mut dealt_receiver, &choices, bytes, &mut vec![0; COUNT * bytes], channel),
            |channel| chosen::send(&mut dealt_sender, bytes, &vec![0; 2 * COUNT * bytes], channel),
        );
        let messages = payloads(&sender, MESSAGES.code);
        assert_eq!(messages.len(), 2 * COUNT * bytes);
        uniform("messages", &messages).unwrap();
        let (first, second) = (messages.chunks(2 * bytes), messages.chunks(2 * bytes));
        let pairs = first.zip(second).flat_map(|(pair, same)| xor(&pair[..bytes], &same[bytes..]));
        uniform("differences within pairs", &pairs.collect::<Vec<_>>()).unwrap();
    }
    // Leaky: the correlations themselves, and one pad for both messages of a pair, which here are the same.
    uniform("messages", &[1, 0].repeat(COUNT)).unwrap_err();
    uniform("differences within pairs", &vec![0; COUNT]).unwrap_err();
}

#[test]
fn flips_hide_the_choices() {
    let count = 1 << 14;
    let flips = |stored: &Choices| {
        let (mut dealt_sender, mut dealt_receiver) = ideal::pair([1; 32]);
        let (mut pairs, mut blocks) = (vec![[Block::ZERO; 2]; count], vec![Block::ZERO; count]);
        let (mut end, _other) = Channel::pair("nobody", "nobody");
        RandomOtSender::send(&mut dealt_sender, &mut pairs, &mut end).unwrap();
        RandomOtReceiver::receive(&mut dealt_receiver, stored, &mut blocks, &mut end).unwrap();
        let [receiver, _] = record(
            |channel| {
                let mut ot = StoredReceiver::new(stored.clone(), blocks.clone());
                ot.receive(&Choices::zeros(count), &mut vec![Block::ZERO; count], channel)
            },
            |channel| StoredSender::new(pairs.clone()).send(&mut vec![[Block::ZERO; 2]; count], channel),
        );
        payloads(&receiver, FLIPS.code)
    };
    uniform("flips", &flips(&Choices::random(count, &mut rng(3)))).unwrap();
    // Leaky: stored OTs whose choices were not random.
    uniform("flips", &flips(&Choices::zeros(count))).unwrap_err();
}
