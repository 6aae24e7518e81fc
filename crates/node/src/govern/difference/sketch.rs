//! Sketch of a multiset of 64-bit hashes, by which the difference of two is known exactly if it is small.
//!
//! The sketch holds the power sums of its elements in a prime field: the syndromes of PinSketch (Dodis, Ostrovsky,
//! Reyzin & Smith, "Fuzzy Extractors", 2008, section 6.3), over a prime field in place of one of characteristic 2, so
//! that an element is there as often as it occurs, and a difference has signs. The difference of two sketches is one of
//! the difference: sums of c_i x_i^k with few terms, which are found as by Ben-Or & Tiwari ("A deterministic algorithm
//! for sparse multivariate polynomial interpolation", 1988): recurrence, roots, coefficients.
//!
//! Two more sums than are needed tell a difference that is too large from one that is not: if more than `capacity`
//! elements differ, a shorter recurrence fits by chance with probability below capacity^2 / 2^64, for elements that are
//! hashes under a key.

use rayon::prelude::*;

use super::field::Element;
use super::polynomial::{coefficients, recurrence, roots};
use crate::base::hex::{hex, unhex};

/// Elements that are raised to powers at the same time.
const LANES: usize = 8;

/// Bytes of one sum.
const SUM_BYTES: usize = 8;

/// Sketch of a multiset.
#[derive(Clone, PartialEq, Eq)]
pub struct Sketch {
    /// Sums of the k-th powers, for k from 0 on.
    sums: Vec<Element>,
}

/// Difference between two multisets: elements that one has more often than the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Number of different elements that the later one has more often.
    pub added: u64,
    /// Number of those that it has less often.
    pub removed: u64,
}

impl Difference {
    /// Returns the number of rows that differ at least: one that was changed is a row less and a row more.
    pub fn rows(self) -> u64 {
        self.added.max(self.removed)
    }
}

impl Sketch {
    /// A sketch of nothing, by which a difference of so many elements is known.
    pub fn new(capacity: usize) -> Sketch {
        Sketch { sums: vec![Element::ZERO; 2 * (capacity + 1)] }
    }

    /// Adds elements, on all threads.
    pub fn extend(&mut self, elements: &[u64]) {
        let length = self.sums.len();
        let parts = elements.par_chunks(1 << 12).map(|part| sums(part, length));
        let all = parts.reduce(|| vec![Element::ZERO; length], |a, b| added(&a, &b));
        self.sums = added(&self.sums, &all);
    }

    /// Returns the difference from an earlier sketch in different elements; none if it is larger than the smaller
    /// capacity of the two.
    pub fn since(&self, earlier: &Sketch) -> Option<Difference> {
        Some(difference(&self.terms(earlier)?, |_| 1))
    }

    /// Returns the same difference in elements, each as often as one has it more than the other.
    pub fn times_since(&self, earlier: &Sketch) -> Option<Difference> {
        Some(difference(&self.terms(earlier)?, Element::value))
    }

    /// Returns how much more often this sketch has each element that differs, with its sign.
    fn terms(&self, earlier: &Sketch) -> Option<Vec<Element>> {
        let length = self.sums.len().min(earlier.sums.len());
        let sums: Vec<_> = self.sums.iter().zip(&earlier.sums).map(|(now, then)| now.sub(*then)).collect();
        let points = roots(&recurrence(&sums, (length / 2).checked_sub(1)?)?)?;
        Some(coefficients(&points, &sums))
    }

    /// Returns the sums in hexadecimal.
    pub fn encode(&self) -> String {
        hex(&self.sums.iter().flat_map(|sum| sum.value().to_le_bytes()).collect::<Vec<_>>())
    }

    /// Reads what [`Sketch::encode`] has written.
    pub fn decode(text: &str) -> Option<Sketch> {
        let bytes = unhex(text)?;
        let (sums, rest) = bytes.as_chunks::<SUM_BYTES>();
        let sums: Vec<_> = sums.iter().map(|sum| Element::new(u64::from_le_bytes(*sum))).collect();
        (rest.is_empty() && !sums.is_empty() && sums.len().is_multiple_of(2)).then_some(Sketch { sums })
    }
}

/// Returns the difference that terms make, each of which counts by its size.
fn difference(terms: &[Element], size: impl Fn(Element) -> u64) -> Difference {
    let mut all = Difference { added: 0, removed: 0 };
    for term in terms {
        let (side, term) = if term.is_positive() { (&mut all.added, *term) } else { (&mut all.removed, term.neg()) };
        *side = side.saturating_add(size(term));
    }
    all
}

/// Says nothing about the elements.
impl std::fmt::Debug for Sketch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sketch(..)")
    }
}

fn added(a: &[Element], b: &[Element]) -> Vec<Element> {
    a.iter().zip(b).map(|(a, b)| a.add(*b)).collect()
}

/// Returns the sums of the powers of some elements. None of them is zero, whose powers would not be told from nothing.
fn sums(elements: &[u64], length: usize) -> Vec<Element> {
    let mut sums = vec![Element::ZERO; length];
    for lanes in elements.chunks(LANES) {
        let (mut bases, mut powers) = ([Element::ZERO; LANES], [Element::ZERO; LANES]);
        for (lane, element) in lanes.iter().enumerate() {
            let base = Element::new(*element);
            bases[lane] = if base == Element::ZERO { Element::ONE } else { base };
            powers[lane] = Element::ONE;
        }
        for sum in &mut sums {
            let all = powers.iter().fold(u128::from(sum.value()), |all, power| all + u128::from(power.value()));
            *sum = Element::reduce(all);
            for (power, base) in powers.iter_mut().zip(&bases) {
                *power = power.mul(*base);
            }
        }
    }
    sums
}
