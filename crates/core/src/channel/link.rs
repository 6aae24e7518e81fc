//! State shared by the two halves of a channel, its threads and its handles: the queues, and the reason for the
//! channel's end.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use super::queue::{Popped, Queue, Refused};
use super::roster::{Roster, Told};
use super::{HEADER_BYTES, Label, MIN_ROOM_BYTES, Traffic};
use crate::error::{Error, ErrorKind, Result};

/// Time that the end of a channel waits for a peer that does not hang up. A failed writer waits as long for the peer's
/// own reason for the end.
pub(super) const LINGER: Duration = Duration::from_secs(2);

/// Default time that a peer may be busy with itself: see [`super::Channel::set_patience`].
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Action due before the first message that answers: see [`super::Channel::before_answer`].
#[derive(Default)]
pub(super) enum BeforeAnswer {
    /// No action, or it is done.
    #[default]
    Nothing,
    /// Action that was not needed yet.
    Due(Box<dyn FnOnce() -> Result<()> + Send>),
    /// Failed action: it was begun and is not done, and no message that answers leaves.
    Failed(Error),
}

impl BeforeAnswer {
    fn done(&mut self) -> Result<()> {
        let undone = match std::mem::take(self) {
            BeforeAnswer::Nothing => return Ok(()),
            BeforeAnswer::Failed(error) => error,
            BeforeAnswer::Due(what) => {
                // What panics has failed.
                *self = BeforeAnswer::Failed(Error::Internal("an answer could not be noted".into()));
                match what() {
                    Ok(()) => {
                        *self = BeforeAnswer::Nothing;
                        return Ok(());
                    }
                    Err(error) => error,
                }
            }
        };
        *self = BeforeAnswer::Failed(undone.clone());
        Err(undone)
    }
}

pub(super) struct Link {
    pub(super) peer: String,
    pub(super) outgoing: Arc<Queue<Event>>,
    pub(super) incoming: Arc<Queue<Event>>,
    /// Reason that the writer must tell the peer ([`Told::code`]); 0 if there is none.
    pub(super) abort: AtomicU32,
    /// The parties of the job, where there are more than the two.
    pub(super) company: OnceLock<Roster>,
    /// Whether our last frame has been handed to the transport.
    pub(super) close_sent: AtomicBool,
    /// Whether the peer's last frame has come.
    pub(super) complete: AtomicBool,
    /// Ends the transport, so that threads blocked in it return.
    pub(super) shut: Box<dyn Fn() + Send + Sync>,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
    /// Bytes taken from the incoming queue, counted by [`Event::room`].
    pub(super) taken: AtomicU64,
    pub(super) flights: Mutex<Flights>,
    /// Longest time for which a live peer may send no message that is due, or read none of ours.
    pub(super) patience: Mutex<Duration>,
    /// Action due before the first message that answers: see [`super::Channel::before_answer`].
    pub(super) before_answer: Mutex<BeforeAnswer>,
    /// The channel that this one is a lane of.
    pub(super) route: Option<Route>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    failure: Option<Error>,
    /// Reason with which the peer has ended the job before this party said which parties take part ([`Link::joins`]).
    early: Option<Told>,
    /// The threads that are at work.
    running: Vec<Party>,
}

/// A thread of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Party {
    Reader,
    Writer,
}

/// One thing that travels.
pub(super) enum Event {
    Data {
        label: u8,
        payload: Vec<u8>,
    },
    Heartbeat,
    Abort(Told),
    Close,
    /// A message of a lane.
    LaneData {
        lane: u8,
        label: u8,
        payload: Vec<u8>,
    },
    /// The end of a lane.
    LaneClose {
        lane: u8,
    },
}

impl Event {
    pub(super) fn wire_bytes(&self) -> u64 {
        match self {
            Event::Data { payload, .. } | Event::LaneData { payload, .. } => (HEADER_BYTES + payload.len()) as u64,
            _ => HEADER_BYTES as u64,
        }
    }

    /// Bytes that the event counts for while it waits in a queue whose length the peer decides. A place in the queue
    /// and an allocation take more than a short message's bytes.
    pub(super) fn room(&self) -> u64 {
        self.wire_bytes().max(MIN_ROOM_BYTES)
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Event::Data { label, .. } => format!("message {label}"),
            Event::Heartbeat => "a heartbeat".into(),
            Event::Abort(_) => "an abort".into(),
            Event::Close => "the end of the job".into(),
            Event::LaneData { lane, label, .. } => format!("message {label} of lane {lane}"),
            Event::LaneClose { lane } => format!("the end of lane {lane}"),
        }
    }
}

