//! Services that run on: aggregation and the desk, their pages, and strangers at their doors.

#[path = "../common/mod.rs"]
mod common;

mod aggregate;
mod desk;
mod strangers;
