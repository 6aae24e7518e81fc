//! Shares, and jobs that open them.

use super::*;

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
        &crate::common::dot::job("bits = 8").replace("[\"a\", \"b\"]", "[\"b\"]"),
        [&table(&home, "a.csv", [0]), &table(&home, "b.csv", [9])],
        "out",
        &[],
    );
    assert!(
        ran["parties"]["a"]["learned"][0]
            .as_str()
            .unwrap()
            .contains("those with a column of zeros, or over no rows, are 0"),
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
        pair.start_on(name, &["--input", &input, "--force", "--output", &output], &["--timeout", "3s"])
    };
    let running = NAMES.map(run);
    running.into_iter().for_each(|running| drop(running.end().well()));
    let kept = text(pair.out("hospital", "share.json"));
    run("hospital").end().failed(2, &["share.json", "an unopened share"]);
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
