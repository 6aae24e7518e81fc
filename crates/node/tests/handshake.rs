//! The handshake against a peer that plays by a script: every message missing, spoilt, or saying what it must not; and
//! the session that two honest parties arrive at, computed a second time from what `docs/wire.md` says.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use tacita_core::channel::{Channel, Label};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Error, ErrorKind, Result};
use tacita_node::agreement::handshake::{self, Agreed};
use tacita_node::agreement::{Chosen, JobSpec, Sizes, Terms};
use tacita_node::jobs::intersect;
use tacita_node::jobs::intersect::methods::{bloom, ecdh, vole};

const HELLO: Label = Label::new(0xf0, "hello");
const SIZES: Label = Label::new(0xf1, "sizes");
const CHOICE: Label = Label::new(0xf2, "choice");

const MAX_MESSAGE_BYTES: usize = 262_144;
const EXPORTER: [u8; 32] = [7; 32];
const NAMES: [&str; 2] = ["hospital", "insurer"];

fn job(head: &str, limits: &str) -> JobSpec {
    let text = format!(
        "job = \"intersect\"\nid = \"test\"\n{head}\n[key]\ncolumns = [\"name\"]\nnormalize = [\"name\"]\n\
         [limits]\nmax_rows = 1000\n{limits}\n[parties.hospital]\n[parties.insurer]\n"
    );
    JobSpec::parse(&text, false).unwrap()
}

fn rows() -> JobSpec {
    job("reveal_to = [\"hospital\", \"insurer\"]", "")
}

/// Both give a column, and both learn.
fn payload(limits: &str) -> JobSpec {
    let gives = "gives = { hospital = [\"ward\"], insurer = [\"payer\"] }";
    job(&format!("reveal = \"payload\"\nreveal_to = [\"hospital\", \"insurer\"]\n{gives}"), limits)
}

fn sizes(items: u64) -> Sizes {
    Sizes { items, ..Sizes::default() }
}

/// The whole handshake of one party, and the checks of what the peer brings.
fn shake(job: &JobSpec, me: &str, own: &Sizes, exporter: &[u8; 32], seed: u8, channel: &mut Channel) -> Result<Agreed> {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let greeted = handshake::greet(job, me, exporter, channel, &mut rng)?;
    let check = |theirs: &_, channel: &_| intersect::check_peer(job, own, theirs, channel);
    handshake::settle(greeted, job, me, own, check, |_| Ok(Chosen::only(ecdh::PROTOCOL)), channel)
}

/// What a peer says.
type Script = Vec<(Label, Vec<u8>)>;

/// What an honest party named `as` says.
fn honest(job: &JobSpec, name: &str) -> Script {
    let given = !job.given_by(name).is_empty();
    let sizes = match given {
        true => json!({"items": 5, "entries": 6, "row_bytes": 9, "schema": schema(job.given_by(name))}),
        false => json!({"items": 5, "entries": 0, "row_bytes": 0, "schema": ""}),
    };
    vec![(HELLO, hello(job, name).to_string().into()), (SIZES, sizes.to_string().into()), (CHOICE, b"ecdh".to_vec())]
}

fn hello(job: &JobSpec, name: &str) -> Value {
    json!({
        "tacita": 2,
        "version": "0.1.0",
        "as": name,
        "nonce": "ab".repeat(32),
        "profiles": ["name"],
        "terms": Terms::of(job).json(),
    })
}

/// One integer column, as `docs/wire.md` writes it.
fn schema(columns: &[String]) -> String {
    let name = columns[0].as_bytes();
    let mut bytes = vec![1, 1, 0, 2, 0, 0, 8, 0, 0, 0, name.len() as u8, 0];
    bytes.extend_from_slice(name);
    tacita_node::base::hex::hex(&bytes)
}

