//! The reusable part of a sender: made once by `tacita prepare`, used in many runs by many clients.
//!
//! It is bound to the data and to the terms; its pseudorandom function's key stays the same until it is made anew, so
//! that what clients learn adds up. What each of them may still ask is written down before it is answered.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rand_core::CryptoRng;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::ecdh::{self, Params};
use tacita_core::{Error, Progress, Result};

use crate::agree::{Sizes, hex};
use crate::files::{write_whole, write_whole_private};
use crate::intersect::{Found, Loaded, empty_rows, item_key_of_epoch};
use crate::job::{JobSpec, Reveal, Terms};
use crate::table::RowCounts;
use crate::text;

const SECRET_FILE: &str = "prepared.bin";
const FACTS_FILE: &str = "prepared.json";
const CLIENTS_FILE: &str = "clients.json";
const LOCK_FILE: &str = "lock";

/// Clients of one epoch, unless the terms say otherwise.
pub const DEFAULT_MAX_CLIENTS: u64 = 1000;

/// Runs that one client can make with as many keys as the terms allow, unless they say otherwise.
pub const DEFAULT_RUNS: u64 = 10;

/// A prepared part that has been read, and fits the job.
pub struct Prepared {
    directory: PathBuf,
    facts: Facts,
    part: ecdh::prepared::Prepared,
}

/// What is kept beside the secret part.
#[derive(Serialize, Deserialize)]
struct Facts {
    tacita_prepared: u32,
    /// Fingerprint of the terms, with the client left out.
    terms: String,
    /// Fingerprint of keys and given rows.
    data: String,
    rows: RowCounts,
    sizes: Sizes,
    max_queries: u64,
    max_clients: u64,
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
    let bad =
        |error: std::io::Error| Error::Input(format!("{}: cannot use the directory: {error}", directory.display()));
    std::fs::create_dir_all(directory).map_err(bad)?;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).map_err(bad)?;
    let _lock = lock(directory)?;
    if directory.join(FACTS_FILE).exists() && !anew {
        return Err(Error::Input(format!(
            "{}: there is a prepared part already: --rotate makes a new one, with a new key and fresh quotas",
            directory.display()
        )));
    }

    let client_rows = job.limits.pad_to.or(job.limits.max_rows).unwrap_or_default();
    let max_queries = job.limits.max_queries.unwrap_or(client_rows.saturating_mul(DEFAULT_RUNS));
    let max_clients = job.limits.max_clients.unwrap_or(DEFAULT_MAX_CLIENTS);
    let mut epoch = [0; 32];
    rng.fill_bytes(&mut epoch);
    let items = loaded.items(&item_key_of_epoch(&epoch));
    let mut sizes = loaded.sizes().clone();
    let entries = if sizes.schema.is_empty() { sizes.items } else { sizes.entries } as usize;
    let queries = usize::try_from(u128::from(max_queries) * u128::from(max_clients)).unwrap_or(usize::MAX);
    let runs = queries;
    let tag_bytes = match job.reveal {
        Reveal::Payload => ecdh::epoch_tag_bytes(queries, runs, entries),
        _ => ecdh::tag_bytes(queries, entries),
    };
    sizes.epoch = Some(hex(&epoch));
    sizes.tag_bytes = Some(tag_bytes as u32);
    let empty;
    let payload = match (job.reveal, loaded.given_rows()) {
        (Reveal::Payload, Some(rows)) => Some(rows),
        (Reveal::Payload, None) => {
            empty = empty_rows(items.len())?;
            Some(&empty)
        }
        _ => None,
    };
    let progress = Progress::default();
    let part = ecdh::prepared::prepare(&items, payload, epoch, entries, tag_bytes, &progress, rng)?;
    let facts = Facts {
        tacita_prepared: 1,
        terms: terms(job, me),
        data: data(loaded),
        rows: loaded.keys().counts(),
        sizes,
        max_queries,
        max_clients,
    };
    // The facts come last: without them there is no prepared part.
    remove(&directory.join(FACTS_FILE))?;
    write_clients(directory, &BTreeMap::new())?;
    let bytes = part.to_bytes();
    write_whole_private(&directory.join(SECRET_FILE), |file| file.write_all(&bytes))?;
    let text = serde_json::to_string_pretty(&facts).map_err(|error| Error::Internal(error.to_string()))?;
    write_whole_private(&directory.join(FACTS_FILE), |file| writeln!(file, "{text}"))
}

impl Prepared {
    /// Opens what was prepared in `directory`, and checks that it was prepared for this job.
    pub fn open(directory: &Path, job: &JobSpec, me: &str) -> Result<Prepared> {
        check_job(job, me)?;
        let shown = directory.display();
        let _lock = lock(directory)?;
        let text = std::fs::read_to_string(directory.join(FACTS_FILE)).map_err(|error| {
            Error::Input(format!("{shown}: no prepared part ({error}): make one with `tacita prepare`"))
        })?;
        let damaged = || {
            Error::Input(format!("{shown}: the prepared part is damaged: make it anew with `tacita prepare --rotate`"))
        };
        let facts: Facts = serde_json::from_str(&text).map_err(|_| damaged())?;
        if facts.tacita_prepared != 1 {
            return Err(Error::Input(format!("{shown}: prepared by another version: make it anew with --rotate")));
        }
        if facts.terms != terms(job, me) {
            return Err(Error::Input(format!(
                "{shown}: prepared for other terms than this job's (only the client may differ): use that job file, or `tacita prepare --rotate`"
            )));
        }
        let path = directory.join(SECRET_FILE);
        let bytes =
            std::fs::read(&path).map_err(|error| Error::Input(format!("{}: cannot read: {error}", path.display())))?;
        let part = ecdh::prepared::Prepared::from_bytes(&bytes).map_err(|_| damaged())?;
        Ok(Prepared { directory: directory.to_owned(), facts, part })
    }

