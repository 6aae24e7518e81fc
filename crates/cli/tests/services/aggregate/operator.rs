//! Tests of the operator's actions on rounds at the database: several rounds, late reports, thresholds, removal.

use serde_json::{Value, json};

use super::world::{ROUND, World};
use crate::common::tacita;

/// Reports that come too late go to the round that is open in place of theirs.
#[test]
fn late_reports_go_to_the_next_round() {
    let world = World::started(&["a", "b", "c"], json!({}), json!({}));
    world.submit("a", &["x", "y"]).well();
    world.submit("b", &["x"]).well();
    world.operate("close", ROUND, &[]).well();
    world.until(ROUND, &["revealed"]);
    // No other round is open yet.
    world.submit("c", &["x"]).failed(75, &["round one", "no other round is open"]);
    world.operate("open", "two", &[]).well();
    // The proxy hears of it in a moment.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let late = loop {
        let late = world.submit("c", &["x", "z"]);
        if late.code == 0 {
            break late;
        }
        late.failed(75, &["no other round is open"]);
        assert!(std::time::Instant::now() < until);
    };
    assert!(late.stderr.contains("what is not there yet goes to round two"), "{}", late.stderr);
    // What was in time is not late: it counts where it is, and nowhere else.
    let again = world.submit("a", &["x", "y"]).well();
    assert!(again.stderr.contains("2 reports had been taken in round one before it closed"), "{}", again.stderr);
    world.submit_with("a", &["z"], &["--round", "two"]).well();
    world.operate("close", "two", &[]).well();
    world.until("two", &["revealed"]);
    assert_eq!(world.collected("a", ROUND), [("x".to_owned(), 2)].into());
    assert_eq!(world.collected("a", "two"), [("z".to_owned(), 2)].into());
    world.operate("open", ROUND, &[]).failed(2, &["round one is revealed", "another name"]);
    world.submit_with("a", &["z"], &["--round", "three"]).failed(2, &["no round of this name"]);
}

#[test]
fn a_threshold_is_raised_before_the_reveal_and_never_lowered() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let world = World::started(&names, json!({ "tighten": true }), json!({}));
    // x of six, y of five, z of two, others of one.
    for (place, name) in names.iter().enumerate() {
        let mut items = vec!["x"];
        items.extend((place < 5).then_some("y"));
        items.extend((place < 2).then_some("z"));
        let own = format!("own-{name}");
        items.push(&own);
        world.submit(name, &items).well();
    }
    world.operate("tighten", ROUND, &["--measure", "distinct", "--to", "3"]).failed(75, &["round one is open"]);
    world.operate("close", ROUND, &[]).well();
    let status = world.until(ROUND, &["counted"]);
    assert_eq!((&status["numbers"]["rows"], &status["numbers"]["passing"]), (&json!(9), &json!(3)), "{status}");
    let histogram: Value = serde_json::from_str(&world.operate("histogram", ROUND, &["--json"]).well().stdout).unwrap();
    assert_eq!(histogram["distinct"], json!({ "1": 6, "2": 1, "5": 1, "6": 1 }));
    world.as_participant("results", "a", &[]).end().failed(75, &["round one is counted", "ask again later"]);
    world.operate("tighten", ROUND, &["--measure", "distinct", "--to", "1"]).failed(2, &["distinct"]);
    let raised = world.operate("tighten", ROUND, &["--measure", "distinct", "--gap", "--json"]).well();
    let raised: Value = serde_json::from_str(&raised.stdout).unwrap();
    // Between 2 and 5 is the widest gap.
    assert_eq!(raised["numbers"]["passing"], 2, "{raised}");
    world.operate("reveal", ROUND, &[]).well();
    world.until(ROUND, &["revealed"]);
    assert_eq!(world.collected("a", ROUND), [("x".to_owned(), 6), ("y".to_owned(), 5)].into());
    world.operate("tighten", ROUND, &["--measure", "distinct", "--to", "6"]).failed(75, &["revealed"]);
}

/// Scripts wait for what is to come, and people read how it stands.
#[test]
fn scripts_wait_for_the_end_of_a_round() {
    let world = World::started(&["a", "b"], json!({}), json!({}));
    let output = world.home.at("waited.csv");
    // It is there before the round is closed, and only says that it waits.
    let mut waiting = world.as_participant("results", "a", &["--wait", "--output", &output]);
    waiting.until_it_says("round one is open: waiting");
    world.as_participant("results", "b", &["--wait=0s"]).end().failed(75, &["round one is open", "ask again later"]);
    world.submit("a", &["x", "y"]).well();
    world.submit("b", &["x"]).well();
    let closed = world.operate("close", ROUND, &["--wait=60s"]).well();
    assert!(closed.stdout.starts_with("round one: revealed, closed at 20"), "{}", closed.stdout);
    assert!(
        closed.stdout.contains("2 rows, of which 1 pass") && closed.stdout.contains("1 key revealed"),
        "{}",
        closed.stdout
    );
    waiting.end().well();
    assert_eq!(super::world::rows(&output), [["x", "2"]]);
    // The result of a round is not written over another file, and is there for the next attempt.
    world.as_participant("results", "b", &["--output", &output]).end().failed(2, &["waited.csv", "--force"]);
    world.operate("open", "two", &[]).well();
    let list = world.operate_all("list", &[]).well().stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("one  revealed") && lines[1].starts_with("two  open"), "{list}");
    let list: Value = serde_json::from_str(&world.operate_all("list", &["--json"]).well().stdout).unwrap();
    assert_eq!((&list[0]["round"], &list[1]["state"]), (&json!("one"), &json!("open")));
    let told = world.operate("status", "two", &[]).well().stdout;
    assert!(told.starts_with("round two: open\n") && told.contains("0 reports here"), "{told}");
}

