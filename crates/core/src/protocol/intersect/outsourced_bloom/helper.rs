//! The helper's part: it adds up what it is sent, and randomises the sums.

use rand_core::CryptoRng;

use super::params::ciphertext_bytes;
use super::{FILTER, Params, SUMS};
use crate::depot::{Depot, Parcel, Place};
use crate::error::{Error, Result};
use crate::primitive::group::Group;

/// Adds the filters of all parties, part by part as they are there, and leaves the sums for each of them, every one times a
/// scalar of its own.
///
/// Errors: [`Error::Protocol`] by the name of whoever leaves what is no filter.
pub fn run<G: Group>(params: &Params, group: &G, depot: &impl Depot, rng: &mut impl CryptoRng) -> Result<()> {
    for (part, slots) in (0..).zip(params.parts(group)) {
        let sums = added(params, group, depot, part, slots)?;
        let factors = group.random_scalars(slots, rng);
        let factors: Vec<_> = factors.into_iter().flat_map(|factor| [factor.clone(), factor]).collect();
        let sums = group.multiply_each_encode(&sums, &factors);
        for party in places(params) {
            depot.leave(Parcel { step: SUMS, from: Place::Helper, to: party }, part, sums.clone())?;
        }
    }
    Ok(())
}

/// The sums of all parties' ciphertexts in a part of the slots, both elements of each.
fn added<G: Group>(params: &Params, group: &G, depot: &impl Depot, part: u32, slots: usize) -> Result<Vec<G::Point>> {
    let mut sum: Option<Vec<G::Point>> = None;
    for party in places(params) {
        let filter = Parcel { step: FILTER, from: party, to: Place::Helper };
        let bytes = depot.collect(filter, part, slots * ciphertext_bytes(group))?;
        let points = group.decode(&bytes).map_err(|error| Error::Protocol {
            peer: depot.name(party),
            check: format!("`{}` {error}", FILTER.name),
        })?;
        sum = Some(match sum {
            None => points,
            Some(sum) => group.add(&sum, &points),
        });
    }
    Ok(sum.unwrap_or_default())
}

fn places(params: &Params) -> impl Iterator<Item = Place> {
    (0..params.parties()).map(|place| Place::Party(place as u8))
}
