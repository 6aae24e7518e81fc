//! For the protocols that are here to be compared.

pub mod outsourced_bloom;
pub mod polynomials;
