//! A depot: where the parties of a job leave parcels for each other and for a helper, so that they need not all be
//! there at the same time.
//!
//! A helper keeps it. It reads what is left for itself; what parties leave for each other is sealed between them
//! ([`Post`]).

mod post;
mod shelf;

pub use post::Post;
pub(crate) use post::{PostKeys, SEAL_BYTES};
pub use shelf::{Shelf, User};

use crate::error::Result;

/// Party that leaves or collects a parcel, or the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DepotParty {
    /// Whoever keeps the depot.
    Helper,
    /// The party at this place of the job.
    Party(u8),
}

/// A step of a protocol, as its parcels are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DepotStep {
    /// Number of the step, which no other step of a protocol has.
    pub code: u8,
    /// Name of the step in messages.
    pub name: &'static str,
}

/// Something that is left once, in parts that are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Parcel {
    /// Step of the protocol to which the parcel belongs.
    pub step: DepotStep,
    /// Party, or helper, that leaves the parcel.
    pub from: DepotParty,
    /// Party, or helper, that collects the parcel.
    pub to: DepotParty,
}

/// Access of a party, or of the helper, to the depot of one run. Several threads may use it at the same time.
pub trait Depot: Sync {
    /// Tells all parties `own`, as this party's word, and returns what each has told, by place: as many bytes each.
    /// Waits until all have.
    ///
    /// Errors: [`Error::Authentication`](crate::Error::Authentication) for what is not by the party that it is said to
    /// be by.
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>>;

    /// Leaves a part of a parcel. It is there when this returns, and is left once.
    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()>;

    /// Waits for a part of a parcel, and takes it. It has `length` bytes, or the depot is to blame; nothing is
    /// collected twice.
    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>>;

    /// Name, in messages, of the party or helper at that place.
    fn name(&self, place: DepotParty) -> String;
}
