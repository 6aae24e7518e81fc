//! Jobs that are spread over many machines: what each of them does, and the driver's part of what the parties say to
//! each other.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use tacita_core::channel::Channel;
use tacita_core::protocol::rules::itemsets::Itemsets;
use tacita_core::{Error, ErrorKind};
use tacita_node::agreement::{Answer, JobSpec};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::scratch;
use tacita_node::distributed::{self, DriverMessage, MAX_OPENINGS, Meet, TableBlock};
use tacita_node::govern::account::{Account, AccountedOutcome, Governance};
use tacita_node::jobs::intersect::pooled;
use tacita_node::run::addresses::meeting;
use tacita_node::table::RowCounts;
use zeroize::Zeroizing;

use crate::arrow::{self, ArrowTable};
use crate::data::Data;
use crate::errors::{Failure, raise};
use crate::identity::Identity;
use crate::log::RunLog;
use crate::outcome::Outcome;
use crate::run::seconds;
use crate::spec::Spec;
use crate::work::{Shown, cancels, wait};

/// Refuses a job that cannot be spread over many machines.
#[pyfunction]
pub fn can_spread(py: Python<'_>, spec: &Spec, party: &str) -> PyResult<()> {
    let can =
        spec.job.party(party).and_then(|_| spec.job.check_run()).and_then(|()| distributed::in_buckets(&spec.job));
    can.map(drop).map_err(|error| raise(py, error))
}

/// Returns the default number of buckets.
#[pyfunction]
pub fn usual_buckets(rows: u64, slots: usize) -> usize {
    distributed::usual_buckets(rows, slots)
}

/// Returns the number of buckets, given the number asked for and the parties' numbers of rows.
#[pyfunction]
pub fn buckets_for(spec: &Spec, asked: usize, rows: Vec<u64>) -> usize {
    distributed::buckets_for(&spec.job, asked, &rows)
}

/// The rows of a bucket where rows go by their position: the first, and the one after the last.
#[pyfunction]
pub fn bucket_range(bucket: usize, buckets: usize, rows: u64) -> (u64, u64) {
    let range = TableBlock::range(bucket, buckets.max(1), rows);
    (range.start, range.end)
}

/// Returns the number of rows that a bucket is padded to, given a party's number of rows and the number of parties.
#[pyfunction]
pub fn bucket_bound(rows: u64, buckets: usize, parties: usize) -> u64 {
    distributed::bound(rows, buckets.max(1), parties)
}

/// A block with its keys; as JSON how many rows it has of which kind, and what is known of it; its digest; and what was
/// warned of.
type ReadBlock = (ArrowTable, String, String, Vec<u8>, Vec<String>);

/// Reads a part of a party's table: its rows with their keys, what became of the rows and what they say of the others
/// as JSON, and their digest.
#[pyfunction]
pub fn read_block(
    py: Python<'_>,
    spec: &Spec,
    party: String,
    data: &Bound<'_, PyAny>,
    allow_unreadable: bool,
) -> PyResult<ReadBlock> {
    let (data, job) = (Data::of(data, &party)?, spec.job.clone());
    let told = RunLog::of(&job.id, &party);
    let scratch = scratch().map_err(|error| raise(py, error))?;
    let place = scratch.path().to_owned();
    let read = move || {
        let source = data.source(&job, &party, allow_unreadable, &place)?;
        let (table, allow_unreadable) =
            source.table()?.ok_or_else(|| Error::Input(format!("{party}: give one table, or one file, at a time")))?;
        let facts = job.distributed()?.facts(&job, &party, &table)?;
        Ok::<_, Failure>((TableBlock::read(&job, &party, &table, allow_unreadable)?, facts))
    };
    let work = move || told.within(read).map(|read| (read, told.warnings()));
    let ((block, facts), warnings) = wait(py, || (), &Shown::default(), None, work)?;
    let counts = json!(block.counts).to_string();
    Ok((ArrowTable::new(block.schema, block.batches), counts, facts.to_string(), block.digest.to_vec(), warnings))
}

/// Sorts the rows of a block by their bucket. Returns them without keys, and where each bucket begins.
#[pyfunction]
pub fn scatter(
    py: Python<'_>,
    block: &Bound<'_, PyAny>,
    item_key: [u8; 32],
    buckets: usize,
) -> PyResult<(ArrowTable, Vec<usize>)> {
    let table = arrow::import(block, "block")?
        .ok_or_else(|| raise(py, Error::Internal("rows are to be spread that are no table".into())))?;
    let scattered = py.detach(|| TableBlock::scatter(table.schema(), table.batches(), &item_key, buckets));
    let (batch, starts): (RecordBatch, _) = scattered.map_err(|error| raise(py, error))?;
    Ok((ArrowTable::new(batch.schema(), vec![batch]), starts))
}

