//! What everything else stands on, and what knows nothing of jobs: texts, files, directories, randomness, what
//! the process uses, and how it is interrupted.

pub mod files;
pub mod folder;
pub mod hex;
pub mod interrupt;
pub mod memory;
pub mod random;
pub mod text;
pub mod threads;
pub mod usage;
