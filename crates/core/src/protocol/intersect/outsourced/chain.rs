//! Entries that pass from party to party, each of which takes its share of the key off.
//!
//! Besides what it passes on, a party tells its share of each decryption and proves it: who comes next takes it off,
//! and names it if it is wrong. What a party passes on it has re-randomised under the key that is still on it: so
//! nobody before it can choose what it sends, such as the identity, which is refused, nor see by what comes out which
//! entry it was.

use rand_core::CryptoRng;

use super::params::{CIPHERTEXT, POINT};
use super::{ENTRIES, OPENED, OutsourcedParty};
use crate::depot::{Depot, DepotStep};
use crate::error::Result;
use crate::primitive::elgamal::threshold::{Contribution, ThresholdView, check, key_of, open};
use crate::primitive::elgamal::{self, Ciphertext};
use crate::primitive::group::{Group, Ristretto255, ScalarField};
use crate::primitive::okvs::Element;
use crate::primitive::proof::Proof;
use crate::primitive::shuffle::random_order;
use crate::session::Transcript;

type Pair = Ciphertext<Ristretto255>;

/// Entries: what is 0 in the end for a common item, and the values that travel along.
#[derive(Clone, Default)]
pub(super) struct Entries {
    /// Ciphertexts from which all parties remove their shares: of each entry the tested one, then those of masks.
    pub(super) tested: Vec<Pair>,
    /// Under the joint key, one for each; or none at all.
    pub(super) values: Vec<Pair>,
}

impl Entries {
    fn append(&mut self, other: Entries) {
        self.tested.extend(other.tested);
        self.values.extend(other.values);
    }

    /// Copies so many entries of `width` ciphertexts each.
    fn slice(&self, from: usize, count: usize, width: usize) -> Entries {
        let values = if self.values.is_empty() { Vec::new() } else { self.values[from..from + count].to_vec() };
        Entries { tested: self.tested[from * width..(from + count) * width].to_vec(), values }
    }

    /// Shuffles the entries into a random order. No masks are among them.
    pub(super) fn shuffle(&mut self, rng: &mut impl CryptoRng) {
        let order = random_order(self.tested.len(), rng);
        let sorted = |all: &[Pair]| order.iter().map(|place| all[*place as usize].clone()).collect();
        self.tested = sorted(&self.tested);
        if !self.values.is_empty() {
            self.values = sorted(&self.values);
        }
    }
}

