//! Circuit of a comparison: the transfers that it is made of, and the combination of their outputs. The same for all
//! numbers of a batch.

use std::ops::Range;

/// Bits of a block: one transfer compares them. At 16 bits of traffic an OT, blocks of three or four take the least
/// traffic, and four the lower tree.
const BLOCK_BITS: u32 = 4;

/// A comparison of two numbers.
pub(crate) struct Circuit {
    /// Bits of the numbers.
    pub(super) bits: u32,
    /// The transfers, in the order of their OTs.
    pub(super) gates: Vec<Gate>,
    /// The tree's levels. A level puts neighbours together, the lowest first; one that is left over goes up as it is.
    pub(super) levels: Vec<Vec<Merge>>,
    blocks: usize,
    masks: usize,
}

/// One transfer: the second party's bits choose an entry of a table that the first party makes of its own. Each entry
/// holds one or two bits; the parties get shares of what was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gate {
    /// The first party's bits of a block against the second's: whether they are greater; and whether they are equal.
    Compare { block: Range<u32>, equal: bool },
    /// A random bit of the second party times one or two of the first's; numbers of masks.
    Multiply { choice: usize, factors: Vec<usize> },
}

/// Gates that combine an upper and a lower part into one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Merge {
    /// The masks of its inputs: of "equal" of the upper part, of "greater" of the lower part, and, if "equal" of both
    /// together is wanted, of "equal" of the lower part.
    pub(super) masks: Range<usize>,
    /// Position of the outputs of its gates: the first mask times the others, the second times the first, and so on.
    pub(super) outputs: usize,
}

impl Gate {
    /// OTs: the bits that choose.
    pub(super) fn transfers(&self) -> usize {
        match self {
            Gate::Compare { block, .. } => block.len(),
            Gate::Multiply { .. } => 1,
        }
    }

    /// Bits of an entry.
    pub(super) fn outputs(&self) -> usize {
        match self {
            Gate::Compare { equal, .. } => 1 + usize::from(*equal),
            Gate::Multiply { factors, .. } => factors.len(),
        }
    }

    /// Entries of the table.
    pub(super) fn entries(&self) -> u32 {
        1 << self.transfers()
    }

    /// Bits that the sender sends: all entries but the first, which is what the OTs give anyway.
    pub(super) fn message_bits(&self) -> u32 {
        (self.entries() - 1) * self.outputs() as u32
    }
}

impl Circuit {
    /// The comparison of numbers of `bits` bits; of none, it has no gates.
    pub(super) fn new(bits: u32) -> Circuit {
        let blocks = (0..bits).step_by(BLOCK_BITS as usize);
        // Nothing lies below the lowest block, so that nobody asks whether it is equal.
        let compare = |start: u32| Gate::Compare { block: start..bits.min(start + BLOCK_BITS), equal: start > 0 };
        let mut gates: Vec<Gate> = blocks.map(compare).collect();
        let (blocks, mut outputs) = (gates.len(), gates.iter().map(Gate::outputs).sum());
        let (mut levels, mut masks, mut nodes) = (Vec::new(), 0, blocks);
        while nodes > 1 {
            let mut merge = |pair: usize| {
                let factors = masks + 1..masks + if pair == 0 { 2 } else { 3 };
                let merge = Merge { masks: masks..factors.end, outputs };
                gates.push(Gate::Multiply { choice: masks, factors: factors.clone().collect() });
                gates.extend(factors.clone().map(|choice| Gate::Multiply { choice, factors: vec![masks] }));
                outputs += 2 * factors.len();
                masks = factors.end;
                merge
            };
            levels.push((0..nodes / 2).map(&mut merge).collect());
            nodes = nodes.div_ceil(2);
        }
        Circuit { bits, gates, levels, blocks, masks }
    }

    /// Products of two shared bits, of which each party has a mask for each: no number is compared.
    pub(crate) fn product() -> Circuit {
        let gate = |choice, factor| Gate::Multiply { choice, factors: vec![factor] };
        Circuit { bits: 0, gates: vec![gate(0, 1), gate(1, 0)], levels: Vec::new(), blocks: 0, masks: 2 }
    }

    /// The first outputs of the blocks' gates, the lowest block first.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (usize, &Gate)> {
        let mut outputs = 0;
        self.gates[..self.blocks].iter().map(move |gate| {
            let first = outputs;
            outputs += gate.outputs();
            (first, gate)
        })
    }

    /// Random bits of each party that hide the tree's inputs.
    pub(crate) fn masks(&self) -> usize {
        self.masks
    }

    /// OTs for one number.
    pub(crate) fn transfers(&self) -> usize {
        self.gates.iter().map(Gate::transfers).sum()
    }

    /// Output bits of all gates.
    pub(super) fn outputs(&self) -> usize {
        self.gates.iter().map(Gate::outputs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree over shared bits, as one party that knows everything computes it.
    fn compare(circuit: &Circuit, x: u32, y: u32) -> bool {
        let bits = |number: u32, block: &Range<u32>| number >> block.start & ((1 << block.len()) - 1);
        let mut nodes: Vec<(bool, bool)> = circuit
            .blocks()
            .map(|(_, gate)| match gate {
                Gate::Compare { block, .. } => (bits(x, block) > bits(y, block), bits(x, block) == bits(y, block)),
                Gate::Multiply { .. } => panic!("a block is compared"),
            })
            .collect();
        for level in &circuit.levels {
            let mut merged: Vec<_> = nodes
                .chunks_exact(2)
                .map(|pair| (pair[1].0 ^ (pair[1].1 & pair[0].0), pair[1].1 & pair[0].1))
                .collect();
            merged.extend(nodes.chunks_exact(2).remainder());
            assert_eq!(level.len(), nodes.len() / 2);
            nodes = merged;
        }
        assert_eq!(nodes.len(), 1);
        nodes[0].0
    }

    #[test]
    fn all_numbers_are_compared_right() {
        for bits in 1..=6 {
            let circuit = Circuit::new(bits);
            for (x, y) in (0..1 << bits).flat_map(|x| (0..1 << bits).map(move |y| (x, y))) {
                assert_eq!(compare(&circuit, x, y), x > y);
            }
        }
        for bits in 1..=31 {
            let circuit = Circuit::new(bits);
            for (x, y) in [(0, 0), (0, 1), (1, 0), (1 << (bits - 1), (1 << (bits - 1)) - 1), ((1 << bits) - 1, 1)] {
                assert_eq!(compare(&circuit, x, y), x > y);
            }
        }
    }

    #[test]
    fn every_output_and_mask_is_used_once() {
        assert_eq!(Circuit::new(0).transfers(), 0);
        for bits in 1..=126 {
            let circuit = Circuit::new(bits);
            let merges: Vec<&Merge> = circuit.levels.iter().flatten().collect();
            let mut next = (0, circuit.blocks().map(|(_, gate)| gate.outputs()).sum());
            for merge in &merges {
                assert_eq!((merge.masks.start, merge.outputs), next);
                next = (merge.masks.end, merge.outputs + 2 * (merge.masks.len() - 1));
            }
            assert_eq!(next, (circuit.masks(), circuit.outputs()));
            assert_eq!(merges.len() + 1, bits.div_ceil(4) as usize);
            // The table of a gate is a word.
            assert!(circuit.gates.iter().all(|gate| gate.entries() as usize * gate.outputs() <= 32));
        }
    }
}