/// Makes tags of the elements of a part of a pool, which is in this directory.
#[pyfunction]
pub fn open_pool(py: Python<'_>, bucket: &Spec, party: &str, place: PathBuf, part: usize) -> PyResult<()> {
    py.detach(|| pooled::open(&bucket.job, party, &place, part)).map_err(|error| raise(py, error))
}

/// Returns the number of the part's elements that the other party has, too.
#[pyfunction]
pub fn match_pool(py: Python<'_>, bucket: &Spec, party: &str, place: PathBuf, part: usize) -> PyResult<u64> {
    py.detach(|| pooled::matches(&bucket.job, party, &place, part)).map_err(|error| raise(py, error))
}

/// Commitment to all rows of a party.
#[pyclass(module = "tacita._tacita")]
#[derive(Default)]
pub struct Commitment(distributed::BlockCommitment);

#[pymethods]
impl Commitment {
    #[new]
    fn new() -> Commitment {
        Commitment::default()
    }

    /// Takes the digest of the next block.
    fn add(&mut self, digest: &[u8]) {
        self.0.add(digest);
    }
}

/// Storage in which a driver keeps its run, until it is closed.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct Work(Arc<Mutex<Option<distributed::DriverRun>>>);

impl Work {
    /// Does something with it, with the interpreter released: whoever has it meanwhile may log, and logging needs the
    /// interpreter.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut distributed::DriverRun) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut work = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            work.as_mut().ok_or_else(closed).and_then(what)
        });
        done.map_err(|error| raise(py, error))
    }
}

fn closed() -> Error {
    Error::Internal("the work is closed".into())
}

#[pymethods]
impl Work {
    #[staticmethod]
    fn open(
        py: Python<'_>,
        directory: PathBuf,
        spec: &Spec,
        party: &str,
        identity: &Identity,
        resume: bool,
    ) -> PyResult<Work> {
        let identity = identity.inner();
        let work = py.detach(|| distributed::DriverRun::open(&directory, &spec.job, party, &identity, resume));
        work.map(|work| Work(Arc::new(Mutex::new(Some(work))))).map_err(|error| raise(py, error))
    }

    /// Whether a run was agreed on before.
    #[getter]
    fn has_run(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |work| Ok(work.has_run()))
    }

    /// Name of the run in the place where its results are kept.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |work| Ok(work.name()))
    }

    /// Notes where results of buckets are kept, before the run is agreed on.
    fn keep_at(&self, py: Python<'_>, place: String) -> PyResult<()> {
        self.with(py, |work| work.keep_at(place))
    }

    /// Place that `keep_at` has noted.
    #[getter]
    fn place(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |work| Ok(work.place().map(str::to_owned)))
    }

    /// A secret of the run, of this party alone.
    #[getter]
    fn secret(&self, py: Python<'_>) -> PyResult<[u8; 32]> {
        self.with(py, |work| work.secret().map(|secret| *secret))
    }

    /// Returns the number of times that something of all buckets together was opened.
    #[getter]
    fn opened(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |work| Ok(work.opened()))
    }

    /// Number of answered buckets that were begun again.
    #[getter]
    fn repeated(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |work| Ok(work.repeated()))
    }

    /// Notes that one is begun again that was answered. Returns how many were, this one too.
    fn repeat(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, distributed::DriverRun::repeat)
    }

    /// Count over all buckets together, if the run has come so far.
    #[getter]
    fn counted(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |work| Ok(work.counted()))
    }

    /// Keeps what was counted.
    fn count(&self, py: Python<'_>, count: u64) -> PyResult<()> {
        self.with(py, |work| work.count(count))
    }

    /// Keeps what the party says of the run, which needs the others no more.
    fn end(&self, py: Python<'_>, report: String) -> PyResult<()> {
        self.with(py, |work| work.end(report))
    }

    /// Report that `end` has kept, if the run has come so far.
    #[getter]
    fn ended(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |work| Ok(work.ended().map(str::to_owned)))
    }

    /// Removes it, now that the run has succeeded or nothing of it is to be kept.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |work| work.clear())
    }

    /// Leaves it to others.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

/// Account of a driver's run: entered once in the ledger, however often the drivers meet.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct RunAccount {
    account: Arc<Account>,
    has_agreed: Arc<AtomicBool>,
}

