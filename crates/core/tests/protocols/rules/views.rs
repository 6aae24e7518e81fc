//! Tests that everything a party of association rules receives in `frequent` form can be made up from the result. The
//! candidates, and which of them are frequent, follow from the frequent itemsets. Only the counts of these are opened,
//! and all else is uniform. With `mixed_only` the result holds less, and so does what travels. Leaky variants fail the
//! same checks.

use crate::support::dealer::Dealer;
use crate::support::two;
use crate::support::views::{Check, byte_counts, uniform};
use crate::support::{Frame, rng};
use tacita_core::Side;
use tacita_core::primitive::ot::{Choices, ideal};
use tacita_core::protocol::dot::SHARES;
use tacita_core::protocol::rules::association::{Consequents, RuleThresholds};
use tacita_core::protocol::rules::baskets::Baskets;
use tacita_core::protocol::rules::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind, mixed_pairs, part_of};
use tacita_core::protocol::rules::{
    self, FIT, Frequent, ITEMS, Learners, Mined, Params, RevealedCounts, SUPPORTS, TOLD,
};
use tacita_core::protocol::shares::ANSWERS;
use tacita_core::protocol::shares::at_least;

const ROWS: usize = 100;
const MINIMUM: usize = 24;
const LIMIT: usize = 10_000;
/// Items of each party, all frequent.
const ITEMS_OF: usize = 6;
const RUNS: u8 = 120;

fn params(reveal: RevealedCounts, mixed_only: bool) -> Params {
    let rules = RuleThresholds { min_confidence: "0.7".parse().unwrap(), consequents: Consequents::Any, mixed_only };
    Params {
        rows: ROWS,
        hidden: None,
        minimum: MINIMUM,
        reveal,
        learners: Learners::ALL,
        max_len: usize::MAX,
        max_candidates: LIMIT,
        max_rules: LIMIT,
        rules,
    }
}

fn baskets(side: Side) -> Baskets {
    let mut baskets = Baskets::new(ROWS, MINIMUM, LIMIT).unwrap();
    for item in 0..ITEMS_OF as u8 {
        let holds = |row: &usize| blake3::hash(&[*row as u8, item, side as u8]).as_bytes()[0] < 125 + 5 * item;
        baskets.push((0..ROWS).filter(holds)).unwrap();
    }
    baskets
}

/// The frames of both parties, and what both found.
pub(super) struct Run {
    pub frames: [Vec<Frame>; 2],
    pub mined: [Mined; 2],
}

/// A run; `bare` if the shares of products hide nothing.
fn run(params: &Params, seed: u8, bare: bool) -> Run {
    let dealer = || Dealer::new(seed).bare(bare);
    let ot = || ideal::pair([seed ^ 0x55; 32]);
    let (frames, mined) = two::record(
        &|channel| {
            let rng = &mut rng(seed);
            rules::first_over(&baskets(Side::First), params, &mut ot().0, &mut dealer(), channel, rng)
        },
        &|channel| {
            let rng = &mut rng(seed.wrapping_add(128));
            rules::second_over(&baskets(Side::Second), params, &mut ot().1, &mut dealer(), channel, rng)
        },
    );
    Run { frames, mined }
}

/// Returns the messages that a party sends under a label, one by one.
pub(super) fn messages(frames: &[Frame], label: u8) -> Vec<&[u8]> {
    let of_label = frames.iter().filter(|frame| frame.kind == Frame::DATA && frame.label == label);
    of_label.map(|frame| &frame.payload[..]).collect()
}

/// Bits and counts as messages have them.
fn told(counts: impl Iterator<Item = Option<u32>>) -> Vec<u8> {
    let counts: Vec<Option<u32>> = counts.collect();
    let mut message = vec![0; counts.len().div_ceil(8)];
    counts.iter().enumerate().for_each(|(index, count)| message[index / 8] |= u8::from(count.is_some()) << (index % 8));
    message.extend(counts.iter().flatten().flat_map(|count| count.to_le_bytes()));
    message
}

