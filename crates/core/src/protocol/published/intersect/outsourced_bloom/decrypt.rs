//! A party's part: it leaves its filter, decrypts with the others, and looks its items up.

use rand_core::CryptoRng;

use super::params::ciphertext_bytes;
use super::{FILTER, OutsourcedBloomParty, SHARE, SUMS, TOTAL};
use crate::depot::{Depot, DepotParty, Parcel};
use crate::error::{Error, Result};
use crate::primitive::elgamal::threshold::{Contribution, ThresholdView, check, open};
use crate::primitive::elgamal::{self, Ciphertext};
use crate::primitive::group::Group;
use crate::primitive::proof::Proof;
use crate::primitive::published::bloom::Plain;
use crate::protocol::intersect::tag_exchange::items::fork;
use crate::session::Transcript;
use zeroize::Zeroizing;

/// Takes part, and returns which of its items are common, ascending, but for false positives; nothing if it does not
/// learn.
///
/// Errors: [`Error::Input`] for more items than agreed on; [`Error::Protocol`] by the name of whoever breaks the
/// protocol.
pub fn run<G: Group + Sync, D: Depot>(
    party: &OutsourcedBloomParty<'_, G, D>,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    let hashes = party.hashes();
    let mut common = Plain::empty(hashes.slots());
    let mut slot = 0;
    decrypted(party, rng, |values| {
        for value in values {
            if party.group.any_identity(std::slice::from_ref(value)) {
                common.set(slot);
            }
            slot += 1;
        }
    })?;
    let learns = party.params.learners().contains(&party.me);
    Ok(learns.then(|| common.matches(party.items, &hashes)))
}

/// Takes part, and gives `learn`, if this party learns, all slots from the first to the last as they are decrypted: a
/// random scalar times the number of parties that have not set it.
pub fn decrypted<G: Group + Sync, D: Depot>(
    party: &OutsourcedBloomParty<'_, G, D>,
    rng: &mut impl CryptoRng,
    mut learn: impl FnMut(&[G::Point]),
) -> Result<()> {
    let (items, bound) = (party.items.len(), party.params.bound());
    if items > bound {
        return Err(Error::Input(format!("{items} items are more than the {bound} agreed on")));
    }
    let mut encryption = fork(rng);
    std::thread::scope(|scope| {
        let leaving = scope.spawn(move || party.leave_filter(&mut encryption));
        let decrypted = party.parts().try_for_each(|(part, slots)| {
            let sums = party.sums(part, slots)?;
            if let Some(values) = party.decrypt(part, &sums, rng)? {
                learn(&values);
            }
            Ok(())
        });
        let left =
            leaving.join().map_err(|_| Error::Internal("outsourced-bloom: the encrypting thread died".into()))?;
        decrypted.and(left)
    })
}

