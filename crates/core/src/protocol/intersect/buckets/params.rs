//! Parameters that both parties agree on before a bucketed run, and the costs that follow from them.

use super::agree::{AttemptKind, BucketsShape, agreed_bytes};
use crate::channel::{HEADER_BYTES, MAX_LANES, MIN_ROOM_BYTES};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::okvs;
use crate::primitive::oprf::Suite;
use crate::protocol::intersect::tag_exchange::{self, ReturnedRows};
use crate::protocol::intersect::{ecdh, vole};
use crate::role::Role;
use crate::security::{Chance, Security};

/// Buckets of a run at most.
pub const MAX_BUCKETS: usize = 1 << 16;

/// Messages of a bucket at most, from one party, that count for more than their bytes while they wait: those that are
/// short, and the last of those into which a long one is cut.
const SHORT_MESSAGES: u64 = 64;

/// Protocol that does each bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketProtocol {
    /// See [`crate::protocol::intersect::vole`].
    Vole,
    /// See [`crate::protocol::intersect::ecdh`].
    Ecdh(Suite),
}

/// Agreed public values of a bucketed run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Protocol that does each bucket.
    pub protocol: BucketProtocol,
    /// Distinct items of the receiver, or a bound on them that was agreed on.
    pub receiver_items: usize,
    /// Distinct items of the sender, or a bound on them that was agreed on.
    pub sender_items: usize,
    /// Number of buckets in the run.
    pub buckets: usize,
    /// Buckets in flight at most.
    pub lanes: usize,
    /// Whether the sender learns, too, which items are common.
    pub to_sender: bool,
    /// Number of such runs, this one included, of which none may go wrong by chance.
    pub runs: usize,
}

impl Params {
    /// A run of which the receiver alone learns. There are 1 to [`MAX_BUCKETS`] buckets, and 1 to [`MAX_LANES`] lanes.
    pub fn new(
        protocol: BucketProtocol,
        receiver_items: usize,
        sender_items: usize,
        buckets: usize,
        lanes: usize,
    ) -> Result<Params> {
        if !(1..=MAX_BUCKETS).contains(&buckets) || !(1..=MAX_LANES).contains(&lanes) {
            return Err(Error::Internal(format!("{buckets} buckets on {lanes} lanes")));
        }
        let params = Params { protocol, receiver_items, sender_items, buckets, lanes, to_sender: false, runs: 1 };
        params.bucket().check()?;
        params.vole().map(|_| params)
    }

    /// The same, and the sender learns too.
    pub fn to_both(self) -> Params {
        Params { to_sender: true, ..self }
    }

    /// The same, as one of `runs`.
    pub fn one_of(self, runs: usize) -> Params {
        Params { runs, ..self }
    }

    /// Returns the shape that [`super::agree`] compares: all but the traffic in flight (lanes).
    pub fn shape(&self) -> BucketsShape {
        let protocol = match self.protocol {
            BucketProtocol::Vole => 0,
            BucketProtocol::Ecdh(Suite::Ristretto255) => 1,
            BucketProtocol::Ecdh(Suite::P384) => 2,
            BucketProtocol::Ecdh(Suite::P521) => 3,
        };
        let numbers = [self.receiver_items, self.sender_items, self.buckets, usize::from(self.to_sender), protocol];
        let learners = if self.to_sender { vec![0, 1] } else { vec![0] };
        BucketsShape { buckets: self.buckets, learners, numbers: numbers.map(|number| number as u64).to_vec() }
    }

    /// Items of the party with this role that each bucket is filled up to; see [`bound`].
    pub fn bound(&self, role: Role) -> usize {
        let items = match role {
            Role::Receiver => self.receiver_items,
            Role::Sender => self.sender_items,
        };
        bound(items, self.buckets, 2 * self.runs)
    }

    /// Refuses a bucket with more items than its bound.
    pub(crate) fn check_bucket(&self, role: Role, items: usize) -> Result<()> {
        check_bucket(items, self.bound(role))
    }

    /// Parameters of each bucket's intersection.
    pub fn bucket(&self) -> tag_exchange::Params {
        let params = tag_exchange::Params::rows(self.bound(Role::Receiver), self.bound(Role::Sender))
            .one_of(self.buckets * self.runs);
        if self.to_sender { params.to_both() } else { params }
    }

    /// The same, as `vole` takes them.
    pub(super) fn vole(&self) -> Result<vole::Params> {
        vole::Params::new(self.bucket(), Security::SemiHonest)
    }

    /// The same, as `ecdh` takes them.
    pub(super) fn ecdh(&self, suite: Suite) -> ecdh::Params {
        ecdh::Params::new(self.bucket(), suite)
    }

    /// Bytes that a party sends in an attempt, headers included and heartbeats not.
    pub fn bytes_sent_by(&self, role: Role, attempt: AttemptKind) -> Result<u64> {
        let buckets = self.left(attempt) as u64 * self.bucket_bytes_sent_by(role)?;
        // Each lane ends, and then the job.
        let ends = (self.lanes_for(self.left(attempt)) + 1) * HEADER_BYTES;
        Ok(agreed_bytes(self.buckets, attempt, 2) + buckets + ends as u64)
    }