/// Runs `me` against a peer that says all of `script` at once and then, if it `leaves`, hangs up. Returns what comes of
/// it, and what the peer is told of it.
fn play(job: &JobSpec, me: &str, script: &Script, leaves: bool) -> (Result<Agreed>, Option<ErrorKind>) {
    let (hospital, insurer) = Channel::pair("hospital", "insurer");
    let (mut channel, mut peer) = if me == "hospital" { (hospital, insurer) } else { (insurer, hospital) };
    for (label, payload) in script {
        peer.send(*label, payload.clone()).unwrap();
    }
    let mut peer = Some(peer);
    if leaves {
        peer = None;
    }
    let own = match job.given_by(me) {
        [] => sizes(3),
        columns => Sizes { items: 3, entries: 3, row_bytes: 9, schema: schema(columns), ..Sizes::default() },
    };
    let outcome = shake(job, me, &own, &EXPORTER, 1, &mut channel);
    match &outcome {
        Ok(_) => drop(channel),
        Err(error) => channel.abort(error),
    }
    // What was said to it comes first, in its order.
    let told = peer.and_then(|mut peer| {
        let failed = [HELLO, SIZES, CHOICE].into_iter().find_map(|label| peer.receive_up_to(label, 1 << 20).err());
        match failed {
            Some(Error::Peer { kind, .. }) => Some(kind),
            _ => None,
        }
    });
    (outcome, told)
}

/// Checks that a script ends with an error of this kind, in one line, that blames the peer.
#[track_caller]
fn refused(job: &JobSpec, me: &str, script: &Script, kind: ErrorKind, what: &str) {
    let (outcome, _) = play(job, me, script, false);
    let error = outcome.err().unwrap_or_else(|| panic!("{me} accepts {what}"));
    assert_eq!(error.kind(), kind, "{me}, {what}: {error}");
    let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
    let text = error.to_string();
    assert!(text.contains(peer) && !text.contains(['\n', '\u{1b}']) && text.len() < 2000, "{me}, {what}: {text}");
}

/// An honest script with one message replaced.
fn with(job: &JobSpec, me: &str, label: Label, payload: impl Into<Vec<u8>>) -> Script {
    let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
    let payload = payload.into();
    let replaced = |(known, old)| if known == label { (known, payload.clone()) } else { (known, old) };
    honest(job, peer).into_iter().map(replaced).collect()
}

/// An honest script with one key of a JSON message changed.
fn changed(job: &JobSpec, me: &str, label: Label, key: &str, value: Value) -> Script {
    let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
    let (_, payload) = honest(job, peer).into_iter().find(|(known, _)| *known == label).unwrap();
    let mut message: Value = serde_json::from_slice(&payload).unwrap();
    message[key] = value;
    with(job, me, label, message.to_string())
}

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
        let (_, told) = play(&job, me, &changed(&job, me, HELLO, "tacita", json!(3)), false);
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
            ("tacita", json!(3), Differ),
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

#[test]
fn sizes_beyond_the_terms_are_violations() {
    let too_many = u64::from(u32::MAX) + 1;
    for me in NAMES {
        let job = rows();
        for (key, value) in [
            ("items", json!(1001)),
            ("items", json!(too_many)),
            ("items", json!(u64::MAX)),
            ("items", json!(-1)),
            ("items", json!(1.5)),
            ("items", json!("5")),
            ("items", json!(null)),
            ("surprise", json!(1)),
            // Columns that nobody gives.
            ("entries", json!(5)),
            ("row_bytes", json!(9)),
            ("schema", json!("01")),
            // Halves of a prepared part, and one of a party that learns.
            ("epoch", json!("ab".repeat(32))),
            ("tag_bytes", json!(8)),
        ] {
            let what = format!("{key} = {value}");
            refused(&job, me, &changed(&job, me, SIZES, key, value), ErrorKind::Protocol, &what);
        }
        let prepared = json!({
            "items": 5, "entries": 0, "row_bytes": 0, "schema": "", "epoch": "ab".repeat(32), "tag_bytes": 8
        });
        refused(&job, me, &with(&job, me, SIZES, prepared.to_string()), ErrorKind::Protocol, "a part of a learner");

        let job = payload("");
        let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
        let other = schema(&["other".to_owned()]);
        let good = schema(job.given_by(peer));
        for (key, value) in [
            ("entries", json!(1001)),
            ("entries", json!(too_many)),
            ("entries", json!(4)),
            ("entries", json!(0)),
            ("items", json!(0)),
            ("row_bytes", json!(0)),
            ("row_bytes", json!(8)),
            ("row_bytes", json!(u32::MAX)),
            ("schema", json!("")),
            ("schema", json!("zz")),
            ("schema", json!(good[..good.len() - 2])),
            ("schema", json!(format!("{good}00"))),
            ("schema", json!(other)),
            ("schema", json!("ff".repeat(100_000))),
        ] {
            let what = format!("{key} = {value:.40}");
            refused(&job, me, &changed(&job, me, SIZES, key, value), ErrorKind::Protocol, &what);
        }
    }
}

