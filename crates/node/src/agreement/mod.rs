//! Agreement between parties: jobs and their terms, sizes and choices, and the handshake that settles them. [`Job`]
//! and [`PartyInput`] are the required interfaces; the modules of [`jobs`](crate::jobs) implement them.

mod align;
mod capabilities;
pub(crate) mod check;
mod chosen;
pub mod cost;
mod disclosure;
mod distributed;
mod found;
pub mod group;
pub mod handshake;
mod item_kind;
mod items;
mod job;
mod key;
mod known;
mod levels;
pub mod memory;
pub mod mesh;
mod names;
mod noise;
mod part;
mod protocol;
pub mod quality;
mod reveal;
mod show;
mod sizes;
mod source;
mod spec;
mod summary;
mod summed;
mod terms;
mod topology;
pub(crate) mod words;
pub(crate) mod written;

pub use align::AlignWay;
pub use capabilities::{
    Aligned, BucketSums, Capabilities, Distributed, Helped, Prepared, RepeatedCounts, Resumable, ResumePoint,
};
pub use check::check_name;
pub use chosen::{Choice, Chosen, FAR_BANDWIDTH, NEAR_BANDWIDTH, Network};
pub use disclosure::Disclosure;
pub use distributed::{Bucket, BucketCounts, BucketProposal, MAX_SPREAD_ROWS, Pooled, Spread};
pub use found::{Answer, Deferred, ResultPage, RunResult};
pub use item_kind::ItemKind;
pub use items::{Basket, ItemsFrom, Wildcard};
pub use job::{Ability, Answering, CommonKey, InitQuestion, Job, JobInfo, JobWith, Served};
pub use key::{Alternative, KeyVerdict, MAX_ALTERNATIVES, MatchKey, Profiles, all_columns};
pub use known::KnownSizes;
pub use levels::{Gathered, Levels};
pub use names::Names;
pub use noise::{NoiseBounds, NoiseSpec, NoiseUnit};
pub use part::{PairContext, PartContext, PartyInput, Peers};
pub use protocol::Protocol;
pub use quality::{Quality, RowShare, Unusable};
pub use reveal::Reveal;
pub use show::{Measures, OwnRows, Show, Which};
pub use sizes::{DiskRun, ResumableRun, RowsPerKey, Sizes, Slices};
pub use source::{DiskOptions, PoolPlace, Source};
pub use spec::{Admitted, JobSpec, Limits, Member, Parties, Party, RELAY_LEARNS};
pub use summed::Summed;
pub use terms::Terms;
pub use topology::{Clients, MAX_PARTIES, SliceRole, Topology};
pub use written::WrittenNumber;

pub use crate::table::{Duplicates, Nulls};
