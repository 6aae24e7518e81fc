//! What the protocols are made of.

pub mod group;
pub mod kernel;
pub mod oprf;
pub mod ot;
pub mod shuffle;
pub mod vole;
