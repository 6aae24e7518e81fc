//! Tests of results and of refusals, with all parties in one process.

use crate::common::{Home, data, files, json, rows_of, tacita, text as text_of};
use crate::helper::{NAMES, ROWS, common_lines, job, lines, simulate, table};

/// Every reveal among three, and some of them among two and five.
#[test]
fn every_reveal_is_exact_for_any_number_of_parties() {
    reveals_are_exact(30, [(2, 30), (3, 50), (5, 30)], some_reveals);
}

#[test]
#[ignore = "slow: every reveal among any number of parties"]
fn every_reveal_is_exact_for_each_number_of_parties() {
    reveals_are_exact(60, [(2, 60), (3, 100), (5, 60)], |_| REVEALS);
}

const REVEALS: &[&str] = &["rows", "count", "sum:v", "counts:w"];

fn some_reveals(parties: usize) -> &'static [&'static str] {
    match parties {
        2 => &["rows", "sum:v"],
        3 => REVEALS,
        _ => &["counts:w"],
    }
}

/// Joins tables of fewer than `keys` keys, for some numbers of parties and bounds; `reveals` says what is revealed
/// among so many.
fn reveals_are_exact(keys: u32, sizes: [(usize, usize); 3], reveals: impl Fn(usize) -> &'static [&'static str]) {
    for (count, bound) in sizes {
        let reveals = reveals(count);
        let home = Home::new();
        let names: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().take(count).collect();
        for (place, name) in (0..).zip(&names) {
            table(&home, name, place * 3..keys);
        }
        let common = common_lines(&home, &names, "a");
        let learners = &names[1..count.min(3)];
        let terms =
            |reveal: &str| format!("reveal = \"{reveal}\"\nreveal_to = {learners:?}\ngives = {{ a = [\"v\", \"w\"] }}");
        let run = |reveal: &str| {
            let terms = if reveal.contains(':') { terms(reveal) } else { terms(reveal).replace("gives", "# gives") };
            simulate(&home, &job(&terms, bound, &names, |_| String::new()), &names).well();
            json(home.at("report.json"))
        };
        if reveals.contains(&"rows") {
            let report = run("rows");
            for name in learners {
                assert_eq!(lines(home.at(&format!("out/{name}.csv"))), common_lines(&home, &names, name));
            }
            assert_eq!(files(&home.at("out")), learners.iter().map(|name| format!("{name}.csv")).collect::<Vec<_>>());
            assert!(report["helper"]["bytes"]["received"].as_u64().unwrap() > 0);
        }
        if reveals.contains(&"count") {
            assert_eq!(run("count")["parties"]["b"]["result"]["count"], common.len());
        }
        if reveals.contains(&"sum:v") {
            let number = |line: &String| line.split(',').nth(1).unwrap().parse::<usize>().unwrap();
            let told = serde_json::json!({ "count": common.len(), "sum": common.iter().map(number).sum::<usize>() });
            assert_eq!(run("sum:v")["parties"]["b"]["result"], told);
        }
        if !reveals.contains(&"counts:w") {
            continue;
        }
        let counts = &run("counts:w")["parties"]["b"]["result"]["counts"];
        let of = |word: &str| common.iter().filter(|line| line.ends_with(&format!(",\"{word}\""))).count();
        let words = ["red", "green, dark", ""];
        assert_eq!(words.map(|word| counts[word].as_u64().unwrap_or(0) as usize), words.map(of));
        let table = rows_of(home.at("out/b.csv"));
        assert_eq!(table.len(), words.iter().filter(|word| of(word) > 0).count());
        assert!(table.iter().all(|row| row["count"].parse::<usize>().unwrap() == of(&row["w"])));
    }
}

