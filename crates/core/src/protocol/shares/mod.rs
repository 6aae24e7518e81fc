//! Computations of two parties on numbers that they hold in [`Shares`](super::dot::Shares).

pub mod at_least;

pub use crate::channel::labels::shares::{ANSWERS, HIDDEN_BITS};
pub use at_least::bits;
