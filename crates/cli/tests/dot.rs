//! Scalar products by whole processes: tables in, values and shares out, against sums that were computed without the
//! program; and the opening of shares.

mod common;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::dot::{job, noise, open, opening, shared, simulate, table};
use common::{
    Home, NAMES, Pair, Rows, Running, convert, data, examples, files, free_port, joined_key, json, keys, rows_of,
    tacita, text,
};
use rustix::process::Signal;
use serde_json::{Value, json};

#[test]
fn products_are_exact_for_every_length_density_and_extension() {
    for (count, density, extension) in [
        (0, 50, "softspoken-4"),
        (1, 100, "softspoken-8"),
        (2, 0, "silent"),
        (1001, 50, "softspoken-2"),
        (1001, 100, "softspoken-8"),
        (40_003, 3, "softspoken-4"),
        (40_003, 97, "silent"),
    ] {
        let home = Home::new();
        let bits = |seed| noise(seed).map(move |word| u64::from(word % 100 < density)).take(count).collect::<Vec<_>>();
        let (a, b) = (bits(1), bits(2));
        let value: u64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        let inputs = [table(&home, "a.csv", a), table(&home, "b.csv", b)];
        let job = job(&format!("extension = \"{extension}\""));
        let report = simulate(&home, &job, [&inputs[0], &inputs[1]], "out", &[]);
        for name in ["a", "b"] {
            assert_eq!(report["parties"][name]["result"], json!({"value": value}), "{count} {density} {extension}");
            assert_eq!(report["parties"][name]["protocol"], "ot");
            assert_eq!(text(home.at(&format!("out/{name}.csv"))), format!("value\n{value}\n"));
        }
    }
}

#[test]
fn extreme_and_fixed_point_numbers_are_exact() {
    let home = Home::new();
    let run = |rest: &str, a: &[&str], b: &[&str], more: &[&str]| {
        let inputs = [table(&home, "a.csv", a), table(&home, "b.csv", b)];
        simulate(&home, &job(rest), [&inputs[0], &inputs[1]], "out", more)["parties"]["a"]["result"].clone()
    };
    let (low, high) = ("-2147483648", "2147483647");
    let signed = "bits = 32\nsigned = true";
    assert_eq!(run(signed, &[low; 3], &[low; 3], &[]), json!({"value": 3u64 << 62}));
    assert_eq!(run(signed, &[low; 3], &[high; 3], &[]), json!({"value": "-13835058048839712768"}));
    assert_eq!(run("bits = 32", &["4294967295"; 2], &["4294967295"; 2], &[]), json!({"value": "36893488130239234050"}));
    let typed = run("bits = 32", &["4294967295"; 2], &["4294967295"; 2], &["--format", "parquet"]);
    assert_eq!(typed, json!({"value": "36893488130239234050"}));
    assert_eq!(rows_of(home.at("out/a.parquet"))[0]["value"], "36893488130239234050");
    let fixed = "bits = 16\nsigned = true\nscale = 2";
    assert_eq!(run(fixed, &["12.5", "-0.01", "3"], &["1.25", "100", "-7.5"], &[]), json!({"value": -7.875}));
    assert_eq!(run(fixed, &["2"], &["3.5"], &[]), json!({"value": 7}));
    assert_eq!(run("", &["true", "FALSE", "1"], &["1", "1", "true"], &[]), json!({"value": 2}));
}

