//! A job that is spread over many machines of each party: what is said of its parts in their terms, and how many
//! buckets each party asks for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tacita_core::channel::Channel;
use tacita_core::protocol::rules::itemsets::Itemsets;
use tacita_core::session::Transcript;
use tacita_core::{Error, Result, Session};

use zeroize::Zeroizing;

use super::{JobSpec, Limits, Protocol, Reveal, Terms};
use crate::base::files::write_whole;
use crate::base::hex::hex;

/// More rows than this no party has, in all its buckets together.
pub const MAX_SPREAD_ROWS: u64 = 1 << 40;

/// Kind of run of a job that is spread over many machines of each party.
#[derive(Debug, Clone)]
pub enum Spread {
    /// Run of the drivers, one at each party, which coordinate when each bucket is done.
    Drivers,
    /// Run of one bucket, between one machine of each party.
    Bucket {
        /// Bucket that is run.
        bucket: Box<Bucket>,
        /// The agreement of the job that it is of.
        of: [u8; 32],
    },
}

/// One bucket of a job.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// Public identifier of the drivers' run, which is new each time they meet.
    pub session: String,
    /// Number of the bucket, counted from 0.
    pub number: usize,
    /// Total number of buckets.
    pub of: usize,
    /// Number of earlier attempts at the bucket.
    pub attempt: u32,
    /// Bound to which each party pads the bucket, by name; none if its rows are counted openly.
    pub bounds: BTreeMap<String, u64>,
    /// Itemsets to be counted in the bucket, in a job that counts repeatedly; none if its rows are aligned.
    pub counts: Option<BucketCounts>,
    /// Facts known of all the party's rows: the result of [`Distributed::join_facts`](super::Distributed::join_facts).
    /// The party's own matter.
    pub facts: Value,
    /// The file that is made before the first message leaves from which another party learns a part of the answer. Its
    /// own matter.
    pub told: Option<PathBuf>,
    /// Secrets for a count of all buckets together. The party's own matter.
    pub pooled: Option<Pooled>,
}

/// Data with which a party does its part of a bucket, in a count of all buckets together.
#[derive(Clone)]
pub struct Pooled {
    /// Secret from which the party's exponent for all buckets is derived: nobody else's.
    pub secret: Zeroizing<[u8; 32]>,
    /// Key that identifies the run, and is known to its parties.
    pub item_key: Zeroizing<[u8; 32]>,
    /// The file of what the sender has of the bucket.
    pub place: PathBuf,
}

impl std::fmt::Debug for Pooled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pooled(..)")
    }
}

/// Counts to be made in a bucket whose rows are aligned.
#[derive(Debug, Clone)]
pub struct BucketCounts {
    /// Rows of the bucket.
    pub rows: u64,
    /// Rows of all buckets.
    pub all_rows: u64,
    /// Itemsets of items of both parties.
    pub candidates: Arc<Itemsets>,
}

impl BucketCounts {
    /// Returns a digest of the candidates.
    fn digest(&self) -> [u8; 32] {
        blake3::derive_key("tacita 1 spread candidates", &self.candidates.to_bytes())
    }

    fn terms(&self) -> Value {
        json!({ "rows": self.rows, "all_rows": self.all_rows, "candidates": hex(&self.digest()) })
    }
}

/// Proposal of a party in a job that is spread, besides rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketProposal {
    /// Number of buckets that the party asks for. The largest number that any party asks for holds.
    pub buckets: u64,
    /// Fingerprint of the run that it has kept and would go on with, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

impl Spread {
    /// Returns the run's entry in the terms.
    pub(super) fn terms(&self) -> Value {
        match self {
            Spread::Drivers => json!("drivers"),
            Spread::Bucket { bucket, of: job } => {
                let Bucket { session, number, of, attempt, bounds, counts, facts: _, told: _, pooled: _ } = &**bucket;
                let mut terms = json!({
                    "agreement": hex(job), "session": session, "bucket": number, "of": of, "attempt": attempt, "bounds": bounds,
                });
                if let Some(counts) = counts {
                    terms["counts"] = counts.terms();
                }
                terms
            }
        }
    }
}

