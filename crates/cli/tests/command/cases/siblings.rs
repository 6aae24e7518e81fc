//! Other inputs of the same kinds as the cases: the table in `docs/assurance.md`, "Everyday inputs", names these tests.

use super::{FOLDER, learned};
use crate::common::{Ended, Home, tacita, text};

/// An intersection by `id`; `a` learns its rows.
struct Meeting<'a> {
    normalize: &'a str,
    /// Lines of `[parties.a]`.
    party: &'a str,
    a: &'a str,
    b: &'a str,
}

impl Default for Meeting<'_> {
    fn default() -> Self {
        Meeting { normalize: "none", party: "", a: "id,x\nk1,p\n", b: "id\nk1\n" }
    }
}

impl Meeting<'_> {
    fn run(&self, home: &Home, more: &[&str]) -> Ended {
        let Meeting { normalize, party, a, b } = self;
        let job = format!(
            "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"id\"]\nnormalize = [\"{normalize}\"]\n[parties.a]\n{party}\n[parties.b]\n"
        );
        let (job, out) = (home.file("job.toml", &job), home.at("out"));
        let (a, b) = (format!("a={}", home.file("a.csv", a)), format!("b={}", home.file("b.csv", b)));
        tacita(&[&["simulate", &job, "--output", &out, "--input", &a, "--input", &b][..], more].concat())
    }

    /// Returns the number of rows that `a` learns.
    fn rows(&self) -> usize {
        let home = Home::new();
        self.run(&home, &[]).well();
        text(home.at("out/a.csv")).lines().count() - 1
    }

    fn refused(&self, words: &[&str]) {
        self.run(&Home::new(), &[]).failed(2, words);
    }
}

const ADDRESSES: &str = "192.0.2.1\n192.0.2.2\n198.51.100.1\n";