#[test]
fn both_protocols_give_the_same_matrix_and_auto_takes_the_cheaper() {
    let home = Home::new();
    let names: Vec<_> = (0..40).map(|column| format!("c{column}")).collect();
    let table = |name: &str, seed| {
        let mut numbers = noise(seed).map(|word| (word % 15) as i64 - 7);
        let rows = (0..300).map(|_| {
            let row: Vec<_> = numbers.by_ref().take(names.len()).map(|number| number.to_string()).collect();
            row.join(",") + "\n"
        });
        home.file(name, &(names.join(",") + "\n" + &rows.collect::<String>()))
    };
    let inputs = [table("a.csv", 5), table("b.csv", 6)];
    let terms = |rest: &str| {
        let rest = format!("bits = 4\nsigned = true\n{rest}");
        job(&rest).replace("column = \"x\"", &format!("column = {names:?}"))
    };
    let numbers = |file: &str| -> Vec<Vec<i64>> {
        let rows = rows_of(file);
        let row = |row: &BTreeMap<String, String>| names.iter().map(|name| row[name].parse().unwrap()).collect();
        rows.iter().map(row).collect()
    };
    let (a, b) = (numbers(&inputs[0]), numbers(&inputs[1]));
    let product = |one: usize, other: usize| a.iter().zip(&b).map(|(a, b)| a[one] * b[other]).sum::<i64>();
    let rows = (0..names.len()).map(|one| (0..names.len()).map(|other| product(one, other)).collect::<Vec<_>>());
    let expected = json!({ "value": rows.collect::<Vec<_>>() });
    for rest in ["protocol = \"ot\"", "protocol = \"lattice\"", "protocol = \"lattice\"\nreveal = \"shares\""] {
        let report = simulate(&home, &terms(rest), [&inputs[0], &inputs[1]], "out", &[]);
        if !rest.contains("shares") {
            assert_eq!(report["parties"]["a"]["result"], expected, "{rest}");
            continue;
        }
        let shares = ["a", "b"].map(|party| home.at(&format!("out/{party}.json")));
        open(&home, &opening("open", "[\"b\"]"), &[("a", &shares[0]), ("b", &shares[1])]).well();
        assert_eq!(json(home.at("report.json"))["parties"]["b"]["result"], expected, "{rest}");
    }
    for (columns, rows, chosen) in [(1, 1000, "ot"), (1, 1_000_000, "ot"), (40, 1_000_000, "lattice")] {
        let names: Vec<_> = (0..columns).map(|column| format!("c{column}")).collect();
        let job = home.file("plan.toml", &job("").replace("column = \"x\"", &format!("column = {names:?}")));
        let rows = ["a", "b"].map(|name| format!("{name}={rows}"));
        let planned = tacita(&["plan", &job, "--json", "--rows", &rows[0], "--rows", &rows[1]]).well();
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        assert_eq!(planned["protocol"], chosen, "{columns} columns: {}", planned["why"]);
    }
}

#[test]
fn real_columns_by_position() {
    let Some(data) = data("association_rules") else { return };
    // Item columns of two organisations, expanded from baskets.
    for (set, ending, pairs) in [
        ("groceries", "csv", [("whole milk", "other vegetables"), ("rolls/buns", "soda")]),
        ("mushroom", "csv.gz", [("1", "34"), ("86", "85")]),
    ] {
        let home = Home::new();
        let baskets = ["A", "B"].map(|party| {
            let packed = data.join(format!("vertical/{set}.2party_{party}.{ending}"));
            let plain = home.at(&format!("{party}.csv"));
            match ending {
                "csv" => std::fs::copy(&packed, &plain).map(drop).unwrap(),
                _ => {
                    let mut file = std::fs::File::create(&plain).unwrap();
                    let mut reader = flate2::read::MultiGzDecoder::new(std::fs::File::open(&packed).unwrap());
                    std::io::copy(&mut reader, &mut file).unwrap();
                }
            }
            rows_of(&plain)
        });
        let has = |rows: &Rows, item: &str| -> Vec<u64> {
            rows.iter().map(|row| u64::from(row["items"].split('|').any(|held| held == item))).collect()
        };
        for (one, other) in pairs {
            // Whichever party has which: a column that nobody has is all zeros.
            let holder = |item| if has(&baskets[0], item).contains(&1) { 0 } else { 1 };
            let (a, b) = (has(&baskets[holder(one)], one), has(&baskets[holder(other)], other));
            assert!(a.contains(&1) && b.contains(&1), "{one} {other}");
            let both: u64 = a.iter().zip(&b).map(|(a, b)| a & b).sum();
            let inputs = [table(&home, "a.csv", a), table(&home, "b.csv", b)];
            let report = simulate(&home, &job(""), [&inputs[0], &inputs[1]], "out", &[]);
            assert_eq!(report["parties"]["b"]["result"], json!({"value": both}), "{one} and {other}");
        }
    }
}

