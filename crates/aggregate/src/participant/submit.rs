//! A participant submits its reports: in batches, each of which a proxy takes exactly once.

mod batch;
mod late;
mod proxies;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tacita_core::protocol::aggregate::{Entry, Params, RoundKeys};
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::hex::hex;
use tacita_node::base::text::{count, counted};
use tacita_node::base::usage;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::Reports;
use tacita_node::jobs::aggregate::reports::{ReportsInput, check_quality};
use tacita_node::table::read::source_name;
use tacita_node::watch::{ProgressSink, ProgressView, Snapshot, warn_own_user};

use self::proxies::Proxies;
use super::batches::Batches;
use crate::connect::ServiceClients;
use crate::setting::ServiceConfig;
use crate::transport::{ApiRequest, Client};
use crate::wire::reply::RefusalReason;
use crate::wire::rounds::{Open, check_name};
use crate::wire::same_keys::KeysFingerprint;
use crate::wire::service::Service;

/// Bytes of an answer.
const MAX_BYTES: usize = 1 << 16;

/// Maximum number of times that a participant may be sent on to a later round.
const MAX_ROUNDS: usize = 4;

/// Settings of a submission: the reports, the participant and the round.
pub struct Submitting {
    /// Setting of the job.
    pub setting: Arc<ServiceConfig>,
    /// Name of the participant.
    pub me: String,
    /// Identity of the participant.
    pub identity: Identity,
    /// Input with the reports.
    pub input: ReportsInput,
    /// Name of the round.
    pub round: String,
    /// Ask which batches are there already, and leave them out.
    pub resume: bool,
    /// Reports of a batch; absent: as many as a request holds.
    pub batch: Option<usize>,
    /// Time for which there may be no answer from any service.
    pub timeout: Duration,
    /// Time for which overloaded services are asked again.
    pub patience: Duration,
    /// A directory in which the services say where they listen.
    pub announce: Option<PathBuf>,
    /// Display for the progress of the submission.
    pub screen: Arc<dyn ProgressSink>,
    /// Handle that cancels the submission.
    pub cancel: Cancel,
}

impl Submitting {
    /// Returns the name by which the proxies know the participant, whatever their lists call it.
    fn reporter(&self) -> String {
        self.identity.fingerprint().to_string()
    }
}

/// A round that reports are made for.
struct Target {
    round: String,
    params: Params,
    keys: RoundKeys,
    fingerprint: KeysFingerprint,
    batches: Batches,
    size: usize,
}

/// Number of batches and reports that were submitted.
#[derive(Default)]
struct Sent {
    reports: u64,
    batches: u64,
    known: u64,
    /// Reports that were taken in the round that they were meant for, before it closed.
    in_time: u64,
}

struct Submission<'a> {
    told: &'a Submitting,
    proxies: Proxies,
    target: Target,
    rounds: Vec<String>,
    /// The fingerprints of their keys.
    keys: BTreeMap<String, KeysFingerprint>,
    /// Rounds that had closed, and may have some of it.
    passed: Vec<String>,
    sent: Sent,
}

