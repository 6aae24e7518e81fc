//! `lattice`.

mod hostile;
mod results;
mod views;
