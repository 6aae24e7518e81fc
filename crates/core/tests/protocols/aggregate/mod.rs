//! Over-threshold aggregation.

mod forged;
mod hostile;
pub mod naor_reingold;
mod results;
pub mod round;
mod views;
