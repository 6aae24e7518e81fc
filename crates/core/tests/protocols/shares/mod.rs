//! Tests of computations on shares.

mod results;
mod views;
