//! The same comparison among any number of parties, each number shared by some of them.
//!
//! The parties add up their shares, less the threshold, in a circuit over bits that are shared by exclusive or: a
//! party's own share is shared as it stands, the others holding zeros. Products of shared bits are those of Goldreich,
//! Micali and Wigderson ("How to play any mental game", STOC 1987): each two parties of a number make shares of their
//! cross terms by two transfers of one bit. Summands are taken three to two by carry-save adders (Wallace, 1964) until
//! two are left, of whose sum the highest bit is made by a tree of carries (Brent and Kung, 1982). That takes few
//! rounds: two flights for each layer of products.
//!
//! The answer's shares are told to all parties of the number. They have products of the last layer added that no others
//! know, so that they tell nothing but the answer.

use std::ops::Range;

use zeroize::Zeroizing;

use super::bits::{BitGates, SharedBits};
use super::params::Params;
use super::planes::Planes;
use super::tree::open;
use crate::channel::{Channel, each};
use crate::error::{Error, Result};
use crate::primitive::ot::additive::{self, Sharing};
use crate::primitive::ot::{Choices, messages, softspoken};
use crate::protocol::dot::{Modulus, Shares};
use crate::protocol::mesh::ots::{LinkOts, form, frame, role};
use crate::protocol::mesh::{MeshEnd, MeshOts};
use crate::protocol::shares::ANSWERS;
use crate::role::Role;

/// Numbers that are compared at once, so that memory does not grow with how many there are.
const NUMBERS: usize = 1 << 14;

/// Products of bits that are made at once in a layer of gates.
const GATES: usize = 1 << 18;

/// Agreed public values of a comparison among many.
#[derive(Debug, Clone)]
pub struct MeshComparison {
    modulus: Modulus,
    bound: u128,
    threshold: u128,
    /// For each number the parties that have a share of it, in order.
    parties: Vec<Vec<usize>>,
}

/// A bit of each number, shared: this party's share, 0 or 1.
type Wire = Zeroizing<Vec<u8>>;

/// Numbers with equally many parties that are compared at once.
struct Batch {
    /// Number of parties of each.
    parties: usize,
    numbers: Vec<usize>,
}

impl MeshComparison {
    /// The comparison of numbers in 0 to `bound` with `threshold`; `parties` are those of each number, at least two in
    /// order.
    ///
    /// Errors ([`Error::Input`]): `modulus` is no power of two, or not more than twice `bound`; [`Error::Internal`]:
    /// parties out of order.
    pub fn new(modulus: Modulus, bound: u128, threshold: u128, parties: Vec<Vec<usize>>) -> Result<MeshComparison> {
        Params::new(parties.len(), modulus, bound, threshold)?;
        if parties.iter().any(|parties| parties.len() < 2 || !parties.is_sorted_by(|one, other| one < other)) {
            return Err(Error::Internal("at_least: parties of a number that are no two, or out of order".into()));
        }
        Ok(MeshComparison { modulus, bound, threshold, parties })
    }

    /// A party's part: for each number that it has a share of, in order, whether it is at least the threshold. All
    /// parties of the mesh take part at once.
    ///
    /// Errors: a channel fails, or a peer breaks the protocol; [`Error::Internal`] for shares that do not fit.
    pub fn run(&self, shares: &Shares, ots: &mut MeshOts, channels: &mut [Channel]) -> Result<Vec<bool>> {
        Ok(self.answers(shares, true, ots, channels)?.bits().collect())
    }

    /// The same, but that the answers stay shared by their parties.
    pub(crate) fn shared(&self, shares: &Shares, ots: &mut MeshOts, channels: &mut [Channel]) -> Result<SharedBits> {
        self.answers(shares, false, ots, channels)
    }

