//! Sums and means as a result, and who learns which.

use serde_json::{Map, Value, json};
use tacita_core::protocol::intersect::ecdh::sum::Total;
use tacita_core::{Error, Result};

use crate::agreement::{Answer, JobSpec, Reveal, Summed};
use crate::base::text::shown;
use crate::jobs::learned::{list, which_keys};
use crate::table::numbers::{decimal, to_json};

/// Numbers that are learned of one column.
struct Column<'a> {
    name: &'a str,
    /// The sum, as an integer.
    sum: i128,
    /// Number of values that are added up, for a mean.
    values: Option<u64>,
}

impl Column<'_> {
    /// Returns the column's numbers, each with its name. The mean of no values is none.
    fn numbers(&self, decimals: u32) -> Vec<(&'static str, Option<String>)> {
        let mut numbers = vec![("sum", Some(decimal(self.sum, decimals)))];
        if let Some(values) = self.values {
            let divisor = u128::from(values) * 10u128.pow(decimals);
            numbers.push(("values", Some(values.to_string())));
            numbers.push(("mean", (divisor > 0).then(|| quotient(self.sum, divisor))));
        }
        numbers
    }

    /// Whether one of its numbers is so small that it is held back.
    fn is_below(&self, limit: u64, decimals: u32) -> bool {
        self.sum < i128::from(limit) * 10i128.pow(decimals) || self.values.is_some_and(|values| values < limit)
    }
}

/// The columns of a total to which `peer` has brought its numbers, or its keys.
fn columns<'a>(summed: &'a Summed, peer: &str, total: &Total) -> Result<Vec<Column<'a>>> {
    let each = total.sums.chunks(summed.numbers_each());
    let column = |(name, numbers): (&'a String, &[i128])| {
        let values = numbers.get(1).map(|values| u64::try_from(*values)).transpose();
        // Whoever gives numbers may give any, and has said that these are counts.
        let check = || "a mean is of a number of values that cannot be".into();
        let values = values.map_err(|_| Error::Protocol { peer: peer.to_owned(), check: check() })?;
        Ok(Column { name, sum: numbers[0], values })
    };
    summed.columns.iter().zip(each).map(column).collect()
}

/// Count and sums, or none of them: who knows one of them knows something of the others.
pub(super) fn answer(job: &JobSpec, peer: &str, total: &Total) -> Result<Answer> {
    let Reveal::Sum(summed) = &job.reveal else { return Err(Error::Internal("a sum that nobody asked for".into())) };
    let (decimals, count) = (job.summed_decimals(), total.count as u64);
    let columns = columns(summed, peer, total)?;
    let below = |limit: u64| count < limit || columns.iter().any(|column| column.is_below(limit, decimals));
    if let Some(limit) = job.limits.min_result.filter(|limit| below(*limit)) {
        return Ok(Answer::below(held_back(summed), limit));
    }
    let mut values = vec![("count".to_owned(), count.to_string())];
    let mut line = format!("count {count}");
    let mut json = Map::from_iter([("count".to_owned(), json!(count))]);
    for column in &columns {
        for (kind, number) in column.numbers(decimals) {
            let value = number.as_deref().map_or(Value::Null, to_json);
            let text = number.as_deref().unwrap_or("none");
            if let [_] = columns[..] {
                line += &format!(", {kind} {text}");
                values.push((kind.to_owned(), number.unwrap_or_default()));
                json.insert(kind.to_owned(), value);
            } else {
                line += &format!(", {kind} of {} {text}", shown(column.name));
                values.push((format!("{kind}_{}", column.name), number.unwrap_or_default()));
                json.entry(kind).or_insert_with(|| json!({}))[column.name] = value;
            }
        }
    }
    Ok(Answer::numbers(Value::Object(json), line, values))
}

