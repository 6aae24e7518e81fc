//! Ledger of the keys that desks have asked, and may still ask. A charge is on disk before the question is answered.
//! Many that ask at once are charged by one write.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::text::json;
use tacita_node::jobs::intersect::live::Quota;

use crate::clock::{self, DAY};
use crate::journal::{Journal, Key};

const FILE: &str = "quotas.sealed";

/// A journal that is longer is begun again.
const LONG: u64 = 4 << 20;

/// Questions that are charged by one write, at most.
const TOGETHER: usize = 512;

/// Questions of one client that are not charged again if they are asked again: the answer may have been lost on its
/// way.
const REMEMBERED: usize = 4;

/// Mark of a question, by which it is known again.
pub(crate) type Mark = [u8; 16];

/// Account of one client's questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Account {
    /// Keys, as long as the list is kept.
    in_all: u64,
    /// Day of the latest charge, in days since 1970.
    day: u64,
    /// Keys on that day.
    today: u64,
    /// Marks of the latest questions.
    marks: Vec<Mark>,
}

/// Accounts of all clients, by their fingerprints.
type Accounts = BTreeMap<String, Account>;

/// Outcome of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charged {
    /// Charge that is on disk, and the number of keys that are still allowed.
    Paid { left: u64 },
    /// Refusal of the charge, and the number of keys that are allowed.
    Spent { left: u64 },
    /// Refusal of the charge: the maximum number of other clients have asked already.
    NotAdmitted,
}

struct Charge {
    client: String,
    keys: u64,
    mark: Mark,
    reply: SyncSender<Result<Charged>>,
}

/// The ledger of a list.
pub(crate) struct Ledger {
    accounts: Arc<Mutex<Accounts>>,
    quota: Quota,
    charges: Sender<Charge>,
}

impl Ledger {
    /// Goes on with the ledger in a directory, or begins one.
    pub(crate) fn open(folder: &Arc<Folder>, key: &Key, quota: Quota) -> Result<Ledger> {
        let accounts = read(folder, key)?.unwrap_or_default();
        let journal = Journal::begin(folder, FILE, key, &encode(&accounts)?)?;
        let accounts = Arc::new(Mutex::new(accounts));
        let (charges, waiting) = channel();
        let shared = accounts.clone();
        std::thread::spawn(move || keep(&waiting, journal, &shared, quota));
        Ok(Ledger { accounts, quota, charges })
    }

    /// Whether a directory has one.
    pub(crate) fn is_in(folder: &Folder) -> bool {
        folder.has(FILE)
    }

    /// Takes `keys` from what a client may still ask; on disk before this returns. A question that was charged is not
    /// charged again.
    pub(crate) fn charge(&self, client: &str, keys: u64, mark: Mark) -> Result<Charged> {
        let (reply, answer) = sync_channel(1);
        let gone = |_| Error::Internal("nobody keeps the ledger any more".into());
        self.charges.send(Charge { client: client.to_owned(), keys, mark, reply }).map_err(|_| gone(()))?;
        answer.recv().map_err(|_| gone(()))?
    }

    /// Returns the number of keys that a client may still ask today.
    pub(crate) fn left(&self, client: &str) -> u64 {
        let accounts = lock(&self.accounts);
        let account = accounts.get(client).cloned().unwrap_or_default();
        left(&account.on(today()), self.quota)
    }

    /// Returns the number of clients that have asked, and the total number of keys that they asked.
    pub(crate) fn totals(&self) -> (usize, u64) {
        let accounts = lock(&self.accounts);
        (accounts.len(), accounts.values().fold(0, |all, account| all.saturating_add(account.in_all)))
    }
}

impl Account {
    /// Returns the account as it stands on a day. A clock that is put back begins no new day.
    fn on(&self, day: u64) -> Account {
        if day > self.day { Account { day, today: 0, ..self.clone() } } else { self.clone() }
    }
}

fn today() -> u64 {
    clock::now() / DAY
}