#[pymethods]
impl RunAccount {
    /// Asks the policy, and enters the run; before anything of it is read or sent.
    #[staticmethod]
    fn open(py: Python<'_>, spec: &Spec, party: &str, identity: &Identity) -> PyResult<RunAccount> {
        let governance = Governance { home: identity.home(), ..Governance::default() };
        let why = "they are on many machines";
        let opened = py.detach(|| governance.open_uncompared(&spec.job, party, &identity.inner(), &[], why));
        let account = opened.map_err(|error| raise(py, error))?;
        Ok(RunAccount { account: Arc::new(account), has_agreed: Arc::default() })
    }

    /// Ends the entry with the report, or with the reason why there is none.
    #[pyo3(signature = (*, report=None, why=None))]
    fn end(&self, py: Python<'_>, report: Option<&str>, why: Option<String>) -> PyResult<()> {
        let outcome = report.map(serde_json::from_str::<AccountedOutcome>).transpose();
        let outcome = outcome.map_err(|error| raise(py, Error::Internal(error.to_string())))?;
        let failed = Error::Input(why.unwrap_or_default());
        py.detach(|| self.account.end(outcome.ok_or(&failed))).map_err(|error| raise(py, error))
    }
}

/// A driver that has met the others.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct Drivers {
    drivers: Arc<Mutex<Option<distributed::DriverMesh>>>,
    cancel: Cancel,
    facts: Facts,
}

/// The texts of files of shares.
fn read_all(files: &[PathBuf]) -> Result<Vec<Zeroizing<String>>, Error> {
    let read = |path: &PathBuf| {
        let failed = |error| Error::Input(format!("{}: cannot be read: {error}", path.display()));
        std::fs::read_to_string(path).map(Zeroizing::new).map_err(failed)
    };
    files.iter().map(read).collect()
}

/// Facts that were settled.
struct Facts {
    buckets: usize,
    remaining: Vec<usize>,
    sizes: BTreeMap<String, u64>,
    bounds: BTreeMap<String, u64>,
    protocol: &'static str,
    session: String,
    item_key: [u8; 32],
    leads: bool,
}

