//! What two parties compute on numbers that they hold in [`Shares`](super::dot::Shares).

pub mod at_least;

use crate::channel::Label;

/// Comparison, both at once: bits of the tree's nodes, each hidden by a random bit.
pub const HIDDEN_BITS: Label = Label::new(26, "hidden bits");
/// Comparison, both at once: a party's shares of the answers.
pub const ANSWERS: Label = Label::new(27, "comparison answers");
