//! Counts and sums.

use super::*;

#[test]
fn a_count_goes_to_a_file_and_stays_hidden_below_its_limit() {
    for (limit, line, row, result) in
        [(2, "count 2\n", "count\n2\n", json!({"count": 2})), (3, "count below 3\n", "below\n3\n", json!({"below": 3}))]
    {
        let terms = TERMS
            .replace("[key]", "reveal = \"count\"\n[key]")
            .replace("[limits]", &format!("[limits]\nmin_result = {limit}"));
        let pair = Pair::new(&terms);
        pair.table("hospital", PATIENTS);
        pair.table("insurer", INSURED);
        let running = NAMES.map(|name| pair.start(name, &[]));
        for (name, ended) in NAMES.into_iter().zip(running.map(Running::end)) {
            assert_eq!(ended.well().stdout, line);
            assert_eq!(text(pair.out(name, "rows.csv")), row);
            assert_eq!(json(pair.out(name, "report.json"))["result"], result);
        }
    }
}

/// Terms of a sum of the insurer's `cost`.
fn sum_terms(head: &str, limits: &str) -> String {
    TERMS
        .replace(
            "[key]",
            &format!("reveal = \"sum:cost\"\ngives = {{ insurer = [\"cost\", \"payer\"] }}\n{head}\n[key]"),
        )
        .replace("[limits]", &format!("[limits]\n{limits}"))
}

/// Two rows of one key, one of them negative; an absent number; a row without a key, and rows that are not common, of
/// which one has a large number.
const COSTS: &str =
    "name,payer,cost\njane doe,acme,12.50\nJANE DOE,b,-0.125\nMajor Mary,c,\n,d,junk\nNobody,e,1000000000000\n";

#[test]
fn a_sum_is_exact_over_all_rows_of_common_keys() {
    sums_are_exact(false);
}

#[test]
#[ignore = "slow: with no scale or limit, too"]
fn all_sums_are_exact_over_all_rows_of_common_keys() {
    sums_are_exact(true);
}

/// Without `all`, each sum has a scale, a limit, or first rows alone.
fn sums_are_exact(all: bool) {
    for (more, limits, line, row, result) in [
        ("", "", "count 2, sum 12.375\n", "count,sum\n2,12.375\n", json!({"count": 2, "sum": 12.375})),
        (
            "scale = 3",
            "pad_to = 9",
            "count 2, sum 12.375\n",
            "count,sum\n2,12.375\n",
            json!({"count": 2, "sum": 12.375}),
        ),
        ("first", "", "count 2, sum 12.5\n", "count,sum\n2,12.5\n", json!({"count": 2, "sum": 12.5})),
        ("", "min_result = 2", "count 2, sum 12.375\n", "count,sum\n2,12.375\n", json!({"count": 2, "sum": 12.375})),
        ("", "min_result = 3", "count or sum below 3\n", "below\n3\n", json!({"below": 3})),
    ] {
        if !all && more.is_empty() && limits.is_empty() {
            continue;
        }
        let terms = match more {
            "first" => sum_terms("", limits).replace("normalize", "duplicates = \"first\"\nnormalize"),
            more => sum_terms(more, limits),
        };
        let pair = Pair::new(&terms);
        // Two rows of one key count once.
        pair.table("hospital", &format!("{PATIENTS}Jane Doe,9\n"));
        pair.table("insurer", COSTS);
        let running = NAMES.map(|name| pair.start(name, &[]));
        for (name, ended) in NAMES.into_iter().zip(running.map(Running::end)) {
            let ended = ended.well();
            assert_eq!(ended.stdout, line);
            let warned = ended.stderr.contains("1 row with a key adds nothing to the sum");
            assert_eq!(warned, name == "insurer", "{}", ended.stderr);
            assert_eq!(text(pair.out(name, "rows.csv")), row);
            let report = json(pair.out(name, "report.json"));
            assert_eq!((&report["result"], &report["protocol"]), (&result, &json!("ecdh")));
        }
    }
}

