//! Limits that parties agree on for the size of a table.

use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Sizes};
use crate::base::text;

/// Minimum number of keys with which a bucket tells a number, unless it is the only one. Its rows may be many more,
/// but have few different keys.
const MIN_KEYS: u64 = 1000;

/// Own sizes against the job's limits; where sets are padded, the sizes become the bound.
pub fn check_limits(job: &JobSpec, me: &str, source: &str, sizes: &mut Sizes) -> Result<()> {
    let most = sizes.items.max(sizes.entries);
    // Rows are counted where all of a key's are sent, or count.
    let brought = if !job.matches_keys() {
        text::counted(most, "row")
    } else if sizes.entries > sizes.items || job.is_of_multisets() {
        format!("{} with a key", text::counted(most, "row"))
    } else {
        text::counted(most, "distinct key")
    };
    if let Some(limit) = job.limits.max_rows
        && most > limit
    {
        return Err(Error::Input(format!(
            "{source}: {brought}, and limits.max_rows is {}: agree on a higher limit",
            text::count(limit)
        )));
    }
    if let Some(bucket) = job.bucket()
        && job.tells_of_buckets()
        && bucket.of > 1
        && sizes.items < MIN_KEYS
    {
        return Err(Error::Input(format!(
            "{source}: a bucket of this party has {}, too few to hide the length of its longest row: ask for fewer buckets, at \
             all parties, or run on one machine",
            text::counted(sizes.items, "distinct key")
        )));
    }
    if let Some(bound) = job.padded_to(me) {
        if sizes.items <= bound && most > bound && job.spread.is_some() {
            return Err(Error::Input(format!(
                "{source}: {brought}, many of them equal ones, and a bucket has room for {}: agree on duplicates = \"first\", or ask for fewer buckets",
                text::count(bound)
            )));
        }
        if most > bound && job.spread.is_some() {
            return Err(Error::NotReady(format!(
                "{source}: {brought} do not fit a bucket of {}, which happens less than once in 2^40 runs: start a new run, \
                 without resume",
                text::count(bound)
            )));
        }
        if most > bound {
            return Err(Error::Input(format!(
                "{source}: {brought} do not fit limits.pad_to = {}: agree on a higher bound",
                text::count(bound)
            )));
        }
        sizes.items = bound;
        if !sizes.schema.is_empty() {
            sizes.entries = bound;
        }
    }
    Ok(())
}