/// Knowledge of the simulator: the result, and the number of frequent items.
struct Simulator<'a> {
    frequent: &'a Frequent,
    params: &'a Params,
}

impl Simulator<'_> {
    fn sets(&self, kind: ItemsetOwner, length: usize) -> Itemsets {
        let none = || Itemsets::none(length);
        self.frequent.of(kind, length).map_or_else(none, |counted| counted.sets.clone())
    }

    /// The candidates of a length: of each party, and mixed ones.
    fn candidates(&self, length: usize) -> [Itemsets; 3] {
        let one = |party| {
            if self.params.rules.mixed_only {
                Itemsets::none(length)
            } else {
                self.sets(ItemsetOwner::One(party), length - 1).candidates(LIMIT).unwrap()
            }
        };
        let mixed = match length {
            2 => mixed_pairs(&[ITEMS_OF as u32; 2], LIMIT),
            _ => self.sets(ItemsetOwner::Mixed, length - 1).mixed_candidates(LIMIT, |part| {
                self.params.rules.mixed_only || part.len() + 1 < length || self.frequent.count(part).is_some()
            }),
        };
        [one(0), one(1), mixed.unwrap()]
    }

    fn levels(&self) -> Vec<[Itemsets; 3]> {
        let levels = (2..).map(|length| self.candidates(length));
        levels.take_while(|candidates| candidates.iter().any(|sets| !sets.is_empty())).collect()
    }

    /// The messages of a party that say which of its itemsets are frequent.
    fn supports(&self, side: Side) -> Vec<Vec<u8>> {
        let singles = (!self.params.rules.mixed_only).then(|| Itemsets::singles(side as u8, ITEMS_OF as u32));
        let mut sent = Vec::new();
        let levels = self.levels();
        let pairs = singles
            .iter()
            .map(|sets| (sets, true))
            .chain(levels.iter().map(|level| (&level[side as usize], !(level[0].is_empty() && level[1].is_empty()))));
        for (sets, exchanged) in pairs {
            if exchanged {
                sent.push(told(sets.iter().map(|set| self.frequent.count(set))));
            }
        }
        sent
    }

    /// The messages that tell one-party itemsets which rules need: those of the first round and of the second together.
    fn told(&self, side: Side) -> Vec<(Vec<FrequentItem>, Option<u32>)> {
        let part = |set| part_of(set, side as u8);
        let mut all: Vec<Vec<FrequentItem>> = self.frequent.mixed().map(|(set, _)| part(set).to_vec()).collect();
        all.sort_by(|one, other| one.len().cmp(&other.len()).then(one.cmp(other)));
        all.dedup();
        all.into_iter().map(|set| (set.clone(), self.frequent.count(&set))).collect()
    }
}

/// Numbers of `bits` bits, without gaps.
pub(super) fn unpack(bytes: &[u8], bits: usize) -> Vec<u64> {
    let bit = |at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
    let number = |index: usize| (0..bits).map(|at| bit(index * bits + at) << at).sum();
    (0..bytes.len() * 8 / bits).map(number).collect()
}

