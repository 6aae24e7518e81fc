//! Baskets, columns, bins and ids.

use super::*;

#[test]
fn every_form_of_input_and_output() {
    let baskets = sample(60);
    let truth = mined(&baskets, ASKED);
    let thresholds = "min_support = 12\nmin_confidence = 0.55";
    let home = Home::new();
    let [a, b] = tables(&home, &baskets, "|", false);
    for format in ["csv", "parquet", "arrow", "json"] {
        let report = check(&home, &job(thresholds), [&a, &b], &["--format", format], &truth);
        assert_eq!(files(&home.at("out")).len() % 4, 0);
        assert_eq!(
            report["parties"]["a"]["rows"],
            json!({"read": 60, "nulls": 0, "unreadable": 0, "duplicates": 0, "items": 60})
        );
    }
    let packed = home.at("b.parquet");
    convert(Path::new(&b), &packed);
    check(&home, &job(thresholds), [&a, &packed], &[], &truth);

    // Lines of items, packed or not.
    let line = |first: bool| -> String {
        let line = |basket: &BTreeSet<String>| {
            basket.iter().filter(|item| is_first(item) == first).cloned().collect::<Vec<_>>().join(" ") + "\n"
        };
        baskets.iter().map(line).collect()
    };
    let (dat, packed) = (home.file("a.dat", &line(true)), home.at("b.dat.gz"));
    let mut gz = flate2::write::GzEncoder::new(std::fs::File::create(&packed).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, line(false).as_bytes()).unwrap();
    gz.finish().unwrap();
    check(&home, &job(thresholds), [&dat, &packed], &[], &truth);

    // A column an item, under other headers; all columns of a table; another separator.
    let column = |names: &[&str], headers: &str| -> String {
        let cell = |basket: &BTreeSet<String>, name: &&str| if basket.contains(*name) { "1" } else { "0" };
        let line = |basket: &BTreeSet<String>| {
            names.iter().map(|name| cell(basket, name)).collect::<Vec<_>>().join(",") + "\n"
        };
        format!("{headers}\n{}", baskets.iter().map(line).collect::<String>())
    };
    let wide_a = home.file("wide.csv", &column(&["a0", "a1", "a2", "a3", "a4"], "a0,one,a2,a3,a4"));
    let wide_b = home.file("all.csv", &column(&["7", "8", "9", "10", "11"], "7,8,9,10,11"));
    let text = format!(
        "job = \"rules\"\nid = \"test\"\nreveal_to = [\"b\", \"a\"]\n{thresholds}\nitems = \"*\"\n[parties.a]\n\
         items = [\"a0\", \"a1\", \"a2\", \"a3\", \"a4\"]\ncolumns = {{ a1 = \"one\" }}\n[parties.b]\n"
    );
    check(&home, &text, [&wide_a, &wide_b], &[], &truth);
    let [a, b] = tables(&home, &baskets, " & ", false);
    let items = "items = { column = \"bought\", separator = \"&\" }";
    let text = format!("{}columns = {{ bought = \"items\" }}\n", job(&format!("{thresholds}\n{items}")))
        .replace("[parties.a]\n", "[parties.a]\ncolumns = { bought = \"items\" }\n");
    check(&home, &text, [&a, &b], &[], &truth);
    let json = "{\"job\":\"rules\",\"id\":\"test\",\"reveal_to\":[\"a\",\"b\"],\"min_support\":0.2,\"min_confidence\":0.550000000000000000,\
         \"items\":{\"separator\":\"&\"},\"parties\":{\"a\":{},\"b\":{}}}";
    check(&home, json, [&a, &b], &[], &truth);
}

