//! Tests of association rules.

mod hidden;
mod hostile;
mod names;
mod results;
mod views;