impl Link {
    pub(super) fn new(
        peer: &str,
        outgoing: Arc<Queue<Event>>,
        incoming: Arc<Queue<Event>>,
        shut: Box<dyn Fn() + Send + Sync>,
    ) -> Link {
        Link {
            peer: peer.to_owned(),
            outgoing,
            incoming,
            abort: AtomicU32::new(0),
            company: OnceLock::new(),
            close_sent: AtomicBool::new(false),
            complete: AtomicBool::new(false),
            shut,
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            flights: Mutex::default(),
            patience: Mutex::new(TIMEOUT),
            before_answer: Mutex::default(),
            route: None,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn traffic(&self) -> Traffic {
        Traffic {
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            rounds: self.flights.lock_anyway().count,
        }
    }

    /// The next thing from the peer. A failure comes before what still waits, which nobody needs any more, unless it
    /// is an abort that [keeps its place](keeps_its_place).
    pub(super) fn next(&self) -> Result<Event> {
        self.next_within(self.patience())
    }

    /// Waits for the next event as [`Link::next`] does, with another patience than the channel's.
    pub(super) fn next_within(&self, patience: Duration) -> Result<Event> {
        match self.recorded() {
            Some(Error::Peer { kind, .. } | Error::Reported { kind, .. }) if keeps_its_place(kind) => {}
            Some(error) => return Err(error),
            None => {}
        }
        match self.incoming.pop(patience) {
            Popped::Element(Event::Abort(told)) => {
                self.fail(self.ended_by_peer(told));
                Err(self.failure())
            }
            Popped::Element(event) => {
                self.taken.fetch_add(event.room(), Ordering::Relaxed);
                Ok(event)
            }
            Popped::Closed => Err(self.failure()),
            Popped::Nothing => Err(self.stalled("sent")),
        }
    }

    /// Queues something for the peer.
    pub(super) fn push(&self, event: Event) -> Result<()> {
        if let Some(route) = &self.route {
            return route.push(event);
        }
        self.outgoing.push(event, self.patience()).map_err(|refused| match refused {
            Refused::Closed(_) => self.failure(),
            Refused::Full => self.stalled("read"),
        })
    }

    /// Has done what comes before an answer, of this channel and of the one that it is a lane of. Other threads that
    /// would answer wait until it is.
    pub(super) fn note_answer(&self) -> Result<()> {
        self.before_answer.lock_anyway().done()?;
        self.route.as_ref().map_or(Ok(()), Route::note_answer)
    }

    pub(super) fn patience(&self) -> Duration {
        *self.patience.lock_anyway()
    }

    /// The peer shows that it is alive, and nothing else: the channel ends.
    fn stalled(&self, what: &str) -> Error {
        let seconds = self.patience().as_secs();
        let what = format!("is connected but has {what} nothing for {seconds} s: it was given up");
        let error = Error::Network { peer: self.peer.clone(), what };
        self.fail(error.clone());
        (self.shut)();
        error
    }

    /// Records why the channel ended and wakes everybody who waits on it. The first cause stays, but for one thing:
    /// the peer's own word replaces the broken connection that followed from it.
    pub(super) fn fail(&self, error: Error) {
        let told = Told::only(error.kind());
        let from_peer = matches!(error, Error::Peer { .. } | Error::Reported { .. });
        let gone = from_peer || matches!(error, Error::Network { .. });
        {
            let mut state = self.state.lock_anyway();
            match &state.failure {
                None => state.failure = Some(error),
                Some(Error::Network { .. }) if from_peer => state.failure = Some(error),
                Some(_) => {}
            }
            self.changed.notify_all();
        }
        if gone {
            self.outgoing.close()
        } else {
            self.tell(told)
        }
        self.incoming.close();
        if let Some(route) = &self.route {
            route.fail(self.failure());
        }
    }

    /// Lets the writer tell the peer, and end the transport: ahead of everything that still waits, unless the kind
    /// [keeps its place](keeps_its_place).
    pub(super) fn tell(&self, told: Told) {
        // The first one stays; that has been told already.
        let _ = self.abort.compare_exchange(0, told.code(), Ordering::AcqRel, Ordering::Acquire);
        self.outgoing.close_with(Event::Abort(told));
    }

    /// The failure that is known so far.
    pub(super) fn recorded(&self) -> Option<Error> {
        self.state.lock_anyway().failure.clone()
    }

    /// Reason why the channel no longer works. If a thread is still finding out, waits for that thread.
    pub(super) fn failure(&self) -> Error {
        let until = Instant::now() + 2 * LINGER;
        let mut state = self.state.lock_anyway();
        loop {
            if let Some(error) = &state.failure {
                return error.clone();
            }
            let left = until.saturating_duration_since(Instant::now());
            if state.running.is_empty() || left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        drop(state);
        let told = self.incoming.last(|event| match event {
            Event::Abort(told) => Some(*told),
            _ => None,
        });
        let error = told.flatten().map_or_else(|| self.gone(), |told| self.ended_by_peer(told));
        self.fail(error);
        self.recorded().unwrap_or_else(|| self.gone())
    }

    pub(super) fn incoming_is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    pub(super) fn starts(&self, party: Party) {
        self.state.lock_anyway().running.push(party);
    }

    /// A guard whose end is the end of a thread.
    pub(super) fn at_end(&self, party: Party) -> impl Drop + '_ {
        struct AtEnd<'a>(&'a Link, Party);
        impl Drop for AtEnd<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.fail(Error::Internal(format!("the channel's {:?} panicked", self.1)));
                }
                self.0.state.lock_anyway().running.retain(|party| *party != self.1);
                self.0.changed.notify_all();
            }
        }
        AtEnd(self, party)
    }

    /// A guard that ends the channel if its thread panics, so that the other thread of a phase does not wait forever.
    pub(super) fn on_panic(&self) -> impl Drop + '_ {
        struct OnPanic<'a>(&'a Link);
        impl Drop for OnPanic<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.fail(Error::Internal("a phase of the protocol panicked".into()));
                }
            }
        }
        OnPanic(self)
    }

    /// Waits until these threads have ended, but not for longer than `limit`.
    pub(super) fn wait_for(&self, parties: &[Party], limit: Duration) {
        let until = Instant::now() + limit;
        let mut state = self.state.lock_anyway();
        while state.running.iter().any(|party| parties.contains(party)) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    pub(super) fn gone(&self) -> Error {
        Error::Network { peer: self.peer.clone(), what: "went away: the connection closed in mid-job".into() }
    }

    /// Translates the peer's last word into this party's error.
    pub(super) fn ended_by_peer(&self, told: Told) -> Error {
        let mut state = self.state.lock_anyway();
        match self.company.get() {
            Some(company) => company.understood(&self.peer, told),
            None => {
                state.early = Some(told);
                // Of another party, who has no name yet.
                let kind = if told.about.is_some() { ErrorKind::Network } else { told.kind };
                Error::Peer { peer: self.peer.clone(), kind }
            }
        }
    }

    /// The first company stays: there is no second one in a job. A peer may have ended the job before this party came
    /// to say who is in it; what it told is understood now.
    pub(super) fn joins(&self, company: Roster) {
        let mut state = self.state.lock_anyway();
        let company = self.company.get_or_init(|| company);
        let ended = matches!(state.failure, None | Some(Error::Peer { .. } | Error::Network { .. }));
        if let (true, Some(told)) = (ended, state.early.take()) {
            state.failure = Some(company.understood(&self.peer, told));
        }
    }

    pub(super) fn violation(&self, check: impl Into<String>) -> Error {
        let check = match &self.route {
            Some(route) => format!("lane {}: {}", route.lane, check.into()),
            None => check.into(),
        };
        Error::Protocol { peer: self.peer.clone(), check }
    }

    /// Describes the event that came, in this channel's words.
    pub(super) fn describe(&self, event: &Event) -> String {
        match (event, &self.route) {
            (Event::Close, Some(_)) => "the end of the lane".into(),
            _ => event.describe(),
        }
    }
}

