//! The reusable part of a sender: made once by `tacita prepare`, used in many runs by many clients.
//!
//! It is bound to the data and to the terms; its pseudorandom function's key stays the same until it is made anew, so
//! that what clients learn adds up. What each of them may still ask is written down before it is answered. All of it is
//! in one directory; two copies of that would be two quotas.

mod quota;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::ecdh;
use tacita_core::protocol::intersect::tag_exchange::Params;
use tacita_core::session::Transcript;
use tacita_core::{Error, Progress, Result};
use zeroize::Zeroizing;

use crate::agreement::{Ability, Chosen, JobSpec, Reveal, Sizes, Terms};
use crate::base::folder::Folder;
use crate::base::hex::hex;
use crate::base::text::json;
use crate::base::text::{self, pasted};

use crate::jobs::intersect::{IntersectResult, Loaded, empty_rows, item_key_of_epoch, methods};
use crate::store::seal::SealKey;
use crate::table::RowCounts;
use quota::Ledger;
pub use quota::{DEFAULT_MAX_CLIENTS, DEFAULT_RUNS, EpochQuota, MAX_TOTAL_QUERIES};

const SECRET_FILE: &str = "prepared.bin";
const FACTS_FILE: &str = "prepared.json";
const LOCK_FILE: &str = "lock";

/// Version of the files. 2: tags have other lengths than in 1, because all that may go wrong by chance shares one
/// bound, and the ledger is sealed. 3: the secret part says in which group it is.
const VERSION: u32 = 3;

/// A prepared part that has been read, and fits the job.
pub struct PreparedPart {
    folder: Folder,
    facts: Facts,
    part: ecdh::prepared::PreparedSender,
}

/// Properties that are kept besides the secret part.
#[derive(Serialize, Deserialize)]
struct Facts {
    tacita_prepared: u32,
    /// Fingerprint of the terms, with the client left out.
    terms: String,
    /// Fingerprint of keys and given rows.
    data: String,
    rows: RowCounts,
    sizes: Sizes,
    /// The epoch's id, in hexadecimal.
    epoch: String,
}

/// Whether a prepared part is in a directory.
pub fn is_in(directory: &Path) -> bool {
    directory.join(FACTS_FILE).exists()
}

/// Makes a party's part of a job for many clients. `anew` replaces one that is there, with a new key.
pub fn prepare(
    job: &JobSpec,
    me: &str,
    loaded: &Loaded,
    directory: &Path,
    anew: bool,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    check_job(job, me)?;
    let folder = Folder::make(directory)?;
    let _lock = folder.lock(LOCK_FILE)?;
    if crate::jobs::on_disk::holds_run(directory) {
        return Err(Error::Input(format!(
            "{}: it holds an unfinished run: name another directory",
            directory.display()
        )));
    }
    if is_in(directory) && !anew {
        return Err(Error::Input(format!(
            "{}: it already holds a prepared part: --rotate replaces it, with a new key and fresh quotas",
            directory.display()
        )));
    }

    let mut epoch = [0; 32];
    rng.fill_bytes(&mut epoch);
    let bound = bound_epoch(job, me, &epoch);
    let items = loaded.items(&item_key_of_epoch(&bound));
    let mut sizes = loaded.sizes().clone();
    let tag_bytes = tag_bytes(job, &sizes);
    let empty;
    let payload = match (&job.reveal, loaded.given_rows()) {
        (Reveal::Payload, Some(rows)) => Some(rows),
        (Reveal::Payload, None) => {
            empty = empty_rows(items.len())?;
            Some(&empty)
        }
        _ => None,
    };
    let (progress, suite) = (Progress::default(), methods::ecdh::suite(job.level));
    let epoch_of_part = ecdh::prepared::Epoch { id: bound, entries: entries(&sizes), tag_bytes, suite };
    let part = ecdh::prepared::prepare(&items, payload, epoch_of_part, &progress, rng)?;
    sizes.epoch = Some(hex(&epoch));
    sizes.tag_bytes = Some(tag_bytes as u32);
    let facts = Facts {
        tacita_prepared: VERSION,
        terms: terms(job, me),
        data: data(loaded),
        rows: loaded.keys().counts(),
        sizes,
        epoch: hex(&epoch),
    };
    // The facts come last: without them there is no prepared part.
    let failed = |error| Error::Input(format!("{}: cannot remove {FACTS_FILE}: {error}", directory.display()));
    folder.remove(FACTS_FILE).map_err(failed)?;
    Ledger::begin(&folder, &ledger_key(&part))?;
    folder.write(SECRET_FILE, &part.to_bytes())?;
    let text = json(serde_json::to_string_pretty(&facts))?;
    folder.write(FACTS_FILE, format!("{text}\n").as_bytes())
}

