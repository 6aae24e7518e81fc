//! The part of the party that works the result out.

use rand_core::CryptoRng;

use super::chain::Entries;
use super::params::{CATEGORY, parts_of};
use super::{
    BOUND_MASKS, CATEGORIES, ENTRIES, OPENED, OutsourcedParty, OutsourcedResult, OutsourcedReveal, SUM, VALUES,
};
use crate::depot::{Depot, DepotParty, DepotStep, Parcel};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::elgamal::Ciphertext;
use crate::primitive::elgamal::small::in_full;
use crate::primitive::group::{Group, Ristretto255};
use crate::primitive::okvs::Element;
use crate::protocol::intersect::tag_exchange::items::Padded;

use super::values::counted;

type Pair = Ciphertext<Ristretto255>;

/// Leads, and returns what there is to be learned.
pub fn lead<D: Depot>(party: &OutsourcedParty<'_, D>, rng: &mut impl CryptoRng) -> Result<OutsourcedResult> {
    party.check()?;
    let params = party.params;
    let all = Padded::new(party.items, rng).range(&(0..params.bound()));

    // 3. Its own items in what the helper has added up, and what belongs to them.
    let mut entries = Entries { tested: party.looked_up(SUM, 0, &all, rng)?, values: Vec::new() };
    let mut names = Vec::new();
    if let Some(giver) = params.giver() {
        (entries.values, names) = party.values_of(giver, &all, rng)?;
    }
    let sealed = params.gives.iter().map(|gives| party.collect_rows(gives)).collect::<Result<Vec<_>>>()?;
    if !sealed.is_empty() {
        let masks = (0..params.gives.len()).map(|giver| party.looked_up(BOUND_MASKS, giver, &all, rng));
        let columns = std::iter::once(Ok(entries.tested)).chain(masks).collect::<Result<Vec<_>>>()?;
        entries.tested = (0..all.len()).flat_map(|row| columns.iter().map(move |column| column[row].clone())).collect();
    }

    // 4. All take their shares off, this one last.
    let (opened, values) = party.send_around(ENTRIES, &entries, rng)?;
    let width = params.width();
    let is_zero = |index: &usize| Ristretto255.any_identity(&opened[index * width..=index * width]);
    let zeros: Vec<usize> = (0..all.len()).filter(is_zero).collect();
    let is_own = |index: &usize| *index < party.items.len();
    let found = match params.reveal {
        OutsourcedReveal::Rows if zeros.iter().all(is_own) => OutsourcedResult::Rows(zeros),
        OutsourcedReveal::Payload if zeros.iter().all(is_own) => {
            OutsourcedResult::Payload(party.sealed_answer(zeros, opened, sealed))
        }
        OutsourcedReveal::Count if zeros.len() <= party.items.len() => OutsourcedResult::Count(zeros.len() as u64),
        _ if zeros.len() > party.items.len() || !params.shuffled() => {
            let check = format!("{} entries are common, of {} items", zeros.len(), party.items.len());
            return Err(Error::Protocol { peer: "one of the others".into(), check });
        }
        OutsourcedReveal::Sum { bits, .. } => {
            OutsourcedResult::Sum(zeros.len() as u64, party.sum(&zeros, &values, bits, rng)?)
        }
        _ => OutsourcedResult::Counts(party.counts(&zeros, &values, &names, rng)?),
    };
    params.learners.iter().filter(|&&to| to != party.me).try_for_each(|&to| party.tell(to, &all, &found, rng))?;
    Ok(found)
}