#[test]
fn padded_sizes_are_the_bound_and_nothing_else() {
    for me in NAMES {
        let plain = job("reveal_to = [\"hospital\", \"insurer\"]", "pad_to = 20");
        for items in [0, 5, 19, 21] {
            refused(&plain, me, &changed(&plain, me, SIZES, "items", json!(items)), ErrorKind::Protocol, "no padding");
        }
        let (outcome, _) = play(&plain, me, &changed(&plain, me, SIZES, "items", json!(20)), false);
        outcome.unwrap();

        let padded = payload("pad_to = 20");
        let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
        let sizes = |entries: u64| {
            let schema = schema(padded.given_by(peer));
            let sizes = json!({"items": 20, "entries": entries, "row_bytes": 9, "schema": schema});
            with(&padded, me, SIZES, sizes.to_string())
        };
        play(&padded, me, &sizes(20), false).0.unwrap();
        for entries in [19, 21, 1000] {
            refused(&padded, me, &sizes(entries), ErrorKind::Protocol, "given rows without padding");
        }
    }
}

#[test]
fn only_a_fitting_prepared_part_is_accepted() {
    let job = job("reveal_to = [\"hospital\"]", "");
    let script = |epoch: Value, tag_bytes: Value| {
        let sizes = json!({
            "items": 5, "entries": 0, "row_bytes": 0, "schema": "", "epoch": epoch, "tag_bytes": tag_bytes
        });
        with(&job, "hospital", SIZES, sizes.to_string())
    };
    let epoch = json!("ab".repeat(32));
    // 1000 rows at most, so 10 * 1000 * 1000 queries of 5 keys: (43 + log2(5 * 10^7)) / 8 bytes, rounded up.
    play(&job, "hospital", &script(epoch.clone(), json!(9)), false).0.unwrap();
    for (epoch, tag_bytes) in [
        (epoch.clone(), json!(0)),
        (epoch.clone(), json!(1)),
        (epoch.clone(), json!(8)),
        (epoch.clone(), json!(10)),
        (epoch.clone(), json!(33)),
        (epoch.clone(), json!(u32::MAX)),
        (epoch, json!(-1)),
        (json!("ab".repeat(31)), json!(9)),
        (json!("zz".repeat(32)), json!(9)),
        (json!(""), json!(9)),
    ] {
        let what = format!("epoch {epoch}, tags of {tag_bytes}");
        refused(&job, "hospital", &script(epoch, tag_bytes), ErrorKind::Protocol, &what);
    }
}

#[test]
fn only_a_run_on_disk_that_can_be_is_accepted() {
    let job = rows();
    let script = |job: &JobSpec, work: Value| {
        let sizes = json!({"items": 5, "entries": 0, "row_bytes": 0, "schema": "", "work": work});
        with(job, "hospital", SIZES, sizes.to_string())
    };
    let kept = |key: &str, value: Value| {
        let mut kept = json!({"run": "ab".repeat(32), "finished": 3, "buckets": 8, "protocol": "vole"});
        kept[key] = value;
        json!({"memory": 1 << 20, "kept": kept})
    };
    for work in [json!({"memory": 1 << 20}), kept("finished", json!(0)), kept("protocol", json!("ecdh"))] {
        play(&job, "hospital", &script(&job, work), false).0.unwrap();
    }
    let bad = [
        json!([]),
        json!({}),
        json!({"memory": 0}),
        json!({"memory": -1}),
        json!({"memory": 1 << 20, "surprise": 1}),
        kept("run", json!("zz".repeat(32))),
        kept("run", json!("ab".repeat(31))),
        kept("finished", json!(9)),
        kept("finished", json!(-1)),
        kept("buckets", json!(0)),
        kept("buckets", json!(65_537)),
        kept("protocol", json!("ot")),
        kept("protocol", json!("auto")),
        kept("surprise", json!(1)),
    ];
    for work in bad {
        refused(&job, "hospital", &script(&job, work.clone()), ErrorKind::Protocol, &format!("work = {work}"));
    }
    // Where nothing can be on disk.
    let job = payload("");
    let sizes = changed(&job, "hospital", SIZES, "work", json!({"memory": 1 << 20}));
    refused(&job, "hospital", &sizes, ErrorKind::Protocol, "a table on disk in another job");
}