/// The number that is too small, where all is held back.
fn held_back(summed: &Summed) -> &'static str {
    match (summed.mean, &summed.columns[..]) {
        (false, [_]) => "count or sum",
        (false, _) => "count or a sum",
        (true, [_]) => "count, sum or number of values",
        (true, _) => "count, a sum or a number of values",
    }
}

/// Sentences on what a party learns besides the count, of columns of `whose`.
pub(super) fn learned(job: &JobSpec, party: &str, whose: &str, summed: &Summed) -> Vec<String> {
    let columns = list(&summed.columns);
    let (sums, values) = match (summed.mean, &summed.columns[..]) {
        (false, [_]) => (format!("the sum of {whose} {columns}"), None),
        (false, _) => (format!("the sums of {whose} {columns}"), None),
        (true, [_]) => (format!("the sum and the mean of {whose} {columns}"), Some("there")),
        (true, _) => (format!("the sums and the means of {whose} {columns}"), Some("in each")),
    };
    let mut learned = vec![format!(
        "{party} learns how many distinct keys the two have in common, not which. It learns {sums} over all rows with those keys."
    )];
    learned.extend(values.map(|place| format!("{party} learns how many of these rows have a value {place}.")));
    learned.extend(which_keys(party));
    if summed.numbers() > 1 {
        learned.push(format!(
            "{party} can learn more from these numbers, since all are over the same keys: together they tell more than each by itself."
        ));
    }
    if let Some(limit) = job.limits.min_result {
        let (what, numbers) = match summed.numbers() {
            1 => ("the count or the sum", "both numbers"),
            _ if summed.mean => ("the count, a sum or a number of values", "all numbers"),
            _ => ("the count or a sum", "all numbers"),
        };
        learned.push(format!("{party} is told only that {what} is below {limit}, if it is."));
        learned.push(format!(
            "{party} can learn {numbers}, too, if it inspects or changes its own program: limits.min_result is a filter on the output."
        ));
    }
    learned
}

/// Returns what a party does not learn besides the count, as the end of a sentence.
pub(super) fn not_learned(summed: &Summed) -> String {
    let what = match (summed.mean, &summed.columns[..]) {
        (false, [_]) => "the sum",
        (false, _) => "the sums",
        (true, [_]) => "the sum or the mean",
        (true, _) => "the sums or the means",
    };
    format!(", nor {what} of {} over them", list(&summed.columns))
}

/// Significant digits of a quotient: as many as a float of 64 bits keeps of every decimal number.
const QUOTIENT_DIGITS: u32 = 15;

