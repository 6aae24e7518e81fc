//! Tests of private scalar products.

mod lattice;
mod ot;
mod paillier;
