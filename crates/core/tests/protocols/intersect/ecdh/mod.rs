//! `ecdh`.

mod hostile;
mod prepared;
mod results;
mod sum;
mod sum_views;
mod views;