/// A quotient as people write it: exactly, or with [`QUOTIENT_DIGITS`] digits and all that are in front of the point,
/// rounded half away from zero.
///
/// # Panics
///
/// If the divisor is zero, or 2^120 or more.
fn quotient(integer: i128, divisor: u128) -> String {
    let magnitude = integer.unsigned_abs();
    let (mut value, mut rest, mut decimals) = (magnitude / divisor, magnitude % divisor, 0);
    while rest != 0 && value < 10u128.pow(QUOTIENT_DIGITS - 1) {
        value = 10 * value + 10 * rest / divisor;
        rest = 10 * rest % divisor;
        decimals += 1;
    }
    let rounded = (value + u128::from(2 * rest >= divisor)) as i128;
    decimal(if integer < 0 { -rounded } else { rounded }, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(head: &str) -> JobSpec {
        let text = format!(
            "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\ngives = {{ b = [\"v\", \"w\"] }}\nscale = 2\n{head}\n[parties.a]\n[parties.b]\n"
        );
        JobSpec::parse(&text.replace("KEY", "[key]\ncolumns = [\"x\"]"), false).unwrap()
    }

    /// The line, the names and numbers of a table, and the report's numbers.
    fn shown_as(head: &str, count: usize, sums: &[i128]) -> (String, Value) {
        let total = Total { count, sums: sums.to_vec() };
        match answer(&job(head), "b", &total).unwrap() {
            Answer::Numbers { line, json, .. } => (line, json),
            _ => panic!("no numbers"),
        }
    }

    #[test]
    fn one_column_and_several_are_shown_with_all_their_numbers() {
        for (reveal, sums, line, json) in [
            ("sum:v", &[1250][..], "count 3, sum 12.5", json!({ "count": 3, "sum": 12.5 })),
            (
                "sum:w, v",
                &[-100, 0],
                "count 3, sum of w -1, sum of v 0",
                json!({ "count": 3, "sum": { "w": -1, "v": 0 } }),
            ),
            (
                "mean:v",
                &[1000, 3],
                "count 3, sum 10, values 3, mean 3.33333333333333",
                json!({ "count": 3, "sum": 10, "values": 3, "mean": 3.33333333333333 }),
            ),
            (
                "mean:v,w",
                &[-500, 2, 0, 0],
                "count 3, sum of v -5, values of v 2, mean of v -2.5, sum of w 0, values of w 0, mean of w none",
                json!({
                    "count": 3,
                    "sum": { "v": -5, "w": 0 },
                    "values": { "v": 2, "w": 0 },
                    "mean": { "v": -2.5, "w": null },
                }),
            ),
        ] {
            assert_eq!(shown_as(&format!("reveal = \"{reveal}\"\nKEY"), 3, sums), (line.to_owned(), json));
        }
    }

    /// One number that is too small holds back all of them.
    #[test]
    fn small_numbers_are_held_back() {
        let limited = "KEY\n[limits]\nmin_result = 3";
        for (reveal, count, sums, line) in [
            ("sum:v,w", 3, &[300, 300][..], None),
            ("sum:v,w", 2, &[300, 300], Some("count or a sum below 3")),
            ("sum:v,w", 3, &[300, 299], Some("count or a sum below 3")),
            ("sum:v", 3, &[299], Some("count or sum below 3")),
            ("mean:v", 3, &[300, 3], None),
            ("mean:v", 3, &[300, 2], Some("count, sum or number of values below 3")),
            ("mean:v,w", 3, &[300, 3, 900, 2], Some("count, a sum or a number of values below 3")),
        ] {
            let shown = shown_as(&format!("reveal = \"{reveal}\"\n{limited}"), count, sums);
            match line {
                Some(line) => assert_eq!(shown, (line.to_owned(), json!({ "below": 3 }))),
                None => assert!(shown.0.starts_with("count 3, sum"), "{reveal}: {shown:?}"),
            }
        }
    }

    #[test]
    fn a_number_of_values_that_cannot_be_is_refused() {
        let total = Total { count: 1, sums: vec![5, -1] };
        let Err(error) = answer(&job("reveal = \"mean:v\"\nKEY"), "b", &total) else { panic!("it is shown") };
        assert!(matches!(error, Error::Protocol { peer, .. } if peer == "b"));
    }

    #[test]
    fn quotients_are_exact_or_have_fifteen_digits() {
        for (integer, divisor, text) in [
            (0, 7, "0"),
            (10, 5, "2"),
            (-10, 4, "-2.5"),
            (1, 3, "0.333333333333333"),
            (2, 3, "0.666666666666667"),
            (-2, 3, "-0.666666666666667"),
            (1, 3_000_000_000_000, "0.000000000000333333333333333"),
            (100, 3, "33.3333333333333"),
            (999_999_999_999_999_999, 1_000_000_000_000_000_000, "1"),
            (1_999_999_999_999_999, 2, "1000000000000000"),
            ((1 << 100) + 1, 2, "633825300114114700748351602689"),
            (1 << 125, 3, "14178431955039102644307275309657008811"),
        ] {
            assert_eq!(quotient(integer, divisor), text, "{integer} / {divisor}");
            let json = to_json(&quotient(integer, divisor));
            assert!(json.is_number() || integer > 1 << 64, "{json}");
        }
    }
}