impl<G: Group + Sync, D: Depot> OutsourcedBloomParty<'_, G, D> {
    /// Parts of a filter, with the number of slots in each.
    fn parts(&self) -> impl Iterator<Item = (u32, usize)> {
        (0..).zip(self.params.parts(self.group))
    }

    /// Step 2: the own filter, encrypted, for the helper to add.
    fn leave_filter(&self, rng: &mut impl CryptoRng) -> Result<()> {
        let filter = Plain::new(self.items, &self.hashes());
        let own = Parcel { step: FILTER, from: DepotParty::Party(self.me as u8), to: DepotParty::Helper };
        let mut from = 0;
        for (part, slots) in self.parts() {
            let bits = (from..from + slots).map(|slot| filter.bit(slot));
            let bits = Zeroizing::new(bits.collect::<Vec<u8>>());
            self.post.depot.leave(own, part, self.met.joint.encrypt_bits_encode(self.group, &bits, rng))?;
            from += slots;
        }
        Ok(())
    }

    /// Step 3: what the helper has made of all filters.
    fn sums(&self, part: u32, slots: usize) -> Result<Vec<Ciphertext<G>>> {
        let sums = Parcel { step: SUMS, from: DepotParty::Helper, to: DepotParty::Party(self.me as u8) };
        let bytes = self.post.depot.collect(sums, part, slots * ciphertext_bytes(self.group))?;
        elgamal::decode(self.group, &bytes).map_err(|error| Error::Protocol {
            peer: self.post.depot.name(DepotParty::Helper),
            check: format!("`{}` {error}", SUMS.name),
        })
    }

    /// Step 4: gives its share to whom it is for; the values, if this party learns.
    fn decrypt(&self, part: u32, sums: &[Ciphertext<G>], rng: &mut impl CryptoRng) -> Result<Option<Vec<G::Point>>> {
        let (group, params) = (self.group, self.params);
        let (before, own);
        if params.passes_on(self.me) {
            before = self.before(part, sums, rng)?;
            own = self.give(part, sums, before.as_deref(), rng)?;
        } else {
            // Learners that are each alone wait for each other's shares.
            own = self.give(part, sums, None, rng)?;
            before = self.before(part, sums, rng)?;
        }
        if !params.opens(self.me) {
            let learns = params.learners().contains(&self.me);
            return if learns { self.told(part, sums).map(Some) } else { Ok(None) };
        }
        let mut rest = sums.to_vec();
        if let Some(before) = before {
            let hidden = open(group, sums, &before);
            rest.iter_mut().zip(hidden).for_each(|(rest, hidden)| rest[1] = hidden);
        }
        let values = match own {
            Some(own) => open(group, &rest, &own),
            None => self.met.share.strip(group, &rest),
        };
        if !params.tells(self.me).is_empty() {
            let bytes = group.encode(&open(group, sums, &values));
            params.tells(self.me).iter().try_for_each(|&to| self.post.send(TOTAL, to, part, bytes.clone()))?;
        }
        Ok(Some(values))
    }

    /// The shares of all those that give this party theirs, added; nothing if nobody does.
    fn before(&self, part: u32, sums: &[Ciphertext<G>], rng: &mut impl CryptoRng) -> Result<Option<Vec<G::Point>>> {
        let mut all: Option<Vec<G::Point>> = None;
        for from in self.params.before(self.me) {
            let given = self.receive(from, part, sums, rng)?;
            all = Some(match all {
                None => given,
                Some(all) => self.group.add(&all, &given),
            });
        }
        Ok(all)
    }

    /// Gives its own share, with what it was given and a proof, to whom it is for. Returns the share; nothing if it is
    /// for nobody.
    fn give(
        &self,
        part: u32,
        sums: &[Ciphertext<G>],
        before: Option<&[G::Point]>,
        rng: &mut impl CryptoRng,
    ) -> Result<Option<Vec<G::Point>>> {
        let (group, after) = (self.group, self.params.after(self.me));
        if after.is_empty() {
            return Ok(None);
        }
        let own = self.met.share.contribute(group, self.me, sums, &[], &self.about(part), rng);
        let bytes =
            [group.encode(before.unwrap_or_default()), group.encode(&own.sums), own.proof.encode(group)].concat();
        after.iter().try_for_each(|&to| self.post.send(SHARE, to, part, bytes.clone()))?;
        Ok(Some(own.sums))
    }

    /// Receives the shares of the party at `from`: its own one, which is checked, and those that it was given.
    fn receive(
        &self,
        from: usize,
        part: u32,
        sums: &[Ciphertext<G>],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<G::Point>> {
        let group = self.group;
        let bytes = self.post.receive(SHARE, from, part, self.params.share_bytes(group, from, sums.len()))?;
        let wrong = |error: &dyn std::fmt::Display| self.post.violation(from, format!("`{}` {error}", SHARE.name));
        let (points, proof) = bytes.split_at(bytes.len() - Proof::bytes(group, 2, 1));
        let mut before = group.decode(points).map_err(|error| wrong(&error))?;
        let own = before.split_off(before.len() - sums.len());
        let proof = Proof::decode(group, proof, 2, 1).ok_or_else(|| wrong(&"holds no proof"))?;
        let contribution = Contribution { sums: own, proof };
        let told = ThresholdView { place: from, key: &self.met.keys[from], given: &[], contribution: &contribution };
        check(group, sums, &[told], &self.about(part), rng)
            .map_err(|_| wrong(&"is not made with the share that its sender has"))?;
        Ok(if before.is_empty() { contribution.sums } else { group.add(&before, &contribution.sums) })
    }

    /// The values, of what the last party tells: all shares together.
    fn told(&self, part: u32, sums: &[Ciphertext<G>]) -> Result<Vec<G::Point>> {
        let (group, last) = (self.group, self.params.last());
        let bytes = self.post.receive(TOTAL, last, part, sums.len() * group.point_bytes())?;
        let wrong = |error| self.post.violation(last, format!("`{}` {error}", TOTAL.name));
        Ok(open(group, sums, &group.decode(&bytes).map_err(wrong)?))
    }

    /// Transcript to which proofs of a part are bound.
    fn about(&self, part: u32) -> Transcript {
        let mut about = Transcript::new("outsourced bloom decryption");
        about.append("session", self.met.session.id()).append("part", &part.to_le_bytes());
        about
    }
}
