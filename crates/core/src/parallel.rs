//! Loops on all cores whose machinery is compiled once.
//!
//! Each iterator of rayon brings the code with which it is split and waited for, some twelve kilobytes, wherever one is
//! written, and again for each type. Here one loop calls a `dyn Fn`, once for a batch, so that a place adds little more
//! than its own body.

use std::ops::Range;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Calls `work` with each number below `count`.
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}

/// Memory into which each thread writes its results.
struct Slots<T>(*mut T);

// SAFETY: no two threads use the same place, and what is written there may be sent.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> Slots<T> {
    /// # Safety
    ///
    /// There is room at `place`, and no other thread uses it.
    unsafe fn put(&self, place: usize, made: T) {
        // SAFETY: as the caller has promised.
        unsafe { self.0.add(place).write(made) };
    }
}

/// Results of `make` for each number below `count`, in order. One thread does `batch` of them in a row.
pub(crate) fn numbers<T: Send>(count: usize, batch: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut made = Vec::with_capacity(count);
    let slots = Slots(made.spare_capacity_mut().as_mut_ptr().cast());
    each(count.div_ceil(batch), &|number| {
        for place in range(count, batch, number) {
            // SAFETY: the vector has room for `count`, and ranges do not overlap. After a panic what was made is not dropped.
            unsafe { slots.put(place, make(place)) };
        }
    });
    // SAFETY: the ranges are all places below `count`.
    unsafe { made.set_len(count) };
    made
}

/// Results of `make` for each item, in order. One thread does `batch` of them in a row.
pub(crate) fn map<I: Sync, T: Send>(items: &[I], batch: usize, make: impl Fn(&I) -> T + Sync) -> Vec<T> {
    numbers(items.len(), batch, |place| make(&items[place]))
}

/// Results of `make` for each `batch` of the numbers below `count`, the last of which may have fewer, in order.
pub(crate) fn ranges<T: Send>(count: usize, batch: usize, make: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    numbers(count.div_ceil(batch), 1, |number| make(range(count, batch, number)))
}

/// The numbers of a batch, of which there are fewer in the last.
fn range(count: usize, batch: usize, number: usize) -> Range<usize> {
    number * batch..count.min((number + 1) * batch)
}

/// A generator of random numbers for another thread, from the caller's.
pub(crate) fn fork(rng: &mut impl CryptoRng) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(*seed(rng))
}

/// A seed for generators of its own, from the caller's.
pub(crate) fn seed(rng: &mut impl CryptoRng) -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *seed);
    seed
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn everything_is_made_once_and_in_order() {
        for count in [0, 1, 2, 7, 64, 65, 1000] {
            for batch in [1, 2, 64, 1001] {
                let calls = AtomicUsize::new(0);
                let made = numbers(count, batch, |place| {
                    calls.fetch_add(1, Ordering::Relaxed);
                    place.to_string()
                });
                let expected: Vec<_> = (0..count).map(|place| place.to_string()).collect();
                assert_eq!((made, calls.into_inner()), (expected.clone(), count), "{count} in batches of {batch}");
                assert_eq!(map(&expected, batch, String::clone), expected);
                let parts = ranges(count, batch, |range| expected[range].to_vec());
                assert!(parts.iter().rev().skip(1).all(|part| part.len() == batch));
                assert_eq!(parts.concat(), expected);
            }
        }
    }

    #[test]
    fn a_panic_is_passed_on() {
        let made = std::panic::catch_unwind(|| numbers(100, 3, |place| assert!(place != 50, "at {place}")));
        assert!(made.is_err());
    }
}