impl<D: Depot> OutsourcedParty<'_, D> {
    /// Passes entries on that come from the party before, blinded, and shuffled where nobody may know which is which.
    pub(super) fn pass_entries(&self, rng: &mut impl CryptoRng) -> Result<()> {
        let shuffled = self.params.shuffled();
        let mut all = Entries::default();
        for (part, entries) in (0..).zip(self.params.entry_parts(self.params.bound())) {
            let received = self.receive(ENTRIES, part, entries, rng)?;
            if shuffled { all.append(received) } else { self.send(ENTRIES, part, self.blind(received, rng), rng)? }
        }
        if shuffled {
            all.shuffle(rng);
            let mut from = 0;
            for (part, entries) in (0..).zip(self.params.entry_parts(all.tested.len())) {
                self.send(ENTRIES, part, self.blind(all.slice(from, entries, 1), rng), rng)?;
                from += entries;
            }
        }
        Ok(())
    }

    /// Passes on what all open together.
    pub(super) fn pass_opened(&self, rng: &mut impl CryptoRng) -> Result<()> {
        for (part, entries) in (0..).zip(self.params.entry_parts(self.params.opened())) {
            let received = self.receive(OPENED, part, entries, rng)?;
            let tested = self.refresh(&received.tested, rng);
            self.send(OPENED, part, Entries { tested, ..received }, rng)?;
        }
        Ok(())
    }

    /// The leader's turn: sends entries around, and opens what comes back. Those that come back are in another order if
    /// all shuffle.
    pub(super) fn send_around(
        &self,
        step: DepotStep,
        entries: &Entries,
        rng: &mut impl CryptoRng,
    ) -> Result<(Vec<<Ristretto255 as Group>::Point>, Vec<Pair>)> {
        let [_, next] = self.params.neighbours(self.me);
        let width = self.params.width();
        let parts = self.params.entry_parts(entries.tested.len() / width);
        let mut from = 0;
        for (part, count) in (0..).zip(&parts) {
            let Entries { tested, values } = entries.slice(from, *count, width);
            let bytes = elgamal::encode(&Ristretto255, &[tested, values].concat());
            self.post.send(step, next, part, bytes)?;
            from += count;
        }
        let (mut opened, mut values) = (Vec::new(), Vec::new());
        for (part, count) in (0..).zip(&parts) {
            let received = self.receive(step, part, *count, rng)?;
            opened.extend(self.met.share.strip(&Ristretto255, &received.tested));
            values.extend(received.values);
        }
        Ok((opened, values))
    }

    /// Each entry re-randomised, and times a fresh scalar, so that what is not 0 becomes random. To each of its masks
    /// it is added, times another, so that masks become random with it. Values are re-randomised.
    fn blind(&self, entries: Entries, rng: &mut impl CryptoRng) -> Entries {
        let fresh = self.refresh(&entries.tested, rng);
        let width = self.params.width();
        let factors = Ristretto255.random_scalars(entries.tested.len(), rng);
        let factors: Vec<_> = factors.into_iter().flat_map(|factor| [factor.clone(), factor]).collect();
        let tests = fresh.iter().enumerate().map(|(place, _)| fresh[place - place % width].clone());
        let mut points = Ristretto255.multiply_each(&tests.collect::<Vec<_>>().concat(), &factors);
        if width > 1 {
            let nothing = <Pair as Element>::zero();
            let masks = fresh.iter().enumerate();
            let masks = masks.map(|(place, pair)| if place % width == 0 { nothing.clone() } else { pair.clone() });
            points = Ristretto255.add(&points, &masks.collect::<Vec<_>>().concat());
        }
        let mut points = points.into_iter();
        let tested = std::iter::from_fn(|| Some([points.next()?, points.next()?])).collect();
        let values = self.met.joint.rerandomize(&Ristretto255, &entries.values, rng);
        Entries { tested, values }
    }

    /// Re-randomised under the key of those whose shares are still on: this party, those after it, and the leader.
    fn refresh(&self, tested: &[Pair], rng: &mut impl CryptoRng) -> Vec<Pair> {
        let rest = key_of(&Ristretto255, self.params.rest(self.me).map(|place| &self.met.keys[place]));
        rest.rerandomize(&Ristretto255, tested, rng)
    }

    /// Sends a part with this party's share of its decryption to the next one.
    fn send(&self, step: DepotStep, part: u32, entries: Entries, rng: &mut impl CryptoRng) -> Result<()> {
        let group = &Ristretto255;
        let [_, next] = self.params.neighbours(self.me);
        let about = self.about(step, part);
        let Contribution { sums, proof } = self.met.share.contribute(group, self.me, &entries.tested, &[], &about, rng);
        let mut bytes = elgamal::encode(group, &entries.tested);
        bytes.extend(group.encode(&sums));
        bytes.extend(proof.encode(group));
        bytes.extend(elgamal::encode(group, &entries.values));
        self.post.send(step, next, part, bytes)
    }

    /// A part from the party before, whose share is taken off.
    fn receive(&self, step: DepotStep, part: u32, entries: usize, rng: &mut impl CryptoRng) -> Result<Entries> {
        let group = &Ristretto255;
        let [before, _] = self.params.neighbours(self.me);
        let with_values = step == ENTRIES && self.params.giver().is_some();
        let length = self.params.entry_bytes(entries, with_values, before);
        let bytes = self.post.receive(step, before, part, length)?;
        let ciphertexts = entries * self.params.width();
        let wrong = |error: &dyn std::fmt::Display| self.post.violation(before, format!("`{}` {error}", step.name));
        let (tested, rest) = bytes.split_at(ciphertexts * CIPHERTEXT);
        let mut tested = elgamal::decode(group, tested).map_err(|error| wrong(&error))?;
        let mut rest = rest;
        if before != self.params.leader() {
            let sums;
            (sums, rest) = rest.split_at(ciphertexts * POINT);
            let proof;
            (proof, rest) = rest.split_at(Proof::bytes(group, 2, 1));
            let sums = group.decode(sums).map_err(|error| wrong(&error))?;
            let proof = Proof::decode(group, proof, 2, 1).ok_or_else(|| wrong(&"holds no proof"))?;
            let contribution = Contribution { sums, proof };
            let told =
                ThresholdView { place: before, key: &self.met.keys[before], given: &[], contribution: &contribution };
            check(group, &tested, &[told], &self.about(step, part), rng)
                .map_err(|_| wrong(&"is not decrypted with the share that its sender has"))?;
            let hidden = open(group, &tested, &contribution.sums);
            tested.iter_mut().zip(hidden).for_each(|(tested, hidden)| tested[1] = hidden);
        }
        let values = elgamal::decode(group, rest).map_err(|error| wrong(&error))?;
        Ok(Entries { tested, values })
    }

    /// Transcript to which proofs of a part are bound.
    fn about(&self, step: DepotStep, part: u32) -> Transcript {
        let mut about = Transcript::new("outsourced decryption");
        about.append("session", self.met.session.id()).append("step", step.name.as_bytes());
        about.append("part", &part.to_le_bytes());
        about
    }
}
