//! Messages that are missing, spoilt, or of somebody else.

use super::*;

#[test]
fn honest_scripts_are_accepted() {
    for job in [rows(), payload(""), job("reveal = \"count\"\nreveal_to = [\"insurer\"]", "")] {
        for (me, peer) in [("hospital", "insurer"), ("insurer", "hospital")] {
            let (outcome, told) = play(&job, me, &honest(&job, peer), false);
            let agreed = outcome.unwrap_or_else(|error| panic!("{me}: {error}"));
            assert_eq!((agreed.chosen.protocol, agreed.peer_sizes.items, told), (ecdh::PROTOCOL, 5, None));
        }
    }
}

#[test]
fn every_message_that_is_not_one_is_a_violation() {
    let nested = "[".repeat(100_000);
    let garbage: [(&str, &[u8]); 9] = [
        ("nothing", b""),
        ("zeros", &[0; 40]),
        ("no UTF-8", b"{\"tacita\":\xff}"),
        ("an empty object", b"{}"),
        ("an array", b"[]"),
        ("a number", b"1e999"),
        ("deep nesting", nested.as_bytes()),
        ("an oversized message", &[b' '; MAX_MESSAGE_BYTES + 1]),
        ("another word", b"auto"),
    ];
    let job = rows();
    for (me, peer) in [("hospital", "insurer"), ("insurer", "hospital")] {
        for (what, bytes) in garbage {
            for label in [HELLO, SIZES, CHOICE] {
                refused(&job, me, &with(&job, me, label, bytes), ErrorKind::Protocol, what);
            }
        }
        for position in 0..3 {
            let script = honest(&job, peer);
            // Cut anywhere.
            for length in 0..script[position].1.len() {
                let mut cut = script.clone();
                cut[position].1.truncate(length);
                refused(&job, me, &cut, ErrorKind::Protocol, "a truncated message");
            }
            // Left out, repeated, out of order, and under another label.
            let mut missing = script.clone();
            missing.remove(position);
            missing.push((CHOICE, b"ecdh".to_vec()));
            if position < 2 {
                refused(&job, me, &missing, ErrorKind::Protocol, "a message left out");
            }
            let mut swapped = script.clone();
            swapped.swap(position, (position + 1) % 3);
            refused(&job, me, &swapped, ErrorKind::Protocol, "messages out of order");
            let mut relabelled = script;
            relabelled[position].0 = Label::new(1, "blinded");
            refused(&job, me, &relabelled, ErrorKind::Protocol, "another label");
        }
    }
}

#[test]
fn a_peer_that_leaves_is_gone_whenever_it_leaves() {
    let job = rows();
    for (me, peer) in [("hospital", "insurer"), ("insurer", "hospital")] {
        for length in 0..3 {
            let script: Script = honest(&job, peer).into_iter().take(length).collect();
            let (outcome, _) = play(&job, me, &script, true);
            assert_eq!(outcome.err().unwrap().kind(), ErrorKind::Network, "{me}, after {length} messages");
        }
    }
}

#[test]
fn the_peer_is_told_the_kind_of_what_is_wrong() {
    let job = rows();
    for me in NAMES {
        let (_, told) = play(&job, me, &with(&job, me, HELLO, "{}"), false);
        assert_eq!(told, Some(ErrorKind::Protocol));
        let (_, told) = play(&job, me, &changed(&job, me, HELLO, "tacita", json!(6)), false);
        assert_eq!(told, Some(ErrorKind::Terms));
    }
}