#[test]
fn medical_flags_are_aligned_by_name_and_birth_date_in_every_format() {
    let Some(data) = data("medical") else { return };
    let home = Home::new();
    let flags = ["diabetes", "hypertension", "asthma", "cancer", "pregnancy", "anemia"];
    let by_key = |name: &str| -> BTreeMap<String, BTreeMap<String, String>> {
        let rows = rows_of(data.join(format!("synthea/{name}.csv")));
        rows.into_iter().map(|row| (joined_key(&row["name"], &row["dob"]), row)).collect()
    };
    let (hospital, fire) = (by_key("hospital"), by_key("fire_department"));
    let number = |row: &BTreeMap<String, String>, column: &str| row[column].parse::<u64>().unwrap();
    let expected: Vec<u64> = flags
        .iter()
        .map(|flag| {
            let common = hospital.iter().filter_map(|(key, row)| Some((row, fire.get(key)?)));
            common.map(|(patient, person)| number(patient, flag) * number(person, "n_injury_callouts")).sum()
        })
        .collect();
    assert!(expected.iter().all(|&value| value > 0));
    let job = home.file(
        "job.toml",
        &format!(
            "job = \"dot\"\nid = \"callouts\"\nreveal_to = [\"hospital\"]\nbits = 5\nrow_id = [\"person\", \"born\"]\n\
             column = {{ hospital = {flags:?}, fire_department = [\"n_injury_callouts\"] }}\n\
             [key]\ncolumns = [\"born\", \"person\"]\nnormalize = [\"date\", \"name\"]\n\
             [parties.hospital]\ncolumns = {{ person = \"name\", born = \"dob\" }}\n\
             [parties.fire_department]\ncolumns = {{ person = \"name\", born = \"dob\" }}\nnormalize = [\"date:DMY\", \"name\"]\n"
        ),
    );
    for ending in ["csv", "csv.gz", "parquet", "arrow"] {
        let inputs = ["hospital", "fire_department"].map(|name| {
            let file = home.at(&format!("{name}.{ending}"));
            convert(&data.join(format!("synthea/{name}.csv")), &file);
            format!("{name}={file}")
        });
        let (out, report) = (home.at("out"), home.at("report.json"));
        tacita(&[
            "simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--output", &out, "--report", &report,
        ])
        .well();
        let report = json(report);
        let matrix: Vec<_> = expected.iter().map(|value| json!([value])).collect();
        assert_eq!(report["parties"]["hospital"]["result"], json!({ "value": matrix }));
        assert_eq!(report["parties"]["fire_department"]["result"], Value::Null);
        let learned = report["parties"]["fire_department"]["learned"].to_string();
        assert!(learned.contains("(459)") && learned.contains("learns no product"), "{learned}");
        assert_eq!(files(&out), ["hospital.csv"]);
        let rows = rows_of(home.at("out/hospital.csv"));
        let of = |row: &BTreeMap<String, String>| (row["hospital"].clone(), row["value"].parse().unwrap());
        let listed: Vec<(String, u64)> = rows.iter().map(of).collect();
        assert_eq!(listed, flags.map(str::to_owned).into_iter().zip(expected.clone()).collect::<Vec<_>>());
    }
}

#[test]
fn the_example_gives_the_expected_files_byte_for_byte() {
    let set = examples().join("dot");
    let summary = json(set.join("expected/summary.json"));
    for (name, expected) in summary.as_object().unwrap() {
        let home = Home::new();
        let parties = [0, 1].map(|place| expected["parties"][place].as_str().unwrap());
        let inputs = parties.map(|party| format!("{party}={}", set.join(format!("{party}.csv")).display()));
        let (job, out) = (set.join(format!("{name}.toml")), home.at("out"));
        let job = job.to_str().unwrap();
        tacita(&["simulate", job, "--input", &inputs[0], "--input", &inputs[1], "--output", &out]).well();
        let wanted = set.join("expected").join(name);
        assert_eq!(files(&out), files(wanted.to_str().unwrap()), "{name}");
        for file in files(&out) {
            assert_eq!(text(home.at(&format!("out/{file}"))), text(wanted.join(&file)), "{name}/{file}");
        }
    }
    // The jobs that belong together.
    let value = summary["job"]["value"].as_str().unwrap();
    assert!(value.parse::<u64>().unwrap() >= 100);
    for (name, expected) in [("open.toml", format!("value {value}\n")), ("enough.toml", "at_least true\n".into())] {
        let home = Home::new();
        let of = |party: &str| format!("{party}={}", set.join(format!("{party}.csv")).display());
        let job = |name: &str| set.join(name).to_str().unwrap().to_owned();
        let (shares, out) = (job("shares.toml"), home.at("out"));
        tacita(&["simulate", &shares, "--input", &of("shop"), "--input", &of("partner"), "--output", &out]).well();
        let of = |party: &str| format!("{party}={}", home.at(&format!("out/{party}.json")));
        let ended = tacita(&["simulate", &job(name), "--input", &of("shop"), "--input", &of("partner")]).well();
        assert_eq!(ended.stdout, expected);
    }
}

