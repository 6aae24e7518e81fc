//! A desk: it asks an authority about one row at a time, or about many, over a connection that stands, and serves a
//! page for that.

mod batch;
pub mod check;
mod judge;
mod link;
pub mod page;
mod upload;
mod verdicts;

pub use link::{Asking, DeskLink, LinkStatus, RowMatches, connect};
pub use page::{DeskConfig, serve};
