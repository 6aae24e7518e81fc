//! `docs/openapi/aggregate.yaml` says what the program does: the same routes, and the same keys in JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tacita_aggregate::wire::held::Held;
use tacita_aggregate::wire::hello::ServiceInfo;
use tacita_aggregate::wire::peers::{Listening, PeerAddresses};
use tacita_aggregate::wire::reply::{ErrorBody, RefusalReason};
use tacita_aggregate::wire::rounds::{
    Closing, Completion, Numbers, Open, ReportCounts, Rest, Resting, RoundFailure, RoundState, RoundStatus, Tighten,
};
use tacita_aggregate::wire::same_keys::KeysFingerprint;
use tacita_aggregate::wire::sessions::{Advance, StateSession};
use tacita_aggregate::wire::signed::Signed;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The keys of the document, each with those above it: `paths`, `paths:/v1/rounds`, `paths:/v1/rounds:get` and so on;
/// and what stands behind each.
fn document() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("docs/openapi/aggregate.yaml")).unwrap();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', '-'])) {
        let indent = line.len() - line.trim_start().len();
        let Some((key, value)) =
            line.trim().split_once(':').filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '))
        else {
            continue;
        };
        above.retain(|(depth, _)| *depth < indent);
        above.push((indent, key.trim_matches('"').to_owned()));
        let path: Vec<&str> = above.iter().map(|(_, key)| key.as_str()).collect();
        found.insert(path.join(":"), value.trim().to_owned());
    }
    found
}

/// Keys right below another one.
fn below(document: &BTreeMap<String, String>, key: &str) -> BTreeSet<String> {
    let prefix = format!("{key}:");
    let inner = document.keys().filter_map(|found| found.strip_prefix(&prefix));
    inner.filter(|rest| !rest.contains(':')).map(str::to_owned).collect()
}

#[test]
fn routes_are_those_of_the_document() {
    let mut routed = BTreeSet::new();
    for file in ["proxy/routes.rs", "database/routes.rs", "oracle/mod.rs", "hello.rs", "peers.rs"] {
        let text = std::fs::read_to_string(root().join("crates/aggregate/src").join(file)).unwrap();
        let of_file: Vec<&str> = text.split(".route(\"").skip(1).collect();
        assert!(!of_file.is_empty(), "{file}");
        for rest in of_file {
            let (path, handlers) = rest.split_once("\", ").unwrap();
            let handlers = handlers.lines().next().unwrap();
            for method in ["get", "put", "post"] {
                if handlers.split(['.', '(']).any(|word| word == method) {
                    routed.insert(format!("{method} {path}"));
                }
            }
        }
    }
    let document = document();
    let told = below(&document, "paths").into_iter().flat_map(|path| {
        below(&document, &format!("paths:{path}")).into_iter().map(move |method| format!("{method} {path}"))
    });
    assert_eq!(told.collect::<BTreeSet<_>>(), routed);
}

#[test]
fn schemas_have_the_keys_that_are_sent() {
    let signed = Signed { public: "p".into(), by: "b".into(), signature: "s".into() };
    let failure = RoundFailure { culprit: Some("c".into()), kind: 3, reason: "r".into(), told: None };
    let some = Some(1);
    let numbers = Numbers {
        reports: 1,
        dropped: 1,
        discarded: 1,
        rows: some,
        passing: some,
        keys: some,
        inconsistent: 1,
        too_long: 1,
    };
    let status = RoundStatus {
        round: "r".into(),
        state: RoundState::Open,
        closed: Some(1),
        reveal_when: "w".into(),
        waits: vec![1],
        waits_for: vec!["w".into()],
        rests: [(0, Rest::Enough)].into(),
        without: vec![2],
        failure: Some(failure.clone()),
        next: Some("n".into()),
        parts: Some(1),
        database: Some(signed.clone()),
        proxy: Some(signed.clone()),
        keys: Some(KeysFingerprint([1; 32])),
        numbers: Some(numbers.clone()),
    };
    let session = StateSession { number: 1, name: [1; 16] };
    let completion = Completion { entries: 1, discarded: 1, unshufflable: Some("u".into()) };
    let here = ServiceInfo {
        agreement: "a".into(),
        service: Some("s".into()),
        version: "v".into(),
        clock: 1,
        participant: Some("p".into()),
    };
    let open = Open { round: "r".into(), database: signed.clone(), proxy: signed.clone(), most_reports: Some(1) };
    let counts = ReportCounts { count: [(1, 1)].into(), distinct: [(1, 1)].into(), noisy: vec![1] };
    let told = ErrorBody { error: RefusalReason::Busy, message: "m".into(), next: Some("n".into()) };
    let of = |value: serde_json::Result<Value>| value.unwrap();
    let document = document();
    for (name, value) in [
        ("Here", of(serde_json::to_value(here))),
        ("Peers", of(serde_json::to_value(PeerAddresses::default()))),
        ("Listening", of(serde_json::to_value(Listening { role: "r".into(), place: 1, address: "a".into() }))),
        ("Told", of(serde_json::to_value(told))),
        ("Signed", of(serde_json::to_value(signed))),
        ("Open", of(serde_json::to_value(open))),
        ("Status", of(serde_json::to_value(status))),
        ("Failure", of(serde_json::to_value(failure))),
        ("Numbers", of(serde_json::to_value(numbers))),
        ("Counts", of(serde_json::to_value(counts))),
        ("Completion", of(serde_json::to_value(completion))),
        ("Resting", of(serde_json::to_value(Resting { rest: Rest::Nothing }))),
        ("Advance", of(serde_json::to_value(Advance { from: Some(session), to: session }))),
        ("Closing", of(serde_json::to_value(Closing { without: vec![1] }))),
        ("Tighten", of(serde_json::to_value(Tighten { measure: "count".into(), to: Some(1) }))),
        (
            "Held",
            of(serde_json::to_value(Held {
                rounds: [("r".into(), KeysFingerprint([1; 32]))].into(),
                removed: vec!["s".into()],
            })),
        ),
        ("Taken", json!({ "reports": 1, "known": false })),
        ("There", json!({ "there": true, "open": true })),
        ("Ingested", json!({ "entries": 1, "known": false })),
    ] {
        let sent: BTreeSet<String> = value.as_object().unwrap().keys().cloned().collect();
        assert_eq!(below(&document, &format!("components:schemas:{name}:properties")), sent, "{name}");
    }
    let states = ["open", "closed", "counted", "revealing", "revealed", "failed", "removed"];
    let listed = &document["components:schemas:Status:properties:state:enum"];
    assert_eq!(*listed, format!("[{}]", states.join(", ")));
    for state in states {
        assert!(serde_json::from_value::<RoundState>(json!(state)).is_ok(), "{state}");
    }
    let kinds = document["components:schemas:Told:properties:error:enum"]
        .trim_matches(['[', ']'])
        .split(", ")
        .collect::<Vec<_>>();
    assert_eq!(kinds.len(), 12);
    for kind in kinds {
        assert!(serde_json::from_value::<RefusalReason>(json!(kind)).is_ok(), "{kind}");
    }
}