#[test]
fn what_the_plan_says_is_what_the_run_does() {
    let home = Home::new();
    let bits = |seed| noise(seed).map(|word| format!("k{},{}", word % 1000, word >> 40 & 1)).take(300);
    let unique = |seed| {
        let mut seen = BTreeMap::new();
        bits(seed).for_each(|line| drop(seen.insert(line.split(',').next().unwrap().to_owned(), line.clone())));
        seen.into_values().take(100).collect::<Vec<_>>()
    };
    let write = |name: &str, seed| home.file(name, &format!("id,x\n{}\n", unique(seed).join("\n")));
    let inputs = [write("a.csv", 1), write("b.csv", 2)];
    for learners in ["[\"a\"]", "[\"b\"]", "[\"a\", \"b\"]"] {
        for rest in [
            "extension = \"softspoken-4\"",
            "extension = \"silent\"",
            "extension = \"softspoken-8\"\nbits = 7",
            "extension = \"softspoken-2\"\nreveal = \"shares\"",
            "extension = \"softspoken-2\"\nreveal = \"shares\"\nmodulus = \"1000003\"",
            "extension = \"softspoken-4\"\nrow_id = \"id\"",
            "protocol = \"lattice\"",
            "protocol = \"lattice\"\nreveal = \"shares\"\nbits = 5\nsigned = true",
            "protocol = \"lattice\"\nrow_id = \"id\"",
        ] {
            let text = job(rest).replace("[\"a\", \"b\"]", learners);
            let report = simulate(&home, &text, [&inputs[0], &inputs[1]], "out", &[]);
            let named = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
            let job = home.at("job.toml");
            let planned = tacita(&["plan", &job, "--json", "--input", &named[0], "--input", &named[1]]).well();
            let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
            for name in ["a", "b"] {
                let (share, ran) = (&planned["parties"][name], &report["parties"][name]);
                let (bytes, sent) = (share["bytes_sent"].as_u64().unwrap(), ran["bytes"]["sent"].as_u64().unwrap());
                // How many rows have an id in common is not known before.
                match rest.contains("row_id") {
                    true => assert!(bytes >= sent, "{rest} {learners} {name}: {bytes} planned, {sent} sent"),
                    false => {
                        assert_eq!(bytes, sent, "{rest} {learners} {name}");
                        assert_eq!(share["learned"], ran["learned"], "{rest} {learners} {name}");
                    }
                }
                assert_eq!(planned["rounds"], ran["rounds"], "{rest} {learners}");
                assert_eq!(planned["protocol"], ran["protocol"]);
            }
        }
    }
}

#[test]
fn jobs_that_make_no_sense_are_refused_with_what_would() {
    let home = Home::new();
    let a = table(&home, "a.csv", [1, 0, 1]);
    for (rest, words) in [
        ("security = \"malicious\"", ["malicious", "semi-honest"]),
        ("protocol = \"vole\"", ["\"vole\"", "\"ot\""]),
        ("protocol = \"star\"", ["star", "not in this version"]),
        ("reveal = \"rows\"", ["\"rows\"", "\"shares\""]),
        ("bits = 33", ["bits = 33", "1 to 32"]),
        ("bits = 0", ["bits = 0", "1 to 32"]),
        ("scale = 100", ["scale = 100", "decimals"]),
        ("modulus = \"1\"", ["modulus", "2 to 2^127"]),
        ("modulus = \"3\"", ["modulus = 3", "leave `modulus` out"]),
        ("extension = \"kkrt\"", ["kkrt", "softspoken"]),
        ("operation = \"open\"", ["operation", "\"shares\""]),
        ("row_id = []", ["row_id", "1 to"]),
        ("row_id = [\"x\", \"x\"]", ["row_id", "twice"]),
        ("level = \"bits192\"", ["bits192", "bits128"]),
        ("gives = { a = [\"x\"] }", ["gives", "\"intersect\""]),
        ("limits = { pad_to = 10 }", ["pad_to", "position"]),
        ("protocol = \"lattice\"\nextension = \"silent\"", ["extension", "lattice"]),
        ("key = { columns = [\"x\"] }", ["[key]", "row_id"]),
        ("density = 0.1", ["density", "gm-bloom"]),
        ("reveal = \"shares\"\nlimits = { min_result = 3 }", ["min_result", "opens"]),
        ("row_id = \"x\"\nkey = { columns = [\"y\"] }", ["key.columns", "row_id"]),
    ] {
        let file = home.file("bad.toml", &job(rest));
        let inputs = [format!("a={a}"), format!("b={a}")];
        let ended = tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1]]);
        ended.failed(2, &words);
    }
}

