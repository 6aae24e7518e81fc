//! Oblivious transfer: what both parties get fits together, whatever is behind the traits, for every number of OTs.

use std::collections::HashSet;

use crate::support::{rng, session};
use rand_core::Rng;
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::additive::{self, Sharing};
use tacita_core::primitive::ot::softspoken::{
    CorrelatedReceiver, CorrelatedSender, MAX_K, Params, RandomReceiver, RandomSender,
};
use tacita_core::primitive::ot::{
    Choices, CorrelatedOtReceiver, CorrelatedOtSender, RandomOtReceiver, RandomOtSender, StoredReceiver, StoredSender,
    base, chosen, ideal,
};
use tacita_core::security::Security;
use tacita_core::{Channel, Error, Result};

const FORMS: [Security; 2] = [Security::SemiHonest, Security::Malicious];

/// Runs the sender on a thread of its own, the receiver on this one.
fn both<S: Send, R>(
    send: impl FnOnce(&mut Channel) -> Result<S> + Send,
    receive: impl FnOnce(&mut Channel) -> Result<R>,
) -> (S, R) {
    let (mut sender, mut receiver) = Channel::pair("sender", "receiver");
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let sent = send(&mut sender).unwrap();
            sender.finish().unwrap();
            sent
        });
        let received = receive(&mut receiver).unwrap();
        receiver.finish().unwrap();
        (sending.join().unwrap(), received)
    })
}

/// Random OTs in calls of these lengths: the pairs, the choices, the blocks.
fn random(
    sender: &mut (impl RandomOtSender + Send),
    receiver: &mut impl RandomOtReceiver,
    calls: &[usize],
    seed: u8,
) -> (Vec<[Block; 2]>, Choices, Vec<Block>) {
    let count = calls.iter().sum();
    let choices = Choices::random(count, &mut rng(seed));
    let (mut pairs, mut blocks) = (vec![[Block::ALL_ONES; 2]; count], vec![Block::ALL_ONES; count]);
    both(
        |channel| in_calls(calls, &mut pairs, |_, outputs| sender.send(outputs, channel)),
        |channel| {
            in_calls(calls, &mut blocks, |start, outputs| {
                receiver.receive(&choices.slice(start..start + outputs.len()), outputs, channel)
            })
        },
    );
    (pairs, choices, blocks)
}

fn correlated(
    sender: &mut (impl CorrelatedOtSender + Send),
    receiver: &mut impl CorrelatedOtReceiver,
    calls: &[usize],
    seed: u8,
) -> (Vec<Block>, Choices, Vec<Block>) {
    let count = calls.iter().sum();
    let choices = Choices::random(count, &mut rng(seed));
    let (mut firsts, mut blocks) = (vec![Block::ALL_ONES; count], vec![Block::ALL_ONES; count]);
    both(
        |channel| in_calls(calls, &mut firsts, |_, outputs| sender.send(outputs, channel)),
        |channel| {
            in_calls(calls, &mut blocks, |start, outputs| {
                receiver.receive(&choices.slice(start..start + outputs.len()), outputs, channel)
            })
        },
    );
    (firsts, choices, blocks)
}

fn in_calls<T>(calls: &[usize], outputs: &mut [T], mut call: impl FnMut(usize, &mut [T]) -> Result<()>) -> Result<()> {
    let mut start = 0;
    for length in calls {
        call(start, &mut outputs[start..start + length])?;
        start += length;
    }
    Ok(())
}

/// Every block is the chosen one of its pair; blocks are as random as so many can show, and none comes twice.
fn check_random((pairs, choices, blocks): &(Vec<[Block; 2]>, Choices, Vec<Block>)) {
    assert_eq!(pairs.len(), blocks.len());
    for (index, (pair, block)) in pairs.iter().zip(blocks).enumerate() {
        assert!(*block == pair[usize::from(choices.get(index))], "OT {index} of {}", blocks.len());
    }
    look_random(pairs.as_flattened());
    // Nor do the two of a pair have anything to do with each other.
    look_random(&pairs.iter().map(|pair| pair[0] ^ pair[1]).collect::<Vec<_>>());
}

