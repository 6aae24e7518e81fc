//! BLAKE3 under a key, of many short messages: several at a time, one in each lane of a vector.

use zeroize::{Zeroize, Zeroizing};

use super::backend::{self, Backend, Family};
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Messages that are hashed at a time.
pub(super) const LANES: usize = 16;

/// Words of a block of BLAKE3's: of a message, and of an output.
pub(super) const BLOCK_WORDS: usize = 16;

/// Length up to which messages are hashed together, and length of an output.
pub(crate) const BLOCK_BYTES: usize = 4 * BLOCK_WORDS;

/// Messages of at most a block, filled up with zeros: each word of all of them.
#[derive(Default, Zeroize)]
pub(super) struct Messages {
    pub words: [[u32; LANES]; BLOCK_WORDS],
    /// Length of each message in bytes.
    pub lengths: [u32; LANES],
}

/// Each word of the outputs of [`Messages`].
pub(super) type Hashes = [[u32; LANES]; BLOCK_WORDS];

/// The first 64 bytes that BLAKE3 puts out under one key. The first 32 are `blake3::keyed_hash`.
pub(crate) struct KeyedHash<'a> {
    key: &'a [u8; 32],
    backend: Backend,
}

impl<'a> KeyedHash<'a> {
    /// The hash under a key.
    pub(crate) fn new(key: &'a [u8; 32]) -> KeyedHash<'a> {
        KeyedHash::on(backend::chosen(), key)
    }

    fn on(backend: Backend, key: &'a [u8; 32]) -> KeyedHash<'a> {
        KeyedHash { key, backend }
    }

    /// Hashes `count` messages. `write` appends that of a number to what it is given, which is empty, and `take` gets
    /// the output of a number, in any order. Messages of up to 64 bytes take a fraction of the time that longer ones
    /// do.
    pub(crate) fn each(
        &self,
        count: usize,
        mut write: impl FnMut(usize, &mut Vec<u8>),
        mut take: impl FnMut(usize, &[u8; BLOCK_BYTES]),
    ) {
        let mut message = Zeroizing::new(Vec::with_capacity(BLOCK_BYTES));
        let mut messages = Zeroizing::new(Messages::default());
        let mut hashes = Zeroizing::new(Hashes::default());
        let mut numbers = [0; LANES];
        let mut waiting = 0;
        for number in 0..count {
            message.clear();
            write(number, &mut message);
            if message.len() > BLOCK_BYTES || !self.is_wide() {
                let mut output = [0; BLOCK_BYTES];
                blake3::Hasher::new_keyed(self.key).update(&message).finalize_xof().fill(&mut output);
                take(number, &output);
            } else {
                messages.set(waiting, &message);
                numbers[waiting] = number;
                waiting += 1;
            }
            if waiting == LANES || number + 1 == count {
                self.hash(&messages, &mut hashes);
                for (lane, &number) in numbers[..waiting].iter().enumerate() {
                    take(number, &bytes(&hashes, lane));
                }
                waiting = 0;
            }
        }
    }

    /// Whether there is a kernel for several messages; elsewhere one after the other is as fast.
    fn is_wide(&self) -> bool {
        cfg!(target_arch = "x86_64") && matches!(self.backend.family(), Family::Avx2 | Family::Avx512)
    }

    /// Hashes the messages of all lanes.
    fn hash(&self, messages: &Messages, hashes: &mut Hashes) {
        #[cfg(target_arch = "x86_64")]
        {
            let key = std::array::from_fn(|word| u32::from_le_bytes(self.key.as_chunks().0[word]));
            match self.backend.family() {
                // SAFETY: the processor has what the family needs.
                Family::Avx512 => unsafe { x86::keyed_hash::avx512(&key, messages, hashes) },
                // SAFETY: as above.
                Family::Avx2 => unsafe { x86::keyed_hash::avx2(&key, messages, hashes) },
                _ => {}
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (messages, hashes);
    }
}

impl Messages {
    fn set(&mut self, lane: usize, message: &[u8]) {
        let (whole, rest) = message.as_chunks();
        let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let message = whole.iter().map(|bytes| u32::from_le_bytes(*bytes)).chain([last]);
        for (words, word) in self.words.iter_mut().zip(message.chain(std::iter::repeat(0))) {
            words[lane] = word;
        }
        self.lengths[lane] = 4 * whole.len() as u32 + rest.len() as u32;
    }
}

/// The output of a lane.
fn bytes(hashes: &Hashes, lane: usize) -> [u8; BLOCK_BYTES] {
    let mut bytes = [0; BLOCK_BYTES];
    for (bytes, words) in bytes.as_chunks_mut().0.iter_mut().zip(hashes) {
        *bytes = words[lane].to_le_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers lengths up to two blocks, in numbers that leave lanes empty, with long messages between short ones.
    #[test]
    fn hashes_are_those_of_blake3() {
        let key = std::array::from_fn(|byte| byte as u8 ^ 0xa5);
        let message =
            |number: usize| -> Vec<u8> { (0..number * 67 % 129).map(|byte| (number * 31 + byte) as u8).collect() };
        for backend in backend::available() {
            for count in [0, 1, 15, 16, 17, 129, 300] {
                let mut found = vec![None; count];
                KeyedHash::on(backend, &key).each(
                    count,
                    |number, bytes| bytes.extend(message(number)),
                    |number, hash| assert_eq!(found[number].replace(*hash), None),
                );
                for (number, found) in found.into_iter().enumerate() {
                    let (found, message) = (found.unwrap(), message(number));
                    let mut wanted = [0; BLOCK_BYTES];
                    blake3::Hasher::new_keyed(&key).update(&message).finalize_xof().fill(&mut wanted);
                    assert_eq!(found, wanted, "{backend:?}, {number} of {count}");
                    assert_eq!(found[..32], *blake3::keyed_hash(&key, &message).as_bytes());
                }
            }
        }
    }
}
