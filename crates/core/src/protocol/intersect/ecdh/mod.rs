//! `ecdh`: intersection of two sets by Diffie-Hellman, as the oblivious pseudorandom function 2HashDH.
//!
//! The receiver blinds the hash of each of its items and sends it; the sender raises it to its key; the receiver
//! unblinds and has F(y). In [`rows`] and [`payload`] it blinds by adding, with the public part of the sender's key.
//! The sender sends F(x) of its own items, shortened to tags and in random order; the receiver looks for its own among
//! them. Meadows 1986; Huberman, Franklin & Hogg 1999; the function as in RFC 9497. Semi-honest parties.
//!
//! [`rows`] tells the receiver which of its items are common, [`payload`] also the sender's rows for them, [`count`]
//! only how many are, [`sum`] also the sum of the sender's numbers for them. Each can tell the sender the same
//! afterwards. [`prepared`] keeps the sender's part of the first two for many receivers. [`pooled`] counts over many
//! machines. What each role learns is in `docs/protocols/ecdh.md`, every byte in `docs/wire.md`.
//!
//! ```
//! use tacita_core::primitive::oprf::Suite;
//! use tacita_core::protocol::intersect::ecdh::{Params, TagDomain, rows};
//! use tacita_core::protocol::intersect::tag_exchange;
//! use tacita_core::session::Transcript;
//! use tacita_core::{Channel, Item, Session};
//! # fn rng() -> chacha20::ChaCha20Rng {
//! #     let mut seed = [0; 32];
//! #     getrandom::fill(&mut seed).unwrap();
//! #     rand_core::SeedableRng::from_seed(seed)
//! # }
//!
//! let session = Session::new(Transcript::new("example"));
//! let item = |name: &&str| Item::new(&session.derive("item"), name.as_bytes());
//! let hospital: Vec<Item> = ["ann", "bob", "cid"].iter().map(item).collect();
//! let insurer: Vec<Item> = ["bob", "dan"].iter().map(item).collect();
//! let entries = tag_exchange::Params::rows(hospital.len(), insurer.len());
//! let params = Params::new(entries, Suite::Ristretto255);
//! let domain = TagDomain::of_session(&session);
//! let (mut to_insurer, mut to_hospital) = Channel::pair("hospital", "insurer");
//! let common = std::thread::scope(|scope| {
//!     scope.spawn(|| rows::send(&insurer, &domain, &params, &mut to_hospital, &mut rng()));
//!     rows::receive(&hospital, &domain, &params, &mut to_insurer, &mut rng())
//! })?;
//! assert_eq!(common, [1]);
//! # tacita_core::Result::Ok(())
//! ```

pub mod count;
mod exchange;
mod params;
pub mod payload;
pub mod pooled;
pub mod prepared;
pub mod rows;
mod shuffled;
pub mod sum;

pub use super::tag_exchange::{
    CHUNK, ENTRIES, MATCHES, Payload, RETURNED_COUNTS, RETURNED_ROWS, ReceiverReveal, ReturnedRows, TagDomain,
    epoch_tag_bytes, payload_tag_bytes, tag_bytes,
};
pub use crate::channel::labels::ecdh::{BLINDED, COUNT, EVALUATED, PUBLIC_KEY};
pub use params::Params;