impl<D: Depot> OutsourcedParty<'_, D> {
    /// Refuses an input that is not what was agreed on.
    pub(super) fn check(&self) -> Result<()> {
        if self.items.len() > self.params.bound() {
            let (items, bound) = (self.items.len(), self.params.bound());
            return Err(Error::Input(format!("{items} items are more than the {bound} agreed on")));
        }
        self.check_values()
    }

    /// Looks up each of these items, re-randomised, in the sum of all others' stores, or in the store that the helper
    /// has made of the masks of the giver of this number.
    fn looked_up(&self, step: DepotStep, giver: usize, items: &[Item], rng: &mut impl CryptoRng) -> Result<Vec<Pair>> {
        let parcel = Parcel { step, from: DepotParty::Helper, to: DepotParty::Party(self.me as u8) };
        let helper = self.post.depot.name(DepotParty::Helper);
        let first = (giver * self.params.store_parts()?.len()) as u32;
        let columns = self.params.columns(
            |part, bytes| self.post.depot.collect(parcel, first + part, bytes),
            |check| Error::Protocol { peer: helper.clone(), check },
        )?;
        Ok(self.met.joint.rerandomize(&Ristretto255, &self.decode(items, &columns)?, rng))
    }

    /// The giver's values for these items, and the giver's list of names.
    fn values_of(&self, giver: usize, items: &[Item], rng: &mut impl CryptoRng) -> Result<(Vec<Pair>, Vec<u8>)> {
        if giver == self.me {
            let own = self.encrypted_values(rng);
            return Ok((own.of_items, own.names.concat()));
        }
        let columns = self.params.columns(
            |part, bytes| self.post.receive(VALUES, giver, part, bytes),
            |check| self.post.violation(giver, check),
        )?;
        let mut names = Vec::new();
        if let OutsourcedReveal::Counts { categories, .. } = self.params.reveal {
            for (part, count) in (0..).zip(parts_of(categories, CATEGORY)) {
                names.extend(self.post.receive(CATEGORIES, giver, part, count * CATEGORY)?);
            }
        }
        Ok((self.met.joint.rerandomize(&Ristretto255, &self.decode(items, &columns)?, rng), names))
    }

    /// The sum of the values of common entries, which all open together.
    fn sum(&self, common: &[usize], values: &[Pair], bits: u32, rng: &mut impl CryptoRng) -> Result<u64> {
        let group = &Ristretto255;
        let mut sum = <Pair as Element>::zero();
        for (index, value) in values.iter().enumerate() {
            let added = if common.binary_search(&index).is_ok() { value.clone() } else { <Pair as Element>::zero() };
            sum.add(&added);
        }
        let tested = self.met.joint.rerandomize(group, &[sum], rng);
        let (opened, _) = self.send_around(OPENED, &Entries { tested, values: Vec::new() }, rng)?;
        // Looked for in as many steps whatever it is and however many are common: the helper sees the time.
        let found = in_full(group, &opened, ((self.params.bound() as u64) << bits).max(1));
        let most = ((common.len() as u64) << bits).max(1);
        found.first().copied().flatten().filter(|sum| *sum < most).ok_or_else(|| Error::Protocol {
            peer: "one of the others".into(),
            check: format!("{} values add up to more than {bits} bits each", common.len()),
        })
    }

    /// The categories of common entries, which all open together, among as many others as there may be entries.
    fn counts(
        &self,
        common: &[usize],
        values: &[Pair],
        names: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<(Vec<u8>, u64)>> {
        // As much work however many they are.
        let mut random = Ristretto255.random_points(2 * self.params.bound(), rng).into_iter();
        let fillers = std::iter::from_fn(|| Some([random.next()?, random.next()?]));
        let chosen: Vec<Pair> =
            common.iter().map(|&index| values[index].clone()).chain(fillers).take(self.params.bound()).collect();
        let entries = Entries { tested: self.met.joint.rerandomize(&Ristretto255, &chosen, rng), values: Vec::new() };
        let (opened, _) = self.send_around(OPENED, &entries, rng)?;
        counted(&self.met.session, &opened, common.len(), names).ok_or_else(|| Error::Protocol {
            peer: "one of the others".into(),
            check: "a common item has a category that is not in the list".into(),
        })
    }
}
