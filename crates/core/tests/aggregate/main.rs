//! Over-threshold aggregation.

#[path = "../support/mod.rs"]
mod support;

mod forged;
mod hostile;
mod naor_reingold;
mod results;
mod round;
mod views;