#[test]
fn the_protocol_is_the_chosen_one_or_none() {
    let auto = rows();
    let named = job("protocol = \"ecdh\"\nreveal_to = [\"hospital\", \"insurer\"]", "");
    let count = job("reveal = \"count\"\nreveal_to = [\"hospital\", \"insurer\"]", "");
    let malicious = job("security = \"malicious\"\nreveal_to = [\"hospital\"]", "");
    for job in [&auto, &named, &count, &malicious] {
        for me in NAMES {
            let long = [b'e'; 65];
            for word in [&b""[..], b"auto", b"VOLE", b"ECDH", b"ecdh ", b"\xff\xfe", &long] {
                refused(job, me, &with(job, me, CHOICE, word), ErrorKind::Protocol, "another protocol");
            }
        }
    }
    // What the terms do not allow, although it exists: another than the named one, one that has no counts, one that
    // does not hold against cheating parties.
    let bloom = job("protocol = \"bloom\"\nreveal_to = [\"hospital\"]", "");
    let ruled_out: [(_, &[u8]); 4] = [(&named, b"vole"), (&count, b"vole"), (&malicious, b"ecdh"), (&auto, b"bloom")];
    for (job, word) in ruled_out {
        for me in NAMES {
            refused(job, me, &with(job, me, CHOICE, word), ErrorKind::Protocol, "a protocol that the terms rule out");
        }
    }
    for (job, word, protocol) in [(&auto, &b"vole"[..], vole::PROTOCOL), (&bloom, b"bloom", bloom::PROTOCOL)] {
        let (outcome, _) = play(job, "insurer", &with(job, "insurer", CHOICE, word), false);
        assert_eq!(outcome.unwrap().chosen.protocol, protocol);
    }
}

/// Two honest parties, each with its own exporter and seed of nonces; the ids of their sessions.
fn sessions(job: &JobSpec, exporters: [[u8; 32]; 2], seeds: [u8; 2], items: [u64; 2]) -> [[u8; 32]; 2] {
    let (mut one, mut two) = Channel::pair("hospital", "insurer");
    std::thread::scope(|scope| {
        let insurer = scope.spawn(|| shake(job, "insurer", &sizes(items[1]), &exporters[1], seeds[1], &mut two));
        let hospital = shake(job, "hospital", &sizes(items[0]), &exporters[0], seeds[0], &mut one).unwrap();
        [*hospital.session.id(), *insurer.join().unwrap().unwrap().session.id()]
    })
}

#[test]
fn the_session_is_one_at_both_ends_and_new_whenever_anything_is() {
    let other_exporter = [8; 32];
    let base = (rows(), EXPORTER, [1, 2], [3, 4]);
    let cases = [
        base.clone(),
        (job("reveal_to = [\"hospital\"]", ""), EXPORTER, [1, 2], [3, 4]),
        (job("reveal_to = [\"hospital\", \"insurer\"]", "min_result = 2"), EXPORTER, [1, 2], [3, 4]),
        (job("protocol = \"ecdh\"\nreveal_to = [\"hospital\", \"insurer\"]", ""), EXPORTER, [1, 2], [3, 4]),
        (rows(), other_exporter, [1, 2], [3, 4]),
        (rows(), EXPORTER, [9, 2], [3, 4]),
        (rows(), EXPORTER, [1, 9], [3, 4]),
        (rows(), EXPORTER, [2, 1], [3, 4]),
        (rows(), EXPORTER, [1, 2], [4, 3]),
        (rows(), EXPORTER, [1, 2], [3, 5]),
        (rows(), EXPORTER, [1, 2], [5, 4]),
    ];
    let mut seen = Vec::new();
    for (job, exporter, seeds, items) in cases {
        let [hospital, insurer] = sessions(&job, [exporter; 2], seeds, items);
        assert_eq!(hospital, insurer);
        assert!(!seen.contains(&hospital), "a session twice");
        seen.push(hospital);
    }
    assert_eq!(sessions(&base.0, [EXPORTER; 2], base.2, base.3)[0], seen[0], "nothing else goes in");
    // Whoever sits in the middle of two connections has another exporter on each.
    let [hospital, insurer] = sessions(&rows(), [EXPORTER, other_exporter], [1, 2], [3, 4]);
    assert_ne!(hospital, insurer);
}

