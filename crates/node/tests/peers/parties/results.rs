//! Results of runs: held back below a limit, returned only to the parties that learn, and made of rows that belong
//! together.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::{Error, Result};
use tacita_node::simulate::tables;
use tacita_node::table::numbers::{decimal, to_json};

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

/// No rules are counted over too few rows, which one party can bring about.
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

/// Columns of numbers with two decimals: missing, negative, and as large as they may be.
const COLUMNS: [&str; 4] = ["v", "w", "x", "y"];

/// A row of a party: its key, and a number of hundredths in each column, if there is one.
type Row = (u64, [Option<i128>; 4]);

fn random_rows(count: usize, random: &mut ChaCha20Rng) -> Vec<Row> {
    let number = |random: &mut ChaCha20Rng| match random.next_u64() % 5 {
        0 => None,
        1 => Some(i128::from(i64::MAX) * 100),
        2 => Some(-i128::from(i64::MAX) * 100 - 99),
        _ => Some(i128::from(random.next_u64() % 20_000) - 10_000),
    };
    (0..count).map(|_| (random.next_u64() % 12, std::array::from_fn(|_| number(random)))).collect()
}

fn table_of(rows: &[Row]) -> Table {
    let text = |number: i128| {
        let sign = if number < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}", number.unsigned_abs() / 100, number.unsigned_abs() % 100)
    };
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|(key, _)| format!("key {key}"))));
    let column = |place: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter(rows.iter().map(|(_, numbers)| numbers[place].map(text))))
    };
    let columns = COLUMNS.iter().enumerate().map(|(place, name)| (*name, column(place)));
    let batch = RecordBatch::try_from_iter([("name", names)].into_iter().chain(columns)).unwrap();
    Table::new("table", batch.schema(), vec![batch]).unwrap()
}

/// Computes the result for one column in the clear. It is the sum over the giver's rows with a common key, in
/// hundredths, and the number of these that have a value.
fn in_the_clear(own: &[Row], given: &[Row], column: &str, first: bool) -> (i128, u64) {
    let place = COLUMNS.iter().position(|name| *name == column).unwrap();
    let is_first = |row: usize| !first || given[..row].iter().all(|(key, _)| *key != given[row].0);
    let common = |row: &usize| own.iter().any(|(key, _)| *key == given[*row].0) && is_first(*row);
    let values = (0..given.len()).filter(common).filter_map(|row| given[row].1[place]);
    values.fold((0, 0), |(sum, count), value| (sum + value, count + 1))
}

#[test]
fn sums_and_means_are_those_in_the_clear() {
    let random = &mut ChaCha20Rng::from_seed([46; 32]);
    for (word, columns, learners, [mine, theirs], first) in [
        ("sum", &["v", "w", "x", "y"][..], "\"a\", \"b\"", [15, 31], false),
        ("sum", &["y", "v"], "\"a\"", [0, 5], false),
        ("mean", &["w", "x", "v"], "\"a\", \"b\"", [31, 14], false),
        ("mean", &["x"], "\"a\"", [20, 17], true),
        ("mean", &["v", "w"], "\"a\"", [1, 1], false),
    ] {
        let (own, given) = (random_rows(mine, random), random_rows(theirs, random));
        let duplicates = if first { "first" } else { "all" };
        let terms = format!(
            "job = \"intersect\"\nreveal = \"{word}:{}\"\nscale = 2\nreveal_to = [{learners}]\ngives = {{ b = {COLUMNS:?} }}\n\
             [key]\ncolumns = [\"name\"]\nduplicates = \"{duplicates}\"",
            columns.join(",")
        );
        let found = tables(&job(&terms), &both(table_of(&own), table_of(&given)), &Cancel::default()).unwrap();
        for name in if learners.contains('b') { &["a", "b"][..] } else { &["a"] } {
            let Answer::Numbers { json, .. } = &found[*name].answer else { panic!("{name} learns no numbers") };
            let number = |kind: &str, column: &str| match columns {
                [_] => json[kind].clone(),
                _ => json[kind][column].clone(),
            };
            for column in columns {
                let (sum, values) = in_the_clear(&own, &given, column, first);
                assert_eq!(number("sum", column), to_json(&decimal(sum, 2)), "{word} of {column}: {json}");
                if word == "sum" {
                    continue;
                }
                assert_eq!(number("values", column), values, "{column}: {json}");
                let mean = number("mean", column).as_f64();
                let expected = (values > 0).then(|| sum as f64 / 100.0 / values as f64);
                let close = |(one, other): (f64, f64)| (one - other).abs() <= 1e-12 * other.abs();
                assert!(
                    mean.is_some() == expected.is_some() && mean.zip(expected).is_none_or(close),
                    "{column}: {json}"
                );
            }
        }
    }
}
