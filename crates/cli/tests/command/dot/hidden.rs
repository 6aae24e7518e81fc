//! Products over rows in a hidden common order: exact against the join, and no party hears which rows are common.

use super::*;

/// Tables of rows with the ids in these ranges, and two columns of small numbers.
fn tables(home: &Home, ids: [std::ops::Range<u64>; 2]) -> [String; 2] {
    let table = |name: &str, ids: std::ops::Range<u64>, seed: u64| {
        // The order of rows says nothing of the ids.
        let mut rows: Vec<_> = ids.clone().zip(noise(seed)).map(|(id, word)| (word, id)).collect();
        rows.sort_unstable();
        let row = |(word, id): (u64, u64)| format!("k{id},{},{}\n", word as i64 % 16 / 2, (word >> 8) as i64 % 16 - 8);
        home.file(name, &format!("id,x,y\n{}", rows.into_iter().map(row).collect::<String>()))
    };
    let [a, b] = ids;
    [table("a.csv", a, 1), table("b.csv", b, 2)]
}

/// The sums over the join of all products of a column of one and a column of the other.
fn expected(inputs: &[String; 2]) -> (usize, Vec<Vec<i64>>) {
    let rows = |input: &str| -> BTreeMap<String, [i64; 2]> {
        let row =
            |row: &BTreeMap<String, String>| (row["id"].clone(), ["x", "y"].map(|name| row[name].parse().unwrap()));
        rows_of(input).iter().map(row).collect()
    };
    let (a, b) = (rows(&inputs[0]), rows(&inputs[1]));
    let common: Vec<_> = a.iter().filter_map(|(id, row)| Some((row, b.get(id)?))).collect();
    let sum = |one: usize, other: usize| common.iter().map(|(a, b)| a[one] * b[other]).sum();
    (common.len(), (0..2).map(|one| (0..2).map(|other| sum(one, other)).collect()).collect())
}

fn terms(rest: &str) -> String {
    job(&format!("alignment = \"hidden\"\nrow_id = \"id\"\nbits = 4\nsigned = true\n{rest}"))
        .replace("column = \"x\"", "column = [\"x\", \"y\"]")
}

/// Each size by one of the protocols, and one size by both.
#[test]
fn products_over_hidden_rows_are_those_of_the_join() {
    give_the_join(|place, protocol| place == 5 || place.is_multiple_of(2) == (protocol == "ot"));
}

#[test]
#[ignore = "slow: each size by both protocols"]
fn products_over_hidden_rows_are_those_of_the_join_by_both() {
    give_the_join(|_, _| true);
}

/// Runs those of all sizes, by their places, and protocols that `taken` names.
fn give_the_join(taken: impl Fn(usize, &str) -> bool) {
    let sizes = [
        (0..0, 0..0),
        (0..0, 0..3),
        (0..1, 0..1),
        (0..1, 1..2),
        (0..5, 5..9),
        (0..7, 6..20),
        (0..9, 0..9),
        (3..4, 0..1000),
        (0..1001, 400..900),
    ];
    for (place, (a, b)) in sizes.into_iter().enumerate() {
        let home = Home::new();
        let inputs = tables(&home, [a.clone(), b.clone()]);
        let (common, matrix) = expected(&inputs);
        for protocol in ["ot", "lattice"].into_iter().filter(|protocol| taken(place, protocol)) {
            let report =
                simulate(&home, &terms(&format!("protocol = \"{protocol}\"")), [&inputs[0], &inputs[1]], "out", &[]);
            for name in ["a", "b"] {
                let report = &report["parties"][name];
                assert_eq!(report["result"], json!({ "value": matrix }), "{a:?} {b:?} {protocol}");
                assert_eq!(report["rows"]["common"], common, "{a:?} {b:?}");
                let choice = report["choice"].as_str().unwrap();
                assert!(choice.starts_with(protocol) && choice.ends_with(" after align"), "{choice}");
                let learned = report["learned"].to_string();
                assert!(learned.contains(&format!("both have ({common}), and not which")), "{learned}");
            }
        }
    }
}

