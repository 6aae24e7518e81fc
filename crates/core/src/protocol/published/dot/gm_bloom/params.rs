//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use std::sync::Arc;

use super::internal;
use crate::channel::{HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::primitive::published::bloom::Strength;
use crate::primitive::published::goldwasser_micali::KeySize;
use crate::protocol::dot::{Columns, Integers, MAX_ROWS, Modulus, Shape};
use crate::protocol::published::intersect::bloom;
use crate::role::{Role, Side};
use crate::security::Level;

/// The most columns of a party: each takes at least one execution.
pub(crate) const MAX_COLUMNS: usize = 1 << 12;

/// SoftSpoken's k of the intersection: 32 bits an OT, and the least time.
const EXTENSION: usize = 4;

/// A chunk's bytes: enough ciphertexts for all threads, and several chunks on their way.
const CHUNK_BYTES: usize = 1 << 18;

/// Lengths of the key and of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Length of the modulus N.
    pub key: KeySize,
    /// Length of labels and of the filters' slots; also the number of their hash functions.
    pub strength: Strength,
}

impl Lengths {
    /// Returns the lengths of a security level.
    ///
    /// Errors ([`Error::Input`]): one above 128 bits, which the intersection's oblivious transfers do not have.
    pub fn of(level: Level) -> Result<Lengths> {
        match Strength::of(level) {
            Some(strength) => Ok(Lengths { key: KeySize::of(level), strength }),
            None => Err(Error::Input(format!(
                "level = \"{level}\": the oblivious transfers of \"gm-bloom\" have 128 bits; use \"bits128\""
            ))),
        }
    }
}

/// A column with more ones than were agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dense {
    /// Index of the column among the party's.
    pub column: usize,
    /// Number of ones in the column.
    pub ones: usize,
}

/// The first column that has more than `bound` ones.
pub fn dense(columns: &Columns, bound: usize) -> Option<Dense> {
    let ones = |column| columns.plane(column, 0, 0..columns.rows()).iter().map(usize::from).sum();
    (0..columns.count()).map(|column| Dense { column, ones: ones(column) }).find(|dense| dense.ones > bound)
}

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    shape: Shape,
    modulus: Modulus,
    lengths: Lengths,
    bloom: bloom::Params,
    /// Party in the role of P_1. If both get parts, there is none: the roles are taken by one party first, and by the
    /// other then.
    counter: Option<Side>,
    chunk: usize,
    /// The pairs whose products are wanted, if not all.
    pairs: Option<Arc<[(u32, u32)]>>,
}

impl Params {
    /// Products of this shape, which the counter gets, as residues modulo `modulus`. No column has more than `bound`
    /// ones.
    ///
    /// The counter is `learner`, if the products are for one party alone. If they are for both it tells the other one,
    /// and is the one with fewer columns, of two with equally many the first party.
    ///
    /// Errors ([`Error::Input`]): integers other than zeros and ones; more than [`MAX_ROWS`] rows or `MAX_COLUMNS`
    /// columns; a bound for which filters would be too large; a modulus that does not tell all products apart.
    pub fn new(
        shape: Shape,
        modulus: Modulus,
        lengths: Lengths,
        bound: usize,
        learner: Option<Side>,
    ) -> Result<Params> {
        if !shape.fits(&modulus) {
            return Err(Error::Input(format!("modulus = {modulus}: it does not tell all products apart")));
        }
        let fewer = if shape.first <= shape.second { Side::First } else { Side::Second };
        Params::checked(shape, modulus, lengths, bound, Some(learner.unwrap_or(fewer)))
    }

    /// Creates parameters as [`Params::new`] does for both parties, for some of the products. `pairs` are columns of
    /// the first and of the second party, distinct, and in the order in which the products shall come.
    ///
    /// Errors: as there; [`Error::Internal`] for a column that is not there, a counter's column that is in no pair, or
    /// a pair that stands there twice.
    pub fn of_pairs(
        shape: Shape,
        modulus: Modulus,
        lengths: Lengths,
        bound: usize,
        pairs: &[(u32, u32)],
    ) -> Result<Params> {
        let params = Params::new(shape, modulus, lengths, bound, None)?;
        params.counter.map_or(Ok(()), |counter| shape.check_pairs(pairs, counter))?;
        Ok(Params { pairs: Some(pairs.into()), ..params })
    }

    /// Parts that add up to the products modulo any `modulus`: the paper's form with two outputs (section 3.3). The
    /// second party splits each of its columns in two at random, and figure 1 runs twice, with the roles switched.
    ///
    /// **These are no uniform shares**: each party's part is about half of the product, and tells it to within a few of its
    /// square roots. The second party's is the exact product with a column that it knows, half of its ones.
    ///
    /// Errors: as those of [`Params::new`] otherwise.
    pub fn in_parts(shape: Shape, modulus: Modulus, lengths: Lengths, bound: usize) -> Result<Params> {
        Params::checked(shape, modulus, lengths, bound, None)
    }

