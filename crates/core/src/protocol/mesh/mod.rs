//! Common parts of protocols among any number of parties that are all connected to each other: a party's links, the
//! oblivious transfers between each two, and checks that all were told the same.

pub(crate) mod heard;
pub(crate) mod ots;

pub use crate::channel::labels::mesh::DIGESTS;
pub use heard::{Heard, MeshStatement};
pub use ots::{MeshEnd, MeshOts};

use std::fmt;

use zeroize::Zeroizing;

use crate::session::Session;

/// One of a party's links.
pub struct MeshLink {
    /// Place of the peer.
    pub peer: usize,
    /// The session of these two in this run.
    pub session: Session,
    /// Secret seed that only these two parties know, fresh for the run.
    pub seed: Zeroizing<[u8; 32]>,
}

impl MeshLink {
    /// The session of the link as a part of the run's, for the purpose `label`: what all parts draw once, as the code
    /// of their correlations, all links draw once, so that how many there are does not make a bad one more likely.
    pub(crate) fn session_in(&self, run: &Session, label: &str) -> Session {
        run.part_of(label, &self.session)
    }
}

impl fmt::Debug for MeshLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MeshLink(to {})", self.peer)
    }
}
