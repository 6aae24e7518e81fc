//! Quotas of clients at a prepared part, and the queries charged to them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use crate::agreement::JobSpec;
use crate::base::folder::Folder;
use crate::base::hex::hex;
use crate::base::text;
use crate::base::text::json;
use crate::store::seal::{self, SealKey, SealedReader};

const LEDGER_FILE: &str = "clients.sealed";
const MARK_FILE: &str = "clients.mark";

/// Clients of one epoch, unless the terms say otherwise.
pub const DEFAULT_MAX_CLIENTS: u64 = 1000;

/// Runs that one client can make with as many keys as the terms allow, unless they say otherwise.
pub const DEFAULT_RUNS: u64 = 10;

/// Elements that one key answers at most. Each answer is one of a static Diffie-Hellman oracle, whose known attacks
/// gain about half of log2 of their number in bits (RFC 9497, section 7.2.3): 20 bits of 128 at 2^40.
pub const MAX_TOTAL_QUERIES: u64 = 1 << 40;

/// Limits on the queries of clients in one epoch. The quota follows from the terms, so that both sides derive the
/// tags' length from it.
#[derive(Debug, Clone, Copy)]
pub struct EpochQuota {
    /// Keys of one client, in all runs together.
    pub max_queries: u64,
    /// Maximum number of clients.
    pub max_clients: u64,
}

impl EpochQuota {
    /// The quota of a job.
    pub fn of(job: &JobSpec) -> EpochQuota {
        let client_rows = job.limits.pad_to.or(job.limits.max_rows).unwrap_or_default();
        EpochQuota {
            max_queries: job.limits.max_queries.unwrap_or(client_rows.saturating_mul(DEFAULT_RUNS)),
            max_clients: job.limits.max_clients.unwrap_or(DEFAULT_MAX_CLIENTS),
        }
    }

    /// Keys of all clients in all runs.
    pub fn total(&self) -> u64 {
        self.max_queries.saturating_mul(self.max_clients)
    }
}

/// Queries of clients in one epoch. Sealed under a key that only the holder of the part can derive.
///
/// Each ledger names the file that it took the place of, and a mark beside it names the ledger that was written last.
/// So a ledger that was changed, removed, or put back from an earlier time is noticed; that both were put back together
/// is not.
#[derive(Serialize, Deserialize)]
pub(super) struct Ledger {
    /// Number of earlier versions of the ledger.
    number: u64,
    /// Random name of the file before it, in hexadecimal.
    before: String,
    /// Keys, by the clients' fingerprints.
    clients: BTreeMap<String, u64>,
}

/// Marker of the ledger that was written last.
#[derive(Serialize, Deserialize)]
struct Mark {
    number: u64,
    /// Random name of its file, in hexadecimal.
    ledger: String,
}

impl Ledger {
    /// Writes the ledger of a new epoch: nobody has asked for anything yet.
    pub(super) fn begin(folder: &Folder, key: &SealKey) -> Result<()> {
        Ledger { number: 0, before: String::new(), clients: BTreeMap::new() }.write(folder, key)
    }

    /// Takes `queries` from what `client` may still ask; on disk before this returns. After an error they may be taken
    /// all the same. The caller holds the lock. `name` is what messages call the client.
    pub(super) fn charge(
        folder: &Folder,
        key: &SealKey,
        quota: EpochQuota,
        client: &str,
        queries: u64,
        name: &str,
    ) -> Result<()> {
        let mut ledger = Ledger::read(folder, key)?;
        if !ledger.clients.contains_key(client) && ledger.clients.len() as u64 >= quota.max_clients {
            return Err(Error::Input(format!(
                "{name} is not among the {} that have asked already, and limits.max_clients allows no more: `tacita prepare \
                 --rotate` gives fresh quotas",
                text::counted(quota.max_clients, "client")
            )));
        }
        let asked = ledger.clients.entry(client.to_owned()).or_default();
        if queries > quota.max_queries {
            return Err(Error::Input(format!(
                "{name} wants {} keys, and limits.max_queries is {} keys for each client, in all its runs: agree on a higher limit",
                text::count(queries),
                text::count(quota.max_queries)
            )));
        }
        let total = asked.saturating_add(queries);
        if total > quota.max_queries {
            return Err(Error::Input(format!(
                "{name} has asked for {} and wants {} more; limits.max_queries is {} keys for each client, in all its runs: \
                 `tacita prepare --rotate` gives fresh quotas",
                text::counted(*asked, "key"),
                text::count(queries),
                text::count(quota.max_queries)
            )));
        }
        *asked = total;
        ledger.write(folder, key).map_err(|error| match error {
            Error::Input(text) => Error::Input(format!(
                "{text}; {name} was not answered, but the {} it asked for may be charged already",
                text::counted(queries, "key")
            )),
            error => error,
        })
    }