/// Submits; the report of what was done.
///
/// Errors: [`Error::Input`] for what is wrong with the input, or is refused for good; [`Error::NotReady`] if the round
/// is closed and no other is open; those of connections.
pub fn submit(told: &Submitting) -> Result<Value> {
    let began = Instant::now();
    check_name(&told.round)?;
    let own = told.setting.own()?;
    check_quality(&own, &told.me, &told.input)?;
    let mut reports = Reports::open(&own, &told.me, &told.input)?;
    let reach = ServiceClients::new(&told.setting, &told.identity, told.announce.as_deref(), &told.cancel)?;
    let number = told.setting.count("proxy")?;
    if number == 0 {
        told.setting.peer(Service::Proxy(0))?;
    }
    // Each participant begins with a proxy of its own, so that all have as much to do.
    let first = blake3::hash(told.me.as_bytes()).as_bytes()[0] as usize % number;
    let proxy = |place: usize| {
        let client = reach.client(Service::Proxy((first + place) % number))?;
        // One that is stopped keeps its connection, and says nothing.
        Ok(if number > 1 { client.answered_within(told.timeout / 10) } else { client })
    };
    let proxies = (0..number).map(proxy);
    let mut proxies = Proxies::new(proxies.collect::<Result<_>>()?);
    let mut passed = Vec::new();
    let target = reach_round(told, &mut proxies, told.round.clone(), &mut passed)?;
    let rounds = vec![target.round.clone()];
    let keys = [(target.round.clone(), target.fingerprint)].into();
    let mut submission = Submission { told, proxies, rounds, keys, passed, target, sent: Sent::default() };
    let mut display = told.screen.open(None);
    let mut pending: Vec<Entry> = Vec::new();
    let (mut place, mut before) = (0, 0);
    show(&mut *display, (reports.progress().0, before), &reach);
    loop {
        let read = reports.next_batch()?;
        let (whole, now) = reports.progress();
        let ended = read.is_none();
        pending.extend(read.into_iter().flatten().map(|report| Entry { key: report.key, value: report.value }));
        while pending.len() >= submission.target.size || (ended && !pending.is_empty()) {
            let size = submission.target.size.min(pending.len());
            let batch: Vec<Entry> = pending.drain(..size).collect();
            submission.give(place, &batch)?;
            place += 1;
            // What was read and has not been given is not done.
            let part = (now - before.min(now)) * size as u64 / (size + pending.len()) as u64;
            before = before.min(now) + part;
            show(&mut *display, (whole, before), &reach);
        }
        if ended {
            break;
        }
    }
    let warnings = reports.warnings()?;
    drop(display);
    warnings.iter().for_each(warn_own_user);
    let (rows, sent) = (reports.counts(), &submission.sent);
    match sent.reports {
        0 if sent.in_time > 0 => (),
        0 => tracing::warn!("{} has no reportable rows: nothing was submitted", source_name(&told.input.path)),
        _ => {
            tracing::info!("submitted {} to round {}", counted(sent.reports, "report"), submission.rounds.join(" and "))
        }
    }
    if sent.in_time > 0 {
        tracing::info!(
            "{} had been taken in round {} before it closed: they count there, and in no other",
            counted(sent.in_time, "report"),
            told.round
        );
    } else if sent.known > 0 {
        tracing::info!(
            "{} of it had been there before: what is submitted again counts once",
            counted(sent.known, "batch")
        );
    }
    if rows.nulls > 0 {
        tracing::info!("{} without a key or value: left out", counted(rows.nulls as u64, "row"));
    }
    Ok(json!({
        "job": "aggregate",
        "id": told.setting.spec.id,
        "party": told.me,
        "version": env!("CARGO_PKG_VERSION"),
        "rounds": submission.rounds,
        "keys": submission.keys,
        "rows": { "read": rows.read, "nulls": rows.nulls, "unreadable": rows.unreadable, "duplicates": rows.duplicates, "items": rows.items },
        "submitted": { "reports": sent.reports, "batches": sent.batches, "known": sent.known, "in_time": sent.in_time },
        "bytes": { "sent": reach.traffic.sent(), "received": reach.traffic.received() },
        "tls": reach.traffic.tls(),
        "seconds": { "total": usage::round(began.elapsed()) },
        "cpu_seconds": usage::round(usage::cpu_time()),
        "peak_memory": usage::peak_memory(),
    }))
}

fn show(display: &mut dyn ProgressView, (whole, done): (Option<u64>, u64), reach: &ServiceClients) {
    let (sent, received) = (reach.traffic.sent(), reach.traffic.received());
    display.show(&Snapshot { phase: "submitting".into(), done, total: whole.unwrap_or(0), sent, received });
}

/// Finds a proxy that answers, and what it says of the round; or of the one that is open in its place. Those that have
/// closed are added to `passed`.
fn reach_round(told: &Submitting, proxies: &mut Proxies, round: String, passed: &mut Vec<String>) -> Result<Target> {
    let (mut round, mut asked) = (round, 0);
    loop {
        let ask = ApiRequest::get(format!("/v1/rounds/{round}"), MAX_BYTES);
        let answer = proxies.ask(told, |proxy, persistence| proxy.ask(&ask, persistence))?;
        let proxy = proxies.current();
        if answer.is_ok() {
            let open: Open = serde_json::from_slice(&answer.body).map_err(|_| Error::Protocol {
                peer: proxy.name().to_owned(),
                check: format!("its answer about round {round} cannot be read"),
            })?;
            if open.round != round {
                let check = format!("its answer is about another round than {round}");
                return Err(Error::Protocol { peer: proxy.name().to_owned(), check });
            }
            return Target::new(told, open, proxy.name());
        }
        asked += 1;
        let next = next_round(&answer, &round, proxy)?;
        if asked == MAX_ROUNDS {
            return Err(Error::NotReady(format!("{} names one closed round after the other", proxy.name())));
        }
        passed.push(std::mem::replace(&mut round, next));
    }
}

