//! The two parties' roles, of parties that have all rows in one place.

use rand_core::CryptoRng;
use rayon::prelude::*;

use super::association::AssociationRule;
use super::baskets::{Baskets, Conjunction, RowSet};
use super::batch::{ProductBatch, ScalarProducts};
use super::compare::Comparisons;
use super::frequent::Frequent;
use super::hidden::HiddenMiner;
use super::itemsets::{FrequentItem, Itemsets};
use super::miner::Miner;
use super::params::Params;
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::ot::{RandomOtReceiver, RandomOtSender};
use crate::primitive::shuffle::random_order;
use crate::protocol::dot::Shares;
use crate::protocol::shares::at_least;
use crate::role::Side;
use crate::session::Session;

/// Candidates that one thread counts in one go.
const PART: usize = 64;

/// Findings of both parties. They find the same, but for [`Mined::items`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mined {
    /// The frequent itemsets: all of them; with `mixed_only` the mixed ones, and those of one party that stand in
    /// rules.
    pub frequent: Frequent,
    /// Rules that were found, sorted.
    pub rules: Vec<AssociationRule>,
    /// Index among this party's [`Baskets`] items, for each of its numbers.
    pub items: Vec<usize>,
}

/// A party's part. Makes the OTs that comparisons need, once in a session.
///
/// Errors: [`Error::Input`] if there are more candidates or rules than `params` allow; those of `products`; the
/// channel's; the peer's.
pub fn run(
    side: Side,
    baskets: &Baskets,
    params: &Params,
    session: &Session,
    products: &mut impl ScalarProducts,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Mined> {
    let mut comparisons = Comparisons::new(side, params, session.clone());
    let compare = |shares: &Shares, bound, threshold, channel: &mut Channel, rng: &mut _| {
        comparisons.at_least(shares, bound, threshold, channel, rng)
    };
    mine(side, baskets, params, products, compare, channel, rng)
}

/// Runs the first party's role as [`run`] does, with comparisons over given OTs.
pub fn first_over(
    baskets: &Baskets,
    params: &Params,
    ot: &mut impl RandomOtSender,
    products: &mut impl ScalarProducts,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Mined> {
    let compare = |shares: &Shares, bound, threshold, channel: &mut Channel, rng: &mut _| {
        at_least::first_over(shares, bound, threshold, ot, channel, rng)
    };
    mine(Side::First, baskets, params, products, compare, channel, rng)
}

/// Runs the second party's role as [`run`] does, with comparisons over given OTs.
pub fn second_over(
    baskets: &Baskets,
    params: &Params,
    ot: &mut impl RandomOtReceiver,
    products: &mut impl ScalarProducts,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Mined> {
    let compare = |shares: &Shares, bound, threshold, channel: &mut Channel, rng: &mut _| {
        at_least::second_over(shares, bound, threshold, ot, channel, rng)
    };
    mine(Side::Second, baskets, params, products, compare, channel, rng)
}

/// Runs the role of a party. `compare` tells which shared counts, up to a bound, reach a threshold.
fn mine<R: CryptoRng>(
    side: Side,
    baskets: &Baskets,
    params: &Params,
    products: &mut impl ScalarProducts,
    mut compare: impl FnMut(&Shares, u128, u128, &mut Channel, &mut R) -> Result<Vec<bool>>,
    channel: &mut Channel,
    rng: &mut R,
) -> Result<Mined> {
    let agreed = baskets.rows() == params.column_rows() && baskets.present().is_some() == params.hidden.is_some();
    if !agreed || baskets.minimum() != params.minimum || baskets.most() < params.max_candidates {
        return Err(Error::Internal("rules: the baskets are not those that were agreed on".into()));
    }
    let items = shuffled_items(baskets, rng);
    let columns: Vec<&RowSet> = items.iter().filter_map(|&item| baskets.item(item)).collect();
    if let Some(present) = baskets.present() {
        let compare =
            |shares: &Shares, bound, threshold, channel: &mut Channel| compare(shares, bound, threshold, channel, rng);
        let miner = HiddenMiner { side, params, count: baskets.frequent(), items: columns, present, products, compare };
        let (frequent, rules, kept) = miner.run(channel)?;
        return Ok(Mined { frequent, rules, items: kept.into_iter().map(|place| items[place]).collect() });
    }
    let (rows, minimum) = (params.rows as u128, params.minimum as u128);
    let counts: Vec<u32> = columns.iter().map(|rows| rows.count() as u32).collect();
    let mut miner = Miner::begin(side, baskets.frequent(), &counts, params, channel)?;
    while let Some(wanted) = miner.next(channel)? {
        miner.take_own(&counts_of(&columns, &wanted.own), channel)?;
        if !wanted.mixed.is_empty() {
            let batch = ProductBatch::new(side, params.rows, params.modulus()?, &wanted.mixed, columns.clone());
            let shares = products.products(&batch, channel)?;
            miner.take_mixed(shares, |shares, channel| compare(shares, rows, minimum, channel, rng), channel)?;
        }
    }
    let (frequent, rules) = miner.finish(channel)?;
    Ok(Mined { frequent, rules, items })
}

/// Items that are frequent by themselves, in random order: their places are the numbers that the peer sees, and must
/// not tell where among the named ones a nameless one stands.
fn shuffled_items(baskets: &Baskets, rng: &mut impl CryptoRng) -> Vec<usize> {
    let items: Vec<usize> = (0..baskets.len()).filter(|&item| baskets.item(item).is_some()).collect();
    random_order(items.len(), rng).into_iter().map(|place| items[place as usize]).collect()
}

/// Counts the rows that hold each of the own itemsets; `columns` are the rows of the own items, by their numbers.
///
/// # Panics
///
/// If an itemset has an item that is not there.
pub fn counts_of(columns: &[&RowSet], sets: &[Itemsets]) -> Vec<u32> {
    let all: Vec<&[FrequentItem]> = sets.iter().flat_map(Itemsets::iter).collect();
    let part = |sets: &[&[FrequentItem]]| {
        let mut conjunction = Conjunction::new(columns.to_vec());
        let mut numbers = Vec::new();
        let count = |set: &&[FrequentItem]| {
            numbers.clear();
            numbers.extend(set.iter().map(|item| item.number));
            conjunction.count(&numbers) as u32
        };
        sets.iter().map(count).collect::<Vec<u32>>()
    };
    all.par_chunks(PART).flat_map_iter(part).collect()
}