#[test]
fn shares_over_hidden_rows_add_up_to_the_product() {
    let home = Home::new();
    let inputs = tables(&home, [0..30, 10..50]);
    let report =
        simulate(&home, &terms("reveal = \"shares\"\nmodulus = \"1000003\""), [&inputs[0], &inputs[1]], "out", &[]);
    assert_eq!(report["parties"]["a"]["rows"]["common"], 20);
    let shares = ["a", "b"].map(|name| json(home.at(&format!("out/{name}.json"))));
    let values = |share: &Value| -> Vec<i64> {
        share["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap().parse().unwrap()).collect()
    };
    let sums = values(&shares[0]).into_iter().zip(values(&shares[1])).map(|(a, b)| (a + b) % 1_000_003);
    let (_, matrix) = expected(&inputs);
    assert_eq!(
        sums.collect::<Vec<_>>(),
        matrix.concat().into_iter().map(|value| value.rem_euclid(1_000_003)).collect::<Vec<_>>()
    );
}

/// Padded sets hide their sizes, and change nothing else.
#[test]
fn a_padded_table_brings_rows_that_nobody_has() {
    let home = Home::new();
    let inputs = tables(&home, [0..3, 1..8]);
    let report = simulate(&home, &terms("limits = { pad_to = 16 }"), [&inputs[0], &inputs[1]], "out", &[]);
    let (common, matrix) = expected(&inputs);
    assert_eq!(report["parties"]["a"]["result"], json!({ "value": matrix }));
    assert_eq!(report["parties"]["b"]["rows"]["common"], common);
}

#[test]
fn the_plan_of_hidden_rows_is_what_a_run_takes_without_common_ones() {
    let ways = ["protocol = \"lattice\"", "protocol = \"ot\"\nextension = \"softspoken-4\"", "reveal_to = [\"b\"]"];
    for (b, exact, ways) in [(5..12, true, &ways[..]), (2..9, false, &ways[..1])] {
        let home = Home::new();
        let inputs = tables(&home, [0..5, b]);
        for rest in ways {
            let text = terms(rest);
            let text = if rest.contains("reveal_to") { text.replace("reveal_to = [\"a\", \"b\"]\n", "") } else { text };
            let report = simulate(&home, &text, [&inputs[0], &inputs[1]], "out", &[]);
            let named = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
            let planned =
                tacita(&["plan", &home.at("job.toml"), "--json", "--input", &named[0], "--input", &named[1]]).well();
            let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
            for name in ["a", "b"] {
                let bytes = planned["parties"][name]["bytes_sent"].as_u64().unwrap();
                let sent = report["parties"][name]["bytes"]["sent"].as_u64().unwrap();
                assert!(
                    if exact { bytes == sent } else { bytes >= sent },
                    "{rest} {name}: {bytes} planned, {sent} sent"
                );
                // Transfers may begin while the common order is on its way.
                let rounds = |all: &Value| all["rounds"].as_u64().unwrap();
                assert!(rounds(&planned) >= rounds(&report["parties"][name]), "{rest} {name}");
            }
        }
    }
}

#[test]
fn ids_that_are_there_twice_are_refused_before_anybody_is_met() {
    let home = Home::new();
    let file = home.file("job.toml", &terms(""));
    let twice = home.file("twice.csv", "id,x,y\nk1,1,1\nk1,2,2\n");
    let ended = tacita(&["simulate", &file, "--input", &format!("a={twice}"), "--input", &format!("b={twice}")]);
    ended.failed(2, &["same key"]);
}

#[test]
fn the_way_of_aligning_is_agreed_on_and_needs_ids() {
    let home = Home::new();
    let [a, b] = tables(&home, [0..3, 1..4]);
    for (rest, words) in [
        ("alignment = \"hidden\"", &["alignment", "row_id"][..]),
        ("alignment = \"rows\"", &["alignment", "row_id"]),
        ("alignment = \"secret\"\nrow_id = \"id\"", &["alignment", "\"hidden\" or \"rows\""]),
    ] {
        let file = home.file("job.toml", &job(rest));
        tacita(&["simulate", &file, "--input", &format!("a={a}"), "--input", &format!("b={b}")]).failed(2, words);
    }
    let shown = terms("").replace("\"hidden\"", "\"rows\"");
    let learned = |text: &str| simulate(&home, text, [&a, &b], "out", &[])["parties"]["a"]["learned"].to_string();
    assert!(learned(&shown).contains("learns which of its own rows have an id that b has too (2)"));
    assert!(!learned(&terms("")).contains("learns which of its own rows have an id"));
}

/// Dummies change no value. The number that each party hears is near the true one, and not that of the other.
#[test]
fn a_blurred_number_is_near_and_values_are_exact() {
    let home = Home::new();
    let inputs = tables(&home, [0..400, 100..500]);
    let (common, matrix) = expected(&inputs);
    let report = simulate(&home, &terms("limits = { blur = 128 }"), [&inputs[0], &inputs[1]], "out", &[]);
    let heard = ["a", "b"].map(|name| {
        let report = &report["parties"][name];
        assert_eq!(report["result"], json!({ "value": matrix }));
        let learned = report["learned"].to_string();
        assert!(
            learned.contains("about how many rows")
                && learned.contains("(1, ")
                && !learned.contains("learns how many rows"),
            "{learned}"
        );
        report["rows"]["common"].as_u64().unwrap()
    });
    // Ten deviations of 128 coins.
    assert!(heard.iter().all(|heard| heard.abs_diff(common as u64) <= 57), "{heard:?} {common}");
    for (rest, words) in [
        ("row_id = \"id\"\nlimits = { blur = 7 }", &["limits.blur = 7", "even"][..]),
        ("row_id = \"id\"\nalignment = \"rows\"\nlimits = { blur = 128 }", &["limits.blur", "hidden"]),
        ("limits = { blur = 128 }", &["limits.blur", "row_id"]),
    ] {
        let file = home.file("job.toml", &job(rest));
        tacita(&["simulate", &file, "--input", &format!("a={}", inputs[0]), "--input", &format!("b={}", inputs[1])])
            .failed(2, words);
    }
}
