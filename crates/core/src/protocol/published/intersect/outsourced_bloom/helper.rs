//! The helper's part: it adds up what it is sent, and randomises the sums.

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};

use super::params::ciphertext_bytes;
use super::{FILTER, Params, SUMS};
use crate::depot::{Depot, DepotParty, Parcel};
use crate::error::{Error, Result};
use crate::primitive::group::Group;

/// Adds the filters of all parties, part by part as they are there, and leaves the sums for each of them, every one
/// times a scalar of its own.
///
/// Errors: [`Error::Protocol`] by the name of whoever leaves what is no filter.
pub fn run<G: Group>(params: &Params, group: &G, depot: &impl Depot, rng: &mut impl CryptoRng) -> Result<()> {
    (0..).zip(params.parts(group)).try_for_each(|(part, slots)| randomise(params, group, depot, (part, slots), rng))
}

/// Does the same for the part with that number, with scalars that follow from `seed` and the number: the same whenever
/// it is done again, so that no two parties get another sum.
///
/// Errors: as [`run`].
pub fn add<G: Group>(params: &Params, group: &G, depot: &impl Depot, part: u32, seed: &[u8; 32]) -> Result<()> {
    let slots = params.parts(group).get(part as usize).copied();
    let slots = slots.ok_or_else(|| Error::Internal("outsourced-bloom: no such part".into()))?;
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 outsourced bloom scalars");
    hasher.update(seed).update(&part.to_le_bytes());
    let mut rng = ChaCha20Rng::from_seed(*hasher.finalize().as_bytes());
    randomise(params, group, depot, (part, slots), &mut rng)
}

fn randomise<G: Group>(
    params: &Params,
    group: &G,
    depot: &impl Depot,
    (part, slots): (u32, usize),
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let sums = added(params, group, depot, part, slots)?;
    let factors = group.random_scalars(slots, rng);
    let factors: Vec<_> = factors.into_iter().flat_map(|factor| [factor.clone(), factor]).collect();
    let sums = group.multiply_each_encode(&sums, &factors);
    let leave = |party| depot.leave(Parcel { step: SUMS, from: DepotParty::Helper, to: party }, part, sums.clone());
    places(params).try_for_each(leave)
}

/// The sums of all parties' ciphertexts in a part of the slots, both elements of each.
fn added<G: Group>(params: &Params, group: &G, depot: &impl Depot, part: u32, slots: usize) -> Result<Vec<G::Point>> {
    let mut sum: Option<Vec<G::Point>> = None;
    for party in places(params) {
        let filter = Parcel { step: FILTER, from: party, to: DepotParty::Helper };
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

fn places(params: &Params) -> impl Iterator<Item = DepotParty> {
    (0..params.parties()).map(|place| DepotParty::Party(place as u8))
}
