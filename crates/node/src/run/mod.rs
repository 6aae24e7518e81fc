//! A party's run of a job.

pub mod addresses;
pub mod check;
pub mod connect;
pub(crate) mod connections;
mod defaults;
pub(crate) mod execute;
pub mod helper;
pub mod kept;
mod negotiate;
pub mod party;
mod prepare;
pub mod rehearsal;
pub mod report;
pub mod write;
