//! `vole`: intersection of two sets by vector oblivious linear evaluation.
//!
//! The receiver encodes its items in a key-value store, and masks it with a VOLE correlation; with what it sends, the
//! sender can evaluate a pseudorandom function at any item, the receiver only at those that it has encoded. The sender
//! sends its outputs in random order, the receiver looks for its own among them. Rindal & Schoppmann, "VOLE-PSI: Fast
//! OPRF and Circuit-PSI from Vector-OLE" (EUROCRYPT 2021), with the store of Raghuraman & Rindal, "Blazing Fast PSI
//! from Improved OKVS and Subfield VOLE" (CCS 2022), figure 4, over GF(2^128) throughout. Semi-honest or malicious
//! parties.
//!
//! [`rows`] tells the receiver which of its items are common, [`payload`] also the sender's rows for them. Both can
//! tell the sender the same afterwards, among semi-honest parties. Malicious parties do several runs at once
//! ([`VoleInput`]), where one table has several keys. What each role learns, and why, is in `docs/protocols/vole.md`.
//!
//! ```
//! use tacita_core::protocol::intersect::tag_exchange;
//! use tacita_core::protocol::intersect::vole::{Params, rows};
//! use tacita_core::session::Transcript;
//! use tacita_core::{Channel, Item, Security, Session};
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
//! let params = Params::new(tag_exchange::Params::rows(hospital.len(), insurer.len()), Security::SemiHonest)?;
//! let (mut to_insurer, mut to_hospital) = Channel::pair("hospital", "insurer");
//! let common = std::thread::scope(|scope| {
//!     scope.spawn(|| rows::send(&insurer, &session, &params, &mut to_hospital, &mut rng()));
//!     rows::receive(&hospital, &session, &params, &mut to_insurer, &mut rng())
//! })?;
//! assert_eq!(common, [1]);
//! # tacita_core::Result::Ok(())
//! ```

pub(in crate::protocol) mod correlation;
pub(in crate::protocol) mod function;
mod params;
pub mod payload;
pub mod rows;

pub use params::{Params, overfitted_items};

pub use super::tag_exchange::{ENTRIES, MATCHES};
pub use crate::channel::labels::vole::{COIN, COMMITMENT, MASKED, OPENING, SEED};

use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::security::Security;
use crate::session::Session;

/// Input of a party to one of several runs over a channel among malicious parties. In all of them the receiver is bound
/// to its items before the sender answers in any.
#[derive(Clone, Copy)]
pub struct VoleInput<'a> {
    /// The items, which are distinct and made with a key of the session.
    pub items: &'a [Item],
    /// The session, which no other run has.
    pub session: &'a Session,
    /// Parameters that both parties have agreed on.
    pub params: &'a Params,
}

/// Refuses several runs at once among semi-honest parties, who do them one after the other, and no run at all.
fn check_malicious<'a>(runs: impl IntoIterator<Item = &'a VoleInput<'a>>) -> Result<()> {
    let mut runs = runs.into_iter().peekable();
    if runs.peek().is_some() && runs.all(|run| run.params.security == Security::Malicious) {
        Ok(())
    } else {
        Err(Error::Internal("vole: several runs at once are for malicious parties".into()))
    }
}

/// Counts the rounds of run `number` as of a run of its own. The first one goes on with what is counted.
fn count_rounds(number: usize, channel: &mut Channel) {
    if number > 0 {
        channel.count_rounds_anew();
    }
}
