//! `ot`.

mod hostile;
mod results;
mod views;
