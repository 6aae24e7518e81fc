//! What everything else stands on, and what knows nothing of jobs: texts, files, directories, randomness, what
//! the process uses, and how it is cancelled.

pub mod cancel;
pub mod exit;
pub mod files;
pub mod folder;
pub mod hex;
pub mod kernels;
pub mod memory;
pub mod random;
pub mod text;
pub mod text_file;
pub mod usage;
