//! Rooms stand on each other in one order: a lower one names no higher one, and none is part of a circle, in any crate
//! and in any room.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A crate with its rooms: modules right below its root.
struct Crate {
    name: &'static str,
    /// From the ground up.
    rooms: &'static [&'static str],
    /// Rooms that name none of each other, wherever they stand.
    apart: &'static [&'static str],
    /// Directories whose files and rooms still name each other in a circle.
    circles: &'static [&'static str],
}

const CRATES: [Crate; 6] = [
    Crate {
        name: "core",
        rooms: &[
            "error",
            "random",
            "progress",
            "channel",
            "depot",
            "item",
            "parallel",
            "role",
            "security",
            "session",
            "agree",
            "primitive",
            "protocol",
            "prelude",
        ],
        apart: &[],
        circles: &["primitive", "primitive/kernel", "primitive/kernel/edwards"],
    },
    Crate {
        name: "node",
        rooms: &[
            "base",
            "identity",
            "transport",
            "table",
            "watch",
            "store",
            "agreement",
            "jobs",
            "govern",
            "run",
            "plan",
            "distributed",
            "simulate",
            "prelude",
        ],
        apart: &[],
        circles: &["jobs", "jobs/dot", "jobs/intersect", "jobs/intersect/outsourced", "jobs/rules", "jobs/union"],
    },
    Crate {
        name: "serve",
        rooms: &[
            "clock",
            "crashes",
            "sync",
            "accept",
            "allow_list",
            "refusals",
            "journal",
            "live",
            "page",
            "status",
            "authority",
            "desk",
            "helper",
            "relay",
            "run",
            "doctor",
        ],
        apart: &["authority", "desk", "helper", "relay"],
        circles: &[],
    },
    Crate {
        name: "aggregate",
        rooms: &[
            "trust",
            "wire",
            "transport",
            "setting",
            "testing",
            "store",
            "queue",
            "secret",
            "keys",
            "interaction",
            "gather",
            "hello",
            "peers",
            "role",
            "metrics",
            "registry",
            "connect",
            "serve",
            "participant",
            "oracle",
            "proxy",
            "database",
            "probe",
            "doctor",
            "simulate",
            "model",
            "kills",
        ],
        apart: &["participant", "oracle", "proxy", "database"],
        circles: &[],
    },
    Crate { name: "cli", rooms: &["interrupt", "threads", "console", "commands"], apart: &[], circles: &[] },
    Crate {
        name: "python",
        rooms: &[
            "words",
            "errors",
            "stream",
            "work",
            "arrow",
            "data",
            "identity",
            "outcome",
            "spec",
            "govern",
            "inspect",
            "levels",
            "log",
            "run",
            "doctor",
            "plan",
            "round",
            "simulate",
            "distributed",
        ],
        apart: &[],
        circles: &[],
    },
];

/// Crates whose files have one subject each.
const SHORT: [&str; 4] = ["node", "serve", "aggregate", "cli"];

/// No file of theirs is longer.
const MAX_LINES: usize = 450;

fn home(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(of)
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found)
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path)
        }
    }
}

/// The source of every file of a crate, by its path in `src`, without comments: as many lines as there are.
fn sources(of: &str) -> Vec<(PathBuf, String)> {
    let root = home(of).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let source = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        (path.strip_prefix(&root).unwrap().to_owned(), code.collect::<Vec<_>>().join("\n"))
    };
    paths.into_iter().map(source).collect()
}

/// Returns the position of a file among the modules of its crate.
fn module(path: &Path) -> Vec<String> {
    let mut module: Vec<_> = path.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if module.last().is_some_and(|last| last == "mod") || path == Path::new("lib.rs") || path == Path::new("main.rs") {
        module.pop();
    }
    module
}