/// An aggregation of participants who bring these files, each named after its participant, in which addresses are
/// revealed that three of them have.
fn aggregate(files: &[(&str, &[u8])]) -> (Ended, Home) {
    let home = Home::new();
    let input =
        |(name, content): &(&str, &[u8])| format!("{}={}", name.split('.').next().unwrap(), home.bytes(name, content));
    let inputs: Vec<String> = files.iter().map(input).collect();
    let (job, out) = (format!("{FOLDER}/netset-cr/job.toml"), home.at("out"));
    let mut arguments = vec!["simulate", &job, "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    (tacita(&arguments), home)
}

/// An aggregation in which two more participants have these addresses.
fn aggregate_with(name: &str, content: &[u8]) -> Ended {
    aggregate(&[(name, content), ("p2.txt", ADDRESSES.as_bytes()), ("p3.txt", ADDRESSES.as_bytes())]).0
}

#[test]
fn lines_above_the_header() {
    let with = |a: &'static str| Meeting { a, ..Meeting::default() };
    with("// made by x\nid,x\nk1,p\n").refused(&["line 2", "a title or a comment", "--skip N"]);
    with("Extract of 2026\n\nid,x\nk1,p\n").refused(&["line 3", "a title or a comment", "--skip N"]);
    with("\"Extract, of\n2026\"\nid,x\nk1,p\n").refused(&["line 3", "a title or a comment", "--skip N"]);
    for (a, lines) in [("# made, by x\n# v2\nid,x\nk1,p\n", "a=2"), ("Extract of 2026\n\nid,x\nk1,p\n", "a=2")] {
        let home = Home::new();
        with(a).run(&home, &["--skip", lines]).well();
        assert_eq!(text(home.at("out/a.csv")), "id,x\nk1,p\n");
    }
    with("2020-01-01,5\n2020-01-02,6\n").refused(&["no column \"id\"", "--no-header"]);
    let headless = "header = false\ncolumns = { id = \"column_1\" }";
    assert_eq!(Meeting { party: headless, ..with("k1,p\nk2,q\n") }.rows(), 1);
}

#[test]
fn invisible_characters() {
    let met = |normalize, a, b| Meeting { normalize, a, b, ..Meeting::default() }.rows();
    assert_eq!(met("text", "id\na\u{200d}\nb\u{2060}\n\u{ad}c\nd\u{fe0f}\n", "id\na\nb\nc\nd\n"), 4);
    assert_eq!(met("email", "id\na@b.de\u{200b}\n\u{200e}x@y.de\n", "id\na@b.de\nx@y.de\n"), 2);
    assert_eq!(met("name", "id\nJ\u{f6}rg\u{200b} M\u{fc}ller\nAnn\u{61c}\n", "id\nJörg Müller\nAnn\n"), 2);
    let phones = "id\n\u{2066}+41 44 668 18 00\u{2069}\n+４１446681801\n+41\u{a0}44\u{2011}668\u{2011}18\u{2011}02\n";
    assert_eq!(met("phone", phones, "id\n+41446681800\n+41446681801\n+41446681802\n"), 3);
}

#[test]
fn one_value_in_several_ways() {
    let met = |normalize, a, b| Meeting { normalize, a, b, ..Meeting::default() };
    assert_eq!(met("decimal", "id\n1.50\n2e3\n-0.0\n", "id\n1.5\n2000\n0\n").rows(), 3);
    met("decimal", "id\n\"1,234.50\"\n", "id\n1234.5\n").refused(&["line 2", "cannot be read as decimal"]);
    let commas = Meeting { party: "decimal = \",\"", ..met("decimal", "id\n\"1,50\"\n\"2,00\"\n", "id\n1.5\n2\n") };
    assert_eq!(commas.rows(), 2);
    let times = "id\n2026-01-02 03:04:05\n2026-01-02T04:04:05+01:00\n2026-01-02T03:04:05.000Z\n";
    assert_eq!(met("timestamp", times, "id\n2026-01-02T03:04:05Z\n").rows(), 3);
}

#[test]
fn encrypted_footers() {
    let home = Home::new();
    let table = home.bytes("a.parquet", b"PARE sixteen bytes that nobody reads \x10\0\0\0PARE");
    tacita(&["inspect", &table]).failed(2, &["a.parquet", "is encrypted, which is not read"]);
}

#[test]
fn keys_without_a_value() {
    let said = |a: &str| Meeting { a, ..Meeting::default() }.run(&Home::new(), &[]).well().stderr;
    let words = said(&format!("id,x\n{}", "NULL,1\n".repeat(50)));
    assert!(words.contains("\"NULL\" (50 rows) are read as no value") && words.contains("50 of 50 rows"), "{words}");
    let mostly = said(&format!("id,x\n{}k1,1\n", ",1\n".repeat(40)));
    assert!(mostly.contains("40 of 41 rows have no value in the key"), "{mostly}");
}

#[test]
fn lists_of_addresses() {
    let utf_16: Vec<u8> =
        format!("\u{feff}{}", ADDRESSES.replace('\n', "\r")).encode_utf16().flat_map(u16::to_le_bytes).collect();
    // All that are read, each of a participant: how many have an address says who was read rightly.
    let (ended, home) = aggregate(&[
        ("p1.txt", b"192.0.2.1\r192.0.2.2\r\n198.51.100.1\n"),
        ("p2.txt", &utf_16),
        ("p3.txt", b"192.0.2.1 - 192.0.2.2\n198.51.100.1\n"),
        ("p4.txt", b"192.0.2.1;x\n192.0.2.2\t# y\n198.51.100.1 ;z\n"),
        ("p5.txt", b"198.51.100.0\t198.51.100.255\t24\t99\tNET\n"),
        ("p6.txt", b"198.51.100.0 255.255.255.252\n"),
        ("p7.csv", b"ip\n2001:db8::1/128\n192.0.2.1/32\n"),
    ]);
    ended.well();
    assert_eq!(learned(&home), ["192.0.2.1,5", "192.0.2.2,4", "198.51.100.1,6"]);
    for (content, words) in [
        (&b"192.0.2.1, 192.0.2.2\n"[..], "two addresses"),
        (b"192.0.2.1\tUS\n", "is not understood"),
        ("192.0.2.1\u{85}192.0.2.2\n".as_bytes(), "two addresses"),
    ] {
        aggregate_with("p1.txt", content).failed(2, &["p1.txt, line 1", words]);
    }
    aggregate_with("p1.csv", b"ip\n192.0.2.0/31\n").failed(2, &["p1.csv", "cannot be read as ip, the first in line 2"]);
    // Comments alone are an empty list: whoever has nothing to report is no participant.
    let ended = aggregate_with("p1.txt", b"; nothing today\n;\n");
    assert!(
        ended.stderr.contains("no reportable rows") && !ended.stderr.contains("cannot be read"),
        "{}",
        ended.stderr
    );
}