impl PreparedPart {
    /// Opens what was prepared in `directory`, and checks that it was prepared for this job.
    pub fn open(directory: &Path, job: &JobSpec, me: &str) -> Result<PreparedPart> {
        check_job(job, me)?;
        let shown = directory.display();
        let bad = |text: String| Error::Input(format!("{shown}: {text}"));
        let damaged = || bad("the prepared part is damaged: make it anew with `tacita prepare --rotate`".into());
        if !is_in(directory) {
            return Err(bad("no prepared part: make one with `tacita prepare`".into()));
        }
        let folder = Folder::open(directory)?;
        let _lock = folder.lock(LOCK_FILE)?;
        let facts: Value = serde_json::from_slice(&read(&folder, FACTS_FILE)?).map_err(|_| damaged())?;
        if facts["tacita_prepared"] != VERSION {
            let version = facts["tacita_prepared"].as_u64().ok_or_else(damaged)?;
            let which = if version < u64::from(VERSION) { "an older" } else { "a newer" };
            return Err(bad(format!(
                "prepared by {which} version of this program: replace it with `tacita prepare --rotate`"
            )));
        }
        let facts: Facts = serde_json::from_value(facts).map_err(|_| damaged())?;
        if facts.terms != terms(job, me) {
            return Err(bad(
                "prepared for other terms than this job's (only the client may differ): use that job file, or \
                 `tacita prepare --rotate`"
                    .into(),
            ));
        }
        let part = ecdh::prepared::PreparedSender::from_bytes(&read(&folder, SECRET_FILE)?).map_err(|_| damaged())?;
        // A ledger that cannot be used is told before anybody is waited for.
        tracing::info!("{shown}: {}", Ledger::read(&folder, &ledger_key(&part))?.told(EpochQuota::of(job)));
        Ok(PreparedPart { folder, facts, part })
    }

    /// Refuses a table that is not the one that was prepared.
    pub fn check_data(&self, loaded: &Loaded) -> Result<()> {
        if self.facts.data != data(loaded) {
            return Err(Error::Input(format!(
                "{}: prepared from other data than --input: replace it with `tacita prepare --rotate`",
                self.folder.path().display()
            )));
        }
        Ok(())
    }

    /// Returns the sizes that are announced to the client.
    pub fn sizes(&self) -> Sizes {
        self.facts.sizes.clone()
    }

    /// Returns the counts, by outcome, of the rows from which it was made.
    pub fn row_counts(&self) -> RowCounts {
        self.facts.rows
    }

    /// Answers one client, after its keys have been charged to its quota.
    pub fn send(&self, job: &JobSpec, me: &str, params: Params, channel: &mut Channel) -> Result<IntersectResult> {
        let client = job.party(job.peer_of(me))?.identity;
        let client = client.ok_or_else(|| Error::Input("a prepared part needs the client's identity".into()))?;
        {
            let _lock = self.folder.lock(LOCK_FILE)?;
            self.check_epoch()?;
            let (key, queries) = (ledger_key(&self.part), params.receiver_items as u64);
            let name = channel.peer();
            Ledger::charge(&self.folder, &key, EpochQuota::of(job), &client.to_string(), queries, name)?;
        }
        self.part.send(&methods::ecdh::params(params, job.level), channel)?;
        Ok(IntersectResult::Nothing)
    }

    /// Refuses to go on with a part that was replaced since it was read.
    fn check_epoch(&self) -> Result<()> {
        let facts = serde_json::from_slice::<Value>(&read(&self.folder, FACTS_FILE)?).unwrap_or_default();
        if facts["epoch"] == self.facts.epoch {
            Ok(())
        } else {
            Err(Error::Input(format!(
                "{}: the prepared part was replaced during this run: run again",
                self.folder.path().display()
            )))
        }
    }
}

