//! Messages between roles and their encodings: bodies in JSON and in bytes, names in paths, and the bounds that both
//! ends know.

pub mod batch;
pub mod claims;
pub mod handed;
pub mod held;
pub mod hello;
pub mod peers;
pub mod questions;
pub mod reply;
pub mod rounds;
pub mod rows;
pub mod same_keys;
pub mod service;
pub mod sessions;
pub mod signed;
