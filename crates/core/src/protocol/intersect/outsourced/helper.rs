//! The helper's part: it adds up what it is sent.

use super::{Params, STORE, SUM};
use crate::depot::{Depot, Parcel, Place};
use crate::error::{Error, Result};
use crate::primitive::group::{Group, Point, Ristretto255};

/// Adds the stores of all but the leader, part by part as they are there, and leaves the sum for the leader.
///
/// Errors: [`Error::Protocol`] by the name of whoever leaves what is no store.
pub fn run(params: &Params, depot: &impl Depot) -> Result<()> {
    (0..).zip(params.helper_parts()?).try_for_each(|(part, bytes)| add(params, depot, part, bytes))
}

/// Adds the parts with that number, of so many bytes each. It does the same whenever it is done again.
///
/// Errors: as [`run`].
pub fn add(params: &Params, depot: &impl Depot, part: u32, bytes: usize) -> Result<()> {
    let mut sum: Option<Vec<Point>> = None;
    for party in params.others().map(|place| Place::Party(place as u8)) {
        let store = Parcel { step: STORE, from: party, to: Place::Helper };
        let columns = Ristretto255
            .decode(&depot.collect(store, part, bytes)?)
            .map_err(|error| Error::Protocol { peer: depot.name(party), check: format!("`{}` {error}", STORE.name) })?;
        sum = Some(match sum {
            None => columns,
            Some(sum) => Ristretto255.add(&sum, &columns),
        });
    }
    let sum = Ristretto255.encode(&sum.unwrap_or_default());
    let leader = Place::Party(params.leader() as u8);
    depot.leave(Parcel { step: SUM, from: Place::Helper, to: leader }, part, sum)
}
