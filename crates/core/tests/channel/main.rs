//! Channels: one between two, lanes of one, several at once.

#[path = "../support/mod.rs"]
mod support;

mod each;
mod lanes;
mod single;
