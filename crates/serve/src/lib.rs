//! What listens for others: an authority that keeps a live list ([`authority`]), and a desk that asks it ([`desk`]) and serves a page to its
//! clerks (the protocol is [`tacita_core::protocol::intersect::live`], what the job file says of it [`tacita_node::jobs::intersect::live`]);
//! a relay, at which parties meet that can only dial out ([`relay`]); and a helper, at which parties of a job leave what they have for each
//! other ([`helper`]). None of these names another one.
//! [`run`] starts a party, which may be in the helper's place.
//!
//! Below them is what everything has that listens, also in other crates: connections that are taken ([`accept`]), who is let in
//! ([`allow_list`]), pages in a browser ([`page`]), pages for whoever watches ([`status`]), the time ([`clock`]) and locks ([`sync`]).

pub mod accept;
pub mod allow_list;
pub mod authority;
pub mod clock;
#[cfg(test)]
mod crashes;
pub mod desk;
pub mod helper;
mod journal;
mod live;
pub mod page;
mod refusals;
pub mod relay;
pub mod run;
pub mod status;
pub mod sync;
