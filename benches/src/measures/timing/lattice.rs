//! Encryption from ring learning with errors: secret keys, messages and errors.

use std::cell::RefCell;
use std::rc::Rc;

use chacha20::ChaCha20Rng;
use rand_core::Rng;
use tacita_core::primitive::kernel::{Block, Prg};
use tacita_core::primitive::rlwe::{Ring, RlweSecretKey, errors, ternary};

use super::measure::{Make, Operation, trial};

const DEGREE: usize = 2048;
const PRIME_BITS: u32 = 50;

/// Returns all operations of this module.
pub fn all() -> Vec<Operation> {
    let ring = Rc::new(Ring::new(DEGREE, PRIME_BITS, 1));
    vec![
        Operation::new("lattice: decryption, key", "key", decrypted(&ring), leaving_out_zeros()),
        Operation::new("lattice: encryption, message", "zeros", encrypted(&ring), leaving_out_zeros()),
        Operation::new("lattice: errors and keys, seed", "zero", drawn(), counting_ones()),
    ]
}

fn residues(rng: &mut ChaCha20Rng) -> Vec<u64> {
    (0..DEGREE).map(|_| rng.next_u64() >> (65 - PRIME_BITS)).collect()
}

/// The product that a decryption takes off, with one key or with others. Both keys are made each time, either of them
/// first.
fn decrypted(ring: &Rc<Ring>) -> Make {
    let ring = ring.clone();
    Box::new(move |rng| {
        let (ring, of_random, second) = (ring.clone(), ring.clone(), residues(rng));
        let keys = Rc::new(RefCell::new([None, None]));
        let of_work = keys.clone();
        let random = move |rng: &mut ChaCha20Rng| {
            let (seeds, first) = ([Block::ZERO, Block::random(rng)], rng.next_u32() as usize & 1);
            keys.replace([None, None]);
            for class in [first, 1 - first] {
                keys.borrow_mut()[class] = Some(RlweSecretKey::new(&of_random, &mut Prg::new(seeds[class])));
            }
            1
        };
        trial(0, random, move |class: &mut usize| {
            let keys = of_work.borrow();
            let key = keys[*class].as_ref().expect("both are there");
            key.negative_product(&ring, 0, &mut second.clone())
        })
    })
}

/// Encrypts zeros or random messages.
fn encrypted(ring: &Rc<Ring>) -> Make {
    let ring = ring.clone();
    Box::new(move |rng| {
        let key = RlweSecretKey::new(&ring, &mut Prg::new(Block::random(rng)));
        let (ring, mask) = (ring.clone(), residues(rng));
        trial(vec![0; DEGREE], residues, move |values| key.encrypt(&ring, 0, &mask, values))
    })
}

/// The control of products: with coefficients that are not zero.
fn leaving_out_zeros() -> Make {
    Box::new(|rng| {
        let factors = residues(rng);
        trial(vec![0; DEGREE], residues, move |values| {
            let products = values.iter().zip(&factors).filter(|(value, _)| **value != 0);
            products.fold(0u64, |sum, (value, factor)| sum.wrapping_add(value.wrapping_mul(*factor) >> 3))
        })
    })
}

/// Errors and the coefficients of keys.
fn drawn() -> Make {
    Box::new(|_| {
        trial(Block::ZERO, Block::random, |seed| {
            let mut prg = Prg::new(*seed);
            (errors(DEGREE, &mut prg), ternary(DEGREE, &mut prg))
        })
    })
}

/// The control of errors: ones are counted one after the other.
fn counting_ones() -> Make {
    Box::new(|_| {
        trial(vec![0; DEGREE], residues, |words| {
            let ones = |word: u64| std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
            words.iter().map(|word| ones(*word).take_while(|word| *word != 0).count()).sum::<usize>()
        })
    })
}