impl JobSpec {
    /// The same job as its drivers run it.
    pub fn of_drivers(&self) -> JobSpec {
        JobSpec { spread: Some(Spread::Drivers), ..self.clone() }
    }

    /// A bucket of the job, by the protocol that the drivers have chosen, with earlier parties at these addresses.
    pub fn of_bucket(
        &self,
        bucket: Bucket,
        protocol: Protocol,
        addresses: &BTreeMap<String, String>,
    ) -> Result<JobSpec> {
        let spread = Some(Spread::Bucket { bucket: Box::new(bucket), of: self.agreement_in_file() });
        let mut job = JobSpec { spread, protocol, ..self.distributed()?.in_buckets(self)? };
        // The bounds of each bucket hide what they would.
        job.limits.pad_to = None;
        // The drivers have looked at all rows; a bucket may have few of them.
        job.limits = Limits { min_rows: None, max_null: None, max_unreadable: None, ..job.limits };
        for (name, address) in addresses {
            let party = job.parties.get_mut(name);
            party.ok_or_else(|| Error::Internal(format!("no party is called {name}")))?.address = Some(address.clone());
        }
        Ok(job)
    }

    /// Returns the number of keys to which `party` pads its set, if it does.
    pub fn padded_to(&self, party: &str) -> Option<u64> {
        let bound = match self.bucket() {
            Some(bucket) => bucket.bounds.get(party).copied(),
            None => self.limits.pad_to,
        };
        bound.filter(|_| self.job.pads(self, party))
    }

    /// Returns the number of runs in which no failure by chance may occur: one for each of several keys and each
    /// bucket.
    pub fn runs_in_all(&self) -> usize {
        self.keys_in_all() * self.bucket().map_or(1, |bucket| bucket.of)
    }

    /// The agreement of the job as its file says it, whatever run of it this is.
    pub fn agreement_in_file(&self) -> [u8; 32] {
        match &self.spread {
            Some(Spread::Bucket { of, .. }) => *of,
            Some(Spread::Drivers) => Terms::of(&JobSpec { spread: None, ..self.clone() }).agreement_bytes(),
            None => Terms::of(self).agreement_bytes(),
        }
    }

    /// Returns the number that tells this run's connection from others of the same two parties. It differs for each
    /// attempt at a bucket.
    pub fn lane(&self) -> u64 {
        let Some(Bucket { session, number, attempt, counts, .. }) = self.bucket() else { return 0 };
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 spread lane");
        hasher.update(session.as_bytes()).update(&(*number as u64).to_le_bytes()).update(&attempt.to_le_bytes());
        if let Some(counts) = counts {
            hasher.update(&counts.digest());
        }
        let lane = u64::from_le_bytes(std::array::from_fn(|byte| hasher.finalize().as_bytes()[byte]));
        // 0 is the drivers' own.
        lane.max(1)
    }

    /// The session of a run of this job: of a bucket it is a part of the drivers' session, so that all buckets draw
    /// public constants once, which are bad ones by chance.
    pub(super) fn in_its_whole(&self, session: Session) -> Session {
        let Some(bucket) = self.bucket() else { return session };
        let mut whole = Transcript::new("spread");
        whole.append("session", bucket.session.as_bytes());
        session.within(&Session::new(whole))
    }

    /// Whether rows of the parties belong together that are at the same place of their tables.
    pub fn aligns_by_position(&self) -> bool {
        self.job.alignment(self).is_none() && self.key.is_none()
    }

    /// Whether each bucket tells who learns a number of its own: the length of its longest row.
    pub fn tells_of_buckets(&self) -> bool {
        self.reveal == Reveal::Payload && self.limits.max_text.is_none()
    }

    /// Records, in a bucket, that it was answered before the first answer leaves over a channel. Whoever runs the
    /// bucket again answers again.
    pub fn note_answer(&self, channel: &mut Channel) {
        if let Some(place) = self.bucket().and_then(|bucket| bucket.told.clone()) {
            channel.before_answer(move || write_whole(&place, b""));
        }
    }

