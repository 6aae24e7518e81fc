//! Tests of the published protocol.

pub mod round;

mod function;
mod hostile;
mod results;
mod views;
