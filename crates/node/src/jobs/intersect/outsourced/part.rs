//! Input that a party brings, and its run.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tacita_core::channel::Channel;
use tacita_core::primitive::group::Ristretto255;
use tacita_core::protocol::intersect::ecdh;
use tacita_core::protocol::intersect::outsourced::meet::meet;
use tacita_core::protocol::intersect::outsourced::{OutsourcedParty, OutsourcedResult, follow, lead};
use tacita_core::session::Transcript;
use tacita_core::{Error, Result};

use super::super::found;
use super::super::shown::Shown;
use super::super::{IntersectResult, Loaded, hint, load_table};
use super::learned::learned;
use super::published::bloom;
use super::values::{self, Values};
use super::{PROTOCOL, params};
use crate::agreement::{Answer, JobSpec, PartContext, PartyInput, Peers, RunResult, Sizes, Source, Terms};
use crate::base::text::{count, counted};
use crate::table::RowCounts;
use crate::table::output::counts;
use crate::transport::depot::DepotClient;

/// Input that a party brings.
pub struct OutsourcedInput {
    loaded: Arc<Loaded>,
    values: Values,
}

impl OutsourcedInput {
    /// Reads and normalises a party's data.
    pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<OutsourcedInput> {
        let loaded = load_table(job, me, source)?;
        Ok(OutsourcedInput { values: Values::of(job, me, &loaded)?, loaded })
    }
}

impl PartyInput for OutsourcedInput {
    fn sizes(&self) -> Sizes {
        self.loaded.sizes().clone()
    }

    fn rows(&self) -> RowCounts {
        self.loaded.keys().counts()
    }

    fn check_peer(&self, _job: &JobSpec, _theirs: &Sizes, _channel: &Channel) -> Result<()> {
        refuse_peer()
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<RunResult> {
        let PartContext { job, me, rng, peers, .. } = run;
        let (depot, loaded) = (at_helper(peers)?, &self.loaded);
        let (own, learned, params) = (job.parties.place(me)?, learned(job, me), params(job)?);
        let (met, post) = meet(&Ristretto255, own, job.parties.0.len(), &terms(job), depot, rng)?;
        tracing::info!("all parties are there");
        let items = loaded.items(&met.session.derive("item"));
        let values = self.values.given();
        let party = OutsourcedParty { me: own, params: &params, items: &items, values, met: &met, post: &post };
        let found = if own == params.leader() { Some(lead(&party, rng)?) } else { follow(&party, rng)? };
        let mut all = match found {
            None => RunResult::nothing(PROTOCOL, learned),
            Some(OutsourcedResult::Rows(common)) => {
                if common.is_empty() && !loaded.keys().is_empty() {
                    hint::warn_of_nothing(job, me, loaded);
                }
                IntersectResult::Rows(loaded.clone(), common).result(job, me, PROTOCOL, learned)
            }
            Some(OutsourcedResult::Count(count)) => IntersectResult::Count(count).result(job, me, PROTOCOL, learned),
            Some(OutsourcedResult::Sum(count, sum)) => {
                let total = ecdh::sum::Total { count: count as _, sums: vec![i128::from(sum)] };
                IntersectResult::Sum(total).result(job, me, PROTOCOL, learned)
            }
            Some(OutsourcedResult::Payload(sealed)) => {
                if sealed.is_empty() && !loaded.keys().is_empty() {
                    hint::warn_of_nothing(job, me, loaded);
                }
                let (job, loaded, shown) = (job.clone(), loaded.clone(), Shown::of(job, me));
                // Opened when the helper sees nothing of this party any more: the time says how many are common.
                RunResult::new(PROTOCOL, learned, move || {
                    let names = job.parties.names();
                    let (common, given) = sealed.open(&items)?;
                    let columns = given.iter().map(|given| {
                        let (schema, rows) = values::given(&job, names[given.party], given)?;
                        Ok((names[given.party].to_owned(), schema, rows))
                    });
                    found::joined(loaded, shown, common, columns.collect::<Result<Vec<_>>>()?)()
                })
            }
            Some(OutsourcedResult::Counts(of_names)) => {
                let (column, limit) = (job.reveal.columns().concat(), job.limits.min_result);
                RunResult::new(PROTOCOL, learned, move || counted_by(column, of_names, limit))
            }
        };
        all.further_rounds = params.rounds();
        Ok(all)
    }
}

/// Input of a party to the published form.
pub struct BloomInput(Arc<Loaded>);

impl BloomInput {
    /// Reads and normalises a party's data.
    pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<BloomInput> {
        load_table(job, me, source).map(BloomInput)
    }
}

impl PartyInput for BloomInput {
    fn sizes(&self) -> Sizes {
        self.0.sizes().clone()
    }

