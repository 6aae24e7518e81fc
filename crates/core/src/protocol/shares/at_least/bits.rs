//! Circuits over bits that two parties share by exclusive or (Goldreich, Micali and Wigderson, STOC 1987). Semi-honest.
//!
//! An exclusive or takes no message. A product of shared bits takes a product of shared random bits (Beaver, CRYPTO 1991), for
//! which each party's random bits are multiplied with the other's by one transfer each way, and one exchange of messages. The first
//! party is the sender of all OTs, the second their receiver.

use std::fmt;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::circuit::Circuit;
use super::planes::Planes;
use super::{gates, tree};
use crate::channel::{Channel, HEADER_BYTES};
use crate::error::Result;
use crate::primitive::ot::softspoken;
use crate::primitive::ot::{RandomOtReceiver, RandomOtSender};
use crate::role::{Role, Side};

/// Products that are made at once, so that memory does not grow with their number.
const CHUNK: usize = 1 << 19;

/// Bits, each the exclusive or of what both parties hold; or, of one who holds all, the bits themselves. Secret:
/// zeroized when dropped, never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedBits(pub(super) Zeroizing<Vec<u8>>);

impl SharedBits {
    /// Returns the number of bits.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bits at these places, in this order.
    ///
    /// # Panics
    ///
    /// If there is no such place.
    pub fn at(&self, places: impl Iterator<Item = usize>) -> SharedBits {
        SharedBits(Zeroizing::new(places.map(|place| self.0[place]).collect()))
    }

    /// The bits of `all`, one after the other.
    pub fn joined<'a>(all: impl IntoIterator<Item = &'a SharedBits>) -> SharedBits {
        let mut joined = Zeroizing::new(Vec::new());
        all.into_iter().for_each(|bits| joined.extend_from_slice(&bits.0));
        SharedBits(joined)
    }

    /// The exclusive or of each bit with the other in its place, which takes no message.
    pub fn xor(&self, other: &SharedBits) -> SharedBits {
        SharedBits(Zeroizing::new(self.0.iter().zip(&*other.0).map(|(one, other)| one ^ other).collect()))
    }

    /// Returns whether each of these bits is set.
    pub fn bits(&self) -> impl Iterator<Item = bool> {
        self.0.iter().map(|&bit| bit == 1)
    }

    pub(super) fn of_plane(plane: &Planes) -> SharedBits {
        SharedBits(Zeroizing::new((0..plane.len()).map(|place| plane.bit(0, place) as u8).collect()))
    }

    pub(crate) fn to_plane(&self, range: std::ops::Range<usize>) -> Planes {
        let mut plane = Planes::zeros(1, range.len());
        self.0[range].iter().enumerate().for_each(|(place, &bit)| plane.put(0, place, bit.into()));
        plane
    }
}

impl FromIterator<bool> for SharedBits {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> SharedBits {
        SharedBits(Zeroizing::new(bits.into_iter().map(u8::from).collect()))
    }
}

impl fmt::Debug for SharedBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBits({} bits)", self.len())
    }
}

/// Gates of a circuit, each over many bits.
pub trait BitGates {
    /// The complement of each bit.
    fn not(&self, bits: &SharedBits) -> SharedBits;

    /// The product of each bit of `x` with the one of `y` in its place.
    fn and(&mut self, x: &SharedBits, y: &SharedBits) -> Result<SharedBits>;

    /// Whether one of both is set.
    fn or(&mut self, x: &SharedBits, y: &SharedBits) -> Result<SharedBits> {
        let neither = self.and(&self.not(x), &self.not(y))?;
        Ok(self.not(&neither))
    }

