//! Parameters that both parties agree on before the first message, the costs that follow from them, and the order of
//! the OTs.

use std::ops::Range;

use super::Extension;
use super::ring::{AnyRing, Narrow, Residues, Wide};
use super::silent;
use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::primitive::ot::{messages, packing};
use crate::primitive::vole::params::RUN_OUTPUTS;
use crate::protocol::dot::{MAX_ROWS, Modulus, Shape};
use crate::role::{Role, Side};

/// The most columns of a party: the words of one OT then fit one message.
pub const MAX_COLUMNS: usize = 1 << 16;

/// The most words of all messages together, so that all bytes can be counted. Nobody waits for so many.
const MAX_WORDS: u128 = 1 << 56;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    shape: Shape,
    modulus: Modulus,
    extension: Extension,
    sender: Side,
    batch: u32,
    /// The most OTs of one silent run.
    run: usize,
}

impl Params {
    /// Products of this shape as shares modulo `modulus`. `learner` is the party that will learn the products, if only
    /// one will: where both ways cost the same it is the OT receiver, because it then has the result a flight earlier.
    ///
    /// Errors ([`Error::Input`]): more than [`MAX_ROWS`] rows or [`MAX_COLUMNS`] columns, or 2^56 bits of a row and
    /// product; a k that is not possible.
    pub fn new(shape: Shape, modulus: Modulus, extension: Extension, learner: Option<Side>) -> Result<Params> {
        if shape.rows > MAX_ROWS {
            return Err(Error::Input(format!("{} rows: {MAX_ROWS} are possible", shape.rows)));
        }
        if shape.first.max(shape.second) > MAX_COLUMNS {
            let most = shape.first.max(shape.second);
            return Err(Error::Input(format!("{most} columns of a party: {MAX_COLUMNS} are possible")));
        }
        extension.softspoken().map_err(|_| Error::Input(format!("{extension:?}: k can be 1 to 8")))?;
        let words = shape.rows as u128 * u128::from(shape.integers.bits()) * shape.products() as u128;
        if words > MAX_WORDS {
            return Err(Error::Input(format!("{} products of {} rows are too many", shape.products(), shape.rows)));
        }
        // The fewer columns choose: fewer OTs.
        let sender = match shape.first.cmp(&shape.second) {
            std::cmp::Ordering::Less => Side::Second,
            std::cmp::Ordering::Equal => learner.map_or(Side::First, Side::other),
            std::cmp::Ordering::Greater => Side::First,
        };
        Ok(Params { shape, modulus, extension, sender, batch: 0, run: RUN_OUTPUTS })
    }

    /// The same as batch number `batch` of its session. All keys depend on the number: whoever runs the protocol more
    /// than once in a session gives each run another one. Without this it is 0.
    pub fn numbered(self, batch: u32) -> Params {
        Params { batch, ..self }
    }

    /// The same with at most `run` OTs in a silent run, so that tests see several of them.
    #[doc(hidden)]
    pub fn with_silent_runs_of(self, run: usize) -> Params {
        Params { run: run.clamp(1, RUN_OUTPUTS), ..self }
    }

    /// Returns the shape of the multiplied columns.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the modulus of the sum of shares.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Returns the extension from which OTs come.
    pub fn extension(&self) -> Extension {
        self.extension
    }

    /// The party that sends in the OTs: the one with more columns.
    pub fn ot_sender(&self) -> Side {
        self.sender
    }

    /// Purpose for which the OTs' keys are derived.
    pub(super) fn purpose(&self) -> String {
        format!("scalar products {}", self.batch)
    }

    /// Label under which the key of one of the hashes that make words is derived.
    pub(super) fn words_label(&self, number: usize) -> String {
        format!("dot words {} {number}", self.batch)
    }

