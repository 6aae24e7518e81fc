//! What a party gets from a scalar product.

use std::path::Path;

use serde_json::json;
use tacita_core::Result;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::{Shares, reveal};

use crate::agreement::JobSpec;
use crate::jobs::answer::Told;
use crate::jobs::numbers::{ShareFile, Value, write_values};
use crate::run::report::Encryptions;

/// What a party gets.
pub struct Found {
    pub(super) rows: usize,
    pub(super) outcome: Outcome,
    pub(super) encryptions: Option<Encryptions>,
}

pub(crate) enum Outcome {
    /// Nothing: the other party learns the value.
    Nothing,
    /// The value, or a matrix of them.
    Values(Vec<i128>),
    /// Shares of it.
    Shares(Box<ShareFile>),
}

pub(crate) fn open(job: &JobSpec, me: &str, shares: &Shares, channel: &mut Channel) -> Result<Outcome> {
    let (modulus, signed) = (shares.modulus(), job.integers()?.signed());
    let numbers = reveal(shares, job.learns(me), job.learns(job.peer_of(me)), channel)?;
    Ok(match numbers {
        None => Outcome::Nothing,
        Some(numbers) => Outcome::Values(numbers.into_iter().map(|residue| modulus.integer(residue, signed)).collect()),
    })
}

impl Found {
    /// Of so many rows these products, row by row, or nothing.
    pub fn new(rows: usize, values: Option<Vec<i128>>) -> Found {
        Found { rows, outcome: values.map_or(Outcome::Nothing, Outcome::Values), encryptions: None }
    }

    /// How many rows were multiplied.
    pub fn rows(&self) -> u64 {
        self.rows as u64
    }

    /// Where encryptions came from, where there is a pool.
    pub fn encryptions(&self) -> Option<Encryptions> {
        self.encryptions
    }

    /// Writes the result where the user wants it, and says what it is.
    pub fn write(&self, job: &JobSpec, path: Option<&Path>) -> Result<Told> {
        match &self.outcome {
            Outcome::Nothing => Ok(Told::nothing()),
            Outcome::Shares(file) => {
                if let Some(path) = path {
                    file.write(path)?;
                }
                let number = file.count();
                let told = format!("shares {number}{}", if path.is_some() { "" } else { " (not kept: no --output)" });
                Ok(Told { json: json!({ "shares": number }), line: Some(told), written: Ok(()) })
            }
            Outcome::Values(values) => {
                let value = Value::of_job(job, values.clone());
                match job.limits.min_result {
                    Some(limit) if value.is_below(limit) => Told::below("value", limit, path),
                    _ => write_values(&[value], path),
                }
            }
        }
    }
}
