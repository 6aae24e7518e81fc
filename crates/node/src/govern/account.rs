//! Account of one run: its policy, its entry in the ledger, and its receipts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use serde::Deserialize;
use serde_json::Value;
use tacita_core::channel::Channel;
use tacita_core::channel::labels::handshake::RECEIPT;
use tacita_core::{Error, Result, Session};

use super::approval::{APPROVALS, Approval};
use super::difference::{ComparableRows, RowKey, UNKNOWN, capacity, sketch};
use super::ledger::{Begun, Change, Ended, EntryPlace, Ledger};
use super::policy::{
    Allowed, Answers, History, NoHistory, NotCounted, POLICY_FILE, Policy, PolicyQuestion, USUAL_MIN_DIFFERENCE,
    Uncountable, informed,
};
use super::receipt::{
    LedgerState, MAX_RECEIPT_BYTES, PartyFacts, Phase, Receipt, ReceiptFile, ReceiptKey, Receipts, RunFacts,
};
use super::time::UtcTime;
use crate::agreement::{JobSpec, KnownSizes, Sizes, Source, Terms, Topology};
use crate::base::files::{is_read_once, write_whole_private};
use crate::base::hex::hex;
use crate::base::random::fill_random;
use crate::base::text::json;
use crate::identity::{Fingerprint, Identity};

/// Places of a party's policy, ledger and receipts.
#[derive(Debug, Clone, Default)]
pub struct Governance {
    /// Directory of the identity, where policy and ledger are unless said otherwise. Without one, there is no ledger.
    pub home: Option<PathBuf>,
    /// File of the policy, if it is another.
    pub policy: Option<PathBuf>,
    /// Directory of the ledger, if it is another.
    pub ledger: Option<PathBuf>,
    /// File for the receipts.
    pub receipt: Option<PathBuf>,
}

/// Account of a run.
pub struct Account {
    me: String,
    own_pin: Fingerprint,
    key: ReceiptKey,
    entry: Option<(Ledger, EntryPlace)>,
    rules: Rules,
    rows: RowKey,
    salt: [u8; 32],
    receipt: Option<PathBuf>,
    digests: Mutex<Option<JoinHandle<Vec<String>>>>,
    given: Mutex<Given>,
}

/// Rules that a run has to keep to, as they were when it began.
struct Rules {
    policy: Option<Policy>,
    approvals: Vec<Approval>,
    began: UtcTime,
}

/// Receipts that have come so far, and what the parties have agreed on.
#[derive(Default)]
struct Given {
    agreed: Option<(String, Vec<String>)>,
    begun: Receipts,
    ended: Receipts,
}

/// Outcome of a run, for its entry; read from a report.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct AccountedOutcome {
    /// Protocol that the run took.
    pub protocol: String,
    /// Rows of the own table, as in the report.
    pub rows: Value,
    /// Sentences that state what the party learned.
    pub learned: Vec<String>,
    /// Result, as in the report.
    pub result: Value,
}

impl Governance {
    /// Places in the directory of an identity.
    pub fn at(home: &Path) -> Governance {
        Governance { home: Some(home.to_owned()), ..Governance::default() }
    }

    /// Returns the policy, if there is one.
    pub fn policy(&self) -> Result<Option<Policy>> {
        if let Some(path) = &self.policy {
            return Policy::load(path).map(Some);
        }
        let usual = self.home.as_ref().map(|home| home.join(POLICY_FILE));
        // One that is there and cannot be read refuses everything.
        let there =
            |path: &PathBuf| !path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        usual.filter(there).map(|path| Policy::load(&path)).transpose()
    }

    /// Returns the approvals that are there.
    pub fn approvals(&self) -> Vec<Approval> {
        self.home.as_ref().map_or_else(Vec::new, |home| Approval::all_in(&home.join(APPROVALS)))
    }

    /// Opens the account of a run: enters it in the ledger, unless a policy refuses it. `inputs` are the files that it
    /// reads.
    ///
    /// Errors ([`Error::Policy`]): the policy refuses it, which is entered, too. Others: policy or ledger cannot be
    /// read or written.
    pub fn open(&self, job: &JobSpec, me: &str, identity: &Identity, inputs: &[&Path]) -> Result<Account> {
        self.open_as(job, me, identity, inputs, &NotCounted)
    }

