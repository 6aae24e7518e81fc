//! Progress of a queue: one sealed file, replaced whole, which is the mark behind which a shuffle counts.

use std::collections::{BTreeMap, BTreeSet};

use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::store::seal::SealKey;

use super::files::{self, MARK_BYTES, Mark, MarkKey, STATE, decode_mark, encode_mark};
use super::step;

/// A state without batches of elsewhere, and one with their number at the end of its head, and their marks behind the
/// others.
const VERSION: u8 = 1;
const VERSION_ELSEWHERE: u8 = 2;
const HEAD_BYTES: usize = 1 + 1 + 8 + 8 + 8;

/// Marks that are sealed together.
const MARKS_TOGETHER: usize = 256;

/// Data that is kept of a queue beside its reports.
#[derive(Clone)]
pub(super) struct State {
    /// Bytes of a report.
    pub(super) record_bytes: u64,
    /// Number of shuffles so far.
    pub(super) generation: u64,
    /// Whether nothing more is taken.
    pub(super) closed: bool,
    /// Batches of participants that have left, were discarded, or leave elsewhere.
    pub(super) marks: BTreeMap<MarkKey, Mark>,
    /// Marks of batches that leave elsewhere: from another queue, which has claimed them.
    pub(super) elsewhere: BTreeSet<MarkKey>,
}

/// Reason why a state was not written.
pub(super) enum Unwritten {
    /// The one before counts.
    Before(Error),
    /// Failure after which only the next start shows which state counts.
    Unknown(Error),
}

impl State {
    pub(super) fn new(record_bytes: u64) -> State {
        State { record_bytes, generation: 0, closed: false, marks: BTreeMap::new(), elsewhere: BTreeSet::new() }
    }

    /// Marks a batch that another queue has claimed.
    pub(super) fn is_elsewhere(&mut self, key: MarkKey, mark: Mark) {
        self.marks.insert(key, mark);
        self.elsewhere.insert(key);
    }

    pub(super) fn write(&self, folder: &Folder, key: &SealKey) -> std::result::Result<(), Unwritten> {
        let fill = || {
            step("state")?;
            files::write_part(folder, STATE, key, |writer| {
                let elsewhere = self.elsewhere.len() as u64;
                let here = self.marks.len() as u64 - elsewhere;
                let numbers = [self.record_bytes, self.generation, here].map(u64::to_le_bytes).concat();
                writer.write(match elsewhere {
                    0 => [&[VERSION, u8::from(self.closed)][..], &numbers].concat(),
                    _ => {
                        let head = [VERSION_ELSEWHERE, u8::from(self.closed)];
                        [&head[..], &numbers, &elsewhere.to_le_bytes()].concat()
                    }
                })?;
                let (elsewhere, here): (Vec<_>, Vec<_>) =
                    self.marks.iter().partition(|(key, _)| self.elsewhere.contains(*key));
                for marks in here.chunks(MARKS_TOGETHER).chain(elsewhere.chunks(MARKS_TOGETHER)) {
                    writer.write(marks.iter().flat_map(|(key, mark)| encode_mark(key, mark)).collect())?;
                }
                Ok(())
            })?;
            step("state written")?;
            // The files that this state counts are there before it is, and those that the one before did not count are
            // gone.
            folder.flush().map_err(|error| files::cannot_write(folder, STATE, &error))
        };
        fill().map_err(Unwritten::Before)?;
        files::name_whole(folder, STATE).and_then(|()| step("state named")).map_err(Unwritten::Unknown)
    }

    /// Reads the state; nothing if there is none.
    ///
    /// Errors ([`Error::Input`]): it is damaged, or of another key or version.
    pub(super) fn read(folder: &Folder, key: &SealKey) -> Result<Option<State>> {
        if !folder.has(STATE) {
            return Ok(None);
        }
        let damaged = || files::damaged(folder, STATE);
        let mut reader = files::open(folder, STATE, key)?;
        let head = files::next(&mut reader, folder, STATE)?;
        let (numbers, length) = match head.first() {
            Some(&VERSION) => (head.get(2..), HEAD_BYTES),
            Some(&VERSION_ELSEWHERE) => (head.get(2..), HEAD_BYTES + 8),
            Some(_) => {
                let path = folder.at(STATE);
                return Err(Error::Input(format!(
                    "{}: is of another version of this program: use that one",
                    path.display()
                )));
            }
            None => return Err(damaged()),
        };
        let numbers = numbers.filter(|_| head.len() == length && head[1] <= 1).ok_or_else(damaged)?;
        let number = |place: usize| {
            numbers[8 * place..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).ok_or_else(damaged)
        };
        let mut state = State { generation: number(1)?, closed: head[1] == 1, ..State::new(number(0)?) };
        let here = number(2)?;
        let elsewhere = if head[0] == VERSION { 0 } else { number(3)? };
        let all = here.checked_add(elsewhere).ok_or_else(damaged)?;
        while (state.marks.len() as u64) < all {
            let record = files::next(&mut reader, folder, STATE)?;
            if record.is_empty() || record.len() % MARK_BYTES != 0 {
                return Err(damaged());
            }
            for mark in record.chunks(MARK_BYTES) {
                let (key, mark) = decode_mark(mark).ok_or_else(damaged)?;
                if state.marks.len() as u64 >= here {
                    state.elsewhere.insert(key);
                }
                state.marks.insert(key, mark);
            }
        }
        files::end(&mut reader, folder, STATE)?;
        Ok(Some(state))
    }
}
