//! Tests of oblivious transfer.

mod hostile;
mod results;
mod views;
