//! Protocols with which organisations compute joint answers over data that none of them shows.
//!
//! This crate is pure: no sockets, files or clocks. A protocol is a pair of synchronous role functions over a
//! [`channel::Channel`], or a function for each role over channels to several, or over a [`depot::Depot`] at which parties
//! leave things for each other; everything that touches the outside world lives in the `tacita` crate.
//!
//! Read a protocol from `protocol/<job>/<name>.rs`: it follows its paper from top to bottom. The primitives that it
//! calls are in `primitive/`.

#![warn(unreachable_pub)]

pub mod channel;
pub mod depot;
pub(crate) mod error;
pub(crate) mod item;
mod parallel;
pub mod primitive;
pub mod progress;
pub mod protocol;
pub(crate) mod role;
pub mod security;
pub mod session;

pub use channel::Channel;
pub use error::{Error, ErrorKind, Result, RowLimit};
pub use item::{ITEM_BYTES, Item};
pub use progress::Progress;
pub use role::{Role, Side};
pub use security::{Chance, Level, Security};
pub use session::Session;
