//! Frames: streams of bytes that a party reads, and those that it refuses.

use serde_json::{Value, json};
use tacita_core::channel::{Label, MAX_PAYLOAD_BYTES};
use tacita_core::{Error, ErrorKind, Result};

use super::{bytes, compare, hex, number, play};

/// Code of the message that the reader waits for, and its greatest length.
const LABEL: Label = Label::new(3, "entries");
const LIMIT: usize = 8;

fn frame(sequence: u32, kind: u8, label: u8, payload: &[u8]) -> Vec<u8> {
    let header = [(payload.len() as u32).to_le_bytes(), sequence.to_le_bytes()].concat();
    [&header[..], &[kind, label], payload].concat()
}

/// A frame whose length is claimed, and no payload.
fn claimed(length: usize, kind: u8) -> Vec<u8> {
    [&(length as u32).to_le_bytes()[..], &[0; 4], &[kind, LABEL.code]].concat()
}

fn accepted() -> Value {
    let (one, two) = (frame(0, 0, 3, b"first"), frame(1, 0, 3, b""));
    let whole = |frames: &[Vec<u8>]| hex(frames.concat());
    json!([
        { "what": "two messages, one of them empty", "bytes": whole(&[one.clone(), two, frame(2, 3, 0, b"")]),
          "payloads": [hex("first"), ""] },
        { "what": "heartbeats in between, and after the close",
          "bytes": whole(&[frame(0, 1, 0, b""), frame(1, 0, 3, b"longest!"), frame(2, 1, 0, b""), frame(3, 3, 0, b""),
              frame(4, 1, 0, b"")]),
          "payloads": [hex("longest!")] },
        { "what": "no message", "bytes": whole(&[frame(0, 3, 0, b"")]), "payloads": [] },
    ])
}

fn rejected() -> Value {
    let wrong = |what: &str, bytes: Vec<u8>| json!({ "what": what, "bytes": hex(bytes) });
    let one = frame(0, 0, 3, b"first");
    json!([
        wrong("the sequence does not begin with 0", frame(1, 0, 3, b"first")),
        wrong("a sequence number twice", [one.clone(), one.clone()].concat()),
        wrong("a payload of more than 2^20 bytes is claimed", claimed(MAX_PAYLOAD_BYTES + 1, 0)),
        wrong("the greatest length that can be written is claimed", claimed(u32::MAX as usize, 0)),
        wrong("a heartbeat with a payload", frame(0, 1, 0, b"x")),
        wrong("a close with a payload", frame(0, 3, 0, b"x")),
        wrong("an abort with three bytes", frame(0, 2, 3, b"xyz")),
        wrong("an abort for no reason that there is", frame(0, 2, 200, b"")),
        wrong("an unknown kind", frame(0, 4, 3, b"")),
        wrong("a lane that is not open", frame(0, 0x10, 3, b"")),
        wrong("another message than the one that is due", frame(0, 0, 4, b"")),
        wrong("a longer message than is allowed", frame(0, 0, 3, &[0; LIMIT + 1])),
        wrong("a message after the close", [frame(0, 3, 0, b""), frame(1, 0, 3, b"late")].concat()),
        wrong("a close where a message is due", frame(0, 3, 0, b"")),
    ])
}

/// Streams that end early: the connection has failed.
fn cut() -> Value {
    let one = frame(0, 0, 3, b"first");
    let parts = [0, 1, 9, 10, 14];
    parts.iter().map(|length| json!({ "bytes": hex(&one[..*length]) })).collect()
}

fn aborts() -> Value {
    let heard = |code: u8| {
        let kind = ErrorKind::from_code(code)?;
        let error = Error::Peer { peer: "peer".into(), kind };
        Some(json!({ "bytes": hex(frame(0, 2, code, b"")), "reason": code, "exit_code": error.kind().exit_code() }))
    };
    (0..=u8::MAX).filter_map(heard).collect()
}

/// Payloads of messages.
type Messages = Vec<Vec<u8>>;

/// Runs a party that reads so many messages, and then closes; and the kind and label of its last frame.
fn read(stream: &[u8], cut: bool, messages: usize) -> (Result<Messages>, Option<(u8, u8)>) {
    let (outcome, sent) = play(stream, cut, |channel| {
        (0..messages).map(|_| channel.receive_up_to(LABEL, LIMIT)).collect::<Result<Vec<_>>>()
    });
    (outcome, sent.last().map(|frame| (frame.kind, frame.label)))
}

#[test]
fn frames_are_read_or_refused() {
    let file = compare(
        "frames.json",
        json!({
            "specification": "docs/wire.md, section 1: Frames",
            "due": { "code": LABEL.code, "max_bytes": LIMIT },
            "accepted": accepted(),
            "rejected": rejected(),
            "cut": cut(),
            "aborts": aborts(),
        }),
    );
    let cases = |name: &str| file[name].as_array().unwrap().clone();
    for case in cases("accepted") {
        let payloads = super::list(&case["payloads"]);
        let (outcome, last) = read(&bytes(&case["bytes"]), false, payloads.len());
        assert_eq!((outcome.unwrap(), last), (payloads, Some((3, 0))), "{case}");
    }
    for case in cases("rejected") {
        // A party that reads on until something is wrong.
        let (outcome, told) = read(&bytes(&case["bytes"]), false, 3);
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Protocol, "{case}");
        assert_eq!(told, Some((2, ErrorKind::Protocol.code())), "{case}");
    }
    for case in cases("cut") {
        let (outcome, _) = read(&bytes(&case["bytes"]), true, 1);
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Network, "{case}");
    }
    for case in cases("aborts") {
        let (outcome, told) = read(&bytes(&case["bytes"]), false, 1);
        let error = outcome.unwrap_err();
        assert!(matches!(&error, Error::Peer { kind, .. } if usize::from(kind.code()) == number(&case["reason"])));
        assert_eq!(usize::from(error.kind().exit_code()), number(&case["exit_code"]), "{case}");
        assert_eq!(told, None, "{case}: whoever is told hangs up");
    }
}
