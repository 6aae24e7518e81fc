//! A party's run of a job.

pub mod check;
pub mod kept;
pub mod meet;
pub mod outsourced;
pub mod party;
pub mod reach;
pub mod rehearsal;
pub mod report;
pub(crate) mod settle;
pub mod write;
