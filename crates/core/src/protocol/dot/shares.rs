//! Shares that a party holds in the end, and their opening.

use std::fmt;

use rand_core::CryptoRng;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{Modulus, SHARES};
use crate::channel::{Channel, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::primitive::ot::packing::{self, STRIP};

/// One party's shares of a list of numbers: for each a residue. The sum of both parties' residues is the number, modulo
/// [`Shares::modulus`]. Secret: zeroized when dropped, never printed.
///
/// The products of a [`Shape`](super::Shape) come row by row: all columns of the second party with the first column of
/// the first, and so on.
#[derive(PartialEq, Eq, ZeroizeOnDrop)]
pub struct Shares {
    #[zeroize(skip)]
    modulus: Modulus,
    values: Vec<u128>,
}

impl Shares {
    /// Shares from their residues.
    ///
    /// Errors ([`Error::Input`]): one of them is not below the modulus.
    pub fn new(modulus: Modulus, values: Vec<u128>) -> Result<Shares> {
        let shares = Shares { modulus, values };
        if shares.values.iter().all(|&value| value < modulus.value()) {
            Ok(shares)
        } else {
            Err(Error::Input("a share is not below its modulus".into()))
        }
    }

    /// Residues that are all zero, to be filled.
    fn zeros(modulus: Modulus, count: usize) -> Shares {
        Shares { modulus, values: vec![0; count] }
    }

    /// Draws uniformly random shares.
    pub fn random(modulus: Modulus, count: usize, rng: &mut impl CryptoRng) -> Shares {
        let mut shares = Shares::zeros(modulus, count);
        let mut bits = Zeroizing::new([[0; 16]; 2]);
        for value in &mut shares.values {
            bits.iter_mut().for_each(|half| rng.fill_bytes(half));
            *value = modulus.uniform(u128::from_le_bytes(bits[0]), u128::from_le_bytes(bits[1]));
        }
        shares
    }

    /// Returns the modulus of the sum of shares.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Returns the number of shares.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the shares as residues.
    pub fn residues(&self) -> &[u128] {
        &self.values
    }

    /// Returns this party's share of the sum of all numbers.
    pub fn sum(&self) -> Shares {
        let sum = self.values.iter().fold(0, |sum, &value| self.modulus.add(sum, value));
        Shares { modulus: self.modulus, values: vec![sum] }
    }

    /// Returns this party's share of all numbers with these integers added: noise.
    ///
    /// # Panics
    ///
    /// If there are more or fewer of them.
    pub fn plus(&self, integers: &[i128]) -> Shares {
        assert_eq!(self.len(), integers.len(), "one integer for each number");
        let sum = |(&value, &integer)| self.modulus.add(value, self.modulus.residue(integer));
        Shares { modulus: self.modulus, values: self.values.iter().zip(integers).map(sum).collect() }
    }

    /// The numbers, given the other party's shares: residues.
    ///
    /// # Panics
    ///
    /// If the other party's shares are of another number or modulus.
    pub fn open(&self, theirs: &Shares) -> Vec<u128> {
        assert_eq!((self.modulus, self.len()), (theirs.modulus, theirs.len()), "shares of the same numbers");
        self.values.iter().zip(&theirs.values).map(|(&a, &b)| self.modulus.add(a, b)).collect()
    }

    /// Residues one after the other without gaps, the lowest bit first.
    fn pack(&self) -> Vec<u8> {
        let bits = self.modulus.bits();
        let mut bytes = vec![0; packed_bytes(self.modulus, self.len())];
        let strips = self.values.chunks(STRIP).zip(bytes.chunks_mut(packing::bytes(STRIP, bits)));
        strips.for_each(|(values, bytes)| packing::pack(values, bits, bytes));
        bytes
    }

    /// The other way; `None` if a residue is not below the modulus or a bit beyond the last is set.
    fn unpack(modulus: Modulus, count: usize, bytes: &[u8]) -> Option<Shares> {
        let bits = modulus.bits();
        let mut shares = Shares::zeros(modulus, count);
        let mut clean = true;
        for (values, bytes) in shares.values.chunks_mut(STRIP).zip(bytes.chunks(packing::bytes(STRIP, bits))) {
            clean &= packing::unpack(bytes, values.len(), bits, |index, value| values[index] = value);
        }
        let below = shares.values.iter().all(|&value| value < modulus.value());
        (clean && below).then_some(shares)
    }
}

/// Number and modulus only.
impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shares({} modulo {})", self.values.len(), self.modulus)
    }
}

fn packed_bytes(modulus: Modulus, count: usize) -> usize {
    packing::bytes(count, modulus.bits())
}

/// Residues that travel in one message.
fn per_message(modulus: Modulus) -> usize {
    // A multiple of eight, so that every message but the last ends with a whole byte.
    MAX_PAYLOAD_BYTES / modulus.bits() as usize * 8
}

/// Bytes that a party sends which opens `count` numbers to the other, frames' headers included.
pub fn reveal_bytes(modulus: Modulus, count: usize) -> u64 {
    let messages = count.div_ceil(per_message(modulus));
    (packed_bytes(modulus, count) + messages * HEADER_BYTES) as u64
}

