//! Monitoring of a role: numbers, and whether it can do its work.
//!
//! Labels are words of this program, patterns of routes, and places of services. No key, value, name of a round or of a
//! participant is among them: whoever reads metrics is not one of those who may know who reports.

mod requests;
mod storage;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::free_bytes;
use tacita_node::base::text::{bytes, duration};
use tacita_node::identity::Identity;
use tacita_serve::clock;
use tacita_serve::status::{Check, MetricsPage, Readiness, Watched, labels, seconds, value};

pub(super) use self::requests::{Requests, watched};
pub(super) use self::storage::{Noted, timed};
use crate::role::Role;
use crate::transport::{Contact, SharedTraffic};
use crate::wire::rounds::RoundState;
use crate::wire::service::{Service, file};

/// Interval at which a role is checked for being able to do its work.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes that have to be free where a role keeps its state.
const MIN_FREE_BYTES: u64 = 64 << 20;

/// For how long those whom a role needs may be silent.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// A role as whoever watches it sees it.
pub(super) struct Watch<R> {
    pub(super) role: Arc<R>,
    pub(super) identity: Identity,
    pub(super) state: PathBuf,
    pub(super) traffic: SharedTraffic,
    pub(super) requests: Arc<Requests>,
    /// Services that the role dials.
    pub(super) dialled: Vec<(Service, Arc<Contact>)>,
    /// The registry, if there is one.
    pub(super) registry: Option<Arc<Contact>>,
    pub(super) readiness: Readiness,
    pub(super) cancel: Cancel,
}

impl<R: Role> Watch<R> {
    /// Looks again and again whether the role can do its work, until it is to end.
    pub(super) fn keep(&self) {
        let mut checks = self.role.checks();
        checks.push(Check::new("disk", || match free_bytes(&self.state) {
            Some(free) if free < MIN_FREE_BYTES => {
                Err(format!("{}: {} free, and {} have to be", self.state.display(), bytes(free), bytes(MIN_FREE_BYTES)))
            }
            _ => Ok(()),
        }));
        checks.push(Check::new("certificate", || {
            let now = i64::try_from(clock::now()).unwrap_or(i64::MAX);
            let dates = self.identity.certificate().check_dates(now);
            dates.map_err(|error| format!("{error}: `tacita identity renew`, and start again"))
        }));
        while !self.cancel.is_cancelled() {
            self.readiness.look(&checks);
            let mut rested = Duration::ZERO;
            while rested < POLL_INTERVAL && !self.cancel.is_cancelled() {
                std::thread::sleep(POLL_INTERVAL / 10);
                rested += POLL_INTERVAL / 10;
            }
        }
    }

    fn common(&self, page: &mut MetricsPage) {
        let built = labels(&[("role", self.role.word()), ("version", env!("CARGO_PKG_VERSION"))]);
        page.all("tacita_build_info", "gauge", "The program that runs; always 1.", &[(built, 1)]);
        let ready = self.readiness.by_check().into_iter();
        let ready: Vec<_> = ready.map(|(check, well)| (labels(&[("check", check)]), u8::from(well))).collect();
        page.all("tacita_ready", "gauge", "Whether what a check of /readyz looks at is well.", &ready);
        self.requests.tell(page);
        let (refused, busy) = (self.traffic.refused(), self.traffic.turned_away());
        page.all(
            "tacita_connections_refused_total",
            "counter",
            "Connections of strangers, or that came to nothing.",
            &value(refused),
        );
        page.all(
            "tacita_requests_turned_away_total",
            "counter",
            "Requests that came while too much was going on.",
            &value(busy),
        );
        page.all("tacita_sent_bytes_total", "counter", "Bytes sent, TLS included.", &value(self.traffic.sent()));
        page.all(
            "tacita_received_bytes_total",
            "counter",
            "Bytes received, TLS included.",
            &value(self.traffic.received()),
        );
        let mut heard = self.requests.heard();
        for (service, contact) in &self.dialled {
            let last = contact.last();
            let known = heard.entry(*service).or_default();
            *known = last.max(*known);
        }
        let heard = heard.into_iter().filter_map(|(service, moment)| Some((service, moment?)));
        let heard: Vec<_> = heard.map(|(service, at)| (labels(&[("peer", &file(service))]), seconds(at))).collect();
        page.all("tacita_peer_last_contact_timestamp_seconds", "gauge", "When another role was heard of last.", &heard);
        if let Some(last) = self.registry.as_ref().and_then(|contact| contact.last()) {
            page.all(
                "tacita_registry_last_contact_timestamp_seconds",
                "gauge",
                "When the registry has answered last.",
                &value(seconds(last)),
            );
        }
        let expires = self.identity.certificate().not_after();
        page.all(
            "tacita_certificate_expiry_timestamp_seconds",
            "gauge",
            "When this role's certificate expires.",
            &value(expires),
        );
        if let Some(free) = free_bytes(&self.state) {
            page.all("tacita_disk_free_bytes", "gauge", "Bytes free where the state is.", &value(free));
        }
        page.process();
    }
}

impl<R: Role + 'static> Watched for Watch<R> {
    fn health(&self) -> (bool, String) {
        if self.cancel.is_cancelled() { (false, "ending\n".into()) } else { (true, "ok\n".into()) }
    }

    fn ready(&self) -> (bool, Value) {
        let (ready, mut told) = self.readiness.report();
        let ending = self.cancel.is_cancelled();
        if ending {
            told["ready"] = false.into();
            told["why"] = "ending".into();
        }
        (ready && !ending, told)
    }

    fn metrics(&self) -> String {
        let mut page = MetricsPage::new(self.role.word());
        self.common(&mut page);
        self.role.measures(&mut page);
        page.text()
    }
}

/// Writes the number of rounds in each state; `None` is one that changes at this moment.
pub(super) fn rounds(page: &mut MetricsPage, states: impl IntoIterator<Item = Option<RoundState>>) {
    const ALL: [RoundState; 7] = [
        RoundState::Open,
        RoundState::Closed,
        RoundState::Counted,
        RoundState::Revealing,
        RoundState::Revealed,
        RoundState::Failed,
        RoundState::Removed,
    ];
    let mut counts: BTreeMap<&str, u64> = ALL.iter().map(|state| (state.name(), 0)).collect();
    counts.insert("changing", 0);
    states.into_iter().for_each(|state| *counts.entry(state.map_or("changing", RoundState::name)).or_default() += 1);
    let counts: Vec<_> = counts.into_iter().map(|(state, count)| (labels(&[("state", state)]), count)).collect();
    page.all("tacita_rounds", "gauge", "Rounds by how far they are.", &counts);
}

/// Whether somebody was heard of a short while ago.
pub(super) fn heard(name: &str, silent: Option<Duration>) -> Result<(), String> {
    match silent {
        None => Err(format!("{name} was not heard of yet")),
        Some(silent) if silent > SILENCE => Err(format!("{name} is silent for {}", duration(silent))),
        Some(_) => Ok(()),
    }
}
