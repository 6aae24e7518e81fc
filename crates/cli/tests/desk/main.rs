//! A live list and its desks, as processes: `tacita serve` and `tacita desk`.

#[path = "../common/mod.rs"]
mod common;

mod batches;
mod browser;
mod crash;
mod doctor;
mod fly;
mod page;
mod possible;
mod refused;
mod told;
mod verdicts;
