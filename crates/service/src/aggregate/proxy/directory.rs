//! The state directory that a proxy works with has a random name, which the database knows it by: what was acknowledged is there, and in no other.

use std::io::Read;
use std::time::Instant;

use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::hex::{hex, unhex};

use super::house::{FOR_GOOD, MOST_BYTES, TELL, wrong};
use super::{Proxy, lock};
use crate::aggregate::database::directories::DIRECTORY_BYTES;
use crate::aggregate::rounds::Directory;
use crate::aggregate::transport::{Ask, Kind, Reply};

const FILE: &str = "directory";

const ELSEWHERE: &str = "what this proxy acknowledged of it is in another state directory";

/// The name of a state directory, in hexadecimal: a new one, if it has none.
pub(super) fn open(folder: &Folder) -> Result<String> {
    if !folder.has(FILE) {
        let mut name = [0; DIRECTORY_BYTES];
        getrandom::fill(&mut name).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
        folder.write(FILE, hex(&name).as_bytes())?;
    }
    let damaged = || Error::Input(format!("{}: is damaged: restore it from a backup", folder.at(FILE).display()));
    let (mut name, file) = (String::new(), folder.read(FILE).map_err(|_| damaged())?);
    file.take(4 * DIRECTORY_BYTES as u64).read_to_string(&mut name).map_err(|_| damaged())?;
    match unhex(&name).is_some_and(|bytes| bytes.len() == DIRECTORY_BYTES) {
        true => Ok(name),
        false => Err(damaged()),
    }
}

impl Proxy {
    /// Tells the database, before anything is taken of a round, that this directory will have it.
    ///
    /// Errors: [`Error::Input`] if another one has; [`Error::NotReady`] if the round is over.
    pub(super) fn tell_directory(&self, round: &str) -> Result<()> {
        let value = serde_json::to_value(Directory { directory: self.directory.clone() });
        let value = value.map_err(|error| Error::Internal(error.to_string()))?;
        let ask = Ask::json(format!("/v1/rounds/{round}/directory"), &value, MOST_BYTES);
        let (answer, by) = self.database.ask(&ask, FOR_GOOD)?;
        if answer.is_ok() {
            lock(&self.strange).remove(round);
            return Ok(());
        }
        match answer.told().error {
            Kind::Conflict => {
                lock(&self.strange).insert(round.to_owned(), Instant::now());
                Err(Error::Input(format!("{}: start it with that one; {}", self.not_here(), self.if_it_is_lost(round))))
            }
            Kind::Closed => Err(Error::NotReady(answer.told().message)),
            _ => Err(wrong(by, &format!("it does not take the name of a directory: {}", answer.told().message))),
        }
    }

    /// What is said of a round that goes on without what this proxy had, whichever directory it works with: nothing of that counts, and nobody is told that
    /// it was taken.
    pub(super) fn is_given_up(&self, round: &str) -> Option<Reply> {
        let given_up = lock(&self.told).get(round).is_some_and(|status| status.without.contains(&self.place));
        given_up.then(|| Reply::new(Kind::Closed, format!("round {round} went on without what this proxy had")))
    }

    /// What is said of a round of which another directory has what was acknowledged, if that is so. Participants are told: which directory it is not is for the
    /// log alone.
    pub(super) fn is_elsewhere(&self, round: &str) -> Option<String> {
        let is_strange = lock(&self.strange).contains_key(round);
        (is_strange && self.is_given_up(round).is_none()).then(|| format!("round {round}: {ELSEWHERE}"))
    }

    /// Whether such a round was asked about just now, and need not be again yet.
    pub(super) fn was_strange_just_now(&self, round: &str) -> bool {
        lock(&self.strange).get(round).is_some_and(|last| last.elapsed() < TELL)
    }

    fn not_here(&self) -> String {
        format!("{ELSEWHERE} than {}", self.state.display())
    }

    fn if_it_is_lost(&self, round: &str) -> String {
        format!(
            "if that is lost, the database's operator has the round go on without it, by `tacita round close --round {round} --without-proxy {}`",
            self.place + 1
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_name_for_good() {
        let home = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| Folder::make(&home.path().join(name)).unwrap());
        let name = open(&one).unwrap();
        assert_eq!((open(&one).unwrap(), name.len()), (name.clone(), 2 * DIRECTORY_BYTES));
        assert_ne!(open(&other).unwrap(), name);
        for damaged in ["", "00", &format!("{name}0"), &name[1..], "\u{e9}"] {
            one.write(FILE, damaged.as_bytes()).unwrap();
            assert!(open(&one).unwrap_err().to_string().contains("is damaged"), "{damaged}");
        }
    }
}
