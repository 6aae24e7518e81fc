//! Lanes: several conversations over one channel, each of them a channel of its own.
//!
//! What a lane sends goes straight to the outer channel's queue, with the lane's number in the frame's kind. What comes
//! is handed to the lanes by the thread that has opened them. It never waits for a lane, so that one that is busy
//! cannot keep messages from the others; what may wait unread for a lane is bounded by what an honest peer sends ahead.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::link::{Event, Link, LockAnyway, Route};
use super::queue::Queue;
use super::{Channel, Incoming};
use crate::error::{Error, Result};

/// Lanes of a channel at most: their numbers are told by the kinds of frames.
pub const MAX_LANES: usize = 16;

/// Least number of bytes that a message counts for while it waits for a lane. With a queue that doubles, an empty
/// message takes about as much memory. Any message takes at most twice its count.
pub const MIN_ROOM_BYTES: u64 = 128;

/// Whoever hands messages to the lanes waits for the next as long as there is a peer: none may be due, because the
/// lanes are at work. How long a message may be overdue is for the lane to say that waits for it.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

impl Channel {
    /// Opens a lane for each of `states`, of which there are 1 to [`MAX_LANES`], and runs `work` with each on a thread
    /// of its own; the peer must open as many. A lane is a channel: role functions run on it as on any other. It ends
    /// when `work` has returned at both ends. Returns what `work` has returned, lane by lane.
    ///
    /// `ahead` is how many bytes, headers included, an honest peer may have sent to a lane that has not read them,
    /// where a message counts as [`MIN_ROOM_BYTES`] if it is shorter; more is a violation. Traffic is counted here, and
    /// rounds are those of the lane that has most. If one lane fails, or this channel does, all fail, and the first
    /// cause is returned.
    pub fn lanes<S: Send, A: Send>(
        &mut self,
        states: Vec<S>,
        ahead: u64,
        work: impl Fn(S, &mut Channel) -> Result<A> + Sync,
    ) -> Result<Vec<A>> {
        if states.is_empty() || states.len() > MAX_LANES {
            return Err(Error::Internal(format!("{} lanes where 1 to {MAX_LANES} are possible", states.len())));
        }
        let outer = self.link.clone();
        let lanes: Vec<Channel> = (0..states.len()).map(|lane| self.lane(lane, states.len())).collect();
        let links: Vec<Arc<Link>> = lanes.iter().map(|lane| lane.link.clone()).collect();
        let ended: Vec<Result<A>> = std::thread::scope(|scope| {
            // If a thread cannot be had, or this one panics, the lanes that run must not wait for messages that nobody
            // hands them.
            let _panic = OnPanic(&links);
            let threads: Vec<_> = states
                .into_iter()
                .zip(lanes)
                .map(|(state, mut lane)| {
                    let (outer, work) = (&outer, &work);
                    scope.spawn(move || {
                        let _panic = outer.on_panic();
                        let result = work(state, &mut lane).and_then(|result| lane.finish().map(|_| result));
                        result.inspect_err(|error| outer.fail(error.clone()))
                    })
                })
                .collect();
            if let Err(error) = deliver(&mut self.incoming, &links, ahead) {
                links.iter().for_each(|lane| lane.fail(error.clone()));
            }
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let ended = ended.into_iter().collect::<Result<Vec<A>>>();
        let ended = ended.map_err(|error| outer.recorded().unwrap_or(error))?;
        let rounds = links.iter().map(|lane| lane.traffic().rounds).max();
        outer.flights.lock_anyway().after_lanes(rounds.unwrap_or(0));
        Ok(ended)
    }

    /// Lane number `lane` of `lanes`. They share what the peer can do, so that each has patience for all.
    fn lane(&self, lane: usize, lanes: usize) -> Channel {
        let (outgoing, incoming) = (Arc::new(Queue::new(0)), Arc::new(Queue::unbounded()));
        let mut link = Link::new(self.peer(), outgoing, incoming, Box::new(|| ()));
        link.route = Some(Route { outer: self.link.clone(), lane: lane as u8 });
        let mut channel = Channel::new(link);
        channel.set_patience(self.link.patience().saturating_mul(lanes as u32).min(FOREVER));
        channel
    }

    /// Counts rounds of what follows as of a run of its own, as where a lane has several runs one after the other.
    pub fn count_rounds_anew(&mut self) {
        self.link.flights.lock_anyway().anew();
    }
}

/// A guard that ends these lanes if its thread panics.
struct OnPanic<'a>(&'a [Arc<Link>]);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = Error::Internal("the thread that serves the lanes panicked".into());
            self.0.iter().for_each(|lane| lane.fail(error.clone()));
        }
    }
}

/// Hands what the peer sends to the lanes until it has ended all of them.
fn deliver(incoming: &mut Incoming, lanes: &[Arc<Link>], ahead: u64) -> Result<()> {
    // What each lane was given, by the room that it takes; `None` when the peer has ended it.
    let mut given = vec![Some(0u64); lanes.len()];
    while given.iter().any(Option::is_some) {
        let event = incoming.link.next_within(FOREVER)?;
        let (bytes, described) = (event.wire_bytes(), event.describe());
        incoming.link.received.fetch_add(bytes, Ordering::Relaxed);
        let (lane, event) = match event {
            Event::LaneData { lane, label, payload } => (usize::from(lane), Event::Data { label, payload }),
            Event::LaneClose { lane } => (usize::from(lane), Event::Close),
            _ => return Err(incoming.broken(format!("{described} came where a message of a lane was due"))),
        };
        let Some((link, Some(so_far))) = lanes.get(lane).zip(given.get_mut(lane).map(Option::as_mut)) else {
            return Err(incoming.broken(format!("{described} came, which is not open")));
        };
        *so_far += event.room();
        if *so_far - link.taken.load(Ordering::Relaxed) > ahead {
            return Err(incoming.broken(format!("{described} came before {ahead} bytes of that lane were read")));
        }
        if matches!(event, Event::Close) {
            given[lane] = None;
            link.incoming.close_with(event);
        } else {
            // It fails if the lane has failed, which ends this loop too.
            let _ = link.incoming.push(event, FOREVER);
        }
    }
    Ok(())
}
