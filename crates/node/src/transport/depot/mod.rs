//! A helper's depot as a party reaches it: over TLS, in requests and answers ([`frame`]), again and again if
//! connections are lost. What a party tells all is signed ([`word`]). The wire format is in `docs/wire.md`.

mod ask;
mod client;
pub mod frame;
pub mod word;

pub use ask::{DepotTerms, HelperAddress, look};
pub use client::{DepotClient, Expected};