    /// Returns the summary that the owner is told.
    pub(super) fn told(&self, quota: EpochQuota) -> String {
        let keys = self.clients.values().fold(0, |keys: u64, asked| keys.saturating_add(*asked));
        format!(
            "{} asked so far, for {} in all; no more than {} may, for {} each",
            text::counted(self.clients.len() as u64, "client"),
            text::counted(keys, "key"),
            text::counted(quota.max_clients, "client"),
            text::counted(quota.max_queries, "key")
        )
    }

    /// Reads the ledger that was written last. The caller holds the lock.
    pub(super) fn read(folder: &Folder, key: &SealKey) -> Result<Ledger> {
        let (mut ledger, id): (Ledger, _) = get(folder, LEDGER_FILE, key)?;
        let (mark, _): (Mark, _) = get(folder, MARK_FILE, key)?;
        if (mark.number, &mark.ledger) != (ledger.number, &id) {
            // The one written last, if the process ended before it could write the mark.
            if mark.number.checked_add(1) != Some(ledger.number) || mark.ledger != ledger.before {
                return Err(bad(
                    folder,
                    LEDGER_FILE,
                    "an earlier state, restored from a copy or left by a power failure",
                ));
            }
            put(folder, MARK_FILE, key, &Mark { number: ledger.number, ledger: id.clone() })?;
        }
        // What is written next comes after it.
        ledger.number += 1;
        ledger.before = id;
        Ok(ledger)
    }

    fn write(&self, folder: &Folder, key: &SealKey) -> Result<()> {
        let ledger = put(folder, LEDGER_FILE, key, self)?;
        put(folder, MARK_FILE, key, &Mark { number: self.number, ledger }).map(drop)
    }
}

/// Seals a file, on disk before this returns. Returns its random name, in hexadecimal.
fn put(folder: &Folder, name: &str, key: &SealKey, content: &impl Serialize) -> Result<String> {
    let bytes = json(serde_json::to_vec(content))?;
    let advice = "make room, then run the command again".into();
    seal::put(folder, name, key, name, bytes, advice).map(|id| hex(&id))
}

/// Returns the contents of a sealed file, and its random name in hexadecimal.
fn get<T: DeserializeOwned>(folder: &Folder, name: &str, key: &SealKey) -> Result<(T, String)> {
    folder.read(name).map_err(|error| bad(folder, name, &format!("cannot read: {error}")))?;
    let damaged = || bad(folder, name, "damaged, or of another part");
    let reader = SealedReader::open(folder, name, key, name).map_err(|_| damaged())?;
    let id = hex(&reader.id());
    let content = reader.only().map_err(|_| damaged())?;
    Ok((serde_json::from_slice(&content).map_err(|_| damaged())?, id))
}

