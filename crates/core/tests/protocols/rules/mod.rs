//! Tests of association rules.

mod hidden;
mod hostile;
mod mesh;
mod names;
mod results;
mod views;
