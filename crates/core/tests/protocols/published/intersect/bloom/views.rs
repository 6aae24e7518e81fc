//! Tests of the view of each role of `bloom`, compared with a simulator that knows its result and the bound alone.
//! Every check is also run on a deliberately leaky variant, which must fail it.

use std::collections::BTreeSet;

use crate::support::two::record;
use crate::support::views::{Check, byte_counts, uniform};
use crate::support::{Frame, items, payloads, rng, session};
use tacita_core::channel::Channel;
use tacita_core::primitive::kernel::RekeyedHash;
use tacita_core::primitive::kernel::block::{self, BLOCK_BYTES, Block};
use tacita_core::primitive::ot::{CORRECTIONS, CorrelatedOtSender, ideal};
use tacita_core::primitive::published::bloom::{Filter, Garbled, Hashes, PIECE};
use tacita_core::protocol::published::intersect::bloom::{self, Params, SLOTS, Strength};
use tacita_core::{Item, Result, Role};

const BOUND: usize = 60;

fn params() -> Params {
    Params::new(BOUND, Strength::Bits80, 4).unwrap()
}

/// The frames of the receiver and of the sender in a run with these items.
fn frames(mine: &[Item], theirs: &[Item], seed: u8) -> [Vec<Frame>; 2] {
    let receive = |channel: &mut Channel| bloom::receive(mine, &params(), &session(), channel, &mut rng(seed));
    let send = |channel: &mut Channel| -> Result<Vec<usize>> {
        bloom::send(theirs, &params(), &session(), channel, &mut rng(seed ^ 0x80))?;
        Ok(Vec::new())
    };
    record(&receive, &send).0
}

/// Kinds, labels and lengths of messages depend on the bound alone, for every size of either set.
#[test]
fn the_form_of_messages_says_nothing_of_the_items() {
    let form = |frames: &[Frame]| frames.iter().map(|f| (f.kind, f.label, f.payload.len())).collect::<Vec<_>>();
    let expected = frames(&items(0..BOUND), &items(0..BOUND), 1).map(|frames| form(&frames));
    for (mine, theirs) in [(0..0, 0..0), (0..1, 5..BOUND), (0..BOUND, 0..0), (3..20, 10..40)] {
        assert_eq!(frames(&items(mine), &items(theirs), 2).map(|frames| form(&frames)), expected);
    }
    // Leaky: filters for the receiver's own number of items.
    let short = Params::new(BOUND - 1, Strength::Bits80, 4).unwrap();
    assert_ne!(short.bytes_sent_by(Role::Sender), params().bytes_sent_by(Role::Sender));
}

