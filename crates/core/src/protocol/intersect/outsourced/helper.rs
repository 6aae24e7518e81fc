//! The helper's part: it adds up what it is sent.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::{BOUND_MASKS, MASKS, Params, STORE, SUM};
use crate::depot::{Depot, DepotParty, DepotStep, Parcel};
use crate::error::{Error, Result};
use crate::primitive::group::{Group, Point, Ristretto255, ScalarField};

/// Adds the stores of all but the leader, part by part as they are there, and leaves the sum for the leader. To the
/// masks of each giver it adds the sum, times a scalar that follows from `seed`: else a leader that does not follow the
/// protocol could have masks opened of items that not all have.
///
/// Errors: [`Error::Protocol`] by the name of whoever leaves what is no store, or of all if stores cancel each other.
pub fn run(params: &Params, depot: &impl Depot, seed: &[u8; 32]) -> Result<()> {
    (0..).zip(params.helper_parts()?).try_for_each(|(part, bytes)| add(params, depot, part, bytes, seed))
}

/// Adds the parts with that number, of so many bytes each. It does the same whenever it is done again with that seed,
/// which is drawn for the run and told to nobody.
///
/// Errors: as [`run`].
pub fn add(params: &Params, depot: &impl Depot, part: u32, bytes: usize, seed: &[u8; 32]) -> Result<()> {
    let mut sum: Option<Vec<Point>> = None;
    for place in params.others() {
        let columns = collect(depot, STORE, place, part, bytes)?;
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
    let leader = DepotParty::Party(params.leader() as u8);
    let to_leader = |step| Parcel { step, from: DepotParty::Helper, to: leader };
    depot.leave(to_leader(SUM), part, Ristretto255.encode(&sum))?;
    let parts = params.helper_parts()?.len() as u32;
    for (number, gives) in (0..).zip(&params.gives) {
        let masks = collect(depot, MASKS, gives.party, part, bytes)?;
        let bound = Ristretto255.add(&masks, &Ristretto255.multiply(&sum, &factor(seed, gives.party)));
        depot.leave(to_leader(BOUND_MASKS), number * parts + part, Ristretto255.encode(&bound))?;
    }
    Ok(())
}

/// The columns in a part of the store that the party at `place` leaves.
fn collect(depot: &impl Depot, step: DepotStep, place: usize, part: u32, bytes: usize) -> Result<Vec<Point>> {
    let party = DepotParty::Party(place as u8);
    let columns = depot.collect(Parcel { step, from: party, to: DepotParty::Helper }, part, bytes)?;
    let wrong = |error| Error::Protocol { peer: depot.name(party), check: format!("`{}` {error}", step.name) };
    Ristretto255.decode(&columns).map_err(wrong)
}

/// The scalar by which a giver's masks are bound to the sum.
fn factor(seed: &[u8; 32], giver: usize) -> <Ristretto255 as ScalarField>::Scalar {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 outsourced masks");
    hasher.update(seed).update(&(giver as u64).to_le_bytes());
    Ristretto255.random_scalars(1, &mut ChaCha20Rng::from_seed(*hasher.finalize().as_bytes())).remove(0)
}
