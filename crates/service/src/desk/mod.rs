//! A desk: it asks an authority about one row at a time, or about many, over a connection that stands, and serves a page for that.

mod batch;
mod link;
pub mod page;
mod verdicts;

pub use link::{Asking, Found, Link, Standing};
pub use page::{Serving, serve};
