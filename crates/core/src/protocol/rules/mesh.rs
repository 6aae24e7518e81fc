//! Rules among more than two: counts of candidates as sums of products of one column of each of their parties, which
//! are the conjunctions of these parties' items.
//!
//! A candidate's parties have shares of its count, from [`crate::protocol::dot::ot::mesh`], and compare it with the
//! minimum among themselves, as in [`MeshComparison`]. Only they learn of a candidate that is not frequent. Shares of
//! prefixes serve all candidates of a batch with these first parts, and are made again for the next level: that takes
//! no memory from level to level, and a level has few prefixes beside its candidates.
//!
//! `docs/protocols/rules-mesh.md` is the specification.

use std::ops::Range;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::baskets::{Baskets, Conjunction, RowSet};
use super::batch::DistinctParts;
use super::itemsets::{FrequentItem, Itemsets, has_part, part_of, parts};
use super::params::Params;
use super::run::{Mined, SharedCounts, apriori, shuffled_items};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::messages;
use crate::protocol::dot::ot::mesh::{self, Factor, HELD_SHARES, MeshProducts};
use crate::protocol::dot::{Columns, Integers, Shares};
use crate::protocol::mesh::{Heard, MeshOts};
use crate::protocol::shares::at_least::MeshComparison;

/// The most candidates of a batch of products, so that shares of prefixes take little memory.
const BATCH: usize = 1 << 12;

/// The fewest candidates of a batch, however many rows there are.
const MIN_BATCH: usize = 1 << 6;

/// Bits of a party's columns in a batch.
const COLUMN_BITS: usize = 1 << 30;

/// A party's part in rules among any number of parties, over transfers between each two. `channels` are those of the
/// links, in their order. `at_level` hears the length and the number of the candidates of several parties before they
/// are counted.
///
/// Errors: [`Error::Input`](crate::error::Error::Input) if there are more candidates or rules than `params` allow; the
/// channels'; the peers'.
pub fn run(
    baskets: &Baskets,
    params: &Params,
    ots: &mut MeshOts,
    channels: &mut [Channel],
    rng: &mut impl CryptoRng,
    at_level: impl FnMut(usize, usize, &[Channel]),
) -> Result<Mined> {
    params.check_among(channels.len() + 1)?;
    let items = shuffled_items(baskets, params, rng)?;
    let columns: Vec<&RowSet> = items.iter().filter_map(|&item| baskets.item(item)).collect();
    let (me, heard) = (ots.me() as u8, Heard::new(ots.me(), ots.session().child("rules", 0)));
    let counts = MeshCounts { params, items: &columns, ots, at_level };
    let (frequent, rules) = apriori(me, baskets.frequent(), &columns, params, counts, Some(heard), channels)?;
    Ok(Mined { frequent, rules, items })
}

/// Candidates in the order in which they are multiplied: those of the same parties together, and of these such with the
/// same column of the last one, which makes its transfers once for all of a batch.
fn order(candidates: &Itemsets) -> Vec<usize> {
    let key = |index: usize| {
        let set = candidates.get(index);
        let parties = set.iter().fold(0u32, |all, item| all | 1 << item.party);
        let last = set.last().map_or(0, |item| item.party);
        (parties, part_of(set, last), index)
    };
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_unstable_by(|one, other| key(*one).cmp(&key(*other)));
    order
}

/// Candidates that are multiplied at once.
pub fn batches(candidates: usize, rows: usize) -> impl Iterator<Item = Range<usize>> {
    messages::chunks(candidates, batch(rows))
}

/// The most candidates of a batch over so many rows.
fn batch(rows: usize) -> usize {
    (COLUMN_BITS / rows.max(1)).clamp(MIN_BATCH, BATCH)
}

/// Memory that a batch takes, in bytes, an estimate from above: the own columns, and on each link shares of rows and
/// the keys of words.
pub fn batch_bytes(rows: usize, parties: usize) -> u64 {
    /// Keys of one product's words on one link: two hashes in portable AES.
    const KEY_BYTES: usize = 2 * 768;
    let (batch, parties) = (batch(rows), parties as u64);
    (batch * rows / 8) as u64 + (HELD_SHARES * size_of::<u64>() + KEY_BYTES * batch) as u64 * parties
}

/// Bytes of the digests that each of so many parties sends to each other before the first candidates.
pub fn first_digests_bytes(parties: usize, mixed_only: bool) -> u64 {
    Heard::bytes(parties) + Heard::bytes(if mixed_only { 1 } else { parties + 1 })
}

/// Counts that several parties share.
struct MeshCounts<'a, L> {
    params: &'a Params,
    items: &'a [&'a RowSet],
    ots: &'a mut MeshOts,
    at_level: L,
}

impl<L: FnMut(usize, usize, &[Channel])> SharedCounts for MeshCounts<'_, L> {
    fn shares(&mut self, candidates: &Itemsets, channels: &mut [Channel]) -> Result<Shares> {
        (self.at_level)(candidates.length(), candidates.len(), channels);
        let parties = channels.len() + 1;
        let me = self.ots.me();
        let own: Vec<usize> = (0..candidates.len()).filter(|&at| has_part(candidates.get(at), me as u8)).collect();
        let mut residues = Zeroizing::new(vec![0; own.len()]);
        let order = order(candidates);
        for batch in batches(candidates.len(), self.params.rows) {
            let order = &order[batch];
            let sets: Vec<&[FrequentItem]> = order.iter().map(|&index| candidates.get(index)).collect();
            let of_party = |party| DistinctParts::of(party, sets.iter().copied());
            let parts: Vec<DistinctParts<'_>> = (0..parties as u8).map(of_party).collect();
            let plan = products(&sets, &parts, self.params)?;
            let columns = self.columns(&parts[me]);
            let made = mesh::run(&columns, &plan, self.ots, channels)?;
            for (product, residue) in plan.of_party(me).zip(made.residues()) {
                own.binary_search(&order[product]).into_iter().for_each(|place| residues[place] = *residue);
            }
        }
        Shares::new(self.params.modulus()?, residues.to_vec())
    }

    fn reached(&mut self, candidates: &Itemsets, shares: &Shares, channels: &mut [Channel]) -> Result<Vec<bool>> {
        let of = |set| parts(set).map(|part| part[0].party.into()).collect();
        let parties = candidates.iter().map(of).collect();
        let (rows, minimum) = (self.params.rows as u128, self.params.minimum as u128);
        MeshComparison::new(shares.modulus(), rows, minimum, parties)?.run(shares, self.ots, channels)
    }
}

impl<L> MeshCounts<'_, L> {
    /// The conjunctions of the own items in each part.
    fn columns(&self, parts: &DistinctParts<'_>) -> Columns {
        let mut conjunction = Conjunction::new(self.items.to_vec());
        let mut columns = Columns::new(Integers::BINARY, self.params.rows);
        parts.numbers().iter().for_each(|part| columns.push_bits(conjunction.of(part).to_choices()));
        columns
    }
}

/// The products of these candidates: of a column of each of their parties.
fn products(sets: &[&[FrequentItem]], parts: &[DistinctParts<'_>], params: &Params) -> Result<MeshProducts> {
    let factors = |set: &&[FrequentItem]| -> Vec<Factor> {
        let parties = self::parts(set).map(|part| usize::from(part[0].party));
        parties.map(|party| Factor { party, column: parts[party].place(set) }).collect()
    };
    let all: Vec<Vec<Factor>> = sets.iter().map(factors).collect();
    MeshProducts::new(params.rows, Integers::BINARY, params.modulus()?, &all)
}
