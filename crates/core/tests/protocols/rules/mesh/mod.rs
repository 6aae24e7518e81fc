//! Tests of association rules among more than two parties.

mod data;
mod equivocating;
mod hostile;
mod results;
mod views;
