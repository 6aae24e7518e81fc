//! `bloom`.

mod hostile;
mod results;
mod views;