#[pymethods]
impl Drivers {
    /// Meets the drivers of the other parties. Times are in seconds.
    #[staticmethod]
    #[pyo3(signature = (spec, party, identity, work, account, *, rows, commitment, buckets, finished, listen, timeout,
        patience))]
    #[expect(clippy::too_many_arguments, reason = "the package names each of them")]
    fn meet(
        py: Python<'_>,
        spec: &Spec,
        party: String,
        identity: &Identity,
        work: &Work,
        account: &RunAccount,
        rows: &str,
        commitment: &Commitment,
        buckets: usize,
        finished: Vec<usize>,
        listen: Option<String>,
        timeout: f64,
        patience: f64,
    ) -> PyResult<Drivers> {
        let (account, has_agreed) = (account.account.clone(), account.has_agreed.clone());
        let (job, identity, cancel, kept) = (spec.job.clone(), identity.inner(), Cancel::default(), work.0.clone());
        let (digest, ends) = (commitment.0.digest(), cancel.clone());
        let times = seconds("timeout", timeout).and_then(|timeout| Ok([timeout, seconds("patience", patience)?]));
        let [timeout, patience] = times.map_err(|error| raise(py, error))?;
        let rows: RowCounts =
            serde_json::from_str(rows).map_err(|error| raise(py, Error::Internal(error.to_string())))?;
        let work = move || {
            let meeting = meeting(&job, &party, listen)?;
            let (me, cancel) = (party.as_str(), ends);
            let meet = Meet {
                job: &job,
                me,
                identity: &identity,
                meeting,
                rows,
                digest,
                buckets,
                finished,
                timeout,
                patience,
                cancel,
            };
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let met = distributed::meet(&meet, kept.as_mut().ok_or_else(closed)?)?;
            if !has_agreed.swap(true, Ordering::Relaxed) {
                account.agreed_without_receipts()?;
            }
            Ok::<_, Failure>(met)
        };
        let drivers = wait(py, cancels(&cancel), &Shown::default(), None, work)?;
        let facts = Facts {
            buckets: drivers.buckets(),
            remaining: drivers.remaining().to_vec(),
            sizes: drivers.sizes().clone(),
            bounds: drivers.bounds().clone(),
            protocol: drivers.protocol().name(),
            session: drivers.session(),
            item_key: drivers.item_key(),
            leads: drivers.leads(),
        };
        Ok(Drivers { drivers: Arc::new(Mutex::new(Some(drivers))), cancel, facts })
    }

    #[getter]
    fn buckets(&self) -> usize {
        self.facts.buckets
    }

    #[getter]
    fn remaining(&self) -> Vec<usize> {
        self.facts.remaining.clone()
    }

    #[getter]
    fn sizes(&self) -> BTreeMap<String, u64> {
        self.facts.sizes.clone()
    }

    #[getter]
    fn bounds(&self) -> BTreeMap<String, u64> {
        self.facts.bounds.clone()
    }

    #[getter]
    fn protocol(&self) -> &'static str {
        self.facts.protocol
    }

    #[getter]
    fn session(&self) -> &str {
        &self.facts.session
    }

    /// Secret of the parties.
    #[getter]
    fn item_key(&self) -> [u8; 32] {
        self.facts.item_key
    }

    #[getter]
    fn leads(&self) -> bool {
        self.facts.leads
    }

    /// One turn: lists of words, as JSON, by the party that they are for; likewise what comes back, by whom it is from.
    fn turn(&self, py: Python<'_>, words: BTreeMap<String, String>) -> PyResult<BTreeMap<String, String>> {
        let parse = |(name, text): (String, String)| match serde_json::from_str::<Vec<DriverMessage>>(&text) {
            Ok(words) => Ok((name, words)),
            Err(error) => Err(raise(py, Error::Internal(format!("words of drivers: {error}")))),
        };
        let words = words.into_iter().map(parse).collect::<PyResult<BTreeMap<_, _>>>()?;
        let heard = self.with(py, move |drivers| drivers.turn(&words))?;
        Ok(heard.into_iter().map(|(name, words)| (name, json!(words).to_string())).collect())
    }

    /// Adds up the shares that buckets have left, in the order of the buckets; what has come of the job, with this
    /// report.
    fn add_up(&self, py: Python<'_>, spec: &Spec, work: &Work, files: Vec<PathBuf>, report: &str) -> PyResult<Outcome> {
        let (job, work) = (spec.job.clone(), work.0.clone());
        let report = serde_json::from_str(report).map_err(|error| raise(py, Error::Internal(error.to_string())))?;
        self.with(py, move |drivers| {
            let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = drivers.add_up(&read_all(&files)?, work.as_mut().ok_or_else(closed)?)?;
            Outcome::with(&job, report, answer)
        })
    }

    /// Whether a count was told by the receiver: both say whether it has one already, which a connection that was lost
    /// has left it with.
    fn has_counted(&self, py: Python<'_>, work: &Work) -> PyResult<bool> {
        let counted = work.counted(py)?.is_some();
        self.with(py, move |drivers| {
            drivers.with_peer(|job, me, channel| pooled::has_counted(job, me, counted, channel))
        })
    }

    /// Sends the pool of a count, from the files that buckets have left.
    fn send_pool(&self, py: Python<'_>, work: &Work, files: Vec<PathBuf>) -> PyResult<()> {
        let (bounds, work) = (self.facts.bounds.clone(), work.0.clone());
        self.with(py, move |drivers| {
            let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
            work.as_mut().ok_or_else(closed)?.note_opening("pool", MAX_OPENINGS)?;
            drivers.with_peer(|job, _, channel| pooled::send(job, &bounds, &files, channel))
        })
    }

    /// Receives it, into files of this directory. Returns how many parts it has.
    fn receive_pool(&self, py: Python<'_>, place: PathBuf) -> PyResult<usize> {
        let (bounds, buckets) = (self.facts.bounds.clone(), self.facts.buckets);
        self.with(py, move |drivers| {
            drivers.with_peer(|job, _, channel| pooled::receive(job, &bounds, buckets, &place, channel))
        })
    }

    /// Returns the receiver's outcome of a count, and tells it to the sender if the sender learns.
    fn tell_count(&self, py: Python<'_>, spec: &Spec, count: u64, report: &str) -> PyResult<Outcome> {
        self.count_with(py, spec, report, move |job, me, sizes, channel| pooled::tell(job, me, sizes, count, channel))
    }

    /// Returns the sender's outcome of a count.
    fn hear_count(&self, py: Python<'_>, spec: &Spec, report: &str) -> PyResult<Outcome> {
        self.count_with(py, spec, report, pooled::hear)
    }

    /// Begins to count, with the names of the own items and in how many of all rows each is. Returns the names of those
    /// that are still of interest, by their numbers.
    fn begin_levels(
        &self,
        py: Python<'_>,
        rows: u64,
        runs: Vec<String>,
        names: Vec<String>,
        counts: Vec<u64>,
        work: &Work,
    ) -> PyResult<Vec<String>> {
        let (items, work) = (names.into_iter().zip(counts).collect(), work.0.clone());
        self.with(py, move |drivers| {
            let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
            drivers.begin_levels(rows, runs, items, work.as_mut().ok_or_else(closed)?)?;
            Ok(drivers.names().to_vec())
        })
    }

    /// Returns the itemsets to be counted next, for [`count_itemsets`] and `Spec.bucket`: the number of own itemsets,
    /// the number of both parties' itemsets, and all of them.
    fn next_level<'py>(&self, py: Python<'py>) -> PyResult<Option<(usize, usize, Bound<'py, PyBytes>)>> {
        let wanted = self.with(py, |drivers| drivers.step(|levels, channel| levels.next(channel)))?;
        Ok(wanted.map(|wanted| {
            let own = wanted.own.iter().map(Itemsets::len).sum();
            (own, wanted.mixed.len(), PyBytes::new(py, &wanted.to_bytes()))
        }))
    }

    /// Takes the counts of the own itemsets.
    fn take_own(&self, py: Python<'_>, counts: Vec<u32>) -> PyResult<()> {
        self.with(py, move |drivers| drivers.step(|levels, channel| levels.take_own(&counts, channel)))
    }

    /// Takes the files that buckets have left, in their order.
    fn take_mixed(&self, py: Python<'_>, files: Vec<PathBuf>) -> PyResult<()> {
        self.with(py, move |drivers| {
            let shares = read_all(&files)?;
            drivers.step(|levels, channel| levels.take_mixed(&shares, channel))
        })
    }

    /// Returns the final outcome, with this report.
    fn finish_levels(&self, py: Python<'_>, spec: &Spec, report: &str) -> PyResult<Outcome> {
        let report = serde_json::from_str(report).map_err(|error| raise(py, Error::Internal(error.to_string())))?;
        let job = spec.job.clone();
        self.with(py, move |drivers| Outcome::with(&job, report, drivers.finish_levels()?))
    }

    /// Bytes that this driver has sent to the others, and received from them.
    #[getter]
    fn traffic(&self, py: Python<'_>) -> (u64, u64) {
        py.detach(|| {
            let drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
            drivers.as_ref().map_or((0, 0), distributed::DriverMesh::traffic)
        })
    }

    /// Ends in good order, when all buckets are done.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let drivers = self.drivers.clone();
        let work = move || {
            let drivers = drivers.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(drivers.map_or(Ok(()), distributed::DriverMesh::end)?)
        };
        wait(py, cancels(&self.cancel), &Shown::default(), None, work)
    }

    /// Ends because of what failed here: an exception's `kind`. The others are told that.
    fn stop(&self, py: Python<'_>, kind: &str, peer: Option<String>) {
        let kinds = (0..=u8::MAX).filter_map(ErrorKind::from_code);
        let kind = kinds.into_iter().find(|known| known.name() == kind);
        let error =
            crate::errors::of_kind(kind.unwrap_or(ErrorKind::Internal), peer.unwrap_or_else(|| "another party".into()));
        let drivers = self.drivers.clone();
        py.detach(move || {
            if let Some(drivers) = drivers.lock().unwrap_or_else(PoisonError::into_inner).take() {
                drivers.stop(&error);
            }
        });
    }
}

impl Drivers {
    fn count_with<W>(&self, py: Python<'_>, spec: &Spec, report: &str, what: W) -> PyResult<Outcome>
    where
        W: FnOnce(&JobSpec, &str, &BTreeMap<String, u64>, &mut Channel) -> Result<Answer, Error> + Send + 'static,
    {
        let (job, sizes) = (spec.job.clone(), self.facts.sizes.clone());
        let report = serde_json::from_str(report).map_err(|error| raise(py, Error::Internal(error.to_string())))?;
        self.with(py, move |drivers| {
            let answer = drivers.with_peer(|job, me, channel| what(job, me, &sizes, channel))?;
            Outcome::with(&job, report, answer)
        })
    }

    /// Does something with the others, until it is done or the user ends it.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut distributed::DriverMesh) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let drivers = self.drivers.clone();
        let work = move || {
            let mut drivers = drivers.lock().unwrap_or_else(PoisonError::into_inner);
            let drivers = drivers.as_mut().ok_or_else(|| Error::Internal("the drivers have parted".into()))?;
            Ok(what(drivers)?)
        };
        wait(py, cancels(&self.cancel), &Shown::default(), None, work)
    }
}
