//! Many rows at once, asked for portion by portion, so that a single question never waits for long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tacita_node::base::text::count;
use tacita_node::jobs::intersect::live::QueryRow;

use super::judge::Judge;
use super::upload::Row;
use super::verdicts::{MAX_REFERENCE, Outcome, Verdict, Verdicts};
use super::{DeskLink, RowMatches};
use crate::clock;
use crate::sync::lock;

/// Rows of a portion, at most.
const PORTION: usize = 128;

/// Time for which a portion may wait for the authority before the rest of the batch is given up.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A batch under way, or done.
pub(crate) struct Batch {
    pub(crate) number: u64,
    pub(crate) rows: usize,
    pub(crate) begun: Instant,
    over: AtomicBool,
    lines: Mutex<Vec<Line>>,
    problem: Mutex<String>,
    took: Mutex<Option<Duration>>,
}

/// Outcome for a row of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Number of the row in the table, from 1 on.
    pub(crate) row: usize,
    /// Line of the row in the file.
    pub(crate) line: u64,
    pub(crate) reference: String,
    pub(crate) verdict: Outcome,
    pub(crate) by: String,
    pub(crate) reason: String,
}

impl Batch {
    /// For so many rows, none of which was asked for yet.
    pub(crate) fn new(number: u64, rows: usize) -> Batch {
        Batch {
            number,
            rows,
            begun: Instant::now(),
            over: AtomicBool::new(false),
            lines: Mutex::default(),
            problem: Mutex::default(),
            took: Mutex::default(),
        }
    }

    /// Begins to ask for rows.
    pub(crate) fn begin(
        number: u64,
        rows: Vec<Row>,
        (link, judge): (&DeskLink, &Judge),
        verdicts: &Arc<Mutex<Verdicts>>,
    ) -> Arc<Batch> {
        let batch = Arc::new(Batch::new(number, rows.len()));
        let (work, link, judge, verdicts) = (batch.clone(), link.clone(), judge.clone(), verdicts.clone());
        std::thread::spawn(move || {
            let ended = work.run(rows, &link, &judge, &verdicts);
            match &ended {
                Ok(()) => tracing::info!("batch {number}: {}", work.progress()),
                Err(error) => tracing::warn!("batch {number}: {}: {error}", work.progress()),
            }
            *lock(&work.problem) = ended.err().map(|error| error.to_string()).unwrap_or_default();
            *lock(&work.took) = Some(work.begun.elapsed());
            work.over.store(true, Ordering::Release);
        });
        batch
    }

    /// Asks the authority for rows.
    ///
    /// Errors: what keeps the rest of them from being asked for; they are there, not checked.
    pub(crate) fn run(&self, rows: Vec<Row>, link: &DeskLink, judge: &Judge, verdicts: &Mutex<Verdicts>) -> Result<()> {
        let portion = PORTION.min(link.most_rows());
        let mut rows = rows.into_iter().enumerate().peekable();
        let mut failed: Option<Error> = None;
        while rows.peek().is_some() {
            let mut lines = Vec::with_capacity(portion);
            let (mut asked, mut places) = (Vec::new(), Vec::new());
            for (index, row) in rows.by_ref().take(portion) {
                let line = Line {
                    row: index + 1,
                    line: row.line,
                    reference: row.reference.chars().take(MAX_REFERENCE).collect(),
                    verdict: Outcome::NotChecked,
                    by: String::new(),
                    reason: judge.note(&row.asked),
                };
                if row.asked.can_be_asked() {
                    places.push(lines.len());
                    asked.push(row.asked);
                }
                lines.push(line);
            }
            let (found, error) = match failed.take() {
                Some(error) => (Vec::new(), Some(error)),
                None => ask(link, asked),
            };
            let mut version = (String::new(), 0);
            for (place, found) in places.iter().zip(&found) {
                version = (found.epoch.clone(), found.version);
                let line = &mut lines[*place];
                (line.verdict, line.by) = (judge.outcome(found), judge.by(found).join("; "));
            }
            if let Some(error) = &error {
                places[found.len()..].iter().for_each(|place| lines[*place].reason = error.to_string());
            }
            failed = error;
            let kept = lines.iter().map(|line| Verdict {
                time: clock::written(clock::now()),
                reference: if line.reference.is_empty() {
                    format!("batch {}, line {}", self.number, line.line)
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
            lock(&self.lines).extend(lines);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Returns the number of rows with a verdict, and without one: `128 of 3,000 checked, 2,872 NOT checked`.
    pub(crate) fn progress(&self) -> String {
        let counts = self.counts();
        let unchecked = counts[Outcome::NotChecked as usize];
        let not = if unchecked == 0 { String::new() } else { format!(", {} NOT checked", count(unchecked as u64)) };
        format!("{} of {} checked{not}", count(self.checked() as u64), count(self.rows as u64))
    }

    /// Rows that have a verdict.
    pub(crate) fn checked(&self) -> usize {
        let counts = self.counts();
        counts.iter().sum::<usize>() - counts[Outcome::NotChecked as usize]
    }

    /// Whether all is done that will be.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Returns the reason why the rest was not checked; empty if it was.
    pub(crate) fn problem(&self) -> String {
        lock(&self.problem).clone()
    }

    /// Returns the duration of the batch, once it is over.
    pub(crate) fn took(&self) -> Option<Duration> {
        *lock(&self.took)
    }

    /// Returns the number of rows with each verdict.
    pub(crate) fn counts(&self) -> [usize; Outcome::ALL.len()] {
        let mut counts = [0; Outcome::ALL.len()];
        lock(&self.lines).iter().for_each(|line| counts[line.verdict as usize] += 1);
        counts
    }

    /// Returns the number of rows that are not on the list by fewer keys than all, because a value is missing.
    pub(crate) fn partly(&self) -> usize {
        let is_partly = |line: &&Line| line.verdict == Outcome::NotListed && !line.reason.is_empty();
        lock(&self.lines).iter().filter(is_partly).count()
    }

    /// The rows that somebody has to look at: on the list, perhaps on it, or not checked; so many at most.
    pub(crate) fn notable(&self, most: usize) -> Vec<Line> {
        lock(&self.lines).iter().filter(|line| line.verdict != Outcome::NotListed).take(most).cloned().collect()
    }

    /// Returns all rows, as CSV.
    pub(crate) fn csv(&self) -> String {
        let mut text = String::from("row,reference,verdict,by,reason,line\n");
        for line in lock(&self.lines).iter() {
            let cells = [&line.reference, line.verdict.words(), &line.by, &line.reason].map(cell);
            text.push_str(&format!("{},{},{}\n", line.row, cells.join(","), line.line));
        }
        text
    }
}

/// Asks for rows; for as many as the quota has room for, if it has not room for all of them. Returns what was found of
/// the first ones, and what keeps the others from being asked for.
fn ask(link: &DeskLink, mut rows: Vec<QueryRow>) -> (Vec<RowMatches>, Option<Error>) {
    if rows.is_empty() {
        return (Vec::new(), None);
    }
    let error = match link.ask(rows.clone(), TIMEOUT) {
        Ok(found) => return (found, None),
        Err(error) => error,
    };
    let room = link.rows_left();
    if !matches!(error, Error::NotReady(_)) || !(1..rows.len()).contains(&room) {
        return (Vec::new(), Some(error));
    }
    rows.truncate(room);
    match link.ask(rows, TIMEOUT) {
        Ok(found) => (found, Some(link.spent())),
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// A cell of a CSV file. One that a spreadsheet would take for a formula is made a text.
fn cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t']) { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
