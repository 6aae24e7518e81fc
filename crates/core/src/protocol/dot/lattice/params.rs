//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use std::ops::Range;

use super::internal;
use super::layout::Layout;
use super::noise::{Noise, decodes};
use crate::channel::{HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::error::Result;
use crate::primitive::rlwe::{self, Flood, Ring, Uniform, packed_bytes};
use crate::protocol::dot::{Columns, Modulus, Shape};
use crate::role::Side;

/// Length of [`SEED`](super::SEED) in bytes.
pub(super) const SEED_BYTES: usize = 32;

/// Runs of one session that the flood of [`Params::of_pairs`] is enough for.
pub const BATCHES: usize = 1 << 10;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    pub(super) shape: Shape,
    pub(super) modulus: Modulus,
    pub(super) encryptor: Side,
    pub(super) degree: usize,
    pub(super) prime_bits: u32,
    pub(super) primes: usize,
    /// Primes that answers keep.
    pub(super) kept: usize,
    /// Plaintexts are numbers modulo base^digits.
    pub(super) base: u128,
    pub(super) digits: usize,
    /// Whether outputs are values, and no shares.
    pub(super) values: bool,
    /// The encryptor's columns in each group, and the slots that they take.
    pub(super) groups: Vec<ColumnGroup>,
    /// The answerer's columns in one polynomial.
    pub(super) others: usize,
    /// Largest number of answers, if not one for each group and polynomial.
    pub(super) most_answers: Option<usize>,
    /// The answers that there are, if not all.
    pub(super) chosen: Option<Chosen>,
}

/// Answers for chosen products, in order, and where each of their values stands among these products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) answers: Vec<LatticeAnswer>,
    pub(super) places: Vec<Vec<usize>>,
    pub(super) products: usize,
    pub(super) work: u128,
}

/// Some of the encryptor's columns, which travel together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnGroup {
    /// Range of the encryptor's columns in the group.
    pub columns: Range<usize>,
    /// Places for numbers of one row in a polynomial, a power of two.
    pub slots: usize,
}

/// One answer: the products of some columns of a group with some of the answerer's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatticeAnswer {
    /// The encryptor's columns' group.
    pub group: usize,
    /// The number of the answerer's polynomial.
    pub polynomial: usize,
    /// The slots and places whose products are wanted.
    pub(super) wanted: Vec<(usize, usize)>,
}

impl Params {
    /// Refuses parameters that do not hold.
    pub(super) fn checked(params: Params) -> Result<Params> {
        // The search works with rounded logarithms; what it finds must hold exactly, whatever the primes are.
        let modulus = rlwe::power(&[rlwe::prime_at_least(params.prime_bits)], params.primes);
        let divisor = rlwe::power(&[1 << params.prime_bits], params.primes - params.kept);
        if !decodes(&params.noise(), &params.plaintext(), &modulus, &divisor) {
            return Err(internal("parameters that do not decode"));
        }
        if Uniform::has((params.blocks() as u64 + 1) * params.primes as u64) {
            Ok(params)
        } else {
            Err(internal("more masks than one seed has"))
        }
    }

    /// Returns the shape of the multiplied columns.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the modulus of the sum of shares.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Returns the number of products: all, or those that were chosen.
    pub fn products(&self) -> usize {
        self.chosen.as_ref().map_or(self.shape.products(), |chosen| chosen.products)
    }

    /// Estimates the computation of both parties together for chosen products, in
    /// [`WORK_SECONDS`](super::WORK_SECONDS). 0 for all products.
    pub fn work(&self) -> u128 {
        self.chosen.as_ref().map_or(0, |chosen| chosen.work)
    }

    /// Returns the party that encrypts.
    pub fn encryptor(&self) -> Side {
        self.encryptor
    }

    /// N, the degree of polynomials.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Bits of each prime, and how many primes there are: bits of q are at most the product.
    pub fn prime_bits(&self) -> (u32, usize) {
        (self.prime_bits, self.primes)
    }

    /// Whether the encryptor is the learner and sees each product: its shares are then the products, and the other
    /// party's are zero, so that there is nothing to be opened. Never without a learner.
    pub fn values(&self) -> bool {
        self.values
    }

    /// Returns the number of the encryptor's columns that one number holds; more than one only if outputs are values.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// The groups of the encryptor's columns.
    pub fn groups(&self) -> &[ColumnGroup] {
        &self.groups
    }

    /// Returns the quantities that decide about the noise.
    pub(crate) fn noise(&self) -> Noise {
        let (low, high) = self.shape.integers.range();
        Noise {
            degree: self.degree,
            rows: self.shape.rows,
            others: self.others,
            digits: self.digits,
            largest: low.unsigned_abs().max(high.unsigned_abs()),
            answers: self.most_answers.unwrap_or(self.groups.len() * self.polynomials()),
        }
    }

