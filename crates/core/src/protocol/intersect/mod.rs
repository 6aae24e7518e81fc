//! Private set intersection.

pub mod bloom;
pub mod buckets;
pub mod ecdh;
pub mod entries;
pub mod live;
pub mod polynomial;
pub mod vole;