#[test]
fn rows_are_aligned_by_ids() {
    let home = Home::new();
    let baskets = sample(60);
    let truth = mined(&baskets, ASKED);
    let [a, b] = tables(&home, &baskets, "|", true);
    let thresholds = "min_support = 0.2\nmin_confidence = 0.55\nrow_id = \"tid\"";
    let report = check(&home, &job(thresholds), [&a, &b], &[], &truth);
    let of_b = &report["parties"]["b"];
    assert_eq!(
        of_b["rows"],
        json!({"read": 62, "nulls": 1, "unreadable": 0, "duplicates": 0, "items": 61, "common": 60})
    );
    assert!(of_b["choice"].as_str().unwrap().contains(" after "), "{of_b}");
    assert!(of_b["learned"].to_string().contains("both have (60), and not which"), "{of_b}");
    // With ids that are written in two ways, and all other columns as items.
    let upper = |path: &str| text(path).replace("tid,", "ID,").replace('\n', " \n");
    let text = format!(
        "{}columns = {{ tid = \"ID\" }}\n",
        job(&format!("{thresholds}\n[key]\ncolumns = [\"tid\"]\nnormalize = [\"integer\"]"))
    );
    let other = home.file("upper.csv", &upper(&b).replacen(" \n", "\n", 1));
    check(&home, &text, [&a, &other], &[], &truth);
    let twice = home.file("twice.csv", "tid,items\n1,7\n1,8\n");
    attempt(&home, &job(thresholds), [&a, &twice], "no", &[]).failed(2, &["twice.csv", "same key"]);
    let dat = home.file("b.dat", "7 8\n");
    attempt(&home, &job(thresholds), [&a, &dat], "no", &[]).failed(2, &["b.dat", "row_id"]);
}

