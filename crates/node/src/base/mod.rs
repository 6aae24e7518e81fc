//! Foundations that know nothing of jobs: texts, files, directories, randomness, the resources used by the process,
//! and its cancellation.

pub mod cancel;
pub mod exit;
pub mod files;
pub mod folder;
pub mod hex;
pub mod html;
pub mod kernels;
pub mod memory;
pub mod random;
pub mod text;
pub mod text_file;
pub mod usage;