    /// The answers, opened or as shares.
    fn answers(
        &self,
        shares: &Shares,
        opened: bool,
        ots: &mut MeshOts,
        channels: &mut [Channel],
    ) -> Result<SharedBits> {
        let own = self.of_party(ots.me());
        let params = Params::new(own.len(), self.modulus, self.bound, self.threshold)?;
        if shares.len() != own.len() || shares.modulus() != self.modulus {
            return Err(Error::Internal("at_least: shares of other numbers than were agreed on".into()));
        }
        if let Some(known) = params.known() {
            let has = |number: &usize| opened || self.parties[*number][0] == ots.me();
            return Ok(known.into_iter().zip(&own).map(|(answer, number)| answer && has(number)).collect());
        }
        let mut answers = SharedBits(Zeroizing::new(vec![0; own.len()]));
        for batch in self.batches() {
            let mine: Vec<usize> = batch.numbers.iter().filter_map(|number| own.binary_search(number).ok()).collect();
            let residues: Zeroizing<Vec<u128>> =
                Zeroizing::new(mine.iter().map(|&place| shares.residues()[place]).collect());
            let parties: Vec<&[usize]> = mine.iter().map(|&place| &self.parties[own[place]][..]).collect();
            let mut circuit = Circuit { bits: params.bits() as usize, parties: &parties, ots, channels };
            let mut reached = circuit.at_least(batch.parties, &residues, self.threshold)?;
            if opened {
                reached = circuit.open(&reached)?;
            }
            mine.into_iter().zip(reached.iter()).for_each(|(place, reached)| answers.0[place] = *reached);
        }
        Ok(answers)
    }

    /// The numbers that a party has a share of.
    fn of_party(&self, party: usize) -> Vec<usize> {
        (0..self.parties.len()).filter(|&number| self.parties[number].contains(&party)).collect()
    }

    /// The numbers in the order in which they are compared.
    fn batches(&self) -> impl Iterator<Item = Batch> {
        let most = self.parties.iter().map(Vec::len).max().unwrap_or(0);
        (2..=most).flat_map(|parties| {
            let numbers: Vec<usize> =
                (0..self.parties.len()).filter(|&number| self.parties[number].len() == parties).collect();
            let chunks: Vec<Range<usize>> = messages::chunks(numbers.len(), NUMBERS).collect();
            chunks.into_iter().map(move |range| Batch { parties, numbers: numbers[range].to_vec() })
        })
    }

    /// Bytes that a party sends to another, by transfers with this k of SoftSpoken, frames' headers included, the setup
    /// of transfers and the closing frame not.
    pub fn bytes_sent(&self, k: usize, me: usize, peer: usize) -> Result<u64> {
        let params = Params::new(self.parties.len(), self.modulus, self.bound, self.threshold)?;
        if params.known().is_some() {
            return Ok(0);
        }
        let (form, role) = (form(k)?, role(me, peer));
        let both = |number: &&usize| [me, peer].iter().all(|party| self.parties[**number].contains(party));
        let mut bytes = 0;
        for batch in self.batches() {
            let numbers = batch.numbers.iter().filter(both).count();
            if numbers == 0 {
                continue;
            }
            for products in layers(batch.parties, params.bits() as usize) {
                bytes += product_bytes(products * numbers, role, &form);
            }
            bytes += frame(Planes::plane_bytes(numbers));
        }
        Ok(bytes)
    }

    /// Number of transfers between two parties.
    pub fn transfers_between(&self, one: usize, other: usize) -> u64 {
        let Ok(params) = Params::new(self.parties.len(), self.modulus, self.bound, self.threshold) else { return 0 };
        if params.known().is_some() {
            return 0;
        }
        let both = self.parties.iter().filter(|parties| parties.contains(&one) && parties.contains(&other));
        both.map(|parties| 2 * layers(parties.len(), params.bits() as usize).iter().sum::<usize>() as u64).sum()
    }

    /// Message flights in sequence, at most.
    pub fn rounds(&self) -> u32 {
        let Ok(params) = Params::new(self.parties.len(), self.modulus, self.bound, self.threshold) else { return 0 };
        let of = |batch: Batch| 2 * layers(batch.parties, params.bits() as usize).len() as u32 + 1;
        if params.known().is_some() { 0 } else { self.batches().map(of).sum() }
    }
}

