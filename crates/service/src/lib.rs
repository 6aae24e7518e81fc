//! What stands and waits for others: an authority that keeps a live list ([`authority`]), and a desk that asks it ([`desk`]) and serves a
//! page to its clerks (the protocol is [`tacita_core::protocol::intersect::live`], what the job file says of it
//! [`tacita_node::jobs::intersect::live`]); a relay, at which parties meet that can only dial out ([`relay`]); and a helper, at which parties of a job leave what
//! they have for each other ([`helper`]); and the roles of an aggregation ([`aggregate`]).

// Tests within the crate use what tests beside it are written on.
#[cfg(test)]
extern crate self as tacita_service;

pub mod aggregate;
pub mod authority;
mod clock;
#[cfg(test)]
mod crashes;
pub mod desk;
pub mod helper;
mod journal;
mod page;
mod refusals;
pub mod relay;
mod status;

pub use page::Origin;
