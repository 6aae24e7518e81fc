//! A live list and its desks, as processes: `tacita serve` and `tacita desk`.

mod batches;
mod browser;
mod crash;
mod doctor;
pub mod fly;
mod page;
mod possible;
mod refused;
mod told;
mod verdicts;
