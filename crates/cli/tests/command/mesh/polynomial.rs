//! Intersections among three and more by encrypted polynomials: the published baseline.

use super::*;

fn by_polynomials(rest: &str, names: &[&str]) -> String {
    job(&format!("protocol = \"polynomial\"\nreveal_to = [\"a\", \"c\"]\n{rest}"), names, |_| String::new())
}

#[test]
fn every_strategy_and_level_is_exact_and_costs_what_the_plan_says() {
    exact_at_the_planned_cost([20, 20, 12], false);
}

#[test]
#[ignore = "slow: the square of more keys, and a plan for each"]
fn every_strategy_and_level_is_exact_for_more_keys_and_costs_what_the_plan_says() {
    exact_at_the_planned_cost([40, 40, 25], true);
}

/// Runs every strategy and level on tables of so many keys. Without `all`, strategies alone are not planned: they
/// change no message.
fn exact_at_the_planned_cost(keys: [u32; 3], all: bool) {
    let home = Home::new();
    for (name, (start, keys)) in NAMES.iter().zip([0, 5, 10].into_iter().zip(keys)) {
        table(&home, name, start..start + keys);
    }
    let cases = [
        ("", false),
        ("strategy = \"schoolbook\"\nlevel = \"paper80\"", true),
        ("strategy = \"toom3\"", false),
        ("strategy = \"karatsuba\"", false),
        ("level = \"bits192\"", false),
    ];
    for (rest, insecure) in cases {
        let (text, allow): (_, &[&str]) =
            (by_polynomials(rest, &NAMES), if insecure { &["--allow-insecure"] } else { &[] });
        if insecure {
            simulate(&home, &text, &NAMES, &[]).failed(2, &["--allow-insecure"]);
        }
        simulate(&home, &text, &NAMES, allow).well();
        for name in ["a", "c"] {
            assert_eq!(lines(home.at(&format!("out/{name}.csv"))), expected(&home, &NAMES, name), "{rest}");
        }
        if !all && !rest.is_empty() && !rest.contains("level") {
            continue;
        }
        let report = json(home.at("report.json"));
        let rows = [0, 1, 2].map(|place| format!("{}={}", NAMES[place], keys[place]));
        let rows = ["--rows", &rows[0], "--rows", &rows[1], "--rows", &rows[2]];
        let planned = tacita(&[&["plan", &home.at("job.toml"), "--json"][..], &rows].concat()).well();
        let plan: serde_json::Value = serde_json::from_str(&planned.stdout).unwrap();
        assert_eq!(plan["protocol"], "polynomial");
        for name in NAMES {
            assert_eq!(plan["parties"][name]["bytes_sent"], report["parties"][name]["bytes"]["sent"], "{name}, {rest}");
            assert_eq!(plan["parties"][name]["learned"], report["parties"][name]["learned"], "{name}, {rest}");
        }
    }
}

#[test]
fn padded_sets_and_empty_ones() {
    let home = Home::new();
    let names = ["a", "b", "c", "d"];
    for (name, range) in names.iter().zip([0..9, 5..6, 0..20, 3..7]) {
        table(&home, name, range);
    }
    let text = by_polynomials("", &names).replace("[key]", "[limits]\npad_to = 20\n[key]");
    simulate(&home, &text, &names, &[]).well();
    assert_eq!(lines(home.at("out/c.csv")), expected(&home, &names, "c"));
    table(&home, "b", 0..0);
    simulate(&home, &by_polynomials("", &names), &names, &[]).well();
    assert_eq!(lines(home.at("out/a.csv")), [""; 0]);
}

/// Checks that a party refuses its own set, before it announces it, if the size is not agreed on. All parties' work
/// grows with the square of the largest set.
#[test]
fn a_set_that_would_take_days_is_refused() {
    let home = Home::new();
    for (name, range) in NAMES.iter().zip([0..3, 0..3, 0..20_001]) {
        table(&home, name, range);
    }
    simulate(&home, &by_polynomials("", &NAMES), &NAMES, &[]).failed(2, &["c has 20,001 keys", "limits.max_rows"]);
}

#[test]
fn what_is_not_there_is_refused() {
    let home = Home::new();
    for name in NAMES {
        table(&home, name, 0..3);
    }
    for (rest, words) in [
        ("reveal = \"count\"", ["count", "\"rows\""]),
        ("bins = 4", ["bins", "leave it out"]),
        ("strategy = \"fft\"", ["fft", "points"]),
        ("security = \"malicious\"", ["malicious", "semi-honest"]),
    ] {
        simulate(&home, &by_polynomials(rest, &NAMES), &NAMES, &[]).failed(2, &words);
    }
    let work = ["--work", &home.at("work")];
    simulate(&home, &by_polynomials("", &NAMES), &NAMES, &work).failed(2, &["--work", "memory"]);
}
