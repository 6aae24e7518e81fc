//! Framed messages between two roles, in memory or over any pair of a `Read` and a `Write`.
//!
//! A channel owns a reader and a writer thread with bounded queues between them and the protocol, so that one chunk
//! travels while the next is computed. Phases in which data flows both ways at once run under [`Channel::duplex`]:
//! one thread for each direction, because two bounded queues that are both being filled by one thread deadlock.
//!
//! The peer is hostile at the parser: a frame's length is checked before memory is taken for it, its sequence number
//! and label before anybody looks at its payload, and a receiver always says how long a message may be.

mod each;
pub mod labels;
mod lanes;
mod link;
mod queue;
mod roster;
mod socket;
mod stream;

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::progress::Progress;
use link::{BeforeAnswer, Direction, Event, Link, LockAnyway, Party};
use queue::Queue;
use roster::{Roster, Told};

/// Bytes that precede every payload on the wire: length (4), sequence (4), kind (1), label (1).
pub const HEADER_BYTES: usize = 10;

/// The longest payload of one frame. Larger messages travel in chunks.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

pub use each::{conclude_all_for, each};
pub use lanes::{MAX_LANES, MIN_ROOM_BYTES};

/// Frames that may wait in either direction.
const QUEUE_FRAMES: usize = 4;

/// Kind of a message: a code on the wire, and a name for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Code on the wire, which no other label has.
    pub code: u8,
    /// Name of the message, as written in `docs/wire.md`.
    pub name: &'static str,
    /// Whether its receiver learns a part of the answer of an intersection from it, or can compute it with what it has:
    /// see [`Channel::before_answer`].
    answers: bool,
    /// Whether it counts as traffic of the job: see [`Traffic`].
    counts: bool,
}

impl Label {
    /// A label. Those of protocols stand in [`labels`].
    pub const fn new(code: u8, name: &'static str) -> Label {
        Label { code, name, answers: false, counts: true }
    }

    /// The label of messages that answer.
    pub(crate) const fn answers(self) -> Label {
        Label { answers: true, ..self }
    }

    /// The label of messages beside the job, which do not count.
    pub(crate) const fn aside(self) -> Label {
        Label { counts: false, ..self }
    }
}

/// Bytes and rounds of a channel so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes sent: payloads and their frames' headers. Heartbeats, receipts and TLS are left out, so that a run's
    /// number depends on nothing but its messages, and is what the peer received.
    pub sent: u64,
    /// Bytes received, counted as `sent` is.
    pub received: u64,
    /// Message flights in sequence: how often the direction changed, looking at the first frame of every label.
    pub rounds: u32,
}

/// A connection to the other role.
///
/// ```
/// use tacita_core::protocol::intersect::ecdh::BLINDED;
/// use tacita_core::{Channel, ErrorKind};
///
/// let (mut to_insurer, mut to_hospital) = Channel::pair("hospital", "insurer");
/// to_insurer.send(BLINDED, vec![1, 2, 3])?;
/// to_insurer.send(BLINDED, vec![4])?;
/// // A receiver says which message it waits for, and how long that is. Any other one is its peer's fault.
/// assert_eq!(to_hospital.receive(BLINDED, 3)?, [1, 2, 3]);
/// let error = to_hospital.receive(BLINDED, 2).unwrap_err();
/// assert!(error.kind() == ErrorKind::Protocol && error.to_string().contains("hospital"));
/// # tacita_core::Result::Ok(())
/// ```
pub struct Channel {
    outgoing: Outgoing,
    incoming: Incoming,
    link: Arc<Link>,
    progress: Arc<Progress>,
    threads: Vec<JoinHandle<()>>,
    /// Final traffic, once [`Channel::conclude`] has ended the job.
    concluded: Option<Traffic>,
    /// Action due before the end: see [`Channel::before_close`].
    before_close: Option<BeforeClose>,
}

/// Action due before the end of a channel.
type BeforeClose = Box<dyn FnOnce(&mut Channel) -> Result<()> + Send>;

/// The sending half of a [`Channel`].
pub struct Outgoing {
    link: Arc<Link>,
}

/// The receiving half of a [`Channel`].
pub struct Incoming {
    link: Arc<Link>,
}

impl Channel {
    /// Two ends of a channel in memory, for tests and benchmarks: `.0` talks to the party named `second`, `.1` to the
    /// one named `first`. Nothing is copied and no thread is started.
    pub fn pair(first: &str, second: &str) -> (Channel, Channel) {
        let forth = Arc::new(Queue::new(QUEUE_FRAMES));
        let back = Arc::new(Queue::new(QUEUE_FRAMES));
        let end = |peer: &str, outgoing: &Arc<Queue<Event>>, incoming: &Arc<Queue<Event>>| {
            Channel::new(Link::new(peer, outgoing.clone(), incoming.clone(), Box::new(|| ())))
        };
        (end(second, &forth, &back), end(first, &back, &forth))
    }

