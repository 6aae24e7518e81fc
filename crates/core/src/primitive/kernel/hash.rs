//! A correlation-robust hash from fixed-key AES.

use std::ops::Range;

use super::aes::{Aes128, BATCH, Keys, check_counters};
use super::backend::{self, Backend};
use super::block::{self, Block};
use super::memory::wipe;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// H(x, i) = p(p(x) + i) + p(x), where p is AES-128 under a public key and + is exclusive or.
///
/// It is TMMO of Guo, Katz, Wang and Yu, "Efficient and secure multiparty computation from fixed-key block ciphers"
/// (IEEE S&P 2020): tweakable circular correlation robust when p is an ideal permutation, so that H(x + delta, i) is
/// pseudo-random for a secret delta even to whoever chooses x, as long as no tweak i is used twice for one delta. The
/// key comes from the session, so that no work done before it started helps against it.
#[derive(Debug)]
pub struct TweakableHash {
    cipher: Aes128,
}

/// [`TweakableHash`] under a key that changes every `RekeyedHash::TWEAKS` tweaks.
///
/// Under one key, whoever knows the hashes of N inputs x_i + delta can test a guess against all of them at once: with
/// z = p(x_i + delta) + i the hash plus i is p(z) + z, which is computed for any z and looked up. That leaves 128 - log2 N
/// bits. So no key sees more than 2^10 inputs, and 118 bits are left, as in other implementations of OT extension.
pub struct RekeyedHash {
    keys: Aes128,
}

impl RekeyedHash {
    /// Tweaks that share a key.
    pub(crate) const TWEAKS: u64 = 1 << 10;

    /// The hash under keys that are made from a public one.
    pub fn new(key: Block) -> RekeyedHash {
        RekeyedHash { keys: Aes128::new(key) }
    }

    /// Hashes as [`TweakableHash::hash`] or [`TweakableHash::hash_past_caches`] does.
    pub fn hash(&self, start: u64, input: &[Block], out: &mut [Block], past_caches: bool) {
        assert_eq!(input.len(), out.len(), "as many hashes as inputs");
        for (hash, start, part) in self.parts(start, input.len()) {
            let (input, out) = (&input[part.clone()], &mut out[part]);
            if past_caches { hash.hash_past_caches(start, input, out) } else { hash.hash(start, input, out) }
        }
    }

    /// Hashes as [`TweakableHash::hash_pairs`] or [`TweakableHash::hash_pairs_past_caches`] does.
    pub fn hash_pairs(&self, start: u64, input: &[Block], delta: Block, out: &mut [[Block; 2]], past_caches: bool) {
        assert_eq!(input.len(), out.len(), "as many pairs as inputs");
        for (hash, start, part) in self.parts(start, input.len()) {
            let (input, out) = (&input[part.clone()], &mut out[part]);
            if past_caches {
                hash.hash_pairs_past_caches(start, input, delta, out)
            } else {
                hash.hash_pairs(start, input, delta, out)
            }
        }
    }

    /// Tweaks from `start` on, cut where the key changes: the hash, the first tweak, and which of `count` they are.
    fn parts(&self, start: u64, count: usize) -> impl Iterator<Item = (TweakableHash, u64, Range<usize>)> + '_ {
        check_counters(start, count);
        let mut done = 0;
        std::iter::from_fn(move || {
            let tweak = start + done as u64;
            let part = done..count.min(done + (RekeyedHash::TWEAKS - tweak % RekeyedHash::TWEAKS) as usize);
            done = part.end;
            let key = || self.keys.encrypt(Block(u128::from(tweak / RekeyedHash::TWEAKS)));
            (!part.is_empty()).then(|| (TweakableHash::new(key()), tweak, part))
        })
    }
}

impl TweakableHash {
    /// The hash under a public key.
    pub fn new(key: Block) -> TweakableHash {
        TweakableHash::on(backend::chosen(), key)
    }

    /// Creates the hash as [`TweakableHash::new`] does, on a back end that is available.
    fn on(backend: Backend, key: Block) -> TweakableHash {
        TweakableHash { cipher: Aes128::on(backend, key) }
    }