/// The paths that a `use` brings in: all branches of its braces, from their root on.
fn branches(tree: &str) -> Vec<String> {
    let Some((stem, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in rest.char_indices() {
        if depth == 0 && matches!(letter, ',' | '}') {
            found.extend(branches(&rest[start..at]).into_iter().map(|end| format!("{}{end}", stem.trim())));
            start = at + 1;
        }
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => (),
        }
    }
    found
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Paths of this crate that are named in a module's code, from the crate's root on: those of `crate::`, `super::` and
/// `self::`.
fn named(module: &[String], code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    // What stands in a module within the file, as tests do, is one deeper.
    let tests = code.find("mod tests {");
    let starts = ["crate::", "super::", "self::"].into_iter().flat_map(|word| code.match_indices(word));
    for (at, _) in starts {
        let before = &code[..at];
        // Not within a path, nor a part of another word.
        if before.ends_with("::") || before.ends_with(is_word) {
            continue;
        }
        let is_use = before.trim_end().ends_with("use");
        let end =
            code[at..].find(|letter: char| if is_use { letter == ';' } else { !is_word(letter) && letter != ':' });
        let text = &code[at..end.map_or(code.len(), |end| at + end)];
        let within = tests.filter(|tests| *tests < at).map(|_| "tests".to_owned());
        for path in branches(text) {
            let mut place: Vec<String> = module.iter().cloned().chain(within.clone()).collect();
            for (depth, word) in
                path.split("::").map(|word| word.split_whitespace().next().unwrap_or_default()).enumerate()
            {
                match word {
                    "crate" if depth == 0 => place.clear(),
                    "super" => drop(place.pop()),
                    "self" | "" => (),
                    word => place.push(word.to_owned()),
                }
            }
            found.push(place);
        }
    }
    found
}

/// References among the files and rooms of each directory: (name, name) is the one that refers and the one referred to.
/// Each pair has the files in which it is so.
type Named = BTreeMap<PathBuf, BTreeMap<(String, String), BTreeSet<PathBuf>>>;

fn all_named(sources: &[(PathBuf, String)]) -> Named {
    let modules: BTreeSet<Vec<String>> = sources.iter().map(|(path, _)| module(path)).collect();
    let mut all = Named::new();
    for (path, code) in sources {
        let own = module(path);
        for mut other in named(&own, code) {
            while !modules.contains(&other) {
                other.pop();
            }
            let shared = own.iter().zip(&other).take_while(|(one, other)| one == other).count();
            // A module and what is within it are one room.
            let (Some(one), Some(other)) = (own.get(shared), other.get(shared)) else { continue };
            let within = all.entry(own[..shared].iter().collect()).or_default();
            within.entry((one.clone(), other.clone())).or_default().insert(path.clone());
        }
    }
    all
}

/// The names of a circle, if there is one.
fn circle(named: &BTreeMap<(String, String), BTreeSet<PathBuf>>) -> BTreeSet<String> {
    let mut left: BTreeSet<String> = named.keys().flat_map(|(one, other)| [one.clone(), other.clone()]).collect();
    // Who names nobody that is left, or is named by nobody, is in none.
    loop {
        let is_in = |one: &String| {
            let edges = || named.keys().filter(|(from, to)| left.contains(from) && left.contains(to));
            edges().any(|(from, _)| from == one) && edges().any(|(_, to)| to == one)
        };
        let kept: BTreeSet<_> = left.iter().filter(|one| is_in(one)).cloned().collect();
        if kept.len() == left.len() {
            return left;
        }
        left = kept;
    }
}

/// Returns the faults in a crate's rooms.
fn wrong(of: &Crate, sources: &[(PathBuf, String)]) -> Vec<String> {
    let all = all_named(sources);
    let mut wrong = Vec::new();
    let rooms: BTreeSet<_> = sources.iter().filter_map(|(path, _)| module(path).first().cloned()).collect();
    wrong.extend(
        rooms.iter().filter(|room| !of.rooms.contains(&room.as_str())).map(|room| format!("{room}: in no order")),
    );
    wrong.extend(of.rooms.iter().filter(|room| !rooms.contains(**room)).map(|room| format!("{room}: there is none")));
    let place = |room: &String| of.rooms.iter().position(|known| known == room);
    for ((one, other), files) in all.get(Path::new("")).into_iter().flatten() {
        if place(other) > place(one) {
            wrong.push(format!("{one} names {other}, which stands on it: {files:?}"));
        }
        if [one, other].iter().all(|room| of.apart.contains(&room.as_str())) {
            wrong.push(format!("{one} names {other}, which is none of its business: {files:?}"));
        }
    }
    for (directory, named) in all.iter().filter(|(directory, _)| !directory.as_os_str().is_empty()) {
        let (circle, is_known) =
            (circle(named), of.circles.iter().any(|known| directory.as_path() == Path::new(known)));
        match (circle.is_empty(), is_known) {
            (false, false) => {
                let those = |(one, other): &&(String, String)| circle.contains(one) && circle.contains(other);
                let edges: Vec<_> = named.iter().filter(|(edge, _)| those(edge)).collect();
                wrong.push(format!("{}: in a circle: {edges:#?}", directory.display()));
            }
            (true, true) => wrong.push(format!("{}: in no circle any more: take it off the list", directory.display())),
            _ => (),
        }
    }
    wrong
}

#[test]
fn imports_go_down_only() {
    let all = CRATES
        .iter()
        .flat_map(|of| wrong(of, &sources(of.name)).into_iter().map(|what| format!("{}: {what}", of.name)));
    let all: Vec<_> = all.collect();
    assert!(all.is_empty(), "{all:#?}");
}

/// A job is named in its room and in the table of jobs alone.
#[test]
fn rooms_of_jobs_are_named_by_few() {
    for job in ["intersect", "dot", "rules", "shares"] {
        let own = Path::new("jobs").join(job);
        let (path_of_room, in_group) = (format!("jobs::{job}"), format!("jobs::{{{job}"));
        let elsewhere: Vec<_> = sources("node")
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

/// Checks the length of all source files, those of all tests included.
#[test]
fn files_have_one_subject() {
    let mut all = Vec::new();
    for name in SHORT {
        ["src", "tests"].iter().for_each(|directory| files(&home(name).join(directory), &mut all));
    }
    let lines = |path: &PathBuf| std::fs::read_to_string(path).unwrap().lines().count();
    let long: Vec<_> = all.into_iter().filter(|path| lines(path) > MAX_LINES).collect();
    assert!(long.is_empty(), "{long:?}");
}

/// The test of imports can fail.
#[test]
fn what_is_wrong_is_found() {
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    let named = |code: &str| named(&path("run::party"), code);
    assert_eq!(
        named("use crate::{base::text, run::{party, meet as met}, jobs};"),
        ["base::text", "run::party", "run::meet", "jobs"].map(path)
    );
    assert_eq!(
        named("crate::plan::plan(); use super::meet::{self, Met};"),
        ["plan::plan", "run::meet", "run::meet::Met"].map(path)
    );
    assert_eq!(named("mod tests { use super::super::meet; }"), [path("run::meet")]);
    assert_eq!(named("supercrate::x(); a::self::b"), Vec::<Vec<String>>::new());

    let of = Crate { name: "", rooms: &["base", "jobs", "run"], apart: &["jobs", "run"], circles: &["base"] };
    let wrong = |sources: &[(&str, &str)]| {
        let sources: Vec<_> = sources.iter().map(|(path, code)| (PathBuf::from(path), (*code).to_owned())).collect();
        wrong(&of, &sources)
    };
    let base = [("base/a.rs", "use super::b;"), ("base/b.rs", "use super::a;"), ("base/mod.rs", "")];
    let found = |more: &[(&str, &str)]| wrong(&[&base[..], more].concat());
    assert_eq!(found(&[("jobs/mod.rs", "use crate::base;"), ("run/mod.rs", "")]), Vec::<String>::new());
    for (jobs, run, what) in [
        ("use super::run;", "", "jobs names run, which stands on it"),
        ("", "crate::jobs::x()", "run names jobs, which is none of its business"),
    ] {
        let found = found(&[("jobs/mod.rs", jobs), ("run/mod.rs", run)]);
        assert!(found.iter().any(|one| one.starts_with(what)), "{found:?}");
    }
    let rooms = [("jobs/mod.rs", ""), ("run/mod.rs", "")];
    let circle = [("run/a.rs", "use super::b;"), ("run/b.rs", "use crate::run::c::d;"), ("run/c.rs", "use super::a;")];
    assert!(found(&[&rooms[..], &circle].concat())[0].starts_with("run: in a circle"));
    assert!(found(&[&rooms[..], &[("stairs.rs", "")]].concat())[0].starts_with("stairs: in no order"));
    assert!(found(&rooms[..1])[0].starts_with("run: there is none"));
    let mended = wrong(&[("base/a.rs", "use super::b;"), ("base/b.rs", ""), rooms[0], rooms[1]]);
    assert!(mended[0].starts_with("base: in no circle any more"), "{mended:?}");
}
