//! A party's run of a job.

pub mod meet;
pub mod party;
pub mod report;
