//! Intersections larger than memory, among any number of parties: which items are common, bucket by bucket, so that a
//! run that was cut off goes on where it was.
//!
//! As [`buckets`](crate::protocol::intersect::buckets) between two, with the same
//! [`agree`](crate::protocol::intersect::buckets::agree) before it: the same buckets, filled up to a number that
//! follows from what was agreed on. Each is a [`star`](super) of its own, in a session of its own. One comes after the
//! other; all links of a party are at work at once.

use std::sync::Arc;

use rand_core::CryptoRng;

use super::{MeshLink, Params as Star, StarParty};
use crate::channel::{Channel, HEADER_BYTES};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::protocol::intersect::buckets::{
    AttemptKind, BucketSource, BucketsShape, MAX_BUCKETS, agreed_bytes, bound, check_bucket, least_buckets,
};
use crate::session::Session;

/// Agreed public values of a bucketed run. All parties must use equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    items: Vec<usize>,
    buckets: usize,
    bucket: Star,
}

/// A party of a bucketed run.
#[derive(Clone, Copy)]
pub struct StarBucketsParty<'a> {
    /// Place of this party.
    pub me: usize,
    /// Parameters that all parties have agreed on.
    pub params: &'a Params,
    /// The session of this attempt, which all parties have: keys and correlations are fresh in each, and for each
    /// bucket.
    pub session: &'a Session,
    /// Links from this party to all others.
    pub links: &'a [MeshLink],
}

impl Params {
    /// A run over so many distinct items of each party, or a bound on them that was agreed on, by place, in 1 to
    /// [`MAX_BUCKETS`] buckets. The party at `leader` works the result out, and the `learners` learn.
    pub fn new(items: Vec<usize>, leader: usize, learners: Vec<usize>, buckets: usize) -> Result<Params> {
        if !(1..=MAX_BUCKETS).contains(&buckets) {
            return Err(Error::Internal(format!("{buckets} buckets")));
        }
        let bounds = items.iter().map(|&own| bound(own, buckets, items.len())).collect();
        let bucket = Star::new(bounds, leader, learners, Vec::new())?.one_of(buckets)?;
        Ok(Params { items, buckets, bucket })
    }

    /// The least power of two of buckets of which one fits into `memory` bytes, if there is any, where `needed` tells
    /// what this party needs for one. The parties take the largest of theirs.
    ///
    /// Errors: those of [`Params::new`] with [`MAX_BUCKETS`].
    pub fn least_buckets(
        items: &[usize],
        leader: usize,
        learners: &[usize],
        memory: u64,
        needed: impl Fn(&Star) -> u64,
    ) -> Result<Option<usize>> {
        let params = |buckets| Params::new(items.to_vec(), leader, learners.to_vec(), buckets);
        least_buckets(|buckets| Ok(needed(&params(buckets)?.bucket)), memory)
    }

    /// Returns the number of buckets.
    pub fn buckets(&self) -> usize {
        self.buckets
    }

    /// Parameters of each bucket's run: its sizes are what each bucket is filled up to.
    pub fn bucket(&self) -> &Star {
        &self.bucket
    }

    /// Returns the shape that [`agree`](crate::protocol::intersect::buckets::agree) compares.
    pub fn shape(&self) -> BucketsShape {
        let (items, learners) = (&self.items, &self.bucket.learners);
        let numbers = [items.len(), self.buckets, self.bucket.leader].into_iter();
        let numbers = numbers.chain(items.iter().copied()).chain(learners.iter().copied());
        BucketsShape {
            buckets: self.buckets,
            learners: learners.clone(),
            numbers: numbers.map(|number| number as u64).collect(),
        }
    }

    /// Bytes that the party at `from` sends to the one at `to` in an attempt, headers included and heartbeats not.
    pub fn bytes_sent_by(&self, from: usize, to: usize, attempt: AttemptKind) -> Result<u64> {
        // A job's end is in what a star sends, which a bucket has not.
        let close = HEADER_BYTES as u64;
        let of_bucket = self.bucket.bytes_sent_by(from, to)? - close;
        Ok(agreed_bytes(self.buckets, attempt, self.items.len()) + self.left(attempt) as u64 * of_bucket + close)
    }

    /// Message flights of an attempt in sequence over one link, at most.
    pub fn rounds(&self, attempt: AttemptKind) -> u32 {
        attempt.rounds(self.items.len()) + self.left(attempt) as u32 * self.bucket.rounds()
    }

    /// Buckets that an attempt sends anything for: none if a party has no items, because nothing is common then.
    fn left(&self, attempt: AttemptKind) -> usize {
        match attempt {
            _ if self.is_empty() => 0,
            AttemptKind::Fresh => self.buckets,
            AttemptKind::Resumed { remaining } => remaining,
        }
    }

    fn is_empty(&self) -> bool {
        self.items.contains(&0)
    }
}

/// Does the `remaining` buckets, which are those of [`agree`](crate::protocol::intersect::buckets::agree) at all.
/// `channels` are those of the party's links, in the same order.
///
/// Progress counts rows of all parties in the phase `intersecting`, items that fill buckets up included. An error of
/// `source` ends the run; the others are told its kind.
pub fn run(
    party: StarBucketsParty<'_>,
    remaining: &[usize],
    source: &(impl BucketSource + ?Sized),
    channels: &mut [Channel],
    rng: &mut (impl CryptoRng + Send),
) -> Result<()> {
    let StarBucketsParty { me, params, session, links } = party;
    let learns = params.bucket.learners.contains(&me);
    if params.is_empty() {
        // Nothing is common, as all know.
        return remaining.iter().try_for_each(|&bucket| source.finish(bucket, learns.then_some(&[])));
    }
    let rows: usize = params.bucket.items.iter().sum();
    // Of all buckets together: each has phases of its own, too short to be read.
    let progress: Vec<Arc<Progress>> = channels.iter_mut().map(Channel::take_progress).collect();
    progress.iter().for_each(|progress| progress.start("intersecting", remaining.len() * rows));
    for &bucket in remaining {
        let items = source.load(bucket)?;
        check_bucket(items.len(), params.bucket.items[me])?;
        channels.iter_mut().for_each(Channel::count_rounds_anew);
        let child = |session: &Session| session.child("bucket", bucket as u64);
        let link =
            |link: &MeshLink| MeshLink { peer: link.peer, session: child(&link.session), seed: link.seed.clone() };
        let links: Vec<MeshLink> = links.iter().map(link).collect();
        let session = child(session);
        let of_bucket =
            StarParty { me, items: &items, rows: None, params: &params.bucket, session: &session, links: &links };
        let common = super::run(of_bucket, channels, rng)?;
        source.finish(bucket, common.as_ref().map(|common| &common.items[..]))?;
        progress.iter().for_each(|progress| progress.advance(rows));
    }
    Ok(())
}
