//! Building blocks used only by the protocols of [`protocol::published`](crate::protocol::published).

pub mod bloom;
pub mod goldwasser_micali;
mod pallas;
pub mod polynomial;

pub use pallas::Pallas;
