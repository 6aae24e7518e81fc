//! Files on disk that nobody else can read or change unnoticed.

pub mod seal;
