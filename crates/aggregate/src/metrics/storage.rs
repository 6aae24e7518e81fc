//! A storage whose work is timed, and whose failures are counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tacita_serve::status::{Durations, MetricsPage, labels};
use tacita_serve::sync::lock;

use crate::store::{BatchOrigin, GroupVisitor, Holder, Ingested, OpenedReport, RowId, Storage, Stored, Totals};
use crate::wire::batch::{BatchId, ClaimId};

/// A storage that notes how it does.
struct Timed {
    inner: Box<dyn Storage>,
    noted: Arc<Noted>,
}

/// Performance of a storage.
#[derive(Default)]
pub(crate) struct Noted {
    done: Mutex<BTreeMap<&'static str, Done>>,
    taken: Mutex<Taken>,
}

#[derive(Clone, Copy, Default)]
struct Done {
    durations: Durations,
    failed: u64,
}

/// Number of items that were brought to the storage.
#[derive(Clone, Copy, Default)]
struct Taken {
    new: u64,
    known: u64,
    conflicts: u64,
    sealed: u64,
    reports: u64,
}

/// The same storage, and where it notes how it does.
pub(crate) fn timed(inner: Box<dyn Storage>) -> (Box<dyn Storage>, Arc<Noted>) {
    let noted = Arc::<Noted>::default();
    (Box::new(Timed { inner, noted: noted.clone() }), noted)
}

impl Noted {
    /// Adds its numbers to a page.
    pub(crate) fn tell(&self, page: &mut MetricsPage) {
        let done = lock(&self.done).clone();
        let durations = done.iter().map(|(operation, one)| (vec![("operation", *operation)], one.durations));
        page.durations(
            "tacita_storage_duration_seconds",
            "Time that the storage took; of groups, with what is done with each row.",
            &durations.collect::<Vec<_>>(),
        );
        let failed = done.iter().map(|(operation, one)| (labels(&[("operation", operation)]), one.failed));
        page.all(
            "tacita_storage_errors_total",
            "counter",
            "Times that the storage failed.",
            &failed.collect::<Vec<_>>(),
        );
        let taken = *lock(&self.taken);
        let outcome = |word: &str| labels(&[("outcome", word)]);
        let batches = [
            (outcome("new"), taken.new),
            (outcome("known"), taken.known),
            (outcome("conflict"), taken.conflicts),
            (outcome("sealed"), taken.sealed),
        ];
        page.tell("batches_total", "counter", "Batches that proxies have brought.", &batches);
        page.one("reports_total", "counter", "Reports in batches that were new.", taken.reports);
    }
}

impl Timed {
    fn time<T>(&self, operation: &'static str, work: impl FnOnce(&dyn Storage) -> Result<T>) -> Result<T> {
        let began = Instant::now();
        let result = work(&*self.inner);
        let mut done = lock(&self.noted.done);
        let one = done.entry(operation).or_default();
        one.durations.add(began.elapsed());
        // An end that somebody asked for is no failure of the storage's.
        one.failed += u64::from(result.as_ref().is_err_and(|error| !matches!(error, Error::Interrupted)));
        result
    }
}

impl Storage for Timed {
    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn ingest_from(
        &self,
        origin: BatchOrigin,
        round: &str,
        batch: &BatchId,
        rows: &[OpenedReport],
    ) -> Result<Ingested> {
        let ingested = self.time("ingest", |inner| inner.ingest_from(origin, round, batch, rows))?;
        let mut taken = lock(&self.noted.taken);
        match ingested {
            Ingested::New => {
                taken.new += 1;
                taken.reports += rows.len() as u64;
            }
            Ingested::Known => taken.known += 1,
            Ingested::Conflict => taken.conflicts += 1,
            Ingested::Sealed => taken.sealed += 1,
        }
        Ok(ingested)
    }

    fn groups(&self, round: &str, after: Option<&RowId>, each: &mut GroupVisitor<'_>) -> Result<()> {
        self.time("groups", |inner| inner.groups(round, after, each))
    }

    fn entries(&self, round: &str, row: &RowId, limit: usize) -> Result<Option<Vec<Stored>>> {
        self.time("entries", |inner| inner.entries(round, row, limit))
    }

    fn claim(&self, round: &str, owner: u32, handed: &[u32], claims: &[ClaimId]) -> Result<Option<Vec<bool>>> {
        self.time("claim", |inner| inner.claim(round, owner, handed, claims))
    }

    fn totals(&self, round: &str) -> Result<Totals> {
        self.time("totals", |inner| inner.totals(round))
    }

    fn sent(&self, round: &str) -> Result<BTreeMap<u32, u64>> {
        self.time("sent", |inner| inner.sent(round))
    }

    fn seal(&self, round: &str) -> Result<()> {
        self.time("seal", |inner| inner.seal(round))
    }

    fn put(&self, round: &str, name: &str, value: &[u8]) -> Result<()> {
        self.time("put", |inner| inner.put(round, name, value))
    }

    fn get(&self, round: &str, name: &str) -> Result<Option<Vec<u8>>> {
        self.time("get", |inner| inner.get(round, name))
    }

    fn change(
        &self,
        round: &str,
        name: &str,
        expected: Option<&[u8]>,
        new: &[u8],
        beside: &[(&str, &[u8])],
    ) -> Result<bool> {
        self.time("change", |inner| inner.change(round, name, expected, new, beside))
    }

    fn versions(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>> {
        self.time("versions", |inner| inner.versions(name))
    }

    fn rounds(&self) -> Result<Vec<String>> {
        self.time("rounds", |inner| inner.rounds())
    }

    fn remove(&self, round: &str) -> Result<()> {
        self.time("remove", |inner| inner.remove(round))
    }

    fn clear(&self, round: &str, name: &str, value: &[u8]) -> Result<()> {
        self.time("clear", |inner| inner.clear(round, name, value))
    }

    fn lease(&self, name: &str, holder: &Holder, time: Duration) -> Result<bool> {
        self.time("lease", |inner| inner.lease(name, holder, time))
    }
}
