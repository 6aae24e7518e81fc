//! Over-threshold aggregation: what the roles of a round keep, and how they go on after a crash.

pub mod queue;
pub mod store;
#[cfg(test)]
mod testing;