    /// Returns the number of OTs.
    pub fn transfers(&self) -> u64 {
        self.planes() as u64 * self.shape.rows as u64
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them: none without OTs.
    pub fn rounds(&self) -> u32 {
        match (self.transfers(), self.extension) {
            (0, _) => 0,
            // Points of the base OTs; their key, trees and corrections; messages.
            (_, Extension::SoftSpoken(_)) => 3,
            // Points; key, trees and corrections; sums and tips of the large trees; flips; messages.
            (_, Extension::Silent) => 5,
        }
    }

    /// Bytes that a party sends in all, frames' headers included, heartbeats, the closing frame and the opening of the
    /// shares not.
    pub fn bytes_sent_by(&self, side: Side) -> u64 {
        if self.transfers() == 0 {
            return 0;
        }
        if side == self.sender {
            let messages: u64 = (0..self.planes_of_column())
                .map(|bit| self.in_pieces(|count| frame(self.message_bytes(count, bit))))
                .sum();
            messages * self.chooser_columns() as u64 + self.transfer_bytes_sent_by(Role::Sender)
        } else {
            self.transfer_bytes_sent_by(Role::Receiver)
        }
    }

    /// Bytes that a party of the OTs sends before the messages.
    fn transfer_bytes_sent_by(&self, role: Role) -> u64 {
        // `new` has seen to it that the parameters are possible.
        let softspoken = self.extension.softspoken().ok().flatten();
        let planes = self.planes() as u64;
        match softspoken {
            Some(form) => {
                form.setup_bytes_sent_by(role) + planes * self.in_pieces(|count| form.bytes_sent_by(role, count))
            }
            None => {
                let flips = match role {
                    Role::Receiver => planes * self.in_pieces(|count| frame(count.div_ceil(8))),
                    Role::Sender => 0,
                };
                let runs = self.runs().into_iter();
                let runs = runs.map(|(transfers, times)| times * silent::run_bytes_sent_by(role, transfers));
                silent::setup_bytes_sent_by(role) + runs.sum::<u64>() + flips
            }
        }
    }

    /// The sum of `cost` over the pieces of one plane.
    fn in_pieces(&self, cost: impl Fn(usize) -> u64) -> u64 {
        let chunk = self.chunk();
        let part = |rows: usize| {
            let rest = rows % chunk;
            (rows / chunk) as u64 * cost(chunk) + if rest == 0 { 0 } else { cost(rest) }
        };
        let (rows, most) = (self.shape.rows, self.segment_rows());
        (rows / most) as u64 * part(most) + part(rows % most)
    }

    /// The sizes of the silent runs, with how many there are of each.
    fn runs(&self) -> Vec<(usize, u64)> {
        let (rows, planes, most) = (self.shape.rows, self.planes(), self.segment_rows());
        let together = self.segment_planes();
        let runs = if rows <= most {
            [(together * rows, planes / together), (planes % together * rows, 1)]
        } else {
            [(most, planes * (rows / most)), (rows % most, planes)]
        };
        runs.into_iter().filter(|&(transfers, _)| transfers > 0).map(|(size, times)| (size, times as u64)).collect()
    }

    /// Columns of the OT sender.
    pub(super) fn sender_columns(&self) -> usize {
        self.shape.columns(self.sender)
    }

    /// Columns of the party whose bits choose.
    pub(super) fn chooser_columns(&self) -> usize {
        self.shape.columns(self.sender.other())
    }

    /// Bits of the chooser's integers that count: the others are multiples of the modulus.
    fn planes_of_column(&self) -> u32 {
        let bits = self.shape.integers.bits();
        if self.modulus.is_power_of_two() { bits.min(self.modulus.bits()) } else { bits }
    }

    /// Planes of bits: each has one OT a row. None if there are no products.
    fn planes(&self) -> usize {
        if self.shape.products() == 0 { 0 } else { self.chooser_columns() * self.planes_of_column() as usize }
    }

    /// The column of the chooser, and its bit, that a plane stands for.
    pub(super) fn place(&self, plane: usize) -> (usize, u32) {
        let bits = self.planes_of_column() as usize;
        (plane / bits, (plane % bits) as u32)
    }

    /// The arithmetic on the words of planes of this bit.
    pub(super) fn ring(&self, bit: u32) -> AnyRing {
        if !self.modulus.is_power_of_two() {
            AnyRing::Residues(Residues::new(self.modulus, self.shape.integers))
        } else if self.modulus.bits() - bit <= 64 {
            AnyRing::Narrow(Narrow::new(self.modulus.bits() - bit))
        } else {
            AnyRing::Wide(Wide::new(self.modulus.bits() - bit))
        }
    }

    /// Bits of a word of planes of this bit.
    fn word_bits(&self, bit: u32) -> u32 {
        if self.modulus.is_power_of_two() { self.modulus.bits() - bit } else { self.modulus.bits() }
    }

    /// Bytes of a message for `count` OTs of a plane of this bit: for each column of the sender its words, packed.
    pub(super) fn message_bytes(&self, count: usize, bit: u32) -> usize {
        self.sender_columns() * packing::bytes(count, self.word_bits(bit))
    }

    /// The most OTs of one message.
    pub(super) fn chunk(&self) -> usize {
        messages::rows_per_message(self.sender_columns(), self.modulus.bits())
    }

    /// The most rows of one segment.
    fn segment_rows(&self) -> usize {
        match self.extension {
            Extension::SoftSpoken(_) => self.shape.rows.max(1),
            Extension::Silent => self.run,
        }
    }

    /// The most planes of one segment.
    fn segment_planes(&self) -> usize {
        match self.extension {
            Extension::SoftSpoken(_) => self.planes(),
            Extension::Silent => (self.run / self.shape.rows.max(1)).max(1),
        }
    }

    /// The OTs in their order: for SoftSpoken one segment, for silent COT one for each of its runs.
    pub(super) fn segments(&self) -> impl Iterator<Item = Segment> + use<> {
        let (planes, rows, chunk) = (self.planes(), self.shape.rows, self.chunk());
        let (of_rows, of_planes) = (self.segment_rows(), self.segment_planes().max(1));
        (0..planes).step_by(of_planes).flat_map(move |plane| {
            (0..rows).step_by(of_rows).map(move |row| Segment {
                planes: plane..planes.min(plane + of_planes),
                rows: row..rows.min(row + of_rows),
                chunk,
            })
        })
    }
}

fn frame(payload: usize) -> u64 {
    (HEADER_BYTES + payload) as u64
}

/// OTs after which nothing is on its way: those of the same rows of some planes.
pub(super) struct Segment {
    planes: Range<usize>,
    rows: Range<usize>,
    chunk: usize,
}

impl Segment {
    /// Returns the number of OTs in the segment.
    pub(super) fn transfers(&self) -> usize {
        self.planes.len() * self.rows.len()
    }

    /// Pieces of the segment that share a message.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        let (planes, rows, chunk) = (self.planes.clone(), self.rows.clone(), self.chunk);
        planes.flat_map(move |plane| {
            let end = rows.end;
            rows.clone().step_by(chunk).map(move |start| Piece { plane, rows: start..end.min(start + chunk) })
        })
    }
}

/// OTs of some rows of one plane.
pub(super) struct Piece {
    pub(super) plane: usize,
    pub(super) rows: Range<usize>,
}

impl messages::Piece for Piece {
    fn count(&self) -> usize {
        self.rows.len()
    }
}
