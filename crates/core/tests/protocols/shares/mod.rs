//! Computations on shares.

mod results;
mod views;
