//! Scalar products by whole processes: tables in, values and shares out, against sums that were computed without the
//! program; and the opening of shares.

mod hidden;
mod noise;
mod products;
mod refused;
mod shares;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::dot::{job, noise, open, opening, shared, simulate, table};
use crate::common::{
    Home, NAMES, Pair, Rows, Running, convert, data, examples, files, free_port, joined_key, json, keys, rows_of,
    tacita, text,
};
use rustix::process::Signal;
use serde_json::{Value, json};
