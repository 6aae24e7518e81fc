//! Frames on a byte stream: the writer's and the reader's thread.

use std::io::{BufReader, BufWriter, ErrorKind as IoKind, Read, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::queue::Popped;
use super::{Event, HEADER_BYTES, Link, LockAnyway, MAX_PAYLOAD_BYTES};
use crate::error::{Error, ErrorKind};

/// Kinds of frames on the wire.
const DATA: u8 = 0;
const HEARTBEAT: u8 = 1;
const ABORT: u8 = 2;
const CLOSE: u8 = 3;

const BUFFER_BYTES: usize = 1 << 16;

/// How often an idle writer looks whether it must tell the peer that the job ends.
const IDLE_LOOK: Duration = Duration::from_millis(100);

/// Writes what the queue holds, a heartbeat whenever it was idle for `heartbeat`, and the abort that was asked for
/// ahead of everything else. Ends the transport if it cannot write or has told an abort.
pub(super) fn write_frames(link: &Link, writer: impl Write, heartbeat: Duration) {
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, writer);
    let mut sequence = 0;
    let written = write_until_closed(link, &mut writer, &mut sequence, heartbeat);
    let asked = ErrorKind::from_code(link.abort.load(Ordering::Acquire));
    if let (Ok(()), Some(kind)) = (&written, asked) {
        let told = write_frame(&mut writer, sequence, &Event::Abort(kind)).and_then(|()| writer.flush());
        link.outgoing.close();
        if told.is_ok() {
            // The peer needs a moment to read this before the connection goes.
            std::thread::sleep(IDLE_LOOK);
        }
        (link.shut)();
    }
    if written.is_err() {
        // The reader may still hold the peer's own word on why it ended: leave the failure to it, but let it end.
        link.outgoing.close();
        std::thread::sleep(IDLE_LOOK);
        (link.shut)();
    }
}

fn write_until_closed(
    link: &Link,
    writer: &mut impl Write,
    sequence: &mut u32,
    heartbeat: Duration,
) -> std::io::Result<()> {
    let mut last_write = Instant::now();
    loop {
        let event = match link.outgoing.pop_within(Duration::ZERO) {
            Popped::Nothing => {
                writer.flush()?;
                link.outgoing.pop_within(IDLE_LOOK.min(heartbeat))
            }
            popped => popped,
        };
        if link.abort.load(Ordering::Acquire) != 0 {
            return Ok(());
        }
        let event = match event {
            Popped::Element(event) => event,
            Popped::Nothing if last_write.elapsed() < heartbeat => continue,
            Popped::Nothing => Event::Heartbeat,
            Popped::Closed => return writer.flush(),
        };
        write_frame(writer, *sequence, &event)?;
        *sequence = sequence.wrapping_add(1);
        last_write = Instant::now();
        if matches!(event, Event::Heartbeat) {
            link.sent.fetch_add(event.wire_bytes(), Ordering::Relaxed);
        }
    }
}

fn write_frame(writer: &mut impl Write, sequence: u32, event: &Event) -> std::io::Result<()> {
    let (kind, label, payload): (u8, u8, &[u8]) = match event {
        Event::Data { label, payload } => (DATA, *label, payload),
        Event::Heartbeat => (HEARTBEAT, 0, &[]),
        Event::Abort(reason) => (ABORT, reason.code(), &[]),
        Event::Close => (CLOSE, 0, &[]),
    };
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[4..8].copy_from_slice(&sequence.to_le_bytes());
    header[8] = kind;
    header[9] = label;
    writer.write_all(&header)?;
    writer.write_all(payload)
}

/// Reads frames into the queue until the peer closes, aborts, fails or breaks the framing.
pub(super) fn read_frames(link: &Link, reader: impl Read) {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, reader);
    let mut sequence = 0;
    loop {
        let event = match read_frame(link, &mut reader, sequence) {
            Ok(event) => event,
            Err(error) => {
                if link.failure.lock_anyway().is_none() {
                    link.fail(error);
                }
                break;
            }
        };
        sequence = sequence.wrapping_add(1);
        match event {
            Event::Heartbeat => {
                link.received.fetch_add(event.wire_bytes(), Ordering::Relaxed);
            }
            Event::Abort(kind) => {
                link.fail(Error::Peer { peer: link.peer.clone(), kind });
                break;
            }
            Event::Close => {
                link.incoming.close_with(Event::Close);
                // Our own writer may still be at work: the transport is left to it.
                return;
            }
            Event::Data { .. } => {
                if link.incoming.push(event).is_err() {
                    return;
                }
            }
        }
    }
    // Give the writer the time to tell the peer what is wrong, then end what either of them may be blocked in.
    std::thread::sleep(2 * IDLE_LOOK);
    (link.shut)();
}

/// One frame; its length, sequence number and kind are checked before memory is taken for it.
fn read_frame(link: &Link, reader: &mut impl Read, sequence: u32) -> Result<Event, Error> {
    let mut header = [0; HEADER_BYTES];
    read_exact(link, reader, &mut header)?;
    let [l0, l1, l2, l3, s0, s1, s2, s3, kind, label] = header;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    let claimed_sequence = u32::from_le_bytes([s0, s1, s2, s3]);
    if claimed_sequence != sequence {
        return Err(link.violation(format!("frame {claimed_sequence} came where frame {sequence} was due")));
    }
    if length > MAX_PAYLOAD_BYTES || (kind != DATA && length != 0) {
        return Err(link.violation(format!("a frame of kind {kind} claims {length} bytes")));
    }
    match kind {
        DATA => {
            let mut payload = vec![0; length];
            read_exact(link, reader, &mut payload)?;
            Ok(Event::Data { label, payload })
        }
        HEARTBEAT => Ok(Event::Heartbeat),
        CLOSE => Ok(Event::Close),
        ABORT => ErrorKind::from_code(label)
            .map(Event::Abort)
            .ok_or_else(|| link.violation(format!("it ended the job for the unknown reason {label}"))),
        kind => Err(link.violation(format!("a frame of the unknown kind {kind} came"))),
    }
}

fn read_exact(link: &Link, reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), Error> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        IoKind::UnexpectedEof | IoKind::ConnectionReset | IoKind::ConnectionAborted | IoKind::BrokenPipe => link.gone(),
        IoKind::TimedOut | IoKind::WouldBlock => Error::Network {
            peer: link.peer.clone(),
            what: "went away: nothing was heard from it, not even a heartbeat".into(),
        },
        IoKind::InvalidData => link.violation("what it sent does not decrypt".to_string()),
        _ => Error::Network { peer: link.peer.clone(), what: format!("the connection failed: {error}") },
    })
}
