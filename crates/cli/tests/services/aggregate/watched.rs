//! Tests of the view of an observer of the roles: metrics, health, logs. Nothing that was reported is in any of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};
use serde_json::{Value, json};

use super::exposition;
use super::world::{ROUND, World};
use crate::common::text;

const ROLES: [&str; 3] = ["database", "proxy", "oracle"];

/// Returns the address at which a role serves its pages.
pub(super) fn pages(world: &mut World, role: &'static str) -> String {
    let said = world.role(role).said();
    let rest = said.split_once("status at http://").unwrap().1;
    rest[..rest.find('/').unwrap()].to_owned()
}

/// The status and the body of a page.
pub(super) fn page(at: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

/// Waits until a role says of itself whether it is ready, and returns what its checks say.
#[track_caller]
fn until_ready(at: &str, ready: bool, check: &str) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let (status, body) = page(at, "/readyz");
        let told: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status == 200, told["ready"] == true, "{status} {told}");
        if (status == 200) == ready && told["checks"][check]["ok"] == ready {
            return told;
        }
        assert!(Instant::now() < until, "{told}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Everything that `text` could be written as.
fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned(), HEXLOWER.encode(text.as_bytes()), HEXUPPER.encode(text.as_bytes())];
    for shift in 0..3 {
        // Within something longer, which begins anywhere: without the letters that others share.
        let shifted = [&vec![0; shift][..], text.as_bytes()].concat();
        let whole = shifted.len() / 3 * 4;
        let from = if shift == 0 { 0 } else { 4 };
        forms.push(BASE64.encode(&shifted)[from..whole].to_owned());
        forms.push(BASE64URL_NOPAD.encode(&shifted)[from..whole].to_owned());
    }
    forms
}

#[track_caller]
fn holds_none(what: &str, text: &str, marks: &[String]) {
    for form in marks.iter().flat_map(|mark| forms(mark)) {
        assert!(!text.contains(&form), "{what} holds {form}: {text}");
    }
}

#[test]
fn what_was_reported_is_found_in_every_form() {
    let mark = "marked-key-00001";
    for shift in 0..5 {
        let long = [&vec![7; shift][..], mark.as_bytes(), b"zz"].concat();
        for text in [BASE64.encode(&long), BASE64URL_NOPAD.encode(&long), HEXLOWER.encode(&long), mark.to_owned()] {
            assert!(std::panic::catch_unwind(|| holds_none("it", &text, &[mark.to_owned()])).is_err(), "{text}");
        }
    }
}

