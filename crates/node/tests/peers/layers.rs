//! Rooms stand on each other in one order: a lower one names no higher one, so that none is part of a circle.

use std::path::{Path, PathBuf};

/// The rooms, from the ground up.
const ROOMS: [&str; 12] = [
    "base",
    "identity",
    "transport",
    "table",
    "watch",
    "store",
    "agreement",
    "jobs",
    "run",
    "plan",
    "spread",
    "simulate",
];

/// No file is longer.
const MOST_LINES: usize = 450;

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The source of every file in a room, without comments: as many lines as there are.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let source = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        (path.strip_prefix(&root).unwrap().to_owned(), code.collect::<Vec<_>>().join("\n"))
    };
    paths.into_iter().map(source).collect()
}

/// Rooms named in `code`: after `crate::`, and in the braces that may follow it.
fn named(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let group = rest.strip_prefix('{').map(|inner| inner.split(';').next().unwrap_or_default());
        match group {
            Some(inner) => {
                let (mut depth, mut start) = (0, 0);
                for (at, letter) in inner.char_indices() {
                    match letter {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => (),
                    }
                    if (letter == ',' && depth == 0) || depth < 0 {
                        found.push(first_word(&inner[start..at]));
                        start = at + 1;
                    }
                    if depth < 0 {
                        break;
                    }
                }
            }
            None => found.push(first_word(rest)),
        }
    }
    found
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    &text[..end]
}

#[test]
fn imports_go_down_only() {
    let place = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut upward = Vec::new();
    for (path, code) in sources() {
        let room = path.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
        let Some(own) = place(room) else {
            assert!(room == "lib", "{}: in no room", path.display());
            continue;
        };
        let higher = named(&code).into_iter().filter(|named| place(named).is_some_and(|place| place > own));
        upward.extend(higher.map(|named| format!("{} names {named}", path.display())));
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

/// A job is named in its room and in the table of jobs alone.
#[test]
fn rooms_of_jobs_are_named_by_few() {
    for job in ["intersect", "dot", "rules", "shares"] {
        let own = Path::new("jobs").join(job);
        let (path_of_room, in_group) = (format!("jobs::{job}"), format!("jobs::{{{job}"));
        let elsewhere: Vec<_> = sources()
            .into_iter()
            .filter(|(path, _)| !path.starts_with("jobs") || path.starts_with("jobs/mod.rs"))
            .filter(|(path, code)| {
                !path.starts_with(&own) && (code.contains(&path_of_room) || code.contains(&in_group))
            })
            .map(|(path, _)| path)
            .collect();
        assert!(elsewhere.is_empty(), "{job}: {elsewhere:?}");
    }
}

/// Those of the program, too, and all tests.
#[test]
fn files_have_one_subject() {
    let mut all = Vec::new();
    for directory in [
        "src",
        "tests",
        "../serve/src",
        "../serve/tests",
        "../aggregate/src",
        "../aggregate/tests",
        "../cli/src",
        "../cli/tests",
    ] {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), &mut all);
    }
    let code = all.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let lines = |path: &PathBuf| std::fs::read_to_string(path).unwrap().lines().count();
    let long: Vec<_> = code.filter(|path| lines(path) > MOST_LINES).collect();
    assert!(long.is_empty(), "{long:?}");
}

/// The test above can fail.
#[test]
fn what_is_named_is_found() {
    assert_eq!(named("use crate::{base::text, run::{party, meet}, jobs};"), ["base", "run", "jobs"]);
    assert_eq!(named("crate::plan::plan(); use crate::simulate;"), ["plan", "simulate"]);
}
