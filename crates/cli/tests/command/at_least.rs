//! Comparison of shares with a threshold by whole processes: against products that were computed without the program.

use crate::common::dot::{job, noise, open, opening, shared, shared_by};
use crate::common::{Ended, Home, NAMES, Pair, files, json, rows_of, tacita, text};
use serde_json::{Value, json};
use tacita_node::agreement::{JobSpec, Terms};

/// Columns of integers, which the tables have over 10^`scale`.
type Columns = Vec<Vec<i64>>;

const BOTH: &str = "[\"a\", \"b\"]";

/// An integer over 10^`decimals`.
fn written(number: i64, decimals: u32) -> String {
    let (unit, sign) = (10u64.pow(decimals), if number < 0 { "-" } else { "" });
    let (whole, rest) = (number.unsigned_abs() / unit, number.unsigned_abs() % unit);
    let digits = format!("{rest:0width$}", width = decimals as usize);
    if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{digits}") }
}

/// Pseudorandom columns of integers of so many bits, signed.
fn columns(seed: u64, count: usize, rows: usize, bits: u32) -> Columns {
    let mut numbers = noise(seed).map(|word| (word % (1 << bits)) as i64 - (1 << (bits - 1)));
    (0..count).map(|_| numbers.by_ref().take(rows).collect()).collect()
}

/// The products, row by row of the first party's columns.
fn products(a: &Columns, b: &Columns) -> Vec<Vec<i64>> {
    let product = |one: &Vec<i64>, other: &Vec<i64>| one.iter().zip(other).map(|(a, b)| a * b).sum();
    a.iter().map(|one| b.iter().map(|other| product(one, other)).collect()).collect()
}

/// Shares of the products of every pair of columns: the two files, in the directory `name`.
#[track_caller]
fn matrix(home: &Home, name: &str, rest: &str, scale: u32, a: &Columns, b: &Columns) -> [String; 2] {
    let names = |party: &str, columns: &Columns| (0..columns.len()).map(|n| format!("{party}{n}")).collect::<Vec<_>>();
    let inputs = [("a", a), ("b", b)].map(|(party, columns)| {
        let line = |row: usize| columns.iter().map(|column| written(column[row], scale)).collect::<Vec<_>>().join(",");
        let lines: String = (0..columns[0].len()).map(|row| line(row) + "\n").collect();
        home.file(&format!("{party}.csv"), &format!("{}\n{lines}", names(party, columns).join(",")))
    });
    let columns = format!("column = {{ a = {:?}, b = {:?} }}", names("a", a), names("b", b));
    let job = job(&format!("reveal = \"shares\"\nscale = {scale}\n{rest}")).replace("column = \"x\"", &columns);
    shared_by(home, name, &job, &inputs, a.len() * b.len())
}

/// Compares what is in the shares of these runs.
#[track_caller]
fn compare(home: &Home, threshold: &str, runs: &[&[String; 2]]) -> Ended {
    let inputs: Vec<_> = runs.iter().flat_map(|[a, b]| [("a", a.as_str()), ("b", b.as_str())]).collect();
    open(home, &opening(&format!("at_least:{threshold}"), BOTH), &inputs)
}

/// Likewise, and checks what both parties are told.
#[track_caller]
fn check(home: &Home, threshold: &str, runs: &[&[String; 2]], expected: Value) {
    let ended = compare(home, threshold, runs).well();
    let report = json(home.at("report.json"));
    for party in ["a", "b"] {
        assert_eq!(report["parties"][party]["result"], json!({ "at_least": expected }), "{threshold} to {party}");
        assert_eq!(report["parties"][party]["choice"], "ot softspoken-8");
    }
    let line = format!("at_least {expected}\n").replace(',', ", ");
    assert_eq!(ended.stdout, line);
}

#[test]
fn every_value_around_the_threshold_is_answered_right() {
    values_are_answered_right(6);
}

#[test]
#[ignore = "slow: more thresholds, and some in other words"]
fn every_value_around_more_thresholds_is_answered_right() {
    values_are_answered_right(usize::MAX);
}