    /// `out[i]` is the hash of `input[i]` with the tweak `start + i`. The slices must be equally long.
    pub fn hash(&self, start: u64, input: &[Block], out: &mut [Block]) {
        self.hash_to::<false>(start, input, out);
    }

    /// Hashes as [`TweakableHash::hash`] does, for a part of more output than caches hold. Writes past the caches if
    /// the back end can, so that memory is not read before it is written.
    pub fn hash_past_caches(&self, start: u64, input: &[Block], out: &mut [Block]) {
        self.hash_to::<true>(start, input, out);
    }

    fn hash_to<const PAST_CACHES: bool>(&self, start: u64, input: &[Block], out: &mut [Block]) {
        assert_eq!(input.len(), out.len(), "as many hashes as inputs");
        check_counters(start, input.len());
        match &self.cipher.0 {
            Keys::Portable(_) => {
                out.copy_from_slice(input);
                self.hash_in_place(start, out);
            }
            // SAFETY: `Keys::Avx512` exists where the processor has what its functions need.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86::hash::hash::<PAST_CACHES>(keys, start, input, out) },
        }
    }

    /// Replaces each block i by its hash with the tweak `start + i`.
    pub(crate) fn hash_in_place(&self, start: u64, blocks: &mut [Block]) {
        check_counters(start, blocks.len());
        match &self.cipher.0 {
            Keys::Portable(_) => self.hash_portably(start, blocks),
            // SAFETY: as in `hash`.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86::hash::hash_in_place(keys, start, blocks) },
        }
    }

    fn hash_portably(&self, start: u64, blocks: &mut [Block]) {
        let mut room = [Block::ZERO; BATCH];
        let used = blocks.len().min(BATCH);
        for (chunk, blocks) in blocks.chunks_mut(BATCH).enumerate() {
            let room = &mut room[..blocks.len()];
            self.cipher.encrypt_blocks(blocks);
            for (index, (tweaked, block)) in room.iter_mut().zip(blocks.iter()).enumerate() {
                *tweaked = *block ^ Block(u128::from(start) + (chunk * BATCH + index) as u128);
            }
            self.cipher.encrypt_blocks(room);
            block::xor_into(room, blocks);
        }
        wipe(&mut room[..used]);
    }

    /// `out[i]` is the pair of hashes of `input[i]` and of `input[i] + delta`, both with the tweak `start + i`. The
    /// slices must be equally long.
    pub fn hash_pairs(&self, start: u64, input: &[Block], delta: Block, out: &mut [[Block; 2]]) {
        self.hash_pairs_to::<false>(start, input, delta, out);
    }

    /// [`TweakableHash::hash_pairs`] as [`TweakableHash::hash_past_caches`] writes.
    pub fn hash_pairs_past_caches(&self, start: u64, input: &[Block], delta: Block, out: &mut [[Block; 2]]) {
        self.hash_pairs_to::<true>(start, input, delta, out);
    }

    fn hash_pairs_to<const PAST_CACHES: bool>(
        &self,
        start: u64,
        input: &[Block],
        delta: Block,
        out: &mut [[Block; 2]],
    ) {
        assert_eq!(input.len(), out.len(), "as many pairs as inputs");
        check_counters(start, input.len());
        match &self.cipher.0 {
            Keys::Portable(_) => self.hash_pairs_portably(start, input, delta, out),
            // SAFETY: as in `hash`.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86::hash::hash_pairs::<PAST_CACHES>(keys, start, input, delta, out) },
        }
    }

