//! What a party brings, and its run.

use std::sync::Arc;

use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::entries::Payload;
use tacita_core::protocol::intersect::star::{self, Common, Link};
use tacita_core::{Error, Result};

use super::super::found::given_table;
use super::super::sizes::{check_peer, peer_schema};
use super::super::{Loaded, hint};
use super::{PROTOCOL, learned, longest, params};
use crate::agreement::{Answer, Found, JobSpec, Known, Part, Peers, Run, Sizes, Source, mesh};
use crate::table::payload::PayloadSchema;
use crate::table::{RowCounts, Selection};

/// A party's table and its keys.
pub struct Star(Arc<Loaded>);

impl Star {
    /// Reads and normalises a party's data.
    pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<Star> {
        match source.table()? {
            Some((table, allow_unreadable)) => Ok(Star(Arc::new(Loaded::of(job, me, table, allow_unreadable)?))),
            None => Err(Error::Input(format!("--work: {}", super::IN_MEMORY))),
        }
    }
}

impl Part for Star {
    fn sizes(&self) -> Sizes {
        self.0.sizes.clone()
    }

    fn rows(&self) -> RowCounts {
        self.0.keys.counts()
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        check_peer(job, &self.sizes(), theirs, channel)
    }

    fn run(&mut self, run: Run<'_>) -> Result<Found> {
        let Run { job, me, rng, peers, .. } = run;
        let Peers::Mesh { agreed, channels } = peers else {
            return Err(Error::Internal("a star between two ends".into()));
        };
        let loaded = &self.0;
        let place = |name: &str| job.parties.position(name).ok_or_else(|| Error::Internal(format!("no party {name}")));
        let link = |pair: &mesh::Pair| {
            Ok(Link { peer: place(&pair.peer)?, session: pair.session.clone(), seed: pair.seed.clone() })
        };
        let links = agreed.pairs.iter().map(link).collect::<Result<Vec<_>>>()?;
        let items = loaded.items(&agreed.session.derive("item"));
        let params = params(job, &agreed.sizes)?;
        // Who is done with the leader, or has nothing to do with another, waits while others work.
        let longest = longest(job, &agreed.sizes)?;
        channels.iter_mut().for_each(|channel| channel.allow_longer(longest));
        let (session, rows) = (&agreed.session, loaded.given_rows());
        let party = star::Party { me: place(me)?, items: &items, rows, params: &params, session, links: &links };
        let common = star::run(party, channels, rng)?;
        let known = Known { all: Some(&agreed.sizes), ..Known::default() };
        let answer = match common {
            None => Found::nothing(PROTOCOL, Vec::new()).answer,
            Some(common) => {
                let all_have_some = agreed.sizes.values().all(|sizes| sizes.items > 0);
                match agreed.pairs.len() {
                    _ if !common.items.is_empty() || !all_have_some || loaded.keys.is_empty() => (),
                    1 => hint::warn_of_nothing(job, me, loaded),
                    _ => tracing::warn!(
                        "no key is common to all: compare with the others how keys are written, and see [key] normalize"
                    ),
                }
                self.answer(job, agreed, common)?
            }
        };
        Ok(Found { answer, ..Found::nothing(PROTOCOL, learned(job, me, known)) })
    }
}

impl Star {
    /// The own rows that all have, with what the others give.
    fn answer(
        &self,
        job: &JobSpec,
        agreed: &mesh::Agreed,
        common: Common,
    ) -> Result<crate::agreement::Deferred<Answer>> {
        let names = job.parties.names();
        let schema = |(place, rows): (usize, Payload)| {
            let giver: &str = names.get(place).ok_or_else(|| Error::Internal("rows of no party".into()))?;
            let schema: PayloadSchema = peer_schema(job, giver, &agreed.sizes[giver])?;
            Ok((giver.to_string(), schema, rows))
        };
        let given = common.rows.into_iter().map(schema).collect::<Result<Vec<_>>>()?;
        let (loaded, items) = (self.0.clone(), common.items);
        Ok(Box::new(move || {
            if given.is_empty() {
                return Ok(Answer::rows(Selection::of_rows(&loaded.table, loaded.keys.rows_of(&items))?));
            }
            let joined = given.iter().map(|(giver, schema, rows): &(String, _, _)| given_table(schema, rows, giver));
            let joined = joined.collect::<Result<Vec<_>>>()?;
            Ok(Answer::rows(Selection::join(&loaded.table, &loaded.keys, &items, &joined)?))
        }))
    }
}