    /// Whether all bits of a row are set, for rows of `length`, one after the other.
    fn all(&mut self, bits: SharedBits, length: usize) -> Result<SharedBits> {
        let (mut bits, mut length) = (bits, length);
        while length > 1 {
            let (rows, half) = (bits.len() / length, length / 2);
            let place =
                |side: usize| (0..rows).flat_map(move |row| (0..half).map(move |at| row * length + side * half + at));
            let halves = self.and(&bits.at(place(0)), &bits.at(place(1)))?;
            let rest = bits.at((0..rows).filter(|_| length % 2 == 1).map(|row| (row + 1) * length - 1));
            let kept = rest.len() / rows.max(1);
            let both = SharedBits::joined([&halves, &rest]);
            bits = both.at((0..rows).flat_map(|row| {
                let left_over = (0..kept).map(move |at| rows * half + row + at);
                (0..half).map(move |at| row * half + at).chain(left_over)
            }));
            length = half + kept;
        }
        Ok(bits)
    }

    /// Whether one bit of a row is set, as in [`BitGates::all`].
    fn any(&mut self, bits: &SharedBits, length: usize) -> Result<SharedBits> {
        let none = self.all(self.not(bits), length)?;
        Ok(self.not(&none))
    }

    /// For each bit of a row whether it and all before it are set, for rows of `length`.
    fn all_up_to(&mut self, bits: SharedBits, length: usize) -> Result<SharedBits> {
        let (mut bits, mut step) = (bits, 1);
        while step < length {
            let later: Vec<usize> = (0..bits.len()).filter(|place| place % length >= step).collect();
            let both = self.and(&bits.at(later.iter().copied()), &bits.at(later.iter().map(|place| place - step)))?;
            let mut place_of = vec![None; bits.len()];
            later.iter().enumerate().for_each(|(at, &place)| place_of[place] = Some(at));
            let joined = SharedBits::joined([&bits, &both]);
            let old = bits.len();
            bits = joined.at((0..old).map(|place| place_of[place].map_or(place, |at| old + at)));
            step *= 2;
        }
        Ok(bits)
    }
}

/// Gates over bits that one party holds whole. Counts the products of each call, so that what a run takes is known
/// before.
#[derive(Debug, Default)]
pub struct PlainGates {
    /// Number of products of each call.
    pub layers: Vec<usize>,
}

impl BitGates for PlainGates {
    fn not(&self, bits: &SharedBits) -> SharedBits {
        bits.bits().map(|bit| !bit).collect()
    }

    fn and(&mut self, x: &SharedBits, y: &SharedBits) -> Result<SharedBits> {
        self.layers.push(x.len());
        Ok(x.bits().zip(y.bits()).map(|(x, y)| x & y).collect())
    }
}

/// A party of a circuit, with its end of the OTs.
pub(crate) trait BitParty {
    /// Whether it is the first.
    fn leads(&self) -> bool;

    /// The party's shares of all gates' outputs.
    fn transfer(
        &mut self,
        circuit: &Circuit,
        numbers: &[u128],
        masks: &Planes,
        channel: &mut Channel,
    ) -> Result<Planes>;
}

/// The first party, which sends.
pub(crate) struct First<'a, S>(pub(crate) &'a mut S);

/// The second party, which chooses.
pub(crate) struct Second<'a, R>(pub(crate) &'a mut R);

impl<S: RandomOtSender> BitParty for First<'_, S> {
    fn leads(&self) -> bool {
        true
    }

    fn transfer(&mut self, circuit: &Circuit, own: &[u128], masks: &Planes, channel: &mut Channel) -> Result<Planes> {
        gates::send(circuit, own, masks, self.0, channel)
    }
}

impl<R: RandomOtReceiver> BitParty for Second<'_, R> {
    fn leads(&self) -> bool {
        false
    }

    fn transfer(&mut self, circuit: &Circuit, own: &[u128], masks: &Planes, channel: &mut Channel) -> Result<Planes> {
        gates::receive(circuit, own, masks, self.0, channel)
    }
}

/// Gates over shared bits, between two parties.
pub(crate) struct SharedGates<'a, P, R> {
    pub(crate) party: &'a mut P,
    pub(crate) channel: &'a mut Channel,
    pub(crate) rng: &'a mut R,
}

