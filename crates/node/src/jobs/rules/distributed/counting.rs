//! Counts in a bucket: own itemsets by each party alone, and shares of the counts of mixed ones.
use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::channel::Channel;
use tacita_core::protocol::rules::baskets::{Baskets, RowSet};
use tacita_core::protocol::rules::itemsets::{Itemsets, part_of};
use tacita_core::protocol::rules::{ProductBatch, ScalarProducts, counts_of};
use tacita_core::{Error, Result};

use super::partition::columns;
use super::shares::{LevelShares, run_of};
use crate::agreement::{self, Answer, BucketCounts, JobSpec, PairContext, PartContext, PartyInput, Sizes, Source};
use crate::jobs::aligned;
use crate::jobs::rules::products::RunProducts;
use crate::jobs::rules::side;
use crate::jobs::rules::spec::{Rules, RulesJob};
use crate::table::{RowCounts, Table};

/// A bucket's rows of the items that are still of interest, by their numbers.
pub struct ItemsetCounter {
    own: Rules,
    counts: BucketCounts,
    items: Baskets,
}

impl ItemsetCounter {
    /// Reads the items from a table, an item in each row.
    pub fn load(job: &RulesJob<'_>, me: &str, counts: &BucketCounts, source: &Source) -> Result<ItemsetCounter> {
        let (table, _) = source.only_table()?;
        let items = columns(&table, usize::try_from(counts.rows).unwrap_or(usize::MAX))?;
        let own = |set| part_of(set, side(job, me) as u8);
        if counts.candidates.iter().flat_map(own).any(|item| item.number as usize >= items.len()) {
            return Err(Error::Internal("candidates with items that are not there".into()));
        }
        Ok(ItemsetCounter { own: job.own.clone(), counts: counts.clone(), items })
    }
}

/// Returns the rows of all items, each over the same rows.
fn all(items: &Baskets) -> Vec<&RowSet> {
    (0..items.len()).filter_map(|item| items.item(item)).collect()
}

/// Returns the number of a bucket's `rows` rows that contain each of the own itemsets. The items are in a table as
/// [`ItemsetCounter::load`] reads it.
///
/// Errors: the table is another one.
pub fn count(table: &Table, rows: usize, sets: &[Itemsets]) -> Result<Vec<u32>> {
    let items = columns(table, rows)?;
    if sets.iter().flat_map(Itemsets::iter).flatten().any(|item| item.number as usize >= items.len()) {
        return Err(Error::Internal("itemsets of items that are not there".into()));
    }
    Ok(counts_of(&all(&items), sets))
}

impl PartyInput for ItemsetCounter {
    fn sizes(&self) -> Sizes {
        Sizes { items: self.counts.rows, ..Sizes::default() }
    }

    fn rows(&self) -> RowCounts {
        let rows = self.counts.rows as usize;
        RowCounts { read: rows, items: rows, ..RowCounts::default() }
    }

    fn check_peer(&self, _job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        aligned::check_peer(None, &self.sizes(), theirs, channel)
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<agreement::RunResult> {
        let PairContext { job, me, agreed, channel, rng, .. } = run.pair()?;
        let job = &RulesJob { spec: job, own: &self.own };
        let BucketCounts { rows, all_rows, candidates } = &self.counts;
        // Shares of all buckets add up modulo what holds a count of all rows.
        let modulus = job.mining(*all_rows as usize, None)?.modulus()?;
        let batch = ProductBatch::new(side(job, me), *rows as usize, modulus, candidates, all(&self.items));
        let mut seed = zeroize::Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let mut products = RunProducts::new(job, &agreed.session, &agreed.chosen, ChaCha20Rng::from_seed(*seed))?;
        let shares = products.products(&batch, channel)?;
        let file = LevelShares::new(run_of(&agreed.session), &shares);
        let protocol = agreed.chosen.protocol;
        let numbers = shares.len();
        Ok(agreement::RunResult::new(protocol, Vec::new(), move || Ok(Answer::Share { numbers, file: file.text()? })))
    }
}
