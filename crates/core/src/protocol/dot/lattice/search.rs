//! The choice of parameters: the cheapest among all that hold.

use super::internal;
use super::noise::{FLOOD_BITS, Noise};
use super::params::{BATCHES, Chosen, ColumnGroup, LatticeAnswer, Params};
use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::primitive::kernel::MAX_PRIME_BITS;
use crate::primitive::rlwe::{DEGREES, MIN_PRIME_BITS, most_modulus_bits, packed_bytes};
use crate::protocol::dot::{MAX_ROWS, Modulus, Shape};
use crate::role::Side;

/// Logarithms are counted in parts of a bit, so that both parties compute the same.
const PARTS: u64 = 256;

/// The most columns of a side, and of chosen pairs.
const MAX_COLUMNS: usize = 1 << 16;
const MAX_PAIRED_COLUMNS: usize = 1 << 12;

/// The most products: they are held in memory, 16 bytes each.
const MAX_PRODUCTS: usize = 1 << 26;

/// The most numbers of a side: with all the room that is left empty, masks have fewer numbers than there are.
const MAX_NUMBERS: usize = 1 << 44;

/// Selection of the products that are wanted.
#[derive(Debug, Clone, Copy)]
enum Wanted<'a> {
    /// Every product, at once: see [`Params::new`].
    All { learner: Option<Side> },
    /// Some, later, in so many answers at most: see [`Params::keeping`].
    AtMost(usize),
    /// Chosen products, at once: see [`Params::of_pairs`].
    Pairs(&'a [(u32, u32)]),
}

impl Params {
    /// The cheapest parameters in bytes, both ways. Either party may be the encryptor; of two that cost the same, the
    /// learner, or the first party.
    ///
    /// `learner` is the one party to which every single product will be opened at once, and nobody else; `None` for
    /// shares that are kept, summed, compared, or opened in part. A learner who encrypts, and for whom the modulus
    /// tells all products apart, is given each of them by the protocol itself ([`Params::values`]): what comes out then
    /// has the form of shares, but hides nothing from it. A number can hold several columns as its digits there; shares
    /// of digits would need carries that nobody may know.
    ///
    /// Errors ([`Error::Input`](crate::Error::Input)): no parameters of 128 bits of security hold such products.
    pub fn new(shape: Shape, modulus: Modulus, learner: Option<Side>) -> Result<Params> {
        Params::checked(cheapest(shape, modulus, Wanted::All { learner })?)
    }

    /// The cheapest parameters for columns that the encryptor sends once and that are multiplied as need arises: in at
    /// most `answers` answers, each for products of one group and one polynomial ([`Params::answers_for`]). The shape
    /// has all columns of both sides that there will ever be. All outputs are shares.
    pub fn keeping(shape: Shape, modulus: Modulus, answers: usize) -> Result<Params> {
        Params::checked(cheapest(shape, modulus, Wanted::AtMost(answers))?)
    }

    /// The fastest parameters for some products alone, each given by the columns of the first and the second party,
    /// over a network of 1 Gbit/s. No pair may stand there twice. Shares come in the order of the pairs. All outputs
    /// are shares, and the flood is enough for [`BATCHES`] runs of a session together.
    pub fn of_pairs(shape: Shape, modulus: Modulus, pairs: &[(u32, u32)]) -> Result<Params> {
        if pairs.iter().any(|&(first, second)| first as usize >= shape.first || second as usize >= shape.second) {
            return Err(internal("a pair of columns that are not there"));
        }
        let mut params = cheapest(shape, modulus, Wanted::Pairs(pairs))?;
        params.chosen = Some(params.choose(pairs)?);
        Params::checked(params)
    }

    /// The answers for distinct pairs.
    fn choose(&self, pairs: &[(u32, u32)]) -> Result<Chosen> {
        let mut outputs: Vec<_> = Vec::with_capacity(pairs.len());
        for (index, &(first, second)) in pairs.iter().enumerate() {
            let (group, polynomial, wanted) = self.output(first as usize, second as usize)?;
            outputs.push((group, polynomial, wanted, index));
        }
        outputs.sort_unstable();
        let (mut answers, mut places) = (Vec::new(), Vec::new());
        for outputs in outputs.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            if outputs.windows(2).any(|pair| pair[0].2 == pair[1].2) {
                return Err(internal("a pair that is asked for twice"));
            }
            let wanted = outputs.iter().map(|output| output.2).collect();
            answers.push(LatticeAnswer { group: outputs[0].0, polynomial: outputs[0].1, wanted });
            places.push(outputs.iter().map(|output| output.3).collect());
        }
        let work = cost_of(self, pairs).work;
        Ok(Chosen { answers, places, products: pairs.len(), work })
    }
}

