//! Private scalar products.

mod lattice;
mod ot;
mod paillier;