fn left(account: &Account, quota: Quota) -> u64 {
    let in_all = quota.in_all.map_or(u64::MAX, |most| most.saturating_sub(account.in_all));
    let daily = quota.daily.map_or(u64::MAX, |most| most.saturating_sub(account.today));
    in_all.min(daily)
}

/// Applies a charge to the accounts, and returns the account that has changed by it.
fn decide(accounts: &Accounts, charge: &Charge, day: u64, quota: Quota) -> (Charged, Option<Account>) {
    let known = accounts.get(&charge.client);
    if known.is_none() && accounts.len() as u64 >= quota.clients {
        return (Charged::NotAdmitted, None);
    }
    let mut account = known.cloned().unwrap_or_default().on(day);
    let free = left(&account, quota);
    if account.marks.contains(&charge.mark) {
        return (Charged::Paid { left: free }, None);
    }
    if charge.keys > free {
        return (Charged::Spent { left: free }, None);
    }
    account.in_all += charge.keys;
    account.today += charge.keys;
    account.marks.insert(0, charge.mark);
    account.marks.truncate(REMEMBERED);
    (Charged::Paid { left: free - charge.keys }, Some(account))
}

/// Charges what comes, as much of it as waits by one write.
fn keep(waiting: &Receiver<Charge>, mut journal: Journal, shared: &Mutex<Accounts>, quota: Quota) {
    while let Ok(first) = waiting.recv() {
        let charges: Vec<Charge> = std::iter::once(first).chain(waiting.try_iter().take(TOGETHER - 1)).collect();
        let mut accounts = lock(shared).clone();
        let mut changed = Accounts::new();
        let day = today();
        let mut outcomes = Vec::with_capacity(charges.len());
        for charge in &charges {
            let (charged, account) = decide(&accounts, charge, day, quota);
            outcomes.push(charged);
            if let Some(account) = account {
                accounts.insert(charge.client.clone(), account.clone());
                changed.insert(charge.client.clone(), account);
            }
        }
        // A question that is asked again is charged already, but what was charged may not be on disk yet.
        let written =
            if changed.is_empty() && !journal.is_broken() { Ok(()) } else { write(&mut journal, &accounts, &changed) };
        // What may be on disk counts, also if it may not: nobody gets more than the quota by a disk that fails.
        *lock(shared) = accounts;
        for (charge, outcome) in charges.into_iter().zip(outcomes) {
            let paid = matches!(outcome, Charged::Paid { .. });
            let told = if paid { written.clone().map(|()| outcome) } else { Ok(outcome) };
            // Whoever asked may be gone.
            let _ = charge.reply.send(told);
        }
    }
}

fn write(journal: &mut Journal, all: &Accounts, changed: &Accounts) -> Result<()> {
    if journal.is_broken() || journal.bytes() > LONG {
        journal.begin_again(&encode(all)?)
    } else {
        journal.append(&encode(changed)?)
    }
}

fn read(folder: &Folder, key: &Key) -> Result<Option<Accounts>> {
    let Some(kept) = Journal::read(folder, FILE, key)? else { return Ok(None) };
    let mut accounts = Accounts::new();
    for record in std::iter::once(&kept.state).chain(&kept.changes) {
        let changed: Accounts = serde_json::from_slice(record)
            .map_err(|_| Error::Input(format!("{}: of another version of this program", folder.at(FILE).display())))?;
        accounts.extend(changed);
    }
    Ok(Some(accounts))
}

fn encode(accounts: &Accounts) -> Result<Vec<u8>> {
    json(serde_json::to_vec(accounts))
}