    /// Opens an account like [`Governance::open`], of a run whose rows are not compared with those of earlier ones, for
    /// a reason that messages give.
    pub fn open_uncompared(
        &self,
        job: &JobSpec,
        me: &str,
        identity: &Identity,
        inputs: &[&Path],
        why: &'static str,
    ) -> Result<Account> {
        self.open_as(job, me, identity, inputs, &Uncountable(why))
    }

    fn open_as(
        &self,
        job: &JobSpec,
        me: &str,
        identity: &Identity,
        inputs: &[&Path],
        answers: &dyn Answers,
    ) -> Result<Account> {
        if self.receipt.is_some() && !gives_receipts(job) {
            return Err(Error::Input(
                "--receipt: parties that meet at a helper, or have slices of one side's rows, give no receipts: leave it out".into(),
            ));
        }
        let (policy, approvals, began) = (self.policy()?, self.approvals(), UtcTime::now());
        let rules = Rules { policy, approvals, began };
        let directory = self.ledger.as_ref().or(self.home.as_ref());
        let entry = match directory {
            Some(directory) => {
                let ledger = Ledger::open(directory, identity)?;
                if rules.policy.is_none() && !ledger.is_there() {
                    tracing::info!(
                        "every job is allowed here, since there is no policy, and each run is entered in the ledger: see `tacita policy new \
                         --help` and `tacita ledger list --help`"
                    );
                }
                let allow = |history: &dyn History| rules.allow(job, me, history, answers);
                let place = ledger.begin(Begun::of(job, me, began), allow).map_err(|error| self.elsewhere(error))?;
                Some((ledger, place))
            }
            None => {
                rules.allow(job, me, &NoHistory, &Uncountable("there is no ledger"))?;
                None
            }
        };
        let mut salt = [0; 32];
        fill_random(&mut salt)?;
        let key = identity.derive("ledger input", b"");
        let files: Vec<_> = inputs.iter().filter(|path| !is_read_once(path)).map(|path| path.to_path_buf()).collect();
        let digests = entry
            .is_some()
            .then(|| std::thread::spawn(move || files.iter().flat_map(|file| digest(&key, file)).collect()));
        Ok(Account {
            me: me.to_owned(),
            own_pin: identity.fingerprint(),
            key: ReceiptKey::of(identity)?,
            entry,
            rules,
            rows: RowKey::of(identity),
            salt,
            receipt: self.receipt.clone(),
            digests: Mutex::new(digests),
            given: Mutex::default(),
        })
    }

    /// Does the work of comparing the rows of a run that is refused for another reason, so that the time of a refusal
    /// does not tell which rule it is by.
    pub fn compare_for_nothing(&self, job: &JobSpec, me: &str, identity: &Identity, source: &Source) {
        let Ok(Some(policy)) = self.policy() else { return };
        if policy.compares_rows() && !informed(job, me).is_empty() {
            drop(sketch(job, me, source, &RowKey::of(identity), capacity(policy.min_difference()), true));
        }
    }

    /// The same error, with another place for a ledger that cannot be in the identity's directory.
    fn elsewhere(&self, error: Error) -> Error {
        match (error, &self.ledger) {
            (Error::Input(text), None) if text.contains("cannot lock") => Error::Input(format!(
                "{text}: the ledger has to be written: --ledger DIR names another directory for it"
            )),
            (error, _) => error,
        }
    }
}

impl Rules {
    fn allow(&self, job: &JobSpec, me: &str, history: &dyn History, answers: &dyn Answers) -> Result<Option<Allowed>> {
        let Rules { policy, approvals, began } = self;
        let question = PolicyQuestion { job, me, now: began.timestamp(), history, approvals, answers };
        policy.as_ref().map(|policy| policy.allow(&question)).transpose()
    }

    fn min_difference(&self) -> u64 {
        self.policy.as_ref().map_or(USUAL_MIN_DIFFERENCE, Policy::min_difference)
    }
}

