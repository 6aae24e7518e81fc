//! Private scalar products.

#[path = "../support/mod.rs"]
mod support;

mod gm_bloom;
mod lattice;
mod ot;
mod paillier;
