//! Bound on the probability that a code drawn from an ensemble has a word below a given weight, by the expected number
//! of such words.
//!
//! The ensembles are expand-convolute codes (Raghuraman, Rindal and Tanguy, CRYPTO 2023) with regular expanders, and
//! the bound is that of Rindal, *Expander-based codes at the Gilbert-Varshamov bound*, IACR ePrint 2026/2315: sums over
//! the supports of messages, with the weight of a word counted by a transfer matrix. [`Map::Field`] is the paper's
//! bound for large fields (its singleton-refined trace theorem) and reproduces the paper's numbers in the tests.
//!
//! What [`super::super::params`] uses differs from the paper in three places. The arguments for them are in
//! `docs/protocols/engine-vole.md`:
//!
//! - [`Incidence::Regional`]: the expander is regular on the left only. Each output draws one position in every region,
//!   with at most [`Ensemble::bias`] times the uniform probability.
//! - [`Map::Delayed`]: the convolution looks back from lag 4 on, and traces are told apart by the times at which the
//!   state becomes zero only, not by the places of single zeros, which the bound limits in number instead.
//! - Supports of which most positions of the expander are occupied are bounded by the size of the Hamming ball alone,
//!   as for a random code.

use std::f64::consts::LN_2;

use super::minimize::minimize;
use super::wide::{Matrix, Wide, ln_binomial, ln_factorial, ln_sum};

/// Distribution of a region's edges over its positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Incidence {
    /// Each position has exactly this many edges.
    #[cfg_attr(not(test), expect(dead_code, reason = "the formulas of both are compared with counted codes"))]
    TwoSided(usize),
    /// Edges that fall independently.
    Regional,
}

/// Map that follows the expander.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Map {
    /// GF(2): y_t = u_t + y_(t-m) + sum of b_(t,j) y_(t-j) for j below m, with random bits b. No edge labels.
    Binary {
        /// Memory m of the map.
        memory: usize,
    },
    /// A field of 2^bits elements: y_t = u_t + sum of b_(t,j) y_(t-j) for j from 1 to m, with random b in the field,
    /// and random labels other than zero on the edges.
    #[cfg_attr(not(test), expect(dead_code, reason = "what the tables were made with, which a test computes again"))]
    Field {
        /// Memory m of the map.
        memory: usize,
        /// Bits of a field element.
        bits: f64,
    },
    /// Same map as `Field`, with j from 4 to m + 3, for m of 6 at least.
    Delayed {
        /// Memory m of the map.
        memory: usize,
        /// Bits of a field element.
        bits: f64,
    },
}

/// An ensemble of codes of length `regions * length` and dimension `outputs`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ensemble {
    /// k, the dimension: what the dual encoder puts out.
    pub outputs: usize,
    /// Edges of each output: one in every region.
    pub regions: usize,
    /// Positions of a region.
    pub length: usize,
    /// See [`Incidence`].
    pub incidence: Incidence,
    /// See [`Map`].
    pub map: Map,
    /// Factor by which the probability of a position may exceed the uniform one.
    pub bias: f64,
}

/// Positive numbers that a bound holds for, whatever they are: z = e^-`output` marks a word's weight, v = e^-`equation`
/// a condition on the code's random choices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Markers {
    /// Positive exponent of the marker z: -ln z.
    pub output: f64,
    /// -ln v, positive and at most the logarithm of the field's size less one.
    pub equation: f64,
}

/// Probability, as a power of two, that is given away for each support size to limit a word's number of equations.
const GIVEN_AWAY: f64 = -100.0;

impl Ensemble {
    /// Returns the length of the code.
    pub(crate) fn n(&self) -> usize {
        self.regions * self.length
    }

    fn field_bits(&self) -> f64 {
        match self.map {
            Map::Binary { .. } => 1.0,
            Map::Field { bits, .. } | Map::Delayed { bits, .. } => bits,
        }
    }

    fn binary(&self) -> bool {
        matches!(self.map, Map::Binary { .. })
    }

