//! `rules`: from baskets to the association rules that both parties learn.

pub mod html;
mod load;
mod names;
mod output;
mod products;

use std::path::Path;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::Side;
use tacita_core::protocol::rules::{self as mining, baskets::Baskets};
use tacita_core::{Error, Result};

use crate::agree::{Agreed, Sizes};
use crate::answer::Told;
use crate::choose::Chosen;
use crate::intersect;
use crate::job::{JobSpec, Protocol};
use crate::table::RowCounts;
use crate::table::baskets::Items;
use crate::{dot, text};

pub use dot::check_peer;
pub use names::{Named, NamedItem, decode_lengths, decode_names};
pub use output::itemsets_path;
use products::Products;
pub use products::{Level, estimate};

/// What a party brings to association rules.
pub struct Brought {
    items: Items,
    rows: RowCounts,
    /// The table with its ids, where rows are aligned by them.
    ids: Option<intersect::Brought>,
    sizes: Sizes,
}

/// What both parties get.
pub struct Found {
    named: Named,
    levels: Vec<Level>,
}

/// Bytes of memory that a candidate takes: its items, its count, and places in lists.
const CANDIDATE_BYTES: u64 = 100;

impl Brought {
    /// How much it is, as the peer is told.
    pub fn sizes(&self) -> Sizes {
        self.sizes.clone()
    }

    /// What became of the input's rows.
    pub fn row_counts(&self) -> RowCounts {
        self.rows
    }
}

/// Memory besides the table, in bytes, as far as it can be known before: candidates, and the alignment. Items take a bit a
/// row each, if they are frequent; how many are is not told.
pub fn memory(job: &JobSpec, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
    let candidates = job.mining(0)?.max_candidates as u64 * CANDIDATE_BYTES;
    let alignment = job.alignment().zip(chosen.alignment);
    let alignment = alignment.map_or(0, |(job, protocol)| intersect::memory(&job, me, protocol, own, theirs));
    let encrypted =
        if chosen.protocol == Protocol::Lattice { products::memory(own.items.min(theirs.items)) } else { 0 };
    Ok((128 << 20) + candidates + encrypted + alignment)
}

/// Aligns rows, mines, and exchanges the names of what was found.
pub fn run(
    job: &JobSpec,
    me: &str,
    brought: &Brought,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Found> {
    let aligned = dot::align(job, me, brought.ids.as_ref(), agreed, channel, rng)?;
    let rows = aligned.as_ref().map_or(brought.items.rows(), Vec::len);
    let params = job.mining(rows)?;
    if params.minimum > rows {
        tracing::warn!(
            "min_support asks for {} rows, and there are {}: no itemset can be frequent",
            text::count(params.minimum as u64),
            text::count(rows as u64)
        );
    }
    let baskets = baskets(&brought.items, aligned.as_deref(), params.minimum)?;
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *seed);
    let mut products = Products::new(&agreed.session, &agreed.chosen, ChaCha20Rng::from_seed(*seed))?;
    let side = side(job, me);
    let mined = match side {
        Side::First => mining::first(&baskets, &params, &agreed.session, &mut products, channel, rng)?,
        Side::Second => mining::second(&baskets, &params, &agreed.session, &mut products, channel, rng)?,
    };
    let levels = products.levels(channel.traffic());
    let own = mined.frequent.shown(side).into_iter().map(|number| {
        let item =
            mined.items.get(number as usize).ok_or_else(|| Error::Internal("an item that is not there".into()))?;
        Ok(brought.items.name(*item).to_owned())
    });
    let own = own.collect::<Result<Vec<_>>>()?;
    let theirs = names::exchange(&own, mined.frequent.shown(side.other()).len(), channel)?;
    let (first, second) = if side == Side::First { (own, theirs) } else { (theirs, own) };
    let parties = job.parties.names();
    Ok(Found { named: Named::new(&mined, [(parties[0], first), (parties[1], second)])?, levels })
}

/// The baskets of the rows that both have, in their order; all rows where they are aligned by position.
fn baskets(items: &Items, aligned: Option<&[u32]>, minimum: usize) -> Result<Baskets> {
    // Where each of the own rows stands among the aligned ones.
    let places = aligned.map(|aligned| {
        let mut places = vec![None; items.rows()];
        aligned.iter().enumerate().for_each(|(place, &row)| places[row as usize] = Some(place));
        places
    });
    let mut baskets = Baskets::new(aligned.map_or(items.rows(), <[u32]>::len), minimum)?;
    for item in 0..items.len() {
        let rows = items.rows_of(item).iter().map(|&row| row as usize);
        match &places {
            None => baskets.push(rows)?,
            Some(places) => baskets.push(rows.filter_map(|row| places[row]))?,
        }
    }
    Ok(baskets)
}

/// Which party this is.
fn side(job: &JobSpec, party: &str) -> Side {
    if job.parties.position(party) == Some(0) { Side::First } else { Side::Second }
}

impl Found {
    /// The protocol that made most of the products.
    pub fn protocol(&self, chosen: &Chosen) -> Protocol {
        let by = |protocol: Protocol| -> usize {
            let levels = self.levels.iter().filter(|level| level.protocol == protocol.name());
            levels.map(|level| level.products).sum()
        };
        match chosen.extension {
            Some(_) if by(Protocol::Ot) >= by(Protocol::Lattice) => Protocol::Ot,
            _ => chosen.protocol,
        }
    }

    /// What each level took.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// What was found, in names.
    pub fn named(&self) -> &Named {
        &self.named
    }

    /// The report for readers, with what each party learned.
    pub fn page(&self, job: &JobSpec, protocol: &str, learned: Vec<(String, Vec<String>)>) -> String {
        let parties = job.parties.names();
        let items = |places: &[u32]| -> Vec<html::Item> {
            let item = |&place: &u32| {
                let item = &self.named.items[place as usize];
                html::Item { party: usize::from(item.party != parties[0]), name: item.name.clone() }
            };
            places.iter().map(item).collect()
        };
        let itemsets = self.named.itemsets.iter();
        let rules = self.named.rules.iter().map(|found| html::Rule {
            antecedents: items(&found.antecedents),
            consequents: items(&found.consequents),
            support: found.rule.support(),
            confidence: found.rule.confidence(),
            lift: found.rule.lift(),
            leverage: found.rule.leverage(),
            conviction: found.rule.conviction(),
        });
        html::page(&html::Report {
            id: job.id.clone(),
            parties: [parties[0].to_owned(), parties[1].to_owned()],
            rows: self.named.rows.into(),
            min_support: job.min_support.as_ref().map_or(String::new(), |written| written.0.clone()),
            min_confidence: job.min_confidence.as_ref().map_or(String::new(), |written| written.0.clone()),
            protocol: protocol.into(),
            learned,
            itemsets: itemsets
                .map(|(set, count)| html::Itemset { items: items(set), count: (*count).into() })
                .collect(),
            rules: rules.collect(),
        })
    }

    /// Writes rules and itemsets where the user wants them, and says how many there are.
    pub fn write(&self, path: Option<&Path>) -> Result<Told> {
        let (itemsets, rules) = (self.named.itemsets.len(), self.named.rules.len());
        Ok(Told {
            json: serde_json::json!({ "itemsets": itemsets, "rules": rules }),
            line: Some(format!("itemsets {itemsets}, rules {rules}")),
            written: path.map_or(Ok(()), |path| output::write(&self.named, path)),
        })
    }
}
