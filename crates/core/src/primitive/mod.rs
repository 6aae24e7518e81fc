//! What the protocols are made of.

pub mod group;
pub mod oprf;
pub mod shuffle;
