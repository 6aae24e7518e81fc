//! `bloom`: intersection of two sets by oblivious transfer of a garbled Bloom filter.
//!
//! The receiver makes a Bloom filter of its items, the sender a garbled one. In one OT for each slot, the receiver's
//! bit chooses between a random string and the sender's slot. So the receiver gets a garbled filter of what is common,
//! and looks for its items in it. Dong, Chen & Wen, "When private set intersection meets big data" (CCS 2013), as used
//! by Dong & Chen, "A fast secure dot product protocol with application to privacy preserving association rule mining"
//! (PAKDD 2014), section 3.1.
//!
//! Both filters have the slots for a bound that both parties agree on, and neither party has more items: that the
//! receiver's filter is at most half full is what protects the sender's items.
//!
//! Semi-honest parties only. A malicious receiver would set all bits and get all slots, and test any item; the
//! published malicious form does not prevent that (Rindal & Rosulek, "Improved private set intersection against
//! malicious adversaries", EUROCRYPT 2017).
//!
//! The OTs are SoftSpoken's, set up once for any number of runs ([`BloomReceiver`], [`BloomSender`]). All keys of a run
//! are derived from the session, the purpose of the set-up and the number of the run. What each role learns, and why,
//! is in `docs/protocols/bloom.md`.

mod params;
mod receiver;
mod sender;

pub use crate::primitive::published::bloom::Strength;
pub use crate::protocol::published::labels::bloom::SLOTS;
pub use params::Params;
pub use receiver::{BloomReceiver, receive};
pub use sender::{BloomSender, send, send_over};

use crate::primitive::kernel::{Block, RekeyedHash};
use crate::primitive::published::bloom::{Hashes, PIECE};
use crate::session::Session;

/// Purpose for which [`receive`] and [`send`] set up OTs.
const PURPOSE: &str = "intersection";

/// Slots that one thread works on at once. The hash of pads changes its key more often.
const STRIP: usize = 4096;

/// Public keys of one run.
struct Keys {
    hashes: Hashes,
    pads: RekeyedHash,
}

impl Keys {
    fn new(params: &Params, session: &Session, purpose: &str, run: u64) -> Keys {
        let (k, bound) = (params.strength().bits(), params.bound());
        let derive = |part: &str| session.derive(&format!("bloom {part} {k} {bound} of {purpose} {run}"));
        let pads = Block::from_le_slice(&derive("pads"));
        let hashes = Hashes::new(params.strength(), params.slots(), &derive("hashes"));
        Keys { hashes, pads: RekeyedHash::new(pads) }
    }
}

/// Returns the number of slots in a piece.
fn slots_of(piece: usize, params: &Params) -> usize {
    PIECE.min(params.slots() - piece * PIECE)
}
