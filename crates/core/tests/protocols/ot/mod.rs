//! Oblivious transfer.

mod hostile;
mod results;
mod views;