impl<P: BitParty, R: CryptoRng> SharedGates<'_, P, R> {
    /// Opens bits to both parties.
    pub(crate) fn open(&mut self, bits: &SharedBits) -> Result<Vec<bool>> {
        if bits.is_empty() {
            return Ok(Vec::new());
        }
        tree::open_answers(&bits.to_plane(0..bits.len()), self.channel)
    }
}

impl<P: BitParty, R: CryptoRng> BitGates for SharedGates<'_, P, R> {
    fn not(&self, bits: &SharedBits) -> SharedBits {
        bits.bits().map(|bit| bit ^ self.party.leads()).collect()
    }

    fn and(&mut self, x: &SharedBits, y: &SharedBits) -> Result<SharedBits> {
        debug_assert_eq!(x.len(), y.len());
        let circuit = Circuit::product();
        let mut parts = Vec::new();
        for range in chunks(x.len()) {
            let (x, y) = (x.to_plane(range.clone()), y.to_plane(range.clone()));
            let masks = Planes::random(circuit.masks(), range.len(), self.rng);
            let outputs = self.party.transfer(&circuit, &vec![0; range.len()], &masks, self.channel)?;
            let products = tree::products([&x, &y], &masks, &outputs, self.party.leads(), self.channel)?;
            parts.push(SharedBits::of_plane(&products));
        }
        Ok(SharedBits::joined(&parts))
    }
}

fn chunks(products: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..products).step_by(CHUNK).map(move |start| start..products.min(start + CHUNK))
}

/// Bytes that a party sends for so many products in one call, frames' headers included: on top of the OTs, and with
/// those.
pub(crate) fn product_bytes(products: usize, side: Side, transfers: &softspoken::Params) -> [u64; 2] {
    let circuit = Circuit::product();
    let framed = |bytes: usize| (bytes + HEADER_BYTES) as u64;
    let role = if side == Side::First { Role::Sender } else { Role::Receiver };
    let mut bytes = [0; 2];
    for range in chunks(products) {
        bytes[0] += framed(2 * Planes::plane_bytes(range.len()));
        for start in (0..range.len()).step_by(gates::numbers_per_message(&circuit)) {
            let numbers = gates::numbers_per_message(&circuit).min(range.len() - start);
            if side == Side::First {
                bytes[0] += framed(gates::message_bytes(&circuit, numbers));
            }
            bytes[1] += transfers.bytes_sent_by(role, numbers * circuit.transfers());
        }
    }
    [bytes[0], bytes[0] + bytes[1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str) -> SharedBits {
        text.bytes().map(|byte| byte == b'1').collect()
    }

    fn text(bits: &SharedBits) -> String {
        bits.bits().map(|bit| if bit { '1' } else { '0' }).collect()
    }

    #[test]
    fn rows_are_put_together() {
        let mut gates = PlainGates::default();
        for length in 1..=9 {
            let rows: Vec<u32> = (0..1 << length).collect();
            let row = |row: &u32| (0..length).map(|at| row >> at & 1 == 1).collect::<Vec<bool>>();
            let table: SharedBits = rows.iter().flat_map(row).collect();
            let expected = |of: fn(&[bool]) -> bool| rows.iter().map(|r| of(&row(r))).collect::<SharedBits>();
            assert_eq!(gates.all(table.clone(), length).unwrap(), expected(|row| row.iter().all(|bit| *bit)));
            assert_eq!(gates.any(&table, length).unwrap(), expected(|row| row.contains(&true)));
            let up_to = rows.iter().flat_map(|r| {
                let row = row(r);
                (0..length).map(move |end| row[..=end].iter().all(|bit| *bit)).collect::<Vec<bool>>()
            });
            assert_eq!(gates.all_up_to(table, length).unwrap(), up_to.collect::<SharedBits>());
        }
        assert_eq!(text(&gates.or(&bits("0011"), &bits("0101")).unwrap()), "0111");
        assert_eq!(format!("{:?}", bits("0101")), "SharedBits(4 bits)");
    }
}
