//! Products are exact, and cost what the plan says.

use super::*;

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
    let names: Vec<_> = (0..17).map(|column| format!("c{column}")).collect();
    let table = |name: &str, seed| {
        let mut numbers = noise(seed).map(|word| (word % 15) as i64 - 7);
        let rows = (0..101).map(|_| {
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
            "simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out, "--report",
            &report,
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
        tacita(&["simulate", job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out]).well();
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
        tacita(&["simulate", &shares, "--input", &of("shop"), "--input", &of("partner"), "--force", "--output", &out])
            .well();
        let of = |party: &str| format!("{party}={}", home.at(&format!("out/{party}.json")));
        let ended = tacita(&["simulate", &job(name), "--input", &of("shop"), "--input", &of("partner")]).well();
        assert_eq!(ended.stdout, expected);
    }
}

const LEARNERS: [&str; 3] = ["[\"a\"]", "[\"b\"]", "[\"a\", \"b\"]"];
const WAYS: [&str; 9] = [
    "extension = \"softspoken-4\"",
    "extension = \"silent\"",
    "extension = \"softspoken-8\"\nbits = 7",
    "extension = \"softspoken-2\"\nreveal = \"shares\"",
    "extension = \"softspoken-4\"\nrow_id = \"id\"",
    "protocol = \"lattice\"\nreveal = \"shares\"\nbits = 5\nsigned = true",
    "protocol = \"lattice\"",
    "protocol = \"lattice\"\nrow_id = \"id\"",
    "extension = \"softspoken-2\"\nreveal = \"shares\"\nmodulus = \"1000003\"",
];

/// Each way once, and each protocol with each that may learn.
#[test]
fn what_the_plan_says_is_what_the_run_does() {
    costs_what_the_plan_says(WAYS.into_iter().zip(LEARNERS.into_iter().cycle()));
}

#[test]
#[ignore = "slow: each way with all who may learn"]
fn every_plan_is_what_the_run_does() {
    costs_what_the_plan_says(WAYS.into_iter().flat_map(|rest| LEARNERS.map(|learners| (rest, learners))));
}

fn costs_what_the_plan_says(cases: impl Iterator<Item = (&'static str, &'static str)>) {
    let home = Home::new();
    let bits = |seed| noise(seed).map(|word| format!("k{},{}", word % 1000, word >> 40 & 1)).take(300);
    let unique = |seed| {
        let mut seen = BTreeMap::new();
        bits(seed).for_each(|line| drop(seen.insert(line.split(',').next().unwrap().to_owned(), line.clone())));
        seen.into_values().take(100).collect::<Vec<_>>()
    };
    let write = |name: &str, seed| home.file(name, &format!("id,x\n{}\n", unique(seed).join("\n")));
    let inputs = [write("a.csv", 1), write("b.csv", 2)];
    for (rest, learners) in cases {
        let text = job(rest).replace("[\"a\", \"b\"]", learners);
        let report = simulate(&home, &text, [&inputs[0], &inputs[1]], "out", &[]);
        let named = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
        let job = home.at("job.toml");
        let planned = tacita(&["plan", &job, "--json", "--input", &named[0], "--input", &named[1]]).well();
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        for name in ["a", "b"] {
            let (share, ran) = (&planned["parties"][name], &report["parties"][name]);
            let (bytes, sent) = (share["bytes_sent"].as_u64().unwrap(), ran["bytes"]["sent"].as_u64().unwrap());
            // How many rows have an id in common is not known before, and transfers may begin while their order is
            // on its way.
            if rest.contains("row_id") {
                assert!(bytes >= sent, "{rest} {learners} {name}: {bytes} planned, {sent} sent");
                assert!(planned["rounds"].as_u64() >= ran["rounds"].as_u64(), "{rest} {learners}");
            } else {
                assert_eq!(planned["rounds"], ran["rounds"], "{rest} {learners}");
                assert_eq!(bytes, sent, "{rest} {learners} {name}");
                assert_eq!(share["learned"], ran["learned"], "{rest} {learners} {name}");
            }
            assert_eq!(planned["protocol"], ran["protocol"]);
        }
    }
}