    /// States of the transfer matrix. The last one is the zero state.
    fn states(&self) -> usize {
        match self.map {
            Map::Binary { memory } | Map::Field { memory, .. } => memory + 1,
            Map::Delayed { .. } => 2,
        }
    }

    /// Classes of positions by their number of edges from the support: even and odd over GF(2), otherwise none, one,
    /// and more.
    fn class(&self, edges: usize) -> usize {
        if self.binary() { edges % 2 } else { edges.min(2) }
    }

    /// The largest support that is counted exactly; larger ones are bounded by further markers.
    fn exact_supports(&self) -> usize {
        let affordable = if self.states() == 2 { 96 } else { 24 };
        affordable.min(self.outputs)
    }

    fn classes(&self) -> usize {
        if self.binary() { 2 } else { 3 }
    }

    /// The transfer matrix of a position of `class`.
    fn transfer(&self, class: usize, markers: Markers) -> Vec<f64> {
        let (size, z, v) = (self.states(), (-markers.output).exp(), (-markers.equation).exp());
        let (zero, mut entries) = (size - 1, vec![0.0; size * size]);
        let at = |row: usize, column: usize| row * size + column;
        match self.map {
            Map::Binary { memory } => {
                // State j has j trailing zeros. With only the oldest bit left, the output is the opposite of the input.
                for j in 0..memory - 1 {
                    entries[at(j, 0)] += 0.5 * z;
                    entries[at(j, j + 1)] += 0.5;
                }
                let (on, off) = if class == 1 { (zero, memory - 1) } else { (memory - 1, zero) };
                entries[at(on, 0)] += z;
                entries[at(off, zero)] += 1.0;
                return entries;
            }
            Map::Field { memory, .. } => {
                for j in 0..memory {
                    entries[at(j, 0)] += z;
                    entries[at(j, j + 1)] += v;
                }
            }
            Map::Delayed { memory, .. } => {
                entries[at(0, 0)] = z;
                entries[at(0, zero)] = z * v.powi(memory as i32);
            }
        }
        // From the zero state: one edge gives a nonzero output, several may cancel.
        match class {
            0 => entries[at(zero, zero)] = 1.0,
            1 => entries[at(zero, 0)] = z,
            _ => {
                entries[at(zero, 0)] = z;
                entries[at(zero, zero)] = v;
            }
        }
        entries
    }

    /// ln of the normalisation of a region's coefficient of x^r, so that the coefficient becomes a probability.
    fn ln_ways(&self, support: f64) -> f64 {
        match self.incidence {
            Incidence::TwoSided(right) => ln_binomial((self.length * right) as f64, support),
            Incidence::Regional => {
                support * (self.length as f64).ln() - ln_factorial(support) - support * self.bias.ln()
            }
        }
    }

    /// The weights of the classes of a position in the generating function at x, times e^-scale, and the scale.
    fn weights(&self, x: f64) -> (Vec<f64>, f64) {
        let (scale, one) = match self.incidence {
            Incidence::Regional => (x, x),
            Incidence::TwoSided(right) => (right as f64 * x.ln_1p(), right as f64 * x),
        };
        let weights = if self.binary() {
            // The sum with alternating signs, relative to that without, and one less it.
            let (alternating, complement) = match self.incidence {
                Incidence::Regional => ((-2.0 * x).exp(), -(-2.0 * x).exp_m1()),
                Incidence::TwoSided(right) => {
                    let ratio = ((1.0 - x) / (1.0 + x)).powi(right as i32);
                    (ratio, 1.0 - ratio)
                }
            };
            vec![0.5 * (1.0 + alternating), 0.5 * complement]
        } else {
            let none = (-scale).exp();
            // Where the terms would cancel, the series: its terms are positive.
            let more = match self.incidence {
                Incidence::Regional if x < 0.01 => none * x * x * (0.5 + x / 6.0 + x * x / 24.0 + x.powi(3) / 100.0),
                _ => (1.0 - none - one * none).max(0.0),
            };
            vec![none, one * none, more]
        };
        (weights, scale)
    }