/// Opens shares to this party, to the peer, or to both. Returns the numbers' residues if this party learns them. Shares
/// that the protocol made uniform tell the one who learns nothing but the numbers.
///
/// Errors: the channel fails; the peer sends something that is no residue.
pub fn reveal(shares: &Shares, to_me: bool, to_peer: bool, channel: &mut Channel) -> Result<Option<Vec<u128>>> {
    Ok(exchange(shares, to_me, to_peer, channel)?.map(|theirs| shares.open(&theirs)))
}

/// Sends shares to the peer if it learns. Returns the peer's if this party does.
///
/// Errors: those of [`reveal`].
pub fn exchange(shares: &Shares, to_me: bool, to_peer: bool, channel: &mut Channel) -> Result<Option<Shares>> {
    let none = Shares { modulus: shares.modulus, values: Vec::new() };
    let due = if to_me { shares.len() } else { 0 };
    let theirs = exchange_some(if to_peer { shares } else { &none }, due, channel)?;
    Ok(to_me.then_some(theirs))
}

/// Sends these shares to the peer, and returns the `due` shares of the same modulus that the peer sends.
///
/// Errors: those of [`reveal`].
pub(crate) fn exchange_some(shares: &Shares, due: usize, channel: &mut Channel) -> Result<Shares> {
    let (modulus, step) = (shares.modulus, per_message(shares.modulus));
    let mut received = Shares { modulus, values: Vec::with_capacity(due) };
    for start in (0..shares.len().max(due)).step_by(step) {
        let mine = &shares.values[start.min(shares.len())..(start + step).min(shares.len())];
        let mine = Shares { modulus, values: mine.to_vec() };
        let count = due.saturating_sub(start).min(step);
        let length = packed_bytes(modulus, count);
        let message = match (mine.len(), count) {
            (_, 0) => {
                channel.send(SHARES, mine.pack())?;
                continue;
            }
            (0, _) => channel.receive(SHARES, length)?,
            _ => channel.exchange(SHARES, mine.pack(), length)?,
        };
        let theirs = if message.len() == length { Shares::unpack(modulus, count, &message) } else { None };
        let theirs = theirs.ok_or_else(|| channel.violation(format!("`{}` hold no residues", SHARES.name)))?;
        received.values.extend(&theirs.values);
    }
    Ok(received)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn moduli() -> impl Iterator<Item = Modulus> {
        let values = [2, 3, 7, 255, 256, 257, 65537, 1 << 64, (1 << 64) + 13, (1 << 127) - 1, 1 << 127];
        values.into_iter().map(|value| Modulus::new(value).unwrap())
    }

    #[test]
    fn shares_survive_packing_and_garbage_is_refused() {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        for modulus in moduli() {
            for count in [0, 1, 2, 3, 8, 9, 100] {
                let shares = Shares::random(modulus, count, &mut rng);
                let mut bytes = shares.pack();
                assert_eq!(bytes.len(), packed_bytes(modulus, count));
                assert_eq!(Shares::unpack(modulus, count, &bytes).unwrap(), shares);
                let spare = bytes.len() * 8 > count * modulus.bits() as usize;
                if count > 0 && (spare || !modulus.is_power_of_two()) {
                    bytes.fill(0xff);
                    assert!(Shares::unpack(modulus, count, &bytes).is_none(), "{modulus} {count}");
                }
            }
        }
    }

    #[test]
    fn opening_gives_the_numbers_to_those_who_learn() {
        let mut rng = ChaCha20Rng::from_seed([8; 32]);
        for modulus in moduli() {
            for count in [0, 1, 5] {
                let mine = Shares::random(modulus, count, &mut rng);
                let theirs = Shares::random(modulus, count, &mut rng);
                let numbers = mine.open(&theirs);
                for (to_first, to_second) in [(true, false), (false, true), (true, true), (false, false)] {
                    let (mut one, mut two) = Channel::pair("first", "second");
                    let (first, second) = std::thread::scope(|scope| {
                        let second = scope.spawn(|| {
                            let opened = reveal(&theirs, to_second, to_first, &mut two);
                            two.finish().and_then(|traffic| Ok((opened?, traffic.sent)))
                        });
                        let first = reveal(&mine, to_first, to_second, &mut one);
                        let first = one.finish().and_then(|traffic| Ok((first?, traffic.sent)));
                        (first.unwrap(), second.join().unwrap().unwrap())
                    });
                    assert_eq!(first.0, to_first.then(|| numbers.clone()));
                    assert_eq!(second.0, to_second.then(|| numbers.clone()));
                    let due = |to_peer| if to_peer { reveal_bytes(modulus, count) } else { 0 } + HEADER_BYTES as u64;
                    assert_eq!((first.1, second.1), (due(to_second), due(to_first)));
                }
                let sum = numbers.iter().fold(0, |sum, &number| modulus.add(sum, number));
                assert_eq!(mine.sum().open(&theirs.sum()), [sum]);
            }
        }
    }

    #[test]
    fn they_are_not_printed() {
        let shares = Shares::new(Modulus::new(100).unwrap(), vec![77]).unwrap();
        assert_eq!(format!("{shares:?}"), "Shares(1 modulo 100)");
        assert!(Shares::new(Modulus::new(100).unwrap(), vec![100]).is_err());
    }
}
