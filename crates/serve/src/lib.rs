//! Services that listen for others. An authority keeps a live list ([`authority`]). A desk queries it ([`desk`]) and
//! serves a page to its clerks. The protocol is in [`tacita_core::protocol::intersect::live`]; the job file's settings
//! for it are in [`tacita_node::jobs::intersect::live`]. Parties that can only dial out meet at a relay ([`relay`]).
//! Parties of a job leave data for each other at a helper ([`helper`]). None of these names another one. [`run`] starts
//! a party, which may be in the helper's place; [`doctor`] checks what a party needs before.
//!
//! Below them is what everything has that listens, also in other crates: connections that are taken ([`accept`]), who
//! is let in ([`allow_list`]), pages in a browser ([`page`]), pages for whoever watches ([`status`]), the time
//! ([`clock`]) and locks ([`sync`]).

pub mod accept;
pub mod allow_list;
pub mod authority;
pub mod clock;
#[cfg(test)]
mod crashes;
pub mod desk;
pub mod doctor;
pub mod helper;
mod journal;
mod live;
pub mod page;
mod refusals;
pub mod relay;
pub mod run;
pub mod status;
pub mod sync;
