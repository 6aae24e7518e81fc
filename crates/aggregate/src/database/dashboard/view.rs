//! Data of the pages: the state of the database and its rounds, as the operator may see it.

use std::path::Path;
use std::time::{Duration, Instant};

use tacita_core::Result;
use tacita_node::base::files;
use tacita_node::jobs::aggregate::Measure;
use tacita_serve::clock;

use super::super::operator::may_be_revealed_again;
use super::super::record::Record;
use super::super::round::Round;
use super::super::{Database, lock};
use super::watch::Watch;
use crate::store::Totals;
use crate::wire::rounds::{Completion, Numbers, ReportCounts, RoundFailure, RoundState};
use crate::wire::service::Service;

/// The database as a whole.
pub(super) struct View {
    pub(super) job: String,
    pub(super) rounds: Vec<RoundView>,
    pub(super) up: Duration,
    /// Number of participants that may report, as far as the list can be read.
    pub(super) listed: Option<usize>,
    pub(super) proxies: Vec<Proxy>,
    pub(super) oracles: Vec<Oracle>,
    /// Reports a second, the latest last.
    pub(super) rates: Vec<f64>,
    pub(super) totals: Totals,
    /// Bytes that are free where the state is kept.
    pub(super) free: Option<u64>,
    pub(super) learned: Vec<String>,
}

/// A proxy, and how it stands to a round.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) name: String,
    /// Minimum time for which the proxy has been silent.
    pub(super) silent: Duration,
    /// Whether anything was heard of it since this program was started.
    pub(super) heard: bool,
    pub(super) complete: Option<Completion>,
    /// Whether the proxy is there with another state directory than the one that holds the reports it acknowledged.
    pub(super) strange: bool,
    /// Under which other keys it has the round, if it has.
    pub(super) other_keys: Option<String>,
    /// The round goes on without it.
    pub(super) without: bool,
}

/// State of an oracle.
#[derive(Clone)]
pub(super) struct Oracle {
    pub(super) name: String,
    pub(super) silent: Option<Duration>,
    pub(super) problem: Option<String>,
}

/// Failure of an operation that is tried again.
#[derive(Clone)]
pub(super) struct Trouble {
    pub(super) what: String,
    /// Time left until the round fails if the trouble persists.
    pub(super) left: Duration,
}

/// A threshold, as it was agreed on and as it stands: the least that passes.
#[derive(Clone)]
pub(super) struct Threshold {
    pub(super) measure: Measure,
    pub(super) agreed: i128,
    pub(super) now: i128,
    /// The number that stands in the condition.
    pub(super) bound: i128,
}

/// State of one round.
pub(super) struct RoundView {
    pub(super) name: String,
    pub(super) state: RoundState,
    pub(super) opened: u64,
    pub(super) closed: Option<u64>,
    /// Time since which the round is in its state, if that is known.
    pub(super) since: Option<u64>,
    /// Time at which the round closes by itself.
    pub(super) close_at: Option<String>,
    /// Reports in a batch that leaves while the round is open.
    pub(super) batch_size: Option<u64>,
    /// Whether the proxies' key is there, without which nobody can report.
    pub(super) keyed: bool,
    pub(super) proxies: Vec<Proxy>,
    pub(super) trouble: Option<Trouble>,
    pub(super) failure: Option<RoundFailure>,
    pub(super) again: bool,
    pub(super) numbers: Numbers,
    pub(super) totals: Totals,
    pub(super) revealed: u64,
    pub(super) agreed_when: String,
    pub(super) reveal_when: String,
    pub(super) thresholds: Vec<Threshold>,
    pub(super) tighten: bool,
    pub(super) counts: Option<ReportCounts>,
    pub(super) reveal_to: String,
    /// Whether the database's operator is among those who get results.
    pub(super) reads: bool,
}

