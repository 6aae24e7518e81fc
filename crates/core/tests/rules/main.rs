//! Association rules.

#[path = "../support/mod.rs"]
mod support;

mod hostile;
mod names;
mod results;
mod views;
