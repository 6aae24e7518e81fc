//! Hidden alignment: two parties get a common order of the rows of both, by their items, and do not learn which rows
//! they share.
//!
//! Private-ID: Buddhavarapu, Knox, Mohassel, Sengupta, Taubeneck & Vlaskin, "Private matching for compute" (2020), for
//! the functionality; for the protocol Garimella, Mohassel, Rosulek, Sadeghian & Singh, "Private set operations from
//! oblivious switching" (PKC 2021), Private-ID from two OPRFs and a union, with the union of Chen, Zhang, Zhang, Dong &
//! Liu (PKC 2024). Its steps:
//!
//! 1. OPRF with the second party's key at the first party's items ([`ids()`]).
//! 2. OPRF with the first party's key at the second party's items. Now each party has both functions at its own items, and
//!    from them the id of each. Equal items have equal ids; nobody has the id of an item that it does not have.
//! 3. Union of the ids, as a whole ([`order`]): the first party gets those that only the second has, in an order that tells nothing.
//! 4. The first party sends the sorted union to the second. The order of ids is the order of rows.
//!
//! The OPRF is that of [`vole`](super::intersect::vole), the union that of [`union::ecdh`](super::union::ecdh). Where
//! the paper adds both outputs, ids are a hash of them, which binds them to the session.
//!
//! Both parties learn how many rows they share. Semi-honest parties only: a party that leaves its own items out of the
//! union, and compares afterwards, learns which. What each learns is in `docs/protocols/align.md`. [`ideal`] is the
//! twin: a trusted dealer, for tests of what is built on it.

mod alignment;
pub mod ideal;
mod ids;
pub mod order;
mod params;

use rand_core::CryptoRng;

use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::protocol::intersect::tag_exchange::items::{Padded, check_count};
use crate::role::Side;
use crate::session::Session;

pub use crate::channel::labels::align::{ORDER, ROWS};
pub use alignment::Alignment;
pub use ids::{ID_BYTES, Id, ids};
pub use order::Order;
pub use params::Params;

/// Aligns the rows of these items, which are distinct and made with a key of the session, with those of the peer. Fewer
/// items than were agreed on are filled up with random ones, which are rows of the union too.
///
/// Errors: the channel fails, the peer breaks the protocol, or the items are not distinct or too many.
pub fn run(
    side: Side,
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Alignment> {
    let agreed = params.items(side);
    check_count(items, agreed)?;
    let padded = Padded::new(items, rng);
    let ids = ids(side, &padded.range(&(0..agreed)), session, params, channel, rng)?;
    channel.count_rounds_anew();
    let order = match side {
        Side::First => order::first(&ids, session, params, channel, rng)?,
        Side::Second => order::second(&ids, session, params, channel, rng)?,
    };
    Alignment::new(items.len(), &order, params)
}
