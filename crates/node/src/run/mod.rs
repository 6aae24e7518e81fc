//! A party's run of a job.

mod check;
pub mod meet;
pub mod party;
pub mod report;
pub(crate) mod settle;
pub mod write;
