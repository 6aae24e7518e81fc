//! The list as it is kept: its rows, the epoch's table, and what is on disk of both.

use std::sync::{Arc, Mutex, RwLock};

use chacha20::ChaCha20Rng;
use rand_core::Rng;
use tacita_core::protocol::intersect::live::{Facts, List, MAX_CHANGES, State, Step};
use tacita_core::{Error, Result};
use tacita_node::agreement::Terms;
use tacita_node::base::folder::Folder;
use tacita_node::base::random::fresh_rng;
use tacita_node::jobs::intersect::live::{EPOCH_DAYS, Live, Roll, Row};
use zeroize::Zeroizing;

use crate::clock::{self, DAY};
use crate::journal::{Journal, Kept, Key};

const FILE: &str = "list.sealed";

/// First byte of a stored state, and of a change.
const VERSION: u8 = 1;

/// A journal that is longer than this, and than twice its list, is begun again.
const LONG: u64 = 16 << 20;

/// A key, and the table under it.
pub(crate) struct Epoch {
    /// Its random id.
    pub(crate) id: [u8; 32],
    /// When it began, in seconds since 1970.
    pub(crate) begun: u64,
    pub(crate) list: RwLock<List>,
    /// The table as it was lately, which desks that fetch it share: they get what has changed since with their next question.
    lately: Mutex<Option<(State, Arc<Vec<u8>>)>>,
}

/// A table that has changed more often since is not handed out any more.
const LATELY: u64 = (MAX_CHANGES / 4) as u64;

impl Epoch {
    fn of(id: [u8; 32], begun: u64, list: List) -> Epoch {
        Epoch { id, begun, list: RwLock::new(list), lately: Mutex::default() }
    }

    /// A table of the epoch, and what a desk is told of it.
    pub(crate) fn table(&self) -> (Facts, Arc<Vec<u8>>) {
        let list = self.list.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut lately = self.lately.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = list.state();
        let kept = lately.take().filter(|(state, _)| now.version - state.version <= LATELY);
        let (state, table) = kept.unwrap_or_else(|| (now, Arc::new(list.table().to_vec())));
        *lately = Some((state, table.clone()));
        let ends = self.begun + EPOCH_DAYS * DAY;
        (Facts { id: self.id, state, lasts: ends.saturating_sub(clock::now()) }, table)
    }

    /// An epoch of these rows, under a fresh key.
    fn new(live: &Live, roll: &Roll, rng: &mut ChaCha20Rng) -> Result<Epoch> {
        let mut id = [0; 32];
        rng.fill_bytes(&mut id);
        let bound = live.epoch(&id);
        let items = roll.all_items(&live.item_keys(&bound));
        let list = List::new(&items, bound, live.params, rng)?;
        Ok(Epoch::of(id, clock::now(), list))
    }
}

/// What is kept of a list.
pub(crate) struct Keeper {
    live: Arc<Live>,
    roll: Roll,
    epoch: Arc<Epoch>,
    /// When the first row was removed in this epoch.
    removed: Option<u64>,
    journal: Journal,
}

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Rows that were added, or removed.
    pub(crate) changed: usize,
    /// Rows that were there already, or were not there.
    pub(crate) left_out: usize,
    /// Rows on the list now.
    pub(crate) rows: usize,
}

impl Keeper {
    /// Whether a directory has a list.
    pub(crate) fn is_in(folder: &Folder) -> bool {
        folder.has(FILE)
    }

    /// Begins a list with these rows.
    pub(crate) fn begin(live: Arc<Live>, folder: Arc<Folder>, key: Key, rows: Vec<Row>) -> Result<Keeper> {
        let mut roll = Roll::default();
        let rows = roll.plan(rows, true).rows;
        roll.apply(&live, &rows, true)?;
        let epoch = Arc::new(Epoch::new(&live, &roll, &mut fresh_rng()?)?);
        let journal = Journal::begin(&folder, FILE, &key, &encode(&live, &epoch, None, &roll)?)?;
        Ok(Keeper { live, roll, epoch, removed: None, journal })
    }