fn check_correlated(delta: Block, (firsts, choices, blocks): &(Vec<Block>, Choices, Vec<Block>)) {
    assert_eq!(firsts.len(), blocks.len());
    for (index, (first, block)) in firsts.iter().zip(blocks).enumerate() {
        assert!(*block == *first ^ (delta & Block::select(choices.get(index))), "OT {index} of {}", blocks.len());
    }
    look_random(firsts);
    look_random(blocks);
}

/// Checks that no block comes twice. Every bit is about as often one as zero. It equals its neighbour in the same and
/// in the next block about as often as not.
fn look_random(blocks: &[Block]) {
    let distinct: HashSet<u128> = blocks.iter().map(|block| block.0).collect();
    assert_eq!(distinct.len(), blocks.len(), "a block came twice");
    // Bit by bit in the first part, which is as good a sample as all.
    let blocks = &blocks[..blocks.len().min(1 << 14)];
    let mut counts = [[0u32; 128]; 3];
    for (index, block) in blocks.iter().enumerate() {
        let next = blocks.get(index + 1).copied().unwrap_or_default();
        for (counts, bits) in counts.iter_mut().zip([block.0, block.0 ^ block.0.rotate_left(1), block.0 ^ next.0]) {
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += (bits >> bit & 1) as u32;
            }
        }
    }
    let (expected, deviation) = (blocks.len() as f64 / 2.0, (blocks.len() as f64).sqrt() / 2.0);
    for count in counts.as_flattened() {
        // 7 standard deviations: far beyond chance, for all tests together. Few blocks show nothing.
        assert!((f64::from(*count) - expected).abs() <= 7.0 * deviation + 1.0, "{count} ones of {}", blocks.len());
    }
}

fn random_pair(security: Security, k: usize, seed: u8) -> (RandomSender, RandomReceiver) {
    let params = Params::new(security, k).unwrap();
    let (mut receiver_base, mut sender_base) = ideal::pair([seed; 32]);
    both(
        |channel| {
            RandomSender::setup_over(
                &params,
                &session(),
                "test",
                &mut sender_base,
                channel,
                &mut rng(seed.wrapping_add(1)),
            )
        },
        |channel| {
            let rng = &mut rng(seed.wrapping_add(2));
            RandomReceiver::setup_over(&params, &session(), "test", &mut receiver_base, channel, rng)
        },
    )
}

fn correlated_pair(security: Security, k: usize, seed: u8) -> (CorrelatedSender, CorrelatedReceiver) {
    let params = Params::new(security, k).unwrap();
    let (mut receiver_base, mut sender_base) = ideal::pair([seed; 32]);
    let delta = Block::random(&mut rng(seed.wrapping_add(1)));
    both(
        |channel| CorrelatedSender::setup_over(&params, &session(), "test", delta, &mut sender_base, channel),
        |channel| {
            let rng = &mut rng(seed.wrapping_add(2));
            CorrelatedReceiver::setup_over(&params, &session(), "test", &mut receiver_base, channel, rng)
        },
    )
}

/// Checks all requirements on random OTs, of the protocol, of the dealer and of base OTs alike.
fn random_ots(sender: &mut (impl RandomOtSender + Send), receiver: &mut impl RandomOtReceiver, calls: &[&[usize]]) {
    let mut pairs = Vec::new();
    for (seed, calls) in calls.iter().enumerate() {
        let outputs = random(sender, receiver, calls, seed as u8);
        check_random(&outputs);
        pairs.extend(outputs.0);
    }
    // Nor does a later call repeat anything.
    assert_eq!(pairs.as_flattened().iter().map(|block| block.0).collect::<HashSet<_>>().len(), 2 * pairs.len());
}

fn correlated_ots(
    sender: &mut (impl CorrelatedOtSender + Send),
    receiver: &mut impl CorrelatedOtReceiver,
    calls: &[&[usize]],
) {
    let mut firsts = Vec::new();
    let delta = sender.delta();
    for (seed, calls) in calls.iter().enumerate() {
        let outputs = correlated(sender, receiver, calls, seed as u8);
        check_correlated(delta, &outputs);
        firsts.extend(outputs.0);
    }
    assert_eq!(firsts.iter().map(|block| block.0).collect::<HashSet<_>>().len(), firsts.len());
    assert!(sender.delta() == delta);
}