/// Asks about all values under the first `number` thresholds.
fn values_are_answered_right(number: usize) {
    // In column n of the second party there are n ones.
    let a = vec![vec![1; 10]];
    let b: Columns = (0..=10).map(|ones| (0..10).map(|row| i64::from(row < ones)).collect()).collect();
    let cases = [
        ("5", 5, "modulus = \"2^5\""),
        ("1", 1, ""),
        ("10", 10, "modulus = \"2^127\""),
        ("4.5", 5, ""),
        // What the numbers of rows say alone.
        ("0", 0, ""),
        ("99999999999999999999999999999999", 11, ""),
        ("-3", 0, ""),
        ("11", 11, ""),
        ("5", 5, ""),
        ("1", 1, "modulus = \"2^5\""),
        ("5.000", 5, ""),
    ];
    for (threshold, from, modulus) in cases.into_iter().take(number) {
        let home = Home::new();
        let shares = matrix(&home, "shares", modulus, 0, &a, &b);
        let answers: Vec<_> = (0..=10).map(|ones| ones >= from).collect();
        check(&home, threshold, &[&shares], json!([answers]));
        let lines: String =
            answers.iter().enumerate().map(|(column, answer)| format!("a0,b{column},{answer}\n")).collect();
        for party in ["a", "b"] {
            assert_eq!(text(home.at(&format!("opened/{party}.csv"))), format!("a,b,at_least\n{lines}"));
        }
    }
}

#[test]
fn one_value_in_every_format() {
    for (format, threshold) in [("csv", 2), ("json", 3), ("parquet", 2), ("arrow", 3)] {
        let home = Home::new();
        let shares = shared(&home, "shares", "", &[1, 1, 0, 1], &[1, 0, 1, 1]);
        let job = home.file("compare.toml", &opening(&format!("at_least:{threshold}"), BOTH));
        let inputs = [format!("a={}", shares[0]), format!("b={}", shares[1])];
        let out = home.at("out");
        let arguments = [
            "simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out, "--format",
            format,
        ];
        let ended = tacita(&arguments).well();
        let answer = threshold <= 2;
        assert_eq!(ended.stdout, format!("at_least {answer}\n"));
        for party in ["a", "b"] {
            let file = home.at(&format!("out/{party}.{format}"));
            match format {
                "json" => assert_eq!(json(file), json!([{ "at_least": answer }])),
                "csv" => assert_eq!(text(file), format!("at_least\n{answer}\n")),
                _ => assert_eq!(rows_of(file), [[("at_least".to_owned(), answer.to_string())].into()]),
            }
        }
        tacita(&arguments).failed(2, &["opened before"]);
    }
}

#[test]
fn signed_numbers_with_decimals_are_compared_exactly() {
    let (a, b) = (columns(1, 3, 9, 8), columns(2, 4, 9, 8));
    let values = products(&a, &b);
    assert!(values.iter().flatten().any(|&value| value < 0) && values.iter().flatten().any(|&value| value > 0));
    let one = values[1][2];
    // Tenths times tenths are hundredths; a threshold between two of them is reached by the upper one.
    for (threshold, from, rest) in [
        (written(one, 2), one, "protocol = \"ot\""),
        (written(one + 1, 2), one + 1, "protocol = \"lattice\""),
        (written(10 * one - 5, 3), one, ""),
        (written(10 * one + 5, 3), one + 1, ""),
        ("0".into(), 0, ""),
        ("-0.01".into(), -1, ""),
        // The least that 9 products can be is -9 * 128 * 127, the most 9 * 128^2; and the least modulus for both.
        (written(-9 * 128 * 127, 2), i64::MIN, ""),
        (written(9 * 128 * 128 + 1, 2), i64::MAX, ""),
        (written(one, 2), one, "modulus = \"2^20\""),
    ] {
        let home = Home::new();
        let rest = format!("bits = 8\nsigned = true\n{rest}");
        let shares = matrix(&home, "shares", &rest, 1, &a, &b);
        let answers: Vec<Vec<_>> = values.iter().map(|row| row.iter().map(|value| *value >= from).collect()).collect();
        check(&home, &threshold, &[&shares], json!(answers));
    }
}