#[test]
fn bad_tables_end_in_one_line_that_says_where() {
    let home = Home::new();
    let good = table(&home, "good.csv", [1, 0, 1]);
    let run = |rest: &str, bad: &str| {
        let file = home.file("job.toml", &job(rest));
        let inputs = [format!("a={good}"), format!("b={bad}")];
        tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1]])
    };
    let short = table(&home, "short.csv", [1, 0]);
    run("", &short).failed(5, &["3", "2", "position", "row_id"]);
    run("", &table(&home, "word.csv", ["1", "seven", "0"])).failed(2, &["word.csv", "line 3", "\"x\""]);
    run("", &table(&home, "large.csv", [1, 0, 9])).failed(2, &["line 4", "bits = 4"]);
    run("", &table(&home, "half.csv", ["1", "0.5", "0"])).failed(2, &["line 3", "scale"]);
    run("", &home.file("none.csv", "y\n1\n1\n1\n")).failed(2, &["no column \"x\""]);
    run("row_id = \"x\"", &table(&home, "twice.csv", [1, 0, 1])).failed(2, &["same key"]);
    // A blank line may stand for a row; at the end it does not.
    run("", &home.file("blank.csv", "x\n1\n\n0\n")).failed(2, &["blank.csv", "line 3", "blank"]);
    run("", &home.file("end.csv", "x\n1\n1\n0\n\n\n")).well();
    run("limits = { max_rows = 2 }", &good).failed(2, &["3 rows, and limits.max_rows"]);
    // Bytes are no numbers, though they have a text.
    let bytes: arrow_array::ArrayRef = std::sync::Arc::new(arrow_array::BinaryArray::from(vec![&b"1"[..], b"0", b"1"]));
    let batch = arrow_array::RecordBatch::try_from_iter([("x", bytes)]).unwrap();
    let bytes = tacita_node::table::Table::new("bytes", batch.schema(), vec![batch]).unwrap();
    let file = home.at("bytes.parquet");
    tacita_node::table::output::write(&tacita_node::table::Selection::all(&bytes), Path::new(&file), None).unwrap();
    run("bits = 8", &file).failed(2, &["bytes.parquet", "no number"]);
}

#[test]
fn a_number_that_cannot_be_kept_is_printed() {
    let pair = Pair::new("job = \"dot\"\nid = \"test\"\nreveal_to = [\"hospital\"]\ncolumn = \"x\"\n");
    NAMES.iter().for_each(|name| pair.table(name, "x\n1\n1\n"));
    std::os::unix::fs::symlink("/dev/full", pair.home.at("full.csv")).unwrap();
    let (input, full) = (pair.home.at("hospital.csv"), pair.home.at("full.csv"));
    let one = pair.start_on("hospital", &["--input", &input, "--output", &full], &[]);
    let other = pair.start("insurer", &[]);
    let ended = one.end();
    ended.failed(2, &["full.csv"]);
    assert_eq!(ended.stdout, "value 2\n");
    other.end().well();
    let choice = json(pair.out("hospital", "report.json"))["choice"].to_string();
    assert!(choice.starts_with("\"ot softspoken-"), "{choice}");
}

#[test]
fn names_of_columns_stay_as_they_are() {
    let home = Home::new();
    let file = home.file("t.csv", "007,01\n1,1\n0,1\n");
    let job = job("").replace("\"x\"", "[\"007\", \"01\"]");
    simulate(&home, &job, [&file, &file], "out", &[]);
    assert_eq!(text(home.at("out/a.csv")), "a,b,value\n007,007,1\n007,01,1\n01,007,1\n01,01,2\n");
}

#[test]
fn two_parties_without_a_job_file() {
    for (reveal, expected) in [("value", "value 2\n"), ("shares", "shares 1\n")] {
        let pair = Pair::new("");
        pair.table("hospital", "who,sick\nann,1\nbob,1\ncy,0\ndee,1\n");
        pair.table("insurer", "person,claims\ndee,1\nEve,1\nBob,1\nann,0\n");
        let address = format!("127.0.0.1:{}", free_port());
        let at = |name: &str| pair.home.at(name);
        let start = |me: &str, peer: &str, how: &str, column: &str, id: &str| {
            Running::start(&[
                "dot",
                how,
                &address,
                "--peer",
                pair.fingerprint(peer),
                "--identity",
                &at(me),
                "--input",
                &at(&format!("{me}.csv")),
                "--column",
                column,
                "--row-id",
                id,
                "--normalize",
                "name",
                "--receiver",
                "both",
                "--reveal",
                reveal,
                "--output",
                &pair.out(me, if reveal == "value" { "value.csv" } else { "share.json" }),
            ])
        };
        // The parties learn in the order in which each names itself first.
        let one = start("hospital", "insurer", "--listen", "sick", "id=who");
        let other = start("insurer", "hospital", "--connect", "claims", "id=person");
        for ended in [one.end().well(), other.end().well()] {
            assert_eq!(ended.stdout, expected);
        }
    }
}

