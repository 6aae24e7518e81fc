//! The numbers by which the queue knows participants: each has one from its first report on, for good.

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;

const FILE: &str = "participants.json";

/// No file with them is longer.
const MOST_BYTES: u64 = 1 << 26;

pub(super) struct Names {
    folder: Arc<Folder>,
    numbers: Mutex<HashMap<String, u32>>,
}

impl Names {
    /// Those of a state directory.
    pub(super) fn open(folder: Arc<Folder>) -> Result<Names> {
        let at = folder.at(FILE);
        let damaged = |what: &str| Error::Input(format!("{}: {what}: restore it from a backup", at.display()));
        let names: Vec<String> = match folder.has(FILE) {
            false => Vec::new(),
            true => {
                let mut text = String::new();
                let file = folder.read(FILE).map_err(|error| damaged(&error.to_string()))?;
                file.take(MOST_BYTES).read_to_string(&mut text).map_err(|error| damaged(&error.to_string()))?;
                serde_json::from_str(&text).map_err(|_| damaged("is no list of names"))?
            }
        };
        let numbers = names.into_iter().zip(0..).collect();
        Ok(Names { folder, numbers: Mutex::new(numbers) })
    }

    /// All numbers that there are.
    pub(super) fn all(&self) -> std::ops::Range<u32> {
        0..self.numbers.lock().unwrap_or_else(PoisonError::into_inner).len() as u32
    }

    /// The names of all, by their numbers.
    pub(super) fn by_number(&self) -> HashMap<u32, String> {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.iter().map(|(name, number)| (*number, name.clone())).collect()
    }

    /// The number of a participant; it is on disk before this returns.
    pub(super) fn number(&self, name: &str) -> Result<u32> {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = numbers.get(name) {
            return Ok(*number);
        }
        let number = u32::try_from(numbers.len()).map_err(|_| Error::Internal("too many participants".into()))?;
        let mut names: Vec<(&str, u32)> = numbers.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        names.push((name, number));
        names.sort_by_key(|(_, number)| *number);
        let names: Vec<&str> = names.into_iter().map(|(name, _)| name).collect();
        let bytes = serde_json::to_vec(&names).map_err(|error| Error::Internal(error.to_string()))?;
        self.folder.write(FILE, &bytes)?;
        numbers.insert(name.to_owned(), number);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::make(&directory.path().join("state")).unwrap());
        let names = Names::open(folder.clone()).unwrap();
        assert_eq!(["b", "a", "b"].map(|name| names.number(name).unwrap()), [0, 1, 0]);
        let again = Names::open(folder.clone()).unwrap();
        assert_eq!(["a", "c", "b"].map(|name| again.number(name).unwrap()), [1, 2, 0]);
        assert_eq!(again.by_number(), [(0, "b".into()), (1, "a".into()), (2, "c".into())].into());
        std::fs::write(folder.at(FILE), "[1").unwrap();
        assert!(Names::open(folder).is_err());
    }
}
