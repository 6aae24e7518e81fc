//! The part of every party but the leader.

use rand_core::CryptoRng;

use super::params::parts;
use super::{CATEGORIES, MASKS, OutsourcedParty, OutsourcedResult, OutsourcedValues, ROWS, STORE, VALUES};
use crate::depot::{Depot, DepotParty, Parcel};
use crate::error::Result;
use crate::item::Item;
use crate::primitive::elgamal::{self, Ciphertext};
use crate::primitive::group::{Ristretto255, ScalarField};
use crate::protocol::intersect::tag_exchange::items::Padded;

/// Follows the leader, and returns what this party learns, if it does.
pub fn follow<D: Depot>(party: &OutsourcedParty<'_, D>, rng: &mut impl CryptoRng) -> Result<Option<OutsourcedResult>> {
    party.check()?;
    let OutsourcedParty { me, params, post, .. } = party;
    let all = Padded::new(party.items, rng).range(&(0..params.bound()));

    // 2. The own store, for the helper to add.
    let zeros = party.met.joint.encrypt(&Ristretto255, &vec![Ristretto255.scalar(0); all.len()], rng);
    let own = Parcel { step: STORE, from: DepotParty::Party(*me as u8), to: DepotParty::Helper };
    party.leave_store(&all, &zeros, rng, |part, bytes| post.depot.leave(own, part, bytes))?;
    if params.giver() == Some(*me) {
        let values = party.encrypted_values(rng);
        party
            .leave_store(&all, &values.of_items, rng, |part, bytes| post.send(VALUES, params.leader(), part, bytes))?;
        for (part, bytes) in (0..).zip(values.names) {
            post.send(CATEGORIES, params.leader(), part, bytes)?;
        }
    }

    if let (Some(gives), OutsourcedValues::Rows(head, rows)) = (params.gives_of(*me), party.values) {
        let (masks, parts) = party.sealed_rows(gives, &all, rows, rng);
        let own = Parcel { step: MASKS, ..own };
        party.leave_store(&all, &masks, rng, |part, bytes| post.depot.leave(own, part, bytes))?;
        for (part, bytes) in (0..).zip(std::iter::once(head.to_vec()).chain(parts)) {
            post.send(ROWS, params.leader(), part, bytes)?;
        }
    }

    // 4. What passes by.
    party.pass_entries(rng)?;
    party.pass_opened(rng)?;
    if params.learners.contains(me) { party.hear(&all).map(Some) } else { Ok(None) }
}

impl<D: Depot> OutsourcedParty<'_, D> {
    /// Leaves the store of these ciphertexts, one for each item, part by part.
    fn leave_store(
        &self,
        items: &[Item],
        ciphertexts: &[Ciphertext<Ristretto255>],
        rng: &mut impl CryptoRng,
        mut leave: impl FnMut(u32, Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let columns = self.encode(items, ciphertexts, rng)?;
        let mut rest = &columns[..];
        for (part, count) in (0..).zip(parts(columns.len())) {
            let own;
            (own, rest) = rest.split_at(count);
            leave(part, elgamal::encode(&Ristretto255, own))?;
        }
        Ok(())
    }
}
