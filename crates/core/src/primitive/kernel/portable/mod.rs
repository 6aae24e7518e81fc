//! The kernels in plain Rust, for every processor, and what the others are compared with.

pub(super) mod gf128;
pub(super) mod jacobi;
pub(super) mod montgomery;
pub(super) mod ntt;
pub(super) mod transpose;
