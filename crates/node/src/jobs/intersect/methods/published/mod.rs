//! Protocols of an intersection that are there to be compared, as they were published.

pub mod bloom;
pub mod kissner_song;
pub mod polynomial;
