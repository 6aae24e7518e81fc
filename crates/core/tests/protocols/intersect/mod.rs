//! Private set intersection.

mod answers;
mod bloom;
mod buckets;
mod ecdh;
mod kissner_song;
mod live;
mod outsourced;
mod outsourced_bloom;
mod polynomial;
mod star;
mod vole;
