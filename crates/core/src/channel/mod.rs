//! Framed messages between two roles, in memory or over any pair of a `Read` and a `Write`.
//!
//! A channel owns a reader and a writer thread with bounded queues between them and the protocol, so that one chunk
//! travels while the next is computed. Phases in which data flows both ways at once run under [`Channel::duplex`]:
//! one thread for each direction, because two bounded queues that are both being filled by one thread deadlock.
//!
//! The peer is hostile at the parser: a frame's length is checked before memory is taken for it, its sequence number
//! and label before anybody looks at its payload, and a receiver always says how long a message may be.

mod queue;
mod stream;

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::progress::Progress;
use queue::Queue;

/// Bytes that precede every payload on the wire: length (4), sequence (4), kind (1), label (1).
pub const HEADER_BYTES: usize = 10;

/// The longest payload of one frame. Larger messages travel in chunks.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// Frames that may wait in either direction.
const QUEUE_FRAMES: usize = 4;

/// What a message is: a code on the wire, and a name for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Distinct among the labels that can travel in one direction of one job.
    pub code: u8,
    /// As written in `docs/wire.md`.
    pub name: &'static str,
}

impl Label {
    /// A label.
    pub const fn new(code: u8, name: &'static str) -> Label {
        Label { code, name }
    }
}

/// Bytes and rounds of a channel so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes sent, frame headers and heartbeats included, TLS not.
    pub sent: u64,
    /// Bytes received, likewise.
    pub received: u64,
    /// Message flights in sequence: how often the direction changed, looking at the first frame of every label.
    pub rounds: u32,
}

/// A connection to the other role.
pub struct Channel {
    outgoing: Outgoing,
    incoming: Incoming,
    link: Arc<Link>,
    progress: Arc<Progress>,
    threads: Vec<JoinHandle<()>>,
    writer_done: Arc<AtomicBool>,
}

/// The sending half of a [`Channel`].
pub struct Outgoing {
    link: Arc<Link>,
}

/// The receiving half of a [`Channel`].
pub struct Incoming {
    link: Arc<Link>,
}

/// What both halves, the threads and an [`Interrupter`] share.
struct Link {
    peer: String,
    outgoing: Arc<Queue<Event>>,
    incoming: Arc<Queue<Event>>,
    failure: Mutex<Option<Error>>,
    /// Code of the error kind that the writer must tell the peer; 0 if none.
    abort: AtomicU8,
    /// Ends the transport, so that threads blocked in it return.
    shut: Box<dyn Fn() + Send + Sync>,
    sent: AtomicU64,
    received: AtomicU64,
    flights: Mutex<Flights>,
}

/// One thing that travels.
enum Event {
    Data { label: u8, payload: Vec<u8> },
    Heartbeat,
    Abort(ErrorKind),
    Close,
}

impl Event {
    fn wire_bytes(&self) -> u64 {
        match self {
            Event::Data { payload, .. } => (HEADER_BYTES + payload.len()) as u64,
            _ => HEADER_BYTES as u64,
        }
    }
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
    /// return. A reader that sees no byte for too long (heartbeats arrive every `heartbeat`) should fail with
    /// [`std::io::ErrorKind::TimedOut`]: the peer is then reported as silent.
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
        channel.writer_done.store(false, Ordering::Release);
        let (link, done) = (channel.link.clone(), channel.writer_done.clone());
        channel.threads.push(std::thread::spawn(move || {
            stream::write_frames(&link, writer, heartbeat);
            done.store(true, Ordering::Release);
        }));
        let link = channel.link.clone();
        channel.threads.push(std::thread::spawn(move || stream::read_frames(&link, reader)));
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
            writer_done: Arc::new(AtomicBool::new(true)),
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

    /// See [`Incoming::receive_up_to`].
    pub fn receive_up_to(&mut self, label: Label, limit: usize) -> Result<Vec<u8>> {
        self.incoming.receive_up_to(label, limit)
    }

