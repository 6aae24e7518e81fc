//! Tables as people have them: encodings, separators, columns without names, dates; and what is written for their
//! programs.

use crate::common::{Ended, Home, json, tacita, text};

const JOB: &str = "job = \"intersect\"\nid = \"t\"\n";

/// A simulated intersection; `a` learns.
fn simulate(home: &Home, terms: &str, tables: [&str; 2], more: &[&str]) -> Ended {
    let job = home.file("job.toml", &format!("{JOB}reveal_to = [\"a\"]\n{terms}"));
    let inputs = [format!("a={}", tables[0]), format!("b={}", tables[1])];
    let fixed =
        ["simulate", &job, "--force", "--output", &home.at("out"), "--input", &inputs[0], "--input", &inputs[1]];
    tacita(&[&fixed[..], more].concat())
}

#[test]
fn other_encodings_are_read_where_they_are_named() {
    let home = Home::new();
    let terms = "[key]\ncolumns = [\"name\"]\nnormalize = [\"name\"]\n[parties.a]\n[parties.b]\n";
    let a = home.bytes("a.csv", b"name;town\nJos\xE9;K\xF6ln\nAnn;Bern\n");
    let utf_16: Vec<u8> = "name#x\r\nJosé#1\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let b = home.bytes("b.csv", &utf_16);
    let refused = simulate(&home, terms, [&a, &b], &[]);
    refused.failed(2, &["a.csv, line 2", "byte 0xE9 is not UTF-8", "--encoding windows-1252"]);
    let named = ["--encoding", "a=latin1", "--delimiter", "b=#"];
    simulate(&home, terms, [&a, &b], &named).well();
    assert_eq!(text(home.at("out/a.csv")), "name,town\nJosé,Köln\n");
    let wrong = simulate(&home, terms, [&a, &b], &["--encoding", "a=shift_jis", "--delimiter", "b=#"]);
    wrong.failed(2, &["a.csv, line 2", "not valid text in Shift_JIS", "--encoding"]);
    simulate(&home, terms, [&a, &b], &["--encoding", "c=latin1"]).failed(2, &["\"c\""]);
    simulate(&home, terms, [&a, &b], &["--encoding", "a=latin1", "--encoding", "a=utf-8"]).failed(2, &["twice"]);
    let unknown = tacita(&["inspect", &a, "--encoding", "latin-42"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("windows-1252"), "{}", unknown.stderr);
    let report = home.at("inspect.json");
    let said = tacita(&["inspect", &a, "--encoding", "latin1", "--report", &report]).well().stdout;
    assert!(said.contains("semicolons between values, in windows-1252"), "{said}");
    assert_eq!(json(report)["form"]["encoding"], "windows-1252");
    // In a plan too, and in its doctor's look.
    let job = home.at("job.toml");
    let (a_is, b_is) = (format!("a={a}"), format!("b={b}"));
    tacita(&[&["plan", &job, "--input", &a_is, "--input", &b_is][..], &named].concat()).well();
}

/// An index that pandas wrote, dates in four ways, and a join that is packed.
#[test]
fn tables_of_other_programs_are_joined() {
    let home = Home::new();
    let terms = "reveal = \"payload\"\ngives = { b = [\"note\"] }\n[key]\ncolumns = [\"born\"]\n[parties.a]\n\
                 normalize = [\"date:DMY\"]\n[parties.b]\nnormalize = [\"date:MDY\"]\n";
    let a = home.file("a.csv", ",born\n0,04-05-1980\n1,1980-6-4\n2,\"May 9, 1980\"\n3,11.5.1980 00:00\n");
    let notes = ["=1+1", "@x", "-5", "+41 44"];
    let dates = ["05-04-1980", "6/4/1980 12:00:00 AM", "9 May 1980", "1980-05-11T00:00:00Z"];
    let rows: Vec<_> = dates.iter().zip(notes).map(|(date, note)| format!("{date}\t{note}\n")).collect();
    let b = home.file("b.tsv", &format!("sep=\t\nborn\tnote\n{}", rows.concat()));
    let ended = simulate(&home, terms, [&a, &b], &[]).well();
    let expected =
        "column_1,born,b.note\n0,04-05-1980,=1+1\n2,\"May 9, 1980\",-5\n3,11.5.1980 00:00,+41 44\n1,1980-6-4,@x\n";
    assert_eq!(text(home.at("out/a.csv")), expected);
    for words in ["2 cells of other parties (\"b.note\")", "a spreadsheet would run them"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("1+1"), "{}", ended.stderr);
    let ended = simulate(&home, terms, [&a, &b], &["--format", "json"]).well();
    assert!(!ended.stderr.contains("spreadsheet"), "{}", ended.stderr);
}

/// Columns of a result are called apart, and what cannot be is refused while nobody has learned anything.
#[test]
fn a_column_may_not_be_called_as_one_that_is_received() {
    let home = Home::new();
    let terms = "reveal = \"payload\"\ngives = { b = [\"v\"] }\n[key]\ncolumns = [\"k\"]\n[parties.a]\n[parties.b]\n";
    let tables = [home.file("a.csv", "k,b.v\n1,own\n"), home.file("b.csv", "k,v\n1,given\n")];
    simulate(&home, terms, [&tables[0], &tables[1]], &[]).failed(2, &["\"b.v\"", "the one that b gives", "rename it"]);
    let last = home.file("c.csv", "k,v\n1,own\n");
    simulate(&home, terms, [&last, &tables[1]], &[]).well();
    assert_eq!(text(home.at("out/a.csv")), "k,v,b.v\n1,own,given\n");
}

/// A link to a file that is not there yet stays a link.
#[test]
fn what_a_link_leads_to_is_written() {
    let home = Home::new();
    let table = home.file("a.csv", "id\n1\n");
    std::os::unix::fs::symlink("new.json", home.at("link.json")).unwrap();
    tacita(&["inspect", &table, "--report", &home.at("link.json")]).well();
    assert!(std::fs::symlink_metadata(home.at("link.json")).unwrap().is_symlink());
    assert_eq!(json(home.at("new.json"))["rows"], 1);
    std::os::unix::fs::symlink("nowhere/new.json", home.at("far.json")).unwrap();
    tacita(&["inspect", &table, "--report", &home.at("far.json")]).failed(2, &["far.json", "there is no directory"]);
}

/// Whatever may be named as a delimiter.
#[test]
fn any_delimiter_is_taken() {
    let home = Home::new();
    for delimiter in [" ", "\x1c", "\x1d", "_", "~", "tab"] {
        let between = if delimiter == "tab" { "\t" } else { delimiter };
        let table = home.file("a.csv", "id,x,y\n1,\"2,3\",\n4,5,6\n".replace(',', between).as_str());
        let said = tacita(&["inspect", &table, "--delimiter", delimiter, "--report", &home.at("r.json")]).well();
        assert_eq!(json(home.at("r.json"))["rows"], 2, "{}", said.stdout);
    }
}

#[test]
fn what_is_wrong_in_a_file_is_named() {
    let home = Home::new();
    let good = home.file("good.csv", "id\n1\n");
    let terms = "[key]\ncolumns = [\"id\"]\n[parties.a]\n[parties.b]\n";
    for (content, words) in [
        ("id,x\n1,\"a\" b\n", ["line 2", "text follows the closing quote of a value"]),
        ("id,x\n1,2,3\n4,5,6\n", ["line 2: 3 fields instead of 2", "col.names = NA"]),
        ("id,x\n1,2,\n", ["line 2: 3 fields instead of 2", "ends with a delimiter"]),
        ("id:x\n1:2\n", ["no column \"id\"", "--delimiter :"]),
        ("id,x\r1,2\r3\r", ["line 3: 1 field instead of 2", "--delimiter"]),
    ] {
        let bad = home.file("bad.csv", content);
        simulate(&home, terms, [&bad, &good], &[]).failed(2, &words);
    }
    // A character is another one in an encoding that has one for every byte.
    let bad = home.file("bad.csv", "id,x\nZoë,1\n");
    simulate(&home, terms, [&bad, &good], &["--encoding", "a=latin1"])
        .failed(2, &["bad.csv", "is in UTF-8", "leave --encoding out"]);
    for (name, words) in [
        ("good.arrow", "is text, despite its name"),
        ("good.parquet", "name it .csv"),
        ("nothing", "No such file"),
        ("directory", "is a directory"),
    ] {
        home.directory("directory");
        if name.starts_with("good") {
            home.file(name, "id\n1\n");
        }
        simulate(&home, terms, [&home.at(name), &good], &[]).failed(2, &[name, words]);
    }
    tacita(&["inspect", &good, "--columns", "ID"]).failed(2, &["did you mean \"id\"?"]);
    let said = tacita(&["inspect", &good, "--columns", "other"]).failed(2, &["its columns are"]);
    assert!(!said.contains("map it"), "{said}");
    // A run takes several as alternatives.
    tacita(&["inspect", &good, "--key", "id", "--key", "x"]).failed(2, &["--key"]);
    let page = home.at("page.html");
    simulate(&home, terms, [&good, &good], &["--html", &page, "--report", &page]).failed(2, &["both the page"]);
    let times = home.file("times.csv", "id\n2001-02-03 10:11:12\n2001-02-04 11:12:13\n");
    let dates = terms.replace("[parties.a]", "normalize = [\"date\"]\n[parties.a]");
    simulate(&home, &dates, [&times, &good], &[]).failed(2, &["they have a time of day", "remove the time"]);
}

/// The kind of a table is told by its name, or else by an option; a pipe is CSV.
#[test]
fn a_table_is_what_its_name_or_its_user_says() {
    let home = Home::new();
    let terms = "[key]\ncolumns = [\"id\"]\n[parties.a]\n[parties.b]\n";
    let good = home.file("good.csv", "id,x\n1,a\n2,b\n");
    let psv = home.file("table.psv", "id|x\n2|c\n3|d\n");
    let nameless = home.file("table", "id,x\n2,c\n3,d\n");
    let lines = home.file("table.jsonl", "{\"id\": 2, \"x\": \"c\"}\n\n{\"x\": null, \"id\": 3}\n");
    let array = home.file("table.json", "[{\"id\": 2}, {\"id\": \"3\", \"x\": 1.50}]");
    let mut packed = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    std::io::Write::write_all(&mut packed, b"id,x\n2,c\n").unwrap();
    let packed = home.bytes("table.csv.zst", &packed.finish().unwrap());
    for table in [&psv, &lines, &array, &packed] {
        simulate(&home, terms, [&good, table], &[]).well();
        assert_eq!(text(home.at("out/a.csv")), "id,x\n2,b\n", "{table}");
    }
    simulate(&home, terms, [&good, &nameless], &[]).failed(2, &["table: not a known kind", "--format csv"]);
    simulate(&home, terms, [&good, &nameless], &["--input-format", "b=csv"]).well();
    simulate(&home, terms, [&good, &nameless], &["--input-format", "b=xml"]).failed(2, &["use one of csv, tsv, json"]);
    // Numbers stay as they are written.
    simulate(&home, terms, [&array, &good], &[]).well();
    assert_eq!(text(home.at("out/a.csv")), "id,x\n2,\n");
    let said = tacita(&["inspect", &nameless, "--format", "csv"]).well().stdout;
    assert!(said.contains("2 rows, 2 columns"), "{said}");
    let said = tacita(&["inspect", &packed]).well().stdout;
    assert!(said.contains("compressed with zstd"), "{said}");
    let wrong = home.file("wrong.jsonl", "{\"id\": 1}\nid,2\n");
    tacita(&["inspect", &wrong]).failed(2, &["wrong.jsonl, line 2, column 1", "no JSON object"]);
    let twice = home.file("twice.jsonl", "{\"id\": 1, \"id\": 2}\n");
    tacita(&["inspect", &twice]).failed(2, &["twice.jsonl, line 1"]);
    let plain = home.bytes("plain.csv", &std::fs::read(&packed).unwrap());
    tacita(&["inspect", &plain]).failed(2, &["is compressed with zstd", "add .zst to its name"]);
    // What can be read only once is read once.
    let pipe = home.at("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let feed = |pipe: &str| {
        let pipe = pipe.to_owned();
        std::thread::spawn(move || std::fs::write(pipe, "id,x\n2,c\n").unwrap())
    };
    let writer = feed(&pipe);
    let said = tacita(&["inspect", &pipe]).well().stdout;
    writer.join().unwrap();
    assert!(said.contains("1 row, 2 columns"), "{said}");
    let writer = feed(&pipe);
    simulate(&home, terms, [&good, &pipe], &[]).well();
    writer.join().unwrap();
    assert_eq!(text(home.at("out/a.csv")), "id,x\n2,b\n");
    let job = home.at("job.toml");
    let inputs = [format!("a={good}"), "b=-".to_owned()];
    let mut running = crate::common::Running::start(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1]]);
    running.feed("id\n1\n2\n");
    assert_eq!(running.end().well().stdout, "rows 2\n");
    let both = ["simulate", &job, "--input", "a=-", "--input", "b=-"];
    tacita(&both).failed(2, &["--input b=-", "only once"]);
}
