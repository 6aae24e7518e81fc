//! Private set intersection.

pub mod bloom;
pub mod buckets;
pub mod ecdh;
pub mod entries;
pub mod kissner_song;
pub mod live;
pub mod opprf;
pub mod outsourced;
pub mod outsourced_bloom;
pub mod polynomial;
pub mod star;
pub mod vole;