    fn hash_pairs_portably(&self, start: u64, input: &[Block], delta: Block, out: &mut [[Block; 2]]) {
        let mut room = [Block::ZERO; BATCH];
        let chunks = input.chunks(BATCH / 2).zip(out.chunks_mut(BATCH / 2));
        for (chunk, (input, pairs)) in chunks.enumerate() {
            for (pair, input) in pairs.iter_mut().zip(input) {
                *pair = [*input, *input ^ delta];
            }
            let flat = pairs.as_flattened_mut();
            let room = &mut room[..flat.len()];
            self.cipher.encrypt_blocks(flat);
            for (index, (tweaked, block)) in room.iter_mut().zip(flat.iter()).enumerate() {
                *tweaked = *block ^ Block(u128::from(start) + (chunk * (BATCH / 2) + index / 2) as u128);
            }
            self.cipher.encrypt_blocks(room);
            block::xor_into(room, flat);
        }
        wipe(&mut room[..(2 * input.len()).min(BATCH)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the hash by the definition.
    fn reference(key: Block, input: Block, tweak: u64) -> Block {
        let cipher = Aes128::on(Backend::PORTABLE, key);
        let once = cipher.encrypt(input);
        cipher.encrypt(once ^ Block(tweak.into())) ^ once
    }

    #[test]
    fn slices_follow_the_definition() {
        for backend in backend::available() {
            let key = Block(11);
            check_slices(key, TweakableHash::on(backend, key), Block(0xdead << 100 | 1));
        }
    }

    fn check_slices(key: Block, hash: TweakableHash, delta: Block) {
        for count in [0usize, 1, 3, 4, 15, 16, 17, 127, 128, 129, 255, 256, 257, 700] {
            let start = u64::MAX - 700 - count as u64;
            let input: Vec<_> = (0..count).map(|index| Block(index as u128 * 0x1234_5678_9abc_def1)).collect();
            let expected: Vec<_> = (start..).zip(&input).map(|(tweak, input)| reference(key, *input, tweak)).collect();
            // One block more in front, so that slices do not begin where vectors would.
            let mut out = vec![Block::ZERO; count + 1];
            hash.hash(start, &input, &mut out[1..]);
            assert_eq!(out[1..], expected);
            out.fill(Block::ZERO);
            hash.hash_past_caches(start, &input, &mut out[1..]);
            assert_eq!(out[1..], expected);
            out[..count].copy_from_slice(&input);
            hash.hash_in_place(start, &mut out[..count]);
            assert_eq!(out[..count], expected);
            let mut pairs = vec![[Block::ZERO; 2]; count];
            hash.hash_pairs(start, &input, delta, &mut pairs);
            for (index, pair) in pairs.iter().enumerate() {
                let shifted = reference(key, input[index] ^ delta, start + index as u64);
                assert_eq!(*pair, [expected[index], shifted]);
            }
            let mut past_caches = vec![[Block::ZERO; 2]; count];
            hash.hash_pairs_past_caches(start, &input, delta, &mut past_caches);
            assert_eq!(past_caches, pairs);
        }
    }

    /// Every hash is one under the key of its tweak, however the tweaks are cut.
    #[test]
    fn keys_change_with_the_tweaks() {
        use chacha20::ChaCha20Rng;
        use rand_core::SeedableRng;
        let mut rng = ChaCha20Rng::from_seed([40; 32]);
        let input = block::random(3000, &mut rng);
        let (rekeyed, delta) = (RekeyedHash::new(Block(7)), Block::random(&mut rng));
        let expected: Vec<Block> = (500u64..)
            .zip(&input)
            .map(|(tweak, input)| {
                let key = Aes128::new(Block(7)).encrypt(Block(u128::from(tweak / 1024)));
                let mut out = [Block::ZERO];
                TweakableHash::new(key).hash(tweak, &[*input], &mut out);
                out[0]
            })
            .collect();
        for past_caches in [false, true] {
            for size in [1, 524, 1024, 3000] {
                let mut out = block::zeros(3000);
                for (part, (input, out)) in input.chunks(size).zip(out.chunks_mut(size)).enumerate() {
                    rekeyed.hash((500 + part * size) as u64, input, out, past_caches);
                }
                assert!(out == expected, "in parts of {size}");
            }
            let mut pairs = vec![[Block::ZERO; 2]; 3000];
            rekeyed.hash_pairs(500, &input, delta, &mut pairs, past_caches);
            let shifted: Vec<Block> = input.iter().map(|input| *input ^ delta).collect();
            let mut of_shifted = block::zeros(3000);
            rekeyed.hash(500, &shifted, &mut of_shifted, past_caches);
            assert!(pairs.iter().zip(&expected).zip(&of_shifted).all(|((pair, one), other)| *pair == [*one, *other]));
        }
        rekeyed.hash(0, &[], &mut [], false);
    }
}
