//! HTTP/2 over TLS 1.3, both ends authenticated by the fingerprints of their keys: how the roles of an aggregation
//! speak with each other. Requests can all be repeated: whoever has no answer asks again.

mod addresses;
mod admission;
mod body;
mod client;
mod counted;
mod server;
mod stream;
mod taken;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tacita_node::run::report::TlsReport;
use tacita_node::transport::key_exchange::NegotiatedGroup;

pub use addresses::{Addresses, ServiceAddresses};
pub use admission::{Admission, Caller, CountGuard, Going};
pub use body::{RequestPool, expect_binary, read, read_json};
pub use client::{ApiRequest, ApiResponse, Client, Contact, Endpoint, Persistence, Replicas, WaitNotice, all_silent};
pub use server::{Server, UnderWay, Who, files, stand};
pub(crate) use stream::cancelled;
pub use stream::{Bounds, Outlet, join, outlet};
pub use taken::ReadDeadline;

/// Media type of binary bodies; its version is that of all of them.
pub const MEDIA_TYPE: &str = "application/vnd.tacita.v1";

/// Maximum length of a body in bytes.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// Time limit for a handshake.
pub const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// Time limit for a body to arrive.
pub const BODY_LIMIT: Duration = Duration::from_secs(20);

/// Connections at a time, in all.
pub const MAX_CONNECTIONS: usize = 2048;

/// Connections of one identity at a time.
pub const CONNECTIONS_EACH: usize = 8;

/// Requests that are worked on at a time, in all: each may hold a body.
pub const MAX_REQUESTS: usize = 128;

/// Requests of one identity that are worked on at a time, where enough are free; one where few are.
pub const REQUESTS_EACH: usize = 8;

/// Requests whose bodies travel both ways at once, in all: each keeps threads, and the memory of its protocol.
pub const MAX_INTERACTIONS: usize = 16;

/// Maximum number of interactions of one identity: one that goes on, and one whose end has not been noticed yet.
pub const INTERACTIONS_EACH: usize = 2;

/// Counter of bytes sent and received, TLS included, and what is known of that TLS.
#[derive(Debug, Default)]
pub struct ServiceTraffic {
    sent: AtomicU64,
    received: AtomicU64,
    refused: AtomicU64,
    turned_away: AtomicU64,
    /// The group that protects least of all from which a connection had its keys.
    weakest: Mutex<Option<NegotiatedGroup>>,
}

impl ServiceTraffic {
    /// Returns how the connections so far were encrypted; `None` before the first.
    pub fn tls(&self) -> Option<TlsReport> {
        self.weakest.lock().unwrap_or_else(PoisonError::into_inner).map(TlsReport::of_one)
    }

    /// Notes the group from which a connection has its keys.
    fn note_group(&self, group: NegotiatedGroup) {
        let mut weakest = self.weakest.lock().unwrap_or_else(PoisonError::into_inner);
        *weakest = NegotiatedGroup::weakest(weakest.iter().copied().chain([group]));
    }

    /// Bytes sent so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes received so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Connections of others that came to no request: of strangers, for example.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Requests of others that came while too much was going on.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}

/// The same counters in several places.
pub type SharedTraffic = Arc<ServiceTraffic>;
