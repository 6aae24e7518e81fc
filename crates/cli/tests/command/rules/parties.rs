//! Two processes, their files, plans and pages.

use super::*;

#[test]
fn nobody_poses_as_the_other_party() {
    let home = Home::new();
    let a = home.file("a.csv", "items\nb.cheese\nb.cheese\n");
    let b = home.file("b.csv", "items\nrum\nrum\n");
    attempt(&home, &job("min_support = 2"), [&a, &b], "out", &[]).well();
    let names: Vec<String> = rows_of(home.at("out/b.itemsets.csv")).iter().map(|row| row["items"].clone()).collect();
    assert_eq!(names, ["a.b.cheese", "b.rum", "a.b.cheese|b.rum"]);
    let turned = home.file("turned.csv", "items\nx\nx\u{202e}y\n");
    attempt(&home, &job("min_support = 1"), [&turned, &b], "no", &[]).failed(2, &["turned.csv, line 3", "direction"]);
}

const TERMS: &str = "job = \"rules\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\nmin_support = 0.5\nmin_confidence = 0.6\n";

#[test]
fn two_parties_run_a_job() {
    let pair = Pair::new(TERMS);
    pair.table("hospital", "items\nx|y\nx\nx|y\ny\n");
    pair.table("insurer", "items\np\np|q\np\nq\n");
    let running = NAMES.map(|name| pair.start(name, &[]));
    for ended in running.map(|party| party.end().well()) {
        assert_eq!(ended.stdout, "itemsets 8, rules 9\n");
    }
    for name in NAMES {
        assert_eq!(
            text(pair.out(name, "rows.itemsets.csv")),
            "items,count,support\np,3,0.75\nx,3,0.75\ny,3,0.75\nq,2,0.5\np|x,3,0.75\np|y,2,0.5\nx|y,2,0.5\np|x|y,2,0.5\n"
        );
        assert_eq!(json(pair.out(name, "report.json"))["result"], json!({"itemsets": 8, "rules": 9}));
    }
}

#[test]
fn thresholds_are_compared_as_numbers_and_differences_are_named() {
    let run = |theirs: &str| {
        let pair = Pair::new(TERMS);
        pair.home.file("insurer.toml", &pair.job(&TERMS.replace("0.5", theirs)));
        NAMES.iter().for_each(|name| pair.table(name, &format!("items\n{name}\n\"\"\n")));
        NAMES.map(|name| pair.start(name, &[])).map(Running::end)
    };
    run("\"50%\"").into_iter().for_each(|ended| drop(ended.well()));
    for ended in run("0.51") {
        ended.failed(5, &["min_support", "0.5", "0.51"]);
    }
}

#[test]
fn files_that_cannot_be_written_leave_nothing_and_the_numbers_are_printed() {
    let pair = Pair::new(TERMS);
    NAMES.iter().for_each(|name| pair.table(name, &format!("items\n{name}\n\"\"\n")));
    std::os::unix::fs::symlink("/dev/full", pair.out("hospital", "rows.csv")).unwrap();
    let running = NAMES.map(|name| pair.start(name, &[]));
    let [one, other] = running.map(Running::end);
    one.failed(2, &["rows.csv", "cannot be written"]);
    assert!(!one.stderr.contains("not written"), "{}", one.stderr);
    let other = other.well();
    assert_eq!(one.stdout, other.stdout);
    // Before anything is sent, it says what each party learns; and in the end, all that it wrote.
    let (said, agreed) = other.stderr.split_once("agreed with").unwrap();
    for name in NAMES {
        assert!(said.contains(&format!("{name} learns all itemsets that are in at least 0.5 of all rows")), "{said}");
    }
    assert!(agreed.contains("rows.csv, ") && agreed.contains("rows.itemsets.csv"), "{agreed}");
    // Both tables are kept beside the report.
    assert!(one.stderr.contains("the result is kept in") && one.stderr.contains("kept-rows.csv"), "{}", one.stderr);
    let kept = ["kept-rows.csv", "kept-rows.itemsets.csv"];
    kept.iter().for_each(|file| assert_eq!(text(pair.out("hospital", file)), text(pair.out("insurer", &file[5..]))));
    assert_eq!(files(&pair.home.at("hospital.out")), [kept[0], kept[1], "report.json", "rows.csv"]);
    // Itemsets of an earlier run stay if the rules cannot be written.
    pair.home.file("hospital.out/rows.itemsets.csv", "of an earlier run");
    let running = NAMES.map(|name| pair.start(name, &[]));
    running.map(Running::end)[0].failed(2, &["rows.csv", "cannot be written", "kept-2-rows.csv"]);
    assert_eq!(text(pair.out("hospital", "rows.itemsets.csv")), "of an earlier run");
    let all = [
        "kept-2-rows.csv",
        "kept-2-rows.itemsets.csv",
        kept[0],
        kept[1],
        "report.json",
        "rows.csv",
        "rows.itemsets.csv",
    ];
    assert_eq!(files(&pair.home.at("hospital.out")), all);
    let nameless = pair.out("hospital", ".csv");
    let running = pair.start_on(
        "hospital",
        &["--input", &pair.home.at("hospital.csv"), "--force", "--output", &nameless],
        &["--timeout", "1s"],
    );
    running.end().failed(2, &[".csv: a name and an ending are needed", "rules.itemsets.csv"]);
    let running = Running::start(&[
        "run",
        &pair.home.at("hospital.toml"),
        "--as",
        "hospital",
        "--identity",
        &pair.home.at("hospital"),
        "--input",
        &pair.home.file("x.itemsets.csv", "items\na\n"),
        "--force",
        "--output",
        &pair.home.at("x.csv"),
        "--timeout",
        "1s",
    ]);
    running.end().failed(2, &["x.itemsets.csv", "the itemsets"]);
}

