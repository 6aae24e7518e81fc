//! Frames on a byte stream: the writer's and the reader's thread.

use std::io::{BufReader, BufWriter, ErrorKind as IoKind, Read, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::link::{Event, LINGER, Link, Party, keeps_its_place};
use super::queue::Popped;
use super::roster::{MAX_PLACES, Told};
use super::{HEADER_BYTES, MAX_LANES, MAX_PAYLOAD_BYTES};
use crate::error::{Error, ErrorKind};

/// Kinds of frames on the wire.
const DATA: u8 = 0;
const HEARTBEAT: u8 = 1;
const ABORT: u8 = 2;
const CLOSE: u8 = 3;
/// The kinds of lane 0; those of lane i are i greater.
const LANE_DATA: u8 = 0x10;
const LANE_CLOSE: u8 = 0x20;

/// The reader waits for this party's own protocol as long as it takes.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

const BUFFER_BYTES: usize = 1 << 16;

/// Writes what the queue holds, a heartbeat whenever it was idle for `heartbeat`, and the abort that was asked for
/// ahead of everything else. Ends the transport if it cannot write or has told an abort.
pub(super) fn write_frames(link: &Link, writer: impl Write, heartbeat: Duration) {
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, writer);
    let written = write_until_closed(link, &mut writer, heartbeat);
    if written.is_err() && !link.close_sent.load(Ordering::Acquire) {
        // The peer's own word on why it ended may be on its way, behind data that nobody will use: with the queue
        // closed the reader throws those away until it finds that word or the end.
        link.outgoing.close();
        link.incoming.close();
        link.wait_for(&[Party::Reader], LINGER);
        link.fail(link.gone());
        (link.shut)();
    }
    match written {
        // Dropping a `BufWriter` writes what it holds: not to a connection that has failed.
        Err(_) => drop(writer.into_parts()),
        Ok(()) => drop(writer),
    }
    if link.abort.load(Ordering::Acquire) != 0 {
        // The peer hangs up when it has read the abort. To close the connection under it could destroy the abort.
        link.wait_for(&[Party::Reader], LINGER);
        (link.shut)();
    }
}

fn write_until_closed(link: &Link, writer: &mut impl Write, heartbeat: Duration) -> std::io::Result<()> {
    let mut sequence = 0u32;
    let mut last_write = Instant::now();
    loop {
        let event = match link.outgoing.pop_within(Duration::ZERO) {
            Popped::Nothing => {
                writer.flush()?;
                link.outgoing.pop_within(heartbeat.saturating_sub(last_write.elapsed()))
            }
            popped => popped,
        };
        let abort = Told::from_code(link.abort.load(Ordering::Acquire));
        if let Some(told) = abort.filter(|told| !keeps_its_place(told.kind)) {
            link.outgoing.close();
            write_frame(writer, sequence, &Event::Abort(told))?;
            return writer.flush();
        }
        let event = match event {
            Popped::Element(event) => event,
            Popped::Nothing if last_write.elapsed() < heartbeat => continue,
            Popped::Nothing => Event::Heartbeat,
            Popped::Closed => return writer.flush(),
        };
        if matches!(event, Event::Close) {
            link.close_sent.store(true, Ordering::Release);
        }
        write_frame(writer, sequence, &event)?;
        sequence = sequence.wrapping_add(1);
        last_write = Instant::now();
    }
}

fn write_frame(writer: &mut impl Write, sequence: u32, event: &Event) -> std::io::Result<()> {
    let places;
    let (kind, label, payload): (u8, u8, &[u8]) = match event {
        Event::Data { label, payload } => (DATA, *label, payload),
        Event::Heartbeat => (HEARTBEAT, 0, &[]),
        Event::Abort(told) => {
            places = told.places();
            (ABORT, told.kind.code(), &places)
        }
        Event::Close => (CLOSE, 0, &[]),
        Event::LaneData { lane, label, payload } => (LANE_DATA + lane, *label, payload),
        Event::LaneClose { lane } => (LANE_CLOSE + lane, 0, &[]),
    };
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[4..8].copy_from_slice(&sequence.to_le_bytes());
    header[8] = kind;
    header[9] = label;
    writer.write_all(&header)?;
    writer.write_all(payload)
}

