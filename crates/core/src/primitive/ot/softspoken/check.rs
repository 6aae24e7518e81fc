//! The malicious form's check that a chunk's choices are the same in every tree: a hash of each row.
//!
//! Roy 2022, section on the consistency check of subspace VOLE, for the repetition code. The hash of a row of blocks is
//! sum(c_j * row_j) in GF(2^128) with random c_j: linear over GF(2), and two rows that differ collide with probability
//! 2^-128. The last block of a row has the coefficient one; the receiver's choices in it are random, so that the hash
//! of its choices says nothing about the others.
//!
//! The coefficients are not sent but follow from the corrections (Fiat and Shamir), by a chain through all chunks that
//! starts with the trees: see `docs/protocols/engine-ot.md` for what that costs in soundness.

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::keys::Keys;
use super::params::{DIGEST_BYTES, Params};
use crate::primitive::kernel::block::{self, BLOCK_BITS, BLOCK_BYTES, Block};
use crate::primitive::kernel::{Prg, gf128};

/// A digest of everything that the receiver has sent so far.
#[derive(Clone)]
pub(super) struct Chain([u8; 32]);

impl Chain {
    /// The chain of an extension whose trees came with `message`.
    pub(super) fn new(keys: &Keys, message: &[u8]) -> Chain {
        Chain(*blake3::keyed_hash(&keys.chain, message).as_bytes())
    }

    /// The digest of one tile's corrections, under the state before its chunk.
    pub(super) fn tile_digest(&self, corrections: &[u8]) -> [u8; DIGEST_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(b"tile").update(corrections);
        *hasher.finalize().as_bytes()
    }

    /// Appends a chunk of `count` OTs, and returns the coefficients of its hash.
    pub(super) fn challenge(&mut self, params: &Params, count: usize, tiles: &[[u8; DIGEST_BYTES]]) -> Vec<Block> {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(b"chunk").update(&(count as u64).to_le_bytes()).update(tiles.as_flattened());
        let mut output = [0; 32 + BLOCK_BYTES];
        hasher.finalize_xof().fill(&mut output);
        self.0.copy_from_slice(&output[..32]);
        let mut coefficients = block::zeros(params.width(count));
        Prg::new(Block::from_le_slice(&output[32..])).fill(&mut coefficients);
        if let Some(last) = coefficients.last_mut() {
            *last = Block::ONE;
        }
        coefficients
    }
}

/// The hashes of 128 rows, or of parts of them; parts are added.
pub(super) type Hashes = [Block; BLOCK_BITS];

/// Adds the hashes of 128 parts of rows, `stride` blocks apart, under the coefficients of that part.
pub(super) fn add_hashes(rows: &[Block], stride: usize, coefficients: &[Block], hashes: &mut Hashes) {
    for (row, hash) in rows.chunks(stride).zip(hashes) {
        *hash ^= gf128::inner_product(&row[..coefficients.len()], coefficients);
    }
}

/// The receiver's message: the hash of its choices, and the digest of the hashes of its rows.
pub(super) fn response(keys: &Keys, choices: Block, rows: &Hashes) -> Vec<u8> {
    [&choices.to_bytes()[..], &digest(keys, rows)].concat()
}

/// Whether a message is that of a receiver whose choices are the same in every tree, given the hashes of the sender's
/// rows: row r of the sender is that of the receiver, and its choices added if bit r of delta is set.
pub(super) fn holds(keys: &Keys, delta: Block, rows: &Hashes, message: &[u8]) -> bool {
    let (choices, expected) = message.split_at(BLOCK_BYTES);
    let choices = Block::from_le_slice(choices);
    let mut of_receiver = Zeroizing::new(*rows);
    for (bit, hash) in of_receiver.iter_mut().enumerate() {
        *hash ^= choices & Block::select(delta.bit(bit));
    }
    digest(keys, &of_receiver).ct_eq(expected).into()
}

fn digest(keys: &Keys, rows: &Hashes) -> [u8; DIGEST_BYTES] {
    *blake3::keyed_hash(&keys.consistency, block::as_bytes(rows)).as_bytes()
}