#[test]
fn two_parties_without_a_job_file() {
    let pair = Pair::new(TERMS);
    let wide = pair.home.file("wide.csv", "card,x,age\n1,1,20\n2,1,70\n3,0,30\n4,1,80\n");
    let baskets = pair.home.file("baskets.csv", "id;bought\n4;p,q\n1;p\n2;p\n9;q\n");
    let address = format!("127.0.0.1:{}", free_port());
    let start = |me: &str, peer: &str, how: &str, own: &[&str]| {
        let fixed = [
            "rules",
            how,
            &address,
            "--peer",
            pair.fingerprint(peer),
            "--identity",
            &pair.home.at(me),
            "--min-support",
            "2",
            "--min-confidence",
            "50%",
            "--consequents",
            "any",
            "--max-len",
            "3",
            "--bins",
            "age=65:",
            "--force",
            "--output",
            &pair.out(me, "rules.csv"),
        ]
        .map(str::to_owned);
        let all: Vec<&str> = fixed.iter().map(String::as_str).chain(own.iter().copied()).collect();
        Running::start(&all)
    };
    let own = ["--input", &wide, "--items", "x,age", "--row-id", "card"];
    let other = ["--input", &baskets, "--basket", "bought", "--separator", ",", "--row-id", "card=id"];
    let one = start("hospital", "insurer", "--listen", &own);
    let other = start("insurer", "hospital", "--connect", &other);
    for ended in [one.end().well(), other.end().well()] {
        assert!(ended.stdout.starts_with("itemsets "), "{}", ended.stdout);
    }
    assert_eq!(text(pair.out("hospital", "rules.csv")), text(pair.out("insurer", "rules.csv")));
}

#[test]
fn the_plan_says_what_is_known_and_what_is_not() {
    let home = Home::new();
    let job = home.file("job.toml", &job("min_support = 0.01\nreveal = \"counts\"\nmixed_only = true"));
    let said = tacita(&["plan", &job, "--rows", "a=100000", "--rows", "b=100000"]).well().stdout;
    for words in [
        "depends on what is frequent",
        "at least",
        "100 pairs",
        "10,000 pairs",
        "by lattice",
        "1,000 rows",
        "1,048,576 candidates",
        "250,000 rules",
        "how many of b's items are frequent",
        "those in fewer rows too",
    ] {
        assert!(said.contains(words), "`{said}` lacks `{words}`");
    }
    let planned = tacita(&["plan", &job, "--json", "--rows", "a=9", "--rows", "b=9"]).well().stdout;
    let planned: Value = serde_json::from_str(&planned).unwrap();
    // What a run does that finds nothing.
    let nothing = home.file("nothing.csv", &format!("items\n{}", "\"\"\n".repeat(9)));
    let inputs = [format!("a={nothing}"), format!("b={nothing}")];
    let report = home.at("report.json");
    tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--report", &report]).well();
    let ran = json(report);
    for name in ["a", "b"] {
        assert_eq!(planned["parties"][name]["bytes_sent"], ran["parties"][name]["bytes"]["sent"]);
        assert_eq!(planned["parties"][name]["learned"], ran["parties"][name]["learned"]);
        assert_eq!(planned["rounds"], ran["parties"][name]["rounds"]);
    }
    tacita(&["plan", &job, "--rows", "a=9", "--rows", "b=8"]).failed(2, &["by position", "9", "8"]);
    assert!(!said.contains("rows are common"), "{said}");
    let aligned = text(&job).replace("min_support", "row_id = \"id\"\nalignment = \"hidden\"\nmin_support");
    let aligned = home.file("aligned.toml", &aligned);
    let said = tacita(&["plan", &aligned, "--rows", "a=9", "--rows", "b=8"]).well().stdout;
    assert!(said.contains("Columns have a row for each row of either party, 17 if none are common"), "{said}");
}