/// Columns of two givers, of which one has several rows with a key: the same table as by another protocol.
#[test]
fn given_columns_are_those_that_star_gives() {
    let home = Home::new();
    table(&home, "a", 0..20);
    table(&home, "b", (2..24).chain([3, 4, 30]));
    table(&home, "c", (0..12).chain(40..45).chain([5, 6]));
    let terms = "reveal = \"payload\"\nreveal_to = [\"b\"]\ngives = { a = [\"w\", \"v\"], c = [\"v\"] }";
    let given = |protocol: &str, names: &[&str], gives: &str| {
        let text = job(terms, 30, names, |_| String::new()).replace("outsourced", protocol);
        let text = text.replace("[limits]", "[limits]\nmax_text = 12").replace(", c = [\"v\"]", gives);
        simulate(&home, &text, names).well();
        assert_eq!(files(&home.at("out")), ["b.csv"]);
        (text_of(home.at("out/b.csv")), json(home.at("report.json")))
    };
    let (expected, _) = given("star", &NAMES, ", c = [\"v\"]");
    let (table, report) = given("outsourced", &NAMES, ", c = [\"v\"]");
    assert!(table == expected && table.lines().count() > 10, "{table}\n{expected}");
    let learned = report["parties"]["b"]["learned"].to_string();
    for words in
        ["how many rows c has for each of them", "the types of a's given columns", "does not learn given columns"]
    {
        assert!(learned.contains(words), "{learned}");
    }
    let two = &NAMES[..2];
    assert_eq!(given("outsourced", two, "").0, given("star", two, "").0);
    // A text that is too long, and rows that are too many.
    home.file("a.csv", "k,v,w\nkey 1,1,more than twelve bytes\n");
    let text = job(terms, 30, &NAMES, |_| String::new()).replace("[limits]", "[limits]\nmax_text = 12");
    simulate(&home, &text, &NAMES).failed(2, &["a.csv", "limits.max_text is 12"]);
    home.file("a.csv", &format!("k,v,w\n{}", "key 1,1,x\n".repeat(31)));
    simulate(&home, &text, &NAMES).failed(2, &["a.csv", "limits.pad_to = 30"]);
}

#[test]
fn small_numbers_are_held_back() {
    let home = Home::new();
    for (name, keys) in NAMES.iter().zip([0..20, 0..20, 0..20]) {
        table(&home, name, keys);
    }
    let with = |reveal: &str, least: usize| {
        let terms = format!("reveal = \"{reveal}\"\nreveal_to = [\"b\"]\ngives = {{ a = [\"w\"] }}");
        let text = job(&terms, 20, &NAMES, |_| String::new());
        simulate(&home, &text.replace("[limits]", &format!("[limits]\nmin_result = {least}")), &NAMES).well();
        json(home.at("report.json"))["parties"]["b"]["result"].clone()
    };
    let counts = with("counts:w", 7);
    assert!(counts["below"] == 7 && counts["counts"].as_object().unwrap().len() < 3, "{counts}");
    assert_eq!(with("counts:w", 21), serde_json::json!({ "below": 21 }));
}

#[test]
fn medical_data_of_three_are_joined_exactly() {
    medical_data_are_joined(&["rows", "counts:payer"]);
}

#[test]
#[ignore = "slow: 1,500 keys once more"]
fn medical_data_of_three_are_counted_exactly() {
    medical_data_are_joined(&["count"]);
}

fn medical_data_are_joined(reveals: &[&str]) {
    let Some(data) = data("medical") else { return };
    let names = ["hospital", "fire_department", "insurer"];
    let home = Home::new();
    let own = |name: &str| match name {
        "fire_department" => "normalize = [\"name\", \"date:DMY\"]\n".to_owned(),
        _ => String::new(),
    };
    let truth = rows_of(data.join("truth/synthea_joined.csv"));
    for &reveal in reveals {
        let gives = if reveal.contains(':') { "gives = { insurer = [\"payer\"] }" } else { "" };
        let terms = format!("reveal = \"{reveal}\"\nreveal_to = [\"hospital\"]\n{gives}");
        let keys = "[\"name\", \"dob\"]\nnormalize = [\"name\", \"date\"]\nduplicates = \"first\"";
        let path = home.file("job.toml", &job(&terms, 1500, &names, own).replace("[\"k\"]", keys));
        let (out, report) = (home.at("out"), home.at("report.json"));
        let inputs = names.map(|name| format!("{name}={}", data.join(format!("synthea/{name}.csv")).display()));
        let mut all = vec!["simulate", &path, "--force", "--output", &out, "--report", &report];
        all.extend(inputs.iter().flat_map(|input| ["--input", input]));
        tacita(&all).well();
        let result = json(&report)["parties"]["hospital"]["result"].clone();
        match reveal {
            "rows" => assert_eq!(result["rows"], truth.len()),
            "count" => assert_eq!(result["count"], truth.len()),
            _ => {
                for (name, count) in result["counts"].as_object().unwrap() {
                    let of = truth.iter().filter(|row| row["insurer.payer"] == *name).count();
                    assert_eq!(count.as_u64().unwrap() as usize, of, "{name}");
                }
            }
        }
    }
}

