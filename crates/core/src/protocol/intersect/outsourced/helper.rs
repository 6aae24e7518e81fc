//! The helper's part: it adds up what it is sent.

use super::{Params, STORE, SUM};
use crate::depot::{Depot, DepotParty, Parcel};
use crate::error::{Error, Result};
use crate::primitive::group::{Group, Point, Ristretto255};

/// Adds the stores of all but the leader, part by part as they are there, and leaves the sum for the leader.
///
/// Errors: [`Error::Protocol`] by the name of whoever leaves what is no store, or of all if stores cancel each other.
pub fn run(params: &Params, depot: &impl Depot) -> Result<()> {
    (0..).zip(params.helper_parts()?).try_for_each(|(part, bytes)| add(params, depot, part, bytes))
}

/// Adds the parts with that number, of so many bytes each. It does the same whenever it is done again.
///
/// Errors: as [`run`].
pub fn add(params: &Params, depot: &impl Depot, part: u32, bytes: usize) -> Result<()> {
    let mut sum: Option<Vec<Point>> = None;
    for party in params.others().map(|place| DepotParty::Party(place as u8)) {
        let store = Parcel { step: STORE, from: party, to: DepotParty::Helper };
        let columns = Ristretto255
            .decode(&depot.collect(store, part, bytes)?)
            .map_err(|error| Error::Protocol { peer: depot.name(party), check: format!("`{}` {error}", STORE.name) })?;
        sum = Some(match sum {
            None => columns,
            Some(sum) => Ristretto255.add(&sum, &columns),
        });
    }
    let sum = sum.unwrap_or_default();
    if Ristretto255.any_identity(&sum) {
        // One honest store is enough for this not to be. Left as it is, it would be refused, and the helper named.
        let names: Vec<String> = params.others().map(|place| depot.name(DepotParty::Party(place as u8))).collect();
        let check = format!("the sum of what they left as `{}` holds the identity", STORE.name);
        return Err(Error::Protocol { peer: format!("{},", names.join(", or ")), check });
    }
    let sum = Ristretto255.encode(&sum);
    let leader = DepotParty::Party(params.leader() as u8);
    depot.leave(Parcel { step: SUM, from: DepotParty::Helper, to: leader }, part, sum)
}
