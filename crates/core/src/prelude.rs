//! Everything that a protocol between two processes of one's own needs, in one line: `use tacita_core::prelude::*;`.
//!
//! [`Result`](crate::Result) is not among it, so that the standard library's stays in reach.

pub use crate::agree::agree;
pub use crate::channel::{Channel, Traffic};
pub use crate::error::{Error, ErrorKind};
pub use crate::item::Item;
pub use crate::primitive::oprf::Suite;
pub use crate::protocol::intersect::{ecdh, tag_exchange, vole};
pub use crate::protocol::{dot, union};
pub use crate::random::fresh_rng;
pub use crate::role::{Role, Side};
pub use crate::security::{Level, Security};
pub use crate::session::{Session, Transcript};