/// Section 2.5 of `docs/wire.md`, with BLAKE3 alone.
#[test]
fn the_session_is_what_the_documentation_says() {
    let job = rows();
    let nonce = |seed: u8| {
        let mut nonce = [0; 32];
        ChaCha20Rng::from_seed([seed; 32]).fill_bytes(&mut nonce);
        nonce
    };
    let sizes = |items: u64| format!("{{\"items\":{items},\"entries\":0,\"row_bytes\":0,\"schema\":\"\"}}");
    let terms = "{\"gives\":{},\"id\":\"test\",\"job\":\"intersect\",\"key\":{\"columns\":[\"name\"],\"duplicates\":\"all\",\
                 \"normalize\":[\"name\"],\"nulls\":\"skip\",\"profiles_version\":2},\"level\":\"bits128\",\
                 \"limits\":{\"max_rows\":1000},\"order\":[\"hospital\",\"insurer\"],\"parties\":{\"hospital\":\
                 {\"identity\":null},\"insurer\":{\"identity\":null}},\"protocol\":\"auto\",\"reveal\":\"rows\",\
                 \"reveal_to\":[\"hospital\",\"insurer\"],\"security\":\"semi-honest\"}";
    let (one, two) = (sizes(3), sizes(4));
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 transcript handshake");
    for (label, value) in [
        ("terms", terms.as_bytes()),
        ("nonce", &nonce(1)),
        ("nonce", &nonce(2)),
        ("exporter", &EXPORTER),
        ("sizes", one.as_bytes()),
        ("sizes", two.as_bytes()),
        ("choice", b"ecdh"),
        ("challenge", b"session"),
    ] {
        for part in [label.as_bytes(), value] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
    }
    assert_eq!(sessions(&job, [EXPORTER; 2], [1, 2], [3, 4])[0], *hasher.finalize().as_bytes());
}

#[test]
fn parties_with_one_session_confirm_it_and_others_do_not() {
    let confirm = |sessions: [Session; 2], reflected: bool| {
        let (mut one, mut two) = Channel::pair("hospital", "insurer");
        let job = &rows();
        let [first, second] = &sessions;
        std::thread::scope(|scope| {
            let theirs = scope.spawn(move || match reflected {
                // What it gets is what it says.
                true => {
                    let said = two.receive(Label::new(0xf3, "confirm"), 32)?;
                    two.send(Label::new(0xf3, "confirm"), said)?;
                    two.finish().map(drop)
                }
                false => {
                    let confirmed = handshake::confirm(second, job, "insurer", &mut two);
                    if let Err(error) = &confirmed {
                        two.abort(error);
                    }
                    confirmed
                }
            });
            let ours = handshake::confirm(first, job, "hospital", &mut one);
            if let Err(error) = &ours {
                one.abort(error);
            }
            (ours, theirs.join().unwrap())
        })
    };
    let session = |label: &str| Session::new(Transcript::new(label));
    let (one, two) = confirm([session("a"), session("a")], false);
    assert_eq!((one, two), (Ok(()), Ok(())));
    let (one, two) = confirm([session("a"), session("b")], false);
    assert_eq!((one.unwrap_err().kind(), two.unwrap_err().kind()), (ErrorKind::Protocol, ErrorKind::Protocol));
    let (one, _) = confirm([session("a"), session("a")], true);
    assert_eq!(one.unwrap_err().kind(), ErrorKind::Protocol, "our own confirmation must not confirm");
}
