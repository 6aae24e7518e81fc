//! Tests of association rules among more than two parties.

mod data;
mod hostile;
mod results;
mod views;
