//! A round that is saved and put back.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use super::stored::server::PostgresServer;
use super::world::{ROUND, World, made, over};
use crate::common::{Ended, tacita};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Runs the operator's action with a file.
fn act(world: &World, action: &str, round: &str, file: &str, more: &[&str]) -> Ended {
    let (job, id, state) = (world.job(), world.home.at("id-database"), world.home.at("state-database"));
    let arguments = ["round", action, &job, "--round", round, "--identity", &id, "--state", &state, "--file", file];
    tacita(&[&arguments[..], more].concat())
}

/// Removes all data that a lost machine held.
fn lose(world: &World) {
    std::fs::remove_dir_all(world.home.at("state-database")).unwrap();
}

fn submit_all(world: &World) -> std::collections::BTreeMap<String, u64> {
    let (items, counts) = made(NAMES.len(), 40);
    for (name, items) in NAMES.iter().zip(&items) {
        world.submit_with(name, &items.iter().map(String::as_str).collect::<Vec<_>>(), &["--batch", "7"]).well();
    }
    over(&counts, 2)
}

/// A round that is counted, saved, and whose database is lost.
fn counted(file: &str) -> (World, String, std::collections::BTreeMap<String, u64>) {
    let mut world = World::started(&NAMES, json!({ "tighten": true }), json!({}));
    let expected = submit_all(&world);
    let file = world.home.at(file);
    act(&world, "backup", ROUND, &file, &[]).failed(2, &["another process uses it"]);
    world.operate("close", ROUND, &[]).well();
    world.until(ROUND, &["counted"]);
    world.kill("database");
    act(&world, "backup", "two", &file, &[]).failed(2, &["there is no round two"]);
    assert!(!Path::new(&file).exists());
    act(&world, "backup", ROUND, &file, &[]).well();
    (world, file, expected)
}