/// Lengths at which anything could change: blocks, tiles.
const SHORT: [&[usize]; 6] =
    [&[0], &[1, 0, 2, 3], &[127], &[128, 129], &[255, 1, 256, 257], &[4095, 4096, 4097, 5, 3968, 3969]];

#[test]
fn the_dealer_deals_right() {
    let (mut sender, mut receiver) = ideal::pair([1; 32]);
    random_ots(&mut sender, &mut receiver, &SHORT);
    correlated_ots(&mut sender, &mut receiver, &SHORT);
}

#[test]
fn base_ots_are_right() {
    let mut sender = base::BaseOtSender::new(&session(), "test", &mut rng(1));
    let mut receiver = base::BaseOtReceiver::new(&session(), "test", &mut rng(2));
    random_ots(&mut sender, &mut receiver, &[&[0], &[1], &[2, 128, 3]]);
}

#[test]
#[ignore = "more base OTs than one message holds"]
fn base_ots_of_several_messages_are_right() {
    let mut sender = base::BaseOtSender::new(&session(), "test", &mut rng(1));
    let mut receiver = base::BaseOtReceiver::new(&session(), "test", &mut rng(2));
    random_ots(&mut sender, &mut receiver, &[&[4096, 4097]]);
}

#[test]
fn extended_ots_are_right_for_every_k() {
    for security in FORMS {
        for k in 1..=MAX_K {
            let (mut sender, mut receiver) = random_pair(security, k, k as u8);
            random_ots(&mut sender, &mut receiver, &SHORT);
            let (mut sender, mut receiver) = correlated_pair(security, k, k as u8);
            correlated_ots(&mut sender, &mut receiver, &SHORT);
        }
    }
}

#[test]
fn extended_ots_are_right_around_chunks() {
    for security in FORMS {
        for k in [1, 3, 4] {
            let chunk = Params::new(security, k).unwrap().chunk();
            for count in [chunk - 1, chunk, chunk + 1] {
                let (mut sender, mut receiver) = random_pair(security, k, 9);
                random_ots(&mut sender, &mut receiver, &[&[count], &[1, 77]]);
            }
        }
        let (mut sender, mut receiver) = correlated_pair(security, 2, 9);
        correlated_ots(&mut sender, &mut receiver, &[&[1 << 18], &[1]]);
        // More than 8 MiB on both sides, which are written past the caches.
        let (mut sender, mut receiver) = random_pair(security, 2, 9);
        random_ots(&mut sender, &mut receiver, &[&[530_003]]);
    }
}

#[test]
#[ignore = "large"]
fn many_extended_ots_are_right() {
    for security in FORMS {
        for k in [1, 2, 5, 8] {
            let (mut sender, mut receiver) = random_pair(security, k, 9);
            random_ots(&mut sender, &mut receiver, &[&[(1 << 21) + 3]]);
        }
    }
}

/// Checks the whole protocol, with its own base OTs and with several threads on each side.
#[test]
fn the_whole_protocol_is_right() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for security in FORMS {
        let params = Params::new(security, 4).unwrap();
        let count = 20_000;
        let choices = Choices::random(count, &mut rng(7));
        let (mut pairs, mut blocks) = (vec![[Block::ZERO; 2]; count], vec![Block::ZERO; count]);
        let ((), ()) = both(
            |channel| {
                let mut sender = RandomSender::setup(&params, &session(), "test", channel, &mut rng(1))?;
                sender.send(&mut pairs, channel)
            },
            |channel| {
                pool.install(|| {
                    let mut receiver = RandomReceiver::setup(&params, &session(), "test", channel, &mut rng(2))?;
                    receiver.receive(&choices, &mut blocks, channel)
                })
            },
        );
        check_random(&(pairs, choices, blocks));

        let mut delta = Block::ZERO;
        let choices = Choices::random(count, &mut rng(8));
        let (mut firsts, mut blocks) = (vec![Block::ZERO; count], vec![Block::ZERO; count]);
        both(
            |channel| {
                let mut sender = CorrelatedSender::setup(&params, &session(), "test", channel, &mut rng(1))?;
                delta = sender.delta();
                sender.send(&mut firsts, channel)
            },
            |channel| {
                let mut receiver = CorrelatedReceiver::setup(&params, &session(), "test", channel, &mut rng(2))?;
                receiver.receive(&choices, &mut blocks, channel)
            },
        );
        check_correlated(delta, &(firsts, choices, blocks));
    }
}

