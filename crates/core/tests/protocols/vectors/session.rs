//! Sessions, the keys that follow from them, and items.

use serde_json::{Value, json};
use tacita_core::agree::agree;
use tacita_core::session::Transcript;
use tacita_core::{Channel, Item, Session};

use super::{bytes, compare, frames, hex, messages, play};
use crate::support::{rng, two};

/// Parts of a transcript, as section 2.5 of the specification has them in a handshake.
const PARTS: [(&str, &[u8]); 7] = [
    ("terms", br#"{"id":"accidents","job":"intersect"}"#),
    ("nonce", &[1; 32]),
    ("nonce", &[2; 32]),
    ("exporter", &[3; 32]),
    ("sizes", br#"{"items":5}"#),
    ("sizes", br#"{"items":4}"#),
    ("choice", br#"{"protocol":"ecdh"}"#),
];

/// Columns of keys: equal texts cut elsewhere are other keys.
const KEYS: [&[&str]; 6] =
    [&["abbott cyril", "1973-10-26"], &["ab", "c"], &["a", "bc"], &["abc"], &[""], &["\u{e9}mile", "", "x"]];

/// The bytes of a key, by section 3.
fn canonical(columns: &[&str]) -> Vec<u8> {
    columns.iter().flat_map(|text| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()).collect()
}

/// Hash over parts with their labels, by section 2.5.
fn hashed(domain: &str, parts: &[(&str, Vec<u8>)]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(&format!("tacita 1 transcript {domain}"));
    for part in parts.iter().flat_map(|(label, value)| [label.as_bytes(), value]) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    *hasher.finalize().as_bytes()
}

#[test]
fn sessions_keys_and_items() {
    let mut transcript = Transcript::new("handshake");
    for (label, value) in PARTS {
        transcript.append(label, value);
    }
    let session = Session::new(transcript);
    let purposes = ["item", "ecdh tag", "ecdh seal", "ecdh count tag", "vole store", "vole output", "vole coin"];
    let derived = |purpose: &&str| json!({ "purpose": purpose, "key": hex(session.derive(purpose)) });
    let part = |(label, value): &(&str, &[u8])| json!({ "label": label, "value": hex(value) });
    let item = |columns: &&[&str]| {
        let key = canonical(columns);
        json!({ "columns": columns, "key": hex(&key), "item": hex(Item::new(&session.derive("item"), &key)) })
    };
    let child =
        |index: u64| json!({ "label": "union", "index": index, "session": hex(session.child("union", index).id()) });
    let file = compare(
        "session.json",
        json!({
            "specification": "docs/wire.md, sections 2.5, 3 and 5.3",
            "transcript": "handshake",
            "parts": PARTS.iter().map(part).collect::<Value>(),
            "session": hex(session.id()),
            "derived": purposes.iter().map(derived).collect::<Value>(),
            "children": [child(0), child(1)],
            "keys": KEYS.iter().map(item).collect::<Value>(),
        }),
    );
    // By the specification alone.
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let parts: Vec<_> =
        file["parts"].as_array().unwrap().iter().map(|part| (text(&part["label"]), bytes(&part["value"]))).collect();
    let mut parts: Vec<(&str, Vec<u8>)> = parts.iter().map(|(label, value)| (label.as_str(), value.clone())).collect();
    parts.push(("challenge", b"session".to_vec()));
    let id = hashed("handshake", &parts);
    assert_eq!(hex(id), text(&file["session"]));
    for derived in file["derived"].as_array().unwrap() {
        assert_eq!(bytes(&derived["key"]), super::derived(&file, derived["purpose"].as_str().unwrap()));
    }
    for child in file["children"].as_array().unwrap() {
        let index = child["index"].as_u64().unwrap().to_le_bytes().to_vec();
        let parts = [("session", id.to_vec()), ("index", index), ("challenge", b"session".to_vec())];
        assert_eq!(bytes(&child["session"]), hashed("union", &parts));
    }
    for key in file["keys"].as_array().unwrap() {
        let columns: Vec<&str> = key["columns"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        assert_eq!(bytes(&key["key"]), canonical(&columns));
        let item = blake3::keyed_hash(&super::derived(&file, "item"), &bytes(&key["key"]));
        assert_eq!(bytes(&key["item"]), item.as_bytes());
    }
}

#[test]
fn agreement_of_two_programs() {
    const TERMS: &[u8] = b"names, vole";
    let part = |items, seed| move |channel: &mut Channel| agree(TERMS, items, 1000, channel, &mut rng(seed));
    let (first, second) = (part(5, 31), part(4, 32));
    let ([one, other], [here, there]) = two::record(&first, &second);
    assert!(here.0 == there.0 && (here.1, there.1) == (4, 5));
    let file = compare(
        "agree.json",
        json!({
            "specification": "docs/library.md",
            "terms": hex(TERMS),
            "first": { "items": 5, "messages": messages(&one) },
            "second": { "items": 4, "messages": messages(&other) },
            "session": hex(here.0.id()),
        }),
    );
    let terms = hashed("agree terms", &[("terms", bytes(&file["terms"])), ("challenge", b"terms".to_vec())]);
    let mut claims = ["first", "second"].map(|party| bytes(&file[party]["messages"][0]["payload"]));
    for (claim, party) in claims.iter().zip(["first", "second"]) {
        assert!(claim[32..64] == terms && claim[64..] == file[party]["items"].as_u64().unwrap().to_le_bytes());
    }
    claims.sort();
    let parts = claims.map(|claim| ("claim", claim));
    let id = hashed("agree", &[&parts[..], &[("challenge", b"session".to_vec())]].concat());
    assert_eq!(hex(id), file["session"].as_str().unwrap());
    let (agreed, sent) = play(&super::on_wire(&frames(&file["second"]["messages"])), false, first);
    assert_eq!((agreed.unwrap(), sent), (here, frames(&file["first"]["messages"])));
}