#[test]
fn what_looks_like_a_slip_is_warned_of() {
    let home = Home::new();
    let commas = home.file("a.csv", "items\n\"bread,tea\"\n\"tea,wine\"\nbread\n");
    let bars = home.file("b.csv", "items\nx|y\ny\n\"x,y\"\n");
    let ended = attempt(&home, &job("min_support = 1\nbins = { zzz = 4 }"), [&commas, &bars], "out", &[]).well();
    for words in
        ["a: ", "a.csv", "no basket has more than one item, and names hold `,`", "bins.zzz: no item column of b"]
    {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("b.csv, column"), "{}", ended.stderr);
    let refused = tacita(&["rules", "--items", "x", "--separator", ","]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--separator") && refused.stderr.contains("--items"), "{}", refused.stderr);
}

#[test]
fn categories_and_bins() {
    let home = Home::new();
    let ages = [17, 18, 30, 40, 66, 70, 19, 20];
    let kinds = ["red", "red", "", "blue", "blue", "red", "red", "red"];
    let lines: String = ages.iter().zip(kinds).map(|(age, kind)| format!("{age},{kind},true\n")).collect();
    let a = home.file("a.csv", &format!("age,kind,member\n{lines}"));
    let b = home.file("b.csv", "items\nx\nx\n\"\"\nx\nx\nx\nx\nx\n");
    let job = job("min_support = 2\nbins = { age = [18, 65] }\n").replace("[parties.a]", "[parties.a]\nitems = \"*\"");
    attempt(&home, &job, [&a, &b], "out", &["--format", "json"]).well();
    let rows = cells(&home.at("out/b.itemsets.json"));
    let count = |items: &str| rows.iter().find(|row| row["items"] == items).map(|row| row["count"].clone());
    for (items, expected) in [
        ("member", Some("8")),
        ("x", Some("7")),
        ("age=[18,65)", Some("5")),
        ("age>=65", Some("2")),
        ("age<18", None),
        ("kind=blue", Some("2")),
        ("kind=red|member|x", Some("5")),
        ("age=[18,65)|kind=red|member|x", Some("3")),
    ] {
        assert_eq!(count(items).as_deref(), expected, "{items}");
    }
    // What never fails has no bound: null, because JSON has no infinity.
    assert!(cells(&home.at("out/b.json")).iter().any(|row| row["conviction"] == "null"));
}

/// The bounds of a bin are numbers of single rows. `b` has few of `a`'s rows, and would learn numbers of the others.
#[test]
fn bins_of_equal_size_show_no_number_of_a_single_row() {
    let salary = |row: u32| 30_011 + 37 * row;
    let home = Home::new();
    // In twelve of the rows that both have the salary is the same, and in the middle.
    let same = |row: u32| row % 50 == 7;
    let of = |row: u32| if same(row) { salary(500) } else { salary(row) };
    let lines: String = (0..1000).map(|row| format!("{row},{},{}\n", of(row), row % 3)).collect();
    let a = home.file("a.csv", &format!("id,salary,kind\n{lines}"));
    let mine = |row: &u32| (200..800).contains(row) && row % 2 == 1;
    let mut rows: Vec<u32> = (0..1000).filter(mine).collect();
    rows.extend(5000..5100);
    let b =
        home.file("b.csv", &format!("id,items\n{}", rows.iter().map(|row| format!("{row},x\n")).collect::<String>()));
    let by_id = job("min_support = 12\nrow_id = \"id\"\nalignment = \"rows\"\nbins = { salary = 20 }\n")
        .replace("[parties.a]", "[parties.a]\nitems = [\"salary\"]");
    // The same rows in the same order, and nothing to align.
    let by_position = by_id.replace("row_id = \"id\"\nalignment = \"rows\"\n", "");
    let common: String = (0..1000).filter(mine).map(|row| format!("{},x\n", of(row))).collect();
    let both = [
        home.file("a-common.csv", &format!("salary,items\n{common}")),
        home.file("b-common.csv", &format!("salary,items\n{common}")),
    ];

    let mut seen = Vec::new();
    for (job, inputs, rows) in
        [(&by_id, [&a, &b], "the rows that both have"), (&by_position, [&both[0], &both[1]], "all rows")]
    {
        attempt(&home, job, inputs.map(String::as_str), "out", &[]).well();
        let itemsets = rows_of(home.at("out/b.itemsets.csv"));
        let names: BTreeSet<String> =
            itemsets.iter().flat_map(|row| row["items"].split('|').map(str::to_owned).collect::<Vec<_>>()).collect();
        let once = (0..1000).filter(|row| !same(*row) && *row != 500).map(|row| salary(row).to_string());
        for number in once {
            assert!(names.iter().all(|name| !name.contains(&number)), "{number} is one row's: {names:?}");
        }
        let bins: Vec<&String> = names.iter().filter(|name| name.starts_with("salary")).collect();
        assert!(bins.contains(&&"salary=bin 01 of 20".to_owned()) && bins.len() > 15, "{bins:?}");
        let counts = itemsets.iter().filter(|row| row["items"].starts_with("salary") && !row["items"].contains('|'));
        assert_eq!(
            counts.map(|row| row["count"].parse::<u32>().unwrap()).sum::<u32>(),
            291,
            "nine are in a bin of fewer than 12"
        );
        let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
        assert!(learned.contains(rows) && learned.contains("at least 12 rows hold exactly that number"), "{learned}");
        seen.push(itemsets);
    }
    assert_eq!(seen[0], seen[1]);
    // What twelve rows have is shown, as an item of its own would be.
    let few = by_id.replace("salary = 20", "salary = 2");
    attempt(&home, &few, [&a, &b], "out", &[]).well();
    let names: Vec<String> = rows_of(home.at("out/b.itemsets.csv")).iter().map(|row| row["items"].clone()).collect();
    assert_eq!(names, ["x", "salary>=48511", "salary<48511", "salary>=48511|x", "salary<48511|x"]);

    // A part of the common rows is one row if `b` brings few, and every bound then a number that enough rows hold.
    let ten =
        home.file("ten.csv", &format!("id,items\n{}", (10..20).map(|row| format!("{row},x\n")).collect::<String>()));
    let part = by_id.replace("min_support = 12", "min_support = 0.05").replace("salary = 20", "salary = 10");
    let names = |job: &str| -> Vec<String> {
        attempt(&home, job, [&a, &ten], "out", &[]).well();
        rows_of(home.at("out/b.itemsets.csv")).iter().map(|row| row["items"].clone()).collect()
    };
    let ranks = names(&part);
    let shows = |name: &String| (10..20).any(|row| name.contains(&salary(row).to_string()));
    assert!(ranks.contains(&"salary=bin 05 of 10".to_owned()) && !ranks.iter().any(shows), "{ranks:?}");
    let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
    assert!(learned.contains("have ranks and no bounds"), "{learned}");
    // A limit that leaves one row enough changes nothing.
    let ranks = names(&format!("{}[limits]\nmin_rows = 10\n", part));
    assert!(ranks.contains(&"salary=bin 05 of 10".to_owned()) && !ranks.iter().any(shows), "{ranks:?}");
}

#[test]
fn bad_baskets_end_in_one_line_that_says_where() {
    let home = Home::new();
    let good = home.file("good.csv", "items\nx\nx\nx\n");
    let run =
        |rest: &str, bad: &str| attempt(&home, &job(&format!("min_support = 1\n{rest}")), [&good, bad], "no", &[]);
    run("", &home.file("short.csv", "items\nx\nx\n")).failed(5, &["3", "2", "row_id"]);
    run("", &home.file("none.csv", "basket\nx\nx\nx\n")).failed(2, &["no column \"items\"", "basket"]);
    run("", &home.file("blank.csv", "items\nx\n\nx\nx\n")).failed(2, &["blank.csv", "line 3", "empty basket"]);
    run("items = { separator = \",\" }", &home.file("bar.csv", "items\nx\n\"a,b|c\"\nx\n"))
        .failed(2, &["bar.csv", "line 3", "\"items\"", "`|`"]);
    run("", &home.file("long.csv", &format!("items\nx\nx\n{}\n", "y".repeat(2000)))).failed(2, &["line 4", "1024"]);
    run("", &home.file("bad.dat", "1\n2\n3|4\n")).failed(2, &["bad.dat", "line 3", "`|`"]);
    run("", &home.directory("directory.dat")).failed(2, &["directory.dat", "directory"]);
    run("limits = { max_rows = 2 }", &good).failed(2, &["3 rows, and limits.max_rows"]);
    let many: String = (0..30).map(|number| format!("{number}\n")).collect();
    let numbers = home.file("numbers.csv", &format!("n\n{many}"));
    run("items = \"*\"", &numbers).failed(2, &["numbers.csv", "30 different numbers", "bins"]);
    let empty = home.file("empty.csv", "items\n");
    let ended = attempt(&home, &job("min_support = 1"), [&empty, &empty], "out", &[]).well();
    assert_eq!(ended.stdout, "itemsets 0, rules 0\n");
    assert_eq!(text(home.at("out/a.itemsets.csv")), "items,count,support\n");
    run("", &home.file("dat.csv", "1 2 3\n2\n3 1\n2\n")).failed(2, &["no column \"items\"", ".dat"]);
    let inputs = [format!("a={good}"), format!("b={good}")];
    let file = home.file("job.toml", &job("min_support = 1"));
    tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", "-"])
        .failed(2, &["--output -", "name a directory"]);
    // Results do not replace inputs, itemsets either.
    let beside = home.file("out/b.itemsets.csv", "items\nx\n");
    attempt(&home, &job("min_support = 1"), [&beside, &beside], "out", &[]).failed(2, &["b.itemsets.csv", "an output"]);
}

/// Checks that neither the other party's choices nor numbers beyond the number format's precision bring the bounds of
/// single rows back.
#[test]
fn bins_show_no_bound_of_a_single_row_whatever_min_rows_and_digits_are() {
    let home = Home::new();
    let a = home.file("a.csv", "id,sal\n1,48213\n2,91777\n3,100\n4,200\n5,300\n6,400\n");
    let b = home.file("b.csv", "id,x\n1,1\n2,1\n");
    let terms = |more: &str| {
        let items = "[parties.a]\nitems = [\"sal\"]\n[parties.b]\nitems = [\"x\"]\n";
        format!(
            "job = \"rules\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\nrow_id = [\"id\"]\nalignment = \"rows\"\nbins = {{ sal = 2 }}\n{more}\n{items}"
        )
    };
    let names = |terms: &str, out: &str, inputs: [&str; 2]| {
        let job = home.file("job.toml", terms);
        let inputs = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
        let out = home.at(out);
        tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out]).well();
        text(format!("{out}/b.itemsets.csv"))
    };
    // Half of two rows is one row, and b brings two.
    for limit in [1, 2] {
        let found = names(&terms(&format!("min_support = 0.5\n[limits]\nmin_rows = {limit}")), "few", [&a, &b]);
        assert!(found.contains("sal=bin 1 of 2") && !found.contains("91777"), "{limit}: {found}");
    }
    // Three account numbers that are one number of 64 bits.
    let rows = "9007199254740992,9007199254740993,9007199254740993,1,2,3";
    let numbers: Vec<String> = rows.split(',').zip(1..).map(|(number, id)| format!("{id},{number}\n")).collect();
    let a = home.file("c.csv", &format!("id,sal\n{}", numbers.concat()));
    let b = home.file("d.csv", "id,x\n1,1\n2,1\n3,1\n4,1\n5,1\n6,1\n");
    let found = names(&terms("min_support = 3"), "digits", [&a, &b]);
    assert!(found.contains("sal=bin 1 of 2") && !found.contains("90071992"), "{found}");
    // The same with numbers that differ.
    let a = home.file(
        "e.csv",
        &format!("id,sal\n{}", numbers.concat().replace("99254740993", "1").replace("99254740992", "1")),
    );
    assert!(names(&terms("min_support = 3"), "shown", [&a, &b]).contains("sal>=90071"));
}