    fn rows(&self) -> RowCounts {
        self.0.keys().counts()
    }

    fn check_peer(&self, _job: &JobSpec, _theirs: &Sizes, _channel: &Channel) -> Result<()> {
        refuse_peer()
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<RunResult> {
        let PartContext { job, me, rng, peers, .. } = run;
        let (depot, loaded) = (at_helper(peers)?, &self.0);
        let published = bloom::params(job)?;
        let common = published.run(job.parties.place(me)?, &terms(job), loaded, depot, rng)?;
        let found = common.map_or(IntersectResult::Nothing, |common| IntersectResult::Rows(loaded.clone(), common));
        let found = found.result(job, me, bloom::PROTOCOL, learned(job, me));
        Ok(RunResult { further_rounds: published.rounds(), ..found })
    }
}

/// Returns the helper of a run through one.
fn at_helper<'a>(peers: Peers<'a>) -> Result<&'a DepotClient> {
    peers.helper().ok_or_else(|| Error::Internal("a run through a helper without a depot".into()))
}

fn refuse_peer() -> Result<()> {
    Err(Error::Internal("a peer in a run through a helper".into()))
}

/// Returns the transcript that all parties of a run have in common before they meet.
fn terms(job: &JobSpec) -> Transcript {
    let mut terms = Transcript::new("outsourced job");
    terms.append("terms", Terms::of(job).canonical().as_bytes());
    terms
}

/// Builds the answer with the counts by category. Counts that are too low are held back.
fn counted_by(column: String, of_names: Vec<(Vec<u8>, u64)>, min_result: Option<u64>) -> Result<Answer> {
    let total: u64 = of_names.iter().map(|(_, count)| count).sum();
    let all = of_names.len();
    let limit = min_result.unwrap_or(0);
    if total < limit {
        return Ok(Answer::below("count", limit));
    }
    let named = of_names.into_iter().filter(|(_, count)| *count >= limit);
    let named: Vec<(String, u64)> =
        named.map(|(name, count)| (String::from_utf8_lossy(&name).into_owned(), count)).collect();
    let by_name: Map<String, Value> = named.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
    let (mut json, mut line) = (json!({ "counts": by_name }), format!("counts {}", in_a_line(&named)));
    if named.len() < all {
        json["below"] = json!(limit);
        line += &format!("; {} below {limit}", counted((all - named.len()) as u64, "category"));
    }
    Ok(Answer::Numbers { json, line, table: Box::new(move || counts(&column, &named)) })
}

/// The first few of them.
fn in_a_line(named: &[(String, u64)]) -> String {
    const SHOWN: usize = 8;
    let shown = |(name, number): &(String, u64)| {
        // A name in which there is a sign of the list's own is quoted.
        let name = match name.as_str() {
            "" => "(empty)".to_owned(),
            name if name.contains([',', ';', '"']) => format!("\"{}\"", crate::base::text::shown(name)),
            name => crate::base::text::shown(name),
        };
        format!("{name} {}", count(*number))
    };
    let first: Vec<_> = named.iter().take(SHOWN).map(shown).collect();
    let more = match named.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    if first.is_empty() { "0".into() } else { first.join(", ") + &more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_of_few_are_held_back() {
        let counts = || vec![(b"north".to_vec(), 7), (b"south".to_vec(), 2), (b"west".to_vec(), 3)];
        let said = |limit| match counted_by("town".into(), counts(), limit).unwrap() {
            Answer::Numbers { json, line, .. } => (json, line),
            _ => panic!("no numbers"),
        };
        assert_eq!(said(None).0, json!({ "counts": { "north": 7, "south": 2, "west": 3 } }));
        let (told, line) = said(Some(3));
        assert_eq!(told, json!({ "counts": { "north": 7, "west": 3 }, "below": 3 }));
        assert!(!line.contains("south") && !line.contains('2'), "{line}");
        assert_eq!(said(Some(13)), (json!({ "below": 13 }), "count below 13".into()));
    }
}
