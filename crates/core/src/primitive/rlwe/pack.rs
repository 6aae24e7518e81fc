//! Encoding of residues as bytes.

/// Bytes of `count` residues of `bits` bits.
pub fn packed_bytes(bits: u32, count: usize) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Appends residues of `bits` bits, up to 50, one after the other without gaps, the lowest bit first.
pub fn pack(bits: u32, residues: &[u64], bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.resize(start + packed_bytes(bits, residues.len()), 0);
    let (words, rest) = bytes[start..].as_chunks_mut::<8>();
    let mut words = words.iter_mut();
    let (mut pending, mut held) = (0u128, 0);
    for &residue in residues {
        pending |= u128::from(residue) << held;
        held += bits;
        if held >= 64
            && let Some(word) = words.next()
        {
            *word = (pending as u64).to_le_bytes();
            pending >>= 64;
            held -= 64;
        }
    }
    // Less than a word is left, of which the bytes may be a word's.
    words.for_each(|word| *word = (pending as u64).to_le_bytes());
    rest.copy_from_slice(&pending.to_le_bytes()[..rest.len()]);
}

/// Reads as many residues as there is room for, each below `prime`, from exactly as many bytes as they take. Whether
/// all are, and no bit beyond the last is set.
#[must_use]
pub fn unpack(bits: u32, prime: u64, bytes: &[u8], residues: &mut [u64]) -> bool {
    let length = bits as usize;
    assert_eq!(bytes.len(), packed_bytes(bits, residues.len()), "bytes of residues");
    let mask = u64::MAX >> (64 - bits);
    let mut signs = 0;
    let used = residues.len() * length;
    for (index, residue) in residues.iter_mut().enumerate() {
        // With the bits before it in its first byte, a residue fits a word.
        let (start, skip) = (index * length / 8, index * length % 8);
        let word = match bytes.get(start..start + 8) {
            Some(word) => u64::from_le_bytes(*word.first_chunk().expect("eight bytes")),
            None => bytes[start..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        *residue = word >> skip & mask;
        // Negative for what is no residue.
        signs |= (prime - 1).wrapping_sub(*residue);
    }
    let clean = used.is_multiple_of(8) || bytes.last().is_none_or(|last| last >> (used % 8) == 0);
    signs >> 63 == 0 && clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_survive_packing_and_others_are_refused() {
        for bits in [34, 36, 43, 49, 50] {
            let prime = (1 << bits) - 77;
            for count in [0, 1, 2, 3, 7, 8, 9, 64, 100] {
                let residues: Vec<u64> =
                    (0..count).map(|index: u64| (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % prime).collect();
                let mut bytes = Vec::new();
                pack(bits, &residues, &mut bytes);
                assert_eq!(bytes.len(), packed_bytes(bits, residues.len()));
                for (index, residue) in residues.iter().enumerate() {
                    for bit in 0..bits as usize {
                        let at = index * bits as usize + bit;
                        assert_eq!(u64::from(bytes[at / 8] >> (at % 8) & 1), residue >> bit & 1);
                    }
                }
                let mut back = vec![0; residues.len()];
                assert!(unpack(bits, prime, &bytes, &mut back) && back == residues);
                if count == 0 {
                    continue;
                }
                if !(residues.len() * bits as usize).is_multiple_of(8) {
                    *bytes.last_mut().unwrap() |= 0x80;
                    assert!(!unpack(bits, prime, &bytes, &mut back));
                    *bytes.last_mut().unwrap() &= 0x7f;
                }
                for place in [0, residues.len() / 2, residues.len() - 1] {
                    let mut residues = residues.clone();
                    residues[place] = prime;
                    let mut bytes = Vec::new();
                    pack(bits, &residues, &mut bytes);
                    assert!(!unpack(bits, prime, &bytes, &mut back));
                }
            }
        }
    }
}