/// One run's messages are what the simulator makes of its result.
fn follows_from_result(run: &Run, params: &Params) -> Check {
    let simulator = Simulator { frequent: &run.mined[0].frequent, params };
    let bits = params.modulus().unwrap().bits() as usize;
    let levels = simulator.levels();
    for (side, frames) in [Side::First, Side::Second].into_iter().zip(&run.frames) {
        if messages(frames, ITEMS.code) != [(ITEMS_OF as u32).to_le_bytes()] {
            return Err("not the numbers of items".into());
        }
        if messages(frames, SUPPORTS.code) != simulator.supports(side) {
            return Err("not the supports of the result".into());
        }
        // Of a run that ends well, this is known.
        let fit: &[&[u8]] = if params.rules.mixed_only { &[&[1]] } else { &[] };
        if messages(frames, FIT.code) != fit {
            return Err("not the yes of a result that fits".into());
        }
        let parts = simulator.told(side);
        let sent = messages(frames, TOLD.code);
        if params.rules.mixed_only {
            let bit = |message: &[u8], index: usize| message[index / 8] >> (index % 8) & 1 == 1;
            let in_either = |index| sent.iter().any(|message| bit(message, index));
            let as_shown = parts.iter().enumerate().all(|(index, part)| in_either(index) == part.1.is_some());
            let counts: usize = sent.iter().map(|message| message.len() - parts.len().div_ceil(8)).sum();
            if !as_shown || counts != 4 * parts.iter().filter(|part| part.1.is_some()).count() {
                return Err("not the parts that rules show".into());
            }
        } else if !sent.is_empty() {
            return Err("something was told that is in the result anyway".into());
        }
    }
    // Level by level: the answers, and the counts of what is frequent.
    let of = |label| [0, 1].map(|party| messages(&run.frames[party], label));
    let (answers, shares) = (of(ANSWERS.code), of(SHARES.code));
    let (mut answered, mut opened) = (0, 0);
    for level in levels.iter().map(|level| &level[2]).filter(|mixed| !mixed.is_empty()) {
        let sum = |messages: &[Vec<&[u8]>; 2], index: usize| -> Result<Vec<u8>, String> {
            let message = |party: usize| messages[party].get(index).ok_or("a message is missing");
            Ok(message(0)?.iter().zip(*message(1)?).map(|(one, other)| one ^ other).collect())
        };
        let counts: Vec<Option<u32>> = level.iter().map(|set| run.mined[0].frequent.count(set)).collect();
        let bits_of = Choices::from_bytes(&sum(&answers, answered)?, level.len());
        answered += 1;
        if !bits_of.iter().eq(counts.iter().map(Option::is_some)) {
            return Err("not the answers of the result".into());
        }
        let frequent: Vec<u64> = counts.iter().flatten().map(|&count| count.into()).collect();
        if frequent.is_empty() {
            continue;
        }
        let message =
            |party: usize| shares[party].get(opened).map(|bytes| unpack(bytes, bits)).ok_or("shares are missing");
        let (one, other) = (message(0)?, message(1)?);
        opened += 1;
        let found: Vec<u64> = one.iter().zip(&other).map(|(one, other)| (one + other) % (1 << bits)).collect();
        if found[..frequent.len()] != frequent || shares[0][opened - 1].len() != (frequent.len() * bits).div_ceil(8) {
            return Err("not the counts of the result".into());
        }
    }
    if shares[0].len() == opened && answers[0].len() == answered {
        Ok(())
    } else {
        Err("more was opened than the result holds".into())
    }
}

/// Over all runs: shares of counts and of answers, and items' numbers, are uniform. (What comparisons send besides is
/// looked at in `shares/views.rs`.)
fn uniform_over_runs(runs: &[Run]) -> Check {
    for party in 0..2 {
        // The last byte of a message may have bits to spare.
        let bytes = |label: u8| -> Vec<u8> {
            let all = runs.iter().flat_map(|run| messages(&run.frames[party], label));
            all.flat_map(|message| message[..message.len() - 1].to_vec()).collect()
        };
        let check = |what: &str, label: u8| match bytes(label) {
            bytes if bytes.len() < 256 * 5 => Err(format!("{} bytes of {what} are too few", bytes.len())),
            bytes => uniform(what, &byte_counts(bytes.into_iter())),
        };
        check("shares", SHARES.code)?;
        check("answers", ANSWERS.code)?;
        let mut places = vec![0; ITEMS_OF * ITEMS_OF];
        for run in runs {
            run.mined[party].items.iter().enumerate().for_each(|(number, item)| places[number * ITEMS_OF + item] += 1);
        }
        uniform("items' numbers", &places)?;
    }
    Ok(())
}

