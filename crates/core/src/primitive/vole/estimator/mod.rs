//! Cost of attacks on the silent protocols with [`Parameters`]: the reason for the numbers in [`super::params`].
//!
//! `lpn_estimate` among the benchmarks prints the table.

pub(crate) mod attacks;
pub(crate) mod distance;
mod minimize;
#[cfg(test)]
mod recomputed;
mod wide;

use super::code::{FIELD_MEMORY, binary};
use super::params::{Parameters, VoleKind};
use attacks::Instance;
use distance::{Ensemble, Incidence, Map};

/// Bits of a node of the trees.
const SEED_BITS: f64 = 128.0;

/// The costs of all attacks on one run, as powers of two; the least counts.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// A linear test of the outputs, for the distance that the code has: the reciprocal of its success.
    pub linear_test: f64,
    /// See `attacks::pooled_gauss`.
    pub pooled_gauss: f64,
    /// See `attacks::permutation_decoding`.
    pub permutation_decoding: f64,
    /// See `attacks::enumeration_decoding`; over GF(2) only.
    pub enumeration_decoding: Option<f64>,
    /// See `attacks::algebraic`.
    pub algebraic: f64,
    /// A guess of a node that the receiver lacks: no attack on the code, so `Costs::least` leaves it out. One pair of
    /// AES keys expands a level of one run, where each of the t trees has one such node, and one call tests a guess for
    /// all.
    pub trees: f64,
}

impl Costs {
    /// The costs for these parameters.
    pub fn new(parameters: &Parameters) -> Costs {
        let (kind, instance) = (parameters.kind, instance(parameters));
        let distance = f64::from(kind.distance(parameters.outputs)) / 1000.0;
        let binary = kind == VoleKind::Binary;
        Costs {
            linear_test: parameters.trees as f64 * kind.linear_bits(distance),
            pooled_gauss: attacks::pooled_gauss(instance),
            permutation_decoding: attacks::permutation_decoding(instance, binary),
            enumeration_decoding: binary.then(|| attacks::enumeration_decoding(instance)),
            algebraic: attacks::algebraic(instance, binary),
            trees: SEED_BITS - (parameters.trees as f64).log2(),
        }
    }

    /// The least of all attacks on the code.
    #[cfg(test)]
    pub(crate) fn least(&self) -> f64 {
        let enumeration = self.enumeration_decoding.unwrap_or(f64::INFINITY);
        [self.linear_test, self.pooled_gauss, self.permutation_decoding, enumeration, self.algebraic]
            .into_iter()
            .fold(f64::INFINITY, f64::min)
    }
}

/// The instance of LPN whose dual form a run is.
pub(crate) fn instance(parameters: &Parameters) -> Instance {
    let samples = parameters.trees * parameters.leaves;
    Instance { samples, unknowns: samples - parameters.outputs, noise: parameters.trees }
}

/// The ensemble that a run's code is drawn from.
pub(crate) fn ensemble(parameters: &Parameters) -> Ensemble {
    let map = match parameters.kind {
        VoleKind::Field => Map::Delayed { memory: FIELD_MEMORY, bits: 128.0 },
        VoleKind::Binary => Map::Binary { memory: binary::MEMORY },
    };
    Ensemble {
        outputs: parameters.outputs,
        regions: parameters.kind.regions(),
        length: parameters.length,
        incidence: Incidence::Regional,
        map,
        bias: 1.0 + parameters.length as f64 / 2f64.powi(32),
    }
}

/// log2 of a bound for the probability that a run's code has a word lighter than its distance says, at the places that
/// can be noisy: positions without leaves don't count.
pub fn code_failure(parameters: &Parameters) -> f64 {
    ensemble(parameters).failure(cutoff(parameters))
}

