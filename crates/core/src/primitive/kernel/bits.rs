//! Conjunctions of bit vectors, and how many bits are set in them.

use super::backend::{self, Backend};
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Whether the fast form runs: it needs more than `Family::Avx512` stands for (VPOPCNTDQ, which all processors of that
/// family have so far).
#[cfg(target_arch = "x86_64")]
fn is_fast(backend: Backend) -> bool {
    backend.family() == backend::Family::Avx512 && std::is_x86_feature_detected!("avx512vpopcntdq")
}

/// Counts the bits that are set in `a`.
pub(crate) fn count(a: &[u64]) -> u64 {
    count_and(a, a)
}

/// Counts the bits that are set in both `a` and `b`, which must be equally long.
pub(crate) fn count_and(a: &[u64], b: &[u64]) -> u64 {
    count_and_on(backend::chosen(), a, b)
}

/// `to[i] &= from[i]`. The slices must be equally long.
pub(crate) fn and_into(from: &[u64], to: &mut [u64]) {
    assert_eq!(from.len(), to.len(), "bits of the same rows");
    // Compilers make vectors of this, and memory bounds it.
    to.iter_mut().zip(from).for_each(|(to, from)| *to &= from);
}

fn count_and_on(backend: Backend, a: &[u64], b: &[u64]) -> u64 {
    assert_eq!(a.len(), b.len(), "bits of the same rows");
    match backend.family() {
        // SAFETY: the processor has what the function needs; see `is_fast`.
        #[cfg(target_arch = "x86_64")]
        _ if is_fast(backend) => unsafe { x86::bits::count_and(a, b) },
        _ => a.iter().zip(b).map(|(a, b)| u64::from((a & b).count_ones())).sum(),
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn every_back_end_counts_every_bit() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for length in [0usize, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 1000] {
            let mut random = || (0..length + 1).map(|_| rng.next_u64()).collect::<Vec<u64>>();
            let (a, b) = (random(), random());
            for (a, b) in [(&a, &b), (&a, &vec![0; length + 1]), (&vec![u64::MAX; length + 1], &b)] {
                // One word more in front, so that slices do not begin where vectors would.
                for (a, b) in [(&a[1..], &b[1..]), (&a[..length], &b[1..])] {
                    let bit = |words: &[u64], index: usize| words[index / 64] >> (index % 64) & 1;
                    let expected: u64 = (0..64 * length).map(|index| bit(a, index) & bit(b, index)).sum();
                    for backend in backend::available() {
                        assert_eq!(count_and_on(backend, a, b), expected);
                    }
                    let mut both = b.to_vec();
                    and_into(a, &mut both);
                    assert_eq!(count(&both), expected);
                }
            }
        }
    }
}
