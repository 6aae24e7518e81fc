//! Bucketed runs of parties whose buckets are in memory.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::buckets::{
    self, BucketAgreement, BucketProtocol, BucketSource, BucketsParty, BucketsRun, KeptRun, Params, bucket_of,
};
use tacita_core::session::Transcript;
use tacita_core::{Channel, Error, Item, Result, Role, Session};

use super::two::{self, Ended};
use super::{item, rng};

pub const TERMS: [u8; 32] = [3; 32];

/// The session of an attempt.
pub fn session_of(number: u8) -> Session {
    let mut transcript = Transcript::new("test");
    transcript.append("attempt", &[number]);
    Session::new(transcript)
}

/// A party, across its attempts at a run.
pub struct Kit<P = Params> {
    pub place: usize,
    pub keys: Vec<usize>,
    pub params: P,
    pub buckets: usize,
    pub commitment: [u8; 32],
    pub run: Mutex<Option<BucketsRun>>,
    pub results: Mutex<BTreeMap<usize, Option<HashSet<usize>>>>,
    /// Number of further buckets that can be kept before the disk is full.
    pub room: AtomicUsize,
}

/// The buckets of a party under the seed of a run.
pub struct Memory<'a> {
    results: &'a Mutex<BTreeMap<usize, Option<HashSet<usize>>>>,
    room: &'a AtomicUsize,
    buckets: Vec<Vec<(Item, usize)>>,
}

impl Kit {
    pub fn new(role: Role, params: Params, keys: impl IntoIterator<Item = usize>) -> Kit {
        Kit::at(role as usize, params, params.buckets, keys)
    }

    /// Starts, or resumes what was kept, as the attempt with this number.
    pub fn run(&self, number: u8, channel: &mut Channel) -> Result<BucketAgreement> {
        let (session, mut rng) = (session_of(number), rng(2 * number + self.place as u8));
        let kept = self.run.lock().unwrap().clone();
        let finished: Vec<usize> = self.results.lock().unwrap().keys().copied().collect();
        let kept = kept.as_ref().map(|run| KeptRun { run, finished: &finished });
        let party = BucketsParty { place: self.place, commitment: &self.commitment, kept };
        let channels = std::slice::from_mut(channel);
        let agreed = buckets::agree(party, &TERMS, &self.params.shape(), &session, channels, &mut rng)?;
        *self.run.lock().unwrap() = Some(agreed.run.clone());
        let source = Memory::new(self, &agreed.run);
        let role = if self.place == 0 { Role::Receiver } else { Role::Sender };
        buckets::run(role, &agreed.remaining, &source, &self.params, &session, channel, &mut rng)?;
        Ok(agreed)
    }
}

impl<P> Kit<P> {
    /// The party at a place of a run in so many buckets.
    pub fn at(place: usize, params: P, buckets: usize, keys: impl IntoIterator<Item = usize>) -> Kit<P> {
        Kit {
            place,
            keys: keys.into_iter().collect(),
            params,
            buckets,
            commitment: [place as u8; 32],
            run: Mutex::default(),
            results: Mutex::default(),
            room: AtomicUsize::new(usize::MAX),
        }
    }

    /// Returns all that the party has learned: keys, or nothing.
    pub fn learned(&self) -> Option<HashSet<usize>> {
        let results = self.results.lock().unwrap();
        assert_eq!(results.len(), self.buckets, "not all buckets are finished");
        results.values().cloned().collect::<Option<Vec<_>>>().map(|parts| parts.into_iter().flatten().collect())
    }
}

impl<'a> Memory<'a> {
    pub fn new<P>(kit: &'a Kit<P>, run: &BucketsRun) -> Memory<'a> {
        let mut buckets = vec![Vec::new(); kit.buckets];
        for &key in &kit.keys {
            let item = Item::new(&run.item_key(), &key.to_le_bytes());
            buckets[bucket_of(&item, kit.buckets)].push((item, key));
        }
        Memory { results: &kit.results, room: &kit.room, buckets }
    }
}

impl BucketSource for Memory<'_> {
    fn load(&self, bucket: usize) -> Result<Vec<Item>> {
        Ok(self.buckets[bucket].iter().map(|(item, _)| *item).collect())
    }

    fn finish(&self, bucket: usize, common: Option<&[usize]>) -> Result<()> {
        let full = |_| Error::Input("the disk is full".into());
        self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1)).map_err(full)?;
        let keys = |common: &[usize]| common.iter().map(|&index| self.buckets[bucket][index].1).collect();
        let before = self.results.lock().unwrap().insert(bucket, common.map(keys));
        assert!(before.is_none_or(|before| before == common.map(keys)), "bucket {bucket} has two results");
        Ok(())
    }
}

/// A receiver and a sender with these keys.
pub fn kits(
    params: Params,
    receiver: impl IntoIterator<Item = usize>,
    sender: impl IntoIterator<Item = usize>,
) -> [Kit; 2] {
    [Kit::new(Role::Receiver, params, receiver), Kit::new(Role::Sender, params, sender)]
}

/// Runs an attempt over channels.
pub fn attempt_over(
    kits: &[Kit; 2],
    number: u8,
    ends: (Channel, Channel),
) -> (Ended<BucketAgreement>, Ended<BucketAgreement>) {
    two::run_over(ends, &|channel| kits[0].run(number, channel), &|channel| kits[1].run(number, channel))
}

/// Runs an attempt in memory.
pub fn attempt(kits: &[Kit; 2], number: u8) -> (Ended<BucketAgreement>, Ended<BucketAgreement>) {
    attempt_over(kits, number, Channel::pair("receiver", "sender"))
}

pub const PROTOCOLS: [BucketProtocol; 3] =
    [BucketProtocol::Vole, BucketProtocol::Ecdh(Suite::Ristretto255), BucketProtocol::Ecdh(Suite::P384)];

/// Items of one bucket of several, under no run's key.
pub fn items_in_bucket(bucket: usize, buckets: usize, count: usize) -> Vec<Item> {
    (0..).map(item).filter(|item| bucket_of(item, buckets) == bucket).take(count).collect()
}
