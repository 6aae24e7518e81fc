//! Association rules over columns that several parties hold: Apriori, and the rules that follow from its itemsets.
//!
//! Each party has items (columns of zeros and ones) over the same rows (baskets). An itemset of one party's items is
//! counted by that party alone; of a mixed one, the count is the scalar product of a column of each of its parties, the
//! conjunction of the party's part. After Dong and Chen, "A fast secure dot product protocol with application to
//! privacy preserving association rule mining" (PAKDD 2014), algorithm 1, which is Vaidya and Clifton's (KDD 2002);
//! with [`RevealedCounts::Frequent`], only counts that reach the minimum are opened. Equal to Apriori on the joined
//! columns, itemset for itemset. Semi-honest parties.
//!
//! [`run`] is the part of one of two parties that has all rows in one place, [`mesh::run`] that of one of several;
//! [`Miner`] is all of it but counting. Names of items do not appear in it: items are known by numbers that their
//! owners shuffle, until [`names`] of those that were found are told. What each party learns is in
//! `docs/protocols/rules.md` and `docs/protocols/rules-mesh.md`.

pub mod association;
pub mod baskets;
mod batch;
mod compare;
mod exchange;
mod frequent;
mod hidden;
pub mod itemsets;
mod levels;
pub mod mesh;
mod miner;
pub mod names;
mod params;
mod run;
pub mod support;
mod told;
mod way;

pub use crate::channel::labels::rules::{FIT, ITEMS, LENGTHS, NAMES, SUPPORTS, TOLD, WAY};
pub use batch::{ProductBatch, ScalarProducts};
pub use compare::Comparisons;
pub use exchange::{read_counts, write_counts, write_told};
pub use frequent::Frequent;
pub use miner::{CountPlan, Miner};
pub use params::{DEFAULT_MAX_CANDIDATES, DEFAULT_MAX_RULES, Learners, Params, RevealedCounts};
pub use run::{Mined, counts_of, first_over, run, second_over};
pub use way::Way;
