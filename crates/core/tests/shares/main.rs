//! Computations on shares.

#[path = "../support/mod.rs"]
mod support;

mod results;
mod views;
