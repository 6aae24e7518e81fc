//! Association rules over rows that are spread over many machines of each party.
//!
//! 1. Every machine looks at a part of the table, for what says how its columns become items (`facts`).
//! 2. The rows of a bucket, aligned by a run of its own or by their position, become the items of a partition (`partition`).
//! 3. The drivers mine (`mining`): each party adds up what its machines count of its own itemsets; of mixed ones the machines of
//!    both parties leave shares, bucket by bucket (`counting`), which the drivers add up, and open as far as one run would.

mod counting;
mod facts;
mod mining;
mod partition;
mod shares;

use tacita_core::{Error, Result};

pub use counting::{ItemsetCounter, count};
pub use facts::{check_names, facts, flags, join};
pub use mining::Mining;
pub(super) use partition::aligned as aligned_rows;
pub use partition::by_position;

use super::spec::RulesJob;
use crate::agreement::{ItemsFrom, JobSpec};
use crate::jobs::aligned;
use crate::jobs::dot::methods::ot;

/// The job of one bucket, which tells nobody a count.
pub fn in_buckets(job: &RulesJob<'_>) -> Result<JobSpec> {
    let bad = |text: &str| Err(Error::Input(format!("this job runs on one machine of each party: {text}")));
    if job.parties.0.len() > 2 {
        return bad("it is among more than two");
    }
    aligned::spec::refuse_hidden_in_buckets(job.alignment().as_ref())?;
    if !job.protocol.is_auto() && job.protocol != ot::PROTOCOL {
        return bad(&format!(
            "protocol = \"{}\" hides numbers only approximately, and each bucket would reveal more: leave it out, or use \"{}\"",
            job.protocol.name(),
            ot::PROTOCOL.name()
        ));
    }
    if let Some(column) = job.quantiles() {
        return bad(&format!(
            "bins.{}: where a column's quantiles are shows in all rows together: give bounds, as [18, 40, 65]",
            column.escape_debug()
        ));
    }
    let lines = |name: &str| matches!(job.items_of(name), ItemsFrom::Basket(basket) if basket.lines);
    if job.parties.names().into_iter().any(lines) {
        return bad("items.lines: baskets that are lines of a file are no tables: write them as CSV or Parquet");
    }
    let mut one = JobSpec { protocol: ot::PROTOCOL, ..job.spec.clone() };
    // What is small is known when all is added up.
    one.limits.min_rows = None;
    Ok(one)
}
