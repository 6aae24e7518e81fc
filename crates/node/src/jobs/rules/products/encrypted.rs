//! The scalar products of a run under encryption: each batch with fresh keys, in parts that fit memory.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::lattice::{self, BATCHES, Params, WORK_SECONDS};
use tacita_core::protocol::rules::ProductBatch;
use tacita_core::{Error, Result, Session, Side};

use super::parts::{self, MAX_COLUMNS, ProductPart, part_columns, parts};
use super::{ProductsCost, Wanted};

/// Bytes that a batch holds besides the items: columns of a part, their sums (with the usual ring of degree 8192 and
/// three primes), and what is prepared at a time.
pub fn memory(rows: u64) -> u64 {
    let sums = MAX_COLUMNS as u64 * 16 * 8192 * 3;
    rows / 8 * part_columns(rows as usize) as u64 + sums + (128 << 20)
}

/// One party sends its columns encrypted, the other one multiplies them.
pub struct EncryptedProducts<'a> {
    session: &'a Session,
    /// Parts that can still be made: the noise hides no more.
    pub(super) left: usize,
}

/// The error for more parts than the noise hides.
fn too_many() -> Error {
    Error::Input(format!(
        "more than {BATCHES} parts of products under encryption: use protocol = \"ot\", or a higher min_support"
    ))
}

fn params(part: &ProductPart) -> Result<Params> {
    Params::of_pairs(part.shape, part.modulus, &part.pairs)
}

/// Returns the cost of products, if `left` parts can still be made. Errors: they cannot be made.
pub fn cost(parts: &[Wanted], left: usize) -> Result<ProductsCost> {
    if parts.iter().map(parts::count).sum::<usize>() > left {
        return Err(too_many());
    }
    let mut cost = ProductsCost { seconds: 0.0, bytes: 0 };
    for wanted in parts {
        for part in self::parts(wanted) {
            let params = params(&part)?;
            cost.seconds += params.work() as f64 * WORK_SECONDS;
            cost.bytes += [Side::First, Side::Second].map(|side| params.bytes_sent_by(side)).iter().sum::<u64>();
        }
    }
    Ok(cost)
}

impl<'a> EncryptedProducts<'a> {
    pub fn new(session: &'a Session) -> EncryptedProducts<'a> {
        EncryptedProducts { session, left: BATCHES }
    }

    /// Returns whether these parts can be made.
    pub fn can_make(&self, parts: &[Wanted]) -> bool {
        parts.iter().map(parts::count).sum::<usize>() <= self.left
    }

    /// Puts this party's shares of a part of a batch where they stand in it.
    pub fn products(
        &mut self,
        wanted: &Wanted,
        batch: &ProductBatch<'_>,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
        residues: &mut [u128],
    ) -> Result<()> {
        for part in parts(wanted) {
            self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
            let (own, params) = (part.own(batch), params(&part)?);
            let made = lattice::run(batch.side(), &own, &params, self.session, channel, rng)?;
            part.put(&made, residues);
        }
        Ok(())
    }
}