/// Several calls give what one call gives. The malicious form adds OTs of its own to each call; with it, and with
/// calls that end within a block, only what was to be correlated is.
#[test]
fn several_calls_are_one() {
    let chunk = Params::new(Security::SemiHonest, 2).unwrap().chunk();
    let whole = [chunk + 128 * 75 + 5];
    let parts = [128, 128 * 70, 0, chunk, 128 * 3, 128 + 5];
    let once = |calls: &[usize]| {
        let (mut sender, mut receiver) = random_pair(Security::SemiHonest, 2, 5);
        random(&mut sender, &mut receiver, calls, 1)
    };
    assert!(once(&whole) == once(&parts));
    let once = |calls: &[usize]| {
        let (mut sender, mut receiver) = correlated_pair(Security::SemiHonest, 2, 5);
        correlated(&mut sender, &mut receiver, calls, 1)
    };
    assert!(once(&whole) == once(&parts));
    let once = |calls: &[usize]| {
        let (mut sender, mut receiver) = ideal::pair([3; 32]);
        random(&mut sender, &mut receiver, calls, 1)
    };
    assert!(once(&[1000]) == once(&[1, 128, 0, 871]));
}

/// Shares of products of integers with bits, from any random OTs.
fn products<W: additive::ShareWord + From<u8>>(
    sharing: Sharing,
    ots: (&mut (impl RandomOtSender + Send), &mut impl RandomOtReceiver),
    correlations: &[W],
    choices: &Choices,
) -> (Vec<W>, Vec<W>) {
    let (mut of_sender, mut of_receiver) = (vec![W::from(1); choices.len()], vec![W::from(1); choices.len()]);
    both(
        |channel| additive::send(sharing, ots.0, correlations, &mut of_sender, channel),
        |channel| additive::receive(sharing, ots.1, choices, &mut of_receiver, channel),
    );
    (of_sender, of_receiver)
}

#[test]
fn shares_add_up_to_products() {
    let (mut sender, mut receiver) = ideal::pair([1; 32]);
    let mut rng = rng(1);
    for bits in [1, 2, 7, 8, 31, 63, 64, 65, 100, 127, 128] {
        for count in [0usize, 1, 2, 9, 1000] {
            let choices = Choices::random(count, &mut rng);
            let correlations: Vec<u128> = (0..count).map(|_| Block::random(&mut rng).0).collect();
            let mask = u128::MAX >> (128 - bits);
            for sharing in [Sharing::modulo(bits).unwrap(), Sharing::exclusive_or(bits).unwrap()] {
                let (a, b) = products(sharing, (&mut sender, &mut receiver), &correlations, &choices);
                for index in 0..count {
                    let sum = if sharing == Sharing::modulo(bits).unwrap() {
                        a[index].wrapping_add(b[index]) & mask
                    } else {
                        a[index] ^ b[index]
                    };
                    let expected = if choices.get(index) { correlations[index] & mask } else { 0 };
                    assert_eq!(sum, expected, "{bits} bits");
                    assert_eq!((a[index] & !mask, b[index] & !mask), (0, 0));
                }
            }
        }
    }
    assert!(Sharing::modulo(0).is_err() && Sharing::exclusive_or(129).is_err());
}

