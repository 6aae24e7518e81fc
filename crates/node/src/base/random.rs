//! Random bytes and generators for runs.

pub use tacita_core::random::{fill_random, fresh_rng};
