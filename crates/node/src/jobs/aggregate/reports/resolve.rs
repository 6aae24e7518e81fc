//! Hashed keys in a result, and which of a participant's own keys they are.

use std::collections::{HashMap, HashSet};

use tacita_core::Result;

use super::{AggregateJob, Reports, ReportsInput};

/// The own keys of a participant that stand in a result as hashes: nobody else can tell what they are, but by guessing.
pub struct Resolver {
    /// The canonical texts of the key's columns, by the key as it travels.
    known: HashMap<Vec<u8>, Vec<String>>,
}

impl Resolver {
    /// Reads the participant's input once more, and keeps the keys that are among `hashes`.
    ///
    /// Errors: as of [`Reports`].
    pub fn read(
        job: &AggregateJob<'_>,
        participant: &str,
        input: &ReportsInput,
        hashes: &HashSet<Vec<u8>>,
    ) -> Result<Resolver> {
        let mut reports = Reports::open(job, participant, input)?;
        let mut known = HashMap::new();
        while reports.next_rows(&mut |report, texts| {
            if hashes.contains(&report.key) {
                known.entry(report.key).or_insert_with(|| texts.iter().map(|text| (*text).to_owned()).collect());
            }
        })? {}
        Ok(Resolver { known })
    }

    /// The texts of the key's columns, if the participant has the key.
    pub fn texts(&self, key: &[u8]) -> Option<&[String]> {
        self.known.get(key).map(Vec::as_slice)
    }
}

/// Formats only the number of keys: keys are not shown.
impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").field("known", &self.known.len()).finish_non_exhaustive()
    }
}