    /// Runs a phase in which data flows both ways at once: `send` on a thread of its own, `receive` on this one. If
    /// either fails, the other's next call on the channel fails too, and the first error is returned.
    pub fn duplex<A: Send, B>(
        &mut self,
        send: impl FnOnce(&mut Outgoing) -> Result<A> + Send,
        receive: impl FnOnce(&mut Incoming) -> Result<B>,
    ) -> Result<(A, B)> {
        let (link, outgoing, incoming) = (&self.link, &mut self.outgoing, &mut self.incoming);
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || send(outgoing).inspect_err(|error| link.fail(error.clone())));
            let received = receive(incoming).inspect_err(|error| link.fail(error.clone()));
            let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (sent, received) {
                (Ok(sent), Ok(received)) => Ok((sent, received)),
                (sent, received) => {
                    Err(link.failure.lock_anyway().clone().or(sent.err()).or(received.err()).expect("one has failed"))
                }
            }
        })
    }

    /// What [`Progress`] this channel's protocol reports to.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Bytes and rounds so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            sent: self.link.sent.load(Ordering::Relaxed),
            received: self.link.received.load(Ordering::Relaxed),
            rounds: self.link.flights.lock_anyway().count,
        }
    }

    /// Something that can end this channel from another thread.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter { link: self.link.clone() }
    }

    /// An error that blames the peer for failing `check`.
    pub fn violation(&self, check: impl Into<String>) -> Error {
        self.link.violation(check)
    }

    /// Ends the job in good order: both parties have sent and received everything.
    pub fn finish(self) -> Result<Traffic> {
        self.link.outgoing.push(Event::Close).map_err(|_| self.link.failure())?;
        self.link.sent.fetch_add(HEADER_BYTES as u64, Ordering::Relaxed);
        match self.link.incoming.pop() {
            Some(Event::Close) => {
                self.link.received.fetch_add(HEADER_BYTES as u64, Ordering::Relaxed);
                Ok(self.traffic())
            }
            Some(Event::Data { label, .. }) => {
                Err(self.link.violation(format!("message {label} came after the last one")))
            }
            Some(Event::Abort(kind)) => Err(Error::Peer { peer: self.link.peer.clone(), kind }),
            Some(Event::Heartbeat) | None => Err(self.link.failure()),
        }
    }

    /// Ends the job because of `error`, and tells the peer its kind.
    pub fn abort(self, error: &Error) {
        // A peer that has itself said goodbye, or that is gone, needs no telling.
        if !matches!(error, Error::Peer { .. } | Error::Network { .. }) {
            self.link.tell(error.kind());
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.link.outgoing.close();
        // A writer that the peer does not read from must not hold up the end of the job.
        for _ in 0..400 {
            if self.writer_done.load(Ordering::Acquire) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.link.incoming.close();
        (self.link.shut)();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Outgoing {
    /// Queues one message of at most [`MAX_PAYLOAD_BYTES`]; waits while the queue is full.
    pub fn send(&mut self, label: Label, payload: Vec<u8>) -> Result<()> {
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(Error::Internal(format!("`{}` of {} bytes does not fit a frame", label.name, payload.len())));
        }
        self.link.flights.lock_anyway().first_use(Direction::Sent, label);
        let event = Event::Data { label: label.code, payload };
        let bytes = event.wire_bytes();
        self.link.outgoing.push(event).map_err(|_| self.link.failure())?;
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
            return Err(self.link.violation(check));
        }
        Ok(payload)
    }

    /// The next message, which must be a `label` of at most `limit` bytes.
    pub fn receive_up_to(&mut self, label: Label, limit: usize) -> Result<Vec<u8>> {
        let event = self.link.incoming.pop().ok_or_else(|| self.link.failure())?;
        self.link.received.fetch_add(event.wire_bytes(), Ordering::Relaxed);
        let check = match event {
            Event::Abort(kind) => return Err(Error::Peer { peer: self.link.peer.clone(), kind }),
            Event::Heartbeat => "a heartbeat came where none can".into(),
            Event::Close => format!("it ended the job where `{}` was due", label.name),
            Event::Data { label: code, .. } if code != label.code => {
                format!("message {code} came where `{}` ({}) was due", label.name, label.code)
            }
            Event::Data { payload, .. } if payload.len() > limit => {
                format!("`{}` has {} bytes instead of {limit} at most", label.name, payload.len())
            }
            Event::Data { payload, .. } => {
                self.link.flights.lock_anyway().first_use(Direction::Received, label);
                return Ok(payload);
            }
        };
        Err(self.link.violation(check))
    }

    /// An error that blames the peer for failing `check`.
    pub fn violation(&self, check: impl Into<String>) -> Error {
        self.link.violation(check)
    }
}

/// Ends a channel from another thread, as when the user presses Ctrl-C.
#[derive(Clone)]
pub struct Interrupter {
    link: Arc<Link>,
}

impl Interrupter {
    /// Makes every call on the channel fail with `error`, now and later, and tells the peer its kind.
    pub fn interrupt(&self, error: Error) {
        self.link.fail(error);
    }
}

impl Link {
    fn new(
        peer: &str,
        outgoing: Arc<Queue<Event>>,
        incoming: Arc<Queue<Event>>,
        shut: Box<dyn Fn() + Send + Sync>,
    ) -> Link {
        Link {
            peer: peer.to_owned(),
            outgoing,
            incoming,
            failure: Mutex::default(),
            abort: AtomicU8::new(0),
            shut,
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            flights: Mutex::default(),
        }
    }

    /// Records the first failure and wakes everybody who waits on the channel.
    fn fail(&self, error: Error) {
        let kind = error.kind();
        let gone = matches!(error, Error::Peer { .. } | Error::Network { .. });
        self.failure.lock_anyway().get_or_insert(error);
        match gone {
            true => self.outgoing.close(),
            false => self.tell(kind),
        }
        self.incoming.close();
    }

    /// Lets the writer tell the peer, ahead of everything that still waits, and end the transport.
    fn tell(&self, kind: ErrorKind) {
        self.abort.store(kind.code(), Ordering::Release);
        self.outgoing.close_with(Event::Abort(kind));
    }

    /// Why the channel no longer works.
    fn failure(&self) -> Error {
        if let Some(error) = self.failure.lock_anyway().clone() {
            return error;
        }
        while let Some(event) = self.incoming.pop() {
            if let Event::Abort(kind) = event {
                return Error::Peer { peer: self.peer.clone(), kind };
            }
        }
        self.gone()
    }

    fn gone(&self) -> Error {
        Error::Network { peer: self.peer.clone(), what: "went away: the connection closed in mid-job".into() }
    }

    fn violation(&self, check: impl Into<String>) -> Error {
        Error::Protocol { peer: self.peer.clone(), check: check.into() }
    }
}

/// The order in which labels first travelled.
#[derive(Default)]
struct Flights {
    seen: Vec<(Direction, u8)>,
    count: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Sent,
    Received,
}

impl Flights {
    fn first_use(&mut self, direction: Direction, label: Label) {
        if self.seen.contains(&(direction, label.code)) {
            return;
        }
        if self.seen.last().is_none_or(|(last, _)| *last != direction) {
            self.count += 1;
        }
        self.seen.push((direction, label.code));
    }
}

/// Locking that goes on after another thread panicked: what these locks guard is valid at every moment.
trait LockAnyway<T> {
    fn lock_anyway(&self) -> MutexGuard<'_, T>;
}

impl<T> LockAnyway<T> for Mutex<T> {
    fn lock_anyway(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
