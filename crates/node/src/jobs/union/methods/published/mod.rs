//! Protocols of a union that are there to be compared, as they were published.

pub mod polynomial;
pub mod polynomial_ot;
