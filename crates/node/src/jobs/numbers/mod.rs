//! Common code of scalar products and shares: values, and files of shares.

pub(crate) mod file;
mod value;

pub use file::{ShareFile, ShareNoise, check_replaceable};
pub use value::{Cells, Value, answer};
