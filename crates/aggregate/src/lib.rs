//! Over-threshold aggregation: what the roles of a round keep, how they speak with each other, and how they go on after
//! a crash.
//!
//! The roles are [`proxy`], [`oracle`], [`database`] and [`participant`]; none names another one. What they say to each
//! other is [`wire`], and [`transport`] carries it. Below the roles are [`store`], [`queue`] and what those that serve
//! have in common ([`serve`]); above them is what looks at all of them ([`probe`], [`doctor`],
//! [`simulate`]).

// Tests within the crate use what tests beside it are written on.
#[cfg(test)]
extern crate self as tacita_aggregate;

// Cuts of the power, as the crate below has them for its own tests.
mod connect;
#[cfg(test)]
#[allow(dead_code, reason = "tests of that crate need more of it")]
#[path = "../../serve/src/crashes/model/mod.rs"]
mod crashes;
pub mod database;
pub mod doctor;
mod gather;
pub mod hello;
pub mod interaction;
pub mod keys;
#[cfg(test)]
mod kills;
mod metrics;
#[cfg(test)]
mod model;
pub mod oracle;
pub mod participant;
mod peers;
pub mod probe;
pub mod proxy;
pub mod queue;
pub mod registry;
mod role;
pub mod secret;
pub mod serve;
pub mod setting;
pub mod simulate;
pub mod store;
#[cfg(test)]
mod testing;
pub mod transport;
mod trust;
pub mod wire;

#[cfg(test)]
use testing::{message, step};

/// A point that tests end a process at, or at which they let the disk fail.
#[cfg(not(test))]
fn step(_: &str) -> tacita_core::Result<()> {
    Ok(())
}

/// Marks such a point before or after a message, by the path that it is for.
#[cfg(not(test))]
fn message(_: &str, _: &str, _: &str) {}
