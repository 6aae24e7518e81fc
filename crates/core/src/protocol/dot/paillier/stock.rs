//! Encryptions that were made in advance (Yang, Wright & Subramaniam, section 3.3).
//!
//! In the paper, a pool has encryptions of zeros and of ones, and each number takes one of its kind. What is taken then
//! depends on the column: its memory and files show how many ones there are, and so does the time once one kind has run
//! out. Here whichever encryptions are at hand become those of the numbers, by [m] = [k] (1 + N)^(m - k), which is what
//! encrypting m with the randomness of [k] would have made. It takes two products for every number, also where m is k.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{EncryptionSource, LiveEncryptions, internal};
use crate::error::Result;
use crate::primitive::paillier::{PaillierCiphertexts, PaillierSecretKey};

/// Bytes of encryptions that are taken at once: what is lost if the process ends before it has used them.
const BATCH_BYTES: usize = 1 << 24;

/// A place where encryptions are kept.
pub trait Store {
    /// Takes `count` encryptions, or as many as there are. They never come again, whatever happens to this process:
    /// they are gone from the store before this returns.
    ///
    /// Errors: the store cannot be read, or cannot promise that.
    fn take(&mut self, count: usize) -> Result<Taken>;
}

/// Encryptions that were taken from a store.
#[derive(Debug)]
pub struct Taken {
    /// Fresh encryptions of the integers.
    pub ciphertexts: PaillierCiphertexts,
    /// Integers that the ciphertexts hold. They say nothing of any column.
    pub integers: Vec<i64>,
}

/// Numbers of encryptions by their source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Encryptions from the store.
    pub stored: u64,
    /// Made when they were needed.
    pub live: u64,
}

/// Encryptions from a store as long as it has some, then live ones.
pub struct Stock<'a, S, R> {
    store: S,
    live: LiveEncryptions<'a, R>,
    /// Numbers that are still to be encrypted, those in `held` included.
    needed: usize,
    held: Taken,
    /// Number of encryptions in `held` that are used.
    next: usize,
    used: Used,
}

/// Prints numbers of encryptions only.
impl<S, R> std::fmt::Debug for Stock<'_, S, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stock({:?})", self.used)
    }
}

impl<'a, S: Store, R: CryptoRng> Stock<'a, S, R> {
    /// For `needed` numbers, with encryptions under `key` in `store`.
    pub fn new(key: &'a PaillierSecretKey, store: S, needed: usize, rng: R) -> Stock<'a, S, R> {
        let held = Taken { ciphertexts: key.public().no_ciphertexts(), integers: Vec::new() };
        Stock { store, live: LiveEncryptions::new(key, rng), needed, held, next: 0, used: Used::default() }
    }

    /// Returns the numbers of encryptions used until now.
    pub fn used(&self) -> Used {
        self.used
    }

    /// At most `count` that are held, after looking for more.
    fn hold(&mut self, count: usize) -> Result<usize> {
        if self.next == self.held.integers.len() {
            let batch = BATCH_BYTES / self.key().public().size().ciphertext_bytes();
            self.held = self.store.take(self.needed.min(batch.max(count)))?;
            self.next = 0;
            if self.held.ciphertexts.len() != self.held.integers.len() {
                return Err(internal("encryptions of unknown integers"));
            }
        }
        Ok(count.min(self.held.integers.len() - self.next))
    }
}

impl<S: Store, R: CryptoRng> EncryptionSource for Stock<'_, S, R> {
    fn key(&self) -> &PaillierSecretKey {
        self.live.key()
    }

    fn take(&mut self, integers: &[i64]) -> Result<PaillierCiphertexts> {
        if integers.len() > self.needed {
            return Err(internal("more numbers than announced"));
        }
        let mut made = self.key().public().no_ciphertexts();
        while made.len() < integers.len() {
            let rest = &integers[made.len()..];
            let count = self.hold(rest.len())?;
            if count == 0 {
                self.used.live += rest.len() as u64;
                self.needed -= rest.len();
                made.append(&self.live.take(rest)?);
                break;
            }
            let range = self.next..self.next + count;
            let held = &self.held.integers[range.clone()];
            let differences: Zeroizing<Vec<i128>> = Zeroizing::new(
                rest.iter().zip(held).map(|(wanted, held)| i128::from(*wanted) - i128::from(*held)).collect(),
            );
            let public = self.key().public();
            let some = public.add_plain(&self.held.ciphertexts.select(range), &public.encode(&differences));
            made.append(&some);
            self.next += count;
            self.needed -= count;
            self.used.stored += count as u64;
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::paillier::KeySize;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// A list of which everything is given once.
    struct List {
        left: Taken,
        asked: Vec<usize>,
    }

    impl Store for &mut List {
        fn take(&mut self, count: usize) -> Result<Taken> {
            self.asked.push(count);
            let count = count.min(self.left.integers.len());
            let (all, len) = (&self.left.ciphertexts, self.left.integers.len());
            let taken = Taken { ciphertexts: all.select(0..count), integers: self.left.integers[..count].to_vec() };
            self.left = Taken { ciphertexts: all.select(count..len), integers: self.left.integers.split_off(count) };
            Ok(taken)
        }
    }

    #[test]
    fn whatever_is_held_becomes_what_is_wanted() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let key = PaillierSecretKey::generate(KeySize::new(512).unwrap(), &mut rng);
        let held: Vec<i64> = (0..30).map(|number| number & 1).collect();
        let encrypt = |integers: &[i64], rng: &mut ChaCha20Rng| LiveEncryptions::new(&key, rng).take(integers).unwrap();
        for wanted in
            [[vec![0, 1, 1, 0], vec![1; 5], vec![0; 9]], [vec![-7, 1 << 40, 5], vec![], vec![i64::MAX, i64::MIN]]]
        {
            // All from the store; some; none.
            for stored in [30, 7, 0] {
                let ciphertexts = encrypt(&held[..stored], &mut rng);
                let left = Taken { ciphertexts: ciphertexts.clone(), integers: held[..stored].to_vec() };
                let mut list = List { left, asked: Vec::new() };
                let needed = wanted.iter().map(Vec::len).sum();
                let mut stock = Stock::new(&key, &mut list, needed, ChaCha20Rng::from_seed([2; 32]));
                let mut made = key.public().no_ciphertexts();
                for some in &wanted {
                    made.append(&stock.take(some).unwrap());
                }
                let all: Vec<i128> = wanted.concat().iter().map(|&number| number.into()).collect();
                assert_eq!(*key.public().decode(&key.decrypt(&made)).unwrap(), all);
                let from_store = needed.min(stored);
                assert_eq!(stock.used(), Used { stored: from_store as u64, live: (needed - from_store) as u64 });
                assert!(stock.take(&[1]).is_err());
                // No more is taken than is needed.
                assert_eq!(list.left.integers.len(), stored - from_store);
                assert!(list.asked.iter().all(|&count| count <= needed));
                // The randomness is that of what was stored: encryptions are as if they had been made of it.
                let back: Vec<i128> = all.iter().zip(&held).map(|(wanted, held)| i128::from(*held) - wanted).collect();
                let back =
                    key.public().add_plain(&made.select(0..from_store), &key.public().encode(&back[..from_store]));
                assert_eq!(back, ciphertexts.select(0..from_store));
            }
        }
    }
}
