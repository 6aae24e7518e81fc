//! `paillier`.

mod hostile;
mod results;
mod views;
