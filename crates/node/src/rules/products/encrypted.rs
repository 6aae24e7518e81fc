//! The scalar products of a run under encryption: each batch with fresh keys, in parts that fit memory.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::lattice::{self, BATCHES, Params, WORK_SECONDS};
use tacita_core::protocol::dot::{Columns, Integers, Shape, Shares, Side};
use tacita_core::protocol::rules::Batch;
use tacita_core::{Error, Result, Session};

use super::{Cost, Wanted};

/// Columns of a party in one part: so many that they take this many bytes, within limits.
const PART_BYTES: usize = 128 << 20;
const FEWEST: usize = 64;
const MOST: usize = 512;

/// Bytes that a batch holds besides the items: columns of a part, their sums, and what is prepared at a time.
pub fn memory(rows: u64) -> u64 {
    let sums = MOST as u64 * 16 * (1 << 14) * 3;
    rows / 8 * part_columns(rows as usize) as u64 + sums + (128 << 20)
}

fn part_columns(rows: usize) -> usize {
    (PART_BYTES * 8 / rows.max(1)).clamp(FEWEST, MOST)
}

/// One party sends its columns encrypted, the other one multiplies them.
pub struct Encrypted<'a> {
    session: &'a Session,
    /// Runs that the noise still hides.
    left: usize,
}

/// Some of the products that are wanted: those of some columns here with some there.
struct Part {
    params: Params,
    /// The columns of both parties that are used.
    columns: [Vec<u32>; 2],
    /// Where each product stands among those that are wanted.
    order: Vec<usize>,
}

impl Part {
    fn new(wanted: &Wanted<'_>, order: Vec<usize>) -> Result<Part> {
        let pairs: Vec<_> = order.iter().map(|&index| wanted.pairs[index]).collect();
        let used = |side: fn(&(u32, u32)) -> u32| {
            let mut columns: Vec<u32> = pairs.iter().map(side).collect();
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        let columns = [used(|pair| pair.0), used(|pair| pair.1)];
        let place = |side: usize, column| columns[side].partition_point(|&other| other < column) as u32;
        let pairs: Vec<_> = pairs.iter().map(|&(first, second)| (place(0, first), place(1, second))).collect();
        let shape = Shape {
            rows: wanted.rows,
            first: columns[0].len(),
            second: columns[1].len(),
            integers: Integers::BINARY,
        };
        Ok(Part { params: Params::of_pairs(shape, wanted.modulus, &pairs)?, columns, order })
    }
}

/// The parts of what is wanted, in order.
fn parts(wanted: &Wanted<'_>) -> Result<Vec<Part>> {
    let most = part_columns(wanted.rows) as u32;
    let mut parts: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (index, &(first, second)) in wanted.pairs.iter().enumerate() {
        parts.entry((first / most, second / most)).or_default().push(index);
    }
    parts.into_values().map(|order| Part::new(wanted, order)).collect()
}

/// What products cost. Errors: they cannot be made.
pub fn cost(wanted: &Wanted<'_>) -> Result<Cost> {
    let mut cost = Cost { seconds: 0.0, bytes: 0 };
    for Part { params, .. } in parts(wanted)? {
        cost.seconds += params.work() as f64 * WORK_SECONDS;
        cost.bytes += [Side::First, Side::Second].map(|side| params.bytes_sent_by(side)).iter().sum::<u64>();
    }
    Ok(cost)
}

impl<'a> Encrypted<'a> {
    pub fn new(session: &'a Session) -> Encrypted<'a> {
        Encrypted { session, left: BATCHES }
    }

    /// See [`tacita_core::protocol::rules::ScalarProducts`].
    pub fn products(&mut self, batch: &Batch<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Shares> {
        let mut residues = zeroize::Zeroizing::new(vec![0; batch.pairs().len()]);
        for Part { params, columns, order } in parts(&Wanted::of(batch))? {
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                Error::Input(format!(
                    "more than {BATCHES} parts of products under encryption: use protocol = \"ot\", or a higher min_support"
                ))
            })?;
            let mut own = Columns::new(Integers::BINARY, batch.rows());
            columns[batch.side() as usize].iter().for_each(|&index| {
                own.push_bits(batch.column(index as usize).to_choices());
            });
            let made = match batch.side() {
                Side::First => lattice::first(&own, &params, self.session, channel, rng)?,
                Side::Second => lattice::second(&own, &params, self.session, channel, rng)?,
            };
            order.iter().zip(made.residues()).for_each(|(&index, residue)| residues[index] = *residue);
        }
        Shares::new(batch.modulus(), std::mem::take(&mut *residues))
    }
}
