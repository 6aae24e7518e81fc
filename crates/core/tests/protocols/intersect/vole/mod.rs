//! `vole`.

mod hostile;
mod results;
mod views;
