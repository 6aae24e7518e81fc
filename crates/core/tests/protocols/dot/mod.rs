//! Private scalar products.

mod gm_bloom;
mod lattice;
mod ot;
mod paillier;
