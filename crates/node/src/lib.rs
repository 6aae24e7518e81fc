//! Job files, tables, connections and reports: everything around the protocols of `tacita-core`.
//!
//! A library: no process is ended and no result printed here. [`prelude`] has what a program needs that plans a job,
//! runs a party of it or simulates it:
//!
//! ```
//! use std::collections::BTreeMap;
//! use tacita_node::prelude::*;
//!
//! let job = JobSpec::parse(
//!     r#"
//!     job       = "intersect"
//!     id        = "accidents"
//!     reveal_to = ["hospital"]
//!     key       = { columns = ["name"], normalize = ["name"] }
//!     [parties.hospital]
//!     [parties.insurer]
//!     "#,
//!     false,
//! )?;
//! let sizes = ["hospital", "insurer"].map(|party| (party.to_owned(), Sizes { items: 1000, ..Sizes::default() }));
//! let calibration = Calibration::measure(&mut fresh_rng()?)?;
//! let plan = plan(&job, &BTreeMap::from(sizes), &BTreeMap::new(), calibration, LinkShape::default())?;
//! assert!(plan.rounds > 0 && plan.parties["insurer"].bytes_sent > 0);
//! println!("{}", plan.parties["insurer"].learned.join("\n"));
//! # tacita_core::Result::Ok(())
//! ```
//!
//! [`run::party::PartyRun`] is a party's run over TLS, [`simulate::tables`] a whole job between tables in memory.
//! Errors are those of `tacita-core`: match on [`Error::kind`](tacita_core::Error::kind), not on a text.
//!
//! Follow a job: [`jobs`] reads its file, [`run`] loads the table, meets the peers ([`transport`]), settles the terms
//! with them ([`agreement::handshake`]), and hands over to the room of the job ([`jobs`]), whose result it writes.
//!
//! The crate has no Cargo features. What [`prelude`] holds changes with a new minor version only, and with a word in
//! the changelog; the rest may change with any.

pub mod agreement;
pub mod base;
pub mod distributed;
pub mod govern;
pub mod identity;
pub mod jobs;
pub mod plan;
pub mod prelude;
pub mod run;
pub mod simulate;
pub mod store;
pub mod table;
pub mod transport;
pub mod watch;
