//! Constants known to both ends of the connection of a desk and an authority.

use std::time::Duration;

/// Heartbeats of the connections of desks, and after how long without one the other end is taken for gone.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);
pub(crate) const SILENCE: Duration = Duration::from_secs(5);

/// Bytes of the table in one message, at most.
pub(crate) const TABLE_CHUNK: usize = 1 << 18;
