//! What everything else stands on, and what knows nothing of jobs: texts, files, directories, what the process uses, and how it is
//! interrupted.

pub mod files;
pub mod folder;
pub mod interrupt;
pub mod text;
pub mod usage;
