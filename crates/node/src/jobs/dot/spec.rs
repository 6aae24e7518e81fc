//! What a `dot` job says, with defaults filled in.

use std::collections::BTreeMap;

use serde::Deserialize;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Integers, MAX_ROWS, Modulus, Shape};
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::{Error, Result};

use crate::agreement::words::maybe_from_word;
use crate::agreement::{Clients, JobSpec, Names, Of, Reveal, Written};
use crate::jobs::aligned;
use crate::jobs::dot::density;

/// The logical name of the column where a job does not say any.
const USUAL_COLUMN: &str = "value";

/// What shares add up modulo where a job does not say: the first power of two that leaves [`HEADROOM_BITS`] for as many
/// rows as there can be, so that runs of one job over more and fewer rows can be added up.
const SHARE_BITS: [u32; 3] = [64, 96, 127];

/// So that 2^`HEADROOM_BITS` products of one job can be added up.
const HEADROOM_BITS: u32 = 20;

/// What is the scalar product of a column here and a column there?
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Dot {
    /// Which columns are multiplied; see [`Spec::columns_of`].
    pub column: Option<ColumnNames>,
    /// The columns by which rows are aligned; absent: by position.
    pub row_id: Option<Names>,
    /// Length of the integers that columns hold; see [`Spec::integers`].
    pub bits: Option<u32>,
    /// Whether there are negative ones.
    pub signed: Option<bool>,
    /// What shares add up modulo; see [`Spec::modulus`].
    #[serde(deserialize_with = "maybe_from_word")]
    pub modulus: Option<Modulus>,
    /// How oblivious transfers are made; absent: chosen as the protocol is.
    #[serde(deserialize_with = "maybe_from_word")]
    pub extension: Option<Extension>,
    /// By `paillier`: rows of a column in one message; absent: as many as fit.
    pub chunk: Option<u64>,
    /// By `gm-bloom`: which part of a column's rows may be ones; see [`Spec::density`].
    pub density: Option<Written>,
}

/// A `dot` job with its own keys.
pub type Spec<'a> = Of<'a, Dot>;

/// The columns that a `dot` job multiplies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a name, a list of names, or a table of those by party")]
pub enum ColumnNames {
    /// Columns of these logical names at every party.
    Same(Names),
    /// Columns of other names, or of another number, at each party.
    ByParty(BTreeMap<String, Names>),
}

impl Spec<'_> {
    /// The columns that `party` brings to a `dot` job, by logical name.
    pub fn columns_of(&self, party: &str) -> Vec<String> {
        match &self.own.column {
            None => vec![USUAL_COLUMN.to_owned()],
            Some(ColumnNames::Same(names)) => names.all().to_vec(),
            Some(ColumnNames::ByParty(parties)) => parties.get(party).map_or(Vec::new(), |names| names.all().to_vec()),
        }
    }

    /// Which integers the columns hold: zeros and ones, unless the job says otherwise.
    pub fn integers(&self) -> Result<Integers> {
        Integers::new(self.own.bits.unwrap_or(1), self.own.signed.unwrap_or(false))
    }

    /// What a `dot` job over `rows` rows multiplies.
    pub fn dot_shape(&self, rows: usize) -> Result<Shape> {
        let [first, second] = self.sides().map(|(_, columns)| columns.len());
        Ok(Shape { rows, first, second, integers: self.integers()? })
    }

    /// Whose columns a `dot` job multiplies, and which: the first and the second party's, or the clients' and the server's.
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

    /// What the shares of products of this shape add up modulo. Where the value is revealed, the smallest modulus that
    /// holds it makes the shortest messages.
    ///
    /// Errors ([`Error::Input`]): the value is revealed, and the job's modulus may not hold it.
    pub fn modulus(&self, shape: &Shape) -> Result<Modulus> {
        match (&self.reveal, self.own.modulus) {
            (Reveal::Shares, Some(given)) => Ok(given),
            (Reveal::Shares, None) => {
                let needed = Shape { rows: MAX_ROWS, ..*shape }.value_modulus()?.bits() + HEADROOM_BITS;
                let bits = SHARE_BITS.into_iter().find(|&bits| bits >= needed);
                Modulus::power_of_two(bits.ok_or_else(|| Error::Internal("a product beyond all moduli".into()))?)
            }
            (_, None) => shape.value_modulus(),
            (_, Some(given)) if shape.fits(&given) => Ok(given),
            (_, Some(given)) => Err(Error::Input(format!(
                "modulus = {given} is too small for some products of {} rows, whose value would be wrong unnoticed: leave \
                 `modulus` out, or raise it to 2^{} or more",
                shape.rows,
                shape.value_modulus()?.bits()
            ))),
        }
    }

    /// The intersection with which rows are aligned, if they are: by `row_id`, to both parties.
    pub fn alignment(&self) -> Option<JobSpec> {
        aligned::spec::alignment(self, self.own.row_id.as_ref())
    }

    /// Which part of a column's rows may be ones, where the protocol has such a bound: all, unless the job says otherwise.
    pub fn density(&self) -> Result<Option<Fraction>> {
        density::of(self, self.own.density.as_ref())
    }

    /// How many of so many rows may be ones in a column, where the protocol has such a bound.
    pub fn most_ones(&self, rows: usize) -> Result<Option<usize>> {
        Ok(self.density()?.map(|density| density.ceiling(rows as u64) as usize))
    }
}
