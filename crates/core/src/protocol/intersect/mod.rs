//! Private set intersection.

pub mod ecdh;
pub mod entries;
pub mod vole;