/// Three rows with common keys, of which one has no cost and one no days.
#[test]
fn several_columns_have_sums_and_means_of_their_own() {
    let table = "name,cost,days\njane doe,12.50,\nJANE DOE,-2.25,4\nMajor Mary,,-1\nNobody,7,7\n";
    for (reveal, line, row, result) in [
        (
            "sum:days,cost",
            "count 2, sum of days 3, sum of cost 10.25\n",
            "count,sum_days,sum_cost\n2,3,10.25\n",
            json!({"count": 2, "sum": {"days": 3, "cost": 10.25}}),
        ),
        (
            "mean:cost",
            "count 2, sum 10.25, values 2, mean 5.125\n",
            "count,sum,values,mean\n2,10.25,2,5.125\n",
            json!({"count": 2, "sum": 10.25, "values": 2, "mean": 5.125}),
        ),
    ] {
        let terms = sum_terms("", "").replace("sum:cost", reveal).replace("\"payer\"", "\"days\"");
        let pair = Pair::new(&terms);
        pair.table("hospital", PATIENTS);
        pair.table("insurer", table);
        let running = NAMES.map(|name| pair.start(name, &[]));
        for (name, ended) in NAMES.into_iter().zip(running.map(Running::end)) {
            let ended = ended.well();
            assert_eq!(ended.stdout, line);
            let of_mean = ended.stderr.contains("adds nothing to the sum nor to the number of values");
            assert_eq!(of_mean, name == "insurer" && reveal == "mean:cost", "{}", ended.stderr);
            assert_eq!(text(pair.out(name, "rows.csv")), row);
            assert_eq!(json(pair.out(name, "report.json"))["result"], result);
        }
    }
}

#[test]
fn a_small_sum_is_hidden_as_a_small_count_is_and_only_learners_hear_of_either() {
    for (cost, line) in [("2", "count or sum below 2\n"), ("2.25", "count 2, sum 2\n")] {
        let terms = sum_terms("", "min_result = 2")
            .replace("reveal_to = [\"hospital\", \"insurer\"]", "reveal_to = [\"hospital\"]");
        let pair = Pair::new(&terms);
        pair.table("hospital", PATIENTS);
        pair.table("insurer", &format!("name,cost\njane doe,{cost}\nmary major,-0.25\n"));
        let running = NAMES.map(|name| pair.start(name, &[]));
        let [hospital, insurer] = running.map(|running| running.end().well().stdout);
        assert_eq!((hospital.as_str(), insurer.as_str()), (line, ""));
        assert_eq!(files(&pair.home.at("insurer.out")), ["report.json"]);
        assert_eq!(json(pair.out("insurer", "report.json"))["result"], Value::Null);
    }
}

#[test]
fn numbers_that_cannot_be_added_end_both_sides_with_a_line_that_shows_none() {
    for (more, cost, words) in [
        ("", "12,5", ["line 2", "no number"]),
        ("scale = 1", "12.75", ["line 2", "scale"]),
        ("", "0.12345678901", ["line 2", "round it"]),
        ("", "99999999999999999999", ["line 2", "too large"]),
    ] {
        let pair = Pair::new(&sum_terms(more, ""));
        pair.table("hospital", PATIENTS);
        pair.table("insurer", &format!("name,cost\njane doe,\"{cost}\"\n"));
        let running = NAMES.map(|name| pair.start(name, &[]));
        let [hospital, insurer] = running.map(Running::end);
        let line = insurer.failed(2, &[&["insurer.csv", "\"cost\""][..], &words].concat());
        assert!(!line.contains(cost), "{line}");
        let line = hospital.failed(3, &["insurer"]);
        assert!(!line.contains("cost"), "{line}");
        assert!(!hospital.stderr.contains(cost), "{}", hospital.stderr);
    }
}

#[test]
fn flags_alone_describe_a_sum() {
    let pair = small();
    pair.table("insurer", COSTS);
    let at = |name: &str| pair.home.at(name);
    let common = |me: &str, peer: &str| {
        let (identity, input) = (at(me), at(&format!("{me}.csv")));
        let words = ["--peer", pair.fingerprint(peer), "--identity", &identity, "--input", &input, "--key", "name"];
        let more = ["--normalize", "name", "--reveal", "sum:cost"];
        words.into_iter().chain(more).map(str::to_owned).collect::<Vec<_>>()
    };
    let start = |common: &[String], own: &[&str]| {
        let words: Vec<_> = ["intersect"].into_iter().chain(common.iter().map(String::as_str)).collect();
        Running::start(&[&words, own].concat())
    };
    let (one, other) = (common("hospital", "insurer"), common("insurer", "hospital"));
    let listener = start(&one, &["--listen", &pair.address, "--receiver", "me", "--peer-gives", "cost"]);
    let dialer = start(&other, &["--connect", &pair.address, "--receiver", "peer", "--gives", "cost"]);
    assert_eq!(listener.end().well().stdout, "count 2, sum 12.375\n");
    assert_eq!(dialer.end().well().stdout, "");
}
