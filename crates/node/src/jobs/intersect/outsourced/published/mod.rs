//! The protocol through a helper that is there to be compared, as it was published.

pub mod bloom;
mod filters;

pub use filters::Filters;
