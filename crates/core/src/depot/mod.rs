//! A depot: where the parties of a job leave parcels for each other and for a helper, so that they need not all be there at the
//! same time.
//!
//! A helper keeps it. It reads what is left for itself; what parties leave for each other is sealed between them ([`Post`]).

mod post;
mod shelf;

pub use post::Post;
pub(crate) use post::{Keys, SEAL_BYTES};
pub use shelf::{Shelf, User};

use crate::error::Result;

/// Who leaves or collects something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Whoever keeps the depot.
    Helper,
    /// The party at this place of the job.
    Party(u8),
}

/// A step of a protocol, as its parcels are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// Its number, which no other step of a protocol has.
    pub code: u8,
    /// What messages call it.
    pub name: &'static str,
}

/// Something that is left once, in parts that are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Parcel {
    /// What it is.
    pub step: Step,
    /// Who leaves it.
    pub from: Place,
    /// Who collects it.
    pub to: Place,
}

/// How a party, or the helper, reaches the depot of one run. Several threads may use it at the same time.
pub trait Depot: Sync {
    /// Tells all parties `own`, as this party's word, and returns what each has told, by place: as many bytes each. Waits until all have.
    ///
    /// Errors: [`Error::Authentication`](crate::Error::Authentication) for what is not by the party that it is said to be by.
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>>;

    /// Leaves a part of a parcel. It is there when this returns, and is left once.
    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()>;

    /// Waits for a part of a parcel, and takes it. It has `length` bytes, or the depot is to blame; nothing is collected twice.
    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>>;

    /// What messages call whoever is at that place.
    fn name(&self, place: Place) -> String;
}
