//! Channels: one between two, lanes of one, several at once.

mod each;
mod lanes;
mod single;
