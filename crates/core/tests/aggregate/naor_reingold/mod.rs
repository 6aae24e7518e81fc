//! The published protocol.

mod round;

mod function;
mod hostile;
mod results;
mod views;
