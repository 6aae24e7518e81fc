//! Canonical terms and fingerprints.

use std::fmt::Write as _;

use tacita_node::agreement::{JobSpec, Terms};

use crate::goldens::{compare, jobs};

#[test]
fn terms_and_fingerprints() {
    let mut found = String::new();
    for (name, toml, json) in jobs::texts() {
        let [toml, json] = [(toml, false), (json, true)].map(|(text, is_json)| {
            Terms::of(&JobSpec::parse(&text, is_json).unwrap_or_else(|error| panic!("{name}: {error}\n{text}")))
        });
        // A float of TOML is written anew in JSON, with the digits that tell it from others, so that 0.30000000000000001 is another.
        if !name.contains("rules of rows") {
            assert_eq!(toml.canonical(), json.canonical(), "{name}");
        }
        writeln!(found, "{name}\n  {}\n  {}", toml.canonical(), toml.agreement()).unwrap();
    }
    for directory in ["patients", "do-not-fly", "dot", "rules"] {
        let mut files: Vec<_> = std::fs::read_dir(crate::common::examples().join(directory)).unwrap().collect();
        files.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
        for path in files.into_iter().map(|entry| entry.unwrap().path()) {
            if path.extension().is_some_and(|ending| ending == "toml") {
                let terms = Terms::of(&JobSpec::load(&path).unwrap());
                let name = path.file_name().unwrap().to_str().unwrap();
                writeln!(found, "{directory}/{name}\n  {}\n  {}", terms.canonical(), terms.agreement()).unwrap();
            }
        }
    }
    compare("terms.txt", &found);
}
