//! Tests of refusals, warnings and bounds of a job.

use super::*;

/// Said by the party whose item it is, before anything is counted. The bound is a part of the terms.
#[test]
fn an_item_in_more_rows_than_the_density_allows_is_refused() {
    let home = Home::new();
    let baskets = sample(60);
    let [a, b] = tables(&home, &baskets, "|", false);
    let count = |item: &String| baskets.iter().filter(|basket| basket.contains(item)).count();
    let most = baskets.iter().flatten().map(count).max().unwrap();
    let named = |density: String, rest: &str| {
        let terms = "min_support = 20\nmin_confidence = 0.55\nlevel = \"paper80\"\nprotocol = \"gm-bloom\"";
        job(&format!("{terms}\n{rest}\ndensity = \"{density}\""))
    };
    let density = |rows: usize| format!("{}e-4", rows * 10_000 / 60);
    let truth = mined(&baskets, Asked { minimum: 20, ..ASKED });
    let good = named(density(most), "reveal = \"counts\"");
    let report = check(&home, &good, [&a, &b], &["--allow-insecure"], &truth);
    assert!(report["parties"]["a"]["learned"].to_string().contains("the agreed density"), "{report}");
    let bad = named(density(most - 1), "reveal = \"counts\"");
    let ended = attempt(&home, &bad, [&a, &b], "bad", &["--allow-insecure"]);
    ended.failed(2, &[&format!("in {most} of 60 rows"), &format!("allows {}", most - 1), "higher density"]);
    assert!(!Path::new(&home.at("bad/a.csv")).exists());
    let other = job("min_support = 20\nprotocol = \"paillier\"\nreveal = \"counts\"\ndensity = 0.5");
    attempt(&home, &other, [&a, &b], "bad", &[]).failed(2, &["density", "gm-bloom"]);
    attempt(&home, &named("1".into(), "reveal = \"frequent\""), [&a, &b], "bad", &["--allow-insecure"])
        .failed(2, &["gm-bloom", "reveal = \"counts\""]);
}

/// Checks the case of a party that brings one id and no item. It would learn all that the other has in that row, if a
/// part of the rows is enough.
#[test]
fn a_part_of_few_common_rows_is_warned_of_and_can_be_refused() {
    let shop = "tid,items\n1,bread|tea|wine\n2,bread\n3,tea\n4,bread|tea\n";
    let bait = "tid,items\n1,\n77,x\n";
    let part = "min_support = \"30%\"\nrow_id = \"tid\"";
    for ended in errors(&format!("{part}\nlimits = {{ min_rows = 2 }}"), [shop, bait], &[]) {
        let line = ended.failed(2, &["1 row in common", "limits.min_rows is 2", "nothing was counted"]);
        assert!(!line.contains("stopped") && !ended.stderr.contains("warning"), "{}", ended.stderr);
    }
    // As before without the limit, with a warning; none where a number of rows is asked for.
    let home = Home::new();
    let inputs = [home.file("a.csv", shop), home.file("b.csv", bait)];
    let inputs = [inputs[0].as_str(), inputs[1].as_str()];
    let ended = attempt(&home, &job(part), inputs, "out", &[]).well();
    assert!(ended.stderr.contains("warning: b: min_support is a fraction of the common rows"), "{}", ended.stderr);
    let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
    assert!(learned.contains("at least 0.3 of the rows that both have") && !learned.contains("all rows"), "{learned}");
    assert!(learned.contains("b can learn all that a has in one row if it brings that row alone"), "{learned}");
    let rows = "min_support = 2\nrow_id = \"tid\"\nlimits = { min_rows = 1 }";
    let ended = attempt(&home, &job(rows), inputs, "out", &[]).well();
    assert!(!ended.stderr.contains("a fraction of the common rows"), "{}", ended.stderr);
    let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
    assert!(
        learned.contains("The run ends before anything is counted if the two have fewer than 1 row in common"),
        "{learned}"
    );
    let planned = tacita(&["plan", &home.file("job.toml", &job(part)), "--rows", "a=90", "--rows", "b=90"]).well();
    assert!(planned.stdout.contains("in fewer, if they have fewer"), "{}", planned.stdout);
    let odd = job("min_support = 2\nlimits = { min_rows = 3, max_rows = 2 }");
    attempt(&home, &odd, inputs, "no", &[]).failed(2, &["min_rows = 3", "max_rows = 2"]);
}

