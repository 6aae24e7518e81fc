//! Parameters of the silent protocols: number of trees, their size, and the distance.
//!
//! The number t of noisy places follows from the relative distance d of the code: a linear test of the outputs succeeds
//! with probability (1 - d)^t over GF(2^128), and has bias (1 - 2 d)^t over GF(2) (Boyle et al., CRYPTO 2020), which
//! has to be at most 2^-128. d is a multiple of 0.005 for which a code of the ensemble has a lighter word with
//! probability at most 2^-46, computed by `estimator::distance`. All other attacks cost more: see [`super::estimator`],
//! whose tests check some of the tables' entries, and in the long run all of them.

use super::code::{FIELD_REGIONS, binary};
use crate::error::{Error, Result};

/// Computational security in bits.
pub(crate) const SECURITY_BITS: f64 = 128.0;

/// A code is worse than its distance says with probability at most 2^-this. There are few codes
/// ([`VoleKind::code_outputs`]), all of which an attempt at a job draws at once, however many runs, keys, buckets or
/// parties it has: any of them is worse with 2^-44 at most ([`Chance::Code`]). Only at the upper end of its distance's
/// sizes a code is near 2^-46.
#[cfg(test)]
pub(crate) const CODE_BITS: u32 = crate::security::Chance::Code.bits() + 2;

/// The most outputs that a run can be made for.
pub const MAX_OUTPUTS: usize = 1 << 25;

/// The outputs of one run when more are wanted: memory stays bounded, and what is read at random stays near.
pub(crate) const RUN_OUTPUTS: usize = 1 << 22;

/// The least outputs that are computed in a run, however few are wanted.
pub const MIN_OUTPUTS: usize = 1 << 12;

/// Kind of correlation, which decides about the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoleKind {
    /// Correlation of elements of GF(2^128).
    Field,
    /// Bits times a block.
    Binary,
}

/// For up to 2^i outputs, thousandths of the relative distance: those of [`VoleKind::Field`].
pub(crate) const FIELD_DISTANCES: [(u32, u32); 10] =
    [(16, 210), (17, 200), (18, 180), (19, 165), (20, 150), (21, 135), (22, 120), (23, 110), (24, 100), (25, 90)];

/// Distances as in [`FIELD_DISTANCES`], for [`VoleKind::Binary`].
pub(crate) const BINARY_DISTANCES: [(u32, u32); 4] = [(20, 95), (22, 85), (24, 80), (25, 75)];

impl VoleKind {
    /// Thousandths of the relative distance for so many outputs, which are at most [`MAX_OUTPUTS`].
    pub fn distance(self, outputs: usize) -> u32 {
        let table: &[(u32, u32)] = match self {
            VoleKind::Field => &FIELD_DISTANCES,
            VoleKind::Binary => &BINARY_DISTANCES,
        };
        let fitting = table.iter().find(|&&(bits, _)| outputs <= 1 << bits);
        fitting.expect("one run has at most 2^25 outputs").1
    }

    /// log2 of what one noisy place leaves of a linear test's success: log2(1 - d), or log2(1 - 2 d) for bits.
    pub(crate) fn linear_bits(self, distance: f64) -> f64 {
        match self {
            VoleKind::Field => -(1.0 - distance).log2(),
            VoleKind::Binary => -(1.0 - 2.0 * distance).log2(),
        }
    }

    /// Sizes of codes from a power of two to below the next.
    const fn sizes(self) -> usize {
        match self {
            VoleKind::Field => 16,
            VoleKind::Binary => 8,
        }
    }

    /// Outputs of the code that a run with so many has: of the sizes that there are, the least that is enough. All runs
    /// whose code has one size have the same.
    pub(crate) fn code_outputs(self, outputs: usize) -> usize {
        let outputs = outputs.max(MIN_OUTPUTS);
        outputs.next_multiple_of(outputs.next_power_of_two() / 2 / self.sizes())
    }

    /// Regions of the code.
    pub(crate) fn regions(self) -> usize {
        match self {
            VoleKind::Field => FIELD_REGIONS,
            VoleKind::Binary => binary::REGIONS,
        }
    }
}

/// The parameters of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Kind of correlation that is made.
    pub kind: VoleKind,
    /// k: outputs of the code, which are those that the run is made for or somewhat more.
    pub outputs: usize,
    /// t: trees, and noisy places.
    pub trees: usize,
    /// Leaves of a tree: one noisy place each.
    pub leaves: usize,
    /// Levels below the root.
    pub depth: usize,
    /// Positions of a region of the code. All regions together have all leaves, and a few zeros.
    pub length: usize,
}