    /// A position's matrix in the generating function at x, times e^-scale, and the scale.
    fn position(&self, x: f64, markers: Markers) -> (Matrix, f64) {
        let (weights, scale) = self.weights(x);
        let mut entries = vec![0.0; self.states() * self.states()];
        for (class, weight) in weights.iter().enumerate() {
            let transfer = self.transfer(class, markers);
            entries.iter_mut().zip(transfer).for_each(|(sum, entry)| *sum += weight * entry);
        }
        (Matrix::new(self.states(), entries.into_iter().map(Wide::new)), scale)
    }

    /// Excess over `cutoff` that the number of a word's active positions may have, if its support has `support`
    /// elements. Active positions are those of an active state with output zero. Without limit if the trace counts
    /// them.
    ///
    /// A word has more than r - 1 + e equations with probability at most C(k, r) C(n, r + e) q^-(1 + e) for any of the
    /// q^(r-1) lines of any support; e makes that 2^[`GIVEN_AWAY`]. An active zero is an equation, or one of at most
    /// three that follow each entry into the active state or each three equations.
    fn slack(&self, support: usize) -> f64 {
        let Map::Delayed { memory, bits } = self.map else { return 0.0 };
        let (n, r) = (self.n() as f64, support as f64);
        let excess = |e: f64| (ln_binomial(self.outputs as f64, r) + ln_binomial(n, r + e)) / LN_2 - bits * (1.0 + e);
        let (mut low, mut high) = (-1.0, n - r);
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            if excess(middle) <= GIVEN_AWAY { high = middle } else { low = middle }
        }
        let equations = r + high;
        2.0 * equations + 3.0 * (equations / memory as f64 + 1.0)
    }

    /// ln of the factors that depend on the support only, and on markers.
    fn ln_outside(&self, support: usize, cutoff: f64, slack: f64, markers: Markers) -> f64 {
        let projective = if self.binary() { 0.0 } else { (support as f64 - 1.0) * markers.equation };
        ln_binomial(self.outputs as f64, support as f64) + projective + (cutoff + slack) * markers.output
    }

    /// Whether a bound with these markers holds.
    fn allows(&self, markers: Markers) -> bool {
        let limit = if self.binary() { f64::INFINITY } else { (2f64.powf(self.field_bits()) - 1.0).ln() };
        // Powers of the markers that an `f64` cannot hold would count as zero.
        let memory = match self.map {
            Map::Delayed { memory, .. } => memory as f64,
            _ => 1.0,
        };
        let field = markers.equation > 0.0 && markers.equation < limit && memory * markers.equation < 600.0;
        markers.output > 0.0 && markers.output < 60.0 && (self.binary() || field)
    }

    /// ln of the bounds for all supports of 1 to `largest` elements, with the regions' coefficients computed exactly.
    pub(crate) fn exact(&self, largest: usize, cutoff: f64, markers: Markers) -> Vec<f64> {
        let size = self.states();
        // x stands for x * unit, so that coefficients are comparable.
        let unit = largest as f64 / self.length as f64;
        let unit = if let Incidence::TwoSided(right) = self.incidence { unit / right as f64 } else { unit };
        let (_, scale) = self.weights(unit);
        let transfers: Vec<Vec<f64>> = (0..self.classes()).map(|class| self.transfer(class, markers)).collect();
        let mut ways = 1.0;
        let mut position = Polynomials::zero(size, largest);
        for edges in 0..=largest {
            if edges > 0 {
                ways *= unit / edges as f64
                    * match self.incidence {
                        Incidence::Regional => 1.0,
                        Incidence::TwoSided(right) => (right as f64 + 1.0 - edges as f64).max(0.0),
                    };
            }
            for (entry, &transfer) in transfers[self.class(edges)].iter().enumerate() {
                position.coefficients[entry][edges] = transfer * ways * (-scale).exp();
            }
        }
        let region = position.normal().power(self.length);
        (1..=largest)
            .map(|support| {
                let r = support as f64;
                let matrix = Matrix::new(size, (0..size * size).map(|entry| region.coefficient(entry, support)));
                let each = scale * self.length as f64 - r * unit.ln() - self.ln_ways(r);
                self.ln_outside(support, cutoff, self.slack(support), markers)
                    + matrix.row_sum_of_power(size - 1, self.regions).ln()
                    + self.regions as f64 * each
            })
            .collect()
    }

    /// ln of a bound for the sum over all supports of `first` to `last` elements, with each entry of a region's
    /// coefficient bounded by a marker x of its own.
    fn block(&self, first: usize, last: usize, cutoff: f64, markers: Markers) -> f64 {
        if !self.allows(markers) {
            return f64::INFINITY;
        }
        let (size, middle) = (self.states(), ((first as f64) * (last as f64)).sqrt());
        let mut even = middle / self.length as f64;
        if let Incidence::TwoSided(right) = self.incidence {
            even /= right as f64;
        }
        // For each entry, ln of its value and ln x, for the x that makes its bound least at the middle.
        let mut best = vec![(f64::INFINITY, 0.0, 0.0); size * size];
        let mut x = even / 64.0;
        while x < (even * 1e6).min(60.0) {
            let (position, scale) = self.position(x, markers);
            let region = position.power(self.length);
            for (best, entry) in best.iter_mut().zip(&region.entries) {
                let ln = entry.ln() + scale * self.length as f64;
                if ln - middle * x.ln() < best.0 {
                    *best = (ln - middle * x.ln(), ln, x.ln());
                }
            }
            x *= if x < 8.0 * even { 1.35 } else { 2.5 };
        }
        let slack = self.slack(last);
        let at = |support: usize| {
            let r = support as f64;
            let entry = |&(_, ln, x): &(f64, f64, f64)| Wide::exp(ln - r * x - self.ln_ways(r));
            let matrix = Matrix::new(size, best.iter().map(entry));
            self.ln_outside(support, cutoff, slack, markers) + matrix.row_sum_of_power(size - 1, self.regions).ln()
        };
        self.over_block(first, last, at)
    }

    /// ln of a bound for the sum of e^f over a block, where f without the binomial coefficient of the outputs is a
    /// convex function of the support, as long as no less than half of the outputs are in it.
    ///
    /// With the coefficient it is convex too up to (d - 1) / d of the outputs: its second difference is at least
    /// (d - 1) / (r + 1) - 1 / (k - r). Beyond, the coefficient is at most the block's first one.
    fn over_block(&self, first: usize, last: usize, at: impl Fn(usize) -> f64) -> f64 {
        let k = self.outputs as f64;
        let ends = [first, last].map(|support| {
            let beyond = last as f64 > 0.8 * k;
            let larger = ln_binomial(k, first as f64) - ln_binomial(k, support as f64);
            at(support) + if beyond { larger } else { 0.0 }
        });
        ends[0].max(ends[1]) + ((last - first + 1) as f64).ln()
    }

    /// ln of a bound for the sum over all supports of a block that does not look at the convolution: it is invertible,
    /// so that as many words of the expander lead to low weight as the ball holds, and each of them is hit with a
    /// probability of at most 1 / (q - 1) for each occupied position.
    ///
    /// For v = q^-t with t at most 1, min(1, q^(r-1) B q^(L-o)) <= v^(o-L-r+1) B^t, where B q^L is the ball's size.
    fn dense(&self, first: usize, last: usize, cutoff: f64, equation: f64) -> f64 {
        let full = (2f64.powf(self.field_bits()) - 1.0).ln();
        if self.binary() || self.incidence != Incidence::Regional || equation <= 0.0 || equation > full {
            return f64::INFINITY;
        }
        let (n, v, even) = (self.n() as f64, (-equation).exp(), (first + last) as f64 / (2 * self.length) as f64);
        let ball = ln_binomial(n, cutoff) + (cutoff + 1.0).ln();
        let region = |x: f64| self.length as f64 * (1.0 - v + v * x.exp()).ln();
        // The marker x of a region: any positive number will do.
        let middle = (first + last) as f64 / 2.0;
        let (_, x) = minimize(|x| region(x[0].exp()) - middle * x[0], &[even.ln()], 0.3, 60);
        let x = x[0].exp();
        let at = |support: usize| {
            let r = support as f64;
            ln_binomial(self.outputs as f64, r)
                + (r - 1.0 + cutoff) * equation
                + ball * equation / full
                + self.regions as f64 * (region(x) - r * x.ln() - self.ln_ways(r))
        };
        self.over_block(first, last, at)
    }

    /// log2 of a bound for the probability that the code has a word other than zero whose weight is at most `cutoff`.
    pub(crate) fn failure(&self, cutoff: f64) -> f64 {
        let mut parts = Vec::new();
        let start = [(100.0 / self.n() as f64).ln(), 20f64.ln()];
        let dimensions = if self.binary() { 1 } else { 2 };
        let markers = |point: &[f64]| Markers {
            output: point[0].exp(),
            equation: if dimensions == 2 { point[1].exp() } else { 0.0 },
        };
        let mut at = start[..dimensions].to_vec();
        let mut first = 1;
        let exact = self.exact_supports();
        while first <= exact {
            let last = (first + first / 4).min(exact);
            let bound = |point: &[f64]| {
                if !self.allows(markers(point)) {
                    return f64::INFINITY;
                }
                ln_sum(&self.exact(last, cutoff, markers(point))[first - 1..])
            };
            let again = minimize(bound, &start[..dimensions], 0.5, 80);
            let from_last = minimize(bound, &at, 0.3, 80);
            let best = if again.0 < from_last.0 { again } else { from_last };
            parts.push(best.0);
            at = best.1;
            first = last + 1;
        }
        while first <= self.outputs {
            let last = self.block_end(first);
            let bound = |point: &[f64]| self.block(first, last, cutoff, markers(point));
            let mut best = minimize(bound, &at, 0.2, 60);
            // What counts is at small supports; there a second start is worth its time.
            if first < 200 {
                let other =
                    minimize(bound, &[(10.0 * first as f64 / self.n() as f64).ln(), 2f64.ln()][..dimensions], 0.5, 60);
                if other.0 < best.0 {
                    best = other;
                }
            }
            let mut ln = best.0;
            if best.0 > -200.0 || first * 16 > self.outputs {
                let dense = |point: &[f64]| self.dense(first, last, cutoff, point[0].exp());
                ln = ln.min(minimize(dense, &[3f64.ln()], 0.5, 40).0);
            }
            parts.push(ln);
            at = best.1;
            first = last + 1;
        }
        if matches!(self.map, Map::Delayed { .. }) {
            parts.push(GIVEN_AWAY * LN_2 + (self.outputs as f64).ln());
        }
        ln_sum(&parts) / LN_2
    }

    /// The last support of the block that starts with `first`: blocks are narrow where many messages differ.
    fn block_end(&self, first: usize) -> usize {
        let k = self.outputs;
        let width = if first < k / 8 { first / 7 } else { (k / 64).min(1 + (k - first) / 8) };
        (first + width).min(k)
    }
}