#[test]
fn thousands_of_numbers_are_compared_at_once() {
    let home = Home::new();
    let (a, b) = (columns(3, 64, 40, 6), columns(4, 50, 40, 6));
    let shares = matrix(&home, "shares", "bits = 6\nsigned = true", 0, &a, &b);
    let answers = products(&a, &b).into_iter().map(|row| row.into_iter().map(|value| value >= 300).collect::<Vec<_>>());
    check(&home, "300", &[&shares], json!(answers.collect::<Vec<_>>()));
}

#[test]
fn several_files_are_added_up_place_by_place() {
    let home = Home::new();
    let rest = "bits = 8\nsigned = true";
    let months: [_; 3] = std::array::from_fn(|month| {
        let seed = 10 + month as u64;
        // Of another number of rows each.
        let (a, b) = (columns(seed, 2, 3 + month, 8), columns(20 + seed, 2, 3 + month, 8));
        (matrix(&home, &format!("month{month}"), rest, 0, &a, &b), products(&a, &b))
    });
    let sums: Vec<Vec<i64>> =
        (0..2).map(|i| (0..2).map(|j| months.iter().map(|(_, values)| values[i][j]).sum()).collect()).collect();
    let threshold = sums[0][1];
    let answers: Vec<Vec<_>> = sums.iter().map(|row| row.iter().map(|sum| *sum >= threshold).collect()).collect();
    let [january, february, march] = months.each_ref().map(|(files, _)| files);
    // In another order at each party.
    let inputs = [("a", january), ("b", march), ("a", march), ("b", february), ("a", february), ("b", january)];
    let inputs = inputs.map(|(party, files)| (party, files[usize::from(party == "b")].as_str()));
    open(&home, &opening(&format!("at_least:{threshold}"), BOTH), &inputs).well();
    let report = json(home.at("report.json"));
    for party in ["a", "b"] {
        assert_eq!(report["parties"][party]["result"], json!({ "at_least": answers }));
        let learned = report["parties"][party]["learned"].to_string();
        assert!(learned.contains(&format!("each of 4 sums, each of 3 numbers, whether it is at least {threshold}")));
    }
    // Single numbers, at the border.
    for (threshold, answer) in [(9, true), (10, false)] {
        let days: [_; 3] = std::array::from_fn(|day| {
            shared(&home, &format!("day{day}-{threshold}"), "bits = 2", &[1, 1, 1], &[1, 1, 1])
        });
        check(&home, &threshold.to_string(), &[&days[0], &days[1], &days[2]], json!(answer));
    }
}

#[test]
fn shares_of_no_rows_are_answered() {
    for (threshold, answer) in [("0", true), ("0.001", false)] {
        let home = Home::new();
        let shares = shared(&home, "none", "", &[], &[]);
        check(&home, threshold, &[&shares], json!(answer));
        compare(&home, threshold, &[&shares]).failed(2, &["opened before"]);
    }
}

#[test]
fn a_share_answers_once_and_is_not_opened_after() {
    let home = Home::new();
    let [one, two, three] =
        ["one", "two", "three"].map(|name| shared(&home, name, "bits = 8", &[1, 2, 3], &[200, 1, 1]));
    check(&home, "205", &[&one], json!(true));
    assert_eq!(files(&home.at("one")).len(), 4);
    let mark = files(&home.at("one")).into_iter().find(|file| file.starts_with("a.json.")).unwrap();
    assert!(text(home.at(&format!("one/{mark}"))).contains("\"opening\""));
    for job in [opening("at_least:206", BOTH), opening("open", "[\"a\"]"), opening("sum", "[\"b\"]")] {
        open(&home, &job, &[("a", &one[0]), ("b", &one[1])]).failed(2, &[".json", "opened before", "comparison"]);
    }
    // Nor after it was opened, nor with one that was.
    open(&home, &opening("open", "[\"a\"]"), &[("a", &two[0]), ("b", &two[1])]).well();
    compare(&home, "1", &[&two]).failed(2, &["two/", "opened before"]);
    compare(&home, "1", &[&three, &two]).failed(2, &["two/", "opened before"]);
    assert_eq!(files(&home.at("three")), ["a.json", "b.json"]);
    check(&home, "206", &[&three], json!(false));
}