/// Products of each layer of the circuit for one number of so many parties and bits.
fn layers(parties: usize, bits: usize) -> Vec<usize> {
    let (mut layers, mut summands) = (Vec::new(), parties);
    while summands > 2 {
        layers.push(summands / 3 * (bits - 1));
        summands -= summands / 3;
    }
    layers.push(bits - 1);
    let mut nodes = bits - 1;
    while nodes > 1 {
        layers.push(2 * (nodes / 2) - 1);
        nodes = nodes.div_ceil(2);
    }
    layers.retain(|products| *products > 0);
    layers
}

/// Bytes that an end of a link sends for so many products of shared bits in one layer, frames' headers included.
fn product_bytes(products: usize, role: Role, form: &softspoken::Params) -> u64 {
    let of = |piece: Range<usize>| {
        let messages = if role == Role::Sender { frame(piece.len().div_ceil(8)) } else { 0 };
        form.bytes_sent_by(role, piece.len()) + messages
    };
    messages::chunks(2 * products, messages::CHUNK).map(of).sum()
}

/// Gates over bits that some parties of a mesh share. The others take no part.
pub(crate) struct MeshGates<'a> {
    /// Places of these parties, ascending.
    pub(crate) parties: &'a [usize],
    pub(crate) ots: &'a mut MeshOts,
    pub(crate) channels: &'a mut [Channel],
}

impl BitGates for MeshGates<'_> {
    fn not(&self, bits: &SharedBits) -> SharedBits {
        bits.bits().map(|bit| bit ^ (self.parties[0] == self.ots.me())).collect()
    }

    fn and(&mut self, x: &SharedBits, y: &SharedBits) -> Result<SharedBits> {
        debug_assert_eq!(x.len(), y.len());
        let mut parts = Vec::new();
        for range in messages::chunks(x.len(), GATES) {
            let parties = vec![self.parties; range.len()];
            let mut circuit = Circuit { bits: 0, parties: &parties, ots: self.ots, channels: self.channels };
            let [x, y] = [x, y].map(|bits| Zeroizing::new(bits.0[range.clone()].to_vec()));
            parts.extend(circuit.multiply(vec![(x, y)])?.into_iter().map(SharedBits));
        }
        Ok(SharedBits::joined(&parts))
    }
}

impl MeshGates<'_> {
    /// Bytes that a party of the bits sends to another in a layer of so many products.
    pub(crate) fn layer_bytes(products: usize, k: usize, me: usize, peer: usize) -> Result<u64> {
        let form = form(k)?;
        Ok(messages::chunks(products, GATES).map(|range| product_bytes(range.len(), role(me, peer), &form)).sum())
    }
}

/// One batch of numbers, as one party works on it.
struct Circuit<'a> {
    bits: usize,
    /// Parties of each of this party's numbers.
    parties: &'a [&'a [usize]],
    ots: &'a mut MeshOts,
    channels: &'a mut [Channel],
}

/// Carries out of some neighbouring bits: whether one comes out anyway, and whether one that goes in comes out. Of the
/// lowest bits the latter is not needed.
struct Carry {
    made: Wire,
    passed: Option<Wire>,
}

