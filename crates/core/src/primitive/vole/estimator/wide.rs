//! Non-negative numbers with the precision of an `f64` and an exponent of 32 bits, and small matrices of them.

use std::f64::consts::LN_2;

/// mantissa * 2^exponent. Products and sums lose at most a few units in the last place each; nothing cancels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide {
    mantissa: f64,
    exponent: i32,
}

impl Wide {
    pub(super) const ZERO: Wide = Wide { mantissa: 0.0, exponent: 0 };

    /// A finite number that is not negative.
    pub(super) fn new(number: f64) -> Wide {
        Wide { mantissa: number, exponent: 0 }.normal()
    }

    /// Computes e^`ln` as a wide number.
    pub(super) fn exp(ln: f64) -> Wide {
        if ln == f64::NEG_INFINITY {
            return Wide::ZERO;
        }
        let exponent = (ln / LN_2).floor();
        Wide { mantissa: (ln - exponent * LN_2).exp(), exponent: exponent as i32 }
    }

    pub(super) fn ln(self) -> f64 {
        if self.mantissa == 0.0 { f64::NEG_INFINITY } else { self.mantissa.ln() + f64::from(self.exponent) * LN_2 }
    }

    pub(super) fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }

    /// The same number with a mantissa near one, so that products of two stay far from the limits of an `f64`.
    fn normal(self) -> Wide {
        if self.mantissa == 0.0 {
            return Wide::ZERO;
        }
        let bits = (self.mantissa.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        if bits.abs() < 200 {
            return self;
        }
        Wide { mantissa: self.mantissa * power_of_two(-bits), exponent: self.exponent + bits }
    }

    pub(super) fn times(self, other: Wide) -> Wide {
        Wide { mantissa: self.mantissa * other.mantissa, exponent: self.exponent + other.exponent }.normal()
    }

    pub(super) fn plus(self, other: Wide) -> Wide {
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = large.exponent - small.exponent;
        if shift > 700 {
            // Mantissas are within 2^200 of one, so that the smaller number is below the last place of the larger.
            return large;
        }
        Wide { mantissa: large.mantissa + small.mantissa * power_of_two(-shift), ..large }.normal()
    }
}

/// 2^`exponent`, for exponents from -1022 to 1023.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// A square matrix, row after row.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    pub(super) size: usize,
    pub(super) entries: Vec<Wide>,
}

impl Matrix {
    pub(super) fn new(size: usize, entries: impl IntoIterator<Item = Wide>) -> Matrix {
        let entries: Vec<Wide> = entries.into_iter().collect();
        assert_eq!(entries.len(), size * size, "a square matrix");
        Matrix { size, entries }
    }

    fn times(&self, other: &Matrix) -> Matrix {
        let size = self.size;
        let mut product = vec![Wide::ZERO; size * size];
        for (row, out) in self.entries.chunks(size).zip(product.chunks_mut(size)) {
            for (&factor, from) in row.iter().zip(other.entries.chunks(size)) {
                if !factor.is_zero() {
                    out.iter_mut().zip(from).for_each(|(sum, &entry)| *sum = sum.plus(factor.times(entry)));
                }
            }
        }
        Matrix { size, entries: product }
    }

    /// The matrix to the power `exponent`, which is not zero.
    pub(super) fn power(&self, exponent: usize) -> Matrix {
        let (mut square, mut rest) = (self.clone(), exponent);
        let mut power: Option<Matrix> = None;
        loop {
            if rest & 1 == 1 {
                power = Some(power.map_or_else(|| square.clone(), |power| power.times(&square)));
            }
            rest >>= 1;
            if rest == 0 {
                return power.expect("the exponent is not zero");
            }
            square = square.times(&square);
        }
    }

    /// The sum of row `row` of the matrix to the power `exponent`.
    pub(super) fn row_sum_of_power(&self, row: usize, exponent: usize) -> Wide {
        let mut vector = vec![Wide::ZERO; self.size];
        vector[row] = Wide::new(1.0);
        for _ in 0..exponent {
            let mut next = vec![Wide::ZERO; self.size];
            for (&factor, from) in vector.iter().zip(self.entries.chunks(self.size)) {
                next.iter_mut().zip(from).for_each(|(sum, &entry)| *sum = sum.plus(factor.times(entry)));
            }
            vector = next;
        }
        vector.into_iter().fold(Wide::ZERO, Wide::plus)
    }
}

/// ln n!, with an error below 10^-9 of one from n = 30 on, and a sum of logarithms below.
pub(super) fn ln_factorial(n: f64) -> f64 {
    if n < 30.0 {
        return (2..=n as u32).map(|i| f64::from(i).ln()).sum();
    }
    let x = n + 1.0;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3))
        + 1.0 / (1260.0 * x.powi(5))
}

/// The natural logarithm of a binomial coefficient.
pub(super) fn ln_binomial(n: f64, k: f64) -> f64 {
    if k < 0.0 || k > n { f64::NEG_INFINITY } else { ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k) }
}

/// ln of the sum of e^x.
pub(super) fn ln_sum(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln()
}
