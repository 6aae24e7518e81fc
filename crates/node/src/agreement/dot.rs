//! What a `dot` job says, with defaults filled in.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tacita_core::primitive::bloom::Strength;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::dot::{Integers, MAX_ROWS, Modulus, Shape, gm_bloom, paillier};
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::{Error, Level, Result};

use super::check::bad;
use super::{Clients, Duplicates, Job, JobSpec, Key, Limits, Nulls, Protocol, Reveal};
use crate::base::text::shown;
use crate::table::Profile;

/// The logical name of the column where a job does not say any.
const USUAL_COLUMN: &str = "value";

/// What shares add up modulo where a job does not say: the first power of two that leaves [`HEADROOM_BITS`] for as many
/// rows as there can be, so that runs of one job over more and fewer rows can be added up.
const SHARE_BITS: [u32; 3] = [64, 96, 127];

/// So that 2^`HEADROOM_BITS` products of one job can be added up.
const HEADROOM_BITS: u32 = 20;

/// One name or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a name or a list of names")]
pub enum Names {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

/// The columns that a `dot` job multiplies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a name, a list of names, or a table of those by party")]
pub enum ColumnNames {
    /// Columns of these logical names at every party.
    Same(Names),
    /// Columns of other names, or of another number, at each party.
    ByParty(BTreeMap<String, Names>),
}

impl Names {
    /// The names.
    pub fn all(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names,
        }
    }
}

impl JobSpec {
    /// The columns that `party` brings to a `dot` job, by logical name.
    pub fn columns_of(&self, party: &str) -> Vec<String> {
        match &self.column {
            None => vec![USUAL_COLUMN.to_owned()],
            Some(ColumnNames::Same(names)) => names.all().to_vec(),
            Some(ColumnNames::ByParty(parties)) => parties.get(party).map_or(Vec::new(), |names| names.all().to_vec()),
        }
    }

    /// Which integers the columns hold: zeros and ones, unless the job says otherwise.
    pub fn integers(&self) -> Result<Integers> {
        Integers::new(self.bits.unwrap_or(1), self.signed.unwrap_or(false))
    }

    /// How many decimals the columns' numbers have: each is an integer over 10 to this power, and a product one over 10
    /// to twice that.
    pub fn decimals(&self) -> u32 {
        self.scale.unwrap_or(0)
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
        match (&self.reveal, self.modulus) {
            (Reveal::Shares, Some(given)) => Ok(given),
            (Reveal::Shares, None) => {
                let needed = Shape { rows: MAX_ROWS, ..*shape }.value_modulus()?.bits() + HEADROOM_BITS;
                let bits = SHARE_BITS.into_iter().find(|&bits| bits >= needed);
                Modulus::power_of_two(bits.ok_or_else(|| Error::Internal("a product beyond all moduli".into()))?)
            }
            (_, None) => shape.value_modulus(),
            (_, Some(given)) if shape.fits(&given) => Ok(given),
            (_, Some(given)) => Err(Error::Input(format!(
                "modulus = {given} does not hold every product of {} rows, and the value would be wrong without a word: \
                 leave `modulus` out, or raise it to 2^{} or more",
                shape.rows,
                shape.value_modulus()?.bits()
            ))),
        }
    }

    /// The intersection with which a `dot` or `rules` job aligns rows, if it does: by `row_id`, to both parties. Each id stands for
    /// one row.
    pub fn alignment(&self) -> Option<JobSpec> {
        let columns = self.row_id.as_ref()?.all().to_vec();
        let profiles = |agreed: &[Profile]| -> Vec<Profile> {
            let position =
                |name| self.key.as_ref().and_then(|key| key.columns.iter().position(|column| column == name));
            columns.iter().map(|name| position(name).map_or(Profile::None, |at| agreed[at])).collect()
        };
        let agreed = self.key.as_ref().and_then(|key| key.normalize.as_ref()).map(|agreed| profiles(agreed));
        let mut parties = self.parties.clone();
        for (_, party) in &mut parties.0 {
            party.normalize = party.normalize.as_ref().map(|own| profiles(own));
            party.columns.retain(|logical, _| columns.contains(logical));
            party.items = None;
        }
        Some(JobSpec {
            security: self.security,
            level: self.level,
            reveal_to: self.parties.names().into_iter().map(str::to_owned).collect(),
            key: Some(Key {
                normalize: agreed,
                duplicates: Duplicates::Error,
                nulls: self.key.as_ref().map_or(Nulls::default(), |key| key.nulls),
                columns,
            }),
            limits: Limits { min_rows: None, ..self.limits.clone() },
            ..JobSpec::new(Job::Intersect, &self.id, parties)
        })
    }