    /// t = base^digits, in limbs.
    pub(crate) fn plaintext(&self) -> Vec<u64> {
        rlwe::power(&[self.base as u64, (self.base >> 64) as u64], self.digits)
    }

    /// Returns the flood that is added to the error of every output.
    pub(super) fn flood(&self) -> Result<Flood> {
        self.noise().flood().ok_or_else(|| internal("no flood"))
    }

    /// The ring with the primes of q.
    pub fn ring(&self) -> Ring {
        Ring::new(self.degree, self.prime_bits, self.primes)
    }

    /// Bytes that a side sends for all products, frames' headers included, without the closing frame and the opening of
    /// shares.
    pub fn bytes_sent_by(&self, side: Side) -> u64 {
        if self.products() == 0 {
            return 0;
        }
        if side == self.encryptor {
            let frames = (0..self.groups.len()).filter(|&group| self.has_answers(group)).map(|group| {
                let (blocks, step) = (self.layout(group).blocks(self.shape.rows), self.blocks_together());
                (blocks / step) as u64 * self.frames_bytes(step) + self.frames_bytes(blocks % step)
            });
            (HEADER_BYTES + SEED_BYTES) as u64 + self.frames_bytes(1) + frames.sum::<u64>()
        } else if let Some(chosen) = &self.chosen {
            chosen.answers.iter().map(|answer| self.answer_bytes(answer)).sum()
        } else {
            let full = self.polynomials() - 1;
            let answers = (0..self.groups.len()).map(|group| {
                let bytes = |others: usize| self.bytes_of_outputs(self.slots_in_use(group) * others);
                full as u64 * bytes(self.others) + bytes(self.others_in(full))
            });
            answers.sum()
        }
    }

    /// Bytes of an answer, frames' headers included.
    pub fn answer_bytes(&self, answer: &LatticeAnswer) -> u64 {
        self.bytes_of_outputs(answer.wanted.len())
    }

    fn bytes_of_outputs(&self, outputs: usize) -> u64 {
        (self.kept * (HEADER_BYTES + packed_bytes(self.prime_bits, self.degree + outputs))) as u64
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them: columns, answers.
    pub fn rounds(&self) -> u32 {
        if self.products() == 0 { 0 } else { 2 }
    }

    /// Bytes that the answerer holds for sums while a group of columns streams by.
    pub fn sums_bytes(&self) -> u64 {
        (16 * self.degree * self.primes * self.polynomials()) as u64
    }

    pub(super) fn layout(&self, group: usize) -> Layout {
        Layout { degree: self.degree, slots: self.groups[group].slots, others: self.others }
    }

    /// Whether a group is multiplied with anything.
    fn has_answers(&self, group: usize) -> bool {
        self.chosen.is_none() || !self.answers(group).is_empty()
    }

    /// A group's answers: those that were chosen, or all.
    pub fn answers(&self, group: usize) -> Vec<LatticeAnswer> {
        if let Some(Chosen { answers, .. }) = &self.chosen {
            let start = answers.partition_point(|answer| answer.group < group);
            return answers[start..].iter().take_while(|answer| answer.group == group).cloned().collect();
        }
        let slots = self.slots_in_use(group);
        let answer = |polynomial: usize| {
            let others = self.others_in(polynomial);
            let wanted = (0..slots).flat_map(|slot| (0..others).map(move |other| (slot, other)));
            LatticeAnswer { group, polynomial, wanted: wanted.collect() }
        };
        (0..self.polynomials()).map(answer).collect()
    }

    /// The answers that hold these products, each given by the columns of the first and the second party.
    ///
    /// Errors ([`Error::Internal`](crate::Error::Internal)): there is no such column; outputs are values, which the
    /// encryptor would see, and with several columns in a number also those that were not chosen.
    pub fn answers_for(&self, pairs: &[(usize, usize)]) -> Result<Vec<LatticeAnswer>> {
        if self.values {
            return Err(internal("chosen pairs where outputs are values"));
        }
        let mut answers: Vec<LatticeAnswer> = Vec::new();
        for &(first, second) in pairs {
            let (group, polynomial, wanted) = self.output(first, second)?;
            match answers.iter_mut().find(|answer| (answer.group, answer.polynomial) == (group, polynomial)) {
                Some(answer) if answer.wanted.contains(&wanted) => (),
                Some(answer) => answer.wanted.push(wanted),
                None => answers.push(LatticeAnswer { group, polynomial, wanted: vec![wanted] }),
            }
        }
        answers.sort_by_key(|answer| (answer.group, answer.polynomial));
        Ok(answers)
    }

    /// Locates the output of a product: the group, the polynomial, and there the slot and the place.
    pub(super) fn output(&self, first: usize, second: usize) -> Result<(usize, usize, (usize, usize))> {
        if first >= self.shape.first || second >= self.shape.second {
            return Err(internal(format!("no product of columns {first} and {second}")));
        }
        let (column, other) = if self.encryptor == Side::First { (first, second) } else { (second, first) };
        let group = self.groups.partition_point(|group| group.columns.end <= column);
        let slot = column - self.groups[group].columns.start;
        Ok((group, other / self.others, (slot, other % self.others)))
    }

    /// The products that an answer holds, each as the columns of the first and the second party, in the order of the
    /// answer's values, where no number holds several columns.
    pub fn products_of<'a>(&'a self, answer: &'a LatticeAnswer) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.places(answer).flatten()
    }

