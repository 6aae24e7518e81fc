//! A participant that wants more evaluations than it has transfers for: both messages of a pair give it a secret of the
//! function.

use std::collections::HashSet;

use tacita_core::primitive::group::{Group, ScalarField};
use tacita_core::primitive::kernel::block::{BLOCK_BITS, Block};
use tacita_core::primitive::ot::chosen;
use tacita_core::protocol::aggregate::{RevealThreshold, RowAnswer};
use tacita_core::protocol::published::aggregate::naor_reingold::{
    BLINDS, Offer, REPORTS, TransferForm, evaluate, offer, proxy,
};
use tacita_core::{Channel, Result};

use super::stage::{Round, choose, round};
use super::{GROUP, MESSAGE_BYTES, Ot, Participant, Stage, bits, params, receive, rows, send_reports};
use crate::adversary::against;
use crate::adversary::extension::{self, Challenge, Check, refused};
use crate::aggregate::round::{entry, rng, session};

/// Bytes of a key.
const KEY_BYTES: usize = 4;

/// Transfers of a key.
const BITS: usize = 8 * KEY_BYTES;

/// Keys of a stage: of their transfers each tree of delta has twelve.
const KEYS: usize = 12;
const TRANSFERS: usize = BITS * KEYS;

/// The round that is attacked. Of a second one of the same the participant uses what is public.
fn victim() -> Round {
    round(KEY_BYTES, 0, true, 1)
}

/// The secrets s_1, ..., s_m of the function, encoded.
fn secrets(round: &Round) -> Vec<Vec<u8>> {
    let key = round.proxy.function().to_bytes(&GROUP);
    key.chunks(MESSAGE_BYTES).skip(1).map(<[u8]>::to_vec).collect()
}

/// Computes what two messages say of the function if they are those of one pair: the second divided by the first.
fn ratio(first: &[u8], second: &[u8]) -> Option<Vec<u8>> {
    let [first, second] = [GROUP.decode_scalar(first)?, GROUP.decode_scalar(second)?];
    Some(GROUP.encode_scalar(&GROUP.times(&second, &GROUP.invert(&[first])[0])).to_vec())
}

/// Transfer i is chosen otherwise in tree i modulo 32 than in all others. If the challenge is known, the last block,
/// which belongs to no transfer, hides the difference from the check.
fn one_tree_each(ot: Ot) -> Vec<Vec<Block>> {
    let params = ot.params();
    let mut rows = vec![vec![Block::ZERO; extension::width(&params, TRANSFERS)]; params.trees()];
    for index in 0..TRANSFERS {
        rows[index % params.trees()][index / BLOCK_BITS].0 |= 1 << (index % BLOCK_BITS);
    }
    if ot != Ot::SemiHonest {
        let known = Challenge::Known.coefficients(&mut [0; 32], &params, TRANSFERS, &[]);
        for row in &mut rows {
            let (last, rest) = row.split_last_mut().unwrap();
            *last = rest.iter().zip(&known).fold(Block::ZERO, |sum, (block, known)| sum ^ (*block * *known));
        }
    }
    rows
}

/// The pairs of a stage with such choices, if the proxy sends any. The first message of a transfer is then hidden by a
/// hash that takes no more of delta than one tree's part, and twelve scalars show which part is right. With all of
/// delta both messages are open.
fn read_pairs(own: &Participant, ot: Ot, stage: &Stage) -> Option<Vec<[Vec<u8>; 2]>> {
    let params = ot.params();
    let trees = params.trees();
    let part = |tree: usize, guess: usize| Block((guess as u128) << extension::bits(&params, tree).start);
    let first = |index: usize, part: Block| own.open(index, stage.blocks[index] ^ part, stage.hidden(index, 0));
    let fits = |tree: usize, part: Block| {
        (tree..TRANSFERS).step_by(trees).all(|index| GROUP.decode_scalar(&first(index, part)).is_some())
    };
    let found = |tree: usize| (0..16).map(|guess| part(tree, guess)).find(|part| fits(tree, *part));
    let parts: Vec<Block> = (0..trees).map(found).collect::<Option<_>>()?;
    let delta = parts.iter().fold(Block::ZERO, |delta, part| delta ^ *part);
    let pair = |index: usize| {
        let part = parts[index % trees];
        let second = own.open(index, stage.blocks[index] ^ part ^ delta, stage.hidden(index, 1));
        [first(index, part), second]
    };
    Some((0..TRANSFERS).map(pair).collect())
}

/// A participant with such choices, which then reports keys of which it has chosen none: what the proxy makes of that,
/// and the secrets that it has read.
fn read(ot: Ot, keys: &[[u8; KEY_BYTES]]) -> (Result<Vec<u8>>, Option<Vec<Vec<u8>>>) {
    let (round, mut public) = (victim(), victim());
    against(
        |channel| receive(&round, ot, "one", KEYS, 2, channel),
        |channel| {
            let mut own = Participant::connect(ot, "one", channel).ok()?;
            if ot == Ot::Written(Check::Known) {
                own.receiver.challenge = Challenge::Known;
            }
            let stage = Stage::new(&mut own, (TRANSFERS, KEYS), &one_tree_each(ot), channel).ok()?;
            let pairs = read_pairs(&own, ot, &stage)?;
            let chosen = choose(&pairs.concat().concat(), MESSAGE_BYTES, &keys.concat());
            let values = evaluate(&GROUP, KEY_BYTES, &stage.blinds, &chosen);
            let entries: Vec<_> = keys.iter().map(|key| entry(key, 0)).collect();
            send_reports(&mut public, &entries, values, channel).ok()?;
            pairs[..BITS].iter().map(|[first, second]| ratio(first, second)).collect()
        },
    )
}

