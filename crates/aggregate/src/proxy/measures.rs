//! Metrics of a proxy.

use std::sync::atomic::{AtomicU64, Ordering};

use tacita_serve::status::{Check, MetricsPage};

use super::{Proxy, lock};
use crate::metrics::{heard, rounds};
use crate::wire::rounds::RoundState;

impl Proxy {
    /// Adds numbers to a page.
    pub(super) fn measure(&self, page: &mut MetricsPage) {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let done = &self.done;
        page.one("reports_accepted_total", "counter", "Reports that were accepted.", of(&done.accepted));
        page.one("batches_repeated_total", "counter", "Batches that were there already.", of(&done.repeated));
        page.one("batches_refused_total", "counter", "Batches that were refused for good.", of(&done.refused));
        page.one("interactions_broken_total", "counter", "Times that making reports came to no end.", of(&done.broken));
        page.one("entries_sent_total", "counter", "Entries that the database has taken.", of(&done.sent));
        let all: Vec<_> = lock(&self.rounds).values().cloned().collect();
        let (mut waiting, mut outgoing, mut bytes, mut oldest) = (0, 0, 0, None);
        for round in all {
            let status = round.queue.status();
            waiting += status.waiting;
            outgoing += status.outgoing;
            bytes += status.bytes;
            oldest = round.queue.oldest().into_iter().chain(oldest).min();
        }
        page.one("queue_reports", "gauge", "Reports that wait for a shuffle.", waiting);
        page.one("queue_batches", "gauge", "Shuffled batches that the database has not taken yet.", outgoing);
        page.one("queue_bytes", "gauge", "Bytes of the queues of all rounds on disk.", bytes);
        page.one("queue_limit_bytes", "gauge", "Bytes that the queue of one round may take.", self.queue_bytes);
        let age = oldest.map_or(0.0, |since| since.elapsed().unwrap_or_default().as_secs_f64());
        page.one(
            "queue_oldest_report_age_seconds",
            "gauge",
            "How long the oldest report has waited; 0 if none does.",
            age,
        );
        rounds(page, lock(&self.told).values().map(|status| Some(status.state)));
    }

    /// Returns the checks of the conditions under which it can take reports and send them.
    pub(super) fn look_after(&self) -> Vec<Check<'_>> {
        vec![
            Check::new("database", || heard(self.database.current().name(), self.database.silent())),
            Check::new("state", || {
                let strange: Vec<_> = lock(&self.strange).keys().cloned().collect();
                strange.iter().find_map(|round| self.is_elsewhere(round)).map_or(Ok(()), Err)
            }),
            Check::new("keys", || {
                let rounds: Vec<_> = lock(&self.rounds).values().cloned().collect();
                rounds.iter().find_map(|round| round.differs()).map_or(Ok(()), Err)
            }),
            Check::new("secrets", || {
                let told = lock(&self.told);
                let open = told.values().filter(|status| status.state == RoundState::Open);
                let missing: Vec<_> =
                    open.map(|status| &status.round).filter(|name| self.round(name).is_none()).collect();
                match missing.first() {
                    None => Ok(()),
                    Some(round) => Err(format!("round {round} is open, and its secrets are not here")),
                }
            }),
            Check::new("queue", || {
                let rounds: Vec<_> = lock(&self.rounds).values().cloned().collect();
                match rounds.iter().find(|round| round.is_open() && round.queue.status().bytes >= self.queue_bytes) {
                    None => Ok(()),
                    Some(round) => Err(format!("the queue of round {} is full: allow more with --queue", round.name)),
                }
            }),
        ]
    }
}
