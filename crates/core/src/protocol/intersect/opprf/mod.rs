//! A programmable oblivious pseudorandom function: the sender fixes its values at points of its choice, the receiver
//! gets it at its own points, and cannot tell a value that was fixed from one that was not.
//!
//! As Kolesnikov, Matania, Pinkas, Rosulek & Trieu, "Practical Multi-party Private Set Intersection from Symmetric-Key
//! Techniques" (CCS 2017), section 4, make it of an OPRF F and a hint: a store of the values P with P(x) = v(x) - F(x).
//! F is that of [`vole`](super::vole), among semi-honest parties; the hint is a key-value store
//! ([`crate::primitive::okvs`]) in place of their polynomials and hash tables. Where values are pseudorandom to the
//! receiver, the store says nothing of the points.
//!
//! A value has one or more *planes*, blocks of 128 bits: each is a store of its own, under one seed. A further plane
//! can be left
//! *free*: the function itself, which the sender can compute anywhere, and the receiver at its own points alone.
//!
//! [`ideal`] is its twin: a trusted dealer, for tests of what is built on it.

pub mod ideal;
mod params;
mod receiver;
mod sender;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::kernel::Block;
use crate::primitive::kernel::block::BLOCK_BYTES;
use crate::primitive::kernel::keyed_hash::KeyedHash;
use crate::primitive::oprf::OUTPUT_BYTES;
use crate::protocol::intersect::vole::function::write_input;
use crate::session::Session;

pub use crate::channel::labels::opprf::{PROGRAMMED, STORE_SEED};
pub use params::Params;
pub use receiver::{OpprfReceiver, QueryStore};
pub use sender::{LinkFunction, OpprfSender};

/// Values at some points, plane by plane, each in the order of the points.
pub type Planes = Vec<Zeroizing<Vec<Block>>>;

/// The sender's end, for one use.
pub trait ProgramOprf {
    /// Function that the sender can compute afterwards.
    type Function: Function;

    /// Fixes the values at these items, which are distinct.
    fn program(
        self,
        items: &[Item],
        values: &Planes,
        params: &Params,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Self::Function>;
}

/// Function that a sender can compute at any point.
pub trait Function {
    /// The free plane at these items, in their order.
    fn free(&self, items: &[Item]) -> Zeroizing<Vec<Block>>;
}

/// The receiver's end, for one use.
pub trait EvaluateOprf {
    /// The values at the items that are asked, in their order; the free plane, if there is one, is the last.
    fn evaluate(
        self,
        asked: &QueryStore,
        params: &Params,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Planes>;
}

/// Items that one step of hashing works on.
const BATCH: usize = 256;

/// Hash whose outputs hide the values of one link.
struct MaskHash([u8; 32]);

impl MaskHash {
    fn new(session: &Session) -> MaskHash {
        MaskHash(session.derive("opprf mask"))
    }

    /// The first `width` blocks of F for each item: BLAKE3 as a random oracle, under a key of the link's session, over
    /// what the correlation gives and the item. With the item in it, a guess of the sender's secret is a guess for one
    /// item.
    fn blocks(&self, [inner, keys, values]: [&[Block]; 3], width: usize, blocks: &mut [Block]) {
        let write = |item: usize, input: &mut Vec<u8>| {
            write_input([inner, keys, values].map(|blocks| &blocks[item]), input);
        };
        if width * BLOCK_BYTES <= OUTPUT_BYTES {
            return KeyedHash::new(&self.0).each(inner.len(), write, |item, output| {
                for (block, bytes) in blocks[item * width..][..width].iter_mut().zip(output.chunks(BLOCK_BYTES)) {
                    *block = Block::from_le_slice(bytes);
                }
            });
        }
        let mut input = Zeroizing::new(Vec::with_capacity(3 * BLOCK_BYTES));
        let mut bytes = Zeroizing::new([0; BLOCK_BYTES]);
        for (item, blocks) in blocks.chunks_mut(width).enumerate() {
            input.clear();
            write(item, &mut input);
            let mut output = blake3::Hasher::new_keyed(&self.0).update(&input).finalize_xof();
            for block in blocks {
                output.fill(&mut *bytes);
                *block = Block::from_le_slice(&*bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Transcript;

    /// Checks that the masks of values depend on the link and on all of the item, and that no two planes have the same.
    #[test]
    fn masks_are_bound_to_link_and_item() {
        let [one, other] = ["one", "other"].map(|domain| MaskHash::new(&Session::new(Transcript::new(domain))));
        let masks = |hash: &MaskHash, inner: u128, key: u128, value: u128| {
            let (inner, key, value) = ([Block(inner)], [Block(key)], [Block(value)]);
            let (mut several, mut many) = ([Block::ZERO; 3], [Block::ZERO; 9]);
            hash.blocks([&inner, &key, &value], several.len(), &mut several);
            hash.blocks([&inner, &key, &value], many.len(), &mut many);
            assert!(several == many[..3]);
            several.map(|block| block.0)
        };
        let all = [
            masks(&one, 1, 2, 3),
            masks(&other, 1, 2, 3),
            masks(&one, 9, 2, 3),
            masks(&one, 1, 9, 3),
            masks(&one, 1, 2, 9),
        ];
        assert_eq!(all.as_flattened().iter().collect::<std::collections::HashSet<_>>().len(), 3 * all.len());
    }
}