/// `mixed_only` withholds the other's itemsets, but not from who brings an item that all rows hold; and counts of two
/// items that differ in one row tell of that row.
#[test]
fn an_item_in_all_rows_or_two_that_differ_in_one_tell_what_the_sentences_say() {
    let home = Home::new();
    let a = home.file("a.csv", "items\nbread|tea\nbread\nbread|tea\nwine\n");
    let b = home.file("b.csv", "items\nall|but\nall|but\nall\nall|but\n");
    attempt(&home, &job("min_support = 2\nmixed_only = true"), [&a, &b], "out", &[]).well();
    let rows = rows_of(home.at("out/b.itemsets.csv"));
    let count = |items: &str| rows.iter().find(|row| row["items"] == items).map(|row| row["count"].clone());
    assert_eq!(count("all|bread|tea").as_deref(), Some("2"), "bread and tea are a's alone: {rows:?}");
    // The third row holds bread.
    assert_eq!((count("all|bread").as_deref(), count("bread|but").as_deref()), (Some("3"), Some("2")));
    let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
    for words in [
        "b learns all of a's frequent itemsets if one item of b's is in every row",
        "from two items of b's that differ only in that row",
    ] {
        assert!(learned.contains(words), "{learned}");
    }
}

#[test]
fn an_explosion_ends_with_its_numbers_and_a_suggestion() {
    let home = Home::new();
    let baskets = sample(60);
    let [a, b] = tables(&home, &baskets, "|", false);
    for (limit, words) in [
        (24, ["25 mixed candidates of 2 items", "max_candidates is 24", "higher min_support"]),
        (4, ["5 own items are frequent", "max_candidates is 4", "higher max_candidates"]),
    ] {
        let job = job(&format!("min_support = 1\nmax_candidates = {limit}"));
        attempt(&home, &job, [&a, &b], "no", &[]).failed(2, &words);
        assert_eq!(files(&home.at("no")), [""; 0]);
    }
    attempt(&home, &job("min_support = 1"), [&a, &b], "no", &["--memory", "100MiB"]).failed(2, &["memory"]);
}

/// The two parties' errors: of a job with these lines, on these tables.
fn errors(lines: &str, tables: [&str; 2], more: &[&str]) -> [Ended; 2] {
    let pair = Pair::new(&format!("job = \"rules\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\n{lines}"));
    NAMES.iter().zip(tables).for_each(|(name, table)| pair.table(name, table));
    let ended = NAMES.map(|name| pair.start(name, more)).map(Running::end);
    for name in NAMES {
        assert!(!files(&pair.home.at(&format!("{name}.out"))).iter().any(|file| file.contains("rows")));
    }
    ended
}

/// Fourteen items that are in every row make 4.8 million rules.
#[test]
fn too_many_rules_end_the_run_at_both_parties() {
    let baskets = |letter: &str| {
        let basket: Vec<String> = (0..7).map(|item| format!("{letter}{item}")).collect();
        format!("items\n{}", format!("{}\n", basket.join("|")).repeat(20))
    };
    let tables = [baskets("a"), baskets("b")];
    let tables = [tables[0].as_str(), tables[1].as_str()];
    for mixed_only in [false, true] {
        let lines = format!("min_support = 2\nconsequents = \"any\"\nmixed_only = {mixed_only}");
        for ended in errors(&lines, tables, &[]) {
            ended.failed(2, &["more than 250000 rules", "max_rules is 250000", "higher min_confidence", "\"single\""]);
        }
        for ended in errors(&format!("{lines}\nmax_rules = 10\nmax_len = 3"), tables, &[]) {
            ended.failed(2, &["more than 10 rules", "max_rules is 10", "lower max_len"]);
        }
    }
    for ended in errors("min_support = 2\nmax_candidates = 6\nmax_len = 1", tables, &[]) {
        ended.failed(2, &["7 own items are frequent", "max_candidates is 6"]);
    }
    // So many rules are allowed for.
    let home = Home::new();
    let inputs = [home.file("a.csv", tables[0]), home.file("b.csv", tables[1])];
    let many = job("min_support = 2\nmax_rules = 100_000_000");
    attempt(&home, &many, [&inputs[0], &inputs[1]], "no", &["--memory", "8GiB"])
        .failed(2, &["GB of memory", "--memory allows 8.6 GB"]);
}

