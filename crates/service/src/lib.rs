//! What stands and waits for others: an authority that keeps a live list ([`authority`]), and a desk that asks it ([`desk`]) and serves a
//! page to its clerks. The protocol is [`tacita_core::protocol::intersect::live`], what the job file says of it
//! [`tacita_node::jobs::intersect::live`].

pub mod authority;
mod clock;
pub mod desk;
mod journal;