fn bad(folder: &Folder, name: &str, what: &str) -> Error {
    Error::Input(format!("{}: {what}: replace the part with `tacita prepare --rotate`", folder.at(name).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: EpochQuota = EpochQuota { max_queries: 100, max_clients: 3 };

    fn key() -> SealKey {
        SealKey::new(zeroize::Zeroizing::new([7; 32]))
    }

    fn asked(folder: &Folder) -> BTreeMap<String, u64> {
        Ledger::read(folder, &key()).unwrap().clients
    }

    fn charge(folder: &Folder, queries: u64) -> Result<()> {
        Ledger::charge(folder, &key(), QUOTA, "a", queries, "a")
    }

    fn refused(folder: &Folder, words: &[&str]) {
        let error = charge(folder, 1).unwrap_err().to_string();
        let said = words.iter().chain(&["--rotate"]).all(|word| error.contains(word));
        assert!(said && !error.contains('\n'), "{error}");
    }

    /// The files of the ledger, to be put back.
    fn keep(folder: &Folder) -> [Vec<u8>; 2] {
        [LEDGER_FILE, MARK_FILE].map(|name| std::fs::read(folder.at(name)).unwrap())
    }

    #[test]
    fn earlier_states_and_lost_files_are_noticed() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        Ledger::begin(&folder, &key()).unwrap();
        let states: Vec<_> = (0..4)
            .map(|_| {
                charge(&folder, 10).unwrap();
                keep(&folder)
            })
            .collect();
        let [ledger, mark] = &states[3];
        for (number, earlier) in states[..3].iter().enumerate() {
            std::fs::write(folder.at(LEDGER_FILE), &earlier[0]).unwrap();
            refused(&folder, &[LEDGER_FILE, "restored from a copy"]);
            std::fs::write(folder.at(LEDGER_FILE), ledger).unwrap();
            // A mark that is one behind is what a process leaves that ends between the two; nothing is forgotten by it.
            std::fs::write(folder.at(MARK_FILE), &earlier[1]).unwrap();
            match number {
                2 => assert_eq!(asked(&folder)["a"], 40),
                _ => refused(&folder, &[LEDGER_FILE, "restored from a copy"]),
            }
            std::fs::write(folder.at(MARK_FILE), mark).unwrap();
        }
        for name in [LEDGER_FILE, MARK_FILE] {
            let whole = std::fs::read(folder.at(name)).unwrap();
            for length in [0, 10, whole.len() - 1] {
                std::fs::write(folder.at(name), &whole[..length]).unwrap();
                refused(&folder, &[name, "damaged"]);
            }
            for position in 0..whole.len() {
                let mut changed = whole.clone();
                changed[position] ^= 1;
                std::fs::write(folder.at(name), changed).unwrap();
                refused(&folder, &[name, "damaged"]);
            }
            std::fs::remove_file(folder.at(name)).unwrap();
            refused(&folder, &[name, "cannot read"]);
            std::os::unix::fs::symlink("/etc/hostname", folder.at(name)).unwrap();
            refused(&folder, &[name, "is a link"]);
            std::fs::remove_file(folder.at(name)).unwrap();
            std::fs::write(folder.at(name), whole).unwrap();
        }
        // One file in the place of the other, and those of another part.
        std::fs::write(folder.at(LEDGER_FILE), mark).unwrap();
        refused(&folder, &[LEDGER_FILE, "damaged"]);
        std::fs::write(folder.at(LEDGER_FILE), ledger).unwrap();
        let other = SealKey::new(zeroize::Zeroizing::new([8; 32]));
        assert!(Ledger::read(&folder, &other).is_err());
        assert_eq!(asked(&folder)["a"], 40);
    }

    #[test]
    fn a_charge_that_may_not_last_is_told_and_counts() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        Ledger::begin(&folder, &key()).unwrap();
        let [_, mark] = keep(&folder);
        let error = charge(&Folder::unflushable(home.path()), 10).unwrap_err().to_string();
        let words = ["/clients.sealed: cannot be written", "10 keys it asked for may be charged already"];
        assert!(words.iter().all(|word| error.contains(word)) && !error.contains('\n'), "{error}");
        // The mark names nothing that could still be lost.
        assert_eq!(keep(&folder)[1], mark);
        assert_eq!(asked(&folder)["a"], 10);
    }

    #[test]
    fn a_process_that_ends_between_ledger_and_mark_loses_nothing_however_often() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        Ledger::begin(&folder, &key()).unwrap();
        for round in 1..=3 {
            let [_, mark] = keep(&folder);
            charge(&folder, 10).unwrap();
            std::fs::write(folder.at(MARK_FILE), mark).unwrap();
            assert_eq!(asked(&folder)["a"], 10 * round);
        }
        // Two histories of one part do not mix: here the later ledger of one, and the mark of the other.
        let before = keep(&folder);
        let put_back = || {
            std::fs::write(folder.at(LEDGER_FILE), &before[0]).unwrap();
            std::fs::write(folder.at(MARK_FILE), &before[1]).unwrap();
        };
        charge(&folder, 10).unwrap();
        let [_, other] = keep(&folder);
        put_back();
        charge(&folder, 20).unwrap();
        std::fs::write(folder.at(MARK_FILE), other).unwrap();
        refused(&folder, &[LEDGER_FILE, "restored from a copy"]);
        // Nor do they where the mark is one behind, as what a process leaves that ends between the two.
        put_back();
        charge(&folder, 10).unwrap();
        charge(&folder, 10).unwrap();
        let [later, _] = keep(&folder);
        put_back();
        charge(&folder, 20).unwrap();
        std::fs::write(folder.at(LEDGER_FILE), later).unwrap();
        refused(&folder, &[LEDGER_FILE, "restored from a copy"]);
    }

    /// Checks that the queries of one client in all its runs, and the number of clients, are bounded exactly to the
    /// key.
    #[test]
    fn nobody_asks_more_than_was_agreed_on() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        Ledger::begin(&folder, &key()).unwrap();
        let charge = |client: &str, queries| Ledger::charge(&folder, &key(), QUOTA, client, queries, client);
        let refused = |client, queries, words: &str| {
            let error = charge(client, queries).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        charge("a", 60).unwrap();
        refused("a", 41, "has asked for 60 keys and wants 41 more");
        charge("a", 40).unwrap();
        refused("a", 1, "wants 1 more");
        refused("b", 101, "limits.max_queries is 100 keys");
        charge("b", 100).unwrap();
        charge("c", 0).unwrap();
        refused("d", 1, "not among the 3 clients");
        charge("c", 100).unwrap();
        assert_eq!(
            asked(&folder).into_iter().collect::<Vec<_>>(),
            ["a", "b", "c"].map(|client| (client.to_owned(), 100))
        );
    }
}
