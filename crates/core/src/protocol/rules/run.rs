//! Roles of parties that have all rows in one place: the two parties', and the parts that they have in common with
//! those of several.

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
use crate::protocol::mesh::Heard;
use crate::protocol::shares::at_least;
use crate::role::Side;
use crate::session::Session;

/// Candidates that one thread counts in one go.
const PART: usize = 64;

/// Findings of a party. All find the same, but for [`Mined::items`].
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

/// Shared counts of candidates, as [`apriori`] asks for them.
pub(super) trait SharedCounts {
    /// Makes this party's shares of the counts of those candidates that have items of its own.
    fn shares(&mut self, candidates: &Itemsets, channels: &mut [Channel]) -> Result<Shares>;

    /// Says which of these counts reach the minimum.
    fn reached(&mut self, candidates: &Itemsets, shares: &Shares, channels: &mut [Channel]) -> Result<Vec<bool>>;
}

/// Counts that two parties share. `compare` tells which of them, up to a bound, reach a threshold.
struct PairCounts<'a, P, C> {
    side: Side,
    params: &'a Params,
    columns: &'a [&'a RowSet],
    products: &'a mut P,
    compare: C,
}

impl<P, C> SharedCounts for PairCounts<'_, P, C>
where
    P: ScalarProducts,
    C: FnMut(&Shares, u128, u128, &mut Channel) -> Result<Vec<bool>>,
{
    fn shares(&mut self, candidates: &Itemsets, channels: &mut [Channel]) -> Result<Shares> {
        let (rows, modulus) = (self.params.rows, self.params.modulus()?);
        let batch = ProductBatch::new(self.side, rows, modulus, candidates, self.columns.to_vec());
        self.products.products(&batch, only(channels)?)
    }

    fn reached(&mut self, _: &Itemsets, shares: &Shares, channels: &mut [Channel]) -> Result<Vec<bool>> {
        (self.compare)(shares, self.params.rows as u128, self.params.minimum as u128, only(channels)?)
    }
}

/// The channel to the one peer.
fn only(channels: &mut [Channel]) -> Result<&mut Channel> {
    match channels {
        [channel] => Ok(channel),
        channels => Err(Error::Internal(format!("rules: two parties with {} channels", channels.len()))),
    }
}

/// Runs the role of one of two parties. `compare` tells which shared counts, up to a bound, reach a threshold.
fn mine<R: CryptoRng>(
    side: Side,
    baskets: &Baskets,
    params: &Params,
    products: &mut impl ScalarProducts,
    mut compare: impl FnMut(&Shares, u128, u128, &mut Channel, &mut R) -> Result<Vec<bool>>,
    channel: &mut Channel,
    rng: &mut R,
) -> Result<Mined> {
    let items = shuffled_items(baskets, params, rng)?;
    let columns: Vec<&RowSet> = items.iter().filter_map(|&item| baskets.item(item)).collect();
    let compare =
        |shares: &Shares, bound, threshold, channel: &mut Channel| compare(shares, bound, threshold, channel, rng);
    if let Some(present) = baskets.present() {
        let miner = HiddenMiner { side, params, count: baskets.frequent(), items: columns, present, products, compare };
        let (frequent, rules, kept) = miner.run(channel)?;
        return Ok(Mined { frequent, rules, items: kept.into_iter().map(|place| items[place]).collect() });
    }
    let counts = PairCounts { side, params, columns: &columns, products, compare };
    let channels = std::slice::from_mut(channel);
    let (frequent, rules) = apriori(side as u8, baskets.frequent(), &columns, params, counts, None, channels)?;
    Ok(Mined { frequent, rules, items })
}

/// Finds the frequent itemsets and their rules, level by level. `items` are the rows of the own frequent items by their
/// numbers, of which there are `count`; of more than there may be, none. More than two check with `heard` that all were
/// told the same.
pub(super) fn apriori(
    me: u8,
    count: usize,
    items: &[&RowSet],
    params: &Params,
    mut counts: impl SharedCounts,
    heard: Option<Heard>,
    channels: &mut [Channel],
) -> Result<(Frequent, Vec<AssociationRule>)> {
    let supports: Vec<u32> = items.iter().map(|rows| rows.count() as u32).collect();
    let mut miner = Miner::begin(me, count, &supports, params, heard, channels)?;
    while let Some(wanted) = miner.next(channels)? {
        miner.take_own(&counts_of(items, &wanted.own), channels)?;
        if !wanted.mixed.is_empty() {
            let shares = counts.shares(&wanted.mixed, channels)?;
            let reached = |shares: &Shares, channels: &mut [Channel]| counts.reached(&wanted.mixed, shares, channels);
            miner.take_mixed(shares, reached, channels)?;
        }
    }
    miner.finish(channels)
}

/// Items that are frequent by themselves, in random order: their places are the numbers that the peers see, and must
/// not tell where among the named ones a nameless one stands.
///
/// Errors ([`Error::Internal`]): the baskets are not those of `params`.
pub(super) fn shuffled_items(baskets: &Baskets, params: &Params, rng: &mut impl CryptoRng) -> Result<Vec<usize>> {
    let agreed = baskets.rows() == params.column_rows() && baskets.present().is_some() == params.hidden.is_some();
    if !agreed || baskets.minimum() != params.minimum || baskets.most() < params.max_candidates {
        return Err(Error::Internal("rules: the baskets are not those that were agreed on".into()));
    }
    let items: Vec<usize> = (0..baskets.len()).filter(|&item| baskets.item(item).is_some()).collect();
    Ok(random_order(items.len(), rng).into_iter().map(|place| items[place as usize]).collect())
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
