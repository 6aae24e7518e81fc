//! Operations in which secrets determine the memory that is read: oblivious key-value stores, and orders.
//!
//! That does not take the same time whatever the secrets are: what was read before is in a cache. It is measured both
//! where all memory that may be read is in the caches nearest to the processor, and where it is not: to know how much
//! it tells.

use chacha20::ChaCha20Rng;
use rand_core::Rng;
use tacita_core::Chance;
use tacita_core::primitive::kernel::{Block, block};
use tacita_core::primitive::okvs::{Okvs, Params};
use tacita_core::primitive::shuffle::random_order;

use super::measure::{Make, Operation, trial};

/// Keys of a store that is in the nearest cache, and of one that is in none.
const SMALL: usize = 1 << 9;
const LARGE: usize = 1 << 21;

/// Keys whose values are asked for.
const ASKED: usize = 1 << 9;

/// Blocks of a table that is in no cache.
const TABLE: usize = 1 << 22;

/// Returns all operations of this module.
pub fn all() -> Vec<Operation> {
    vec![
        Operation::new("stores: values, in the cache", "set of keys", decoded(SMALL), looked_up()).known(),
        Operation::new("stores: values, out of the cache", "set of keys", decoded(LARGE), looked_up()).known(),
        Operation::new("stores: encoding", "set of keys", encoded(), looked_up()).known(),
        Operation::new("orders: rows moved, in the cache", "as they are", ordered(1 << 10), looked_up()).known(),
        Operation::new("orders: rows moved, out of the cache", "as they are", ordered(1 << 17), looked_up()).known(),
    ]
}

fn keys(rng: &mut ChaCha20Rng) -> Vec<Block> {
    block::random(ASKED, rng)
}

/// The values of keys in a store for `size`.
fn decoded(size: usize) -> Make {
    Box::new(move |rng| {
        let okvs = Okvs::new(Params::new(size, Chance::Store.bits()).expect("there are such stores"), &[1; 32]);
        let store = block::random(okvs.params().columns(), rng);
        let none = [(); ASKED];
        trial(keys(rng), keys, move |keys| okvs.decode(&okvs.group(keys, &none).0, &store))
    })
}

/// The store of keys and values.
fn encoded() -> Make {
    Box::new(|rng| {
        let okvs = Okvs::new(Params::new(ASKED, Chance::Store.bits()).expect("there are such stores"), &[1; 32]);
        let values = block::random(ASKED, rng);
        trial(keys(rng), keys, move |keys| {
            let (grouped, values) = okvs.group(keys, &values);
            okvs.encode(&grouped, &values).is_ok()
        })
    })
}

/// Rows in a secret order.
fn ordered(rows: usize) -> Make {
    Box::new(move |rng| {
        let blocks = block::random(rows, rng);
        let random = move |rng: &mut ChaCha20Rng| random_order(rows, rng);
        trial((0..rows as u32).collect(), random, move |order: &mut Vec<u32>| {
            order.iter().map(|place| blocks[*place as usize]).collect::<Vec<_>>()
        })
    })
}

/// The control: entries of a large table, always the same or random ones.
fn looked_up() -> Make {
    Box::new(|rng| {
        let table = vec![Block::random(rng); TABLE];
        let random = |rng: &mut ChaCha20Rng| (0..64).map(|_| rng.next_u32() as usize % TABLE).collect();
        trial(vec![0; 64], random, move |places: &mut Vec<usize>| {
            places.iter().fold(Block::ZERO, |sum, place| sum ^ table[*place])
        })
    })
}
