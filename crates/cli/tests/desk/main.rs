//! A live list and its desks, as processes: `tacita serve` and `tacita desk`.

#[path = "../common/mod.rs"]
mod common;

mod browser;
mod crash;
mod fly;
mod page;
mod refused;
mod verdicts;
