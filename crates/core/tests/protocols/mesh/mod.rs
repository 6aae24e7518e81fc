//! Products and comparisons among any number of parties.

mod compare;
mod hostile;
mod products;
mod views;