/// Whether the terms allow a prepared part of `sender`, and if not, why.
pub fn check_job(job: &JobSpec, sender: &str) -> Result<()> {
    job.job.can(job, Ability::Prepared)?;
    let bad = |text: String| Err(Error::Input(text));
    if !job.job.allows(job, &Chosen::only(methods::ecdh::PROTOCOL)) {
        return bad(
            "a prepared part answers by \"ecdh\", for semi-honest parties: the job's protocol or security rules that out"
                .into(),
        );
    }
    if !matches!(job.reveal, Reveal::Rows | Reveal::Payload) {
        return bad(format!(
            "reveal = \"{}\" needs a fresh key in every run: only rows and payload can be prepared",
            job.reveal.kind()
        ));
    }
    if job.learns(sender) {
        return bad(format!("{sender} learns in this job: only a party that does not can prepare its part"));
    }
    if job.limits.max_rows.is_none() && job.limits.pad_to.is_none() {
        return bad("limits.max_rows is missing: a prepared part must know how many keys a client may bring".into());
    }
    if EpochQuota::of(job).total() > MAX_TOTAL_QUERIES {
        return bad(format!(
            "limits: max_queries times max_clients is {}, and one key answers at most {}: lower one of them",
            text::count(EpochQuota::of(job).total()),
            text::count(MAX_TOTAL_QUERIES)
        ));
    }
    Ok(())
}

/// Length of the tags of a prepared part of these sizes, for as many queries as the terms allow.
pub fn tag_bytes(job: &JobSpec, sizes: &Sizes) -> usize {
    let queries = EpochQuota::of(job).total() as usize;
    match job.reveal {
        Reveal::Payload => ecdh::epoch_tag_bytes(queries, queries, entries(sizes)),
        _ => ecdh::tag_bytes(queries, entries(sizes)),
    }
}

/// Returns the value to which an epoch's hashes are bound: its id, and the terms with the sender's identity in
/// them. A client that relays another sender's answers as its own finds nothing.
pub fn bound_epoch(job: &JobSpec, sender: &str, epoch: &[u8; 32]) -> [u8; 32] {
    let mut transcript = Transcript::new("prepared epoch");
    transcript.append("epoch", epoch).append("terms", terms(job, sender).as_bytes());
    transcript.challenge("epoch")
}

/// Entries that a sender of these sizes sends: rows where it gives columns, else keys.
fn entries(sizes: &Sizes) -> usize {
    if sizes.schema.is_empty() { sizes.items as usize } else { sizes.entries as usize }
}

/// Fingerprint of the terms with the client left out: clients differ, everything else must not.
fn terms(job: &JobSpec, sender: &str) -> String {
    let client = job.peer_of(sender);
    let order = job.parties.names().into_iter().map(|name| if name == client { "client" } else { name });
    let mut terms = Terms::of(job).json().clone();
    terms["order"] = json!(order.collect::<Vec<_>>());
    terms["reveal_to"] = json!(["client"]);
    for by_party in ["parties", "gives"] {
        if let Value::Object(entries) = &mut terms[by_party] {
            entries.remove(client);
        }
    }
    Terms::from_peer(&terms).agreement()
}

/// Fingerprint of the keys and the given rows of a table.
fn data(loaded: &Loaded) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 prepared data");
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    for (index, key) in loaded.keys().iter().enumerate() {
        part(key);
        if let Some(rows) = loaded.given_rows() {
            part(rows.item(index));
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// The key that the ledger of a part is sealed with.
fn ledger_key(part: &ecdh::prepared::PreparedSender) -> SealKey {
    SealKey::new(part.derive("ledger"))
}

/// Reads a file, which nobody else may be able to read.
fn read(folder: &Folder, name: &str) -> Result<Zeroizing<Vec<u8>>> {
    let path = folder.at(name);
    let bad = |error: std::io::Error| Error::Input(format!("{}: cannot read: {error}", path.display()));
    let mut file = folder.read(name).map_err(bad)?;
    let facts = file.metadata().map_err(bad)?;
    if facts.permissions().mode() & 0o077 != 0 {
        return Err(Error::Input(format!(
            "{}: others can read this file: `chmod 600 {}`, and `tacita prepare --rotate` if they may have",
            path.display(),
            pasted(path.display())
        )));
    }
    // All the room at once: what grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(facts.len() as usize));
    file.read_to_end(&mut bytes).map_err(bad)?;
    Ok(bytes)
}
