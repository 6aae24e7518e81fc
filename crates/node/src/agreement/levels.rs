//! Jobs that count again and again, each time what the counts before ask for, where rows are spread over many machines:
//! these count, and drivers say what is counted next.

use tacita_core::channel::Channel;
use tacita_core::protocol::rules::CountPlan;
use tacita_core::{Result, Session};
use zeroize::Zeroizing;

use super::Answer;

/// Data that a driver has gathered before it begins.
pub struct Gathered {
    /// Number of rows in all buckets, which both parties have.
    pub rows: u64,
    /// Identifiers of the runs in which rows were aligned, in the order of the buckets; empty if rows are aligned by
    /// position.
    pub runs: Vec<String>,
    /// The own items, each once: its name, and in how many of these rows it is.
    pub items: Vec<(String, u64)>,
    /// Session of the drivers.
    pub session: Session,
}

/// A party's part, as its driver plays it.
pub trait Levels: Send {
    /// The own items that are still of interest, by the numbers that itemsets have.
    fn names(&self) -> &[String];

    /// Returns the itemsets to be counted next; none when all is known.
    fn next(&mut self, channel: &mut Channel) -> Result<Option<CountPlan>>;

    /// Takes the counts of the own itemsets, those of all buckets added up.
    fn take_own(&mut self, counts: &[u32], channel: &mut Channel) -> Result<()>;

    /// Takes what the buckets have left of mixed itemsets: the text of their files, in the order of the buckets.
    fn take_mixed(&mut self, shares: &[Zeroizing<String>], channel: &mut Channel) -> Result<()>;

    /// Finishes the job and returns the answer.
    fn finish(self: Box<Self>, channel: &mut Channel) -> Result<Answer>;
}