    /// Goes on with the list in a directory.
    ///
    /// Errors ([`Error::Input`]): it is damaged, or of other terms.
    pub(crate) fn open(live: Arc<Live>, folder: Arc<Folder>, key: Key) -> Result<Keeper> {
        let path = folder.at(FILE);
        let damaged = || Error::Input(format!("{}: damaged, or of another version of this program", path.display()));
        let Kept { state, changes } = Journal::read(&folder, FILE, &key)?.ok_or_else(damaged)?;
        let (terms, epoch, mut removed, mut roll) = decode(&live, &state).ok_or_else(damaged)??;
        if terms != Terms::of(&live.job).agreement() {
            return Err(Error::Input(format!(
                "{}: the list was begun with another job file (other terms): serve that one, or begin a new list in another directory, with \
                 fresh quotas",
                folder.path().display()
            )));
        }
        {
            let mut list = epoch.list.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            for change in &changes {
                let (added, time, steps, rows) = decode_change(change).ok_or_else(damaged)?;
                list.apply(&steps).map_err(|_| damaged())?;
                roll.apply(&live, &rows, added).map_err(|_| damaged())?;
                if !added {
                    removed = removed.or(Some(time));
                }
            }
        }
        let journal = Journal::begin(&folder, FILE, &key, &encode(&live, &epoch, removed, &roll)?)?;
        Ok(Keeper { live, roll, epoch: Arc::new(epoch), removed, journal })
    }

    /// The epoch.
    pub(crate) fn epoch(&self) -> Arc<Epoch> {
        self.epoch.clone()
    }

    /// How many rows are on the list.
    pub(crate) fn rows(&self) -> usize {
        self.roll.len()
    }

    /// Adds rows, or takes them off: on disk before any desk sees it.
    pub(crate) fn change(&mut self, rows: Vec<Row>, added: bool) -> Result<Outcome> {
        let plan = self.roll.plan(rows, added);
        let after = if added { self.roll.len() + plan.rows.len() } else { self.roll.len() - plan.rows.len() };
        let most = self.live.job.limits.pad_to.unwrap_or_default();
        if after as u64 > most {
            return Err(Error::Input(format!(
                "the list would have {after} rows, and limits.pad_to is {most}: remove some, or agree on more and begin a new list"
            )));
        }
        if !plan.rows.is_empty() {
            let bound = self.live.epoch(&self.epoch.id);
            let items = self.roll.items(&self.live, &plan.rows, added, &self.live.item_keys(&bound))?;
            let steps = {
                let list = self.epoch.list.read().unwrap_or_else(|poisoned| poisoned.into_inner());
                let (gone, come) = if added { (&[][..], &items[..]) } else { (&items[..], &[][..]) };
                list.plan(gone, come, &mut fresh_rng()?)?
            };
            let now = clock::now();
            if self.journal.is_broken() {
                self.begin_again()?;
            }
            self.journal.append(&encode_change(added, now, &steps, &plan.rows))?;
            self.epoch.list.write().unwrap_or_else(|poisoned| poisoned.into_inner()).apply(&steps)?;
            self.roll.apply(&self.live, &plan.rows, added)?;
            if !added {
                self.removed = self.removed.or(Some(now));
            }
            if self.journal.bytes()
                > LONG.max(2 * (self.live.params.table_bytes() as u64 + 128 * self.roll.len() as u64))
            {
                self.begin_again()?;
            }
        }
        Ok(Outcome { changed: plan.rows.len(), left_out: plan.left_out, rows: self.roll.len() })
    }

    fn begin_again(&mut self) -> Result<()> {
        let state = encode(&self.live, &self.epoch, self.removed, &self.roll)?;
        self.journal.begin_again(&state)
    }

    /// Whether it is time for another key: half of the time after a removal is over, or nearly all of that of an epoch, or the table has
    /// changed so much that it costs less to fetch it.
    pub(crate) fn is_due(&self) -> bool {
        let now = clock::now();
        let removed = self.removed.is_some_and(|removed| now >= removed + self.live.rotate_within() / 2);
        let old = now >= self.epoch.begun + (EPOCH_DAYS - 1) * DAY;
        removed || old || self.epoch.list.read().unwrap_or_else(|poisoned| poisoned.into_inner()).is_worn()
    }

    /// When the first row was removed in this epoch.
    pub(crate) fn removed(&self) -> Option<u64> {
        self.removed
    }

    /// The rows as they are now, to prepare the next epoch while this one goes on.
    pub(crate) fn next(&self) -> (Arc<Live>, Roll) {
        (self.live.clone(), self.roll.clone())
    }

    /// The next epoch of these rows; it takes as long as the list is.
    pub(crate) fn prepare(live: &Live, roll: &Roll) -> Result<Epoch> {
        Epoch::new(live, roll, &mut fresh_rng()?)
    }

