//! State that a driver keeps until the run is done. It holds the run, so that whoever comes back resumes it, and
//! the nonce of the commitment to the own rows.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tacita_core::protocol::intersect::buckets::BucketsRun;
use tacita_core::{Error, Result};
use zeroize::{Zeroize, Zeroizing};

use crate::agreement::handshake::fresh_nonce;
use crate::agreement::{JobSpec, Terms};
use crate::base::hex::{hex, unhex};
use crate::base::random::fresh_rng;
use crate::base::text::counted;
use crate::identity::Identity;
use crate::jobs::on_disk::directory::{Directory, Owner};

/// State of a run, sealed with a key that only the party's identity opens.
#[derive(Serialize, Deserialize)]
struct State {
    /// Nonce for the commitment to the rows, in hexadecimal.
    nonce: String,
    /// The run, once it was agreed on.
    run: Option<Agreed>,
    /// Location of the buckets' results, and of the record of which were answered. A version of this program that keeps
    /// none loses that record if given another location.
    #[serde(default)]
    place: Option<String>,
    /// Statement of the party on the run, once all have ended it.
    #[serde(default)]
    ended: Option<String>,
    /// Secret of the run that is nobody else's, in hexadecimal. A version of this program that keeps none answers more
    /// often.
    #[serde(default)]
    secret: Option<String>,
    /// Opening of something from all buckets together.
    #[serde(default)]
    opened: Option<Opened>,
    /// Count over all buckets together.
    #[serde(default)]
    counted: Option<u64>,
    /// Number of answered buckets that were begun again.
    #[serde(default)]
    repeated: u64,
}

/// Record of what was opened of all buckets together.
#[derive(Serialize, Deserialize)]
struct Opened {
    /// Identifier of what was opened.
    what: String,
    /// Number of times it was opened.
    times: u32,
}

impl Drop for State {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

/// Settings on which the drivers agreed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Agreed {
    /// The run's seed and commitments, in hexadecimal.
    pub run: String,
    /// Name of the protocol.
    pub protocol: String,
    /// Number of buckets in the run.
    pub buckets: usize,
}

/// Directory in which a driver keeps its run. Only one process has it at a time.
pub struct DriverRun {
    directory: Directory,
    state: State,
}

impl DriverRun {
    /// Opens a directory, of a run that begins or of one that is resumed.
    ///
    /// Errors ([`Error::Input`], [`Error::Terms`]): there is an unfinished run and `resume` is not set, or one of
    /// another party, identity or other terms; another process has it; others can write to it.
    pub fn open(path: &Path, job: &JobSpec, me: &str, identity: &Identity, resume: bool) -> Result<DriverRun> {
        let terms = Terms::of(&job.of_drivers()).agreement();
        let owner = Owner { id: &job.id, party: me, terms: &terms, identity };
        let (directory, kept) = Directory::open(path, &owner, resume)?;
        let state = match kept {
            Some(State { secret: None, .. } | State { run: Some(_), place: None, ended: None, .. }) => {
                return Err(Error::Input(format!(
                    "{}: its run was begun by an older version of this program: all parties remove their work directories and \
                     start again",
                    path.display()
                )));
            }
            Some(state) => state,
            None => {
                let mut rng = fresh_rng()?;
                let state = State {
                    nonce: hex(&fresh_nonce(&mut rng)),
                    run: None,
                    place: None,
                    ended: None,
                    secret: Some(hex(&fresh_nonce(&mut rng))),
                    opened: None,
                    counted: None,
                    repeated: 0,
                };
                directory.keep(&state)?;
                state
            }
        };
        Ok(DriverRun { directory, state })
    }

    /// Returns the agreed settings of the run that is kept, if there is one.
    pub(super) fn agreed(&self) -> Option<&Agreed> {
        self.state.run.as_ref()
    }

    /// Whether a run was agreed on before, by whoever had this directory.
    pub fn has_run(&self) -> bool {
        self.state.run.is_some()
    }

