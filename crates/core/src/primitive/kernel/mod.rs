//! Kernels in which oblivious transfer, VOLE, encryption on lattices and Paillier spend their time. For oblivious
//! transfer and VOLE: blocks of 128 bits, AES, GF(2^128) and bit matrices. For lattices: transforms and products modulo
//! primes. For Paillier: products and powers modulo long numbers and their squares, and whether numbers are squares.
//!
//! Everything works on slices, on one thread, and in time that depends on lengths only. Callers divide long slices
//! among threads. Each kernel has a portable form and one for x86-64 processors with AVX-512, and some have one for
//! less; [`backend::chosen`] says which of them this process takes. A [`backend::Backend`] exists only for what the
//! processor can run, so that `on`, which takes one, is safe to call.

mod aes;
pub mod backend;
pub(crate) mod bits;
pub mod block;
mod doubling;
pub(crate) mod edwards;
pub mod fold;
pub mod gf128;
mod hash;
pub mod jacobi;
pub(crate) mod keyed_hash;
pub(crate) mod mask;
pub(crate) mod memory;
pub mod montgomery;
pub mod ntt;
pub mod pairs;
mod portable;
pub mod power;
mod prg;
mod prime;
pub(crate) mod table;
pub mod transpose;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use aes::Aes128;
pub use block::Block;
pub use doubling::Doubling;
pub use fold::LeafStreams;
pub use hash::{RekeyedHash, TweakableHash};
pub use prg::Prg;
pub(crate) use prime::{Factor, MAX_PRIME_BITS, Prime};