/// A matrix of polynomials in x, each cut off after its largest power, with an exponent of two of its own.
#[derive(Clone)]
struct Polynomials {
    size: usize,
    coefficients: Vec<Vec<f64>>,
    exponents: Vec<i32>,
}

impl Polynomials {
    fn zero(size: usize, degree: usize) -> Polynomials {
        Polynomials { size, coefficients: vec![vec![0.0; degree + 1]; size * size], exponents: vec![0; size * size] }
    }

    fn coefficient(&self, entry: usize, power: usize) -> Wide {
        Wide::new(self.coefficients[entry][power]).times(Wide::exp(f64::from(self.exponents[entry]) * LN_2))
    }

    /// Normalises each entry so that its largest coefficient is between one and two.
    fn normal(mut self) -> Polynomials {
        for (coefficients, exponent) in self.coefficients.iter_mut().zip(&mut self.exponents) {
            let largest = coefficients.iter().copied().fold(0.0, f64::max);
            if largest > 0.0 {
                let bits = largest.log2().floor();
                coefficients.iter_mut().for_each(|coefficient| *coefficient *= (-bits).exp2());
                *exponent += bits as i32;
            }
        }
        self
    }

    fn times(&self, other: &Polynomials) -> Polynomials {
        let (size, terms) = (self.size, self.coefficients[0].len());
        let mut product = Polynomials::zero(size, terms - 1);
        let is_zero = |coefficients: &[f64]| coefficients.iter().all(|&coefficient| coefficient == 0.0);
        for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
            let pairs: Vec<(usize, usize)> = (0..size)
                .map(|inner| (row * size + inner, inner * size + column))
                .filter(|&(a, b)| !is_zero(&self.coefficients[a]) && !is_zero(&other.coefficients[b]))
                .collect();
            let exponent = |&(a, b): &(usize, usize)| self.exponents[a] + other.exponents[b];
            let Some(largest) = pairs.iter().map(exponent).max() else { continue };
            let out = &mut product.coefficients[row * size + column];
            for pair in &pairs {
                let factor = f64::from(exponent(pair) - largest).exp2();
                for (power, &a) in self.coefficients[pair.0].iter().enumerate() {
                    let others = &other.coefficients[pair.1][..terms - power];
                    out[power..].iter_mut().zip(others).for_each(|(sum, &b)| *sum += a * factor * b);
                }
            }
            product.exponents[row * size + column] = largest;
        }
        product.normal()
    }

    fn power(&self, exponent: usize) -> Polynomials {
        let (mut square, mut rest) = (self.clone(), exponent);
        let mut power: Option<Polynomials> = None;
        loop {
            if rest & 1 == 1 {
                power = Some(power.map_or_else(|| square.clone(), |power| power.times(&square)));
            }
            rest >>= 1;
            if rest == 0 {
                return power.expect("a region has positions");
            }
            square = square.times(&square);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The certificate of ePrint 2026/2315 for GF(2^128), degrees 26/13 and memory 4: the paper's code, supports of at
    /// most 400 with the markers that its verifier fixes (z and v of the structural branch). The paper's audit gives
    /// the sum over all exactly counted supports as 1.995985733803546e-41, which rests on these.
    #[test]
    fn the_papers_certificate_is_reproduced() {
        let k = 1_048_567;
        let ensemble = Ensemble {
            outputs: k,
            regions: 26,
            length: k / 13,
            incidence: Incidence::TwoSided(13),
            map: Map::Field { memory: 4, bits: 128.0 },
            bias: 1.0,
        };
        assert_eq!(ensemble.n(), 2_097_134);
        let bands = [
            (1, 8, 0.9991447773967677f64, 5.839835298989263e-22f64),
            (9, 16, 0.9967622332862647, 2.4826055705733867e-55),
            (17, 32, 0.9985604162688718, 3.6970904119057333e-13),
            (33, 64, 0.9985527284526642, 9.420467108948146e-6),
            (65, 96, 0.9979801845055196, 6.855802703817471e-5),
            (97, 128, 0.9972801872091132, 9.252994173875877e-5),
        ];
        let total: f64 = bands
            .iter()
            .map(|&(first, last, z, v)| {
                let markers = Markers { output: -z.ln(), equation: -v.ln() };
                ensemble.exact(last, 1_015_822.0, markers)[first - 1..].iter().map(|ln| ln.exp()).sum::<f64>()
            })
            .sum();
        assert!((total / 1.995985733803546e-41 - 1.0).abs() < 1e-6, "{total:e}");
        assert!(total.log2() < -135.20 && total.log2() > -135.21);
    }
}