#[test]
fn everything_follows_from_the_result() {
    let mut products = Vec::new();
    for mixed_only in [false, true] {
        let params = params(RevealedCounts::Frequent, mixed_only);
        let runs: Vec<Run> = (0..RUNS).map(|seed| run(&params, seed, false)).collect();
        runs.iter().for_each(|run| follows_from_result(run, &params).unwrap());
        uniform_over_runs(&runs).unwrap();
        // There is something to hide, and something withheld.
        let simulator = Simulator { frequent: &runs[0].mined[0].frequent, params: &params };
        let candidates: usize = simulator.levels().iter().map(|level| level[2].len()).sum();
        let mixed = runs[0].mined[0].frequent.mixed().count();
        products.push(candidates);
        assert!(mixed > 10 && candidates > mixed + 10, "{mixed} of {candidates}");
        if mixed_only {
            let told = [Side::First, Side::Second].map(|side| simulator.told(side));
            assert!(
                told.iter().flatten().any(|part| part.1.is_none())
                    && told.iter().flatten().any(|part| part.1.is_some())
            );
        }
    }
    // What is withheld would else have kept some of them from being counted.
    assert!(products[0] < products[1], "{products:?}");
}

#[test]
fn leaky_variants_fail() {
    let good = params(RevealedCounts::Frequent, false);
    // All counts are opened.
    let counts = run(&params(RevealedCounts::Counts, false), 1, false);
    follows_from_result(&counts, &good).unwrap_err();
    // What is withheld is told: the messages of a run that withholds nothing.
    let mixed_only = params(RevealedCounts::Frequent, true);
    let open = run(&good, 1, false);
    follows_from_result(&open, &mixed_only).unwrap_err();
    let mut told = run(&mixed_only, 1, false);
    follows_from_result(&told, &mixed_only).unwrap();
    let frame = told.frames[0].iter_mut().find(|frame| frame.label == TOLD.code).unwrap();
    frame.payload[0] = 0xff;
    follows_from_result(&told, &mixed_only).unwrap_err();
    // One count of an itemset that is not frequent is opened along with the others.
    let mut more = run(&good, 1, false);
    let at = more.frames.each_ref().map(|frames| frames.iter().position(|frame| frame.label == SHARES.code).unwrap());
    at.iter().zip(&mut more.frames).for_each(|(&at, frames)| frames[at].payload.push(0x11));
    follows_from_result(&more, &good).unwrap_err();
    // Shares that are the products themselves, and numbers that are the items' order.
    let mut runs: Vec<Run> = (0..RUNS).map(|seed| run(&good, seed, true)).collect();
    assert!(uniform_over_runs(&runs).unwrap_err().contains("shares"));
    runs = (0..RUNS).map(|seed| run(&good, seed, false)).collect();
    runs.iter_mut().for_each(|run| run.mined[0].items.sort());
    assert!(uniform_over_runs(&runs).unwrap_err().contains("numbers"));
}

#[test]
fn params_of_comparisons_are_those_of_the_rules() {
    let params = params(RevealedCounts::Frequent, false);
    assert!(at_least::Params::new(1, params.modulus().unwrap(), ROWS as u128, MINIMUM as u128).is_ok());
    assert_eq!(params.modulus().unwrap().value(), 256);
    assert_eq!(Params { reveal: RevealedCounts::Counts, ..params }.modulus().unwrap().value(), 128);
    assert_eq!(Params { rows: 128, ..params }.modulus().unwrap().value(), 512);
    assert_eq!(Params { rows: 0, reveal: RevealedCounts::Counts, ..params }.modulus().unwrap().value(), 2);
    assert_eq!(kind(&[FrequentItem { party: 0, number: 0 }]), ItemsetOwner::One(0));
}