#[test]
fn moduli_that_cannot_hold_a_comparison_are_refused_with_one_that_can() {
    let home = Home::new();
    let (ten, ones) = (vec![vec![1; 10]], vec![vec![1; 10]]);
    for (modulus, words) in [
        ("1000003", ["1000003", "no power of two", "leave `modulus` out", "\"2^5\""]),
        ("16", ["(0 to 10)", "and it is 16", "leave `modulus` out", "\"2^5\""]),
        // Not even the number itself.
        ("8", ["(0 to 10)", "and it is 8", "leave `modulus` out", "\"2^5\""]),
    ] {
        let rest = format!("modulus = \"{modulus}\"");
        let shares = matrix(&home, &format!("modulus{modulus}"), &rest, 0, &ten, &ones);
        compare(&home, "5", &[&shares]).failed(2, &[&[".json"], &words[..]].concat());
        assert_eq!(files(&home.at(&format!("modulus{modulus}"))), ["a.json", "b.json"]);
    }
    // What holds one number may not hold a sum.
    let runs = ["one", "two"].map(|name| matrix(&home, name, "modulus = \"32\"", 0, &ten, &ones));
    let ended = compare(&home, "5", &[&runs[0], &runs[1]]);
    ended.failed(2, &["the sums of these files", "(0 to 20)", "\"2^6\""]);
    check(&home, "10", &[&runs[0]], json!(true));
    // In the units of the value.
    let rest = "bits = 4\nsigned = true\nmodulus = \"2^10\"";
    let shares = matrix(&home, "decimals", rest, 1, &vec![vec![-8; 5]], &vec![vec![7; 5]]);
    compare(&home, "-2.8", &[&shares]).failed(2, &["(-2.8 to 3.2)", "and it is 1024", "\"2^11\""]);
}

#[test]
fn what_the_numbers_of_rows_say_alone_is_told_so() {
    for (threshold, word) in [("4", "cannot be at least 4"), ("0", "are all at least 0")] {
        let home = Home::new();
        let shares = shared(&home, "shares", "", &[1, 1, 1], &[1, 1, 1]);
        let ended = compare(&home, threshold, &[&shares]).well();
        assert!(ended.stderr.contains(word) && ended.stderr.contains("(0 to 3)"), "{}", ended.stderr);
    }
}

#[test]
fn jobs_that_make_no_sense_are_refused_with_what_would() {
    let home = Home::new();
    let shares = shared(&home, "shares", "", &[1, 1], &[1, 1]);
    let inputs = [("a", &*shares[0]), ("b", &*shares[1])];
    for operation in ["at_least:", "at_least:ten", "at_least:1e3", "at_least:+1", "at_least:1.", "at_least:1 "] {
        open(&home, &opening(operation, BOTH), &inputs).failed(2, &["operation", operation, "\"at_least:100\""]);
    }
    for operation in ["at_least", "at_most:3", "atleast:3"] {
        open(&home, &opening(operation, BOTH), &inputs).failed(2, &[operation, "is unknown", "\"at_least:N\""]);
    }
    let text = opening("at_least:1", BOTH);
    for (job, words) in [
        (opening("at_least:1", "[\"b\"]"), ["reveal_to", "both"]),
        (text.clone() + "[limits]\nmin_result = 3\n", ["limits.min_result", "leave it out"]),
        (format!("protocol = \"open\"\n{text}"), ["\"open\"", "\"ot\""]),
        (format!("protocol = \"lattice\"\n{text}"), ["\"lattice\"", "\"ot\""]),
        (format!("protocol = \"ot\"\n{}", opening("sum", BOTH)), ["\"ot\"", "\"open\""]),
        (format!("security = \"malicious\"\n{text}"), ["malicious", "semi-honest"]),
        (format!("extension = \"softspoken-8\"\n{text}"), ["extension", "leave it out"]),
        (text.replace("operation = \"at_least:1\"", ""), ["operation", "\"at_least:N\""]),
        (job("").replace("[\"a\", ", "[").replace("parties.a", "parties.at_least"), ["at_least", "another name"]),
    ] {
        open(&home, &job, &inputs).failed(2, &words);
    }
    // None of that has opened anything.
    assert_eq!(files(&home.at("shares")), ["a.json", "b.json"]);
    open(&home, &format!("protocol = \"ot\"\n{text}"), &inputs).well();
}

