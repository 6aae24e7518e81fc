//! The drivers of a job, connected: they say in turn what is to be done, and make the runs of the buckets.

use std::collections::BTreeMap;

use tacita_core::channel::labels::handshake::DRIVERS;
use tacita_core::channel::{Channel, each};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::connect::Settled;
use super::words::{DriverMessage, MAX_MESSAGE_BYTES, read, write};
use super::{DriverRun, Meet, in_buckets};
use crate::agreement::{Answer, Gathered, JobSpec, Levels, Protocol, Reveal};
use crate::base::hex::hex;
use crate::run::connections::finish;
use crate::transport::links::Links;

/// Maximum number of openings of the same shares, or the same pool: for drivers whose connection was lost
/// meanwhile.
pub const MAX_OPENINGS: u32 = 3;

/// Maximum number of level-by-level counts of the same rows: what the peer counts with them is not seen.
pub const MAX_COUNTS: u32 = 2;

/// Returns the identifier of aligned rows that are counted.
fn rows_of_runs(rows: u64, runs: &[String]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 spread rows that are counted");
    hasher.update(&rows.to_le_bytes());
    for run in runs {
        hasher.update(&(run.len() as u64).to_le_bytes()).update(run.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// A driver that has met the others.
pub struct DriverMesh {
    job: JobSpec,
    me: String,
    settled: Settled,
    channels: Vec<Channel>,
    links: Links,
    levels: Option<Box<dyn Levels>>,
}

impl DriverMesh {
    pub(super) fn new(meet: &Meet<'_>, settled: Settled, channels: Vec<Channel>, links: Links) -> DriverMesh {
        DriverMesh { job: meet.job.clone(), me: meet.me.to_owned(), settled, channels, links, levels: None }
    }

    /// Returns the number of buckets.
    pub fn buckets(&self) -> usize {
        self.settled.buckets
    }

    /// Returns the buckets left to do, ascending. If a party has no rows, there are none. If shares are left, there is
    /// still one, which leaves the shares of nothing.
    pub fn remaining(&self) -> &[usize] {
        let (left, nobody) = (&self.settled.run.remaining, self.settled.sizes.values().any(|items| *items == 0));
        let leaves_shares = || in_buckets(&self.job).is_ok_and(|one| one.reveal == Reveal::Shares);
        if !nobody {
            left
        } else if leaves_shares() {
            &left[..left.len().min(1)]
        } else {
            &[]
        }
    }

    /// Returns the number of rows with a key that each party announces, or the bound that they are padded to.
    pub fn sizes(&self) -> &BTreeMap<String, u64> {
        &self.settled.sizes
    }

    /// Returns the bound to which each party pads a bucket; nothing if rows go by their position.
    pub fn bounds(&self) -> &BTreeMap<String, u64> {
        &self.settled.bounds
    }

    /// Returns the protocol that runs in each bucket.
    pub fn protocol(&self) -> Protocol {
        self.settled.protocol
    }

    /// Returns the identifier of this meeting, in hexadecimal. Public.
    pub fn session(&self) -> String {
        hex(self.settled.session.id())
    }

    /// The key by which keys of rows go to buckets: a secret of the parties.
    pub fn item_key(&self) -> [u8; 32] {
        self.settled.run.run.item_key()
    }

    /// Whether this is the leading driver: the first party's.
    pub fn leads(&self) -> bool {
        self.job.parties.position(&self.me) == Some(0)
    }

    /// One turn: the leader tells each of the others what is for it, and hears what each answers; another hears, and
    /// then answers with what it has ready. `words` are by the party that they are for; so is what comes back, by whom
    /// it is from.
    ///
    /// Errors: a connection fails, or a peer says what cannot be. All connections end then.
    pub fn turn(
        &mut self,
        words: &BTreeMap<String, Vec<DriverMessage>>,
    ) -> Result<BTreeMap<String, Vec<DriverMessage>>> {
        let (leads, buckets) = (self.leads(), self.settled.buckets);
        let (names, first) = (self.job.parties.names(), self.job.parties.names()[0]);
        let nothing = Vec::new();
        let mut of_turn = Vec::new();
        for channel in &mut self.channels {
            if leads || channel.peer() == first {
                of_turn.push(write(words.get(channel.peer()).unwrap_or(&nothing))?);
            }
        }
        let count = of_turn.len();
        let speak = |message: Vec<u8>, channel: &mut Channel| {
            if leads {
                channel.send(DRIVERS, message)?;
                let answer = channel.receive_up_to(DRIVERS, MAX_MESSAGE_BYTES)?;
                return Ok((channel.peer().to_owned(), read(&answer, false, buckets, &names, channel)?));
            }
            let heard = channel.receive_up_to(DRIVERS, MAX_MESSAGE_BYTES)?;
            channel.send(DRIVERS, message)?;
            Ok((channel.peer().to_owned(), read(&heard, true, buckets, &names, channel)?))
        };
        // The first party's connection is the first one of every other party.
        let channels = &mut self.channels[..count];
        let heard = self.links.guard(|| each(channels, of_turn, speak))?;
        Ok(heard.into_iter().collect())
    }

    /// Puts together what all buckets have left in shares, as the text of their files in the order of the buckets,
    /// after [`DriverMessage::End`]. `work` is told what is opened, and refuses other shares than those that were.
    ///
    /// Errors: those of [`Sums::add_up`](crate::agreement::BucketSums::add_up).
    pub fn add_up(&mut self, shares: &[Zeroizing<String>], work: &mut DriverRun) -> Result<Answer> {
        let opens = &mut |what: &str| work.note_opening(what, MAX_OPENINGS);
        self.with_peer(|job, me, channel| job.sums()?.add_up(job, me, shares, channel, opens))
    }

    /// Does something with the driver of the only other party, after [`DriverMessage::End`].
    pub fn with_peer<T>(&mut self, what: impl FnOnce(&JobSpec, &str, &mut Channel) -> Result<T>) -> Result<T> {
        let (job, me) = (&self.job, &self.me);
        match &mut self.channels[..] {
            [channel] => self.links.guard(|| what(job, me, channel)),
            _ => Err(Error::Internal("what is between two, among more".into())),
        }
    }

    /// Begins to count again and again, when the rows of all buckets are aligned. Whose own items still count then, by
    /// number: [`DriverMesh::names`].
    ///
    /// Errors: those of [`RepeatedCounts::levels`](crate::agreement::RepeatedCounts::levels); `work` knows of other
    /// rows that were counted, or of too many counts.
    pub fn begin_levels(
        &mut self,
        rows: u64,
        runs: Vec<String>,
        items: Vec<(String, u64)>,
        work: &mut DriverRun,
    ) -> Result<()> {
        work.note_opening(&rows_of_runs(rows, &runs), MAX_COUNTS)?;
        let (job, me) = (&self.job, &self.me);
        let gathered = Gathered { rows, runs, items, session: self.settled.session.clone() };
        let [channel] = &mut self.channels[..] else {
            return Err(Error::Internal("levels among more than two".into()));
        };
        self.levels = Some(self.links.guard(|| job.repeated_counts()?.levels(job, me, gathered, channel))?);
        Ok(())
    }

    /// The own items that are still of interest, by their numbers.
    pub fn names(&self) -> &[String] {
        self.levels.as_ref().map_or(&[], |levels| levels.names())
    }

    /// One step of [`Levels`], with the peer's driver.
    ///
    /// Errors: its; the levels have not begun.
    pub fn step<T>(&mut self, step: impl FnOnce(&mut dyn Levels, &mut Channel) -> Result<T>) -> Result<T> {
        match (&mut self.levels, &mut self.channels[..]) {
            (Some(levels), [channel]) => self.links.guard(|| step(&mut **levels, channel)),
            _ => Err(Error::Internal("levels that have not begun".into())),
        }
    }

    /// Finishes the levels and returns the answer.
    pub fn finish_levels(&mut self) -> Result<Answer> {
        match (self.levels.take(), &mut self.channels[..]) {
            (Some(levels), [channel]) => self.links.guard(|| levels.finish(channel)),
            _ => Err(Error::Internal("levels that have not begun".into())),
        }
    }

    /// Bytes that this driver has sent to the others, and received from them.
    pub fn traffic(&self) -> (u64, u64) {
        let all = self.channels.iter().map(Channel::traffic);
        all.fold((0, 0), |(sent, received), one| (sent + one.sent, received + one.received))
    }

    /// Ends in good order, after [`DriverMessage::End`].
    pub fn end(self) -> Result<()> {
        let DriverMesh { channels, links, .. } = self;
        links.guard(|| finish(channels)).map(drop)
    }

    /// Ends because of an error of this party's, of which the others are told the kind.
    pub fn stop(self, error: &Error) {
        self.links.end(error);
    }
}
