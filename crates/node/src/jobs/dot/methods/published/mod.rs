//! A protocol that is there to be compared, as it was published.

pub mod gm_bloom;