/// Whether an abort of this kind comes after the messages that were sent before it, at both ends. Parties find that
/// their terms differ when they compare what both have said; who finds it first must not keep the other from seeing
/// in what they differ.
pub(super) fn keeps_its_place(kind: ErrorKind) -> bool {
    kind == ErrorKind::Terms
}

/// The order in which labels first travelled.
#[derive(Default)]
pub(super) struct Flights {
    seen: Vec<(Direction, u8)>,
    last: Option<Direction>,
    pub(super) count: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Sent,
    Received,
}

impl Flights {
    pub(super) fn first_use(&mut self, direction: Direction, label: Label) {
        if self.seen.contains(&(direction, label.code)) {
            return;
        }
        if self.last != Some(direction) {
            self.count += 1;
        }
        self.last = Some(direction);
        self.seen.push((direction, label.code));
    }

    /// Forgets which labels have travelled: what follows is counted as a run of its own.
    pub(super) fn anew(&mut self) {
        self.seen.clear();
        self.last = None;
    }

    /// Flights of lanes that ran at once.
    pub(super) fn after_lanes(&mut self, count: u32) {
        self.count += count;
        self.last = None;
    }

    /// A label that travels both ways at once.
    pub(super) fn at_once(&mut self, label: Label) {
        self.count += 1;
        self.last = None;
        self.seen.extend([(Direction::Sent, label.code), (Direction::Received, label.code)]);
    }
}

/// Destination of a lane's messages.
pub(super) struct Route {
    pub(super) outer: Arc<Link>,
    pub(super) lane: u8,
}

impl Route {
    fn push(&self, event: Event) -> Result<()> {
        let lane = self.lane;
        let event = match event {
            Event::Data { label, payload } => Event::LaneData { lane, label, payload },
            Event::Close => Event::LaneClose { lane },
            event => return Err(Error::Internal(format!("a lane sends {}", event.describe()))),
        };
        let bytes = event.wire_bytes();
        self.outer.push(event)?;
        self.outer.sent.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Notes an answer on the channel before one is sent over the lane.
    fn note_answer(&self) -> Result<()> {
        self.outer.note_answer()
    }

    /// The end of a lane for an error is the end of all.
    fn fail(&self, error: Error) {
        self.outer.fail(error);
    }
}

/// Locking that goes on after another thread panicked: what these locks guard is valid at every moment.
pub(super) trait LockAnyway<T> {
    fn lock_anyway(&self) -> MutexGuard<'_, T>;
}

impl<T> LockAnyway<T> for Mutex<T> {
    fn lock_anyway(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