    /// Bytes that a party sends for each bucket.
    pub(super) fn bucket_bytes_sent_by(&self, role: Role) -> Result<u64> {
        let bytes = match self.protocol {
            BucketProtocol::Vole => self.vole()?.bytes_sent_by(role, ReturnedRows::default())?,
            BucketProtocol::Ecdh(suite) => self.ecdh(suite).bytes_sent_by(role, ReturnedRows::default()),
        };
        // A job's end is in them, which a bucket has not.
        Ok(bytes - HEADER_BYTES as u64)
    }

    /// Returns the bytes that a party with this role may have sent to a lane that has not read them, as
    /// [`crate::channel::Channel::lanes`] counts them. A party that has done its part of one bucket may be at the next.
    /// To do its part of that, too, it needs an answer.
    pub fn bytes_ahead(&self, role: Role) -> Result<u64> {
        Ok(2 * (self.bucket_bytes_sent_by(role)? + SHORT_MESSAGES * MIN_ROOM_BYTES))
    }

    /// Message flights of an attempt in sequence, as [`crate::channel::Traffic`] counts them. Lanes run at once.
    pub fn rounds(&self, attempt: AttemptKind) -> Result<u32> {
        let of_bucket = match self.protocol {
            BucketProtocol::Vole => self.vole()?.rounds(ReturnedRows::default()),
            BucketProtocol::Ecdh(suite) => self.ecdh(suite).rounds(ReturnedRows::default()),
        };
        let left = self.left(attempt);
        Ok(attempt.rounds(2) + left.div_ceil(self.lanes_for(left).max(1)) as u32 * of_bucket)
    }

    /// Buckets that an attempt sends anything for: none if a party has no items, because nothing is common then.
    fn left(&self, attempt: AttemptKind) -> usize {
        match attempt {
            _ if self.is_empty() => 0,
            AttemptKind::Fresh => self.buckets,
            AttemptKind::Resumed { remaining } => remaining,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.receiver_items == 0 || self.sender_items == 0
    }

    /// Lanes for so many buckets.
    pub(super) fn lanes_for(&self, buckets: usize) -> usize {
        self.lanes.min(buckets)
    }
}

/// The number of items that each of the buckets of a set is filled up to: the least that each exceeds with probability
/// 2^-(45 + log2(buckets * sets)) at most, so that any bucket of any of so many sets does with 2^-45 at most
/// ([`Chance::Bucket`]).
pub fn bound(items: usize, buckets: usize, sets: usize) -> usize {
    let bits = f64::from(Chance::Bucket.bits()) + ((buckets * sets) as f64).log2();
    okvs::bin_capacity(items, buckets, bits)
}

/// Refuses a bucket with more items than its bound.
pub(crate) fn check_bucket(items: usize, bound: usize) -> Result<()> {
    if items <= bound {
        Ok(())
    } else {
        Err(Error::NotReady(
            "the items do not fit their buckets under this run's seed, which happens less than once in 2^40 runs: only a new run, which has another seed, can succeed"
                .into(),
        ))
    }
}

/// The bucket of an item. Items are random 32 bytes, of which `vole` takes the last 16 as random values: the bucket
/// comes from the 8 before these, as a fraction of all buckets.
pub fn bucket_of(item: &Item, buckets: usize) -> usize {
    let bits = u64::from_le_bytes(std::array::from_fn(|index| item.0[8 + index]));
    ((u128::from(bits) * buckets as u128) >> 64) as usize
}

/// The least power of two of buckets with which `lanes` of them fit into `memory` bytes, where `bytes` tells what this
/// party needs for an intersection of so many items of the receiver and the sender, in a run that is one of `runs`. The
/// parties take the larger of theirs.
///
/// Errors: those of [`Params::new`] with [`MAX_BUCKETS`]; [`Error::Input`] if these do not fit either.
pub fn buckets_for(
    receiver_items: usize,
    sender_items: usize,
    lanes: usize,
    runs: usize,
    memory: u64,
    bytes: impl Fn(usize, usize) -> u64,
) -> Result<usize> {
    let needed = |buckets: usize| {
        let protocol = BucketProtocol::Ecdh(Suite::Ristretto255);
        let params = Params::new(protocol, receiver_items, sender_items, buckets, lanes)?.one_of(runs);
        let one = bytes(params.bound(Role::Receiver), params.bound(Role::Sender));
        Ok(one.saturating_mul(params.lanes_for(buckets) as u64))
    };
    least_buckets(needed, memory)?.ok_or_else(|| {
        Error::Input(format!(
            "too little memory for sets of {receiver_items} and {sender_items} items, in however many buckets: allow more"
        ))
    })
}

/// The least power of two of buckets with which `memory` bytes are enough, if any is, where `needed` tells what so many
/// take; fewer may be too few for such sets, which is its error.
pub(crate) fn least_buckets(needed: impl Fn(usize) -> Result<u64>, memory: u64) -> Result<Option<usize>> {
    for buckets in (0..=MAX_BUCKETS.ilog2()).map(|bits| 1 << bits) {
        match needed(buckets) {
            Err(_) if buckets < MAX_BUCKETS => (),
            needed if needed.clone()? <= memory => return Ok(Some(buckets)),
            _ => (),
        }
    }
    Ok(None)
}