impl Circuit<'_> {
    /// Shares of whether each number, of `parties` parties, is at least `threshold`.
    fn at_least(&mut self, parties: usize, shares: &[u128], threshold: u128) -> Result<Wire> {
        let mut summands: Vec<Vec<Wire>> = (0..parties).map(|place| self.inputs(place, shares, threshold)).collect();
        while summands.len() > 2 {
            summands = self.three_to_two(summands)?;
        }
        let [one, other] = &summands[..] else { return Err(Error::Internal("at_least: a sum of one".into())) };
        let top = self.bits - 1;
        let mut answers = xor(&one[top], &other[top]);
        if let Some(carry) = self.carry(&one[..top], &other[..top])? {
            add(&mut answers, &carry);
        }
        // The complement of the sign: the first party of a number has the one that is added.
        let me = self.ots.me();
        answers.iter_mut().zip(self.parties).for_each(|(answer, parties)| *answer ^= u8::from(parties[0] == me));
        Ok(answers)
    }

    /// Shares of the bits of the share that the party at this place among those of each number has.
    fn inputs(&self, place: usize, shares: &[u128], threshold: u128) -> Vec<Wire> {
        let me = self.ots.me();
        let bit = |bit: usize| {
            let own = self.parties.iter().zip(shares).map(|(parties, share)| {
                let share = if place == 0 { share.wrapping_sub(threshold) } else { *share };
                (share >> bit) as u8 & u8::from(parties[place] == me)
            });
            Zeroizing::new(own.collect())
        };
        (0..self.bits).map(bit).collect()
    }

    /// Each three summands as two with the same sum: the sum without carries, and the carries.
    fn three_to_two(&mut self, summands: Vec<Vec<Wire>>) -> Result<Vec<Vec<Wire>>> {
        let top = self.bits - 1;
        let (threes, rest) = summands.as_chunks::<3>();
        let factors =
            threes.iter().flat_map(|[x, y, z]| (0..top).map(|bit| (xor(&x[bit], &z[bit]), xor(&y[bit], &z[bit]))));
        let mut products = self.multiply(factors.collect())?.into_iter();
        let mut next = Vec::new();
        for [x, y, z] in threes {
            next.push((0..self.bits).map(|bit| xor(&xor(&x[bit], &y[bit]), &z[bit])).collect());
            let mut carries = vec![Zeroizing::new(vec![0; self.parties.len()])];
            for (bit, mut carry) in products.by_ref().take(top).enumerate() {
                add(&mut carry, &z[bit]);
                carries.push(carry);
            }
            next.push(carries);
        }
        next.extend(rest.iter().map(|word| word.iter().map(|wire| Zeroizing::new(wire.to_vec())).collect()));
        Ok(next)
    }

    /// The carry out of a sum of two; none of no bits.
    fn carry(&mut self, one: &[Wire], other: &[Wire]) -> Result<Option<Wire>> {
        let pairs =
            one.iter().zip(other).map(|(one, other)| (Zeroizing::new(one.to_vec()), Zeroizing::new(other.to_vec())));
        let made = self.multiply(pairs.collect())?;
        let passed = one.iter().zip(other).map(|(one, other)| xor(one, other));
        let carries = made.into_iter().zip(passed).enumerate();
        let mut carries: Vec<Carry> =
            carries.map(|(bit, (made, passed))| Carry { made, passed: (bit > 0).then_some(passed) }).collect();
        while carries.len() > 1 {
            carries = self.join(carries)?;
        }
        Ok(carries.pop().map(|carry| carry.made))
    }

    /// Neighbours as one, the lowest first; one that is left over stays.
    fn join(&mut self, mut carries: Vec<Carry>) -> Result<Vec<Carry>> {
        let rest = if carries.len() % 2 == 1 { carries.pop() } else { None };
        let (mut uppers, mut lowers) = (Vec::new(), Vec::new());
        for (place, carry) in carries.into_iter().enumerate() {
            if place % 2 == 0 { lowers.push(carry) } else { uppers.push(carry) }
        }
        let copy = |wire: &Wire| Zeroizing::new(wire.to_vec());
        let mut factors = Vec::new();
        for (upper, lower) in uppers.iter().zip(&lowers) {
            let through =
                upper.passed.as_ref().ok_or_else(|| Error::Internal("at_least: a carry of nothing".into()))?;
            factors.push((copy(through), copy(&lower.made)));
            factors.extend(lower.passed.as_ref().map(|passed| (copy(through), copy(passed))));
        }
        let mut products = self.multiply(factors)?.into_iter();
        let mut joined = Vec::new();
        for (upper, lower) in uppers.into_iter().zip(lowers) {
            let mut made = upper.made;
            products.next().into_iter().for_each(|product| add(&mut made, &product));
            let passed = lower.passed.and_then(|_| products.next());
            joined.push(Carry { made, passed });
        }
        joined.extend(rest);
        Ok(joined)
    }

    /// Shares of the products of shared bits: those of the own shares, and with each other party those of both.
    fn multiply(&mut self, factors: Vec<(Wire, Wire)>) -> Result<Vec<Wire>> {
        let common = self.common();
        let states: Vec<_> = self.ots.links_mut().iter_mut().zip(&common).collect();
        let crossed = each(self.channels, states, |(link, numbers), channel| cross(link, numbers, &factors, channel))?;
        let own = |(one, other): &(Wire, Wire)| -> Wire {
            Zeroizing::new(one.iter().zip(other.iter()).map(|(one, other)| one & other).collect())
        };
        let mut products: Vec<Wire> = factors.iter().map(own).collect();
        for (numbers, crossed) in common.iter().zip(&crossed) {
            if numbers.is_empty() {
                continue;
            }
            let halves = crossed.split_at(crossed.len() / 2);
            let parts = halves.0.chunks(numbers.len()).zip(halves.1.chunks(numbers.len()));
            for (product, (one, other)) in products.iter_mut().zip(parts) {
                numbers
                    .iter()
                    .zip(one.iter().zip(other))
                    .for_each(|(number, (one, other))| product[*number] ^= one ^ other);
            }
        }
        Ok(products)
    }

    /// Tells shares of answers, and adds up those of all.
    fn open(&mut self, answers: &Wire) -> Result<Wire> {
        let common = self.common();
        let told = each(self.channels, common.iter().collect(), |numbers: &Vec<usize>, channel| {
            if numbers.is_empty() {
                return Ok(None);
            }
            let mut own = Planes::zeros(1, numbers.len());
            numbers.iter().enumerate().for_each(|(place, number)| own.put(0, place, answers[*number].into()));
            let mut theirs = open(ANSWERS, &own, channel)?;
            theirs.add(&own);
            Ok(Some(theirs))
        })?;
        let mut sums = Zeroizing::new(answers.to_vec());
        for (numbers, told) in common.iter().zip(&told) {
            if let Some(told) = told {
                numbers.iter().enumerate().for_each(|(place, number)| sums[*number] ^= told.bit(0, place) as u8);
            }
        }
        Ok(sums)
    }

    /// For each link the own numbers that the peer has a share of, too.
    fn common(&self) -> Vec<Vec<usize>> {
        let of = |link: &LinkOts| (0..self.parties.len()).filter(|&n| self.parties[n].contains(&link.peer)).collect();
        self.ots.links().iter().map(of).collect()
    }
}