/// The round that is open in place of one that takes no reports.
fn next_round(answer: &crate::transport::ApiResponse, round: &str, proxy: &Client) -> Result<String> {
    let told = answer.told();
    let name = proxy.name();
    match (told.error, told.next) {
        (RefusalReason::Closed, Some(next)) if check_name(&next).is_ok() && next != round => {
            tracing::info!(
                "round {round} takes no reports ({}): what is not there yet goes to round {next}",
                told.message
            );
            Ok(next)
        }
        (RefusalReason::Closed, _) => Err(Error::NotReady(format!(
            "{name}: {}, and no other round is open: submit when the next one is",
            told.message
        ))),
        (RefusalReason::UnknownRound, next) => {
            // It may be one to come: what is for that one is for no other.
            let ask = match next.filter(|next| check_name(next).is_ok()) {
                Some(next) => format!("round {next} is open"),
                None => "ask the operator for its name".to_owned(),
            };
            Err(Error::Input(format!("{name}: round {round}: {}: {ask}", told.message)))
        }
        (RefusalReason::Busy | RefusalReason::NotYet | RefusalReason::OtherKeys, _) => {
            Err(Error::NotReady(format!("{name}: {}: submit again later, with --resume", told.message)))
        }
        (_, _) => Err(Error::Input(format!("{name} refuses the reports: {}", told.message))),
    }
}

impl Target {
    fn new(told: &Submitting, open: Open, proxy: &str) -> Result<Target> {
        let params = told.setting.params(&open.round)?;
        let keys = told.setting.round_keys(&params, &open, proxy, proxy)?;
        let most = told.setting.submission(&params);
        let size = match told.batch {
            None => most,
            Some(size) if (1..=most).contains(&size) => size,
            Some(size) => {
                return Err(Error::Input(format!("--batch {size}: use 1 to {most}, the most that a request holds")));
            }
        };
        let batches = Batches::new(&told.identity, &told.reporter(), &told.setting.agreement, &open.round);
        let fingerprint = KeysFingerprint::of(&params, &keys);
        Ok(Target { round: open.round, params, keys, fingerprint, batches, size })
    }
}

impl Submission<'_> {
    /// Has a batch taken, in this round or, if that has closed, in the next.
    fn give(&mut self, place: u64, entries: &[Entry]) -> Result<()> {
        loop {
            let target = &self.target;
            let name = target.batches.name(place, entries);
            let reports = entries.len() as u64;
            let path = format!("/v1/rounds/{}/reports/{}", target.round, hex(&name));
            if let Some(round) = self.was_taken(place, entries)? {
                self.sent.known += 1;
                *(if round == self.told.round { &mut self.sent.in_time } else { &mut self.sent.reports }) += reports;
                return Ok(());
            }
            if self.told.resume && self.is_known(&self.target.fingerprint.on(&path))? {
                self.sent.known += 1;
                self.sent.reports += reports;
                return Ok(());
            }
            let answer = if self.told.setting.is_interactive() {
                self.make(&path, &name, entries)?
            } else {
                self.send(&path, &name, entries)?
            };
            if answer.is_ok() {
                let taken: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                if taken["reports"].as_u64() != Some(reports) {
                    let check = format!("it does not confirm the {} of a batch", count(reports));
                    return Err(Error::Protocol { peer: self.proxies.current().name().to_owned(), check });
                }
                self.sent.known += u64::from(taken["known"].as_bool() == Some(true));
                self.sent.batches += 1;
                self.sent.reports += reports;
                return Ok(());
            }
            let round = self.target.round.clone();
            let next = next_round(&answer, &round, self.proxies.current())?;
            if self.rounds.len() == MAX_ROUNDS {
                return Err(Error::NotReady("one round closed after the other while this was submitted".into()));
            }
            // Size and place stay, so that what is submitted again is cut alike.
            let size = self.target.size;
            self.passed.push(round);
            self.target = reach_round(self.told, &mut self.proxies, next, &mut self.passed)?;
            self.target.size = size.min(self.target.size);
            self.rounds.push(self.target.round.clone());
            self.keys.insert(self.target.round.clone(), self.target.fingerprint);
        }
    }
}
