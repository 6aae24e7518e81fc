//! The list as it is kept: its rows, the epoch's table, and what is on disk of both.

use std::sync::{Arc, Mutex, RwLock};

use rand_core::Rng;
use tacita_core::protocol::intersect::live::{Facts, List, ListDraft, ListState, ListStep, MAX_CHANGES};
use tacita_core::{Error, Result};
use tacita_node::agreement::Terms;
use tacita_node::base::folder::Folder;
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::advised;
use tacita_node::jobs::intersect::live::{EncodedRow, Live, Roll};
use zeroize::Zeroizing;

use super::schedule::{Moment, Schedule};
use crate::clock;
use crate::journal::{Journal, Kept, Key};

const FILE: &str = "list.sealed";

/// First byte of a stored state, and of a change.
const VERSION: u8 = 2;

/// A journal that is longer than this, and than twice what it began with, is begun again.
const LONG: u64 = 16 << 20;

/// A key, and the table under it.
pub(crate) struct Epoch {
    /// Random identifier of the epoch.
    pub(crate) id: [u8; 32],
    /// Time at which the epoch began, in seconds since 1970.
    pub(crate) begun: u64,
    /// Time at which the epoch ends by the schedule.
    due: u64,
    pub(crate) list: RwLock<List>,
    /// The table as it was lately, which desks that fetch it share: they get what has changed since with their next
    /// question.
    lately: Mutex<Option<(ListState, Arc<Vec<u8>>)>>,
}

/// A table that has changed more often since is not handed out any more.
const LATELY: u64 = (MAX_CHANGES / 4) as u64;

impl Epoch {
    fn of(id: [u8; 32], (begun, due): (u64, u64), list: List) -> Epoch {
        Epoch { id, begun, due, list: RwLock::new(list), lately: Mutex::default() }
    }

    /// A table of the epoch, and what a desk is told of it.
    pub(crate) fn table(&self) -> (Facts, Arc<Vec<u8>>) {
        let list = self.list.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut lately = self.lately.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = list.state();
        let kept = lately.take().filter(|(state, _)| now.version - state.version <= LATELY);
        let (state, table) = kept.unwrap_or_else(|| (now, Arc::new(list.table().to_vec())));
        *lately = Some((state, table.clone()));
        (Facts { id: self.id, state, lasts: self.due.saturating_sub(clock::now()) }, table)
    }
}

/// The next key, and all tags under it, while the epoch before goes on.
pub(crate) struct Next {
    id: [u8; 32],
    item_keys: Vec<[u8; 32]>,
    draft: ListDraft,
}

impl Next {
    /// A fresh key and the tags of these rows; it takes as long as the list is.
    pub(crate) fn prepare(live: &Live, roll: &Roll) -> Result<Next> {
        let (mut id, mut rng) = ([0; 32], fresh_rng()?);
        rng.fill_bytes(&mut id);
        let bound = live.epoch(&id);
        let item_keys = live.item_keys(&bound);
        let draft = ListDraft::new(&roll.all_items(&item_keys), bound, live.params, &mut rng).map_err(no_room)?;
        Ok(Next { id, item_keys, draft })
    }

    /// The epoch of these rows, which begins now and ends by the schedule.
    fn begin(mut self, roll: &Roll, due: u64) -> Result<Epoch> {
        self.draft.update(&roll.all_items(&self.item_keys)).map_err(no_room)?;
        Ok(Epoch::of(self.id, (clock::now(), due), self.draft.begin(&mut fresh_rng()?)))
    }
}

/// Adds to an error what can be done about a list that is full.
fn no_room(error: Error) -> Error {
    advised(error, "agree on a larger limits.pad_to")
}

/// State that is kept of a list.
pub(crate) struct Keeper {
    live: Arc<Live>,
    roll: Roll,
    epoch: Arc<Epoch>,
    schedule: Schedule,
    journal: Journal,
}