impl Database {
    /// Returns the state of the database and all its rounds.
    pub(super) fn view(&self, watch: &Watch, state: &Path) -> Result<View> {
        let rounds: Vec<RoundView> =
            self.all().iter().map(|round| self.view_of(round, watch)).collect::<Result<_>>()?;
        let mut totals = Totals::default();
        for round in &rounds {
            totals.batches += round.totals.batches;
            totals.reports += round.totals.reports;
        }
        let oracles = self.oracles.iter().zip(watch.oracles()).map(|(oracle, contact)| Oracle {
            name: oracle.name().to_owned(),
            silent: contact.last.map(|last| last.elapsed()),
            problem: contact.problem,
        });
        let own = self.setting.own()?;
        Ok(View {
            job: self.setting.spec.id.clone(),
            up: self.began.elapsed(),
            listed: self.setting.participants().ok(),
            proxies: self.proxies(None)?,
            oracles: oracles.collect(),
            rates: watch.rates(),
            totals,
            free: files::free_bytes(state),
            learned: crate::role::learned(own, "database"),
            rounds,
        })
    }

    /// Returns the state of one round.
    pub(super) fn view_of(&self, round: &Round, watch: &Watch) -> Result<RoundView> {
        let own = self.setting.own()?;
        let (agreed, now) = (&own.own.round.reveal_when, round.predicate(&self.setting)?);
        // Raising changes numbers alone: comparisons stay in their places.
        let thresholds = agreed.thresholds().into_iter().zip(now.thresholds()).map(|(agreed, now)| Threshold {
            measure: now.measure,
            agreed: agreed.bound + i128::from(agreed.strict),
            now: now.bound + i128::from(now.strict),
            bound: now.bound,
        });
        let record = Record::clone(&round.record());
        let since = match record.state {
            RoundState::Open => Some(record.opened),
            RoundState::Closed => record.closed,
            state => watch.since(&round.name, state),
        };
        let trouble = lock(&self.troubled)
            .get(&round.name)
            .map(|(since, what)| Trouble { what: what.clone(), left: self.patience.saturating_sub(since.elapsed()) });
        let totals = self.storage.totals(&round.name)?;
        Ok(RoundView {
            name: round.name.clone(),
            state: record.state,
            opened: record.opened,
            closed: record.closed,
            since,
            close_at: own.own.round.close_at.as_ref().map(ToString::to_string),
            batch_size: own.own.round.batch_size,
            keyed: record.proxy.is_some(),
            proxies: self.proxies(Some((&round.name, &record)))?,
            trouble,
            again: may_be_revealed_again(&record),
            totals,
            revealed: record.revealed.keys,
            agreed_when: agreed.to_string(),
            reveal_when: now.to_string(),
            thresholds: thresholds.collect(),
            tighten: own.own.round.tighten,
            counts: record.counts,
            reveal_to: own.spec.reveal_to.join(", "),
            reads: own.audience().database,
            numbers: Numbers {
                dropped: record.numbers.dropped + totals.dropped,
                discarded: record.complete.values().map(|one| one.discarded).sum(),
                ..record.numbers
            },
            failure: record.failure,
        })
    }

    fn proxies(&self, round: Option<(&str, &Record)>) -> Result<Vec<Proxy>> {
        let record = round.map(|(_, record)| record);
        let heard = lock(&self.heard).clone();
        let all = (0..self.setting.count("proxy")?).map(|place| {
            let last: Option<&Instant> = heard.get(&place);
            Ok(Proxy {
                name: self.setting.name(Service::Proxy(place))?,
                silent: last.unwrap_or(&self.began).elapsed(),
                heard: last.is_some(),
                complete: record.and_then(|record| record.complete.get(&place).cloned()),
                strange: self.is_strange(place),
                other_keys: round.and_then(|(name, _)| self.comes_under(place, name)).map(|keys| keys.short()),
                without: record.is_some_and(|record| record.without.contains(&place)),
            })
        });
        all.collect()
    }
}

/// A moment, in UTC.
pub(super) fn moment(seconds: u64) -> String {
    clock::written(seconds).replace('T', " ").replace('Z', " UTC")
}

/// Formats a duration in words that fit a table.
pub(super) fn long(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}
