//! Settings of a `dot` job, with defaults filled in.

use std::collections::BTreeMap;

use serde::Deserialize;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Integers, MAX_ROWS, Modulus, ProductRange, Shape};
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::{Error, Result};

use crate::agreement::words::maybe_from_word;
use crate::agreement::{Clients, JobWith, Names, Reveal, WrittenNumber};
use crate::jobs::aligned::{self, RowAlignment};
use crate::jobs::dot::{density, noise};

/// The logical name of the column where a job does not say any.
const USUAL_COLUMN: &str = "value";

/// Bits of the default modulus of shares. The first power of two is taken that leaves [`HEADROOM_BITS`] for as many
/// rows as there can be. Runs of one job over more and fewer rows can thus be added up.
const SHARE_BITS: [u32; 3] = [64, 96, 127];

/// Headroom in bits, which allows 2^`HEADROOM_BITS` products of one job to be added up.
const HEADROOM_BITS: u32 = 20;

/// Job that asks: what is the scalar product of a column here and a column there?
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Dot {
    /// Columns that are multiplied; see [`DotJob::columns_of`].
    pub column: Option<ColumnNames>,
    /// The columns by which rows are aligned; absent: by position.
    pub row_id: Option<Names>,
    /// Length of the integers that columns hold; see [`DotJob::integers`].
    pub bits: Option<u32>,
    /// Whether there are negative ones.
    pub signed: Option<bool>,
    /// Modulus of the sum of shares; see [`DotJob::modulus`].
    #[serde(deserialize_with = "maybe_from_word")]
    pub modulus: Option<Modulus>,
    /// Extension with which oblivious transfers are made; absent: chosen as the protocol is.
    #[serde(deserialize_with = "maybe_from_word")]
    pub extension: Option<Extension>,
    /// Rows of a column in one message, for `paillier`; absent: as many as fit.
    pub chunk: Option<u64>,
    /// Fraction of a column's rows that may be ones, for `gm-bloom`; see [`DotJob::density`].
    pub density: Option<WrittenNumber>,
}

/// A `dot` job with its own keys.
pub type DotJob<'a> = JobWith<'a, Dot>;

/// The columns that a `dot` job multiplies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a name, a list of names, or a table of those by party")]
pub enum ColumnNames {
    /// Columns of these logical names at every party.
    Same(Names),
    /// Columns of other names, or of another number, at each party.
    ByParty(BTreeMap<String, Names>),
}

impl DotJob<'_> {
    /// The columns that `party` brings to a `dot` job, by logical name.
    pub fn columns_of(&self, party: &str) -> Vec<String> {
        match &self.own.column {
            None => vec![USUAL_COLUMN.to_owned()],
            Some(ColumnNames::Same(names)) => names.all().to_vec(),
            Some(ColumnNames::ByParty(parties)) => parties.get(party).map_or(Vec::new(), |names| names.all().to_vec()),
        }
    }

    /// Returns the kind of integers in the columns: zeros and ones, unless the job says otherwise.
    pub fn integers(&self) -> Result<Integers> {
        Integers::new(self.own.bits.unwrap_or(1), self.own.signed.unwrap_or(false))
    }

    /// Returns the shape of the product of a `dot` job over `rows` rows.
    pub fn dot_shape(&self, rows: usize) -> Result<Shape> {
        let [first, second] = self.sides().map(|(_, columns)| columns.len());
        Ok(Shape { rows, first, second, integers: self.integers()? })
    }

    /// Returns the parties whose columns a `dot` job multiplies, and the columns: the first and the second party's, or
    /// the clients' and the server's.
    pub fn sides(&self) -> [(&str, Vec<String>); 2] {
        match self.clients() {
            Some(Clients { server, clients }) => {
                let columns = clients.first().map_or(Vec::new(), |client| self.columns_of(client));
                [("clients", columns), (server, self.columns_of(server))]
            }
            None => [0, 1].map(|place| {
                let name = self.parties.0.get(place).map_or("", |(name, _)| name.as_str());
                (name, self.columns_of(name))
            }),
        }
    }

    /// The columns of which one of each makes a product, with their parties: those of the two sides, or of all parties.
    pub fn factors(&self) -> Vec<(&str, Vec<String>)> {
        match self.clients() {
            Some(_) => self.sides().into(),
            None => self.parties.names().into_iter().map(|name| (name, self.columns_of(name))).collect(),
        }
    }

    /// Number of decimals that products have.
    pub fn product_decimals(&self) -> u32 {
        self.factors().len() as u32 * self.decimals()
    }

    /// Returns the values that a product over so many rows can have, with its noise.
    ///
    /// Errors ([`Error::Input`]): they are too long.
    pub fn range(&self, rows: usize) -> Result<ProductRange> {
        let exact = ProductRange::new(rows, self.factors().len(), self.integers()?)?;
        match noise::tail(self)? {
            Some(tail) => exact.widened(tail),
            None => Ok(exact),
        }
    }

    /// Returns the modulus of the shares of products over so many rows. If the value is revealed, the smallest modulus
    /// that holds it makes the shortest messages.
    ///
    /// Errors ([`Error::Input`]): the value is revealed, and the job's modulus may not hold it; products are too long.
    pub fn modulus(&self, rows: usize) -> Result<Modulus> {
        match (&self.reveal, self.own.modulus) {
            (Reveal::Shares, Some(given)) => Ok(given),
            (Reveal::Shares, None) => {
                let needed = self.range(MAX_ROWS)?.modulus()?.bits() + HEADROOM_BITS;
                let bits = SHARE_BITS.into_iter().find(|&bits| bits >= needed);
                Modulus::power_of_two(bits.ok_or_else(|| {
                    Error::Input(format!(
                        "bits: shares of the sum of up to {MAX_ROWS} products may need 2^{needed}, and 2^127 is possible: agree on fewer \
                         bits, or on a `modulus`"
                    ))
                })?)
            }
            (_, None) => self.range(rows)?.modulus(),
            (_, Some(given)) if self.range(rows)?.fits(&given) => Ok(given),
            (_, Some(given)) => Err(Error::Input(format!(
                "modulus = {given} is too small for some products of {rows} rows, whose value would be wrong unnoticed: leave \
                 `modulus` out, or raise it to 2^{} or more",
                self.range(rows)?.modulus()?.bits()
            ))),
        }
    }

    /// The way in which rows are aligned by `row_id`, if they are.
    pub fn alignment(&self) -> Option<RowAlignment> {
        aligned::spec::alignment(self, self.own.row_id.as_ref())
    }

    /// Returns the fraction of a column's rows that may be ones, if the protocol has such a bound: all, unless the job
    /// says otherwise.
    pub fn density(&self) -> Result<Option<Fraction>> {
        density::of(self, self.own.density.as_ref())
    }

    /// Returns the maximum number of ones in a column of so many rows, if the protocol has such a bound.
    pub fn most_ones(&self, rows: usize) -> Result<Option<usize>> {
        Ok(self.density()?.map(|density| density.ceiling(rows as u64) as usize))
    }
}