#[test]
fn shares_are_private_files_that_add_up_and_open_once() {
    for (modulus, value) in [("", 1u128 << 64), ("modulus = \"2^32\"", 1 << 32), ("modulus = \"1000003\"", 1_000_003)] {
        let home = Home::new();
        let shares = shared(&home, "one", modulus, &[1, 1, 0, 1], &[1, 0, 1, 1]);
        let files = shares.each_ref().map(|path| json(path));
        let mut sum = 0u128;
        for (file, party) in files.iter().zip(["a", "b"]) {
            let names = ["tacita_share", "job", "agreement", "party", "modulus", "values"];
            assert!(names.iter().all(|name| keys(file).contains(name)));
            assert_eq!(
                (&file["tacita_share"], &file["party"], &file["job"]),
                (&json!(1), &json!(party), &json!("test"))
            );
            assert_eq!(file["modulus"], value.to_string());
            sum += file["values"][0].as_str().unwrap().parse::<u128>().unwrap();
        }
        assert_eq!(sum % value, 2);
        for path in &shares {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }

        let job = opening("open", "[\"b\"]");
        open(&home, &job, &[("a", &shares[0]), ("b", &shares[1])]).well();
        let report = json(home.at("report.json"));
        assert_eq!(report["parties"]["b"]["result"], json!({"value": 2}));
        assert_eq!((&report["job"], &report["parties"]["a"]["result"]), (&json!("shares"), &Value::Null));
        assert_eq!(text(home.at("opened/b.csv")), "value\n2\n");
        // Not again, under another name neither, by whichever party.
        let again = open(&home, &job, &[("a", &shares[0]), ("b", &shares[1])]);
        again.failed(2, &[".json", "opened before"]);
        let link = home.at("link.json");
        std::os::unix::fs::symlink(&shares[0], &link).unwrap();
        open(&home, &job, &[("a", &link), ("b", &shares[1])]).failed(2, &["opened before"]);
    }
}

#[test]
fn sums_open_without_their_parts_whatever_the_order() {
    let home = Home::new();
    let rest = "bits = 8\nsigned = true\nscale = 1";
    let january = shared(&home, "january", rest, &[1, 2], &[3, 4]);
    let february = shared(&home, "february", rest, &[-5, 6], &[7, 2]);
    let job = opening("sum", "[\"a\", \"b\"]");
    open(&home, &job, &[("a", &january[0]), ("a", &february[0]), ("b", &february[1]), ("b", &january[1])]).well();
    let report = json(home.at("report.json"));
    for party in ["a", "b"] {
        assert_eq!(report["parties"][party]["result"], json!({"value": 11 - 23}));
    }
    let spent = open(&home, &opening("open", "[\"a\"]"), &[("a", &january[0]), ("b", &january[1])]);
    spent.failed(2, &["opened before"]);

    let march = shared(&home, "march", rest, &[1], &[9]);
    let april = shared(&home, "april", rest, &[2], &[9]);
    let both = [("a", &*march[0]), ("a", &*april[0]), ("b", &*april[1]), ("b", &*march[1])];
    open(&home, &opening("open", "[\"a\"]"), &both).well();
    assert_eq!(json(home.at("report.json"))["parties"]["a"]["result"], json!({"value": [9, 18]}));
    assert_eq!(text(home.at("opened/a.csv")), "input,value\n1,9\n2,18\n");
}

/// A second run into which a party brings zeros adds nothing that it does not know: the sum is the other's number.
#[test]
fn a_sum_with_a_run_of_zeros_is_the_other_number_and_is_said_to_be() {
    let home = Home::new();
    let january = shared(&home, "january", "bits = 8", &[3, 4, 5], &[7, 11, 13]);
    let zeros = shared(&home, "zeros", "bits = 8", &[3, 4, 5], &[0, 0, 0]);
    let job = opening("sum", "[\"b\"]");
    open(&home, &job, &[("a", &january[0]), ("a", &zeros[0]), ("b", &january[1]), ("b", &zeros[1])]).well();
    let report = json(home.at("report.json"));
    assert_eq!(report["parties"]["b"]["result"], json!({"value": 3 * 7 + 4 * 11 + 5 * 13}));
    let learned = report["parties"]["b"]["learned"].to_string();
    assert!(learned.contains("the sum of 2 numbers") && learned.contains("filled with zeros"), "{learned}");
    assert!(!report["parties"]["a"]["learned"].to_string().contains("zeros"), "{report}");
    // So is the product of each run with zeros, before anything is opened.
    let ran = simulate(
        &home,
        &common::dot::job("bits = 8").replace("[\"a\", \"b\"]", "[\"b\"]"),
        [&table(&home, "a.csv", [0]), &table(&home, "b.csv", [9])],
        "out",
        &[],
    );
    assert!(
        ran["parties"]["a"]["learned"][0].as_str().unwrap().contains("those with a column of zeros are 0"),
        "{ran}"
    );
}

