//! Tests of over-threshold aggregation.

mod forged;
mod hostile;
pub mod results;
pub mod round;
mod views;