    /// A channel to `peer` over a connected transport. `shut` must make blocked reads and writes of the transport
    /// return, and dropping the writer must let the other end's reads end. A reader that sees no byte for too long
    /// (heartbeats arrive every `heartbeat`) should fail with [`std::io::ErrorKind::TimedOut`]: the peer is then
    /// reported as silent.
    pub fn over<R, W>(
        peer: &str,
        reader: R,
        writer: W,
        heartbeat: Duration,
        shut: impl Fn() + Send + Sync + 'static,
    ) -> Channel
    where
        R: Read + Send + 'static,
        W: Write + Send + 'static,
    {
        let outgoing = Arc::new(Queue::new(QUEUE_FRAMES));
        let incoming = Arc::new(Queue::new(QUEUE_FRAMES));
        let mut channel = Channel::new(Link::new(peer, outgoing, incoming, Box::new(shut)));
        for party in [Party::Writer, Party::Reader] {
            channel.link.starts(party);
        }
        let link = channel.link.clone();
        channel.threads.push(std::thread::spawn(move || {
            let end = link.at_end(Party::Writer);
            stream::write_frames(&link, writer, heartbeat);
            drop(end);
        }));
        let link = channel.link.clone();
        channel.threads.push(std::thread::spawn(move || {
            let end = link.at_end(Party::Reader);
            stream::read_frames(&link, reader);
            drop(end);
        }));
        channel
    }

    fn new(link: Link) -> Channel {
        let link = Arc::new(link);
        Channel {
            outgoing: Outgoing { link: link.clone() },
            incoming: Incoming { link: link.clone() },
            link,
            progress: Arc::default(),
            threads: Vec::new(),
            concluded: None,
            before_close: None,
        }
    }

    /// Name of the party at the other end.
    pub fn peer(&self) -> &str {
        &self.link.peer
    }

    /// See [`Outgoing::send`].
    pub fn send(&mut self, label: Label, payload: Vec<u8>) -> Result<()> {
        self.outgoing.send(label, payload)
    }

    /// See [`Incoming::receive`].
    pub fn receive(&mut self, label: Label, length: usize) -> Result<Vec<u8>> {
        self.incoming.receive(label, length)
    }

    /// See `Incoming::receive_up_to`.
    pub fn receive_up_to(&mut self, label: Label, limit: usize) -> Result<Vec<u8>> {
        self.incoming.receive_up_to(label, limit)
    }

    /// Sends a message and receives the peer's of the same label, of at most `limit` bytes. Both travel at once, so
    /// this counts as one round.
    pub fn exchange(&mut self, label: Label, payload: Vec<u8>, limit: usize) -> Result<Vec<u8>> {
        self.link.flights.lock_anyway().at_once(label);
        self.outgoing.send(label, payload)?;
        self.incoming.receive_up_to(label, limit)
    }

    /// Returns both halves, for functions that also work in a [`duplex`](Channel::duplex) phase.
    pub(crate) fn halves(&mut self) -> (&mut Outgoing, &mut Incoming) {
        (&mut self.outgoing, &mut self.incoming)
    }

    /// Runs a phase as [`Channel::duplex`] does, with messages of `label` both ways: they count as one round.
    pub fn duplex_of<A: Send, B>(
        &mut self,
        label: Label,
        send: impl FnOnce(&mut Outgoing) -> Result<A> + Send,
        receive: impl FnOnce(&mut Incoming) -> Result<B>,
    ) -> Result<(A, B)> {
        self.link.flights.lock_anyway().at_once(label);
        self.duplex(send, receive)
    }