    /// Returns the number of the answerer's columns that one polynomial holds.
    pub fn columns_in_polynomial(&self) -> usize {
        self.others
    }

    /// Puts the residues of an answer, `digits` for each wanted product, into the matrix of all products, or the list
    /// of the chosen ones.
    pub(super) fn place(&self, answer: &LatticeAnswer, values: &[u128], matrix: &mut [u128]) {
        if let Some(Chosen { answers, places, .. }) = &self.chosen {
            let key = |answer: &LatticeAnswer| (answer.group, answer.polynomial);
            if let Ok(index) = answers.binary_search_by_key(&key(answer), key) {
                places[index].iter().zip(values).for_each(|(&place, &value)| matrix[place] = value);
            }
            return;
        }
        for (place, value) in self.places(answer).zip(values) {
            if let Some((first, second)) = place {
                matrix[first * self.shape.second + second] = *value;
            }
        }
    }

    /// The columns of the first and the second party that each value of an answer is the product of; `None` for digits
    /// that hold no column.
    fn places<'a>(&'a self, answer: &'a LatticeAnswer) -> impl Iterator<Item = Option<(usize, usize)>> + 'a {
        let columns = &self.groups[answer.group].columns;
        answer.wanted.iter().flat_map(move |&(slot, other)| {
            let other = answer.polynomial * self.others + other;
            (0..self.digits).map(move |digit| {
                let column = columns.start + slot * self.digits + digit;
                let pair = if self.encryptor == Side::First { (column, other) } else { (other, column) };
                columns.contains(&column).then_some(pair)
            })
        })
    }

    /// Slots of a group that hold columns.
    fn slots_in_use(&self, group: usize) -> usize {
        self.groups[group].columns.len().div_ceil(self.digits)
    }

    /// Columns of the answerer in one of its polynomials.
    fn others_in(&self, polynomial: usize) -> usize {
        self.others.min(self.other_columns() - polynomial * self.others)
    }

    /// Polynomials that the answerer's columns make.
    pub(super) fn polynomials(&self) -> usize {
        self.other_columns().div_ceil(self.others)
    }

    pub(super) fn other_columns(&self) -> usize {
        if self.encryptor == Side::First { self.shape.second } else { self.shape.first }
    }

    /// Returns the number of all blocks of all groups.
    pub(super) fn blocks(&self) -> usize {
        (0..self.groups.len()).map(|group| self.layout(group).blocks(self.shape.rows)).sum()
    }

    /// The number of a group's first block.
    pub(super) fn first_block(&self, group: usize) -> usize {
        (0..group).map(|group| self.layout(group).blocks(self.shape.rows)).sum()
    }

    /// The blocks of a group that travel and are worked on together: as many as fit in a frame, but at least one.
    pub(super) fn chunks(&self, group: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let blocks = self.layout(group).blocks(self.shape.rows);
        let step = self.blocks_together();
        (0..blocks).step_by(step).map(move |start| start..(start + step).min(blocks))
    }

    fn blocks_together(&self) -> usize {
        (self.units() / self.primes).max(1)
    }

    /// Bytes of a polynomial modulo one prime.
    pub(super) fn unit_bytes(&self) -> usize {
        packed_bytes(self.prime_bits, self.degree)
    }

    /// Polynomials modulo one prime that fit in a frame.
    fn units(&self) -> usize {
        MAX_PAYLOAD_BYTES / self.unit_bytes()
    }

    /// The polynomials modulo one prime in each frame of some blocks.
    pub(super) fn frames(&self, blocks: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (units, all) = (self.units(), blocks * self.primes);
        (0..all).step_by(units).map(move |start| start..(start + units).min(all))
    }

    fn frames_bytes(&self, blocks: usize) -> u64 {
        self.frames(blocks).map(|units| (HEADER_BYTES + units.len() * self.unit_bytes()) as u64).sum()
    }

    /// Bytes of an answer modulo one prime.
    pub(super) fn answer_payload(&self, answer: &LatticeAnswer) -> usize {
        packed_bytes(self.prime_bits, self.degree + answer.wanted.len())
    }

    /// Refuses columns that are not those agreed on.
    pub(super) fn check(&self, side: Side, columns: &Columns) -> Result<()> {
        let count = if side == Side::First { self.shape.first } else { self.shape.second };
        if (columns.rows(), columns.count(), columns.integers()) == (self.shape.rows, count, self.shape.integers) {
            Ok(())
        } else {
            Err(internal("columns that were not agreed on"))
        }
    }
}
