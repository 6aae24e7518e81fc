//! Clients of the services: participants, which submit reports and collect results, and the database's operator.

pub mod batches;
pub mod operate;
pub mod results;
pub mod submit;
