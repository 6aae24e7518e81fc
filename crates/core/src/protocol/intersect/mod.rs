//! Private set intersection.

pub mod bloom;
pub mod ecdh;
pub mod entries;
pub mod vole;