#[test]
fn a_hello_of_somebody_else_is_refused() {
    use ErrorKind::{Protocol as Violation, Terms as Differ};
    let job = rows();
    let mut own_nonce = [0; 32];
    ChaCha20Rng::from_seed([1; 32]).fill_bytes(&mut own_nonce);
    let mut terms = Terms::of(&job).json().clone();
    terms["surprise"] = json!({"a\u{1b}[31m\n": 1});
    let many: Value =
        (0..2000).map(|number| (format!("key {number}"), json!(number))).collect::<serde_json::Map<_, _>>().into();
    for me in NAMES {
        let cases = [
            ("tacita", json!(0), Differ),
            ("tacita", json!(2), Differ),
            ("tacita", json!(-1), Violation),
            ("tacita", json!("1"), Violation),
            ("version", json!(1), Violation),
            ("as", json!(me), Differ),
            ("as", json!("pharmacy\u{1b}[31m\n"), Differ),
            ("as", json!("x".repeat(100_000)), Differ),
            ("as", json!(null), Violation),
            ("nonce", json!(""), Violation),
            ("nonce", json!("ab".repeat(31)), Violation),
            ("nonce", json!("ab".repeat(33)), Violation),
            ("nonce", json!("ab".repeat(31) + "a"), Violation),
            ("nonce", json!("AB".repeat(32)), Violation),
            ("nonce", json!("é".repeat(32)), Violation),
            ("nonce", json!(tacita_node::base::hex::hex(&own_nonce)), Violation),
            ("profiles", json!("name"), Violation),
            ("terms", json!(null), Differ),
            ("terms", json!([1]), Differ),
            ("terms", json!({}), Differ),
            ("terms", terms.clone(), Differ),
        ];
        for (key, value, kind) in cases {
            let what = format!("{key} = {value:.60}");
            refused(&job, me, &changed(&job, me, HELLO, key, value), kind, &what);
        }
        let script = changed(&job, me, HELLO, "terms", many.clone());
        let (outcome, _) = play(&job, me, &script, false);
        assert_eq!(outcome.err().unwrap().kind(), Differ, "{me}");
    }
}

#[test]
fn each_term_that_differs_is_named() {
    let job = rows();
    for (key, value) in [
        ("job", json!("union")),
        ("id", json!("other")),
        ("protocol", json!("ecdh")),
        ("security", json!("malicious")),
        ("level", json!("bits192")),
        ("reveal", json!("count")),
        ("reveal_to", json!(["insurer"])),
        ("gives", json!({"insurer": ["name"]})),
        ("key", json!({"columns": ["name", "dob"]})),
        ("limits", json!({"max_rows": 999})),
        ("order", json!(["insurer", "hospital"])),
        ("parties", json!({"hospital": {"identity": "SHA256:x"}})),
    ] {
        let mut terms = Terms::of(&job).json().clone();
        terms[key] = value;
        let (outcome, told) = play(&job, "hospital", &changed(&job, "hospital", HELLO, "terms", terms), false);
        let error = outcome.err().unwrap();
        assert!(matches!(&error, Error::Terms(text) if text.contains(key)), "{key}: {error}");
        assert_eq!(told, Some(ErrorKind::Terms));
    }
}

#[test]
fn what_is_no_term_is_shown_and_no_more() {
    let job = rows();
    let greet = |key: &str, value: Value| {
        let (mut channel, mut peer) = Channel::pair("hospital", "insurer");
        for (label, payload) in changed(&job, "hospital", HELLO, key, value) {
            peer.send(label, payload).unwrap();
        }
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        handshake::greet(&job, "hospital", &EXPORTER, &mut channel, &mut rng).unwrap()
    };
    let plain = |text: &str| text.len() < 2000 && text.bytes().all(|b| (b' '..=b'~').contains(&b));
    let greeted = greet("version", json!("9\u{1b}[31m\n".repeat(10_000)));
    assert!(plain(&greeted.peer_version) && greeted.warnings.is_empty(), "{}", greeted.peer_version);
    let greeted = greet("profiles", json!(["\u{202e}text\n".repeat(1000)]));
    assert!(greeted.warnings.len() == 1 && plain(&greeted.warnings[0]), "{:?}", greeted.warnings);
    assert!(greet("later versions may say more", json!(1)).warnings.is_empty());
}
