//! A party's run of a job.

pub mod check;
pub(crate) mod connections;
pub(crate) mod execute;
pub mod helper;
pub mod kept;
pub mod meet;
mod negotiate;
pub mod party;
pub mod reach;
pub mod rehearsal;
pub mod report;
pub mod write;
