//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use std::ops::Range;
use std::sync::Arc;

use super::internal;
use crate::channel::{HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::primitive::paillier::KeySize;
use crate::protocol::dot::{Columns, MAX_ROWS, Modulus, Shape};
use crate::role::Side;
use crate::security::Chance;

/// The most columns of a party: what the answerer keeps for each of its own, and for each bit of their integers, fits
/// memory.
pub(crate) const MAX_COLUMNS: usize = 1 << 12;

/// A chunk's bytes, unless asked for otherwise: enough ciphertexts for all threads, and several chunks on their way.
const CHUNK_BYTES: usize = 1 << 18;

/// The most rows of a column in one message, under a key of this size.
pub fn max_chunk(size: KeySize) -> usize {
    MAX_PAYLOAD_BYTES / size.ciphertext_bytes()
}

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    shape: Shape,
    modulus: Modulus,
    size: KeySize,
    encryptor: Side,
    values: bool,
    chunk: usize,
    /// The products that there are, if not all.
    chosen: Option<Arc<Chosen>>,
}

/// Selection of products that were chosen.
#[derive(Debug, PartialEq, Eq)]
struct Chosen {
    /// Answerer's columns with which each of the encryptor's is multiplied.
    partners: Vec<Vec<u32>>,
    /// Position of each of these products among those that were asked for.
    places: Vec<usize>,
}

impl Params {
    /// Products of this shape as shares modulo `modulus`, under a key of this size.
    ///
    /// The encryptor is the party with fewer columns: encrypting is what takes time. Of two with equally many it is
    /// `learner`, the one party to which every single product will be opened at once and nobody else; without one, the
    /// first party. A learner who encrypts, and for whom the modulus tells all products apart, is given each of them by
    /// the protocol itself ([`Params::values`]).
    ///
    /// Errors ([`Error::Input`]): more than [`MAX_ROWS`] rows or `MAX_COLUMNS` columns; a modulus that is too long for
    /// shares under such a key to be uniform and right.
    pub fn new(shape: Shape, modulus: Modulus, size: KeySize, learner: Option<Side>) -> Result<Params> {
        if shape.rows > MAX_ROWS {
            return Err(Error::Input(format!("{} rows: {MAX_ROWS} are possible", shape.rows)));
        }
        if shape.first.max(shape.second) > MAX_COLUMNS {
            let most = shape.first.max(shape.second);
            return Err(Error::Input(format!("{most} columns of a party: {MAX_COLUMNS} are possible")));
        }
        // R is uniform but for M / N, and R plus the product is N or more, or negative, with probability |product| / N.
        let (low, high) = shape.range();
        let bits = |number: u128| 128 - number.leading_zeros();
        let longest = modulus.bits().max(bits(low.unsigned_abs().max(high.unsigned_abs())));
        let all = longest + bits(shape.products() as u128) + Chance::Mask.bits() + 1;
        if all as usize >= size.bits() {
            let key = size.bits();
            return Err(Error::Input(format!("modulus = {modulus}: too long for a key of {key} bits")));
        }
        let encryptor = match shape.first.cmp(&shape.second) {
            std::cmp::Ordering::Less => Side::First,
            std::cmp::Ordering::Equal => learner.unwrap_or(Side::First),
            std::cmp::Ordering::Greater => Side::Second,
        };
        let values = learner == Some(encryptor) && shape.fits(&modulus);
        let params = Params { shape, modulus, size, encryptor, values, chunk: 0, chosen: None };
        Ok(params.with_chunk((CHUNK_BYTES / size.ciphertext_bytes()).next_multiple_of(64)))
    }

    /// Creates parameters as [`Params::new`] does without a learner, for some of the products. `pairs` are columns of
    /// the first and of the second party, distinct, and in the order in which the shares shall come. Each of the
    /// encryptor's columns is encrypted once.
    ///
    /// Errors: as those of [`Params::new`]; [`Error::Internal`] for a column that is not there, an encryptor's column
    /// that is in no pair, or a pair that stands there twice.
    pub fn of_pairs(shape: Shape, modulus: Modulus, size: KeySize, pairs: &[(u32, u32)]) -> Result<Params> {
        let params = Params::new(shape, modulus, size, None)?;
        shape.check_pairs(pairs, params.encryptor)?;
        let mut chosen: Vec<Vec<(u32, usize)>> = vec![Vec::new(); shape.columns(params.encryptor)];
        for (place, &(first, second)) in pairs.iter().enumerate() {
            let (encrypted, other) = if params.encryptor == Side::First { (first, second) } else { (second, first) };
            chosen[encrypted as usize].push((other, place));
        }
        let partners = chosen.iter().map(|partners| partners.iter().map(|(other, _)| *other).collect()).collect();
        let places = chosen.iter().flatten().map(|(_, place)| *place).collect();
        Ok(Params { chosen: Some(Arc::new(Chosen { partners, places })), ..params })
    }

