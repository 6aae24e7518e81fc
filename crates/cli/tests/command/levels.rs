//! Levels above 128 bits: the same results, in other groups.

use crate::common::{Ended, Home, json, tacita, text};

const TABLES: [&str; 2] = ["name,born\nAnn,1\nBob,2\nCat,3\n", "name,cost\nBob,10\nBob,-4\nDan,20\nCat,30\n"];

/// A simulated intersection: `a` learns, and `b` gives.
fn simulate(home: &Home, terms: &str, more: &[&str]) -> Ended {
    let head = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n";
    let job = home.file("job.toml", &format!("{head}{terms}\n[key]\ncolumns = [\"name\"]\n[parties.a]\n[parties.b]\n"));
    let inputs = [("a", TABLES[0]), ("b", TABLES[1])]
        .map(|(name, table)| format!("{name}={}", home.file(&format!("{name}.csv"), table)));
    let (out, report) = (home.at("out"), home.at("report.json"));
    let fixed = [
        "simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out, "--report",
        &report,
    ];
    tacita(&[&fixed[..], more].concat())
}

#[test]
fn levels_find_the_same() {
    let home = Home::new();
    let payload = "reveal = \"payload\"\ngives = { b = [\"cost\"] }";
    for (level, terms, output, result) in [
        ("bits192", "protocol = \"ecdh\"", Some("name,born\nBob,2\nCat,3\n"), "{\"rows\":2}"),
        ("bits256", "", Some("name,born\nBob,2\nCat,3\n"), "{\"rows\":2}"),
        ("bits192", payload, Some("name,born,b.cost\nBob,2,10\nBob,2,-4\nCat,3,30\n"), "{\"rows\":3}"),
        ("bits256", payload, Some("name,born,b.cost\nBob,2,10\nBob,2,-4\nCat,3,30\n"), "{\"rows\":3}"),
        ("bits256", "reveal = \"count\"", None, "{\"count\":2}"),
    ] {
        simulate(&home, &format!("level = \"{level}\"\n{terms}"), &[]).well();
        let report = json(home.at("report.json"));
        let learned = &report["parties"]["a"];
        assert_eq!((&learned["protocol"], &learned["level"]), (&"ecdh".into(), &level.into()));
        assert_eq!(learned["result"].to_string(), result);
        if let Some(output) = output {
            assert_eq!(text(home.at("out/a.csv")), output);
        }
    }
    let work = home.at("work");
    simulate(&home, "level = \"bits192\"", &["--work", &work]).well();
    assert_eq!(text(home.at("out/a.csv")), "name,born\nBob,2\nCat,3\n");
}

#[test]
#[ignore = "slow: a key of 7680 bits"]
fn sums_at_a_higher_level() {
    let home = Home::new();
    simulate(&home, "level = \"bits192\"\nreveal = \"sum:cost\"\ngives = { b = [\"cost\"] }", &[]).well();
    assert_eq!(json(home.at("report.json"))["parties"]["a"]["result"].to_string(), "{\"count\":2,\"sum\":36}");
}

#[test]
fn levels_that_a_protocol_lacks_are_refused() {
    let home = Home::new();
    for (terms, words) in [
        ("level = \"bits192\"\nprotocol = \"vole\"", &["bits192", "\"bits128\""][..]),
        ("level = \"bits192\"\nsecurity = \"malicious\"", &["bits192", "\"bits128\""]),
        ("level = \"bits112\"\nprotocol = \"ecdh\"", &["bits112", "\"bits128\", \"bits192\" or \"bits256\""]),
        ("level = \"bits112\"", &["bits112", "\"bits128\""]),
        ("level = \"bits256\"\nprotocol = \"bloom\"", &["bits256", "bloom"]),
    ] {
        simulate(&home, terms, &[]).failed(2, words);
    }
}
