//! Protocols with which organisations compute joint answers over data that none of them shows.
//!
//! This crate is pure: no sockets, no files, no environment, and no clock but that by which a [`channel::Channel`]
//! knows how long it has waited; its caller says how long it may. A protocol is a pair of synchronous role functions
//! over a channel, or a function for each role over channels to several, or over a [`depot::Depot`] at which parties
//! leave things for each other; everything that touches the outside world is in the crates on top of this one.
//!
//! Read a protocol from `protocol/<job>/<name>`: it follows its paper from top to bottom. The primitives that it calls
//! are in `primitive/`. Protocols in `protocol/published/` are there to be compared, and what only these are made of is
//! in `primitive/published/`: nothing else here names either.
//!
//! An item is public if another crate, a test program, a measurement or a fuzz target names it.

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
