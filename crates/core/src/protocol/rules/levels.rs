//! The two parties' roles: level by level, as Apriori goes.

use rand_core::CryptoRng;
use rayon::prelude::*;

use super::association::{self, Rule, TooManyRules};
use super::baskets::{Baskets, Conjunction, Rows};
use super::batch::{Batch, ScalarProducts};
use super::frequent::{Counted, Frequent};
use super::itemsets::{Item, Itemsets, Kind, kind, mixed_pairs};
use super::params::{Params, Reveal};
use super::{SUPPORTS, exchange, told};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::ot::{RandomOtReceiver, RandomOtSender};
use crate::primitive::shuffle::random_order;
use crate::protocol::dot::{Shares, reveal};
use crate::protocol::shares::at_least;
use crate::role::Side;
use crate::session::Session;

/// Candidates that one thread counts in one go.
const PART: usize = 64;

/// What both parties have found. They find the same, but for [`Mined::items`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mined {
    /// The frequent itemsets: all of them; with `mixed_only` the mixed ones, and those of one party that stand in rules.
    pub frequent: Frequent,
    /// The rules, sorted.
    pub rules: Vec<Rule>,
    /// Which of this party's [`Baskets`] items each of its numbers stands for.
    pub items: Vec<usize>,
}

/// A party's part. Makes the OTs that comparisons need, once in a session.
///
/// Errors: [`Error::Input`] if there are more candidates or rules than `params` allow; those of `products`; the channel's; the
/// peer's.
pub fn run(
    side: Side,
    baskets: &Baskets,
    params: &Params,
    session: &Session,
    products: &mut impl ScalarProducts,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Mined> {
    let (rows, minimum) = (params.rows as u128, params.minimum as u128);
    let (mut sender, mut receiver) = (None, None);
    let compare = |shares: &Shares, channel: &mut Channel, rng: &mut _| match side {
        Side::First => {
            let ot = match &mut sender {
                Some(ot) => ot,
                none => none.insert(at_least::first_setup(session, channel, rng)?),
            };
            at_least::first_over(shares, rows, minimum, ot, channel, rng)
        }
        Side::Second => {
            let ot = match &mut receiver {
                Some(ot) => ot,
                none => none.insert(at_least::second_setup(session, channel, rng)?),
            };
            at_least::second_over(shares, rows, minimum, ot, channel, rng)
        }
    };
    mine(side, baskets, params, products, compare, channel, rng)
}

/// As [`run`] of the first party, with comparisons over given OTs.
pub fn first_over(
    baskets: &Baskets,
    params: &Params,
    ot: &mut impl RandomOtSender,
    products: &mut impl ScalarProducts,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Mined> {
    let (rows, minimum) = (params.rows as u128, params.minimum as u128);
    let compare = |shares: &Shares, channel: &mut Channel, rng: &mut _| {
        at_least::first_over(shares, rows, minimum, ot, channel, rng)
    };
    mine(Side::First, baskets, params, products, compare, channel, rng)
}

/// As [`run`] of the second party, with comparisons over given OTs.
pub fn second_over(
    baskets: &Baskets,
    params: &Params,
    ot: &mut impl RandomOtReceiver,
    products: &mut impl ScalarProducts,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Mined> {
    let (rows, minimum) = (params.rows as u128, params.minimum as u128);
    let compare = |shares: &Shares, channel: &mut Channel, rng: &mut _| {
        at_least::second_over(shares, rows, minimum, ot, channel, rng)
    };
    mine(Side::Second, baskets, params, products, compare, channel, rng)
}

/// What a party does. `compare` says which shared counts reach the minimum.
fn mine<R: CryptoRng>(
    side: Side,
    baskets: &Baskets,
    params: &Params,
    products: &mut impl ScalarProducts,
    mut compare: impl FnMut(&Shares, &mut Channel, &mut R) -> Result<Vec<bool>>,
    channel: &mut Channel,
    rng: &mut R,
) -> Result<Mined> {
    params.check()?;
    if baskets.rows() != params.rows || baskets.minimum() != params.minimum || baskets.most() < params.max_candidates {
        return Err(Error::Internal("rules: the baskets are not those that were agreed on".into()));
    }
    let items = shuffled_items(baskets, rng);
    let items_of = count_items(side, baskets.frequent(), params, channel)?;
    let columns: Vec<&Rows> = items.iter().filter_map(|&item| baskets.item(item)).collect();
    let mut level = first_level(side, &columns, items_of, params, channel)?;
    let mut frequent = Frequent::new(params.rows as u32);
    level.keep(params, &mut frequent);

    for length in 2..=params.max_len {
        let candidates = level.candidates(length, params).map_err(|error| channel.conclude_for(error))?;
        if candidates.is_empty() {
            break;
        }
        channel.progress().start("counting candidates", candidates.len());
        let one = one_party(side, &columns, &level, &candidates, params, channel)?;
        let mixed = match candidates.mixed.is_empty() {
            true => Counted::none(length),
            false => {
                let batch = Batch::new(side, params.rows, params.modulus()?, &candidates.mixed, columns.clone());
                let shares = products.products(&batch, channel)?;
                if shares.modulus() != batch.modulus() || shares.len() != batch.pairs().len() {
                    return Err(Error::Internal("rules: other products came than were asked for".into()));
                }
                match params.reveal {
                    Reveal::Counts => every_count(shares, &level, &candidates.mixed, params, channel)?,
                    Reveal::Frequent => {
                        let reached = compare(&shares, channel, rng)?;
                        frequent_counts(shares, &reached, &level, &candidates.mixed, params, channel)?
                    }
                }
            }
        };
        level = Level { one, mixed, ..level };
        level.keep(params, &mut frequent);
    }
    if params.rules.mixed_only {
        told::exchange(side, &columns, params, &mut frequent, channel)?;
    }
    let rules = association::rules(&frequent, &params.rules, params.max_rules, channel.progress());
    let rules = rules.map_err(|TooManyRules| channel.conclude_for(params.too_many_rules()))?;
    Ok(Mined { frequent, rules, items })
}

/// Items that are frequent by themselves, in random order: their places are the numbers that the peer sees, and must not
/// tell where among the named ones a nameless one stands.
fn shuffled_items(baskets: &Baskets, rng: &mut impl CryptoRng) -> Vec<usize> {
    let items: Vec<usize> = (0..baskets.len()).filter(|&item| baskets.item(item).is_some()).collect();
    random_order(items.len(), rng).into_iter().map(|place| items[place as usize]).collect()
}

/// How many frequent items each party has, which both tell. Too many of one end the run at both.
fn count_items(side: Side, own: usize, params: &Params, channel: &mut Channel) -> Result<[u32; 2]> {
    let most = params.max_candidates;
    let theirs = exchange::items(own, most, channel)?;
    if own > most {
        return Err(channel.conclude_for(params.too_many_items(&format!("{own} own items"))));
    }
    if theirs > most {
        let theirs = format!("more than {most} items of {}", channel.peer());
        return Err(channel.conclude_for(params.too_many_items(&theirs)));
    }
    Ok(if side == Side::First { [own as u32, theirs as u32] } else { [theirs as u32, own as u32] })
}

/// The frequent itemsets of one length.
struct Level {
    /// The first party's and the second's. With `mixed_only` none beyond single items, of which the peer's have no counts.
    one: [Counted; 2],
    mixed: Counted,
    /// Single items of each party.
    items: [u32; 2],
}

/// The candidates of one length.
struct Candidates {
    one: [Itemsets; 2],
    mixed: Itemsets,
}

impl Candidates {
    fn len(&self) -> usize {
        self.one.iter().chain([&self.mixed]).map(Itemsets::len).sum()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What the parties tell each other of single items.
fn first_level(
    side: Side,
    columns: &[&Rows],
    items: [u32; 2],
    params: &Params,
    channel: &mut Channel,
) -> Result<Level> {
    let own: Vec<u32> = columns.iter().map(|rows| rows.count() as u32).collect();
    let theirs = items[side.other() as usize];
    let their_counts = match params.rules.mixed_only {
        // No count is known; none is above this.
        true => vec![params.rows as u32; theirs as usize],
        false => {
            let told: Vec<Option<u32>> = own.iter().copied().map(Some).collect();
            let theirs = exchange::counts(SUPPORTS, &told, theirs as usize, channel)?;
            let range = params.minimum..=params.rows;
            let count = |count: &Option<u32>| count.filter(|&count| range.contains(&(count as usize)));
            theirs.iter().map(count).collect::<Option<Vec<u32>>>().ok_or_else(|| impossible(channel))?
        }
    };
    let counted = |side, counts: Vec<u32>| Counted { sets: Itemsets::singles(side, counts.len() as u32), counts };
    let one = match side {
        Side::First => [counted(Side::First, own), counted(Side::Second, their_counts)],
        Side::Second => [counted(Side::First, their_counts), counted(Side::Second, own)],
    };
    Ok(Level { one, mixed: Counted::none(1), items })
}

impl Level {
    /// The candidates of one item more, which both parties compute alike.
    fn candidates(&self, length: usize, params: &Params) -> Result<Candidates> {
        let (limit, mixed_only) = (params.max_candidates, params.rules.mixed_only);
        let one = |side: Side, whose| match mixed_only {
            true => Ok(Itemsets::none(length)),
            false => {
                self.one[side as usize].sets.candidates(limit).map_err(|found| params.too_many(whose, length, found))
            }
        };
        let one = [one(Side::First, "one-party")?, one(Side::Second, "one-party")?];
        let mixed = match length {
            2 => mixed_pairs(self.items[0], self.items[1], limit),
            _ => self.mixed.sets.mixed_candidates(limit, |first, second| {
                // Shorter parts are those of mixed subsets.
                mixed_only
                    || [first, second]
                        .into_iter()
                        .zip(&self.one)
                        .all(|(part, frequent)| part.len() + 1 < length || frequent.sets.position(part).is_some())
            }),
        };
        Ok(Candidates { one, mixed: mixed.map_err(|found| params.too_many("mixed", length, found))? })
    }

    /// The most rows that an itemset of one item more can be in.
    fn most(&self, set: &[Item]) -> Option<u32> {
        let mut subset = Vec::with_capacity(set.len());
        (0..set.len())
            .filter_map(|left_out| {
                subset.clear();
                subset.extend(set.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, item)| *item));
                match kind(&subset) {
                    Kind::One(side) => self.one[side as usize].count(&subset),
                    Kind::Mixed => self.mixed.count(&subset),
                }
            })
            .min()
    }

    /// Adds this level to the result.
    fn keep(&self, params: &Params, frequent: &mut Frequent) {
        if !params.rules.mixed_only {
            frequent.push(Kind::One(Side::First), self.one[0].clone());
            frequent.push(Kind::One(Side::Second), self.one[1].clone());
        }
        frequent.push(Kind::Mixed, self.mixed.clone());
    }
}

/// Counts the own candidates, and exchanges the frequent ones.
fn one_party(
    side: Side,
    columns: &[&Rows],
    level: &Level,
    candidates: &Candidates,
    params: &Params,
    channel: &mut Channel,
) -> Result<[Counted; 2]> {
    let (own, theirs) = (&candidates.one[side as usize], &candidates.one[side.other() as usize]);
    let enough = |count: u32| (count as usize >= params.minimum).then_some(count);
    let own_counts: Vec<Option<u32>> = counts_of(columns, own).into_iter().map(enough).collect();
    let their_counts = exchange::counts(SUPPORTS, &own_counts, theirs.len(), channel)?;
    for (set, count) in theirs.iter().zip(&their_counts) {
        if count.is_some_and(|count| !possible(count, level.most(set), params)) {
            return Err(impossible(channel));
        }
    }
    let told = |sets: &Itemsets, counts: &[Option<u32>]| Counted {
        sets: sets.select(|index| counts[index].is_some()),
        counts: counts.iter().flatten().copied().collect(),
    };
    Ok(match side {
        Side::First => [told(own, &own_counts), told(theirs, &their_counts)],
        Side::Second => [told(theirs, &their_counts), told(own, &own_counts)],
    })
}

/// In how many rows each of the own itemsets is.
pub(super) fn counts_of(columns: &[&Rows], sets: &Itemsets) -> Vec<u32> {
    let all: Vec<&[Item]> = sets.iter().collect();
    let part = |sets: &[&[Item]]| {
        let mut conjunction = Conjunction::new(columns.to_vec());
        let mut numbers = Vec::new();
        let count = |set: &&[Item]| {
            numbers.clear();
            numbers.extend(set.iter().map(|item| item.number));
            conjunction.count(&numbers) as u32
        };
        sets.iter().map(count).collect::<Vec<u32>>()
    };
    all.par_chunks(PART).flat_map_iter(part).collect()
}

/// Opens all counts, and keeps those that reach the minimum.
fn every_count(
    shares: Shares,
    level: &Level,
    candidates: &Itemsets,
    params: &Params,
    channel: &mut Channel,
) -> Result<Counted> {
    let counts = opened(&shares, channel)?;
    if candidates.iter().zip(&counts).any(|(set, &count)| level.most(set).is_some_and(|most| count > most)) {
        return Err(impossible(channel));
    }
    let enough = |count: u32| count as usize >= params.minimum;
    let sets = candidates.select(|index| enough(counts[index]));
    Ok(Counted { sets, counts: counts.into_iter().filter(|&count| enough(count)).collect() })
}

/// Opens the counts of which it is known that they reach the minimum.
fn frequent_counts(
    shares: Shares,
    reached: &[bool],
    level: &Level,
    candidates: &Itemsets,
    params: &Params,
    channel: &mut Channel,
) -> Result<Counted> {
    let kept = shares.residues().iter().zip(reached).filter(|(_, reached)| **reached).map(|(&share, _)| share);
    let counts = opened(&Shares::new(shares.modulus(), kept.collect())?, channel)?;
    let sets = candidates.select(|index| reached[index]);
    if sets.iter().zip(&counts).any(|(set, &count)| !possible(count, level.most(set), params)) {
        return Err(impossible(channel));
    }
    Ok(Counted { sets, counts })
}

/// Counts from shares, for both parties. None is above the most that a count can be.
fn opened(shares: &Shares, channel: &mut Channel) -> Result<Vec<u32>> {
    let counts = reveal(shares, true, true, channel)?.unwrap_or_default();
    let count = |count: u128| u32::try_from(count).ok();
    counts.into_iter().map(count).collect::<Option<_>>().ok_or_else(|| impossible(channel))
}

/// Whether a frequent itemset can be in `count` rows, if those that it contains are in `most` at least.
fn possible(count: u32, most: Option<u32>, params: &Params) -> bool {
    count as usize >= params.minimum && count <= most.unwrap_or(params.rows as u32)
}

fn impossible(channel: &Channel) -> Error {
    channel.violation("a count is not between the minimum and those of smaller itemsets")
}
