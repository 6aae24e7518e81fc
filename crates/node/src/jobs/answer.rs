//! What a party brings to a job, and what it gets: the one place that tells the kinds of jobs apart.

use std::path::Path;

use rand_core::CryptoRng;
use serde_json::{Value, json};
use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use crate::agreement::handshake::Agreed;
use crate::agreement::{Chosen, Job, JobSpec, Known, Protocol, Sizes};
use crate::jobs::dot::pool::Pool;
use crate::jobs::{dot, intersect, learned, rules, shares};
use crate::run::party::Source;
use crate::run::report::{Encryptions, Work};
use crate::table::{RowCounts, Selection, output};

/// What a party brings.
pub enum Brought {
    /// To an intersection.
    Intersect(intersect::Brought),
    /// To a scalar product.
    Dot(Box<dot::Brought>),
    /// Shares to be opened or compared.
    Shares(shares::Brought),
    /// To association rules.
    Rules(Box<rules::Brought>),
}

/// What a party has found.
pub enum Found {
    /// In an intersection.
    Intersect(intersect::Found),
    /// In a scalar product.
    Dot(dot::Found),
    /// In shares.
    Shares(shares::Found),
    /// In baskets.
    Rules(rules::Found),
}

/// A result, for the report and for standard output.
pub struct Told {
    /// As it stands in the report.
    pub json: Value,
    /// As it is printed; nothing where nothing was learned.
    pub line: Option<String>,
    /// Whether it could be written where the user wants it. A number that could not is printed all the same.
    pub written: Result<()>,
}

impl Told {
    /// Of a party that learns nothing.
    pub fn nothing() -> Told {
        Told { json: Value::Null, line: None, written: Ok(()) }
    }

    /// Instead of a number that is below the job's `min_result`.
    pub fn below(what: &str, limit: u64, path: Option<&Path>) -> Result<Told> {
        Ok(Told {
            json: json!({ "below": limit }),
            line: Some(format!("{what} below {limit}")),
            written: Told::write_numbers(&[("below", limit.to_string())], path),
        })
    }
}

impl Told {
    /// Writes numbers as a table of one row, if a file is wanted.
    pub fn write_numbers(numbers: &[(&str, String)], path: Option<&Path>) -> Result<()> {
        let table = output::numbers(numbers)?;
        path.map_or(Ok(()), |path| output::write(&Selection::all(&table), path, None))
    }
}

impl Brought {
    /// Reads a party's data.
    pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<Brought> {
        Ok(match job.job {
            Job::Intersect => Brought::Intersect(intersect::Brought::load(job, me, source)?),
            Job::Dot => Brought::Dot(Box::new(dot::Brought::load(job, me, source)?)),
            Job::Shares => Brought::Shares(shares::Brought::load(job, me, source)?),
            Job::Rules => Brought::Rules(Box::new(rules::Brought::load(job, me, source)?)),
        })
    }

    /// The same with a pool to take encryptions from.
    pub fn with_pool(self, pool: Option<Pool>) -> Result<Brought> {
        match (self, pool) {
            (brought, None) => Ok(brought),
            (Brought::Dot(brought), pool) => Ok(Brought::Dot(Box::new(brought.with_pool(pool)))),
            _ => Err(Error::Internal("a pool for a job that encrypts nothing".into())),
        }
    }

    /// How much it is, as the peer is told.
    pub fn sizes(&self) -> Sizes {
        match self {
            Brought::Intersect(brought) => brought.sizes(),
            Brought::Dot(brought) => brought.sizes(),
            Brought::Shares(brought) => brought.sizes(),
            Brought::Rules(brought) => brought.sizes(),
        }
    }

    /// What became of the input's rows.
    pub fn row_counts(&self) -> RowCounts {
        match self {
            Brought::Intersect(brought) => brought.row_counts(),
            Brought::Dot(brought) => brought.row_counts(),
            Brought::Shares(brought) => brought.row_counts(),
            Brought::Rules(brought) => brought.row_counts(),
        }
    }

    /// How a run on disk went.
    pub fn work(&self) -> Option<Work> {
        match self {
            Brought::Intersect(intersect::Brought::Disk(disk)) => disk.work(),
            _ => None,
        }
    }

