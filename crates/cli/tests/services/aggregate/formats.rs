//! Results in the formats of others, as the publishers of these check them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::world::World;

/// The environment that has their checkers.
fn python() -> Option<PathBuf> {
    let tools = std::env::var_os("TOOLS").map(PathBuf::from);
    let tools = tools.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools"));
    let python = tools.join("schemas/bin/python");
    // Found, and not imported: that takes seconds.
    let find = "import importlib.util, sys; names = ['pymispwarninglists', 'stix2validator']; \
                sys.exit(not all(importlib.util.find_spec(name) for name in names))";
    let has = Command::new(&python).args(["-c", find]).output();
    has.is_ok_and(|ended| ended.status.success()).then_some(python)
}

/// Returns the verdict of the checkers on files.
fn checked(python: &Path, files: &[&str]) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check_formats.py");
    let ended = Command::new(python).arg(script).args(files).output().unwrap();
    (ended.status.success(), String::from_utf8(ended.stdout).unwrap())
}

#[test]
fn lists_and_bundles_are_as_their_publishers_want_them() {
    let Some(python) = python() else {
        eprintln!("left out: the publishers' checkers are not there (`scripts/need schemas` installs them)");
        return;
    };
    // All are given to the checkers at once, who take longer to start than to check.
    let (mut worlds, mut made) = (Vec::new(), Vec::new());
    let addresses = ["198.18.0.7", "198.18.0.255", "2001:db8::7"];
    for (normalize, items) in [(json!(["ip"]), &addresses[..]), (json!(["text"]), &["mail.example", "x.example"][..])] {
        let key = json!({ "columns": ["item"], "duplicates": "all", "normalize": normalize });
        let world = World::started(&["a", "b"], json!({}), json!({ "key": key }));
        world.submit("a", items).well();
        world.submit("b", items).well();
        assert_eq!(world.result("a").len(), items.len());
        let files = ["result.misp.json", "result.stix.json"].map(|name| world.home.at(name));
        for file in &files {
            world.as_participant("results", "a", &["--force", "--output", file]).end().well();
        }
        made.extend(files);
        worlds.push(world);
    }
    let files: Vec<&str> = made.iter().map(String::as_str).collect();
    assert_eq!(checked(&python, &files), (true, String::new()));
    // They do find what is wrong.
    let home = crate::common::Home::new();
    let list = json!({ "name": "a", "description": "b", "list": ["198.18.0.7"], "type": "addresses", "version": 1 });
    let wrong = [("x.misp.json", list), ("x.stix.json", json!({ "type": "bundle", "id": "bundle--1" }))];
    let files = wrong.each_ref().map(|(name, text)| home.file(name, &text.to_string()));
    let (well, told) = checked(&python, &files.each_ref().map(String::as_str));
    assert!(!well, "{told}");
    for (name, _) in &wrong {
        assert!(told.contains(name), "{told}");
    }
}
