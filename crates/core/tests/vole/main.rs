//! Silent VOLE and silent COT.

#[path = "../support/mod.rs"]
mod support;

mod hostile;
mod results;