fn lock(accounts: &Mutex<Accounts>) -> MutexGuard<'_, Accounts> {
    accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    const QUOTA: Quota = Quota { in_all: Some(100), daily: Some(30), clients: 2 };

    fn key() -> Key {
        Key::new(Zeroizing::new([1; 32]))
    }

    fn charge(client: &str, keys: u64, mark: u8) -> Charge {
        Charge { client: client.into(), keys, mark: [mark; 16], reply: sync_channel(1).0 }
    }

    #[test]
    fn days_and_all_days_are_counted_and_a_clock_put_back_gives_nothing() {
        let mut accounts = Accounts::new();
        let mut asks = |keys, mark, day| {
            let (charged, account) = decide(&accounts, &charge("a", keys, mark), day, QUOTA);
            account.map(|account| accounts.insert("a".into(), account));
            charged
        };
        assert_eq!(asks(30, 1, 10), Charged::Paid { left: 0 });
        assert_eq!(asks(1, 2, 10), Charged::Spent { left: 0 });
        assert_eq!(asks(30, 3, 11), Charged::Paid { left: 0 });
        assert_eq!(asks(1, 4, 10), Charged::Spent { left: 0 });
        assert_eq!(asks(31, 5, 12), Charged::Spent { left: 30 });
        assert_eq!(asks(30, 6, 12), Charged::Paid { left: 0 });
        // The same question again is free; of 100 in all, 10 are left.
        assert_eq!(asks(30, 6, 13), Charged::Paid { left: 10 });
        assert_eq!(asks(11, 7, 13), Charged::Spent { left: 10 });
        assert_eq!(asks(10, 8, 13), Charged::Paid { left: 0 });
    }

    #[test]
    fn no_more_clients_ask_than_may() {
        let accounts: Accounts = ["a", "b"].map(|name| (name.to_owned(), Account::default())).into();
        assert_eq!(decide(&accounts, &charge("c", 1, 1), 1, QUOTA).0, Charged::NotAdmitted);
        assert_eq!(decide(&accounts, &charge("b", 1, 1), 1, QUOTA).0, Charged::Paid { left: 29 });
    }

    /// A charge that could not be written is no answer, and the same question again is none before it is on disk.
    #[test]
    fn nothing_is_paid_that_is_not_on_disk() {
        let home = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::open(home.path()).unwrap());
        let mut journal = Journal::begin(&folder, FILE, &key(), &encode(&Accounts::new()).unwrap()).unwrap();
        journal.fail();
        let (charges, waiting) = channel();
        let shared = Mutex::default();
        std::thread::scope(|scope| {
            let accounts = &shared;
            scope.spawn(move || keep(&waiting, journal, accounts, QUOTA));
            let ask = |mark| {
                let (reply, answer) = sync_channel(1);
                charges.send(Charge { reply, ..charge("a", 3, mark) }).unwrap();
                answer.recv().unwrap()
            };
            let in_all = || read(&folder, &key()).unwrap().unwrap().get("a").map(|account| account.in_all);
            ask(1).unwrap_err();
            assert_eq!(in_all(), None);
            assert_eq!(ask(1), Ok(Charged::Paid { left: 27 }));
            assert_eq!(in_all(), Some(3));
            drop(charges);
        });
    }

    /// Many at once, each to the last key, and a ledger that is read again.
    #[test]
    fn what_was_charged_stays_charged() {
        let home = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::open(home.path()).unwrap());
        let quota = Quota { in_all: Some(100), daily: None, clients: 10 };
        let ledger = Ledger::open(&folder, &key(), quota).unwrap();
        let paid = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8u8 {
                let (ledger, paid) = (&ledger, &paid);
                scope.spawn(move || {
                    for round in 0..20u8 {
                        let mark = [thread * 20 + round; 16];
                        if let Charged::Paid { .. } = ledger.charge("a", 3, mark).unwrap() {
                            paid.fetch_add(3, std::sync::atomic::Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!((paid.into_inner(), ledger.left("a")), (99, 1));
        // Without closing it.
        let again = Ledger::open(&folder, &key(), quota).unwrap();
        assert_eq!((again.left("a"), again.left("b"), again.totals()), (1, 100, (1, 99)));
        assert_eq!(again.charge("a", 2, [255; 16]), Ok(Charged::Spent { left: 1 }));
        assert_eq!(again.charge("a", 1, [254; 16]), Ok(Charged::Paid { left: 0 }));
    }
}