/// Reads frames into the queue until the peer hangs up, aborts, falls silent or breaks the framing. Frames that nobody
/// wants any more are thrown away, because a peer that can send can also read our last words.
pub(super) fn read_frames(link: &Link, reader: impl Read) {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, reader);
    match read_until_end(link, &mut reader) {
        // A peer that has sent its last message and was sent ours may leave.
        Error::Network { .. } if link.incoming_is_complete() && link.close_sent.load(Ordering::Acquire) => {}
        error @ (Error::Network { .. } | Error::Peer { .. } | Error::Reported { .. }) => {
            link.fail(error);
            // Nothing can be told any more: a writer that is blocked must end.
            (link.shut)();
        }
        error => {
            link.fail(error);
            // The writer tells the peer, which may have to be read from until it gets there.
            let _ = std::io::copy(&mut reader, &mut std::io::sink());
        }
    }
}

/// Reads until there is a reason to stop.
fn read_until_end(link: &Link, reader: &mut impl Read) -> Error {
    let mut sequence = 0u32;
    loop {
        let event = match read_frame(link, reader, sequence) {
            Ok(event) => event,
            Err(error) => return error,
        };
        sequence = sequence.wrapping_add(1);
        match event {
            Event::Heartbeat => {}
            Event::Abort(told) => return link.ended_by_peer(told),
            event if link.incoming_is_complete() => {
                return link.violation(format!("{} came after the end of the job", event.describe()));
            }
            Event::Close => {
                link.complete.store(true, Ordering::Release);
                link.incoming.close_with(Event::Close);
            }
            Event::Data { .. } | Event::LaneData { .. } | Event::LaneClose { .. } => {
                // It fails if nobody wants it any more.
                let _ = link.incoming.push(event, FOREVER);
            }
        }
    }
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
    let lane_of = |first: u8| kind.checked_sub(first).filter(|lane| usize::from(*lane) < MAX_LANES);
    let has_payload = kind == DATA || lane_of(LANE_DATA).is_some();
    // An abort may say which party is to blame, and which one has said so first.
    let longest = match kind {
        _ if has_payload => MAX_PAYLOAD_BYTES,
        ABORT => MAX_PLACES,
        _ => 0,
    };
    if length > longest {
        return Err(link.violation(format!("a frame of kind {kind} claims {length} bytes")));
    }
    if has_payload {
        let mut payload = vec![0; length];
        read_exact(link, reader, &mut payload)?;
        return Ok(match lane_of(LANE_DATA) {
            Some(lane) => Event::LaneData { lane, label, payload },
            None => Event::Data { label, payload },
        });
    }
    if let Some(lane) = lane_of(LANE_CLOSE) {
        return Ok(Event::LaneClose { lane });
    }
    match kind {
        HEARTBEAT => Ok(Event::Heartbeat),
        CLOSE => Ok(Event::Close),
        ABORT => {
            let mut places = [0; MAX_PLACES];
            read_exact(link, reader, &mut places[..length])?;
            let places = &places[..length];
            match ErrorKind::from_code(label) {
                Some(kind) if link.company.get().is_none_or(|company| company.has(places)) => {
                    Ok(Event::Abort(Told::new(kind, places)))
                }
                Some(_) => Err(link.violation("it ended the job for a party that there is none of")),
                None => Err(link.violation(format!("it ended the job for the unknown reason {label}"))),
            }
        }
        kind => Err(link.violation(format!("a frame of the unknown kind {kind} came"))),
    }
}

fn read_exact(link: &Link, reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), Error> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        IoKind::UnexpectedEof
        | IoKind::ConnectionReset
        | IoKind::ConnectionAborted
        | IoKind::BrokenPipe
        | IoKind::NotConnected => link.gone(),
        IoKind::TimedOut | IoKind::WouldBlock => Error::Network {
            peer: link.peer.clone(),
            what: "went away: nothing was heard from it, not even a heartbeat".into(),
        },
        IoKind::FileTooLarge => link.violation("it sent more than it may in all"),
        // Whoever stands between the two can change what travels: this is no evidence against the peer.
        IoKind::InvalidData => Error::Network {
            peer: link.peer.clone(),
            what: "the connection failed: what came over it does not decrypt; look at what stands between the two, and run again".into(),
        },
        _ => Error::Network { peer: link.peer.clone(), what: format!("the connection failed: {error}") },
    })
}