impl Account {
    /// Compares the rows of the run with those of earlier ones, if it tells others something exact about them, and has
    /// the policy allow it once more; before anything about them is sent. Returns the source for the run, which is read
    /// once.
    ///
    /// Errors ([`Error::Policy`]): there were enough answers about nearly the same rows. Others: the rows cannot be
    /// read, or the ledger.
    pub fn compare(&self, job: &JobSpec, source: &Source) -> Result<Source> {
        let peers = informed(job, &self.me);
        let Some((ledger, place)) = self.entry.as_ref().filter(|_| !peers.is_empty()) else {
            return Ok(source.clone());
        };
        let near = self.rules.min_difference();
        let has = self.rules.policy.as_ref().is_some_and(Policy::compares_rows);
        let (source, rows) = sketch(job, &self.me, source, &self.rows, capacity(near), has)?;
        if let ComparableRows::None = rows {
            return Ok(source);
        }
        let pin = |name: &&str| job.party(name).ok().and_then(|party| party.identity);
        let told = peers.iter().map(|name| pin(name).map_or(UNKNOWN.into(), |pin| pin.to_string())).collect();
        let found =
            ledger.compare(place.entry, rows, told, |history, near| self.rules.allow(job, &self.me, history, near))?;
        if let Some(warning) = found.warning(&peers, near) {
            tracing::warn!("{warning}");
        }
        Ok(source)
    }

    /// Exchanges the receipts that the run has begun, before any message with data, and has those of its end exchanged
    /// when the connections end. `pins` are the identities of the peers.
    pub fn agreed(
        self: &Arc<Account>,
        job: &JobSpec,
        session: &Session,
        protocol: &str,
        sizes: &BTreeMap<String, Sizes>,
        pins: &BTreeMap<String, Fingerprint>,
        channels: &mut [Channel],
    ) -> Result<()> {
        let facts = self.facts(job, session, protocol, sizes, pins)?;
        let known = KnownSizes { all: Some(sizes), ..KnownSizes::default() };
        self.given().agreed = Some((protocol.to_owned(), job.learned(&self.me, known)));
        for channel in channels.iter_mut() {
            let own = self.sign(Phase::Begun, channel.peer(), &facts)?;
            channel.send(RECEIPT, own.encode()?)?;
            self.given().begun.own.push(own);
        }
        for channel in channels.iter_mut() {
            let theirs = received(Phase::Begun, &self.me, &facts, channel)?;
            self.given().begun.peers.push(theirs);
        }
        if let Some((ledger, place)) = &self.entry {
            let receipts = Receipts { salt: hex(&self.salt), ..self.given().begun.clone() };
            ledger.agreed(place.entry, receipts)?;
        }
        self.write()?;
        for channel in channels {
            let (account, facts) = (self.clone(), facts.clone());
            channel.before_close(move |channel| account.ended(&facts, channel));
        }
        Ok(())
    }

    /// Notes a change of what the run serves, before it is made: in a word, and how many rows were given for it.
    pub fn changed(&self, what: &str, rows: Option<u64>) -> Result<()> {
        let change = Change { time: UtcTime::now(), what: what.to_owned(), rows };
        self.entry.as_ref().map_or(Ok(()), |(ledger, place)| ledger.changed(place.entry, change))
    }

    /// Notes that the parties have agreed, in a job whose parties give no receipts.
    pub fn agreed_without_receipts(&self) -> Result<()> {
        self.entry.as_ref().map_or(Ok(()), |(ledger, place)| ledger.agreed(place.entry, Receipts::default()))
    }

    fn ended(&self, facts: &RunFacts, channel: &mut Channel) -> Result<()> {
        let own = self.sign(Phase::Ended, channel.peer(), facts)?;
        channel.send(RECEIPT, own.encode()?)?;
        let theirs = received(Phase::Ended, &self.me, facts, channel)?;
        let mut given = self.given();
        given.ended.own.push(own);
        given.ended.peers.push(theirs);
        Ok(())
    }

