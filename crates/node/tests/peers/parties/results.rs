//! What comes out: held back below a limit, to those who learn alone, of rows that belong together.

use tacita_core::{Error, Result};
use tacita_node::simulate::tables;

use super::*;

fn found(terms: &str, brought: &BTreeMap<String, Table>) -> Result<[String; 2]> {
    let found = tables(&job(terms), brought, &Cancel::default())?;
    Ok(["a", "b"].map(|name| said(&found[name].answer)))
}

#[test]
fn small_numbers_are_held_back() {
    // Two keys in common, with numbers that are large together, and a product of 2.
    let large = both(table(&["x", "y", "z"], &[1, 0, 1]), table(&["y", "q", "z"], &[500, 1, 500]));
    let small = both(table(&["x", "y", "z"], &[1, 0, 1]), table(&["y", "q", "z"], &[1, 1, 0]));
    let key = "[key]\ncolumns = [\"name\"]";
    let count = format!("job = \"intersect\"\nreveal = \"count\"\nreveal_to = [\"a\"]\n{key}");
    let sum = format!(
        "job = \"intersect\"\nreveal = \"sum:value\"\ngives = {{ b = [\"value\"] }}\nreveal_to = [\"a\"]\n{key}"
    );
    let product = "job = \"dot\"\nreveal_to = [\"a\"]".to_owned();
    for (terms, brought, limit, expected) in [
        (&count, &large, 2, "count 2"),
        (&count, &large, 3, "count below 3"),
        (&sum, &large, 2, "count 2, sum 1000"),
        (&sum, &large, 3, "count or sum below 3"),
        (&sum, &small, 2, "count or sum below 2"),
        (&product, &small, 1, "value 1"),
        (&product, &small, 2, "value below 2"),
    ] {
        let said = found(&format!("{terms}\n[limits]\nmin_result = {limit}"), brought).unwrap();
        assert_eq!(said, [expected, "nothing"], "{terms} from {limit} on");
    }
}

#[test]
fn only_those_who_learn_hear_of_products() {
    let brought = both(table(&["x", "y", "z"], &[1, 0, 1]), table(&["y", "q", "z"], &[1, 1, 1]));
    for (learner, expected) in [("a", ["value 2", "nothing"]), ("b", ["nothing", "value 2"])] {
        let terms = format!("job = \"dot\"\nreveal_to = [\"{learner}\"]");
        assert_eq!(found(&terms, &brought).unwrap(), expected);
    }
}

#[test]
fn rows_belong_together_or_nothing_is_computed() {
    let brought = both(table(&["x", "y", "z"], &[1, 0, 1]), table(&["y", "q", "z"], &[1, 1, 1]));
    let longer = both(table(&["x", "y", "z"], &[1, 0, 1]), table(&["y", "q"], &[1, 1]));
    let position = found("job = \"dot\"\nreveal_to = [\"a\"]", &longer);
    assert!(matches!(&position, Err(Error::Terms(text)) if text.contains("aligned by position")), "{position:?}");
    let twice = both(table(&["y", "y", "z"], &[1, 0, 1]), table(&["y", "q", "z"], &[1, 1, 1]));
    for terms in [
        "job = \"dot\"\nrow_id = \"name\"\nreveal_to = [\"a\"]",
        "job = \"rules\"\nrow_id = \"name\"\nitems = [\"value\"]\nmin_support = 1\nreveal_to = [\"a\", \"b\"]",
    ] {
        found(terms, &brought).unwrap();
        let ended = found(terms, &twice);
        assert!(matches!(&ended, Err(Error::Input(text)) if text.contains("have the same key")), "{ended:?}");
    }
}

/// Of few rows, which one party can bring about, nothing is counted.
#[test]
fn rules_of_fewer_rows_than_agreed_on_are_not_mined() {
    let brought = both(table(&["x", "y", "z"], &[1, 0, 1]), table(&["y", "q", "z"], &[1, 1, 1]));
    let rules = |least: u64| {
        let keys =
            "job = \"rules\"\nrow_id = \"name\"\nitems = [\"value\"]\nmin_support = 1\nreveal_to = [\"a\", \"b\"]";
        found(&format!("{keys}\n[limits]\nmin_rows = {least}"), &brought)
    };
    rules(2).unwrap();
    let ended = rules(3);
    assert!(matches!(&ended, Err(Error::Input(text)) if text.contains("nothing was counted")), "{ended:?}");
}