    /// Notes that the peer has all that it needs of this party, and this party of the peer.
    pub fn end(&self) -> Result<()> {
        match self {
            Brought::Intersect(intersect::Brought::Disk(disk)) => disk.end(),
            _ => Ok(()),
        }
    }

    /// Removes what was kept on disk for this run alone, now that it has succeeded.
    pub fn clear(&self) -> Result<()> {
        match self {
            Brought::Intersect(intersect::Brought::Disk(disk)) => disk.clear(),
            _ => Ok(()),
        }
    }

    /// Runs what was agreed on, with as much memory as is `allowed`, as far as that shows only now.
    pub fn run(
        &self,
        job: &JobSpec,
        me: &str,
        agreed: &Agreed,
        allowed: Option<u64>,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Found> {
        Ok(match self {
            Brought::Intersect(brought) => Found::Intersect(intersect::run(job, me, brought, agreed, channel, rng)?),
            Brought::Dot(brought) => Found::Dot(dot::run(job, me, brought, agreed, channel, rng)?),
            Brought::Shares(brought) => Found::Shares(shares::run(job, me, brought, agreed, channel, rng)?),
            Brought::Rules(brought) => Found::Rules(rules::run(job, me, brought, agreed, allowed, channel, rng)?),
        })
    }
}

impl Found {
    /// Writes the result where the user wants it, and says what it is.
    pub fn write(&self, job: &JobSpec, me: &str, brought: &Brought, path: Option<&Path>) -> Result<Told> {
        match (self, brought) {
            (Found::Intersect(found), Brought::Intersect(brought)) => found.write(job, me, brought, path),
            (Found::Dot(found), _) => found.write(job, path),
            (Found::Shares(found), _) => found.write(job, path),
            (Found::Rules(found), _) => found.write(path),
            _ => Err(Error::Internal("a result of another job".into())),
        }
    }

    /// The protocol that ran: of several that could, the one with most to do.
    pub fn protocol(&self, chosen: &Chosen) -> Protocol {
        match self {
            Found::Rules(found) => found.protocol(chosen),
            _ => chosen.protocol,
        }
    }

    /// What each level of rules took.
    pub fn levels(&self) -> &[rules::Level] {
        match self {
            Found::Rules(found) => found.levels(),
            _ => &[],
        }
    }

    /// Where encryptions came from, where there is a pool.
    pub fn encryptions(&self) -> Option<Encryptions> {
        match self {
            Found::Dot(found) => found.encryptions(),
            _ => None,
        }
    }

    /// What the party learned, in sentences.
    pub fn learned(&self, job: &JobSpec, me: &str, agreed: &Agreed) -> Vec<String> {
        let (own, theirs) = (&agreed.own_sizes, &agreed.peer_sizes);
        let mut known = Known {
            own_items: Some(own.items),
            items: Some(theirs.items),
            entries: Some(theirs.entries),
            prepared: theirs.epoch.is_some(),
            on_disk: theirs.work.is_some(),
            runs: theirs.runs.as_ref().map(|runs| runs.len() as u64),
            common: None,
        };
        match self {
            Found::Dot(found) => known.common = Some(found.rows()),
            Found::Rules(found) => known.common = Some(found.named().rows.into()),
            _ => (),
        }
        learned::sentences(job, me, known)
    }
}

/// Checks that the peer's sizes fit the job and this party's own: all that can be said of them before it is chosen what runs.
pub fn check_peer(job: &JobSpec, own: &Sizes, theirs: &Sizes, channel: &Channel) -> Result<()> {
    if job.job != Job::Intersect && theirs.work.is_some() {
        return Err(channel.violation("it announces a run on disk in a job that has none"));
    }
    if job.job != Job::Shares && theirs.runs.is_some() {
        return Err(channel.violation("it announces shares in a job that opens none"));
    }
    match job.job {
        Job::Intersect => intersect::check_peer(job, own, theirs, channel),
        Job::Dot => dot::check_peer(job, own, theirs, channel),
        Job::Rules => rules::check_peer(job, own, theirs, channel),
        Job::Shares => shares::check_peer(theirs, channel),
    }
}