/// The least weight that a word has to have.
fn cutoff(parameters: &Parameters) -> f64 {
    let leaves = parameters.trees * parameters.leaves;
    let distance = f64::from(parameters.kind.distance(parameters.outputs)) / 1000.0;
    (distance * leaves as f64).ceil() + (parameters.symbols() - leaves) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::vole::params::{CODE_BITS, FIELD_DISTANCES, MAX_OUTPUTS, MIN_OUTPUTS, SECURITY_BITS};
    use crate::security::Chance;

    #[test]
    fn every_attack_costs_as_much_as_promised() {
        for kind in [VoleKind::Field, VoleKind::Binary] {
            for outputs in [MIN_OUTPUTS, 1 << 20, MAX_OUTPUTS] {
                let costs = Costs::new(&Parameters::new(kind, outputs).unwrap());
                assert!(costs.least() >= SECURITY_BITS, "{kind:?} {outputs}: {costs:?}");
                assert!(costs.trees >= 118.0, "{kind:?} {outputs}: {costs:?}");
                // The number of trees is not larger than needed either.
                assert!(costs.linear_test < SECURITY_BITS + 1.0);
            }
        }
    }

    /// Checks that all codes over the field together fail with at most three fifths of the probability that codes may
    /// have. The most likely ones to be bad are those with the most outputs for their distance. The next smaller ones
    /// are less likely so by at least 1.3 bits, and so on.
    #[test]
    fn codes_over_the_field_have_their_distance() {
        let failure = |outputs: usize| code_failure(&Parameters::new(VoleKind::Field, outputs).unwrap());
        let mut all = 0.0;
        for outputs in FIELD_DISTANCES.map(|(bits, _)| 1 << bits).into_iter().chain([MIN_OUTPUTS]) {
            let failure = failure(outputs);
            assert!(failure <= -f64::from(CODE_BITS), "{outputs}: 2^{failure}");
            all += failure.exp2() / (1.0 - (-1.3f64).exp2());
        }
        assert!(all <= 0.6 * (-f64::from(Chance::Code.bits())).exp2(), "2^{}", all.log2());
        for bits in [19, 20, 21] {
            let next = (1 << bits) - (1 << bits) / 32;
            assert!(failure(next) <= failure(1 << bits) - 1.3, "{next}: 2^{}", failure(next));
        }
    }

    /// Small supports are what counts; the rest takes minutes for each size.
    #[test]
    fn codes_over_bits_have_their_distance_for_small_supports() {
        for outputs in [MIN_OUTPUTS, 1 << 20, MAX_OUTPUTS] {
            let parameters = Parameters::new(VoleKind::Binary, outputs).unwrap();
            let ensemble = ensemble(&parameters);
            let cutoff = cutoff(&parameters);
            let sum = |output: f64| {
                let bounds = ensemble.exact(3, cutoff, distance::Markers { output, equation: 0.0 });
                bounds.iter().map(|ln| ln.exp()).sum::<f64>().log2()
            };
            let least = (4..28).map(|step| sum(1.3f64.powi(step) / ensemble.n() as f64)).fold(0.0, f64::min);
            assert!(least <= -f64::from(CODE_BITS), "{outputs}: 2^{least}");
        }
    }

    /// Every code that there is, and all of them together.
    #[test]
    #[ignore = "bounds every code of the tables: hours"]
    fn codes_have_their_distance() {
        let mut all = 0.0;
        for kind in [VoleKind::Field, VoleKind::Binary] {
            let mut outputs = MIN_OUTPUTS;
            while outputs <= MAX_OUTPUTS {
                let failure = code_failure(&Parameters::new(kind, outputs).unwrap());
                println!("{kind:?} {outputs}: 2^{failure:.2}");
                assert!(failure <= -f64::from(CODE_BITS), "{kind:?} {outputs}: 2^{failure}");
                all += failure.exp2();
                outputs = kind.code_outputs(outputs + 1);
            }
        }
        assert!(all.log2() <= -f64::from(Chance::Code.bits()), "2^{}", all.log2());
    }
}
