//! Tests with cuts of the power, and of the model that they are made in.

mod files;
#[allow(dead_code, reason = "tests of the aggregation need more of it")]
mod model;
mod tests;

pub(crate) use model::{Recording, Syncs, tell, told};
