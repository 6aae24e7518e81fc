//! Protocols for private set intersection.

mod answers;
mod buckets;
mod ecdh;
mod live;
mod outsourced;
mod star;
mod vole;
