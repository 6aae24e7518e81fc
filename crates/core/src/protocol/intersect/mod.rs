//! Protocols for private set intersection.

pub mod buckets;
pub mod ecdh;
pub mod live;
pub mod opprf;
pub mod outsourced;
pub mod star;
pub mod tag_exchange;
pub mod vole;
