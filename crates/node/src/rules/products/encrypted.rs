//! The scalar products of a run under encryption: each batch with fresh keys, in parts that fit memory.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::lattice::{self, BATCHES, Params, WORK_SECONDS};
use tacita_core::protocol::dot::{Columns, Integers, Shape, Side};
use tacita_core::protocol::rules::Batch;
use tacita_core::{Error, Result, Session};

use super::{Cost, Wanted};

/// Columns of a party in one part: so many that they take this many bytes, within limits.
const PART_BYTES: usize = 128 << 20;
const FEWEST: usize = 64;
const MOST: usize = 512;

/// Bytes that a batch holds besides the items: columns of a part, their sums (with the usual ring of degree 8192 and three
/// primes), and what is prepared at a time.
pub fn memory(rows: u64) -> u64 {
    let sums = MOST as u64 * 16 * 8192 * 3;
    rows / 8 * part_columns(rows as usize) as u64 + sums + (128 << 20)
}

fn part_columns(rows: usize) -> usize {
    (PART_BYTES * 8 / rows.max(1)).clamp(FEWEST, MOST)
}

/// One party sends its columns encrypted, the other one multiplies them.
pub struct Encrypted<'a> {
    session: &'a Session,
    /// Parts that can still be made: the noise hides no more.
    pub(super) left: usize,
}

/// Products of some columns here with some there.
struct Part {
    params: Params,
    /// The columns of both parties that are used.
    columns: [Vec<u32>; 2],
    /// Where each product stands in the batch.
    order: Vec<usize>,
}

impl Part {
    fn new(wanted: Wanted) -> Result<Part> {
        let columns = [Side::First, Side::Second].map(|side| wanted.columns(side));
        let place = |side: usize, column| columns[side].partition_point(|&other| other < column) as u32;
        let pairs = wanted.pairs.iter().map(|&(first, second)| (place(0, first), place(1, second)));
        let (first, second) = (columns[0].len(), columns[1].len());
        let shape = Shape { rows: wanted.rows, first, second, integers: Integers::BINARY };
        Ok(Part {
            params: Params::of_pairs(shape, wanted.modulus, &pairs.collect::<Vec<_>>())?,
            columns,
            order: wanted.order,
        })
    }
}

/// What is wanted in parts that fit memory, in order.
fn parts(wanted: &Wanted) -> Result<Vec<Part>> {
    blocks(wanted).into_values().map(|places| Part::new(wanted.some(places))).collect()
}

/// Which products are in each part.
fn blocks(wanted: &Wanted) -> BTreeMap<(usize, usize), Vec<usize>> {
    let most = part_columns(wanted.rows);
    let columns = [Side::First, Side::Second].map(|side| wanted.columns(side));
    let part = |side: usize, column| columns[side].partition_point(|&other| other < column) / most;
    let mut parts: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (place, &(first, second)) in wanted.pairs.iter().enumerate() {
        parts.entry((part(0, first), part(1, second))).or_default().push(place);
    }
    parts
}

/// In how many parts what is wanted is made.
fn count(wanted: &Wanted) -> usize {
    blocks(wanted).len()
}

/// The error for more parts than the noise hides.
fn too_many() -> Error {
    Error::Input(format!(
        "more than {BATCHES} parts of products under encryption: use protocol = \"ot\", or a higher min_support"
    ))
}

/// What products cost, if `left` parts can still be made. Errors: they cannot be made.
pub fn cost(parts: &[Wanted], left: usize) -> Result<Cost> {
    if parts.iter().map(count).sum::<usize>() > left {
        return Err(too_many());
    }
    let mut cost = Cost { seconds: 0.0, bytes: 0 };
    for wanted in parts {
        for Part { params, .. } in self::parts(wanted)? {
            cost.seconds += params.work() as f64 * WORK_SECONDS;
            cost.bytes += [Side::First, Side::Second].map(|side| params.bytes_sent_by(side)).iter().sum::<u64>();
        }
    }
    Ok(cost)
}

impl<'a> Encrypted<'a> {
    pub fn new(session: &'a Session) -> Encrypted<'a> {
        Encrypted { session, left: BATCHES }
    }

    /// Whether these can.
    pub fn can_make(&self, parts: &[Wanted]) -> bool {
        parts.iter().map(count).sum::<usize>() <= self.left
    }

    /// Puts this party's shares of a part of a batch where they stand in it.
    pub fn products(
        &mut self,
        wanted: &Wanted,
        batch: &Batch<'_>,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
        residues: &mut [u128],
    ) -> Result<()> {
        for Part { params, columns, order } in parts(wanted)? {
            self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
            let mut own = Columns::new(Integers::BINARY, batch.rows());
            columns[batch.side() as usize].iter().for_each(|&index| {
                own.push_bits(batch.column(index as usize).to_choices());
            });
            let made = match batch.side() {
                Side::First => lattice::first(&own, &params, self.session, channel, rng)?,
                Side::Second => lattice::second(&own, &params, self.session, channel, rng)?,
            };
            order.iter().zip(made.residues()).for_each(|(&place, residue)| residues[place] = *residue);
        }
        Ok(())
    }
}
