//! Over-threshold aggregation: participants report pairs of a key and a value, and only keys that enough of them report
//! come out (Ringberg, Applebaum, Freedman, Caesar & Rexford, "Collaborative, privacy-preserving data aggregation at
//! scale", PETS 2010).
//!
//! A *proxy* and a *database* that do not collude stand between participants and result. A participant
//! [`report`](report())s each pair, encrypted; the proxy [`blind`](blind())s the reports, shuffles them, and sends them
//! on; the database [`open`]s what comes, so that it has a row for each key that says neither which key it is nor who
//! reported it. Of a row that satisfies what was agreed on it [`ask`]s the *oracle*, which belongs to the proxy and
//! [`answer`]s with the key, if it finds that the row holds what it says.
//!
//! All steps are pure, bytes to bytes: whoever serves connections calls them. The page is
//! `docs/protocols/aggregate.md`. Here is the protocol `dh`, in which a row is s H(k) with the proxy's secret s; its
//! steps but the first are those of every protocol with another function in its place ([`RowFunction`]).
//!
//! ```
//! use tacita_core::Session;
//! use tacita_core::protocol::aggregate::*;
//! use tacita_core::session::Transcript;
//! # fn rng() -> chacha20::ChaCha20Rng {
//! #     let mut seed = [0; 32];
//! #     getrandom::fill(&mut seed).unwrap();
//! #     rand_core::SeedableRng::from_seed(seed)
//! # }
//!
//! let rng = &mut rng();
//! // Keys of at most 16 bytes, no values, and reporters of a row are told apart.
//! let params = Params::new(Session::new(Transcript::new("example")), 16, 0, true)?;
//! let (proxy, database) = (ProxyKey::generate(&params, rng), DatabaseKey::generate(&params, rng));
//! let (of_database, of_proxy) = (database.public(&params, rng), proxy.public(&params, rng));
//! let keys = RoundKeys::new(&params, &of_database, &of_proxy, rng).unwrap();
//!
//! // Each participant reports, and the proxy blinds its reports. (It shuffles those of all.)
//! let mut entries = Vec::new();
//! for participant in ["bank", "shop", "host"] {
//!     let entry = Entry { key: b"198.51.100.7".to_vec(), value: 0 };
//!     let reports = report(&params, &keys, participant, 0, &[entry], rng)?;
//!     entries.extend(blind(&params, &keys, &proxy, participant, 0, &reports, rng).unwrap());
//! }
//! // The database sees one row of three reporters, and asks the oracle for its key.
//! let rows = open(&params, &database, &entries).unwrap().rows;
//! assert!(rows.iter().all(|row| row.id == rows[0].id));
//! let sealed: Vec<&[u8]> = rows.iter().map(|row| &row.sealed[..]).collect();
//! let question = ask(&params, &keys, &sealed, rng).unwrap();
//! let least = RevealThreshold { count: 3, distinct: 3 };
//! let answer = answer(&params, &proxy, &rows[0].id, &question, &[0, 1, 2], least).unwrap();
//! assert!(matches!(answer, RowAnswer::Key(key) if key == b"198.51.100.7"));
//! # tacita_core::Result::Ok(())
//! ```

mod answer;
pub mod blind;
mod keys;
mod open;
mod params;
pub mod report;
pub(crate) mod rows;

use std::fmt;

use crate::primitive::group::DecodeError;

pub use answer::{RevealThreshold, RowAnswer, RowFunction, answer};
pub use blind::blind;
pub use keys::{Blinding, DatabaseKey, ProxyKey, RoundKeys};
pub use open::{Dropped, Opened, ReportRow, ask, open};
pub use params::{MAX_KEY_BYTES, MAX_VALUES, Params};
pub use report::{Entry, report};

/// Length of a row's id, and of a tag.
pub(crate) const ID_BYTES: usize = 32;

/// Report or entry that is refused, and the reason. The ones beside it may be well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Index of the refused report or entry: reports are counted as [`report`](report()) counts them, entries from 0.
    pub index: u64,
    /// Reason of the refusal.
    pub why: Why,
}

/// Fault in a report or an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The bytes are no whole number of them.
    Length,
    /// Encoding that is not the canonical one of any point.
    NotAPoint,
    /// Encoding of the identity.
    Identity,
    /// A proof of knowing the value, or the masks of the other ciphertexts, does not hold: it was made for other bytes,
    /// by or for somebody else, or for another place.
    Proof,
    /// A question doesn't say of each entry which have the same reporter, or says so where entries carry no tags.
    Reporters,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Why::Length => "is not whole",
            Why::NotAPoint => "holds no valid point",
            Why::Identity => "holds the identity",
            Why::Proof => "does not prove that who reports it has made it, for here and now",
            Why::Reporters => "has no number of its reporter, or one too many",
        };
        write!(f, "number {} {why}", self.index)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// Converts an error of decoding into the report or entry refused. Items are numbered from `first`, with `points`
    /// points each.
    pub(crate) fn decoding(error: DecodeError, first: u64, points: usize) -> Refused {
        match error {
            DecodeError::Length => Refused { index: first, why: Why::Length },
            DecodeError::NotAPoint(index) => Refused { index: first + (index / points) as u64, why: Why::NotAPoint },
            DecodeError::Identity(index) => Refused { index: first + (index / points) as u64, why: Why::Identity },
        }
    }
}
