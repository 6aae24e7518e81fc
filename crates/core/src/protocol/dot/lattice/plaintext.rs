//! Columns as polynomials: what is encrypted, what is multiplied with it, and what comes out.

use zeroize::Zeroizing;

use super::Params;
use super::layout::Layout;
use crate::primitive::kernel::ntt::Ntt;
use crate::primitive::kernel::{Factor, Prg};
use crate::primitive::rlwe::{self, FractionReader, Ring};
use crate::protocol::dot::{Columns, Modulus};

/// Bits of the fractions of [`Weight::rest`]: products with integers of 32 bits then fit 63.
const FRACTION_BITS: u32 = 31;

/// Weight of one digit: q / base^(k - j) for digit j of k, to the nearest multiple of 2^-31.
struct Weight {
    /// Integral part of the weight, modulo each prime.
    whole: Vec<Factor>,
    /// Fractional part of the weight.
    rest: i64,
}

/// Writes the encryptor's columns as polynomials.
pub(super) struct Encoder {
    weights: Vec<Weight>,
}

impl Encoder {
    pub(super) fn new(params: &Params, ring: &Ring) -> Encoder {
        let (q, base) = (ring.modulus(params.primes), [params.base as u64, (params.base >> 64) as u64]);
        let weight = |digit: usize| {
            let twice = rlwe::divide(&q, FRACTION_BITS as usize + 1, &rlwe::power(&base, params.digits - digit));
            let nearest = rlwe::shift_right(&rlwe::add(&twice, &[1]), 1);
            let whole = rlwe::shift_right(&nearest, FRACTION_BITS as usize);
            let factor = |ntt: &Ntt| ntt.prime().factor(ntt.prime().reduce_limbs(&whole));
            Weight {
                whole: ring.primes().iter().map(factor).collect(),
                rest: (nearest[0] & ((1 << FRACTION_BITS) - 1)) as i64,
            }
        };
        Encoder { weights: (0..params.digits).map(weight).collect() }
    }

    /// The coefficients of a block of a group of columns, encoded, with errors added.
    pub(super) fn block(
        &self,
        columns: &Columns,
        (params, ring): (&Params, &Ring),
        (group, block): (usize, usize),
        mut small: Zeroizing<Vec<i64>>,
    ) -> Zeroizing<Vec<u64>> {
        let (degree, layout) = (params.degree, params.layout(group));
        let rows = layout.range(block, params.shape.rows);
        let mut values = Zeroizing::new(ring.zero());
        for (index, column) in params.groups[group].columns.clone().enumerate() {
            let (slot, weight) = (index / params.digits, &self.weights[index % params.digits]);
            for row in rows.clone() {
                let value = columns.value(column, row);
                let place = layout.coefficient(slot, row - rows.start);
                // It does not overflow, and wraps so that no overflow is looked for: that would be a jump on secrets.
                let rest = value.wrapping_mul(weight.rest).wrapping_add(1 << (FRACTION_BITS - 1)) >> FRACTION_BITS;
                small[place] = small[place].wrapping_add(rest);
                for ((values, ntt), factor) in values.chunks_exact_mut(degree).zip(ring.primes()).zip(&weight.whole) {
                    // Below twice the prime each, and there are fewer than 2^10 digits. The number plus the prime is
                    // not negative, and no sign has to be asked for.
                    let prime = ntt.prime();
                    let product = prime.times_lazy(prime.value().wrapping_add_signed(value), *factor);
                    values[place] = values[place].wrapping_add(product);
                }
            }
        }
        for (values, ntt) in values.chunks_exact_mut(degree).zip(ring.primes()) {
            let prime = ntt.prime();
            // What is small is 2^43 at most: with this multiple of the prime it is not negative, and the sum below
            // 2^63.
            let above = ((1 << 43) / prime.value() + 1) * prime.value();
            for (value, &small) in values.iter_mut().zip(small.iter()) {
                *value = prime.reduce(value.wrapping_add(above).wrapping_add_signed(small));
            }
        }
        values
    }
}

/// The coefficients of a block of the answerer's columns in polynomial `polynomial`, in powers of X^c.
pub(super) fn other_block(
    columns: &Columns,
    layout: &Layout,
    (polynomial, block): (usize, usize),
) -> Zeroizing<Vec<i64>> {
    let mut coefficients = Zeroizing::new(vec![0; layout.degree / layout.slots]);
    let rows = layout.range(block, columns.rows());
    let mut values = Zeroizing::new(vec![0; rows.len()]);
    let first = polynomial * layout.others;
    for column in first..(first + layout.others).min(columns.count()) {
        columns.copy(column, rows.start, &mut values);
        for (row, &value) in values.iter().enumerate() {
            let (place, negative) = layout.other_coefficient(column - first, row);
            coefficients[place] = if negative { value.wrapping_neg() } else { value };
        }
    }
    coefficients
}

/// Writes shares as multiples of q / t.
pub(super) struct ShareEncoder {
    modulus: Modulus,
    /// floor(2^128 q / t).
    weight: Vec<u64>,
}

impl ShareEncoder {
    pub(super) fn new(params: &Params, ring: &Ring) -> ShareEncoder {
        let t = params.modulus.value();
        let weight = rlwe::divide(&ring.modulus(params.primes), 128, &[t as u64, (t >> 64) as u64]);
        ShareEncoder { modulus: params.modulus, weight }
    }

    /// Adds a uniformly random share, encoded, to a number, given by its residues. Returns the other share, its
    /// negative.
    pub(super) fn add(&self, ring: &Ring, residues: &mut [u64], prg: &mut Prg) -> u128 {
        let (high, low) = (prg.block().0, prg.block().0);
        let share = self.modulus.uniform(high, low);
        let product = Zeroizing::new(rlwe::multiply(&[share as u64, (share >> 64) as u64], &self.weight));
        let half = Zeroizing::new(rlwe::add(&product, &[0, 1 << 63]));
        let encoded = Zeroizing::new(rlwe::shift_right(&half, 128));
        for (residue, ntt) in residues.iter_mut().zip(ring.primes()) {
            *residue = ntt.prime().add(*residue, ntt.prime().reduce_limbs(&encoded));
        }
        self.modulus.subtract(0, share)
    }
}

/// Reader of the outputs in plaintexts.
pub(super) struct Decoder {
    fraction: FractionReader,
    /// Excess of the digits over their value, as a residue of the shares' modulus.
    offset: u128,
    modulus: Modulus,
    /// Whether digits are residues already.
    shares: bool,
}

impl Decoder {
    pub(super) fn new(params: &Params, ring: &Ring) -> Decoder {
        let primes: Vec<_> = ring.primes()[..params.kept].iter().map(|ntt| *ntt.prime()).collect();
        let low = if params.values { params.shape.range().0 } else { 0 };
        Decoder {
            fraction: FractionReader::new(&primes, params.base, params.digits, low.unsigned_abs()),
            offset: params.modulus.residue(-low),
            modulus: params.modulus,
            shares: !params.values,
        }
    }

    /// Appends the residues that a phase, given by its residues modulo the primes that answers keep, stands for.
    pub(super) fn read(&self, phase: &[u64], values: &mut Vec<u128>) {
        values.extend(self.fraction.digits(phase).iter().map(|&digit| {
            if self.shares {
                digit
            } else {
                // The modulus holds every value, so that a digit is below twice the modulus.
                self.modulus.subtract(self.modulus.add(digit, 0), self.offset)
            }
        }));
    }
}