    /// Goes over to the next epoch, with what has changed since it was begun to be prepared; on disk before this returns.
    pub(crate) fn rotate(&mut self, next: Epoch, then: &Roll) -> Result<()> {
        let keys = self.live.item_keys(&self.live.epoch(&next.id));
        let (now, before) = (self.roll.all_items(&keys), then.all_items(&keys));
        {
            let mut list = next.list.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            let on_it: std::collections::HashSet<_> = now.iter().copied().collect();
            let gone: Vec<_> = before.into_iter().filter(|item| !on_it.contains(item)).collect();
            // One first: what goes leaves room for what comes.
            let mut rng = fresh_rng()?;
            let steps = list.plan(&gone, &[], &mut rng)?;
            list.apply(&steps)?;
            let steps = list.plan(&[], &now, &mut rng)?;
            list.apply(&steps)?;
            list.settle();
        }
        // If this fails, what comes next writes down the list as it is served, and not as it might be there.
        self.journal.begin_again(&encode(&self.live, &next, None, &self.roll)?)?;
        (self.epoch, self.removed) = (Arc::new(next), None);
        Ok(())
    }
}

/// All that is kept, as bytes.
fn encode(live: &Live, epoch: &Epoch, removed: Option<u64>, roll: &Roll) -> Result<Zeroizing<Vec<u8>>> {
    let list = epoch.list.read().unwrap_or_else(|poisoned| poisoned.into_inner()).to_bytes();
    let mut out = Zeroizing::new(Vec::with_capacity(list.len() + 128 * roll.len() + 256));
    out.push(VERSION);
    put(&mut out, Terms::of(&live.job).agreement().as_bytes())?;
    out.extend(epoch.id);
    out.extend(epoch.begun.to_le_bytes());
    out.extend(removed.unwrap_or(u64::MAX).to_le_bytes());
    put(&mut out, &list)?;
    roll.rows().try_for_each(|row| put(&mut out, row))?;
    Ok(out)
}

type Stored = (String, Epoch, Option<u64>, Roll);

/// What [`encode`] made.
fn decode(live: &Live, mut bytes: &[u8]) -> Option<Result<Stored>> {
    let bytes = &mut bytes;
    if take::<1>(bytes)? != [VERSION] {
        return None;
    }
    let terms = String::from_utf8(get(bytes)?.to_vec()).ok()?;
    let (id, begun, removed) = (take(bytes)?, u64::from_le_bytes(take(bytes)?), u64::from_le_bytes(take(bytes)?));
    let list = List::from_bytes(get(bytes)?)?;
    let (mut roll, mut rows) = (Roll::default(), Vec::new());
    while !bytes.is_empty() {
        rows.push(get(bytes)?.to_vec());
    }
    // Terms that differ are told as that.
    if terms == Terms::of(&live.job).agreement()
        && let Err(error) = roll.apply(live, &rows, true)
    {
        return Some(Err(error));
    }
    Some(Ok((terms, Epoch::of(id, begun, list), (removed != u64::MAX).then_some(removed), roll)))
}

fn encode_change(added: bool, time: u64, steps: &[Step], rows: &[Row]) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(vec![VERSION, u8::from(added)]);
    out.extend(time.to_le_bytes());
    // Neither is longer than what was read into memory for it.
    for part in std::iter::once(Step::encode_all(steps)).chain(rows.iter().cloned()) {
        out.extend((part.len() as u32).to_le_bytes());
        out.extend(part);
    }
    out
}

fn decode_change(mut bytes: &[u8]) -> Option<(bool, u64, Vec<Step>, Vec<Row>)> {
    let bytes = &mut bytes;
    let [version, added] = take(bytes)?;
    let time = u64::from_le_bytes(take(bytes)?);
    let steps = Step::decode_all(get(bytes)?)?;
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        rows.push(get(bytes)?.to_vec());
    }
    (version == VERSION && added <= 1).then_some((added == 1, time, steps, rows))
}

fn put(out: &mut Vec<u8>, part: &[u8]) -> Result<()> {
    let length = u32::try_from(part.len()).map_err(|_| Error::Input("a list of more than 4 GiB".into()))?;
    out.extend(length.to_le_bytes());
    out.extend_from_slice(part);
    Ok(())
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

fn get<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(take(bytes)?) as usize;
    let (first, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(first)
}
