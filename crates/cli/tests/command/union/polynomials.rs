//! Unions by polynomials, of transfers and as published.

use super::{csv, job, simulate, table, truth};
use crate::common::{Home, rows_of, tacita, text};

/// One transfer an item after values of polynomials finds the same; in bins, in one, by every strategy.
#[test]
fn by_values_of_polynomials() {
    let home = Home::new();
    let [own, other] = [table(60, 90, 3), table(45, 90, 4)];
    let files = [home.file("a.csv", &csv("id,note", &own)), home.file("b.csv", &csv("id,note", &other))];
    let named = "protocol = \"polynomial-ot\"\nreveal_to = [\"a\"]\n";
    let gives = "gives = { b = [\"note\"] }";
    let mine = format!("id,note,b.note\n{}", truth(&own, &other, false));
    for way in ["", "strategy = \"karatsuba\"\nbins = 1", "strategy = \"points\"\nbins = 4", "strategy = \"fft\""] {
        let both = format!("protocol = \"polynomial-ot\"\nreveal_to = [\"a\", \"b\"]\n{gives}\n{way}");
        simulate(&home, &job(&home, &both, "columns = [\"id\"]"), [&files[0], &files[1]]).well();
        assert_eq!(text(home.at("out/a.csv")), mine, "{way}");
        assert_eq!(rows_of(home.at("out/b.csv")).len(), truth(&other, &own, false).lines().count());
    }
    let padded = job(&home, &format!("{named}{gives}"), "columns = [\"id\"]\n[limits]\npad_to = 100");
    simulate(&home, &padded, [&files[0], &files[1]]).well();
    assert_eq!(text(home.at("out/a.csv")), mine);
    let refused = |terms: &str, words: &[&str]| {
        simulate(&home, &job(&home, terms, "columns = [\"id\"]"), [&files[0], &files[1]]).failed(2, words);
    };
    refused(&format!("{named}level = \"bits192\""), &["bits192", "bits128"]);
    refused(&format!("{named}reveal = \"count\""), &["count", "\"ecdh\""]);
    refused("strategy = \"points\"\nreveal_to = [\"a\"]", &["strategy", "\"polynomial-ot\"", "leave it out"]);
}

/// The published polynomials show which of given keys are in the union; nothing else comes out, and they tell what both
/// have, so that they are refused unless that is allowed.
#[test]
fn by_the_published_polynomials() {
    let home = Home::new();
    let tables =
        [("a", "id,x\n1,p\n2,q\n"), ("b", "id,y\n2,r\n3,s\n4,t\n"), ("tried", "id,z\n4,-\n2,-\n5,-\n1,-\n4,+\n")];
    let [a, b, tried] = tables.map(|(name, table)| home.file(&format!("{name}.csv"), table));
    let named = "protocol = \"polynomial\"\nreveal_to = [\"a\"]\n";
    let (out, inputs) = (home.at("out"), [format!("a={a}"), format!("b={b}"), format!("a={tried}")]);
    let job = |terms: &str| job(&home, &format!("{named}{terms}"), "columns = [\"id\"]");
    for way in ["", "strategy = \"points\"", "strategy = \"toom3\"\nbins = 1", "bins = 3", "level = \"bits192\""] {
        let job = job(way);
        let mut arguments = vec!["simulate", &job, "--force", "--output", &out];
        inputs.iter().for_each(|input| arguments.extend(["--input", input]));
        tacita(&arguments).failed(2, &["its own, and every one that it can guess", "\"ecdh\"", "--allow-insecure"]);
        arguments.push("--allow-insecure");
        tacita(&arguments).well();
        assert_eq!(text(home.at("out/a.csv")), "id,x\n1,p\n2,q\n4,\n", "{way}");
    }
    let without = ["--input", &inputs[0], "--input", &inputs[1], "--allow-insecure"];
    tacita(&[&["simulate", &job("")], &without[..]].concat()).failed(2, &["a second --input"]);
    let given = job("gives = { b = [\"y\"] }");
    tacita(&[&["simulate", &given], &without[..]].concat()).failed(2, &["gives", "nobody gets these columns"]);
    let said = tacita(&["plan", &job(""), "--rows", "a=100", "--rows", "b=90"]).well().stdout;
    assert!(said.contains("can test every key that it can guess") && said.contains("--allow-insecure"), "{said}");
}