    /// Ends the entry of the run, and writes the receipts.
    pub fn end(&self, outcome: std::result::Result<AccountedOutcome, &Error>) -> Result<()> {
        let written = self.write();
        let Some((ledger, place)) = &self.entry else { return written };
        let keeps_results = self.rules.policy.as_ref().is_some_and(Policy::keeps_results);
        let digests = self.digests.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        let inputs = || digests.and_then(|digests| digests.join().ok()).unwrap_or_default();
        let agreed = self.given().agreed.take();
        let ended = match outcome {
            // Whoever leaves with the result does not take away what is known of the run.
            Err(error) => match agreed {
                Some((protocol, learned)) => {
                    Ended { protocol: Some(protocol), learned, inputs: inputs(), ..Ended::failed(error) }
                }
                None => Ended::failed(error),
            },
            Ok(AccountedOutcome { protocol, rows, learned, result }) => Ended {
                time: UtcTime::now(),
                outcome: "done".into(),
                protocol: Some(protocol),
                rows,
                learned,
                result: if keeps_results { result } else { Value::Null },
                inputs: inputs(),
                ..Ended::default()
            },
        };
        let ended = Ended { receipts: self.given().ended.clone(), ..ended };
        // A result too long for the ledger is left out of it, so that the entry ends.
        let without = Ended { result: Value::Null, learned: Vec::new(), rows: Value::Null, ..ended.clone() };
        ledger.end(place.entry, ended).or_else(|_| ledger.end(place.entry, without)).and(written)
    }

    fn facts(
        &self,
        job: &JobSpec,
        session: &Session,
        protocol: &str,
        sizes: &BTreeMap<String, Sizes>,
        pins: &BTreeMap<String, Fingerprint>,
    ) -> Result<RunFacts> {
        let party = |name: &str| {
            let pin = if name == self.me { Some(&self.own_pin) } else { pins.get(name) };
            let (Some(pin), Some(sizes)) = (pin, sizes.get(name)) else {
                return Err(Error::Internal(format!("a run with {name}, whose identity or size is unknown")));
            };
            Ok(PartyFacts::new(name, *pin, job.learns(name), sizes.items))
        };
        Ok(RunFacts {
            run: hex(&session.derive("receipt run")),
            agreement: Terms::of(job).agreement(),
            job: job.job.name().into(),
            id: job.id.clone(),
            protocol: protocol.to_owned(),
            epsilon: job.full_loss()?.map(|loss| loss.to_string()),
            parties: job.parties.names().into_iter().map(party).collect::<Result<_>>()?,
        })
    }

    fn sign(&self, phase: Phase, to: &str, facts: &RunFacts) -> Result<Receipt> {
        let state = self.entry.as_ref().map(|(_, EntryPlace { entry, head })| {
            let mut hasher = blake3::Hasher::new_derive_key("tacita 1 receipt head");
            hasher.update(&self.salt).update(head);
            LedgerState { entry: *entry, head: hex(hasher.finalize().as_bytes()) }
        });
        self.key.sign(phase, &self.me, to, facts, &state.unwrap_or_default())
    }

    /// Writes the receipts so far to their file.
    fn write(&self) -> Result<()> {
        let given = self.given();
        let Some(path) = self.receipt.as_ref().filter(|_| !given.begun.is_empty()) else { return Ok(()) };
        let file = ReceiptFile::new(given.begun.clone(), given.ended.clone());
        let text = json(serde_json::to_string_pretty(&file))?;
        write_whole_private(path, format!("{text}\n").as_bytes())
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether the parties of a job give each other receipts: each is connected to each, and they make one agreement.
fn gives_receipts(job: &JobSpec) -> bool {
    matches!(job.topology(), Topology::Pair | Topology::Mesh) && job.spread.is_none()
}

/// Receives the peer's receipt of a phase.
fn received(phase: Phase, me: &str, facts: &RunFacts, channel: &mut Channel) -> Result<Receipt> {
    let bytes = channel.receive_up_to(RECEIPT, MAX_RECEIPT_BYTES)?;
    let receipt = Receipt::decode(&bytes).ok_or_else(|| channel.violation("`receipt` cannot be read"))?;
    let checked = receipt.check_about(phase, channel.peer(), me, facts);
    checked.map_err(|what| channel.violation(format!("its receipt does not hold: {what}")))?;
    Ok(receipt)
}

/// Returns the keyed digest of a file; nothing if it cannot be read, which the run finds out itself.
fn digest(key: &[u8; 32], path: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update_reader(std::fs::File::open(path).ok()?).ok()?;
    Some(hex(hasher.finalize().as_bytes()))
}