#[test]
fn a_round_that_was_put_back_has_the_result_that_it_would_have_had() {
    let (mut world, file, expected) = counted("saved");
    let saved = std::fs::read(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    act(&world, "backup", ROUND, &file, &[]).failed(2, &["already exists"]);
    assert_eq!(std::fs::read(&file).unwrap(), saved);
    act(&world, "restore", ROUND, &file, &[]).failed(2, &["round one is in this storage, counted, and stays"]);
    lose(&world);

    // Nothing that is not whole, or of something else, changes anything.
    act(&world, "restore", "two", &file, &[]).failed(2, &["a backup of round one, and not of two"]);
    let other = world.home.at("other");
    for length in [0, 7, 23, 24, 60, saved.len() / 2, saved.len() - 40, saved.len() - 20, saved.len() - 1] {
        std::fs::write(&other, &saved[..length]).unwrap();
        act(&world, "restore", ROUND, &other, &[]).failed(2, &["not a complete backup"]);
    }
    for place in [3, 12, 30, 200, saved.len() / 2, saved.len() - 3] {
        let mut changed = saved.clone();
        changed[place] ^= 4;
        std::fs::write(&other, changed).unwrap();
        act(&world, "restore", ROUND, &other, &[]).failed(2, &["not a complete backup"]);
    }
    let stranger = World::new(&NAMES, json!({ "tighten": true }), json!({}));
    act(&stranger, "restore", ROUND, &file, &[]).failed(2, &["not a complete backup", "another database's"]);
    let job = std::fs::read_to_string(world.job()).unwrap();
    std::fs::write(world.job(), job.replace("distinct >= 2", "distinct >= 3")).unwrap();
    act(&world, "restore", ROUND, &file, &[]).failed(5, &["saved under other terms"]);
    std::fs::write(world.job(), &job).unwrap();
    assert!(!Path::new(&world.home.at("state-database")).exists());

    act(&world, "restore", ROUND, &file, &[]).well();
    act(&world, "restore", ROUND, &file, &[]).failed(2, &["stays"]);
    world.start("database");
    world.until(ROUND, &["counted"]);
    world.operate("reveal", ROUND, &[]).well();
    world.until(ROUND, &["revealed"]);
    assert_eq!(world.collected("a", ROUND), expected);

    // With its result, too.
    world.kill("database");
    let revealed = world.home.at("revealed");
    act(&world, "backup", ROUND, &revealed, &[]).well();
    lose(&world);
    act(&world, "restore", ROUND, &revealed, &[]).well();
    world.start("database");
    assert_eq!(world.collected("b", ROUND), expected);
    // What is removed is not saved; and does not come back where it was removed.
    world.operate("remove", ROUND, &[]).well();
    world.kill("database");
    act(&world, "backup", ROUND, &world.home.at("removed"), &[]).failed(2, &["was removed"]);
    act(&world, "restore", ROUND, &revealed, &[]).failed(2, &["removed, and stays"]);
}

#[test]
fn a_round_moves_from_a_directory_to_postgresql() {
    let Some(server) = PostgresServer::start() else { return };
    let (mut world, file, expected) = counted("saved");
    lose(&world);
    let url = world.home.file("url", &server.socket_url(""));
    std::fs::set_permissions(&url, std::fs::Permissions::from_mode(0o600)).unwrap();
    let storage = format!("file:{url}");
    act(&world, "restore", ROUND, &file, &["--storage", &storage]).well();
    // And back, as it was.
    let again = world.home.at("again");
    act(&world, "backup", ROUND, &again, &["--storage", &storage]).well();
    assert_eq!(std::fs::metadata(&again).unwrap().len() / 100, std::fs::metadata(&file).unwrap().len() / 100);
    world.start_with("database", &["--storage", &storage]);
    world.operate("reveal", ROUND, &[]).well();
    world.until(ROUND, &["revealed"]);
    assert_eq!(world.collected("a", ROUND), expected);
}

/// A round can be saved before its first report has come, and not while some do: a copy that has lost reports says so,
/// and has no result.
#[test]
fn a_copy_that_lacks_reports_gives_no_result() {
    let mut world = World::new(&NAMES, json!({}), json!({}));
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    world.role("proxy").until_it_says("round one takes reports");
    world.take("database").stop();
    let file = world.home.at("saved");
    act(&world, "backup", ROUND, &file, &[]).well();
    world.start("database");
    let expected = submit_all(&world);
    world.kill("database");
    lose(&world);
    act(&world, "restore", ROUND, &file, &[]).well();
    world.start("database");
    assert_eq!(world.result("a"), expected);

    world.kill("database");
    lose(&world);
    act(&world, "restore", ROUND, &file, &[]).well();
    world.start("database");
    world.operate("close", ROUND, &[]).well();
    let status = world.until(ROUND, &["revealed", "failed"]);
    assert_eq!(status["state"], "failed", "{status}");
    assert!(
        status["failure"]["reason"].as_str().unwrap().contains("it lacks 83 reports")
            || status["failure"]["reason"].as_str().unwrap().contains("lacks"),
        "{status}"
    );
}

#[test]
fn a_round_whose_reports_are_on_their_way_is_not_saved() {
    let mut world = World::new(&NAMES, json!({ "batch_size": 4 }), json!({}));
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    world.take("database").stop();
    act(&world, "backup", ROUND, &world.home.at("saved"), &[]).failed(75, &["still receives batches"]);
    world.start("database");
    world.submit("a", &["x"]).well();
    world.kill("proxy");
    world.operate("close", ROUND, &[]).well();
    world.take("database").stop();
    act(&world, "backup", ROUND, &world.home.at("saved"), &[]).failed(75, &["have not sent all yet"]);
}

/// An older copy of a proxy's queue, put back when the database has all of the round, brings nothing twice.
#[test]
fn an_old_queue_that_is_put_back_changes_no_round_that_is_complete() {
    let mut world = World::started(&NAMES, json!({ "tighten": true }), json!({}));
    let expected = submit_all(&world);
    world.kill("proxy");
    let (state, copy) = (world.home.at("state-proxy"), world.home.at("copy"));
    copy_all(Path::new(&state), Path::new(&copy));
    world.start("proxy");
    world.operate("close", ROUND, &[]).well();
    let reports = world.until(ROUND, &["counted"])["numbers"]["reports"].clone();
    world.kill("proxy");
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::rename(&copy, &state).unwrap();
    world.start("proxy");
    world.role("proxy").until_it_says("reports wait");
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(world.status(ROUND)["numbers"]["reports"], reports);
    world.operate("reveal", ROUND, &[]).well();
    world.until(ROUND, &["revealed"]);
    assert_eq!(world.collected("a", ROUND), expected);
}

pub fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o700)).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy_all(&path, &target)
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
