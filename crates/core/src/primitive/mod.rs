//! What the protocols are made of.

pub mod group;
pub mod kernel;
pub mod oprf;
pub mod shuffle;