/// Outcome of a change.
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
    pub(crate) fn begin(live: Arc<Live>, folder: Arc<Folder>, key: Key, rows: Vec<EncodedRow>) -> Result<Keeper> {
        let mut roll = Roll::default();
        let rows = roll.plan(rows, true).rows;
        roll.apply(&live, &rows, true)?;
        let schedule = Schedule::begin(live.rotate_within(), Moment::now());
        let epoch = Arc::new(Next::prepare(&live, &roll)?.begin(&roll, schedule.due())?);
        let journal = Journal::begin(&folder, FILE, &key, &encode(&live, &epoch, &roll)?)?;
        Ok(Keeper { live, roll, epoch, schedule, journal })
    }

    /// Goes on with the list in a directory.
    ///
    /// Errors ([`Error::Input`]): it is damaged, of an earlier version, or of other terms.
    pub(crate) fn open(live: Arc<Live>, folder: Arc<Folder>, key: Key) -> Result<Keeper> {
        let path = folder.at(FILE);
        let damaged = || Error::Input(format!("{}: damaged, or of another version of this program", path.display()));
        let Kept { state, changes } = Journal::read(&folder, FILE, &key)?.ok_or_else(damaged)?;
        if state.first().is_some_and(|version| *version < VERSION) {
            return Err(Error::Input(format!(
                "{}: written by an earlier version of this program, in a format that is no longer read: begin a new list with \
                 --input in another --state directory (with fresh quotas)",
                path.display()
            )));
        }
        let (terms, epoch, mut roll) = decode(&live, &state).ok_or_else(damaged)??;
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
                let (added, steps, rows) = decode_change(change).ok_or_else(damaged)?;
                list.apply(&steps).map_err(|_| damaged())?;
                roll.apply(&live, &rows, added).map_err(|_| damaged())?;
            }
        }
        let now = Moment::now();
        // A clock that shows a time before the epoch began says nothing of how long that has been.
        let due = if now.wall < epoch.begun { now.wall } else { epoch.due };
        let schedule = Schedule::resume(live.rotate_within(), due, now);
        let epoch = Arc::new(Epoch { due: schedule.due(), ..epoch });
        let journal = Journal::begin(&folder, FILE, &key, &encode(&live, &epoch, &roll)?)?;
        Ok(Keeper { live, roll, epoch, schedule, journal })
    }

    /// Returns the current epoch.
    pub(crate) fn epoch(&self) -> Arc<Epoch> {
        self.epoch.clone()
    }

    /// Returns the number of rows on the list.
    pub(crate) fn rows(&self) -> usize {
        self.roll.len()
    }

    /// Adds rows, or takes them off: on disk before any desk sees it. `None`, and nothing done, if there has to be
    /// another key first.
    pub(crate) fn change(&mut self, rows: Vec<EncodedRow>, added: bool) -> Result<Option<Outcome>> {
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
            let (gone, come) = if added { (&[][..], &items[..]) } else { (&items[..], &[][..]) };
            let planned = self
                .epoch
                .list
                .read()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .plan(gone, come)
                .map_err(no_room)?;
            let Some(steps) = planned else { return Ok(None) };
            if self.journal.is_broken() {
                self.begin_again()?;
            }
            self.journal.append(&encode_change(added, &steps, &plan.rows))?;
            self.epoch.list.write().unwrap_or_else(|poisoned| poisoned.into_inner()).apply(&steps)?;
            self.roll.apply(&self.live, &plan.rows, added)?;
            if self.journal.is_long(LONG) {
                self.begin_again()?;
            }
        }
        Ok(Some(Outcome { changed: plan.rows.len(), left_out: plan.left_out, rows: self.roll.len() }))
    }

    /// Writes down that the epoch began at another time.
    #[cfg(test)]
    pub(crate) fn begun_at(&mut self, begun: u64) {
        let Epoch { id, due, ref list, .. } = *self.epoch;
        let list = list.read().unwrap();
        let bytes = list.to_bytes();
        let epoch = Epoch::of(id, (begun, due), List::from_bytes(&bytes).unwrap());
        drop(list);
        self.epoch = Arc::new(epoch);
        self.begin_again().unwrap();
    }

    fn begin_again(&mut self) -> Result<()> {
        let state = encode(&self.live, &self.epoch, &self.roll)?;
        self.journal.begin_again(&state)
    }

    /// Returns the schedule of key changes.
    pub(crate) fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// The rows as they are now, to prepare the next epoch while this one goes on.
    pub(crate) fn next(&self) -> (Arc<Live>, Roll) {
        (self.live.clone(), self.roll.clone())
    }

    /// Goes over to the next epoch, with what has changed since it was begun to be prepared; on disk before this
    /// returns. The schedule goes on where it was, unless its time has come.
    pub(crate) fn rotate(&mut self, next: Next, now: Moment) -> Result<()> {
        let is_due = self.schedule.left(now).is_zero();
        let schedule = if is_due { self.schedule.passed(now) } else { self.schedule };
        let epoch = next.begin(&self.roll, schedule.due())?;
        // If this fails, what comes next writes down the list as it is served, and not as it might be there.
        self.journal.begin_again(&encode(&self.live, &epoch, &self.roll)?)?;
        (self.epoch, self.schedule) = (Arc::new(epoch), schedule);
        Ok(())
    }
}

/// Encodes the complete state that is kept.
fn encode(live: &Live, epoch: &Epoch, roll: &Roll) -> Result<Zeroizing<Vec<u8>>> {
    let list = epoch.list.read().unwrap_or_else(|poisoned| poisoned.into_inner()).to_bytes();
    let mut out = Zeroizing::new(Vec::with_capacity(list.len() + 128 * roll.len() + 256));
    out.push(VERSION);
    put(&mut out, Terms::of(&live.job).agreement().as_bytes())?;
    out.extend(epoch.id);
    out.extend(epoch.begun.to_le_bytes());
    out.extend(epoch.due.to_le_bytes());
    put(&mut out, &list)?;
    roll.rows().try_for_each(|row| put(&mut out, row))?;
    Ok(out)
}

type Stored = (String, Epoch, Roll);

/// Parses the output of [`encode`].
fn decode(live: &Live, mut bytes: &[u8]) -> Option<Result<Stored>> {
    let bytes = &mut bytes;
    if take::<1>(bytes)? != [VERSION] {
        return None;
    }
    let terms = String::from_utf8(get(bytes)?.to_vec()).ok()?;
    let (id, begun, due) = (take(bytes)?, u64::from_le_bytes(take(bytes)?), u64::from_le_bytes(take(bytes)?));
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
    Some(Ok((terms, Epoch::of(id, (begun, due), list), roll)))
}

fn encode_change(added: bool, steps: &[ListStep], rows: &[EncodedRow]) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(vec![VERSION, u8::from(added)]);
    // Neither is longer than what was read into memory for it.
    for part in std::iter::once(ListStep::encode_all(steps)).chain(rows.iter().cloned()) {
        out.extend((part.len() as u32).to_le_bytes());
        out.extend(part);
    }
    out
}

fn decode_change(mut bytes: &[u8]) -> Option<(bool, Vec<ListStep>, Vec<EncodedRow>)> {
    let bytes = &mut bytes;
    let [version, added] = take(bytes)?;
    let steps = ListStep::decode_all(get(bytes)?)?;
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        rows.push(get(bytes)?.to_vec());
    }
    (version == VERSION && added <= 1).then_some((added == 1, steps, rows))
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
