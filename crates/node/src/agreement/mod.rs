//! Agreement between parties: jobs and their terms, sizes and choices, and the handshake that settles them. [`Job`]
//! and [`Part`] are the required interfaces; the modules of [`jobs`](crate::jobs) implement them.

pub(crate) mod check;
mod chosen;
pub mod cost;
mod found;
pub mod group;
pub mod handshake;
mod items;
mod job;
mod key;
mod known;
mod levels;
pub mod memory;
pub mod mesh;
mod names;
mod part;
mod protocol;
pub mod quality;
mod reveal;
mod show;
mod sizes;
mod source;
mod spec;
mod spread;
mod summed;
mod terms;
mod topology;
pub(crate) mod words;
pub(crate) mod written;

pub use check::check_name;
pub use chosen::{Choice, Chosen, FAR_BANDWIDTH, NEAR_BANDWIDTH, Network};
pub use found::{Answer, Deferred, Found, Page};
pub use items::{Basket, ItemsFrom, Star};
pub use job::{
    Ability, Answering, Distributed, Glance, Helped, Job, JobInfo, Left, Of, Question, RepeatedCounts, Resumable,
    Served, Shared, Sums,
};
pub use key::{Alternative, Key, KeyVerdict, MAX_ALTERNATIVES, Profiles, all_columns};
pub use known::Known;
pub use levels::{Gathered, Levels};
pub use names::Names;
pub use part::{Pair, Part, Peers, Run};
pub use protocol::Protocol;
pub use quality::{Quality, RowShare, Unusable};
pub use reveal::Reveal;
pub use show::{Measures, OwnRows, Show, Which};
pub use sizes::{Each, Kept, Sizes, Slices, Work};
pub use source::{OnDisk, PoolPlace, Source};
pub use spec::{Admitted, JobSpec, Limits, Member, Parties, Party, RELAY_LEARNS};
pub use spread::{Bucket, Counts, MOST_SPREAD_ROWS, Pooled, Spread, Wish};
pub use summed::Summed;
pub use terms::Terms;
pub use topology::{Clients, MOST_PARTIES, Role, Topology};
pub use written::Written;

pub use crate::table::{Duplicates, Nulls};
