//! Over-threshold aggregation.

#[path = "../support/mod.rs"]
mod support;

mod forged;
mod hostile;
mod results;
mod round;
mod views;
