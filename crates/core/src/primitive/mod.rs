//! Cryptographic primitives from which the protocols are built.

pub(crate) mod blum;
pub mod elgamal;
pub mod group;
pub mod items;
pub mod kernel;
pub mod noise;
pub mod okvs;
pub mod oprf;
pub mod ot;
pub mod paillier;
pub mod proof;
pub mod published;
pub mod rlwe;
pub mod shuffle;
pub mod vole;