#[test]
fn a_threshold_is_a_term_in_one_form() {
    let terms = |threshold: &str| {
        let job = JobSpec::parse(&opening(&format!("at_least:{threshold}"), BOTH), false).unwrap();
        Terms::of(&job)
    };
    assert_eq!(terms("100").json()["operation"], "at_least:100");
    assert_eq!(terms("-0.50").json()["operation"], "at_least:-0.5");
    for same in ["100.0", "0100", "100.000"] {
        assert_eq!(terms(same).agreement(), terms("100").agreement());
    }
    let other = terms("100.01");
    assert_ne!(other.agreement(), terms("100").agreement());
    let differences = terms("100").differences(&other).join(", ");
    assert!(differences.contains("operation") && differences.contains("at_least:100.01"), "{differences}");
}

#[test]
fn what_the_plan_says_is_what_the_run_does() {
    costs_what_the_plan_says(5, [6, 7]);
}

#[test]
#[ignore = "slow: 600 numbers, and one number more often"]
fn every_plan_is_what_the_run_does() {
    costs_what_the_plan_says(usize::MAX, [20, 30]);
}

/// Compares under the first `number` thresholds, the numbers of `sides` columns among them.
fn costs_what_the_plan_says(number: usize, sides: [usize; 2]) {
    let home = Home::new();
    let one = |name: &str, rest: &str| vec![shared(&home, name, rest, &[1, 1, 0, 1], &[1, 0, 1, 1])];
    let (a, b) = (columns(5, sides[0], 30, 6), columns(6, sides[1], 30, 6));
    let shares_of = |case: usize| match case {
        0 => ("2", one("tight", "modulus = \"2^4\"")),
        1 => ("1", vec![shared(&home, "bit", "", &[1], &[1])]),
        2 => ("123.4", one("long", "bits = 32\nsigned = true")),
        3 => ("7", [one("first", "bits = 9"), one("second", "bits = 9"), one("third", "bits = 9")].concat()),
        4 => ("-100", vec![matrix(&home, "matrix", "bits = 6\nsigned = true", 2, &a, &b)]),
        5 => ("2", one("bits", "")),
        _ => ("2", vec![shared(&home, "single", "", &[1], &[1])]),
    };
    for (threshold, runs) in (0..number.min(7)).map(shares_of) {
        let job = home.file("plan.toml", &opening(&format!("at_least:{threshold}"), BOTH));
        let inputs = |party: usize| runs.iter().map(move |files| format!("{}={}", ["a", "b"][party], files[party]));
        let inputs: Vec<_> = (0..2).flat_map(inputs).collect();
        let named = inputs.iter().flat_map(|input| ["--input", input]);
        let planned = tacita(&["plan", &job, "--json"].into_iter().chain(named).collect::<Vec<_>>()).well();
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        compare(&home, threshold, &runs.iter().collect::<Vec<_>>()).well();
        let report = json(home.at("report.json"));
        for party in ["a", "b"] {
            let (share, ran) = (&planned["parties"][party], &report["parties"][party]);
            assert_eq!(share["bytes_sent"], ran["bytes"]["sent"], "{threshold} {party}");
            assert_eq!(share["learned"], ran["learned"], "{threshold} {party}");
            assert_eq!(planned["rounds"], ran["rounds"], "{threshold}");
            assert_eq!((&planned["protocol"], &planned["choice"]), (&ran["protocol"], &ran["choice"]));
        }
    }
    // Without the files, from above.
    let job = home.file("plan.toml", &opening("at_least:100", BOTH));
    let planned = tacita(&["plan", &job, "--rows", "a=6", "--rows", "b=6"]).well().stdout;
    for words in ["ot softspoken-8", "modulo 2^64 are assumed", "each of the 6 numbers", "whether it is at least 100."]
    {
        assert!(planned.contains(words), "{planned}");
    }
    tacita(&["plan", &job, "--rows", "a=6", "--rows", "b=7"]).failed(2, &["6 and 7", "equally many"]);
}

