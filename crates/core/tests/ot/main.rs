//! Oblivious transfer.

#[path = "../support/mod.rs"]
mod support;

mod hostile;
mod results;
mod views;