#[test]
fn sums_that_the_modulus_may_not_hold_are_refused_and_those_that_it_holds_are_exact() {
    let home = Home::new();
    let most = [0xffff_ffff];
    let sum = opening("sum", "[\"a\"]");
    let [one, two] = ["one", "two"].map(|name| shared(&home, name, "bits = 32", &most, &most));
    open(&home, &sum, &[("a", &one[0]), ("a", &two[0]), ("b", &one[1]), ("b", &two[1])]).well();
    assert_eq!(json(home.at("report.json"))["parties"]["a"]["result"], json!({"value": "36893488130239234050"}));
    let tight = "bits = 32\nmodulus = \"2^64\"";
    let [three, four] = ["three", "four"].map(|name| shared(&home, name, tight, &most, &most));
    let both = [("a", &*three[0]), ("a", &*four[0]), ("b", &*three[1]), ("b", &*four[1])];
    open(&home, &sum, &both).failed(2, &["the sum", "modulus"]);
    open(&home, &opening("open", "[\"a\"]"), &both).well();
    // Runs of one job over more and fewer rows: each has its own range.
    let tight = "bits = 16\nmodulus = \"2^40\"";
    let few = shared(&home, "few", tight, &[1], &[1]);
    let many = shared(&home, "many", tight, &[0xffff; 1000], &[0xffff; 1000]);
    let both = [("a", &*few[0]), ("a", &*many[0]), ("b", &*few[1]), ("b", &*many[1])];
    let ended = open(&home, &sum, &both).well();
    assert!(ended.stderr.contains("known modulo 1099511627776 only"), "{}", ended.stderr);
    // As many as can be without another modulus.
    let few = shared(&home, "few2", "bits = 16", &[9], &[9]);
    let many = shared(&home, "many2", "bits = 16", &[0xffff; 5000], &[0xffff; 5000]);
    open(&home, &sum, &[("a", &few[0]), ("a", &many[0]), ("b", &few[1]), ("b", &many[1])]).well();
    assert_eq!(
        json(home.at("report.json"))["parties"]["a"]["result"],
        json!({"value": 5000u64 * 0xffff * 0xffff + 81})
    );
}

#[test]
fn limits_hold_for_opened_values_with_decimals() {
    let home = Home::new();
    for (limit, expected) in [(123, json!({"value": 123.4})), (124, json!({"below": 124}))] {
        let inputs = [table(&home, "a.csv", ["1234"]), table(&home, "b.csv", ["0.1"])];
        let text = job("reveal = \"shares\"\nbits = 20\nscale = 2");
        simulate(&home, &text, [&inputs[0], &inputs[1]], &format!("shares{limit}"), &[]);
        let shares = ["a", "b"].map(|party| home.at(&format!("shares{limit}/{party}.json")));
        let job = opening("open", "[\"a\"]") + &format!("[limits]\nmin_result = {limit}\n");
        open(&home, &job, &[("a", &shares[0]), ("b", &shares[1])]).well();
        assert_eq!(json(home.at("report.json"))["parties"]["a"]["result"], expected);
    }
}

#[test]
fn a_later_share_under_the_same_name_is_another_one() {
    let home = Home::new();
    for value in [1, 0] {
        let shares = shared(&home, "same", "", &[1], &[value]);
        let inputs = [("a", &*shares[0]), ("b", &*shares[1])];
        open(&home, &opening("open", "[\"a\"]"), &inputs).well();
        assert_eq!(json(home.at("report.json"))["parties"]["a"]["result"], json!({"value": value}));
        open(&home, &opening("open", "[\"a\"]"), &inputs).failed(2, &["opened before"]);
    }
}

#[test]
fn a_share_that_was_not_opened_is_not_replaced() {
    let pair =
        Pair::new("job = \"dot\"\nid = \"test\"\nreveal = \"shares\"\nreveal_to = [\"hospital\"]\ncolumn = \"x\"\n");
    NAMES.iter().for_each(|name| pair.table(name, "x\n1\n1\n"));
    let run = |name: &str| {
        let (input, output) = (pair.home.at(&format!("{name}.csv")), pair.out(name, "share.json"));
        pair.start_on(name, &["--input", &input, "--output", &output], &["--timeout", "3s"])
    };
    let running = NAMES.map(run);
    running.into_iter().for_each(|running| drop(running.end().well()));
    let kept = text(pair.out("hospital", "share.json"));
    run("hospital").end().failed(2, &["share.json", "not been opened"]);
    assert_eq!(text(pair.out("hospital", "share.json")), kept);
}

