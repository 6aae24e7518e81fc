//! The bins into which both parties put their items.

use std::borrow::Cow;
use std::ops::Range;

use chacha20::ChaCha20Rng;
use rand_core::Rng;
use rayon::prelude::*;

use super::Params;
use crate::error::{Error, Result};
use crate::item::{ITEM_BYTES, Item};
use crate::primitive::group::ScalarField;
use crate::protocol::intersect::buckets::bucket_of;
use crate::protocol::intersect::tag_exchange::items::Padded;
use crate::role::Role;

/// Domain of the hash that makes roots of items. These are bound to the session already.
const ROOT_TAG: &[u8] = b"tacita 1 polynomial root";

/// A party's items, filled up with random ones to the agreed number, bin by bin.
pub(in crate::protocol) struct Bins<'a> {
    items: Cow<'a, [Item]>,
    /// The numbers of the items, bin by bin.
    order: Vec<u32>,
    /// Start of each bin in that order, and the end.
    starts: Vec<u32>,
    /// Number of the items that are the party's own; they come first.
    own: usize,
    bound: usize,
}

impl<'a> Bins<'a> {
    /// Errors ([`Error::NotReady`]): more items in a bin than its bound.
    pub(in crate::protocol) fn new(
        items: &'a [Item],
        role: Role,
        params: &Params,
        rng: &mut ChaCha20Rng,
    ) -> Result<Bins<'a>> {
        let padded = Padded::new(items, rng).range(&(0..params.items(role)));
        let bins = Bins::sorted(padded, items.len(), params.bins(), params.bound(role));
        if bins.starts.windows(2).any(|ends| (ends[1] - ends[0]) as usize > bins.bound) {
            return Err(Error::NotReady(
                "the items do not fit their bins in this session, which happens less than once in 2^40 runs: start anew"
                    .into(),
            ));
        }
        Ok(bins)
    }

    /// Items that are looked for in the bins, and are no roots of their polynomials: as many in each as there are.
    pub(in crate::protocol) fn of_candidates(candidates: &'a [Item], params: &Params) -> Bins<'a> {
        Bins::sorted(Cow::Borrowed(candidates), candidates.len(), params.bins(), 0)
    }

    fn sorted(items: Cow<'a, [Item]>, own: usize, bins: usize, bound: usize) -> Bins<'a> {
        let bin_of = |item: &Item| bucket_of(item, bins);
        let mut starts = vec![0u32; bins + 1];
        items.iter().for_each(|item| starts[bin_of(item) + 1] += 1);
        for bin in 0..bins {
            starts[bin + 1] += starts[bin];
        }
        let mut next = starts.clone();
        let mut order = vec![0; items.len()];
        for (number, item) in items.iter().enumerate() {
            let place = &mut next[bin_of(item)];
            order[*place as usize] = number as u32;
            *place += 1;
        }
        Bins { items, order, starts, own, bound }
    }

    /// Returns the number of items.
    pub(super) fn count(&self) -> usize {
        self.order.len()
    }

    /// For each item its place among those that go bin by bin.
    pub(in crate::protocol) fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.order.len()];
        for (place, &item) in (0..).zip(&self.order) {
            places[item as usize] = place;
        }
        places
    }

    /// The numbers of the items in a bin.
    pub(super) fn items(&self, bin: usize) -> &[u32] {
        &self.order[self.starts[bin] as usize..self.starts[bin + 1] as usize]
    }

    /// Whether an item is one of the party's own.
    pub(super) fn is_own(&self, item: usize) -> bool {
        item < self.own
    }

    /// The roots that stand for items.
    pub(super) fn roots_of<F: ScalarField>(&self, field: &F, items: &[u32]) -> Vec<F::Scalar> {
        items.iter().map(|&item| root(field, &self.items[item as usize])).collect()
    }

    /// Draws roots of random items, as many as some bins have fewer items than `count`.
    pub(super) fn missing<F: ScalarField>(
        &self,
        field: &F,
        bins: &Range<usize>,
        count: usize,
        rng: &mut ChaCha20Rng,
    ) -> Vec<F::Scalar> {
        let there = (self.starts[bins.end] - self.starts[bins.start]) as usize;
        (there..count).map(|_| root(field, &random_item(rng))).collect()
    }

    /// The roots of each bin's polynomial: its items, and fresh random ones up to the bound. One costs what the other
    /// does.
    pub(in crate::protocol) fn roots<F>(
        &self,
        field: &F,
        bins: &Range<usize>,
        rng: &mut ChaCha20Rng,
    ) -> Vec<Vec<F::Scalar>>
    where
        F: ScalarField + Sync,
    {
        let filled = bins.clone().map(|bin| {
            let mut items: Vec<Item> = self.items(bin).iter().map(|&item| self.items[item as usize]).collect();
            items.resize_with(self.bound, || random_item(rng));
            items
        });
        let filled: Vec<Vec<Item>> = filled.collect();
        filled
            .par_iter()
            .map(|items| items.par_iter().with_min_len(64).map(|item| root(field, item)).collect())
            .collect()
    }
}

fn random_item(rng: &mut ChaCha20Rng) -> Item {
    let mut item = [0; ITEM_BYTES];
    rng.fill_bytes(&mut item);
    Item(item)
}

/// A hash that is zero does not occur.
pub(in crate::protocol) fn root<F: ScalarField>(field: &F, item: &Item) -> F::Scalar {
    field.hash_to_scalar(&item.0, ROOT_TAG).unwrap_or_else(|| field.scalar(0))
}
