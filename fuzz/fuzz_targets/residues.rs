//! Residues as lattice-based products send them: what is read is below the prime, and is written as the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::primitive::rlwe::{pack, packed_bytes, unpack};

/// The sizes of residues that are read.
const BITS: std::ops::RangeInclusive<u32> = 30..=50;

fuzz_target!(|input: &[u8]| {
    let Some((&[bits, below], bytes)) = input.split_first_chunk() else { return };
    let bits = BITS.start() + u32::from(bits) % BITS.count() as u32;
    let prime = (1 << bits) - u64::from(below) - 1;
    for count in [8 * bytes.len() / bits as usize, (8 * bytes.len() / bits as usize).saturating_sub(1)] {
        let length = packed_bytes(bits, count);
        let mut residues = vec![0; count];
        if unpack(bits, prime, &bytes[..length], &mut residues) {
            assert!(residues.iter().all(|residue| *residue < prime));
            let mut written = Vec::new();
            pack(bits, &residues, &mut written);
            assert_eq!(written, bytes[..length]);
        }
    }
});