/// The parameters that cost least. Bytes are what is counted; of chosen pairs, where much may be multiplied in vain, it
/// is time.
fn cheapest(shape: Shape, modulus: Modulus, wanted: Wanted<'_>) -> Result<Params> {
    let columns = shape.first.max(shape.second);
    let (pairs, learner, most_columns) = match wanted {
        Wanted::All { learner } => (None, learner, MAX_COLUMNS),
        Wanted::AtMost(_) => (None, None, MAX_COLUMNS),
        Wanted::Pairs(pairs) => (Some(pairs.len()), None, MAX_PAIRED_COLUMNS),
    };
    let products = || pairs.unwrap_or_else(|| shape.products());
    if shape.rows > MAX_ROWS
        || columns > most_columns
        || shape.rows.max(1) * columns > MAX_NUMBERS
        || products() > MAX_PRODUCTS
    {
        return Err(Error::Input(format!(
            "lattice: {} rows of {} and {} columns: at most {MAX_ROWS} rows, {most_columns} columns, {MAX_NUMBERS} numbers \
             and {MAX_PRODUCTS} products are possible",
            shape.rows, shape.first, shape.second
        )));
    }
    let mut sides = [Side::First, Side::Second];
    if learner == Some(Side::Second) {
        sides.reverse();
    }
    let mut best: Option<(u128, Params)> = None;
    for encryptor in sides {
        // Values instead of shares tell the learner what it learns anyway, if the modulus tells them apart.
        let values = learner == Some(encryptor) && shape.fits(&modulus);
        for degree in DEGREES {
            Search { shape, modulus, encryptor, values, degree, wanted }.into_best(&mut best);
        }
    }
    let (_, params) = best.ok_or_else(|| {
        Error::Input(format!(
            "lattice: products of {} rows of integers of {} bits modulo {modulus} need a larger modulus than 128 bits of \
             security allow",
            shape.rows,
            shape.integers.bits()
        ))
    })?;
    Ok(params)
}

struct Search<'a> {
    shape: Shape,
    modulus: Modulus,
    encryptor: Side,
    values: bool,
    degree: usize,
    wanted: Wanted<'a>,
}

impl Search<'_> {
    fn columns(&self) -> (usize, usize) {
        match self.encryptor {
            Side::First => (self.shape.first, self.shape.second),
            Side::Second => (self.shape.second, self.shape.first),
        }
    }

    fn into_best(self, best: &mut Option<(u128, Params)>) {
        let (columns, others) = self.columns();
        let (base, most_digits) = if self.values {
            let (low, high) = self.shape.range();
            let bits = 128 - (high - low).unsigned_abs().leading_zeros();
            (1u128 << bits.max(1), columns.max(1))
        } else {
            (self.modulus.value(), 1)
        };
        for digits in 1..=most_digits {
            let mut possible = false;
            for together in (0..=self.degree.ilog2()).map(|bits| 1 << bits).take_while(|&c| c < 2 * others.max(1)) {
                let slots = columns.div_ceil(digits);
                for limit in self.limits(self.degree / together, slots) {
                    for exact in 0..=(slots % limit).count_ones() {
                        let Some(params) = self.params(base, digits, together, slots_of(slots, limit, exact)) else {
                            continue;
                        };
                        possible = true;
                        let least = best.as_ref().map_or(u128::MAX, |(least, _)| *least);
                        let cost = match self.wanted {
                            Wanted::Pairs(pairs) => cost_below(least, &params, pairs).map(|cost| cost.time()),
                            _ => Some(bytes(&params)).filter(|bytes| *bytes < least),
                        };
                        if let Some(cost) = cost {
                            *best = Some((cost, params));
                        }
                    }
                }
            }
            if !possible {
                break;
            }
        }
    }

    /// Returns the numbers of slots that a group can have. Larger groups have fewer answers. If few products of many
    /// are wanted, smaller groups multiply less that nobody asks for.
    fn limits(&self, most: usize, slots: usize) -> Vec<usize> {
        let useful = most.min(slots.max(1).next_power_of_two());
        match self.wanted {
            Wanted::Pairs(_) => (0..=useful.ilog2()).rev().map(|bits| 1 << bits).collect(),
            _ => vec![most],
        }
    }

    /// The parameters with as few and as short primes as hold the noise, if there are any.
    fn params(&self, base: u128, digits: usize, others: usize, slots: Vec<usize>) -> Option<Params> {
        let (columns, _) = self.columns();
        let groups = slots.iter().scan(0, |start, &slots| {
            let columns = *start..(*start + slots * digits).min(columns);
            *start = columns.end;
            Some(ColumnGroup { columns, slots })
        });
        let mut params = Params {
            shape: self.shape,
            modulus: self.modulus,
            encryptor: self.encryptor,
            degree: self.degree,
            prime_bits: 0,
            primes: 0,
            kept: 0,
            base,
            digits,
            values: self.values,
            groups: groups.collect(),
            others,
            most_answers: None,
            chosen: None,
        };
        params.most_answers = match self.wanted {
            Wanted::All { .. } => None,
            Wanted::AtMost(answers) => Some(answers),
            // No more answers than products, and none of a polynomial that does not exist.
            Wanted::Pairs(pairs) => {
                let all = params.groups.len().saturating_mul(params.polynomials());
                Some(pairs.len().min(all).saturating_mul(BATCHES))
            }
        };
        let plaintext = logarithm(base) * digits as u64;
        let noise: Noise = params.noise();
        let flooded = noise.bound()?.checked_mul(noise.answers.max(1) as u128)?;
        let sigma = u64::from(FLOOD_BITS + self.degree.ilog2());
        // 2 t F. One part more because F is rounded up; then what rounding and primes below 2^bits take away.
        let least = PARTS + plaintext + logarithm(flooded) + PARTS * sigma + 1 + 10;
        let bits = |primes: u64| (least + 3 * primes).div_ceil(PARTS * primes);
        let primes = (1..).find(|&primes| bits(primes) <= u64::from(MAX_PRIME_BITS))?;
        let prime_bits = bits(primes).max(u64::from(MIN_PRIME_BITS));
        // 2 t P (N + 2) is at most q / 64.
        let kept =
            (PARTS * 7 + plaintext + logarithm(self.degree as u128 + 2) + 3 * primes).div_ceil(PARTS * prime_bits);
        (params.prime_bits, params.primes) = (prime_bits as u32, primes as usize);
        params.kept = kept as usize;
        (prime_bits * primes <= u64::from(most_modulus_bits(self.degree)) && kept <= primes).then_some(params)
    }
}