#[test]
fn a_participant_has_one_evaluation_of_each_key_whatever_its_choices() {
    let keys: Vec<[u8; KEY_BYTES]> =
        (0..KEYS as u32).map(|number| (number * 0x0102_0408 + 0x0100_0001).to_le_bytes()).collect();
    for ot in [Ot::SemiHonest, Ot::Written(Check::NotChoices), Ot::Written(Check::Known)] {
        let (entries, read) = read(ot, &keys);
        let mut round = victim();
        assert!(read.unwrap() == secrets(&round), "{ot:?}: all secrets of the function");
        for (row, key) in round.open(&entries.unwrap()).rows.iter().zip(&keys) {
            let answer = round.ask(std::slice::from_ref(row), RevealThreshold { count: 1, distinct: 1 });
            assert_eq!(answer, RowAnswer::Key(key.to_vec()), "{ot:?}: keys that it has not chosen");
        }
    }
    for ot in [Ot::Real, Ot::Written(Check::All)] {
        let (entries, read) = read(ot, &keys);
        assert!(refused(&entries) && read.is_none(), "{ot:?}: no message of a transfer is sent");
    }
}

/// Masks that a proxy draws for the keys of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Masks {
    /// Fresh masks, by the protocol.
    Fresh,
    /// The same u_1, ..., u_m for all keys.
    OfOneKey,
}

/// A proxy by all of the protocol but for its masks.
fn receive_masked(round: &mut Round, masks: Masks, connection: &str, seed: u64, channel: &mut Channel) -> Result<()> {
    if masks == Masks::Fresh {
        return receive(round, Ot::Real, connection, 2, seed, channel).map(drop);
    }
    let rng = &mut rng(seed);
    let mut ot = proxy::connect(&session(connection), channel, rng)?;
    let Offer { pairs, blinds, unblind } = offer(&GROUP, round.proxy.function(), 1, TransferForm::Blinded, rng);
    let scalars = GROUP.random_scalars(2, rng);
    let blind = GROUP.decode(&blinds).unwrap().remove(0);
    chosen::send(&mut ot, MESSAGE_BYTES, &pairs.repeat(2), channel)?;
    channel.send(BLINDS, GROUP.encode(&GROUP.multiply_one(&blind, &scalars)))?;
    let reports = channel.receive(REPORTS, 2 * round.params.report_bytes())?;
    let unblind = GROUP.invert(&scalars).iter().map(|inverse| GROUP.times(inverse, &unblind[0])).collect();
    let made = Offer { pairs, blinds, unblind };
    round.unblind(("hostile", 0), &reports, &made).map(drop).map_err(|refused| channel.violation(refused.to_string()))
}

/// A stage of two keys, with the choices of these inputs: what has been chosen for each.
fn ask(public: &mut Round, inputs: [[u8; KEY_BYTES]; 2], connection: &str, channel: &mut Channel) -> [Vec<u8>; 2] {
    let mut own = Participant::connect(Ot::Real, connection, channel).unwrap();
    let bits = bits(&inputs.concat());
    let stage = Stage::new(&mut own, (2 * BITS, 2), &rows(&params(), &bits), channel).unwrap();
    let chosen = stage.chosen(&own, &bits);
    let values = evaluate(&GROUP, KEY_BYTES, &stage.blinds, &chosen);
    send_reports(public, &inputs.map(|input| entry(input, 0)), values, channel).unwrap();
    let (first, second) = chosen.split_at(BITS * MESSAGE_BYTES);
    [first.to_vec(), second.to_vec()]
}

/// Computes what messages for no bit set and for all of them say of the function.
fn ratios(none: &[u8], all: &[u8]) -> Vec<Vec<u8>> {
    none.chunks(MESSAGE_BYTES).zip(all.chunks(MESSAGE_BYTES)).map(|(none, all)| ratio(none, all).unwrap()).collect()
}

const NONE: [u8; KEY_BYTES] = [0; KEY_BYTES];
const ALL: [u8; KEY_BYTES] = [0xff; KEY_BYTES];

/// Two keys whose bits are all others: were they blinded alike, they would be both messages of each pair.
#[test]
fn messages_of_two_keys_are_of_no_pair() {
    let read = |masks| {
        let (mut round, mut public) = (victim(), victim());
        let (received, [none, all]) = against(
            |channel| receive_masked(&mut round, masks, "one", 3, channel),
            |channel| ask(&mut public, [NONE, ALL], "one", channel),
        );
        received.unwrap();
        ratios(&none, &all)
    };
    assert!(read(Masks::OfOneKey) == secrets(&victim()));
    let secrets: HashSet<_> = secrets(&victim()).into_iter().collect();
    assert!(read(Masks::Fresh).iter().all(|ratio| !secrets.contains(ratio)));
}

/// The same over two connections: a proxy that drew again what it had drawn, as one whose memory was put back, would
/// give both.
#[test]
fn messages_of_two_connections_are_of_no_pair() {
    let read = |connection: &str, seed: u64| {
        let chosen = |input, connection: &str, seed| {
            let (mut round, mut public) = (victim(), victim());
            let (received, [chosen, _]) = against(
                |channel| receive_masked(&mut round, Masks::Fresh, connection, seed, channel),
                |channel| ask(&mut public, [input, NONE], connection, channel),
            );
            received.unwrap();
            chosen
        };
        ratios(&chosen(NONE, "one", 4), &chosen(ALL, connection, seed))
    };
    assert!(read("one", 4) == secrets(&victim()), "it draws the same again");
    let secrets: HashSet<_> = secrets(&victim()).into_iter().collect();
    assert!(read("two", 5).iter().all(|ratio| !secrets.contains(ratio)));
}
