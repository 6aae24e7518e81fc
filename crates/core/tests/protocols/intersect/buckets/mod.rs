//! `buckets`.

mod hostile;
mod results;
mod views;