/// The sender sees corrections, in which the receiver's bits are hidden: uniform, also for an empty filter.
#[test]
fn the_sender_sees_random_bits() {
    let seen = |mine: &[Item]| -> Check {
        let all = (0..40).flat_map(|seed| payloads(&frames(mine, &items(0..3), seed)[0], CORRECTIONS.code));
        uniform("bytes of corrections", &byte_counts(all))
    };
    seen(&items(0..BOUND)).unwrap();
    seen(&[]).unwrap();
    // Leaky: the bits themselves, of which half are zero in a full filter and all in an empty one.
    let hashes = Hashes::new(Strength::Bits80, params().slots(), &[1; 32]);
    let bits = |count: usize| {
        let bits: Vec<bool> = Filter::new(&items(0..count), &hashes).bits(0).iter().collect();
        bits.chunks(8).map(|byte| byte.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect::<Vec<u8>>()
    };
    uniform("bits", &byte_counts((0..40).flat_map(|_| bits(BOUND / 2)))).unwrap_err();
    uniform("bits", &byte_counts((0..40).flat_map(|_| bits(0)))).unwrap_err();
}

/// Computes what the receiver can make of the sender's message with the blocks of its OTs: the slots that it has
/// chosen, and of the others nothing. Also does this for a sender that hides nothing.
fn unchosen(theirs: &[Item], seed: u8, hides: bool) -> Vec<Block> {
    let params = params();
    let derive = |part: &str| session().derive(&format!("bloom {part} 80 {BOUND} of views 0"));
    let hashes = Hashes::new(Strength::Bits80, params.slots(), &derive("hashes"));
    let (mut sender, _) = ideal::pair([seed; 32]);
    let (mut end, mut other) = Channel::pair("sender", "receiver");
    bloom::send_over(theirs, &params, &session(), ("views", 0), &mut sender, &mut end, &mut rng(seed)).unwrap();
    let message = other.receive(SLOTS, params.slots() * 10).unwrap();
    // The blocks of choice 0, which is what the receiver has where its bit is not set.
    let (mut sender, _) = ideal::pair([seed; 32]);
    let mut blocks = block::zeros(params.slots());
    CorrelatedOtSender::send(&mut sender, &mut blocks, &mut end).unwrap();
    let pads = RekeyedHash::new(Block::from_le_slice(&derive("pads")));
    let mut opened = block::zeros(params.slots());
    pads.hash(0, &blocks, &mut opened, false);
    let garbled = Garbled::new(theirs, &hashes, &mut rng(seed)).unwrap();
    let mut slots = block::zeros(params.slots());
    (0..).step_by(PIECE).zip(slots.chunks_mut(PIECE)).for_each(|(start, slots)| garbled.slots(start, slots));
    // What is left of a slot, if the sender's filter (which its seed determines) is taken out.
    let left = message.chunks(10).zip(opened).zip(slots).map(|((message, opened), slot)| {
        let mut bytes = [0; BLOCK_BYTES];
        bytes[..10].copy_from_slice(message);
        let hidden = if hides { Block::from_bytes(bytes) ^ opened } else { slot };
        hashes.truncate(hidden ^ slot)
    });
    left.collect()
}

/// Checks that slots which were not chosen stay hidden, those for which the receiver's bit is not set. The value that
/// the receiver can compute differs from the sender's slot by random bits, as a simulator's random slots do.
#[test]
fn slots_that_were_not_chosen_are_random() {
    let check = |hides: bool| -> Check {
        let all: Vec<Block> = (0..8).flat_map(|seed| unchosen(&items(0..BOUND), seed, hides)).collect();
        assert_eq!(all.len(), 8 * params().slots());
        uniform("bytes", &byte_counts(all.iter().flat_map(|block| block.to_bytes()[..10].to_vec())))
    };
    check(true).unwrap();
    // Leaky: slots that are sent as they are.
    check(false).unwrap_err();
}

/// The slots of a garbled filter alone are random, with elements or without: so are those that the receiver gets at the
/// places of items that are not common.
#[test]
fn chosen_slots_are_random_but_for_common_items() {
    let hashes = Hashes::new(Strength::Bits80, params().slots(), &[9; 32]);
    let view = |theirs: &[Item], mine: &[Item], fill: &dyn Fn(u8, &mut [Block])| -> Check {
        let places = hashes.places(mine);
        let mut sums = Vec::new();
        let mut bytes = Vec::new();
        for seed in 0..60 {
            let mut slots = block::zeros(params().slots());
            match theirs {
                [] => fill(seed, &mut slots),
                theirs => Garbled::new(theirs, &hashes, &mut rng(seed)).unwrap().slots(0, &mut slots),
            }
            for item in 0..places.len() {
                let sum = places.of(item).iter().fold(Block::ZERO, |sum, place| sum ^ slots[*place as usize]);
                sums.extend_from_slice(&hashes.truncate(sum).to_bytes()[..10]);
            }
            let chosen: BTreeSet<u32> = (0..places.len()).flat_map(|item| places.of(item)).copied().collect();
            bytes.extend(chosen.into_iter().flat_map(|place| slots[place as usize].to_bytes()[..10].to_vec()));
        }
        uniform("slots", &byte_counts(bytes.into_iter()))?;
        uniform("sums of slots", &byte_counts(sums.into_iter()))
    };
    let none = |_: u8, _: &mut [Block]| ();
    view(&items(0..BOUND), &items(BOUND..2 * BOUND), &none).unwrap();
    view(&[], &items(0..BOUND), &|seed, slots| slots.copy_from_slice(&block::random(slots.len(), &mut rng(seed))))
        .unwrap();
    // Common items have their values in every run; and slots that nothing fills at random are zero.
    view(&items(0..BOUND), &items(0..BOUND), &none).unwrap_err();
    view(&[], &items(0..BOUND), &none).unwrap_err();
}

/// Checks that no item that the sender lacks is ever found, and none that it has is missed.
#[test]
fn nothing_is_found_by_chance() {
    for seed in 0..20 {
        let (mut one, mut other) = Channel::pair("receiver", "sender");
        let params = Params::new(500, Strength::Bits80, 4).unwrap();
        let offset = usize::from(seed) * 10_000;
        let (mine, theirs) = (items(offset..offset + 500), items(offset + 499..offset + 999));
        let found = std::thread::scope(|scope| {
            let params = &params;
            let sending = scope.spawn(move || bloom::send(&theirs, params, &session(), &mut other, &mut rng(seed)));
            let found = bloom::receive(&mine, params, &session(), &mut one, &mut rng(seed + 100)).unwrap();
            sending.join().unwrap().unwrap();
            found
        });
        assert_eq!(found, [499]);
    }
}