/// The same for openings, whose bytes depend on the shares' modulus.
#[test]
fn plans_of_openings_know_the_modulus() {
    let home = Home::new();
    for (operation, rest) in [("open", "modulus = \"1000003\""), ("sum", "bits = 32\nsigned = true"), ("open", "")] {
        let runs = ["one", "two"].map(|name| {
            let name = format!("{name}-{operation}-{}", rest.len());
            shared(&home, &name, rest, &[1, 1], &[1, 1])
        });
        let inputs = [("a", &*runs[0][0]), ("a", &*runs[1][0]), ("b", &*runs[0][1]), ("b", &*runs[1][1])];
        let job = home.file("plan.toml", &opening(operation, "[\"a\"]"));
        let named: Vec<_> = inputs.iter().map(|(party, file)| format!("{party}={file}")).collect();
        let named = named.iter().flat_map(|input| ["--input", input]);
        let planned = tacita(&["plan", &job, "--json"].into_iter().chain(named).collect::<Vec<_>>()).well();
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        open(&home, &opening(operation, "[\"a\"]"), &inputs).well();
        let report = json(home.at("report.json"));
        for party in ["a", "b"] {
            assert_eq!(
                planned["parties"][party]["bytes_sent"], report["parties"][party]["bytes"]["sent"],
                "{operation}"
            );
        }
    }
}

#[test]
fn two_parties_compare_what_an_earlier_run_has_left() {
    let terms =
        "job = \"dot\"\nid = \"shared\"\nreveal = \"shares\"\nreveal_to = [\"hospital\"]\ncolumn = \"x\"\nbits = 10\n";
    let pair = Pair::new(terms);
    pair.table("hospital", "x\n10\n20\n30\n");
    pair.table("insurer", "x\n1\n2\n3\n");
    let both = |input: &str, output: &str, more: [&str; 2]| -> [Ended; 2] {
        let running = NAMES.map(|name| {
            let input = if input == "csv" { pair.home.at(&format!("{name}.csv")) } else { pair.out(name, input) };
            let more = if more[0].is_empty() { &[][..] } else { &more[..] };
            pair.start_on(name, &["--input", &input, "--force", "--output", &pair.out(name, output)], more)
        });
        running.map(|running| running.end())
    };
    for ended in both("csv", "share.json", [""; 2]) {
        ended.well();
    }
    let values = NAMES.map(|name| json(pair.out(name, "share.json"))["values"][0].as_str().unwrap().to_owned());

    // Of another mind about the threshold: nothing is opened.
    let asked = |threshold: &str| {
        let names = format!("[\"{}\", \"{}\"]", NAMES[0], NAMES[1]);
        pair.job(&format!(
            "job = \"shares\"\nid = \"compared\"\noperation = \"at_least:{threshold}\"\nreveal_to = {names}\n"
        ))
    };
    for (name, threshold) in NAMES.into_iter().zip(["140", "141"]) {
        pair.home.file(&format!("{name}.toml"), &asked(threshold));
    }
    for ended in both("share.json", "answer.csv", [""; 2]) {
        ended.failed(5, &["operation", "at_least:140", "at_least:141"]);
    }
    for name in NAMES {
        assert_eq!(files(&pair.home.at(&format!("{name}.out"))), ["report.json", "share.json"]);
        pair.home.file(&format!("{name}.toml"), &asked("140"));
    }

    let ended = both("share.json", "answer.csv", ["--log", "json"]).map(Ended::well);
    for ((name, ended), value) in NAMES.into_iter().zip(&ended).zip(&values) {
        assert_eq!(ended.stdout, "at_least true\n");
        assert_eq!(text(pair.out(name, "answer.csv")), "at_least\ntrue\n");
        let report = text(pair.out(name, "report.json"));
        assert!(report.contains("whether the number in the shares is at least 140."), "{report}");
        // 140 is the number itself, and the threshold: the share shows where it must not be.
        assert!(!report.contains(value.as_str()) && !ended.stderr.contains(value.as_str()));
        assert_eq!(files(&pair.home.at(&format!("{name}.out"))).len(), 4);
    }
    for ended in both("share.json", "answer.csv", ["--timeout", "2s"]) {
        ended.failed(2, &["opened before"]);
    }
}