#[test]
fn metrics_logs_and_health_tell_how_a_round_goes_and_nothing_that_was_reported() {
    let names = ["marked-alice", "marked-berta", "marked-carla"];
    let mut world = World::new(&names, json!({ "reveal_when": "distinct >= 2", "tighten": true }), json!({}));
    for role in ROLES {
        let log = if role == "oracle" { "--log" } else { "--log-format" };
        world.start_with(role, &["--status", "127.0.0.1:0", log, "json"]);
    }
    let pages: BTreeMap<&str, String> = ROLES.iter().map(|role| (*role, pages(&mut world, role))).collect();
    let items: Vec<String> = (0..9).map(|number| format!("marked-key-{number:04}")).collect();
    for name in names {
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        world.submit(name, &items).well();
        world.submit(name, &items).well();
    }
    // Nobody's business, and refused.
    world.submit_with(names[0], &["x"], &["--round", "another"]).failed(2, &["no round of this name"]);
    for (role, at) in &pages {
        assert_eq!(page(at, "/healthz"), (200, "ok\n".to_owned()), "{role}");
        assert_eq!(page(at, "/health"), (200, "ok\n".to_owned()), "{role}");
    }
    for (role, check) in [("database", "oracles"), ("proxy", "database"), ("oracle", "proxy")] {
        let told = until_ready(&pages[role], true, check);
        assert!(told["checks"]["disk"]["since"].as_str().unwrap().ends_with('Z'), "{told}");
    }
    let waiting = exposition::read(&page(&pages["proxy"], "/metrics").1);
    assert_eq!(waiting["tacita_proxy_queue_reports"][0].1, 27.0);
    assert!(waiting["tacita_proxy_queue_oldest_report_age_seconds"][0].1 > 0.0);
    assert!(waiting["tacita_proxy_queue_bytes"][0].1 > 0.0);

    world.operate("close", ROUND, &[]).well();
    world.until(ROUND, &["counted"]);
    world.operate("reveal", ROUND, &[]).well();
    world.until(ROUND, &["revealed"]);
    assert_eq!(world.collected(names[1], ROUND).len(), items.len());

    let marks: Vec<String> = items.iter().cloned().chain(names.map(str::to_owned)).collect();
    let mut metrics = BTreeMap::new();
    for (role, at) in &pages {
        for path in ["/metrics", "/readyz", "/health", "/healthz"] {
            let (_, body) = page(at, path);
            holds_none(&format!("{role} {path}"), &body, &marks);
            assert!(path == "/readyz" || !body.contains("SHA256:"), "{body}");
        }
        metrics.insert(*role, exposition::read(&page(at, "/metrics").1));
    }
    let find = |role: &str, name: &str, wanted: &[(&str, &str)]| {
        let samples = metrics[role].get(name).unwrap_or_else(|| panic!("{role} has no {name}"));
        let of = samples.iter().filter(|(labels, _)| {
            wanted.iter().all(|(label, value)| labels.get(*label).is_some_and(|found| found == value))
        });
        of.map(|(_, value)| *value).sum::<f64>()
    };
    let reports = "/v1/rounds/{round}/reports/{batch}";
    let duration = "tacita_request_duration_seconds_count";
    assert_eq!(find("proxy", "tacita_proxy_reports_accepted_total", &[]), 27.0);
    assert_eq!(find("proxy", "tacita_proxy_batches_repeated_total", &[]), 3.0);
    assert_eq!(find("proxy", "tacita_proxy_entries_sent_total", &[]), 27.0);
    assert_eq!(find("proxy", "tacita_proxy_queue_reports", &[]), 0.0);
    assert_eq!(find("proxy", duration, &[("route", reports), ("method", "PUT"), ("status", "200")]), 6.0);
    assert!(find("proxy", "tacita_requests_refused_total", &[("reason", "unknown-round")]) >= 1.0);
    assert_eq!(find("database", "tacita_database_reports_total", &[]), 27.0);
    assert!(find("database", "tacita_database_batches_total", &[("outcome", "new")]) >= 1.0);
    assert!(find("database", "tacita_storage_duration_seconds_count", &[("operation", "ingest")]) >= 1.0);
    assert_eq!(find("database", "tacita_storage_errors_total", &[]), 0.0);
    assert_eq!(find("database", "tacita_rounds", &[("state", "revealed")]), 1.0);
    assert_eq!(find("proxy", "tacita_rounds", &[("state", "revealed")]), 1.0);
    assert_eq!(find("oracle", "tacita_oracle_keys_told_total", &[]), 9.0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    for (role, peer) in [
        ("database", "proxy-1"),
        ("database", "oracle-1"),
        ("proxy", "database-1"),
        ("proxy", "oracle-1"),
        ("oracle", "proxy-1"),
    ] {
        let last = find(role, "tacita_peer_last_contact_timestamp_seconds", &[("peer", peer)]);
        assert!((last - now).abs() < 60.0, "{role} {peer}: {last}");
    }
    for role in ROLES {
        assert_eq!(find(role, "tacita_build_info", &[("role", role)]), 1.0);
        assert!(find(role, "process_cpu_seconds_total", &[]) > 0.0);
        assert!(find(role, "process_resident_memory_bytes", &[]) > 1e6);
        assert!(find(role, "tacita_certificate_expiry_timestamp_seconds", &[]) > now);
        assert!(find(role, "tacita_received_bytes_total", &[]) > 0.0);
    }

    documented(&metrics);
    for role in ROLES {
        let ended = world.take(role).stop();
        holds_none(&format!("{role}'s log"), &ended.stderr, &marks[..items.len()]);
        let lines: Vec<Value> = ended.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &lines {
            for key in ["timestamp", "level", "target", "message"] {
                assert!(line[key].is_string(), "{key}: {line}");
            }
        }
        assert!(lines.iter().any(|line| line["round"] == ROUND), "{role}: {}", ended.stderr);
        let report = world.report(role).to_string();
        holds_none(&format!("{role}'s report"), &report, &marks);
    }
}

/// The guide has a line for every metric, and no other; alerts are on metrics that there are.
fn documented(metrics: &BTreeMap<&str, BTreeMap<String, Vec<exposition::Sample>>>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut there: BTreeSet<String> = metrics.values().flat_map(BTreeMap::keys).map(|name| family(name)).collect();
    // Of roles with a registry: registry.rs reads it.
    there.insert("tacita_registry_last_contact_timestamp_seconds".into());
    let named = |path: &str| -> BTreeSet<String> {
        let text = text(root.join(path));
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        words.filter(|word| word.starts_with("tacita_") || word.starts_with("process_")).map(family).collect()
    };
    // A log's target is none.
    let guide: BTreeSet<String> =
        named("docs/guides/operators.md").into_iter().filter(|name| name != "tacita_aggregate").collect();
    assert_eq!(guide, there);
    let alerts = named("deploy/prometheus/alerts.yml");
    assert!(!alerts.is_empty() && alerts.is_subset(&there), "{:?}", alerts.difference(&there));
}

/// A metric's name without what a histogram's samples have behind it.
fn family(name: &str) -> String {
    let ends = ["_seconds_bucket", "_seconds_sum", "_seconds_count"];
    match ends.iter().find_map(|end| name.strip_suffix(end)) {
        Some(stem) => format!("{stem}_seconds"),
        None => name.to_owned(),
    }
}

#[test]
fn a_role_that_cannot_work_says_which_check_fails() {
    let mut world = World::new(&["a", "b"], json!({}), json!({}));
    world.start_with("proxy", &["--status", "127.0.0.1:0"]);
    let at = pages(&mut world, "proxy");
    let told = until_ready(&at, false, "database");
    assert_eq!(told["checks"]["database"]["why"], "the database was not heard of yet");
    assert!(told["checks"]["disk"]["ok"] == true && page(&at, "/healthz").0 == 200, "{told}");
    assert!(page(&at, "/metrics").1.contains("tacita_ready{check=\"database\"} 0\n"));
    world.start_with("database", &["--status", "127.0.0.1:0"]);
    world.start("oracle");
    until_ready(&at, true, "database");
    let at = pages(&mut world, "database");
    until_ready(&at, true, "secrets");
    let key = world.home.at("state-database/database-6f6e65.key");
    std::fs::rename(&key, format!("{key}.away")).unwrap();
    let told = until_ready(&at, false, "secrets");
    assert!(told["checks"]["secrets"]["why"].as_str().unwrap().contains("`tacita key restore`"), "{told}");
    std::fs::rename(format!("{key}.away"), &key).unwrap();
    until_ready(&at, true, "secrets");
    world.role("database").until_it_says("not ready: secrets: ");
    world.role("database").until_it_says("ready again: secrets");
}

#[test]
fn the_environment_says_in_which_form_logs_are() {
    for (form, more, is_json) in
        [("json", vec![], true), ("JSON", vec![], true), ("text", vec![], false), ("json", vec!["--log=text"], false)]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tacita"));
        let done = command.args(["proxy", "missing.toml"]).args(&more).env("TACITA_LOG_FORMAT", form).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(serde_json::from_str::<Value>(said.trim()).is_ok(), is_json, "{form} {more:?}: {said}");
    }
}
