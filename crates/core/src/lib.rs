//! Protocols with which organisations compute joint answers over data that none of them shows.
//!
//! This crate is pure: no sockets, no files, no environment, and no clock but that by which a [`channel::Channel`]
//! knows how long it has waited; its caller says how long it may. A protocol is a pair of synchronous role functions
//! over a channel, or a function for each role over channels to several, or over a [`depot::Depot`] at which parties
//! leave things for each other; everything that touches the outside world is in the crates on top of this one.
//!
//! # An intersection
//!
//! Two processes have a connection, such as a [socket](Channel::over_socket). They [agree](agree::agree) on a session,
//! hash their keys to items of that session, and call the two roles of a protocol:
//!
//! ```
//! use tacita_core::Result;
//! use tacita_core::prelude::*;
//!
//! /// The places of the names that both have, for the receiver.
//! fn intersect(role: Role, names: &[&str], mut channel: Channel) -> Result<Vec<usize>> {
//!     let mut rng = fresh_rng()?;
//!     let mut run = || {
//!         let (session, theirs) = agree(b"names, vole", names.len(), 1_000_000, &mut channel, &mut rng)?;
//!         let key = session.derive("item");
//!         let items: Vec<Item> = names.iter().map(|name| Item::new(&key, name.as_bytes())).collect();
//!         match role {
//!             Role::Receiver => {
//!                 let sizes = tag_exchange::Params::rows(items.len(), theirs);
//!                 let params = vole::Params::new(sizes, Security::Malicious)?;
//!                 vole::rows::receive(&items, &session, &params, &mut channel, &mut rng)
//!             }
//!             Role::Sender => {
//!                 let sizes = tag_exchange::Params::rows(theirs, items.len());
//!                 let params = vole::Params::new(sizes, Security::Malicious)?;
//!                 vole::rows::send(&items, &session, &params, &mut channel, &mut rng)?;
//!                 Ok(Vec::new())
//!             }
//!         }
//!     };
//!     let outcome = run();
//!     Ok(channel.end(outcome)?.0)
//! }
//!
//! let (to_insurer, to_hospital) = Channel::pair("hospital", "insurer");
//! let common = std::thread::scope(|scope| {
//!     scope.spawn(|| intersect(Role::Sender, &["bob", "dan"], to_hospital));
//!     intersect(Role::Receiver, &["ann", "bob", "cid"], to_insurer)
//! })?;
//! assert_eq!(common, [1]);
//! # Result::Ok(())
//! ```
//!
//! The project's `docs/protocols` say what each party learns from a protocol. The caller answers for three things.
//! Keys are equal bytes where they mean the same. Items are distinct. And the connection is encrypted, with both ends
//! known: this crate protects the parties from each other, and not from the network.
//!
//! # Where to look
//!
//! [`prelude`] has what such a program needs. Read a protocol from `protocol/<job>/<name>`: it follows its paper from
//! top to bottom. The primitives that it calls are in `primitive/`. Protocols in `protocol/published/` are there to be
//! compared, and what only these are made of is in `primitive/published/`: nothing else here names either.
//!
//! Errors are matched by [`ErrorKind`], never by their text.
//!
//! # Features and speed
//!
//! The crate has no Cargo features. What differs between processors is chosen when the program runs
//! ([`primitive::kernel::backend`]): AVX-512 with IFMA, AVX2, and portable code. A program with this crate has to be
//! compiled with optimisation. `docs/library.md` has the settings that are worth
//! their while.
//!
//! # Stability
//!
//! An item is public if another crate, a test program, a measurement or a fuzz target names it. What [`prelude`] holds
//! changes with a new minor version only, and with a word in the changelog; the rest may change with any.

#![warn(unreachable_pub)]

pub mod agree;
pub mod channel;
pub mod depot;
pub(crate) mod error;
pub(crate) mod item;
mod parallel;
pub mod prelude;
pub mod primitive;
pub mod progress;
pub mod protocol;
pub mod random;
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
