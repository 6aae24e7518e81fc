//! Tests of association rules.

mod hostile;
mod names;
mod results;
mod views;