/// Shares of the first factors of the one times the second of the other, for these numbers; and then the other way
/// round.
fn cross(link: &mut LinkOts, numbers: &[usize], factors: &[(Wire, Wire)], channel: &mut Channel) -> Result<Wire> {
    let of = |wire: fn(&(Wire, Wire)) -> &Wire| {
        factors.iter().flat_map(move |factor| numbers.iter().map(move |number| wire(factor)[*number]))
    };
    let (firsts, seconds) = (of(|factor| &factor.0), of(|factor| &factor.1));
    let mut shares = Zeroizing::new(vec![0u8; 2 * factors.len() * numbers.len()]);
    let sharing = Sharing::exclusive_or(1)?;
    match &mut link.end {
        MeshEnd::Sender(ot) => {
            let own: Wire = Zeroizing::new(firsts.chain(seconds).collect());
            additive::send(sharing, &mut **ot, &own, &mut shares, channel)?;
        }
        MeshEnd::Receiver(ot) => {
            let own = Choices::from_bits(seconds.chain(firsts).map(|bit| bit == 1));
            additive::receive(sharing, &mut **ot, &own, &mut shares, channel)?;
        }
    }
    Ok(shares)
}

fn xor(one: &Wire, other: &Wire) -> Wire {
    Zeroizing::new(one.iter().zip(other.iter()).map(|(one, other)| one ^ other).collect())
}

fn add(sum: &mut Wire, other: &Wire) {
    sum.iter_mut().zip(other.iter()).for_each(|(sum, other)| *sum ^= other);
}
