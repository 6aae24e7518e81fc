//! Rounds whose numbers have noise, through the command.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::simulated::LONG;
use super::world::{World, made, over, rows};
use crate::common::{Home, Running, examples, files, json as read_json, tacita, text};

/// With this epsilon, noise on the number of a key is 0 but with probability 0.013, as it has half of it.
#[test]
fn keys_and_a_histogram_with_noise() {
    let home = Home::new();
    let (items, counts) = made(12, 24);
    let mut arguments: Vec<String> = Vec::new();
    for (place, items) in items.iter().enumerate() {
        let file = home.file(&format!("p{place}.csv"), &format!("item\n{}\n", items.join("\n")));
        arguments.extend(["--input".into(), format!("p{place}={file}")]);
    }
    let job = home.file(
        "job.toml",
        "job = \"aggregate\"\nid = \"noisy\"\nreveal = \"keys+histogram\"\nreveal_to = [\"reader\"]\nnoise = { epsilon = 20, delta = 1e-6, \
         bounds = [1, 6], unit = \"report\" }\n[key]\ncolumns = [\"item\"]\n[round]\nreveal_when = \"distinct >= 5\"\n[parties.reader]\n",
    );
    let (out, report) = (home.at("out"), home.at("report.json"));
    let all = ["simulate", &job, "--force", "--output", &out, "--report", &report];
    let arguments: Vec<&str> = all.into_iter().chain(arguments.iter().map(String::as_str)).collect();
    Running::start(&arguments).end_within(LONG).well();
    assert_eq!(files(&out), ["reader.csv", "reader.histogram.csv"]);
    assert!(text(home.at("out/reader.csv")).starts_with("item,distinct\n"));
    let told: BTreeMap<String, i64> =
        rows(&home.at("out/reader.csv")).into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect();
    // Keys far above the threshold come, those far below do not.
    for (item, count) in over(&counts, 7) {
        assert!((told[&item] - count as i64).abs() <= 2, "{item} {count} {told:?}");
    }
    assert!(told.iter().all(|(item, number)| *number >= 5 && counts[item] >= 3), "{told:?}");
    let sizes = rows(&home.at("out/reader.histogram.csv"));
    assert_eq!(
        sizes.iter().map(|row| format!("{} {}", row[0], row[1])).collect::<Vec<_>>(),
        (1..=6).map(|size| format!("distinct {size}")).collect::<Vec<_>>()
    );
    for (size, row) in (1..=6).zip(&sizes) {
        let exact = counts.values().filter(|count| (**count).min(6) == size).count() as i64;
        assert!((row[2].parse::<i64>().unwrap() - exact).abs() <= 6, "{size} {row:?} {exact}");
    }
    let report = read_json(&report);
    let noise = &report["parties"]["reader"]["noise"];
    assert_eq!(
        (&noise["epsilon"], &noise["delta"], &noise["unit"]),
        (&json!("20"), &json!("0.000001"), &json!("report"))
    );
    assert_eq!((&noise["within"], &noise["added_by"]), (&json!(0), &json!(["database"])));
    let learned = report["parties"]["reader"]["learned"].to_string();
    for words in ["under (20, 1e-6)-differential privacy", "the loss adds up", "does not hide who reports"] {
        assert!(learned.contains(words), "{words}: {learned}");
    }
}

/// The example: all keys that come out have a number near the true one, and none is of a few reports.
#[test]
fn attackers_with_noise() {
    let (home, directory) = (Home::new(), examples().join("attackers"));
    let job = directory.join("noisy.toml").display().to_string();
    let mut arguments = vec!["simulate".to_owned(), job, "--force".into(), "--output".into(), home.at("out")];
    for list in std::fs::read_dir(directory.join("lists")).unwrap() {
        let list = list.unwrap().path();
        arguments.extend(["--input".into(), format!("{}={}", list.file_stem().unwrap().display(), list.display())]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Running::start(&arguments).end_within(LONG).well();
    let read = |path: &str| -> BTreeMap<String, i64> {
        rows(path).into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
    };
    let told = read(&home.at("out/alder.csv"));
    let truth = read(&directory.join("expected/three/results.csv").display().to_string());
    assert!(told.len() > 5, "{told:?}");
    for (address, number) in &told {
        // Noise of scale 1/2 is beyond 8 with probability 10^-7.
        let exact = truth.get(address).copied().unwrap_or(2);
        assert!(*number >= 8 && (number - exact).abs() <= 8, "{address}: {number}, and {exact}");
    }
}

/// Each submission is charged, before anything is sent, and a budget refuses the next one.
#[test]
fn a_round_is_charged_to_the_budget() {
    let noise = json!({ "noise": { "epsilon": 1, "delta": "1e-6", "unit": "report" }, "reveal": "keys" });
    let world = World::started(&["a", "b"], json!({ "reveal_when": "count >= 40" }), noise);
    world.submit("a", &["x"]).well();
    let id = world.home.at("id-a");
    let shown = || -> Value {
        serde_json::from_str(&tacita(&["ledger", "show", "1", "--identity", &id]).well().stdout).unwrap()
    };
    assert_eq!((&shown()["loss"]["epsilon"], &shown()["loss"]["delta"]), (&json!("1"), &json!("0.000001")));
    let job = read_json(world.job());
    let pins = ["proxy", "oracle", "database"].map(|role| job[role][0]["identity"].to_string());
    let policy =
        format!("[[allow]]\npeers = [\"participants\", {}]\nepsilon_in_all = 1.5\ndelta = 1e-5\n", pins.join(", "));
    std::fs::write(std::path::Path::new(&id).join("policy.toml"), policy).unwrap();
    world.submit("a", &["y"]).failed(2, &["epsilon_in_all", "would have used epsilon 2"]);
    world.submit("b", &["x"]).well();
}