    /// The bucket that this is, of a job that is spread.
    pub fn bucket(&self) -> Option<&Bucket> {
        match &self.spread {
            Some(Spread::Bucket { bucket, .. }) => Some(bucket),
            _ => None,
        }
    }

    /// Whether drivers run it.
    pub fn is_of_drivers(&self) -> bool {
        matches!(self.spread, Some(Spread::Drivers))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Machines of a bucket have a session of their own, and the constants of all buckets of the drivers' run: not
    /// those of another run.
    #[test]
    fn buckets_of_a_run_draw_the_same_constants() {
        let text = "job = \"intersect\"\nid = \"t\"\nreveal = \"rows\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\n[parties.b]\n";
        let job = JobSpec::parse(text, false).unwrap();
        let own = |what: &str| Session::new(Transcript::new(what));
        let bucket = |session: &str, number: usize| {
            let session = session.to_owned();
            let (bounds, facts) = (BTreeMap::new(), Value::Null);
            let bucket =
                Bucket { session, number, of: 2, attempt: 0, bounds, counts: None, facts, told: None, pooled: None };
            job.of_bucket(bucket, Protocol::named("vole"), &BTreeMap::new()).unwrap()
        };
        let [one, other, another] = [("run", 0), ("run", 1), ("another", 0)].map(|(run, number)| bucket(run, number));
        let drawn = |job: &JobSpec, what: &str| job.in_its_whole(own(what)).derive_shared("code");
        assert_eq!(drawn(&one, "one"), drawn(&other, "other"));
        assert_ne!(drawn(&one, "one"), drawn(&another, "one"));
        assert_ne!(drawn(&job, "one"), drawn(&job, "other"));
        assert_eq!(one.in_its_whole(own("one")).id(), own("one").id());
    }

    /// Checks that the terms which machines of two parties compare tell their job, run, bucket, attempt and counts.
    #[test]
    fn a_bucket_has_terms_of_its_own() {
        let job = |more: &str| {
            let text = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n";
            JobSpec::parse(&format!("{text}{more}\n[parties.a]\n[parties.b]\n"), false).unwrap()
        };
        let counts = |all_rows: u64, count: u32| {
            let candidates = Arc::new(Itemsets::singles(0, count));
            Some(BucketCounts { rows: 1, all_rows, candidates })
        };
        let bucket = |job: &JobSpec, session: &str, number: usize, attempt: u32, counts: Option<BucketCounts>| {
            let (session, bounds) = (session.to_owned(), BTreeMap::from([("a".to_owned(), 5), ("b".to_owned(), 5)]));
            let bucket = Bucket {
                session,
                number,
                of: 2,
                attempt,
                bounds,
                counts,
                facts: Value::Null,
                told: None,
                pooled: None,
            };
            let job = job.of_bucket(bucket, Protocol::named("vole"), &BTreeMap::new()).unwrap();
            (Terms::of(&job).agreement(), job.lane())
        };
        let (plain, padded) = (job(""), job("[limits]\npad_to = 9"));
        let all = [
            bucket(&plain, "run", 0, 0, None),
            bucket(&plain, "another", 0, 0, None),
            bucket(&plain, "run", 1, 0, None),
            bucket(&plain, "run", 0, 1, None),
            bucket(&plain, "run", 0, 0, counts(2, 3)),
            bucket(&plain, "run", 0, 0, counts(2, 4)),
        ];
        let distinct = |of: fn(&(String, u64)) -> String| all.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!((distinct(|one| one.0.clone()), distinct(|one| one.1.to_string())), (all.len(), all.len()));
        let agreed = [&plain, &padded].map(|job| bucket(job, "run", 0, 0, None).0);
        assert_ne!(agreed[0], agreed[1], "a bucket of another job");
        assert_ne!(all[4].0, bucket(&plain, "run", 0, 0, counts(3, 3)).0, "of other rows");
        let [drivers, whole] = [plain.of_drivers(), plain.clone()].map(|job| Terms::of(&job).agreement());
        assert!(drivers != whole && !all.iter().any(|(terms, _)| [&drivers, &whole].contains(&terms)));
    }
}