/// Slots for at least `count` numbers, in groups of a power of two each, of which none is above `limit`. The first
/// groups have as many slots as the highest ones among the bits of `count` stand for, `exact` of them; what is left is
/// rounded up.
fn slots_of(count: usize, limit: usize, exact: u32) -> Vec<usize> {
    let mut groups = vec![limit; count / limit];
    let mut rest = count % limit;
    for _ in 0..exact {
        if rest > 0 {
            groups.push(1 << rest.ilog2());
            rest -= 1 << rest.ilog2();
        }
    }
    if rest > 0 {
        groups.push(rest.next_power_of_two());
    }
    groups
}

/// Unit of [`Params::work`], in seconds: the time in which an answerer multiplies a ciphertext's number modulo one
/// prime, and adds it up.
pub const WORK_SECONDS: f64 = 0.43e-9;

/// Units of work for a byte at 1 Gbit/s. The constants below are, for each number and prime, those for encrypting,
/// reading with the mask, preparing and answering.
const BYTE: u128 = 19;
const ENCRYPT: u128 = 30;
const RECEIVE: u128 = 9;
const PREPARE: u128 = 10;
const ANSWER: u128 = 100;

/// Cost of some products.
pub(super) struct Cost {
    /// Computation of both parties, in [`WORK_SECONDS`].
    pub(super) work: u128,
    /// Traffic both ways, but for the headers of columns' frames.
    bytes: u128,
}

impl Cost {
    /// Computation and traffic, one after the other.
    fn time(&self) -> u128 {
        self.work + BYTE * self.bytes
    }

    fn add(&mut self, other: &Cost, times: u128) {
        self.work += times * other.work;
        self.bytes += times * other.bytes;
    }
}

/// Computes the cost of chosen products; `None` if it takes no less time than `least`.
fn cost_below(least: u128, params: &Params, pairs: &[(u32, u32)]) -> Option<Cost> {
    // With as few answers as could be: all of the cheapest kind, and full.
    let full = params.groups.iter().map(|group| group.slots * params.others).max().unwrap_or(1);
    let mut cost = fixed_cost(params, pairs.len());
    let answers = (0..params.groups.len()).map(|group| answer_cost(params, group));
    if let Some(cheapest) = answers.min_by_key(Cost::time) {
        cost.add(&cheapest, pairs.len().div_ceil(full) as u128);
    }
    if cost.time() >= least {
        return None;
    }
    Some(cost_of(params, pairs)).filter(|cost| cost.time() < least)
}