    /// Runs a phase in which data flows both ways at once: `send` on a thread of its own, `receive` on this one. If
    /// either fails, the other's next call on the channel fails too, and the cause is returned.
    pub fn duplex<A: Send, B>(
        &mut self,
        send: impl FnOnce(&mut Outgoing) -> Result<A> + Send,
        receive: impl FnOnce(&mut Incoming) -> Result<B>,
    ) -> Result<(A, B)> {
        let (link, outgoing, incoming) = (&self.link, &mut self.outgoing, &mut self.incoming);
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let _panic = link.on_panic();
                send(outgoing).inspect_err(|error| link.fail(error.clone()))
            });
            let received = {
                let _panic = link.on_panic();
                receive(incoming).inspect_err(|error| link.fail(error.clone()))
            };
            let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (sent, received) {
                (Ok(sent), Ok(received)) => Ok((sent, received)),
                (Err(error), _) | (_, Err(error)) => Err(link.recorded().unwrap_or(error)),
            }
        })
    }

    /// Takes over the progress that [`Handle`]s made so far show: what runs on the channel from now on tells its own to
    /// nobody.
    pub(crate) fn take_progress(&mut self) -> Arc<Progress> {
        std::mem::take(&mut self.progress)
    }

    /// [`Progress`] to which this channel's protocol reports.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Bytes and rounds so far.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic()
    }

    /// Sets how long the peer may send no message that is due, or read none of ours, although its heartbeats come. The
    /// default is 30 minutes. After that time the channel ends with [`Error::Network`].
    pub fn set_patience(&mut self, patience: Duration) {
        *self.link.patience.lock_anyway() = patience;
    }

    /// Lets the peer be busy so much longer than it may be as it is: with others, whom this party does not see.
    pub fn allow_longer(&mut self, by: Duration) {
        let mut patience = self.link.patience.lock_anyway();
        *patience = patience.saturating_add(by);
    }

    /// Has `what` done before the first message leaves from which the peer learns a part of the answer of an
    /// intersection, over this channel or a lane of it. If that fails, no such message is ever sent.
    pub fn before_answer(&mut self, what: impl FnOnce() -> Result<()> + Send + 'static) {
        *self.link.before_answer.lock_anyway() = BeforeAnswer::Due(Box::new(what));
    }

    /// Has `what` done when both parties have sent and received everything, before the channel ends in good order. Both
    /// ends have to do the same.
    pub fn before_close(&mut self, what: impl FnOnce(&mut Channel) -> Result<()> + Send + 'static) {
        self.before_close = Some(Box::new(what));
    }

    /// Returns a handle with which other threads can watch this channel and end it.
    pub fn handle(&self) -> Handle {
        Handle { link: self.link.clone(), progress: self.progress.clone() }
    }

    /// An error that blames the peer for failing `check`.
    pub fn violation(&self, check: impl Into<String>) -> Error {
        self.link.violation(check)
    }

    /// Ends the job in good order: both parties have sent and received everything.
    pub fn finish(mut self) -> Result<Traffic> {
        match self.concluded {
            Some(traffic) => Ok(traffic),
            None => self.close(),
        }
    }

    /// Ends the job as [`Channel::finish`] does, for a party that still has to compute and must not let the peer see
    /// for how long. The peer hears no more of this channel afterwards, not even when it is dropped. Waits for the
    /// peer's end of the job.
    pub fn conclude(&mut self) -> Result<()> {
        if self.concluded.is_none() {
            self.concluded = Some(self.close()?);
            self.hang_up();
        }
        Ok(())
    }

    /// Ends the job in good order for a reason that both parties see for themselves: each waits until the other has
    /// come to it, and is left with its own `error` rather than with the news that the other has stopped.
    pub fn conclude_for(&mut self, error: Error) -> Error {
        // Whatever the peer does instead, this party's own error is why it ends.
        let _ = self.conclude();
        error
    }

    fn close(&mut self) -> Result<Traffic> {
        if let Some(what) = self.before_close.take() {
            what(self)?;
        }
        self.link.push(Event::Close)?;
        self.link.sent.fetch_add(HEADER_BYTES as u64, Ordering::Relaxed);
        match self.link.next()? {
            Event::Close => {
                self.link.received.fetch_add(HEADER_BYTES as u64, Ordering::Relaxed);
                Ok(self.traffic())
            }
            event => Err(self.incoming.broken(format!("{} came after the last message", self.link.describe(&event)))),
        }
    }

    fn hang_up(&mut self) {
        self.link.outgoing.close();
        // What the peer still sends is thrown away, so that it is not kept from reading our last words.
        self.link.incoming.close();
        // The writer says what is left to say, and the reader waits until the peer has hung up too: a connection
        // that is closed with bytes unread destroys what is on its way to the peer. But a peer that does not play
        // along must not hold up the end of the job.
        self.link.wait_for(&[Party::Writer, Party::Reader], link::LINGER);
        (self.link.shut)();
        for thread in self.threads.drain(..) {
            // A thread that panicked has recorded that as the link's failure.
            let _ = thread.join();
        }
    }

    /// Says that the channel is of a job of these parties, the one at `me` being this one: an end of the job then names
    /// the party that is to blame for it. Both ends say so before anything is sent, with the same names in the same
    /// order, 256 at most.
    pub fn in_company(&mut self, parties: &[&str], me: usize) {
        self.link.joins(Roster::new(parties, me));
    }

    /// Ends the job with its outcome: in good order, or telling the peer the kind of the error.
    pub fn end<T>(self, outcome: Result<T>) -> Result<(T, Traffic)> {
        match outcome {
            Ok(value) => Ok((value, self.finish()?)),
            Err(error) => {
                self.abort(&error);
                Err(error)
            }
        }
    }

    /// Ends the job because of `error`, and tells the peer its kind.
    pub fn abort(self, error: &Error) {
        // A peer that has itself said goodbye, or that is gone, needs no telling.
        if !matches!(error, Error::Peer { .. } | Error::Reported { .. } | Error::Network { .. }) {
            self.link.tell(Told::only(error.kind()));
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.hang_up();
    }
}

