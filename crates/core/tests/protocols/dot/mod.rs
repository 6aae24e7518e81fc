//! Tests of private scalar products.

mod lattice;
mod noise;
mod ot;
mod paillier;
