//! Number of rows to work on.

use std::collections::BTreeMap;

use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Sizes};

/// The most rows that both parties have: no more than the shorter table.
pub(crate) fn common_rows(job: &JobSpec, by_position: bool, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
    let names = job.parties.names();
    let [first, second] = [names[0], names[1]].map(|name| sizes[name].items);
    if by_position && first != second {
        Err(Error::Input(format!(
            "rows are aligned by position, so both parties need the same number of them: {} has {first}, {} {second}",
            names[0], names[1]
        )))
    } else {
        Ok(first.min(second))
    }
}