#[test]
fn the_example_gives_the_expected_files_byte_for_byte() {
    let set = examples().join("rules");
    let summary = json(set.join("expected/summary.json"));
    // The example of three is among the tests of several parties.
    for (name, expected) in summary.as_object().unwrap().iter().filter(|(name, _)| *name != "three") {
        let home = Home::new();
        let input = |party: &str| format!("{party}={}", set.join(format!("{party}.csv")).display());
        let (job, out) = (set.join(format!("{name}.toml")), home.at("out"));
        let (shop, bakery) = (input("shop"), input("bakery"));
        let ended = tacita(&[
            "simulate",
            job.to_str().unwrap(),
            "--input",
            &shop,
            "--input",
            &bakery,
            "--force",
            "--output",
            &out,
        ])
        .well();
        assert_eq!(ended.stdout, format!("itemsets {}, rules {}\n", expected["itemsets"], expected["rules"]));
        let wanted = set.join("expected").join(name);
        assert_eq!(files(&out).len(), 4);
        for file in files(&out) {
            let file = file.replace("bakery", "shop");
            assert_eq!(text(home.at(&format!("out/{file}"))), text(wanted.join(&file)), "{name}/{file}");
        }
    }
}

#[test]
fn the_page_for_readers_is_whole_and_the_same_every_time() {
    let home = Home::new();
    let set = examples().join("rules");
    let inputs = ["shop", "bakery"].map(|party| format!("{party}={}", set.join(format!("{party}.csv")).display()));
    // What is chosen by the network stands on the page.
    let fixed = text(set.join("job.toml")).replace("min_confidence", "extension = \"softspoken-4\"\nmin_confidence");
    let job = home.file("job.toml", &fixed);
    let pages = ["one.html", "two.html"].map(|name| {
        let page = home.at(name);
        tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--html", &page]).well();
        text(page)
    });
    assert_eq!(pages[0], pages[1]);
    let page = &pages[0];
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for part in ["Content-Security-Policy", "default-src 'none'", "breakfast", "shop", "bakery", "<svg", "<table"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("<dt>Minimum confidence</dt><dd>0.6</dd>"));
    let usual = home.file("usual.toml", &text(&job).replace("min_confidence", "# min_confidence"));
    let usual_page = home.at("usual.html");
    let ended =
        tacita(&["simulate", &usual, "--input", &inputs[0], "--input", &inputs[1], "--html", &usual_page]).well();
    assert!(text(usual_page).contains("<dt>Minimum confidence</dt><dd>0.8</dd>"));
    assert!(ended.stderr.contains("wrote ") && ended.stderr.contains("usual.html"), "{}", ended.stderr);
    // What each party learned stands there too.
    assert!(page.contains("semi-honest") || page.contains("follow the protocol"), "{page}");

    let other = examples().join("dot/job.toml").display().to_string();
    let inputs = ["shop", "partner"].map(|party| {
        let file = examples().join(format!("dot/{party}.csv"));
        format!("{party}={}", file.display())
    });
    let refused = home.at("no.html");
    let ended = tacita(&["simulate", &other, "--input", &inputs[0], "--input", &inputs[1], "--html", &refused]);
    ended.failed(2, &["--html", "\"rules\"", "\"dot\""]);
    assert!(!Path::new(&refused).exists());
}
