//! Over-threshold aggregation.

#[path = "../support/views.rs"]
#[allow(dead_code, reason = "each test program uses a part")]
mod simulated;

mod forged;
mod hostile;
mod results;
mod round;
mod views;

use tacita_core::channel::Frame;