    /// Which part of a column's rows may be ones, where the protocol has such a bound: all, unless the job says otherwise.
    pub fn density(&self) -> Result<Option<Fraction>> {
        let Some(written) = &self.density else {
            return Ok((self.protocol == Protocol::GmBloom).then_some(Fraction::ONE));
        };
        let density = written.0.parse().ok().filter(|density| *density != Fraction::ZERO);
        density.map(Some).ok_or_else(|| {
            Error::Input(format!(
                "density = {}: it is the part of a column's rows that may be ones; use a decimal above 0 and up to 1, as 0.1 or \
                 \"10%\"",
                shown(&written.0)
            ))
        })
    }

    /// How many of so many rows may be ones in a column, where the protocol has such a bound.
    pub fn most_ones(&self, rows: usize) -> Result<Option<usize>> {
        Ok(self.density()?.map(|density| density.ceiling(rows as u64) as usize))
    }

    /// What goes with some protocols alone: chunks, a density, and levels other than 128 bits.
    pub(super) fn check_named(&self) -> Result<()> {
        if self.protocol != Protocol::Paillier && self.chunk.is_some() {
            return bad("chunk: only protocol = \"paillier\" sends its columns in chunks; leave it out");
        }
        if self.protocol != Protocol::GmBloom && self.density.is_some() {
            return bad("density: only protocol = \"gm-bloom\" has a bound on the ones of a column; leave it out");
        }
        match self.protocol {
            Protocol::Paillier => self.check_chunk()?,
            Protocol::GmBloom => self.check_gm_bloom()?,
            _ if self.level == Level::Bits128 => (),
            Protocol::Bloom => {
                if Strength::of(self.level).is_none() {
                    return bad(format!(
                        "level = \"{}\" is not there with protocol = \"bloom\", whose oblivious transfers have 128 bits: use \
                         \"bits128\"",
                        self.level
                    ));
                }
            }
            _ if matches!(self.job, Job::Dot | Job::Rules) => {
                return bad(format!(
                    "level = \"{}\" is there with protocol = \"paillier\" or \"gm-bloom\" only: use \"bits128\"",
                    self.level
                ));
            }
            _ => return bad(format!("level = \"{}\" is not there for this job: use \"bits128\"", self.level)),
        }
        match self.level != Level::Bits128 && self.row_id.is_some() {
            true => bad(format!(
                "level = \"{}\" is not there with row_id, because the intersection that aligns rows has 128 bits: use \
                 \"bits128\", or align rows by position",
                self.level
            )),
            false => Ok(()),
        }
    }

    fn check_chunk(&self) -> Result<()> {
        let size = KeySize::of(self.level);
        let most = paillier::max_chunk(size) as u64;
        match self.chunk {
            Some(chunk) if chunk == 0 || chunk > most => bad(format!(
                "chunk = {chunk}: a message holds 1 to {most} numbers that are encrypted under a key of {} bits",
                size.bits()
            )),
            _ => Ok(()),
        }
    }

    fn check_gm_bloom(&self) -> Result<()> {
        self.density()?;
        gm_bloom::Lengths::of(self.level)?;
        match self.integers()? == Integers::BINARY && self.decimals() == 0 {
            true => Ok(()),
            false => bad(
                "protocol = \"gm-bloom\" multiplies zeros and ones: leave out bits, signed and scale, or use \"ot\", \"lattice\" or \
                 \"paillier\"",
            ),
        }
    }

    /// The bound on ones for the terms, with its default filled in.
    pub(super) fn density_term(&self) -> Option<(&'static str, Value)> {
        // Job files whose density cannot be read are refused.
        let density = self.density().ok().flatten()?;
        Some(("density", density.to_string().into()))
    }

    /// The keys of numbers for the terms, with defaults filled in.
    pub(super) fn number_terms(&self) -> Vec<(&'static str, Value)> {
        match self.job {
            Job::Intersect if self.summed().is_some() => vec![("scale", self.summed_decimals().into())],
            Job::Intersect | Job::Rules => Vec::new(),
            Job::Shares => vec![("operation", self.operation.map(|operation| operation.to_string()).into())],
            Job::Dot => {
                let columns =
                    self.parties.names().into_iter().map(|name| (name.to_owned(), self.columns_of(name).into()));
                let mut terms = vec![
                    ("column", Value::Object(columns.collect())),
                    ("bits", self.bits.unwrap_or(1).into()),
                    ("signed", self.signed.unwrap_or(false).into()),
                    ("scale", self.decimals().into()),
                ];
                if let Some(row_id) = &self.row_id {
                    terms.push(("row_id", row_id.all().into()));
                }
                if let Some(modulus) = &self.modulus {
                    terms.push(("modulus", modulus.to_string().into()));
                }
                if let Some(extension) = &self.extension {
                    terms.push(("extension", extension.to_string().into()));
                }
                if let Some(chunk) = self.chunk {
                    terms.push(("chunk", chunk.into()));
                }
                terms.extend(self.density_term());
                terms
            }
        }
    }
}
