//! What only the protocols of [`protocol::published`](crate::protocol::published) are made of.

pub mod bloom;
pub mod goldwasser_micali;
mod pallas;
pub mod polynomial;

pub use pallas::Pallas;
