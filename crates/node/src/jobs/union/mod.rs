//! `union` of two tables: from a table to all that either party has, without showing which rows both have.

mod found;
mod job;
mod learned;
mod load;
mod methods;
mod sizes;

use std::sync::Arc;

use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use crate::agreement::polynomials::POLYNOMIAL;
use crate::agreement::{self, Ability, JobSpec, Known, Pair, Part, Run, Sizes, Source};
use crate::table::{RowCounts, read};
use load::Loaded;
use methods::{Found, Setting};

pub use job::Union;

/// What a party brings: its table, and what it gives.
struct Brought(Arc<Loaded>);

/// Reads and normalises a party's table.
fn load(job: &JobSpec, me: &str, source: &Source) -> Result<Brought> {
    if let Source::Candidates { path, candidates, options, allow_unreadable } = source {
        if !job.learns(me) {
            return Err(Ability::Candidates.missing(job.job.name()));
        }
        let loaded = Loaded::of(job, me, read(path, options)?, *allow_unreadable)?;
        let loaded = loaded.trying(job, me, read(candidates, options)?, *allow_unreadable)?;
        return Ok(Brought(Arc::new(loaded)));
    }
    let Some((table, allow_unreadable)) = source.table()? else {
        return Err(Error::Internal("a union of something else than tables".into()));
    };
    if job.protocol == POLYNOMIAL && job.learns(me) {
        return Err(Error::Input(format!(
            "{}: protocol = \"polynomial\" shows which of given keys are in the union, and no others: give a table of keys to be tried, \
             too, as a second --input",
            table.source()
        )));
    }
    Ok(Brought(Arc::new(Loaded::of(job, me, table, allow_unreadable)?)))
}

impl Part for Brought {
    fn sizes(&self) -> Sizes {
        self.0.sizes().clone()
    }

    fn rows(&self) -> RowCounts {
        self.0.keys().counts()
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        sizes::check_peer(job, theirs, channel)
    }

    fn run(&mut self, run: Run<'_>) -> Result<agreement::Found> {
        let Pair { job, me, agreed, channel, rng, .. } = run.pair()?;
        let protocol = agreed.chosen.protocol;
        let learned = learned::union(job, me, Known::of(agreed));
        let mut own = Found::Nothing;
        // One run for each party that learns, with keys of its own: the receiver is the one who does.
        for (place, receiver) in methods::receivers(job).enumerate() {
            let session = agreed.session.child("union", place as u64);
            let setting = Setting { job, me, loaded: &self.0, receiver, session: &session, agreed };
            let found = methods::run(protocol, &setting, channel, rng)?;
            if !matches!(found, Found::Nothing) {
                own = found;
            }
        }
        let answer = own.answer(job, me, self.0.clone(), &agreed.peer_sizes);
        Ok(agreement::Found { answer, ..agreement::Found::nothing(protocol, learned) })
    }
}