impl Outgoing {
    /// Queues one message of at most [`MAX_PAYLOAD_BYTES`]; waits while the queue is full.
    pub fn send(&mut self, label: Label, payload: Vec<u8>) -> Result<()> {
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(Error::Internal(format!("`{}` of {} bytes does not fit a frame", label.name, payload.len())));
        }
        if label.answers {
            self.link.note_answer()?;
        }
        let event = Event::Data { label: label.code, payload };
        if !label.counts {
            return self.link.push(event);
        }
        self.link.flights.lock_anyway().first_use(Direction::Sent, label);
        let bytes = event.wire_bytes();
        self.link.push(event)?;
        self.link.sent.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Incoming {
    /// The next message, which must be a `label` of exactly `length` bytes.
    pub fn receive(&mut self, label: Label, length: usize) -> Result<Vec<u8>> {
        let payload = self.receive_up_to(label, length)?;
        if payload.len() != length {
            let check = format!("`{}` has {} bytes instead of {length}", label.name, payload.len());
            return Err(self.broken(check));
        }
        Ok(payload)
    }

    /// The next message, which must be a `label` of at most `limit` bytes.
    pub(crate) fn receive_up_to(&mut self, label: Label, limit: usize) -> Result<Vec<u8>> {
        let event = self.link.next()?;
        if label.counts {
            self.link.received.fetch_add(event.wire_bytes(), Ordering::Relaxed);
        }
        let check = match event {
            Event::Data { label: code, .. } if code != label.code => {
                format!("message {code} came where `{}` ({}) was due", label.name, label.code)
            }
            Event::Data { payload, .. } if payload.len() > limit => {
                format!("`{}` has {} bytes instead of {limit} at most", label.name, payload.len())
            }
            Event::Data { payload, .. } if !label.counts => return Ok(payload),
            Event::Data { payload, .. } => {
                self.link.flights.lock_anyway().first_use(Direction::Received, label);
                return Ok(payload);
            }
            event => format!("{} came where `{}` was due", self.link.describe(&event), label.name),
        };
        Err(self.broken(check))
    }

    /// The peer broke the order of messages: the channel ends, and the peer is told.
    fn broken(&self, check: String) -> Error {
        let error = self.link.violation(check);
        self.link.fail(error.clone());
        error
    }

    /// An error that blames the peer for failing `check`.
    pub(crate) fn violation(&self, check: impl Into<String>) -> Error {
        self.link.violation(check)
    }
}

/// Watches a channel from another thread, and ends it, as when the user presses Ctrl-C.
#[derive(Clone)]
pub struct Handle {
    link: Arc<Link>,
    progress: Arc<Progress>,
}

impl Handle {
    /// Progress of the channel's protocol.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Bytes and rounds so far.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic()
    }

    /// Returns the reason why the channel has ended, if it has.
    pub fn failure(&self) -> Option<Error> {
        self.link.recorded()
    }

    /// Makes every call on the channel fail with `error`, now and later, and tells the peer its kind.
    pub fn interrupt(&self, error: Error) {
        self.link.fail(error);
    }

    /// Ends the channel as [`Handle::interrupt`] does, in a job of more than two parties, for an `error` that may be
    /// another peer's doing. That peer is named, so that this one does not take itself for accused. If the parties have
    /// not been told to each other ([`Channel::in_company`]), the reason sent is a lost connection, or terms that
    /// differ.
    pub fn end(&self, error: &Error) {
        let told = match self.link.company.get() {
            Some(company) => company.told(&self.link.peer, error),
            None => Told::unnamed(&self.link.peer, error),
        };
        told.into_iter().for_each(|told| self.link.tell(told));
        self.link.fail(error.clone());
    }
}
