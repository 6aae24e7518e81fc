//! Steps 1 and 2: ids of the own items, from two OPRFs in opposite directions.

use std::fmt;

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::Params;
use crate::channel::Channel;
use crate::error::Result;
use crate::item::{ITEM_BYTES, Item};
use crate::protocol::intersect::vole::function::{self, Evaluated, OutputHash};
use crate::protocol::intersect::vole::{self, correlation};
use crate::role::Side;
use crate::session::Session;

/// Length of an [`Id`] in bytes. Two of 2^32 items have one id with probability 2^-65.
pub const ID_BYTES: usize = 16;

/// Length of a function's output.
const OUTPUT_BYTES: usize = 32;

/// Outputs of one function at a party's items, in their order.
type Outputs = Zeroizing<Vec<[u8; OUTPUT_BYTES]>>;

/// A pseudorandom id of an item, in one run. Who has the item has its id; to all others it is a random string.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Zeroize)]
pub struct Id(u128);

impl Id {
    /// The id with this encoding. The order of ids is that of their encodings.
    pub fn from_bytes(bytes: [u8; ID_BYTES]) -> Id {
        Id(u128::from_be_bytes(bytes))
    }

    /// Returns the encoding of the id.
    pub fn to_bytes(self) -> [u8; ID_BYTES] {
        self.0.to_be_bytes()
    }

    /// The id as an item of the union.
    pub fn item(self) -> Item {
        let mut item = [0; ITEM_BYTES];
        item[..ID_BYTES].copy_from_slice(&self.to_bytes());
        Item(item)
    }
}

/// Ids are never printed: the peer's stand among them in the union.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Id(..)")
    }
}

/// Ids of a party's items, in their order. There are as many items as agreed; they are distinct, and the same that go
/// on to the union.
pub fn ids(
    side: Side,
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Zeroizing<Vec<Id>>> {
    params.check(side, items.len())?;

    // 1. The function of the second party's key at the first party's items; 2. the other way round.
    let mut of_side = |key: Side, channel: &mut Channel| -> Result<Outputs> {
        let session = session.child("align function", key as u64);
        if key == side {
            at_own_key(items, &session, &params.function(key.other())?, channel, rng)
        } else {
            at_peers_key(items, &session, &params.function(side)?, channel, rng)
        }
    };
    let second = of_side(Side::Second, channel)?;
    channel.count_rounds_anew();
    let first = of_side(Side::First, channel)?;

    let key = session.derive("align id");
    let id = |(first, second): (&[u8; OUTPUT_BYTES], &[u8; OUTPUT_BYTES])| {
        let both = Zeroizing::new([*first, *second]);
        let hash = blake3::keyed_hash(&key, both.as_flattened());
        Id::from_bytes(std::array::from_fn(|index| hash.as_bytes()[index]))
    };
    Ok(Zeroizing::new(first.par_iter().zip(&*second).with_min_len(1 << 10).map(id).collect()))
}

/// The function at the own items, by the own key. It is fresh: the correlation that it is made of serves this run
/// alone.
fn at_own_key(
    items: &[Item],
    session: &Session,
    params: &vole::Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Outputs> {
    let mut correlated = correlation::sender(params, session, channel, rng)?;
    let key = function::send(params, session, &mut correlated, channel, rng)?;
    channel.progress().start("evaluating", items.len());
    Ok(in_order(&key.evaluate(items), session))
}

/// The function at the own items, by the peer's key.
fn at_peers_key(
    items: &[Item],
    session: &Session,
    params: &vole::Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Outputs> {
    let mut correlated = correlation::receiver(params, session, channel, rng)?;
    Ok(in_order(&function::receive(items, params, session, &mut correlated, channel, rng)?, session))
}

/// Outputs in the order of the items.
fn in_order(evaluated: &Evaluated, session: &Session) -> Outputs {
    let grouped = Zeroizing::new(evaluated.tags(&OutputHash::new(session), OUTPUT_BYTES));
    let mut outputs: Outputs = Zeroizing::new(vec![[0; OUTPUT_BYTES]; evaluated.order().len()]);
    for (output, &item) in grouped.chunks_exact(OUTPUT_BYTES).zip(evaluated.order()) {
        outputs[item as usize].copy_from_slice(output);
    }
    outputs
}