/// A round that waits for its operator is waited for no longer.
#[test]
fn a_round_that_is_to_be_tightened_is_waited_for_until_it_is_counted() {
    let world = World::started(&["a", "b"], json!({ "tighten": true }), json!({}));
    world.submit("a", &["x"]).well();
    world.submit("b", &["x"]).well();
    let closed = world.operate("close", ROUND, &["--wait"]).well();
    assert!(closed.stdout.starts_with("round one: counted, closed at 20"), "{}", closed.stdout);
    assert_eq!(world.operate("histogram", ROUND, &[]).well().stdout, "1 row with 2 reports\n1 row with 2 reporters\n");
}

#[test]
fn a_round_that_is_removed_leaves_nothing_but_its_name() {
    let mut world = World::started(&["a", "b"], json!({}), json!({}));
    world.submit("a", &["x"]).well();
    world.submit("b", &["x"]).well();
    assert_eq!(world.result("a"), [("x".to_owned(), 2)].into());
    world.operate("remove", ROUND, &[]).well();
    world.as_participant("results", "a", &[]).end().failed(2, &["was removed"]);
    world.operate("open", ROUND, &[]).failed(2, &["removed"]);
    world.kill("database");
    world.start("database");
    assert_eq!(world.status(ROUND)["state"], "removed");
    let name = ROUND.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    for (role, file) in [
        ("database", format!("database-{name}.key")),
        ("proxy", format!("proxy-{name}.key")),
        ("proxy", format!("round-{name}.json")),
        ("proxy", format!("queue-{name}")),
        ("oracle", format!("proxy-{name}.key")),
    ] {
        let file = world.home.at(&format!("state-{role}/{file}"));
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while std::path::Path::new(&file).exists() {
            assert!(std::time::Instant::now() < until, "{file} is there");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Batches of a size leave while the round is open, if they and what stays behind hide who reports.
#[test]
fn batches_leave_while_the_round_is_open() {
    let world = World::started(&["a", "b"], json!({ "batch_size": 4, "min_participants": 2 }), json!({}));
    let many: Vec<String> = (0..12).map(|number| format!("item-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    world.submit("a", &many).well();
    world.submit("b", &many).well();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while world.status(ROUND)["numbers"]["reports"].as_u64() < Some(4) {
        assert!(std::time::Instant::now() < until, "{}", world.status(ROUND));
    }
    assert_eq!(world.status(ROUND)["state"], "open");
    assert_eq!(world.result("a").len(), 12);
}

/// Secrets of a round are made when it opens, or before; they move in a sealed file, and are never changed once they
/// are used.
#[test]
fn keys_are_made_saved_and_put_back() {
    let mut world = World::new(&["a", "b"], json!({}), json!({}));
    let key = |action: &str, round: &str, more: &[&str]| {
        let (job, id, state) = (world.job(), world.home.at("id-proxy"), world.home.at("state-proxy"));
        let arguments =
            ["key", action, &job, "--role", "proxy", "--round", round, "--identity", &id, "--state", &state];
        tacita(&[&arguments[..], more].concat())
    };
    let file = world.home.at("saved.key");
    key("backup", ROUND, &["--file", &file]).failed(2, &["no secrets of round one"]);
    key("new", ROUND, &[]).well();
    key("new", ROUND, &[]).failed(2, &["tacita key rotate"]);
    key("rotate", ROUND, &[]).well();
    key("backup", ROUND, &["--file", &file]).well();
    let saved = std::fs::read(&file).unwrap();
    key("backup", ROUND, &["--file", &file]).failed(2, &["already exists"]);
    assert_eq!(std::fs::read(&file).unwrap(), saved);
    // What was saved is of no use after a rotation.
    let kept = format!("{}/proxy-6f6e65.key", world.home.at("state-proxy"));
    key("rotate", ROUND, &[]).well();
    assert_ne!(std::fs::read(&kept).unwrap(), saved);
    std::fs::write(&kept, &saved).unwrap();
    key("restore", "two", &["--file", &file]).failed(2, &["not a key of round two"]);
    for role in ["database", "proxy", "oracle"] {
        world.start(role);
    }
    world.submit("a", &["x"]).well();
    world.submit("b", &["x"]).well();
    world.kill("proxy");
    let key = |action: &str, round: &str, more: &[&str]| {
        let (job, id, state) = (world.job(), world.home.at("id-proxy"), world.home.at("state-proxy"));
        let arguments =
            ["key", action, &job, "--role", "proxy", "--round", round, "--identity", &id, "--state", &state];
        tacita(&[&arguments[..], more].concat())
    };
    key("rotate", ROUND, &[]).failed(2, &["was opened with its secrets"]);
    let kept = format!("{}/proxy-{}.key", world.home.at("state-proxy"), "6f6e65");
    std::fs::remove_file(&kept).unwrap();
    key("restore", ROUND, &["--file", &file]).well();
    world.start("proxy");
    assert_eq!(world.result("a"), [("x".to_owned(), 2)].into());
}