    fn checked(
        shape: Shape,
        modulus: Modulus,
        lengths: Lengths,
        bound: usize,
        counter: Option<Side>,
    ) -> Result<Params> {
        if shape.integers != Integers::BINARY {
            return Err(Error::Input(
                "\"gm-bloom\" multiplies zeros and ones (bits = 1, not signed): use \"ot\", \"lattice\" or \"paillier\" for \
                 other numbers"
                    .into(),
            ));
        }
        if shape.rows > MAX_ROWS {
            return Err(Error::Input(format!("{} rows: {MAX_ROWS} are possible", shape.rows)));
        }
        let most = shape.first.max(shape.second);
        if most > MAX_COLUMNS {
            return Err(Error::Input(format!("{most} columns of a party: {MAX_COLUMNS} are possible")));
        }
        let bloom = bloom::Params::new(bound.min(shape.rows), lengths.strength, EXTENSION)?;
        let labelled = lengths.key.modulus_bytes() + lengths.strength.slot_bytes();
        let chunk = (CHUNK_BYTES / labelled).next_multiple_of(64).min(MAX_PAYLOAD_BYTES / labelled);
        Ok(Params { shape, modulus, lengths, bloom, counter, chunk, pairs: None })
    }

    /// Returns the shape of the multiplied columns.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the number of products.
    pub fn products(&self) -> usize {
        self.pairs.as_ref().map_or(self.shape.products(), |pairs| pairs.len())
    }

    /// Returns the modulus of the sum of parts.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Returns the lengths of the key and of the labels.
    pub fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// P_1; `None` with [`Params::in_parts`].
    pub fn counter(&self) -> Option<Side> {
        self.counter
    }

    /// Returns the parameters of the intersections.
    pub fn bloom(&self) -> &bloom::Params {
        &self.bloom
    }

    /// The most ones that a column may have.
    pub fn bound(&self) -> usize {
        self.bloom.bound()
    }

    /// Rows of a column in one message.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them: key and column; labels, and points of
    /// the base OTs; the rest of OTs; slots. A second execution begins in the flight in which the first one ends.
    pub fn rounds(&self) -> u32 {
        match (self.is_empty(), self.counter) {
            (true, _) => 0,
            (false, Some(_)) => 4,
            (false, None) => 7,
        }
    }

    /// Bytes that a party sends in all, frames' headers included, heartbeats, the closing frame and the opening of the
    /// products not.
    pub fn bytes_sent_by(&self, side: Side) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let transfers =
            |role, products: u64| self.bloom.setup_bytes_sent_by(role) + products * self.bloom.run_bytes_sent_by(role);
        let column =
            |each: usize| (self.shape.rows * each + self.shape.rows.div_ceil(self.chunk) * HEADER_BYTES) as u64;
        let (key, products) = (self.lengths.key.modulus_bytes(), self.products() as u64);
        let counting = || {
            let columns = self.shape.columns(side) as u64 * column(key);
            (HEADER_BYTES + key) as u64 + columns + transfers(Role::Receiver, products)
        };
        let labelling = || transfers(Role::Sender, products) + products * column(self.labelled_bytes());
        match self.counter {
            Some(counter) if counter == side => counting(),
            Some(_) => labelling(),
            None => counting() + labelling(),
        }
    }

    /// Whether there is nothing to multiply, or nothing but zeros: then nothing travels.
    pub fn is_empty(&self) -> bool {
        self.products() == 0 || self.bound() == 0
    }

    /// Bytes of a label with its ciphertext.
    pub(super) fn labelled_bytes(&self) -> usize {
        self.lengths.strength.slot_bytes() + self.lengths.key.modulus_bytes()
    }

    /// Returns the labeller's columns with which one of the counter's is multiplied, in order.
    pub(super) fn partners(&self, counter: Side, column: usize) -> Vec<usize> {
        let partner = |pair: &(u32, u32)| match counter {
            Side::First => (pair.0 as usize == column).then_some(pair.1 as usize),
            Side::Second => (pair.1 as usize == column).then_some(pair.0 as usize),
        };
        match &self.pairs {
            Some(pairs) => pairs.iter().filter_map(partner).collect(),
            None => (0..self.shape.columns(counter.other())).collect(),
        }
    }

    /// Positions of the products in the order in which the counter gets them: those of its first column, and so on.
    pub(super) fn places(&self, counter: Side) -> impl Iterator<Item = usize> {
        let mut places: Vec<usize> = (0..self.products()).collect();
        let columns = self.shape.second.max(1);
        // Stable: partners keep their order.
        places.sort_by_key(|&place| match (&self.pairs, counter) {
            (Some(pairs), Side::First) => pairs[place].0 as usize,
            (Some(pairs), Side::Second) => pairs[place].1 as usize,
            (None, Side::First) => place / columns,
            (None, Side::Second) => place % columns,
        });
        places.into_iter()
    }

    /// Refuses columns that are not those agreed on, or have too many ones.
    pub(super) fn check(&self, side: Side, columns: &Columns) -> Result<()> {
        let agreed = (self.shape.rows, self.shape.columns(side), self.shape.integers);
        if (columns.rows(), columns.count(), columns.integers()) != agreed {
            return Err(internal("columns that were not agreed on"));
        }
        match dense(columns, self.bound()) {
            Some(Dense { column, ones }) => Err(Error::Input(format!(
                "column {} of this party has {ones} ones, and the agreed density allows {}",
                column + 1,
                self.bound()
            ))),
            None => Ok(()),
        }
    }
}
