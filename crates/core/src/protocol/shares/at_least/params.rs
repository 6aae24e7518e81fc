//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use super::circuit::Circuit;
use super::gates;
use super::planes::Planes;
use crate::channel::{HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::primitive::ot::softspoken;
use crate::protocol::dot::Modulus;
use crate::role::{Role, Side};
use crate::security::Security;

/// The parameter k of the OT extension (SoftSpoken): few bytes, because a number takes a few dozen OTs only.
pub const K: usize = 8;

/// Agreed public values of one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    numbers: usize,
    bits: u32,
    /// Answer to every comparison, if the public values determine it.
    known: Option<bool>,
    transfers: softspoken::Params,
}

impl Params {
    /// The comparison of `numbers` numbers in 0 to `bound` with `threshold`.
    ///
    /// Errors ([`Error::Input`]): `modulus`, which shares add up modulo, is no power of two, or not more than twice
    /// `bound`.
    pub fn new(numbers: usize, modulus: Modulus, bound: u128, threshold: u128) -> Result<Params> {
        if !modulus.is_power_of_two() {
            return Err(Error::Input(format!("at_least: shares modulo {modulus}: use a power of two")));
        }
        if bound >= modulus.value() / 2 {
            return Err(Error::Input(format!(
                "at_least: numbers up to {bound} in shares modulo {modulus}: use a modulus of more than twice as much"
            )));
        }
        let known = match threshold {
            0 => Some(true),
            _ if threshold > bound => Some(false),
            _ if numbers == 0 => Some(false),
            _ => None,
        };
        // The least l with -2^(l-1) <= -threshold and bound - threshold < 2^(l-1).
        let below = |value: u128| 128 - value.leading_zeros();
        let bits = match known {
            Some(_) => 1,
            None => 1 + below(threshold - 1).max(below(bound - threshold)),
        };
        Ok(Params { numbers, bits, known, transfers: Params::transfers()? })
    }

    /// The answers, if public values alone give them: then no message travels.
    pub(super) fn known(&self) -> Option<Vec<bool>> {
        self.known.map(|answer| vec![answer; self.numbers])
    }

    /// l, the bits of the shares that matter.
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// The form of the OTs.
    pub(crate) fn transfers() -> Result<softspoken::Params> {
        softspoken::Params::new(Security::SemiHonest, K)
    }

    fn circuit(&self) -> Option<Circuit> {
        self.known.is_none().then(|| Circuit::new(self.bits - 1))
    }

    /// OTs that the comparison takes.
    pub fn ots(&self) -> usize {
        self.circuit().map_or(0, |circuit| self.numbers * circuit.transfers())
    }

    /// Bytes that a party sends in [`first_over`](super::first_over) or [`second_over`](super::second_over) on top of
    /// the OTs, frames' headers included, the closing frame not.
    pub fn bytes_sent_over_by(&self, side: Side) -> u64 {
        let Some(circuit) = self.circuit() else { return 0 };
        let tables: u64 = match side {
            Side::First => self.messages(&circuit).map(|numbers| frames(gates::message_bytes(&circuit, numbers))).sum(),
            Side::Second => 0,
        };
        tables + self.exchanged(&circuit).map(frames).sum::<u64>()
    }

    /// Bytes that a party sends in [`run`](super::run), likewise.
    pub fn bytes_sent_by(&self, side: Side) -> u64 {
        let Some(circuit) = self.circuit() else { return 0 };
        let role = match side {
            Side::First => Role::Sender,
            Side::Second => Role::Receiver,
        };
        let ots = |numbers: usize| self.transfers.bytes_sent_by(role, numbers * circuit.transfers());
        let transfers = self.transfers.setup_bytes_sent_by(role) + self.messages(&circuit).map(ots).sum::<u64>();
        transfers + self.bytes_sent_over_by(side)
    }

    /// Message flights in sequence of [`run`](super::run), as [`crate::channel::Traffic`] counts them.
    pub fn rounds(&self) -> u32 {
        let Some(circuit) = self.circuit() else { return 0 };
        let exchanges: usize = self.exchanged(&circuit).map(|bytes| bytes.div_ceil(MAX_PAYLOAD_BYTES)).sum();
        // Base OTs; trees, corrections; tables.
        exchanges as u32 + 2 + u32::from(circuit.transfers() > 0)
    }

    /// Numbers in each message of tables.
    fn messages(&self, circuit: &Circuit) -> impl Iterator<Item = usize> {
        let (numbers, step) = match circuit.transfers() {
            0 => (0, 1),
            _ => (self.numbers, gates::numbers_per_message(circuit)),
        };
        (0..numbers).step_by(step).map(move |start| step.min(numbers - start))
    }

    /// Bytes that are exchanged for each level of the tree, and for the answers.
    fn exchanged(&self, circuit: &Circuit) -> impl Iterator<Item = usize> {
        let planes = circuit.levels.iter().map(|level| level.iter().map(|merge| merge.masks.len()).sum());
        let plane = Planes::plane_bytes(self.numbers);
        planes.chain([1]).map(move |planes: usize| planes * plane)
    }
}

fn frames(bytes: usize) -> u64 {
    (bytes + bytes.div_ceil(MAX_PAYLOAD_BYTES) * HEADER_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_cut_to_the_least_modulus_that_does() {
        for bound in 0..40u128 {
            let modulus = Modulus::power_of_two(7).unwrap();
            for threshold in 1..=bound {
                let params = Params::new(1, modulus, bound, threshold).unwrap();
                let fits = |bits: u32| {
                    let half = 1i128 << (bits - 1);
                    (0..=bound).all(|value| (-half..half).contains(&(value as i128 - threshold as i128)))
                };
                assert!(fits(params.bits) && (params.bits == 1 || !fits(params.bits - 1)), "{bound} {threshold}");
                assert!(params.bits <= 7);
            }
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let modulus = |bits| Modulus::power_of_two(bits).unwrap();
        assert!(Params::new(1, modulus(8), 127, 5).is_ok());
        assert!(matches!(Params::new(1, modulus(8), 128, 5), Err(Error::Input(_))));
        assert!(matches!(Params::new(1, Modulus::new(100).unwrap(), 10, 5), Err(Error::Input(_))));
        assert!(Params::new(1, modulus(127), (1 << 126) - 1, 1).is_ok());
        for (bound, threshold, answer) in [(9, 0, true), (9, 10, false), (0, 1, false), (9, u128::MAX, false)] {
            let params = Params::new(3, modulus(8), bound, threshold).unwrap();
            assert_eq!(params.known(), Some(vec![answer; 3]));
            let bytes = [Side::First, Side::Second].map(|side| params.bytes_sent_by(side));
            assert_eq!((bytes, params.rounds(), params.ots()), ([0, 0], 0, 0));
        }
        assert_eq!(Params::new(0, modulus(8), 9, 3).unwrap().known(), Some(vec![]));
    }
}
