//! Pseudo-random blocks from a seed.

use super::aes::{Aes128, BATCH};
use super::block::{self, BLOCK_BYTES, Block};
use super::memory::wipe;

/// AES-128 in counter mode: block i of the stream is the encryption of the number i under the seed.
///
/// A seed must be used for one purpose only: two streams of one seed are the same stream.
#[derive(Debug)]
pub struct Prg {
    cipher: Aes128,
    position: u64,
}

impl Prg {
    /// The stream of `seed`, at its beginning.
    pub fn new(seed: Block) -> Prg {
        Prg { cipher: Aes128::new(seed), position: 0 }
    }

    /// Goes to the block at `index`.
    pub(crate) fn seek(&mut self, index: u64) {
        self.position = index;
    }

    /// Returns the next block of the generator.
    pub(crate) fn block(&mut self) -> Block {
        let mut blocks = [Block::ZERO];
        self.fill(&mut blocks);
        blocks[0]
    }

    /// Fills `out` with the next blocks.
    pub fn fill(&mut self, out: &mut [Block]) {
        self.cipher.encrypt_counters(self.position, out);
        self.position += out.len() as u64;
    }

    /// Fills `out` with the bytes of the next blocks; what is left of the last block is dropped.
    pub fn fill_bytes(&mut self, out: &mut [u8]) {
        let mut room = [Block::ZERO; BATCH];
        let used = out.len().div_ceil(BLOCK_BYTES).min(BATCH);
        for out in out.chunks_mut(BATCH * BLOCK_BYTES) {
            let room = &mut room[..out.len().div_ceil(BLOCK_BYTES)];
            self.fill(room);
            out.copy_from_slice(&block::as_bytes(room)[..out.len()]);
        }
        wipe(&mut room[..used]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_one_whatever_its_pieces() {
        let mut whole = vec![Block::ZERO; 700];
        Prg::new(Block(3)).fill(&mut whole);
        assert_eq!(whole[5], Aes128::new(Block(3)).encrypt(Block(5)));
        let mut prg = Prg::new(Block(3));
        let mut pieces = vec![Block::ZERO; 700];
        let mut rest = &mut pieces[..];
        for length in [0, 1, 2, 17, 256, 300, 124] {
            let (piece, after) = rest.split_at_mut(length);
            prg.fill(piece);
            rest = after;
        }
        assert_eq!(pieces, whole);
        prg.seek(100);
        assert_eq!(prg.block(), whole[100]);
        prg.seek(0);
        for length in [0, 1, 15, 16, 17, 4096, 4097, 11_000] {
            let mut bytes = vec![0; length];
            prg.seek(0);
            prg.fill_bytes(&mut bytes);
            assert_eq!(bytes, block::as_bytes(&whole)[..length]);
            let after = length.div_ceil(16);
            assert_eq!(prg.block(), Aes128::new(Block(3)).encrypt(Block(after as u128)));
        }
    }
}
