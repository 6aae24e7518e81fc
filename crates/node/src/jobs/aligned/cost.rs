//! Number of rows to work on, and the cost of aligning them.

use std::collections::BTreeMap;

use tacita_core::{Error, Result};

use super::{RowAlignment, hidden};
use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost};
use crate::agreement::{AlignWay, Chosen, JobSpec, Sizes};
use crate::jobs::intersect::cost::intersection_cost;

/// Remark of a plan on figures that are for the most rows that there can be.
pub(crate) const NO_COMMON_ROWS: &str =
    "; products go over the rows of either party, and none common is assumed, which costs most";

/// The most rows that products go over: as many as both have by position, the shorter table's by shown rows, and those
/// of both tables by hidden ones.
pub(crate) fn most_rows(
    job: &JobSpec,
    alignment: Option<&RowAlignment>,
    sizes: &BTreeMap<String, Sizes>,
) -> Result<u64> {
    let [(first, of_first), (second, of_second)] = job.both(sizes);
    let (one, other) = (of_first.items, of_second.items);
    match alignment.map(|alignment| alignment.way) {
        None if one != other => Err(Error::Input(format!(
            "rows are aligned by position, so both parties need the same number of them: {first} has {one}, {second} {other}"
        ))),
        None | Some(AlignWay::Rows) => Ok(one.min(other)),
        Some(AlignWay::Hidden) => {
            let dummies = alignment.and_then(|alignment| alignment.blur).map_or(0, |blur| blur.items());
            Ok(one.saturating_add(other).saturating_add(2 * dummies))
        }
    }
}

/// The most rows that all of several parties have: as many as each by position, and by ids those of the shortest table.
pub(crate) fn most_rows_among(job: &JobSpec, by_ids: bool, sizes: &BTreeMap<String, Sizes>) -> Result<usize> {
    let names = job.parties.names();
    let first = sizes[names[0]].items;
    let other = names.iter().find(|name| sizes[**name].items != first);
    match other.filter(|_| !by_ids) {
        Some(other) => Err(Error::Input(format!(
            "rows are aligned by position, so all parties need the same number of them: {} has {first}, {other} {}",
            names[0], sizes[*other].items
        ))),
        None => Ok(names.iter().map(|name| sizes[*name].items).min().unwrap_or_default() as usize),
    }
}

/// Computes the cost of aligning rows, without the closing frame; `None` where they are aligned by position.
pub(crate) fn alignment_cost(
    alignment: Option<&RowAlignment>,
    chosen: &Chosen,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
) -> Result<Option<Cost>> {
    let Some((alignment, protocol)) = alignment.zip(chosen.alignment) else { return Ok(None) };
    let mut cost = match alignment.way {
        AlignWay::Hidden => return hidden::cost(alignment, alignment.ids.both(sizes), calibration).map(Some),
        AlignWay::Rows => intersection_cost(&Chosen::only(protocol), &alignment.ids, sizes, calibration)?,
    };
    cost.roles.values_mut().for_each(|role| role.bytes -= CLOSE_BYTES);
    Ok(Some(cost))
}