    /// Returns the name of this run where its results are kept, in hexadecimal. Results of no other run are taken for
    /// its own. Public.
    pub fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 spread name");
        hex(&hasher.update(self.state.nonce.as_bytes()).finalize().as_bytes()[..8])
    }

    /// Notes where results of buckets are kept, before the run is agreed on; on disk before this returns.
    ///
    /// Errors ([`Error::Internal`]): it was agreed on, and stays where it is.
    pub fn keep_at(&mut self, place: String) -> Result<()> {
        if self.has_run() {
            return Err(Error::Internal("a run that was begun is moved".into()));
        }
        self.state.place = Some(place);
        self.directory.keep(&self.state)
    }

    /// Returns the location that [`DriverRun::keep_at`] has recorded.
    pub fn place(&self) -> Option<&str> {
        self.state.place.as_deref()
    }

    /// The run that is kept.
    pub(super) fn run(&self) -> Result<Option<BucketsRun>> {
        let Some(agreed) = &self.state.run else { return Ok(None) };
        let run = unhex(&agreed.run).and_then(|bytes| BucketsRun::from_bytes(&bytes));
        run.map(Some).ok_or_else(|| Error::Internal("a run is kept that is none".into()))
    }

    /// Returns the commitment to the own rows. The others see nothing of the rows, but that they are the same as
    /// before.
    pub(super) fn commitment(&self, digest: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 spread commitment");
        hasher.update(self.state.nonce.as_bytes()).update(digest);
        hasher.finalize().into()
    }

    /// Keeps what was agreed on; on disk before this returns.
    pub(super) fn keep(&mut self, agreed: Agreed) -> Result<()> {
        self.state.run = Some(agreed);
        self.directory.keep(&self.state)
    }

    /// Keeps what the party says of the run, which needs the others no more; on disk before this returns.
    pub fn end(&mut self, report: String) -> Result<()> {
        self.state.ended = Some(report);
        self.directory.keep(&self.state)
    }

    /// A secret of this run, of this party alone.
    pub fn secret(&self) -> Result<Zeroizing<[u8; 32]>> {
        let bytes = self.state.secret.as_ref().and_then(|secret| unhex(secret).map(Zeroizing::new));
        let secret = bytes.and_then(|bytes| <[u8; 32]>::try_from(&bytes[..]).ok());
        secret.map(Zeroizing::new).ok_or_else(|| Error::Internal("a secret is kept that is none".into()))
    }

    /// Notes that something of all buckets together is opened now; on disk before this returns. From now on no bucket
    /// is done again.
    ///
    /// Errors ([`Error::Terms`]): something else was opened before, or this `most` times.
    pub fn note_opening(&mut self, what: &str, most: u32) -> Result<()> {
        let times = match &self.state.opened {
            None => 0,
            Some(opened) if opened.what == what => opened.times,
            Some(_) => {
                return Err(Error::Terms(
                    "a result of this run was opened before, of other runs of its buckets: all remove their work directories and \
                     start again"
                        .into(),
                ));
            }
        };
        if times >= most {
            return Err(Error::Terms(format!(
                "the result of this run was opened {} before: find out why connections are lost, and start anew",
                counted(times.into(), "time")
            )));
        }
        self.state.opened = Some(Opened { what: what.to_owned(), times: times + 1 });
        self.directory.keep(&self.state)
    }

    /// Returns the number of times that something of all buckets together was opened.
    pub fn opened(&self) -> u32 {
        self.state.opened.as_ref().map_or(0, |opened| opened.times)
    }

    /// Keeps what was counted of all buckets together; on disk before this returns.
    pub fn count(&mut self, count: u64) -> Result<()> {
        self.state.counted = Some(count);
        self.directory.keep(&self.state)
    }

    /// Returns the count that [`DriverRun::count`] has kept.
    pub fn counted(&self) -> Option<u64> {
        self.state.counted
    }

    /// Notes that a bucket is begun again that was answered; on disk before this returns. Returns how many were, this
    /// one too.
    pub fn repeat(&mut self) -> Result<u64> {
        self.state.repeated += 1;
        self.directory.keep(&self.state).map(|()| self.state.repeated)
    }

    /// Returns the number of answered buckets that were begun again.
    pub fn repeated(&self) -> u64 {
        self.state.repeated
    }

    /// Returns the statement that [`DriverRun::end`] has kept, if the run has come so far.
    pub fn ended(&self) -> Option<&str> {
        self.state.ended.as_deref()
    }

    /// Fingerprint of the run that is kept, by which parties see that they have kept the same.
    pub(super) fn public_id(&self) -> Option<String> {
        let agreed = self.agreed()?;
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 spread run");
        hasher
            .update(agreed.run.as_bytes())
            .update(&(agreed.buckets as u64).to_le_bytes())
            .update(agreed.protocol.as_bytes());
        Some(hasher.finalize().to_hex().to_string())
    }

    /// Removes it, now that the run has succeeded.
    pub fn clear(&self) -> Result<()> {
        self.directory.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str =
        "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\n[parties.b]\n";

    #[test]
    fn what_was_opened_and_answered_is_known_to_whoever_resumes() {
        let home = tempfile::tempdir().unwrap();
        let identity = Identity::create(&home.path().join("id"), "a").unwrap();
        let job = JobSpec::parse(JOB, false).unwrap();
        let open = |resume| DriverRun::open(&home.path().join("work"), &job, "a", &identity, resume).unwrap();
        let mut work = open(false);
        let secret = work.secret().unwrap();
        assert_eq!((work.opened(), work.repeated(), work.counted()), (0, 0, None));
        work.note_opening("these runs", 3).unwrap();
        assert_eq!(work.repeat().unwrap(), 1);
        work.count(7).unwrap();
        drop(work);
        let mut work = open(true);
        assert_eq!((work.opened(), work.repeated(), work.counted()), (1, 1, Some(7)));
        assert_eq!(work.secret().unwrap(), secret);
        assert!(matches!(work.note_opening("other runs", 3), Err(Error::Terms(_))));
        work.note_opening("these runs", 3).unwrap();
        work.note_opening("these runs", 3).unwrap();
        assert!(matches!(work.note_opening("these runs", 3), Err(Error::Terms(_))), "a fourth time");
        assert_eq!(work.repeat().unwrap(), 2);
    }

    #[test]
    fn a_run_that_was_begun_stays_where_it_is() {
        let home = tempfile::tempdir().unwrap();
        let identity = Identity::create(&home.path().join("id"), "a").unwrap();
        let job = JobSpec::parse(JOB, false).unwrap();
        let open = |resume| DriverRun::open(&home.path().join("work"), &job, "a", &identity, resume);
        let mut work = open(false).unwrap();
        for place in ["here", "there"] {
            work.keep_at(place.into()).unwrap();
        }
        work.keep(Agreed { run: String::new(), protocol: "vole".into(), buckets: 1 }).unwrap();
        drop(work);
        let mut work = open(true).unwrap();
        assert!(work.keep_at("elsewhere".into()).is_err());
        assert_eq!(work.place(), Some("there"));
        // One of before that says no place.
        work.state.place = None;
        work.directory.keep(&work.state).unwrap();
        drop(work);
        assert!(matches!(open(true), Err(Error::Input(text)) if text.contains("older version")));
    }

    #[test]
    fn a_run_of_before_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let identity = Identity::create(&home.path().join("id"), "a").unwrap();
        let job = JobSpec::parse(JOB, false).unwrap();
        let open = |resume| DriverRun::open(&home.path().join("work"), &job, "a", &identity, resume);
        let mut work = open(false).unwrap();
        work.state.secret = None;
        work.directory.keep(&work.state).unwrap();
        drop(work);
        let error = open(true).err().unwrap();
        assert!(matches!(&error, Error::Input(text) if text.contains("older version")), "{error}");
    }

    /// The commitment to rows tells whoever sees it neither the rows nor whether two runs have the same.
    #[test]
    fn a_commitment_is_to_one_run() {
        let home = tempfile::tempdir().unwrap();
        let identity = Identity::create(&home.path().join("id"), "a").unwrap();
        let job = JobSpec::parse(JOB, false).unwrap();
        let open = |name: &str| DriverRun::open(&home.path().join(name), &job, "a", &identity, false).unwrap();
        let (one, other) = (open("one"), open("other"));
        assert_eq!(one.commitment(&[1; 32]), one.commitment(&[1; 32]));
        assert_ne!(one.commitment(&[1; 32]), one.commitment(&[2; 32]));
        assert_ne!(one.commitment(&[1; 32]), other.commitment(&[1; 32]));
    }
}