/// Computes the cost of chosen products. Whole polynomials are multiplied, whatever part of them is wanted.
pub(super) fn cost_of(params: &Params, pairs: &[(u32, u32)]) -> Cost {
    let mut cost = fixed_cost(params, pairs.len());
    for (group, answers) in answers(params, pairs).into_iter().enumerate() {
        cost.add(&answer_cost(params, group), answers);
    }
    cost
}

/// Computes the cost of a group's columns, and of the outputs of all answers.
fn fixed_cost(params: &Params, products: usize) -> Cost {
    let units = (params.blocks() as u128 + 1) * params.primes as u128;
    let outputs = params.kept * packed_bytes(params.prime_bits, products);
    Cost {
        work: units * params.degree as u128 * (ENCRYPT + RECEIVE),
        bytes: units * params.unit_bytes() as u128 + outputs as u128,
    }
}

/// Computes the cost of one more of a group's answers.
fn answer_cost(params: &Params, group: usize) -> Cost {
    let (layout, degree) = (params.layout(group), params.degree as u128);
    let blocks = layout.blocks(params.shape.rows) as u128;
    let block = degree + degree / layout.slots as u128 * PREPARE;
    Cost {
        work: params.primes as u128 * (blocks * block + degree * ANSWER),
        bytes: (params.kept * (HEADER_BYTES + packed_bytes(params.prime_bits, params.degree))) as u128,
    }
}

/// Counts the answers of each group.
fn answers(params: &Params, pairs: &[(u32, u32)]) -> Vec<u128> {
    let mut group_of = vec![0u32; params.groups.last().map_or(0, |group| group.columns.end)];
    for (index, group) in params.groups.iter().enumerate() {
        group_of[group.columns.clone()].fill(index as u32);
    }
    let polynomials = params.polynomials().max(1);
    let mut wanted = vec![false; params.groups.len() * polynomials];
    for &(first, second) in pairs {
        let (column, other) = if params.encryptor == Side::First { (first, second) } else { (second, first) };
        wanted[group_of[column as usize] as usize * polynomials + other as usize / params.others] = true;
    }
    wanted.chunks_exact(polynomials).map(|group| group.iter().filter(|wanted| **wanted).count() as u128).collect()
}

/// Bytes both ways, but for the headers of columns' frames. Parameters that waste most of the room can need 2^64 and
/// more.
fn bytes(params: &Params) -> u128 {
    let columns = (params.blocks() as u128 + 1) * (params.primes * params.unit_bytes()) as u128;
    let answers = params.groups.iter().map(|group| {
        let outputs = group.columns.len().div_ceil(params.digits) * params.others;
        (params.kept * (HEADER_BYTES + packed_bytes(params.prime_bits, params.degree + outputs))) as u128
    });
    columns
        + match params.most_answers {
            None => params.polynomials() as u128 * answers.sum::<u128>(),
            Some(count) => count as u128 * answers.max().unwrap_or(0),
        }
}

/// The logarithm to base 2 in parts of a bit, rounded up, of a number that is not zero.
fn logarithm(number: u128) -> u64 {
    let whole = number.ilog2();
    // The number's upper 63 bits, squared eight times.
    let mut mantissa = if whole > 62 { (number >> (whole - 62)) as u64 } else { (number as u64) << (62 - whole) };
    let mut parts = u64::from(whole);
    for _ in 0..PARTS.ilog2() {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 62;
        let doubled = square >= 1 << 63;
        parts = 2 * parts + u64::from(doubled);
        mantissa = (square >> u32::from(doubled)) as u64;
    }
    parts + u64::from(!number.is_power_of_two())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_rounded_up() {
        for number in (1..2000).chain([(1 << 64) - 1, 1 << 64, (1 << 64) + 1, 3 << 100, u128::MAX]) {
            let exact = (number as f64).log2() * PARTS as f64;
            let parts = logarithm(number) as f64;
            assert!(parts >= exact - 1e-9 && parts <= exact + 1.001, "{number}: {parts} {exact}");
        }
    }

    #[test]
    fn slots_are_enough() {
        for count in 0..300 {
            for limit in [1, 4, 64, 4096] {
                for exact in 0..9 {
                    let groups = slots_of(count, limit, exact);
                    let sum: usize = groups.iter().sum();
                    assert!(groups.iter().all(|slots| slots.is_power_of_two() && *slots <= limit));
                    assert!(sum >= count && sum - groups.last().unwrap_or(&0) < count.max(1));
                    if exact == 8 {
                        assert_eq!(sum, count);
                    }
                }
            }
        }
    }
}
