//! Many rows at once: read from a table, asked for portion by portion, so that a single question never waits for long.

use std::io::Cursor;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tacita_node::jobs::intersect::live::{Asked, Reader};
use tacita_node::table::ReadOptions;
use tacita_node::table::read::read_csv;

use super::Link;
use super::verdicts::{MAX_REFERENCE, Outcome, Verdict, Verdicts};
use crate::clock;

/// Rows of a portion, at most.
const PORTION: usize = 128;

/// Rows of a batch, at most.
const MAX_ROWS: usize = 200_000;

/// How long a portion may wait for the authority before the rest of the batch is given up.
const PATIENCE: Duration = Duration::from_secs(15);

/// A batch under way, or done.
pub(crate) struct Batch {
    pub(crate) number: u64,
    pub(crate) rows: usize,
    pub(crate) begun: Instant,
    done: AtomicUsize,
    over: AtomicBool,
    lines: Mutex<Vec<Line>>,
    problem: Mutex<String>,
    took: Mutex<Option<Duration>>,
}

/// What became of a row of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Its number in the table, from 1 on.
    pub(crate) row: usize,
    pub(crate) reference: String,
    pub(crate) verdict: Outcome,
    pub(crate) by: String,
    pub(crate) reason: String,
}

impl Batch {
    /// Reads a table as CSV, and begins to ask for its rows.
    ///
    /// Errors ([`Error::Input`]): it cannot be read, lacks a column, or has too many rows.
    pub(crate) fn begin(
        number: u64,
        (table, reference): (Vec<u8>, &str),
        (link, reader, keys): (&Link, &Reader, Vec<String>),
        verdicts: &Arc<Mutex<Verdicts>>,
    ) -> Result<Arc<Batch>> {
        let table = read_csv(Cursor::new(table), "the uploaded table", &ReadOptions::default())?;
        if table.rows() > MAX_ROWS {
            return Err(Error::Input(format!(
                "the uploaded table has {} rows, and {MAX_ROWS} are the most",
                table.rows()
            )));
        }
        let rows = reader.read_table(&table, Some(reference))?;
        let batch = Arc::new(Batch {
            number,
            rows: rows.len(),
            begun: Instant::now(),
            done: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            lines: Mutex::default(),
            problem: Mutex::default(),
            took: Mutex::default(),
        });
        let (work, link, verdicts) = (batch.clone(), link.clone(), verdicts.clone());
        std::thread::spawn(move || {
            if let Err(error) = work.run(rows, &link, &keys, &verdicts) {
                *lock(&work.problem) = error.to_string();
            }
            *lock(&work.took) = Some(work.begun.elapsed());
            work.over.store(true, Ordering::Release);
        });
        Ok(batch)
    }

    fn run(&self, rows: Vec<(Asked, String)>, link: &Link, keys: &[String], verdicts: &Mutex<Verdicts>) -> Result<()> {
        let portion = PORTION.min(link.most_rows());
        let mut rows = rows.into_iter().enumerate().peekable();
        let mut failed: Option<Error> = None;
        while rows.peek().is_some() {
            let mut lines = Vec::with_capacity(portion);
            let (mut asked, mut places) = (Vec::new(), Vec::new());
            for (index, (row, reference)) in rows.by_ref().take(portion) {
                let reference = reference.chars().take(MAX_REFERENCE).collect();
                let line = Line {
                    row: index + 1,
                    reference,
                    verdict: Outcome::NotChecked,
                    by: String::new(),
                    reason: note(&row, keys),
                };
                if row.can_be_asked() {
                    places.push(lines.len());
                    asked.push(row);
                }
                lines.push(line);
            }
            let mut version = (String::new(), 0);
            let found = match &failed {
                Some(error) => Err(error.clone()),
                None if asked.is_empty() => Ok(Vec::new()),
                None => link.ask(asked, PATIENCE),
            };
            match found {
                Ok(found) => {
                    for (place, found) in places.into_iter().zip(found) {
                        version = (found.epoch.clone(), found.version);
                        let line = &mut lines[place];
                        line.verdict = if found.is_listed() { Outcome::Listed } else { Outcome::NotListed };
                        let by = keys.iter().zip(&found.by).filter(|(_, by)| **by).map(|(key, _)| key.clone());
                        line.by = by.collect::<Vec<_>>().join("; ");
                    }
                }
                Err(error) => {
                    places.into_iter().for_each(|place| lines[place].reason = error.to_string());
                    failed = Some(error);
                }
            }
            let kept = lines.iter().map(|line| Verdict {
                time: clock::written(clock::now()),
                reference: if line.reference.is_empty() {
                    format!("batch {}, row {}", self.number, line.row)
                } else {
                    line.reference.clone()
                },
                verdict: line.verdict,
                by: if line.by.is_empty() { Vec::new() } else { line.by.split("; ").map(str::to_owned).collect() },
                reason: line.reason.clone(),
                list: version.0.clone(),
                version: version.1,
            });
            lock(verdicts).keep(kept.collect())?;
            let done = lines.len();
            lock(&self.lines).extend(lines);
            self.done.fetch_add(done, Ordering::AcqRel);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Rows that are done.
    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::Acquire)
    }

    /// Whether all is done that will be.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Why the rest was not checked; empty if it was.
    pub(crate) fn problem(&self) -> String {
        lock(&self.problem).clone()
    }

    /// How long it took, once it is over.
    pub(crate) fn took(&self) -> Option<Duration> {
        *lock(&self.took)
    }

    /// How many rows are on the list, are not, and were not checked.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        lock(&self.lines).iter().for_each(|line| counts[line.verdict as usize] += 1);
        counts
    }

    /// The rows that somebody has to look at: on the list, or not checked; so many at most.
    pub(crate) fn notable(&self, most: usize) -> Vec<Line> {
        lock(&self.lines).iter().filter(|line| line.verdict != Outcome::NotListed).take(most).cloned().collect()
    }

    /// All rows, as CSV.
    pub(crate) fn csv(&self) -> String {
        let mut text = String::from("row,reference,verdict,by,reason\n");
        for line in lock(&self.lines).iter() {
            let cells = [&line.reference, line.verdict.words(), &line.by, &line.reason].map(cell);
            text.push_str(&format!("{},{}\n", line.row, cells.join(",")));
        }
        text
    }
}

/// Why a row cannot be asked for, or not by all of the keys: a verdict by fewer than all of them is not taken for more than that.
pub(crate) fn note(row: &Asked, keys: &[String]) -> String {
    if !row.unreadable.is_empty() {
        return format!("cannot be read: {}", row.unreadable.join(", "));
    }
    if !row.can_be_asked() {
        return "a value is missing in each key".into();
    }
    let without = keys.iter().zip(&row.keys).filter(|(_, own)| own.is_none()).map(|(key, _)| key.as_str());
    let without: Vec<_> = without.collect();
    if without.is_empty() {
        String::new()
    } else {
        format!("not asked, because a value is missing: {}", without.join("; "))
    }
}

/// A cell of a CSV file. One that a spreadsheet would take for a formula is made a text.
fn cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t']) { format!("'{text}") } else { text.to_owned() };
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
