//! What the protocols are made of.

pub mod bloom;
pub mod blum;
pub mod elgamal;
pub mod goldwasser_micali;
pub mod group;
pub mod kernel;
pub mod okvs;
pub mod oprf;
pub mod ot;
pub mod paillier;
pub mod polynomial;
pub mod proof;
pub mod rlwe;
pub mod shuffle;
pub mod vole;