impl Parameters {
    /// The parameters for a run with `outputs` outputs, of which there must be one at least and [`MAX_OUTPUTS`] at
    /// most.
    pub fn new(kind: VoleKind, outputs: usize) -> Result<Parameters> {
        if outputs == 0 || outputs > MAX_OUTPUTS {
            return Err(Error::Internal(format!("a run of a silent protocol cannot have {outputs} outputs")));
        }
        let outputs = kind.code_outputs(outputs);
        let distance = f64::from(kind.distance(outputs)) / 1000.0;
        let trees = (SECURITY_BITS / kind.linear_bits(distance)).ceil() as usize;
        let leaves = (2 * outputs).div_ceil(trees);
        let depth = leaves.next_power_of_two().ilog2() as usize;
        let length = (trees * leaves).div_ceil(kind.regions());
        Ok(Parameters { kind, outputs, trees, leaves, depth, length })
    }

    /// N: symbols of the code's input.
    pub fn symbols(&self) -> usize {
        self.kind.regions() * self.length
    }

    /// Nodes of a tree that are computed on `level`, from 0 for the root to [`Parameters::depth`]: those above the
    /// leaves that count.
    pub fn nodes(&self, level: usize) -> usize {
        self.leaves.div_ceil(1 << (self.depth - level))
    }

    /// Position on `level` of the node that is computed though it leads to no leaf that counts. The node stands behind
    /// all others, as a right child. On the last level there is none, as the sums have it. Trees drop the node, and
    /// their tips add it.
    pub(super) fn dropped(&self, level: usize) -> Option<usize> {
        let nodes = self.nodes(level);
        (level < self.depth && 2 * self.nodes(level - 1) > nodes).then_some(nodes)
    }

    /// Correlated OTs that the trees take.
    pub(crate) fn tree_transfers(&self) -> usize {
        self.trees * self.depth
    }

    /// Bytes of a [`TREE_SUMS`](super::TREE_SUMS).
    pub fn sums_bytes(&self) -> usize {
        2 * self.trees * 16
    }

    /// Length of [`TREE_TIPS`](super::TREE_TIPS) in bytes.
    pub fn tips_bytes(&self) -> usize {
        self.trees * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_few_codes() {
        for (kind, sizes) in [(VoleKind::Field, 16), (VoleKind::Binary, 8)] {
            let all: std::collections::BTreeSet<usize> =
                (1..=MAX_OUTPUTS).step_by(61).map(|outputs| kind.code_outputs(outputs)).collect();
            assert_eq!(all.len(), (MAX_OUTPUTS / MIN_OUTPUTS).ilog2() as usize * sizes + 1);
            for outputs in (1..=MAX_OUTPUTS).step_by(997).chain([MIN_OUTPUTS, MIN_OUTPUTS + 1, MAX_OUTPUTS]) {
                let code = kind.code_outputs(outputs);
                assert!(code >= outputs && code <= (outputs + outputs / sizes + 1).max(MIN_OUTPUTS), "{outputs}");
                assert_eq!((kind.code_outputs(code), kind.distance(code)), (code, kind.distance(outputs)));
            }
        }
    }

    #[test]
    fn every_size_fits() {
        let sizes = (0..=25).flat_map(|bits| [(1usize << bits) - 1, 1 << bits, (1 << bits) + 1]);
        for (outputs, kind) in sizes.flat_map(|outputs| [VoleKind::Field, VoleKind::Binary].map(|kind| (outputs, kind)))
        {
            if outputs == 0 || outputs > MAX_OUTPUTS {
                assert!(Parameters::new(kind, outputs).is_err());
                continue;
            }
            let parameters = Parameters::new(kind, outputs).unwrap();
            let places = parameters.trees * parameters.leaves;
            assert!(places >= 2 * parameters.outputs && parameters.outputs >= outputs);
            assert!(parameters.symbols() >= places && parameters.symbols() < places + kind.regions());
            assert_eq!((parameters.nodes(0), parameters.nodes(parameters.depth)), (1, parameters.leaves));
            for level in 0..parameters.depth {
                let children = 2 * parameters.nodes(level);
                assert!((children - 1..=children).contains(&parameters.nodes(level + 1)));
            }
            assert!(parameters.sums_bytes() <= crate::channel::MAX_PAYLOAD_BYTES);
            let distance = f64::from(kind.distance(parameters.outputs)) / 1000.0;
            assert!(parameters.trees as f64 * kind.linear_bits(distance) >= SECURITY_BITS);
        }
    }
}