#[test]
fn jobs_that_make_no_sense_are_refused() {
    let home = Home::new();
    let good = job(ROWS, 10, &NAMES, |_| String::new());
    let cases: Vec<(String, &[&str])> = vec![
        (good.replace("pad_to = 10", ""), &["limits.pad_to", "most keys"]),
        (
            good.replace(ROWS, "reveal = \"payload\"\nreveal_to = [\"a\"]\ngives = { b = [\"v\"] }"),
            &["limits.max_text", "payload", "outsourced"],
        ),
        (
            good.replace(ROWS, "reveal = \"payload\"\nreveal_to = [\"a\", \"b\"]\ngives = { b = [\"v\"] }"),
            &["one name in reveal_to", "star"],
        ),
        (
            good.replace(ROWS, "reveal = \"payload\"\nreveal_to = [\"a\"]\ngives = { b = [\"v\"] }")
                .replace("[limits]", "[limits]\nmax_text = 600_000"),
            &["600,005 bytes", "max_text"],
        ),
        (good.replace(ROWS, &format!("{ROWS}\nsecurity = \"malicious\"")), &["malicious", "semi-honest"]),
        (good.replace(ROWS, &format!("{ROWS}\nlevel = \"bits192\"")), &["bits192", "bits128"]),
        (good.replace(ROWS, "reveal = \"counts:v\"\nreveal_to = [\"a\"]"), &["counts:v", "gives"]),
        (good.replace(ROWS, "reveal = \"counts:\"\nreveal_to = [\"a\"]"), &["counts:"]),
        (good.replace("\"outsourced\"", "\"star\"") + "[helper]\n", &["[helper]", "outsourced"]),
        (good.replace("\"outsourced\"", "\"auto\"") + "[helper]\n[relay]\n", &["[relay]", "leave the relay out"]),
        (good.replace(ROWS, &format!("{ROWS}\nscale = 2")), &["scale", "sum:COLUMN"]),
        (
            good.replace(ROWS, "reveal = \"counts:v\"\nreveal_to = [\"a\"]\ngives = { b = [\"v\"] }")
                .replace("outsourced", "star"),
            &["counts:COLUMN", "outsourced"],
        ),
    ];
    for (text, words) in cases {
        let path = home.file("bad.toml", &text);
        let rows = ["--rows", "a=1", "--rows", "b=1", "--rows", "c=1"];
        tacita(&[&["plan", &path][..], &rows].concat()).failed(2, words);
    }
    // A plan follows from the terms, and a table that does not fit them has none.
    let path = home.file("good.toml", &good);
    let planned = tacita(&["plan", &path]).well().stdout;
    assert!(planned.contains("Sets are padded to 10"), "{planned}");
    tacita(&["plan", &path, "--rows", "a=11"]).failed(2, &["--rows a=11", "limits.pad_to = 10"]);
    let auto = home.file("auto.toml", &good.replace("\"outsourced\"", "\"auto\""));
    let id = home.at("id");
    tacita(&["identity", "new", &id]).well();
    tacita(&["helper", &auto, "--identity", &id, "--listen", ":0"])
        .failed(2, &["no work for a helper", "agree on protocol = \"outsourced\""]);
    // What is given has to fit.
    for (name, keys) in NAMES.iter().zip([0..5, 0..5, 0..5]) {
        table(&home, name, keys);
    }
    for (column, row, words) in [
        ("v", "key 1,-2,x\n", "from 0"),
        ("v", "key 1,1.5,x\n", "decimals"),
        ("w", "key 1,1,y\nkey 1,1,x\n", "b.csv: column \"w\" has different categories in line 2 and line 3"),
    ] {
        home.file("b.csv", &format!("k,v,w\n{row}"));
        let reveal = if column == "v" { "sum:v" } else { "counts:w" };
        let terms = format!("reveal = \"{reveal}\"\nreveal_to = [\"a\"]\ngives = {{ b = [\"{column}\"] }}");
        simulate(&home, &job(&terms, 10, &NAMES, |_| String::new()), &NAMES).failed(2, &["b", words]);
    }
}
