//! What participants do: they submit reports, and collect results. And what the database's operator does, who is a client as well.

pub mod batches;
pub mod operate;
pub mod results;
pub mod submit;