    /// Refuses a table that is not the one that was prepared.
    pub fn check_data(&self, loaded: &Loaded) -> Result<()> {
        if self.facts.data != data(loaded) {
            return Err(Error::Input(format!(
                "{}: prepared from other data than --input: `tacita prepare --rotate` makes it anew",
                self.directory.display()
            )));
        }
        Ok(())
    }

    /// How much it is, as the client is told.
    pub fn sizes(&self) -> Sizes {
        self.facts.sizes.clone()
    }

    /// What became of the rows that it was made of.
    pub fn row_counts(&self) -> RowCounts {
        self.facts.rows
    }

    /// Answers one client, after its keys have been charged to its quota.
    pub fn send(&self, job: &JobSpec, me: &str, params: &Params, channel: &mut Channel) -> Result<Found> {
        let client = job.party(job.peer_of(me))?.identity;
        let client = client.ok_or_else(|| Error::Input("a prepared part needs the client's identity".into()))?;
        self.charge(&client.to_string(), params.receiver_items as u64, channel.peer())?;
        self.part.send(params, channel)?;
        Ok(Found::Nothing)
    }

    /// Takes `queries` from what `client` may still ask; on disk before this returns.
    fn charge(&self, client: &str, queries: u64, name: &str) -> Result<()> {
        let _lock = lock(&self.directory)?;
        let path = self.directory.join(CLIENTS_FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::Input(format!("{}: cannot read: {error}", path.display())))?;
        let mut clients: BTreeMap<String, u64> = serde_json::from_str(&text).map_err(|_| {
            Error::Input(format!("{}: damaged: `tacita prepare --rotate` makes it anew", path.display()))
        })?;
        if !clients.contains_key(client) && clients.len() as u64 >= self.facts.max_clients {
            return Err(Error::Input(format!(
                "{name} is not among the {} that have asked already, and no more may (limits.max_clients): `tacita prepare --rotate` starts anew",
                text::counted(self.facts.max_clients, "client")
            )));
        }
        let asked = clients.entry(client.to_owned()).or_default();
        let total = asked.saturating_add(queries);
        if total > self.facts.max_queries {
            return Err(Error::Input(format!(
                "{name} has asked for {} and wants {} more; limits.max_queries is {}: `tacita prepare --rotate` starts anew",
                text::counted(*asked, "key"),
                text::count(queries),
                text::count(self.facts.max_queries)
            )));
        }
        *asked = total;
        write_clients(&self.directory, &clients)
    }
}

/// Whether `me` can prepare for this job.
fn check_job(job: &JobSpec, me: &str) -> Result<()> {
    let bad = |text: String| Err(Error::Input(text));
    if job.reveal == Reveal::Count {
        return bad("reveal = \"count\" needs a fresh key in every run: only rows and payload can be prepared".into());
    }
    if job.learns(me) {
        return bad(format!("{me} learns in this job: only a party that does not can prepare its part"));
    }
    if job.limits.max_rows.is_none() && job.limits.pad_to.is_none() {
        return bad("limits.max_rows is missing: a prepared part must know how many keys a client may bring".into());
    }
    Ok(())
}

/// Fingerprint of the terms with the client left out: clients differ, everything else must not.
fn terms(job: &JobSpec, me: &str) -> String {
    let mut terms = Terms::of(job).json().clone();
    let client = job.peer_of(me);
    terms["reveal_to"] = json!(["client"]);
    terms["order"] =
        json!(job.parties.names().iter().map(|name| if *name == client { "client" } else { name }).collect::<Vec<_>>());
    if let Value::Object(parties) = &mut terms["parties"] {
        parties.remove(client);
    }
    if let Value::Object(gives) = &mut terms["gives"] {
        gives.remove(client);
    }
    Terms::from_peer(&terms).agreement()
}

/// Fingerprint of the keys and the given rows of a table.
fn data(loaded: &Loaded) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 prepared data");
    for (index, key) in loaded.keys().iter().enumerate() {
        hasher.update(&(key.len() as u64).to_le_bytes()).update(key);
        if let Some(rows) = loaded.given_rows() {
            hasher.update(&(rows.item(index).len() as u64).to_le_bytes()).update(rows.item(index));
        }
    }
    hasher.finalize().to_hex().to_string()
}

fn write_clients(directory: &Path, clients: &BTreeMap<String, u64>) -> Result<()> {
    let text = serde_json::to_string_pretty(clients).map_err(|error| Error::Internal(error.to_string()))?;
    write_whole(&directory.join(CLIENTS_FILE), |file| writeln!(file, "{text}"))
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::Input(format!("{}: cannot remove: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Keeps other processes out of a prepared part until the file is dropped.
fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK_FILE);
    let bad = |error: std::io::Error| Error::Input(format!("{}: cannot lock: {error}", path.display()));
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(bad)?;
    flock(&file, FlockOperation::LockExclusive).map_err(|error| bad(error.into()))?;
    Ok(file)
}
