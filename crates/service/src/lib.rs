//! What stands and waits for others: an authority that keeps a live list ([`authority`]), and a desk that asks it ([`desk`]) and serves a
//! page to its clerks (the protocol is [`tacita_core::protocol::intersect::live`], what the job file says of it
//! [`tacita_node::jobs::intersect::live`]); and a relay, at which parties meet that can only dial out ([`relay`]).

pub mod authority;
mod clock;
pub mod desk;
mod journal;
pub mod relay;