    /// The same with chunks of so many rows, at most [`max_chunk`].
    pub fn with_chunk(&self, rows: usize) -> Params {
        Params { chunk: rows.clamp(1, self.most_in_message()), ..self.clone() }
    }

    /// The same with `side` as the encryptor, whatever that costs, and without [values](Params::values).
    ///
    /// # Panics
    ///
    /// If products were chosen: these have their encryptor.
    pub fn encrypted_by(&self, side: Side) -> Params {
        assert!(self.chosen.is_none(), "all products");
        Params { encryptor: side, values: false, ..self.clone() }
    }

    /// Returns the shape of the multiplied columns.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the number of products.
    pub fn products(&self) -> usize {
        self.chosen.as_ref().map_or(self.shape.products(), |chosen| chosen.places.len())
    }

    /// Returns the modulus of the sum of shares.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Returns the size of the key.
    pub fn key_size(&self) -> KeySize {
        self.size
    }

    /// The party that has the key.
    pub fn encryptor(&self) -> Side {
        self.encryptor
    }

    /// Whether the encryptor is the learner and sees each product: its shares are then the products, and the other
    /// party's are zero, so that there is nothing to be opened. Never without a learner.
    pub fn values(&self) -> bool {
        self.values
    }

    /// Rows of a column in one message.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them: key and columns, answers.
    pub fn rounds(&self) -> u32 {
        if self.is_empty() { 0 } else { 2 }
    }

    /// Bytes that a party sends in all, frames' headers included, heartbeats, the closing frame and the opening of the
    /// shares not.
    pub fn bytes_sent_by(&self, side: Side) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let ciphertexts = |count: usize, in_message: usize| {
            (count.div_ceil(in_message) * HEADER_BYTES) as u64 + count as u64 * self.size.ciphertext_bytes() as u64
        };
        if side == self.encryptor {
            let columns = self.shape.columns(side) as u64 * ciphertexts(self.shape.rows, self.chunk);
            (HEADER_BYTES + self.size.public_key_bytes()) as u64 + columns
        } else {
            ciphertexts(self.products(), self.most_in_message())
        }
    }

    /// Whether there is nothing to multiply: then nothing travels.
    pub(super) fn is_empty(&self) -> bool {
        self.products() == 0
    }

    /// The rows of each message of a column.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, chunk) = (self.shape.rows, self.chunk);
        (0..rows).step_by(chunk).map(move |start| start..rows.min(start + chunk))
    }

    /// The most ciphertexts of one message.
    pub(super) fn most_in_message(&self) -> usize {
        max_chunk(self.size)
    }

    /// Returns the answerer's columns with which one of the encryptor's is multiplied.
    pub(super) fn partners(&self, encrypted: usize) -> Vec<usize> {
        match &self.chosen {
            Some(chosen) => chosen.partners[encrypted].iter().map(|&other| other as usize).collect(),
            None => (0..self.shape.columns(self.encryptor.other())).collect(),
        }
    }

    /// The places of all products in the order of the answers: those of the encryptor's first column, and so on.
    pub(super) fn places(&self) -> Vec<usize> {
        if let Some(chosen) = &self.chosen {
            return chosen.places.clone();
        }
        let others = self.shape.columns(self.encryptor.other());
        let place = |answer: usize| match (self.encryptor, answer / others, answer % others) {
            (Side::First, encrypted, other) => encrypted * self.shape.second + other,
            (Side::Second, encrypted, other) => other * self.shape.second + encrypted,
        };
        (0..self.shape.products()).map(place).collect()
    }

    /// Refuses columns that are not those agreed on.
    pub(super) fn check(&self, side: Side, columns: &Columns) -> Result<()> {
        let agreed = (self.shape.rows, self.shape.columns(side), self.shape.integers);
        if (columns.rows(), columns.count(), columns.integers()) == agreed {
            Ok(())
        } else {
            Err(internal("columns that were not agreed on"))
        }
    }
}
