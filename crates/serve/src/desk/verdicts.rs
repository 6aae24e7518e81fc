//! The verdicts: kept in a file, one line of JSON each, and those of the day in memory, for the page. Neither holds
//! whom was asked for, but for what the clerk wrote as a reference.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use tacita_node::base::text::json;
use tacita_node::base::text::pasted;

use crate::clock;

/// Verdicts that the page can show.
const SHOWN: usize = 1000;

/// Maximum length of a reference in characters.
pub(crate) const MAX_REFERENCE: usize = 64;

/// Outcome for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// Match: the row is on the list.
    #[serde(rename = "on the list")]
    Listed,
    /// Possible match: the row is on the list by a key that says no more than that.
    #[serde(rename = "possible match")]
    Possible,
    /// No match: the row is not on the list.
    #[serde(rename = "not on the list")]
    NotListed,
    /// Unknown: the row could not be read, or the authority could not be asked.
    #[serde(rename = "not checked")]
    NotChecked,
}

impl Outcome {
    /// List of all outcomes, in the order of their numbers.
    pub(crate) const ALL: [Outcome; 4] = [Outcome::Listed, Outcome::Possible, Outcome::NotListed, Outcome::NotChecked];

    pub(crate) fn words(self) -> &'static str {
        match self {
            Outcome::Listed => "on the list",
            Outcome::Possible => "possible match",
            Outcome::NotListed => "not on the list",
            Outcome::NotChecked => "not checked",
        }
    }
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// Time of the verdict, in UTC.
    pub(crate) time: String,
    /// Reference that the clerk wrote, to find it again.
    pub(crate) reference: String,
    pub(crate) verdict: Outcome,
    /// Keys by which the row is on the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) by: Vec<String>,
    /// Reason why the row was not checked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// List that gave the verdict, and the number of changes that it had been through.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) list: String,
    #[serde(default)]
    pub(crate) version: u64,
}

/// Number of verdicts with each [`Outcome`].
pub(crate) type Counts = [u64; Outcome::ALL.len()];

/// The file, and the verdicts of the day.
pub(crate) struct Verdicts {
    path: PathBuf,
    file: File,
    day: String,
    latest: VecDeque<Verdict>,
    counts: Counts,
}

impl Verdicts {
    /// Goes on with a file, or begins one.
    ///
    /// Errors ([`Error::Input`]): others can read it, or it cannot be written.
    pub(crate) fn open(path: &Path) -> Result<Verdicts> {
        let failed = |error: std::io::Error| Error::Input(format!("{}: cannot keep verdicts: {error}", path.display()));
        let file = OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
            return Err(Error::Input(format!(
                "{}: others can read the verdicts: chmod 600 {}, or name another file with --verdicts",
                path.display(),
                pasted(path.display())
            )));
        }
        let day = today();
        let mut verdicts =
            Verdicts { path: path.to_owned(), file, day, latest: VecDeque::new(), counts: Counts::default() };
        let earlier = BufReader::new(verdicts.file.try_clone().map_err(failed)?);
        let mut ends_whole = true;
        for line in earlier.split(b'\n') {
            let line = line.map_err(failed)?;
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice::<Verdict>(&line) {
                Ok(verdict) if verdict.time.starts_with(&verdicts.day) => verdicts.note(verdict),
                Ok(_) => {}
                Err(_) => ends_whole = false,
            }
        }
        if !ends_whole {
            tracing::warn!(
                "{}: a line is incomplete, as after a crash: it is kept, and new lines follow",
                path.display()
            );
            verdicts.file.write_all(b"\n").map_err(failed)?;
        }
        Ok(verdicts)
    }

    /// Keeps verdicts; on disk before this returns.
    pub(crate) fn keep(&mut self, verdicts: Vec<Verdict>) -> Result<()> {
        let mut lines = Vec::new();
        for verdict in &verdicts {
            json(serde_json::to_writer(&mut lines, verdict))?;
            lines.push(b'\n');
        }
        let written = self.file.write_all(&lines).and_then(|()| self.file.sync_data());
        written.map_err(|error| {
            Error::Input(format!("{}: the verdict could not be kept: {error}", self.path.display()))
        })?;
        let today = today();
        if today != self.day {
            (self.day, self.latest, self.counts) = (today, VecDeque::new(), Counts::default());
        }
        verdicts.into_iter().for_each(|verdict| self.note(verdict));
        Ok(())
    }

    fn note(&mut self, verdict: Verdict) {
        self.counts[verdict.verdict as usize] += 1;
        self.latest.push_front(verdict);
        self.latest.truncate(SHOWN);
    }

    /// Returns the verdicts of the day, the latest first.
    pub(crate) fn latest(&self, most: usize) -> Vec<Verdict> {
        let today = self.day == today();
        self.latest.iter().filter(|_| today).take(most).cloned().collect()
    }

    /// Returns the number of the day's verdicts with each outcome.
    pub(crate) fn counts(&self) -> Counts {
        if self.day == today() { self.counts } else { Counts::default() }
    }
}

fn today() -> String {
    clock::written(clock::now()).split('T').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(reference: &str, outcome: Outcome) -> Verdict {
        Verdict {
            time: clock::written(clock::now()),
            reference: reference.into(),
            verdict: outcome,
            by: Vec::new(),
            reason: String::new(),
            list: "0a0b0c0d".into(),
            version: 3,
        }
    }

    #[test]
    fn verdicts_of_the_day_come_back_and_others_stay_in_the_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("verdicts.jsonl");
        let mut verdicts = Verdicts::open(&path).unwrap();
        let old = Verdict { time: "2020-01-01T00:00:00Z".into(), ..verdict("old", Outcome::Listed) };
        let line = serde_json::to_string(&old).unwrap();
        std::fs::write(&path, format!("{line}\n")).unwrap();
        verdicts.keep(vec![verdict("a", Outcome::Listed), verdict("b", Outcome::Possible)]).unwrap();
        // A crash in the middle of a line.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"time\":").unwrap();
        let mut again = Verdicts::open(&path).unwrap();
        assert_eq!((again.counts(), again.latest(10).len()), ([1, 1, 0, 0], 2));
        again.keep(vec![verdict("c", Outcome::NotChecked)]).unwrap();
        assert_eq!(Verdicts::open(&path).unwrap().latest(1)[0].reference, "c");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Verdicts::open(&path).is_err_and(|error| error.to_string().contains("chmod 600")));
    }
}
