//! Input that a party brings, and its run.

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::star::{self, StarMatches};
use tacita_core::protocol::intersect::tag_exchange::Payload;
use tacita_core::{Error, Result, Session};

use super::super::disk::TablePlace;
use super::super::found;
use super::super::shown::Shown;
use super::super::sizes::peer_schema;
use super::super::{IntersectInput, Loaded, hint};
use super::learned::learned;
use super::{PROTOCOL, disk, longest, params};
use crate::agreement::{
    Answer, Deferred, JobSpec, KnownSizes, PartContext, PartyInput, Peers, RunResult, Sizes, Source, mesh,
};
use crate::table::RowCounts;
use crate::table::payload::PayloadSchema;

/// Input that a party brings.
pub struct StarInput(IntersectInput);

impl StarInput {
    /// Reads and normalises a party's data.
    pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<StarInput> {
        super::super::load(job, me, source).map(StarInput)
    }
}

impl PartyInput for StarInput {
    fn sizes(&self) -> Sizes {
        self.0.sizes()
    }

    fn rows(&self) -> RowCounts {
        self.0.rows()
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        self.0.check_peer(job, theirs, channel)
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<RunResult> {
        let PartContext { job, me, rng, peers, .. } = run;
        let Peers::Mesh { agreed, channels } = peers else {
            return Err(Error::Internal("a star between two ends".into()));
        };
        let links = agreed.links(job)?;
        // Who is done with the leader, or has nothing to do with another, waits while others work.
        let longest = longest(job, &agreed.sizes)?;
        channels.iter_mut().for_each(|channel| channel.allow_longer(longest));
        let learned = learned(job, me, KnownSizes { all: Some(&agreed.sizes), ..KnownSizes::default() });
        if disk::is_bucketed(&agreed.sizes) {
            let common = disk::run(job, me, self.party()?, agreed, &links, channels, rng)?;
            let found = match (job.learns(me), common) {
                (false, _) => found::IntersectResult::Nothing,
                (true, Some(common)) => found::IntersectResult::Rows(common),
                (true, None) => found::IntersectResult::OnDisk,
            };
            if let (IntersectInput::Table(loaded), true) = (&self.0, found.is_nothing_in_common(job)) {
                warn_of_nothing(job, me, loaded, agreed);
            }
            return self.0.found(job, me, found, PROTOCOL, learned);
        }
        let IntersectInput::Table(loaded) = &self.0 else {
            return Err(Error::Internal("a table on disk in a run in memory".into()));
        };
        let answer = match in_memory((job, me), loaded, agreed, &agreed.session, channels, rng)? {
            None => RunResult::nothing(PROTOCOL, Vec::new()).answer,
            Some(common) => {
                if common.items.is_empty() {
                    warn_of_nothing(job, me, loaded, agreed);
                }
                answer(loaded, (job, me), agreed, common)?
            }
        };
        Ok(RunResult { answer, ..RunResult::nothing(PROTOCOL, learned) })
    }

    fn ended(&self) -> Result<()> {
        self.0.ended()
    }

    fn clear(&self) -> Result<()> {
        self.0.clear()
    }
}

/// The run of a party whose table is in memory.
fn in_memory(
    (job, me): (&JobSpec, &str),
    loaded: &Loaded,
    agreed: &mesh::MeshAgreement,
    session: &Session,
    channels: &mut [Channel],
    rng: &mut ChaCha20Rng,
) -> Result<Option<StarMatches>> {
    let (items, params) = (loaded.items(&session.derive("item")), params(job, &agreed.sizes)?);
    let (links, rows) = (agreed.links(job)?, loaded.given_rows());
    let party =
        star::StarParty { me: job.parties.place(me)?, items: &items, rows, params: &params, session, links: &links };
    star::run(party, channels, rng)
}

/// The own rows that all have, in the same order at all, as a part of another job: `alignment` reveals them to all
/// parties.
pub(in crate::jobs) fn common_rows(
    alignment: &JobSpec,
    me: &str,
    loaded: &Loaded,
    agreed: &mesh::MeshAgreement,
    channels: &mut [Channel],
    rng: &mut ChaCha20Rng,
) -> Result<Vec<u32>> {
    let longest = longest(alignment, &agreed.sizes)?;
    channels.iter_mut().for_each(|channel| channel.allow_longer(longest));
    let session = agreed.session.child("alignment", 0);
    let common = in_memory((alignment, me), loaded, agreed, &session, channels, rng)?;
    let common = common.ok_or_else(|| Error::Internal("an alignment found no rows".into()))?;
    if common.items.is_empty() {
        warn_of_nothing(alignment, me, loaded, agreed);
    }
    Ok(loaded.keys.rows_of(&common.items))
}

impl StarInput {
    fn party(&self) -> Result<TablePlace<'_>> {
        match &self.0 {
            IntersectInput::Disk(disk) => Ok(TablePlace::Disk(disk)),
            IntersectInput::Table(loaded) => Ok(TablePlace::Memory(&loaded.keys)),
            IntersectInput::Prepared(_) => Err(Error::Internal("a prepared part of a star".into())),
        }
    }
}

/// Says what to look at if nothing is common though all have keys.
fn warn_of_nothing(job: &JobSpec, me: &str, loaded: &Loaded, agreed: &mesh::MeshAgreement) {
    let all_have_some = agreed.sizes.values().all(|sizes| sizes.items > 0);
    match agreed.pairs.len() {
        _ if !all_have_some || loaded.keys.is_empty() => (),
        1 => hint::warn_of_nothing(job, me, loaded),
        _ => tracing::warn!(
            "no key is common to all: compare with the others how keys are written, and see [key] normalize"
        ),
    }
}

/// The own rows that all have, with what the others give.
fn answer(
    loaded: &Arc<Loaded>,
    (job, me): (&JobSpec, &str),
    agreed: &mesh::MeshAgreement,
    common: StarMatches,
) -> Result<Deferred<Answer>> {
    let names = job.parties.names();
    let schema = |(place, rows): (usize, Payload)| {
        let giver: &str = names.get(place).ok_or_else(|| Error::Internal("rows of no party".into()))?;
        let schema: PayloadSchema = peer_schema(job, giver, &agreed.sizes[giver])?;
        Ok((giver.to_string(), schema, rows))
    };
    let given = common.rows.into_iter().map(schema).collect::<Result<Vec<_>>>()?;
    Ok(found::joined(loaded.clone(), Shown::of(job, me), common.items, given))
}
