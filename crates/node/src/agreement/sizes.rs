//! Sizes of a party's input, as announced to the peer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacita_core::Result;
use tacita_core::channel::Channel;

use super::{BucketProposal, JobSpec};

/// Sizes of a party's input, after its table is loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Distinct keys, or the bound that they are padded to.
    pub items: u64,
    /// Rows of given columns (at least `items` where columns are given), or the bound that they are padded to; else 0.
    pub entries: u64,
    /// Length of one given row in bytes; 0 where nothing is given.
    pub row_bytes: u32,
    /// The given columns: names and types, as `table::payload` writes them, in hexadecimal.
    pub schema: String,
    /// Id of the prepared epoch in hexadecimal, where the sender's part was prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// Bytes of a tag, where the sender's part was prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_bytes: Option<u32>,
    /// Rows that a sender gives for each of its keys, in a union.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<RowsPerKey>,
    /// The runs whose shares are to be opened, in hexadecimal, in the order in which the sender would open them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<String>>,
    /// Bucketed work of the sender, if its table is on disk and is intersected bucket by bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<DiskRun>,
    /// The own work is on disk, which the peer is not told.
    #[serde(skip)]
    pub on_disk: bool,
    /// Number of buckets that the sender asks for, as announced by the drivers of a spread job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<BucketProposal>,
    /// Sizes by each of several keys of which one is enough; the others are then those of [`Sizes::of_alternatives`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<Sizes>,
}

impl Sizes {
    /// Sizes by several keys of which one is enough, and as a whole the largest of them.
    pub fn of_alternatives(any: Vec<Sizes>) -> Sizes {
        let work = any.first().and_then(|sizes| sizes.work.as_ref()).map(|work| DiskRun { kept: None, ..work.clone() });
        Sizes { items: any.iter().map(|sizes| sizes.items).max().unwrap_or(0), work, any, ..Sizes::default() }
    }

    /// The same with the work on disk, or not.
    pub fn with_work(self, work: Option<&DiskRun>) -> Sizes {
        let any = self.any.into_iter().map(|sizes| sizes.with_work(work)).collect();
        Sizes { work: work.cloned(), any, ..self }
    }

    /// Refuses a peer's sizes that tell of a run on disk, of shares, or of rows for each key, in a job that has none.
    pub(crate) fn refuse(&self, work: bool, runs: bool, each: bool, channel: &Channel) -> Result<()> {
        if each && self.each.is_some() {
            return Err(channel.violation("it announces rows for each key in a job that is no union"));
        }
        if work && self.work.is_some() {
            return Err(channel.violation("it announces a run on disk in a job that has none"));
        }
        if runs && self.runs.is_some() {
            return Err(channel.violation("it announces shares in a job that opens none"));
        }
        Ok(())
    }
}

impl JobSpec {
    /// The sizes of `me` and of its peer by name, in a job of two.
    pub fn sizes_of_both(&self, me: &str, own: &Sizes, theirs: &Sizes) -> BTreeMap<String, Sizes> {
        let both = [(me, own), (self.peer_of(me), theirs)];
        both.map(|(name, sizes)| (name.to_owned(), sizes.clone())).into()
    }

    /// The two parties of a job of two, each with its sizes.
    pub(crate) fn both<'a>(&'a self, sizes: &'a BTreeMap<String, Sizes>) -> [(&'a str, &'a Sizes); 2] {
        let names = self.parties.names();
        [names[0], names[1]].map(|name| (name, &sizes[name]))
    }
}

/// Rows that a sender gives for each of its keys: as many as the key with most has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsPerKey {
    /// Rows of the key that has most; at least 1.
    pub rows: u32,
    /// Profiles with which the sender reads its key columns. The receiver sorts what it gets by them.
    pub profiles: Vec<String>,
}

/// A run on disk, as the peer is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskRun {
    /// Bytes of memory for the buckets in flight.
    pub memory: u64,
    /// The run that the sender has kept and would go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<ResumableRun>,
}

/// A run that a party has kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumableRun {
    /// Fingerprint of the run in hexadecimal.
    pub run: String,
    /// Number of buckets that the party has finished.
    pub finished: u64,
    /// Total number of buckets.
    pub buckets: u64,
    /// The name of its protocol.
    pub protocol: String,
}

/// Row counts of several clients, together and each, as far as a party knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slices {
    /// The server's: as many as all clients' together.
    pub all: u64,
    /// Each client's, in the order of their slices. A client knows its own alone.
    pub slices: Vec<Option<u64>>,
}