#[test]
fn jobs_that_make_no_sense_are_refused_with_what_would() {
    let home = Home::new();
    let a = home.file("a.csv", "items\nx\n");
    let support = "min_support = 2";
    for (rest, words) in [
        ("", ["min_support", "missing"]),
        ("min_support = 1.0", ["min_support = 1.0", "one row, or all of them"]),
        ("min_support = 1.5", ["min_support = 1.5", "0.01"]),
        ("min_support = 0", ["min_support = 0", "rows"]),
        ("min_support = \"a few\"", ["a few", "1%"]),
        ("min_support = [1]", ["line 4", "a number"]),
        (&format!("{support}\nmin_confidence = 2"), ["min_confidence = 2", "0 to 1"]),
        (&format!("{support}\nmax_len = 0"), ["max_len = 0", "1 or more"]),
        (&format!("{support}\nmax_candidates = 0"), ["max_candidates", "1 to"]),
        (&format!("{support}\nmax_rules = 0"), ["max_rules", "1 to"]),
        (&format!("{support}\nconsequents = \"many\""), ["many", "\"any\""]),
        (&format!("{support}\nitems = \"bought\""), ["items", "a list of columns"]),
        (&format!("{support}\nitems = []"), ["items", "\"*\""]),
        (&format!("{support}\nitems = [\"x\", \"x\"]"), ["items", "twice"]),
        (&format!("{support}\nitems = {{ column = \"x\", separator = \"\" }}"), ["separator", "empty"]),
        (&format!("{support}\nitems = [\"x\"]\nrow_id = \"x\""), ["items", "row_id"]),
        (&format!("{support}\nbins = {{ x = 1 }}"), ["bins.x", "ascending"]),
        (&format!("{support}\nbins = {{ x = [2, 1] }}"), ["bins.x", "ascending"]),
        (&format!("{support}\nsecurity = \"malicious\""), ["malicious", "semi-honest"]),
        (&format!("{support}\nprotocol = \"ecdh\""), ["\"ecdh\"", "\"ot\""]),
        (
            &format!("{support}\nprotocol = \"lattice\"\nextension = \"softspoken-4\""),
            ["extension", "no oblivious transfers"],
        ),
        (&format!("{support}\nreveal = \"value\""), ["\"value\"", "\"frequent\""]),
        (&format!("{support}\nextension = \"silent\""), ["silent", "softspoken-8"]),
        (&format!("{support}\nlimits = {{ min_result = 5 }}"), ["min_result", "\"dot\""]),
        (&format!("{support}\nlimits = {{ pad_to = 5 }}"), ["pad_to", "position"]),
        (&format!("{support}\nbits = 2"), ["bits", "\"dot\""]),
        (&format!("{support}\ngives = {{ a = [\"x\"] }}"), ["gives", "\"intersect\""]),
    ] {
        let ended = attempt(&home, &job(rest), [&a, &a], "no", &[]);
        assert_eq!(ended.code, 2, "{rest}");
        ended.failed(2, &words);
    }
    let one = job(support).replace("[\"a\", \"b\"]", "[\"a\"]");
    attempt(&home, &one, [&a, &a], "no", &[]).failed(2, &["reveal_to", "name both"]);
    let mapped = format!("{}columns = {{ y = \"z\" }}\n", job(support));
    attempt(&home, &mapped, [&a, &a], "no", &[]).failed(2, &["parties.b.columns", "in items"]);
    let other = "job = \"dot\"\nid = \"t\"\nreveal_to = [\"a\"]\nmin_support = 2\n[parties.a]\n[parties.b]\n";
    attempt(&home, other, [&a, &a], "no", &[]).failed(2, &["min_support", "\"rules\""]);
}

/// A customer's number in each basket: as bit sets, all of them would take gigabytes.
#[test]
fn many_items_take_no_memory_before_they_are_counted() {
    let rows = 60_000;
    let wide: String = (0..rows).map(|row| format!("customer {row}|all\n")).collect();
    let tables = [format!("items\n{wide}"), format!("items\n{}", "x\n".repeat(rows))];
    let tables = [tables[0].as_str(), tables[1].as_str()];
    let [one, other] = errors("min_support = 1\nmax_candidates = 50_000", tables, &[]);
    one.failed(2, &["60001 own items are frequent", "max_candidates is 50000", "higher min_support"]);
    other.failed(2, &["more than 50000 items of hospital are frequent", "max_candidates is 50000"]);
    let [one, other] = errors("min_support = 1", tables, &["--memory", "1000MB"]);
    one.failed(2, &["60,001 items of this party are in at least 1 row", "450 MB", "--memory allows 1.0 GB"]);
    assert_eq!(other.code, 3, "{}", other.stderr);
    // Rare ones cost nothing.
    let home = Home::new();
    let inputs = [home.file("a.csv", tables[0]), home.file("b.csv", tables[1])];
    let job = job("min_support = 2");
    attempt(&home, &job, [&inputs[0], &inputs[1]], "out", &["--memory", "1000MB"]).well();
    let peak = json(home.at("report.json"))["parties"]["a"]["peak_memory"].as_u64().unwrap();
    assert!(peak < 200 << 20, "{peak}");
}