/// More than one message, narrow words, and the real protocol.
#[test]
fn many_shares_add_up_to_products() {
    let count = 5 * 32_640 + 3;
    let choices = Choices::random(count, &mut rng(2));
    let correlations: Vec<u64> = (0..count as u64).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut ots = random_pair(Security::Malicious, 4, 1);
    let sharing = Sharing::modulo(64).unwrap();
    let (a, b) = products(sharing, (&mut ots.0, &mut ots.1), &correlations, &choices);
    for index in 0..count {
        let expected = if choices.get(index) { correlations[index] } else { 0 };
        assert_eq!(a[index].wrapping_add(b[index]), expected);
    }
    // Each share alone is random.
    look_random(
        &a.chunks_exact(2).map(|pair| Block(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect::<Vec<_>>(),
    );
    look_random(
        &b.chunks_exact(2).map(|pair| Block(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect::<Vec<_>>(),
    );

    let bytes: Vec<u8> = correlations.iter().map(|value| *value as u8).collect();
    let (a, b) = products(Sharing::modulo(5).unwrap(), (&mut ots.0, &mut ots.1), &bytes, &choices);
    for index in 0..count {
        let expected = if choices.get(index) { bytes[index] % 32 } else { 0 };
        assert_eq!((a[index] + b[index]) % 32, expected);
    }
    let error = additive::send(sharing, &mut ots.0, &[1u8], &mut [0u8], &mut Channel::pair("a", "b").0).unwrap_err();
    assert!(matches!(error, Error::Internal(_)));
}

#[test]
fn chosen_messages_arrive() {
    let check = |ots: (&mut (dyn RandomOtSender + Send), &mut dyn RandomOtReceiver), bytes: usize, count: usize| {
        let choices = Choices::random(count, &mut rng(3));
        let mut pairs = vec![0; 2 * bytes * count];
        rng(4).fill_bytes(&mut pairs);
        let mut outputs = vec![0; bytes * count];
        let (mut sender, mut receiver) = (Dyn(ots.0), Dyn(ots.1));
        both(
            |channel| chosen::send(&mut sender, bytes, &pairs, channel),
            |channel| chosen::receive(&mut receiver, &choices, bytes, &mut outputs, channel),
        );
        for (index, (output, pair)) in outputs.chunks(bytes).zip(pairs.chunks(2 * bytes)).enumerate() {
            assert!(*output == pair[bytes * usize::from(choices.get(index))..][..bytes], "{bytes} bytes, OT {index}");
        }
    };
    let mut ots = ideal::pair([1; 32]);
    for bytes in [1, 2, 15, 16, 17, 32, 33, 1000] {
        for count in [0, 1, 2, 5, 300] {
            check((&mut ots.0, &mut ots.1), bytes, count);
        }
    }
    check((&mut ots.0, &mut ots.1), chosen::MAX_BYTES, 2);
    let mut ots = random_pair(Security::Malicious, 4, 1);
    check((&mut ots.0, &mut ots.1), 16, 6 * 32_640 + 1);
    check((&mut ots.0, &mut ots.1), 40_000, 70);
    // Base OTs, whose receiver waits for the sender: two messages.
    let mut sender = base::BaseOtSender::new(&session(), "test", &mut rng(5));
    let mut receiver = base::BaseOtReceiver::new(&session(), "test", &mut rng(6));
    check((&mut sender, &mut receiver), 40_000, 14);
    for bytes in [0, chosen::MAX_BYTES + 1] {
        let error = chosen::send(&mut ots.0, bytes, &[], &mut Channel::pair("a", "b").0).unwrap_err();
        assert!(matches!(error, Error::Internal(_)));
    }
}

/// OTs behind a reference.
struct Dyn<'a, T: ?Sized>(&'a mut T);

impl RandomOtSender for Dyn<'_, dyn RandomOtSender + Send + '_> {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        self.0.send(outputs, channel)
    }
}

impl RandomOtReceiver for Dyn<'_, dyn RandomOtReceiver + '_> {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        self.0.receive(choices, outputs, channel)
    }

    fn waits(&self) -> bool {
        self.0.waits()
    }
}

#[test]
fn stored_ots_serve_choices_that_come_later() {
    let (mut sender, mut receiver) = ideal::pair([1; 32]);
    let (pairs, choices, blocks) = random(&mut sender, &mut receiver, &[20_000], 9);
    let (mut sender, mut receiver) = (StoredSender::new(pairs), StoredReceiver::new(choices, blocks));
    random_ots(&mut sender, &mut receiver, &[&[0], &[1], &[127, 128, 129, 3], &[9000]]);
    assert_eq!((sender.left(), receiver.left()), (10_612, 10_612));
    let (mut end, _other) = Channel::pair("a", "b");
    assert!(matches!(sender.send(&mut vec![[Block::ZERO; 2]; 10_613], &mut end), Err(Error::Internal(_))));
    let too_many = receiver.receive(&Choices::zeros(10_613), &mut vec![Block::ZERO; 10_613], &mut end);
    assert!(matches!(too_many, Err(Error::Internal(_))));
    assert_eq!(format!("{sender:?} {receiver:?}"), "StoredSender(10612 left) StoredReceiver(10612 left)");
}

/// Every value is bound to session, purpose, form and k: with the same seeds another one gives other OTs.
#[test]
fn nothing_of_one_purpose_fits_another() {
    let mut seen = HashSet::new();
    let mut add = |pairs: Vec<[Block; 2]>| {
        for block in pairs.as_flattened() {
            assert!(seen.insert(block.0));
        }
    };
    for purpose in ["one", "another"] {
        for security in FORMS {
            for k in [2, 3] {
                let params = Params::new(security, k).unwrap();
                let (mut receiver_base, mut sender_base) = ideal::pair([1; 32]);
                let (mut sender, mut receiver) = both(
                    |channel| {
                        let rng = &mut rng(1);
                        RandomSender::setup_over(&params, &session(), purpose, &mut sender_base, channel, rng)
                    },
                    |channel| {
                        let rng = &mut rng(2);
                        RandomReceiver::setup_over(&params, &session(), purpose, &mut receiver_base, channel, rng)
                    },
                );
                add(random(&mut sender, &mut receiver, &[50], 1).0);
            }
        }
        let mut sender = base::BaseOtSender::new(&session(), purpose, &mut rng(1));
        let mut receiver = base::BaseOtReceiver::new(&session(), purpose, &mut rng(2));
        add(random(&mut sender, &mut receiver, &[5], 1).0);
    }
}

/// Bytes and messages are as the parameters say.
#[test]
fn traffic_is_as_computed() {
    for security in FORMS {
        for (k, bytes) in [(1, 16.0), (2, 8.0), (4, 4.0), (8, 2.0)] {
            let params = Params::new(security, k).unwrap();
            let (mut sender, mut receiver) = random_pair(security, k, 1);
            let count = 1 << 18;
            let choices = Choices::random(count, &mut rng(1));
            let ((), traffic) = both(
                |channel| sender.send(&mut vec![[Block::ZERO; 2]; count], channel),
                |channel| {
                    receiver.receive(&choices, &mut vec![Block::ZERO; count], channel)?;
                    Ok(channel.traffic())
                },
            );
            let mut expected = 0;
            for start in (0..count).step_by(params.chunk()) {
                expected += 10 + params.corrections_bytes(params.chunk().min(count - start));
                expected += if security == Security::Malicious { 10 + Params::consistency_bytes() } else { 0 };
            }
            assert_eq!((traffic.sent, traffic.received), (expected as u64, 0));
            assert!((expected as f64 / count as f64 / bytes - 1.0).abs() < 0.01, "{expected} bytes");
        }
    }
}

#[test]
fn secrets_are_not_printed() {
    let (sender, receiver) = random_pair(Security::Malicious, 2, 1);
    assert_eq!(format!("{sender:?} {receiver:?}"), "RandomSender(..) RandomReceiver(..)");
    let (sender, receiver) = correlated_pair(Security::Malicious, 2, 1);
    assert_eq!(format!("{sender:?} {receiver:?}"), "CorrelatedSender(..) CorrelatedReceiver(..)");
    let (sender, receiver) = ideal::pair([7; 32]);
    assert_eq!(format!("{sender:?} {receiver:?}"), "Sender(..) Receiver(..)");
    let base = base::BaseOtSender::new(&session(), "test", &mut rng(1));
    assert_eq!(format!("{base:?}"), "Sender(0 base OTs so far)");
    assert_ne!(rng(1).next_u64(), rng(2).next_u64());
}