#[test]
fn wrong_share_files_are_refused_by_name_and_stay_unopened() {
    let home = Home::new();
    let one = shared(&home, "one", "", &[1, 1], &[1, 1]);
    let two = shared(&home, "two", "", &[1, 1], &[1, 0]);
    let other = shared(&home, "other", "bits = 2", &[1, 1], &[1, 0]);
    let open = |inputs: &[(&str, &str)]| open(&home, &opening("open", "[\"a\"]"), inputs);
    // Of another run, of another job, of the other party, twice, too few.
    open(&[("a", &one[0]), ("b", &two[1])]).failed(5, &["json", "same runs"]);
    open(&[("a", &one[0]), ("a", &other[0]), ("b", &one[1])]).failed(2, &["other/a.json", "another job"]);
    open(&[("a", &one[1]), ("b", &one[1])]).failed(2, &["one/b.json", "share of \"b\""]);
    open(&[("a", &one[0]), ("a", &one[0]), ("b", &one[1])]).failed(2, &["one/a.json", "twice"]);
    open(&[("a", &one[0]), ("a", &two[0]), ("b", &one[1])]).failed(5, &["two/a.json", "same runs"]);
    // Edited in any of its values, cut off, or no share at all.
    let whole = text(&one[0]);
    let value = json(&one[0])["values"][0].as_str().unwrap().to_owned();
    for (name, edited) in [
        ("value", whole.replace(&value, "17")),
        ("modulus", whole.replace("18446744073709551616", "18446744073709551617")),
        ("sign", whole.replace("\"signed\": false", "\"signed\": true")),
        ("decimals", whole.replace("\"decimals\": 0", "\"decimals\": 2")),
        ("id", whole.replace("\"test\"", "\"best\"")),
        ("columns", whole.replace("\"x\"", "\"y\"")),
        ("version", whole.replace("\"tacita_share\": 1", "\"tacita_share\": 2")),
        ("more", whole.replace("\"party\"", "\"extra\": 1, \"party\"")),
        ("cut", whole[..whole.len() / 2].to_owned()),
        ("empty", String::new()),
    ] {
        assert_ne!(edited, whole, "{name}");
        let file = home.file(&format!("{name}.json"), &edited);
        open(&[("a", &file), ("b", &one[1])]).failed(2, &[&format!("{name}.json")]);
    }
    open(&[("a", &home.at("absent.json")), ("b", &one[1])]).failed(2, &["absent.json"]);
    // None of that has opened anything.
    assert_eq!(files(&home.at("one")), ["a.json", "b.json"]);
    open(&[("a", &one[0]), ("b", &one[1])]).well();
    assert_eq!(json(home.at("report.json"))["parties"]["a"]["result"], json!({"value": 2}));
}

#[test]
fn small_values_are_reported_as_below_the_limit() {
    let home = Home::new();
    let inputs = [table(&home, "a.csv", [1, 1, 1]), table(&home, "b.csv", [1, 1, 0])];
    let limited = job("limits = { min_result = 3 }");
    let report = simulate(&home, &limited, [&inputs[0], &inputs[1]], "out", &[]);
    assert_eq!(report["parties"]["a"]["result"], json!({"below": 3}));
    assert_eq!(text(home.at("out/a.csv")), "below\n3\n");
    let enough = job("limits = { min_result = 2 }");
    let report = simulate(&home, &enough, [&inputs[0], &inputs[1]], "out", &[]);
    assert_eq!(report["parties"]["a"]["result"], json!({"value": 2}));
}

#[test]
fn a_killed_peer_ends_the_job_and_leaves_nothing() {
    let terms = "job = \"dot\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\ncolumn = \"x\"\nbits = 32\n";
    let pair = Pair::new(terms);
    let lines: String = (0..600_000).map(|number| format!("{number}\n")).collect();
    for name in NAMES {
        pair.table(name, &format!("x\n{lines}"));
    }
    let mut one = pair.start("hospital", &[]);
    let other = pair.start("insurer", &[]);
    one.until_it_says("agreed with insurer");
    other.signal(Signal::KILL);
    one.end().failed(3, &["insurer"]);
    assert_eq!(files(&pair.home.at("hospital.out")), [""; 0]);
}
