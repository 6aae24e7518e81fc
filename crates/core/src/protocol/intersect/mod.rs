//! Private set intersection.

pub mod ecdh;
