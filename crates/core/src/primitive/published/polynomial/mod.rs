//! Polynomials over the scalars of a group, and with encrypted coefficients: points of the group, or anything else that
//! can be added and multiplied by scalars. Everything is written once for both.
//!
//! A polynomial is the slice of its coefficients, the lowest first. Slices may end with zeros; the empty slice is 0.
//! (von zur Gathen & Gerhard, "Modern Computer Algebra", chapters 8 to 10.)

mod correlate;
mod cost;
mod counting;
mod divide;
mod encrypted;
mod evaluate;
mod fft;
mod module;
mod multiply;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod tests;

pub use counting::{CountingModule, OperationCounts};
pub use divide::divide;
pub use encrypted::EncryptedModule;
pub(crate) use evaluate::evaluate_and_tell;
pub use evaluate::{evaluate, evaluate_in_groups, evaluate_one};
pub use module::{Module, Points, Scalars};
pub use multiply::{MultiplyStrategy, expand, multiply};
