//! The vectors for other implementations, in `vectors/`. What this one computes is what the files say; what follows
//! from a file by the specification alone, in a reading of its own, is the same; and what the files call wrong is
//! refused.

mod ecdh;
mod frames;
mod session;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tacita_core::channel::HEADER_BYTES;
use tacita_core::channel::labels::agree::CLAIM;
use tacita_core::protocol::intersect::ecdh::{BLINDED, ENTRIES, EVALUATED, MATCHES, PUBLIC_KEY};
use tacita_core::{Channel, ErrorKind, Item, Result, Session};

use crate::support::Frame;

/// The file with this name, which holds what was computed. `TACITA_GOLDENS=write` writes it.
fn compare(name: &str, computed: Value) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name);
    if std::env::var("TACITA_GOLDENS").is_ok_and(|what| what == "write") {
        std::fs::write(&path, serde_json::to_string_pretty(&computed).unwrap() + "\n").unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file: Value = serde_json::from_str(&text).unwrap();
    assert!(file == computed, "vectors/{name} says something else: TACITA_GOLDENS=write, and look at the difference");
    file
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that a file has in hexadecimal.
fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("hexadecimal text");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// A list of byte strings.
fn list(value: &Value) -> Vec<Vec<u8>> {
    value.as_array().unwrap().iter().map(bytes).collect()
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn numbers(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// The items of keys, and both as a file has them.
fn keyed(session: &Session, keys: &[&str]) -> (Vec<Item>, Value) {
    let item_key = session.derive("item");
    let items: Vec<Item> = keys.iter().map(|key| Item::new(&item_key, key.as_bytes())).collect();
    let both = keys.iter().zip(&items).map(|(key, item)| json!({ "key": hex(key), "item": hex(item) }));
    (items.clone(), both.collect())
}

/// The purpose's key in the session of a file, as section 2.5 of the specification has it.
fn derived(file: &Value, purpose: &str) -> [u8; 32] {
    blake3::derive_key(&format!("tacita 1 {purpose}"), &bytes(&file["session"]))
}

/// Name of a message, by its code.
fn name(code: u8) -> &'static str {
    let known = [BLINDED, EVALUATED, ENTRIES, MATCHES, PUBLIC_KEY, CLAIM].into_iter().find(|label| label.code == code);
    known.expect("a message of these protocols").name
}

/// The messages of one direction. All of them are data but the last, which closes.
fn messages(frames: &[Frame]) -> Value {
    let (last, data) = frames.split_last().unwrap();
    assert!(*last == Frame::close() && data.iter().all(|frame| frame.kind == Frame::DATA));
    data.iter()
        .map(|frame| json!({ "code": frame.label, "name": name(frame.label), "payload": hex(&frame.payload) }))
        .collect()
}

/// The same, read from a file.
fn frames(messages: &Value) -> Vec<Frame> {
    let frame = |message: &Value| Frame {
        kind: Frame::DATA,
        label: number(&message["code"]) as u8,
        payload: bytes(&message["payload"]),
    };
    messages.as_array().unwrap().iter().map(frame).chain([Frame::close()]).collect()
}

/// Bytes of a direction.
fn on_wire(frames: &[Frame]) -> Vec<u8> {
    let frame = |(sequence, frame): (usize, &Frame)| {
        let header = [(frame.payload.len() as u32).to_le_bytes(), (sequence as u32).to_le_bytes()].concat();
        [&header[..], &[frame.kind, frame.label], &frame.payload].concat()
    };
    frames.iter().enumerate().flat_map(frame).collect()
}

fn off_wire(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() {
        let length = u32::from_le_bytes(*header.first_chunk().unwrap()) as usize;
        frames.push(Frame { kind: header[8], label: header[9], payload: rest[..length].to_vec() });
        bytes = &rest[length..];
    }
    frames
}

/// Runs a party whose peer sends these bytes and, if it is `cut`, hangs up. Returns how the party ends, and what it
/// sends.
fn play<T>(bytes: &[u8], cut: bool, part: impl FnOnce(&mut Channel) -> Result<T>) -> (Result<T>, Vec<Frame>) {
    let (own, far_end) = UnixStream::pair().unwrap();
    own.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut channel = Channel::over_socket("peer", own, Duration::from_secs(60), UnixStream::shutdown);
    let mut writer = far_end.try_clone().unwrap();
    let sent = std::thread::spawn(move || {
        let mut sent = Vec::new();
        // However it ends: what has come until then counts.
        let _ = (&far_end).read_to_end(&mut sent);
        let _ = far_end.shutdown(Shutdown::Both);
        sent
    });
    writer.write_all(bytes).unwrap();
    if cut {
        writer.shutdown(Shutdown::Write).unwrap();
    }
    let outcome = part(&mut channel);
    let outcome = channel.end(outcome).map(|(learned, _)| learned);
    (outcome, off_wire(&sent.join().unwrap()))
}

/// A message in the place of another, in what a party sends.
struct Replaced {
    what: &'static str,
    /// Party that sends it.
    by: &'static str,
    /// Place of the message among those of the party.
    message: usize,
    payload: Vec<u8>,
}

impl Replaced {
    fn json(&self) -> Value {
        json!({ "what": self.what, "by": self.by, "message": self.message, "payload": hex(&self.payload) })
    }
}

/// Checks that each message that a file calls wrong makes the other party blame its peer, and tell it so.
fn refuses(file: &Value, receiver: impl Fn(&mut Channel) -> Result<()>, sender: impl Fn(&mut Channel) -> Result<()>) {
    for wrong in file["rejected"].as_array().unwrap() {
        let by = wrong["by"].as_str().unwrap();
        let mut sent = frames(&file[by]["messages"]);
        sent[number(&wrong["message"])].payload = bytes(&wrong["payload"]);
        let part: &dyn Fn(&mut Channel) -> Result<()> = if by == "sender" { &receiver } else { &sender };
        let (outcome, told) = play(&on_wire(&sent), false, part);
        let kind = outcome.err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Protocol), "{wrong}");
        let abort = told.last().map(|frame| (frame.kind, frame.label));
        assert_eq!(abort, Some((2, ErrorKind::Protocol.code())), "{wrong}");
    }
}
