//! Intersections larger than memory, bucket by bucket: which items are common, by `vole` or `ecdh` among semi-honest
//! parties, so that a run that was cut off goes on where it was.
//!
//! Both parties sort their items into the same buckets, by bits of the items under a seed that they draw together, and
//! fill each bucket up to a number that follows from what was agreed on. Each bucket is an intersection of its own;
//! several are in flight at once, each on a lane of the channel. Who calls keeps the buckets on a disk: it is asked for
//! the items of each ([`BucketSource::load`]), and told when each is done ([`BucketSource::finish`]).
//!
//! 1. Both parties know how many items each has, and how many buckets there are: [`Params`].
//! 2. [`agree`] draws the seed of a fresh run, or compares what both have kept of an earlier one: [`BucketAgreement`].
//! 3. Each keeps the [`BucketsRun`], makes its items with [`BucketsRun::item_key`] and sorts them with [`bucket_of`].
//! 4. [`run`] does the buckets that remain.
//!
//! [`star`](super::star) does the same among any number of parties, in buckets of its own.
//!
//! Why this hides what it should, and what each role learns, is in `docs/protocols/vole.md`, *On disk*.

mod agree;
mod params;
mod run;

pub use crate::channel::labels::buckets::{HEARD, SHARE, STATE};
pub(crate) use agree::agreed_bytes;
pub use agree::{AttemptKind, BucketAgreement, BucketsParty, BucketsRun, BucketsShape, BucketsState, KeptRun, agree};
pub use params::{BucketProtocol, MAX_BUCKETS, Params, bound, bucket_of, buckets_for};
pub(crate) use params::{check_bucket, least_buckets};
pub use run::{BucketSource, run};
