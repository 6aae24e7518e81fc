//! Products as users see them: a number, or a matrix of numbers.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use serde_json::json;
use tacita_core::{Error, Result};

use crate::answer::Told;
use crate::job::JobSpec;
use crate::table::numbers::decimal;
use crate::table::{Selection, Table, output};

/// The products of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Each party's name and columns, in the order of the job; none for a sum.
    pub columns: Vec<(String, Vec<String>)>,
    /// Row by row: all columns of the second party with the first column of the first, and so on.
    pub numbers: Vec<i128>,
    /// How many decimals the numbers have.
    pub decimals: u32,
}

impl Value {
    /// What a `dot` job's parties learn.
    pub fn of_job(job: &JobSpec, numbers: Vec<i128>) -> Value {
        let columns = job.parties.names().into_iter().map(|name| (name.to_owned(), job.columns_of(name)));
        Value { columns: columns.collect(), numbers, decimals: 2 * job.decimals() }
    }

    /// Whether it is a number and no matrix.
    fn is_number(&self) -> bool {
        self.columns.iter().all(|(_, columns)| columns.len() == 1)
    }

    /// Whether some number is below a limit.
    pub fn is_below(&self, limit: u64) -> bool {
        let limit = i128::from(limit) * 10i128.pow(self.decimals);
        self.numbers.iter().any(|&number| number < limit)
    }

    fn text(&self, index: usize) -> String {
        decimal(self.numbers[index], self.decimals)
    }

    /// A number where JSON numbers hold it exactly, else its digits as text; nested arrays for a matrix.
    fn json(&self) -> serde_json::Value {
        let number = |index| exact(&self.text(index));
        match self.is_number() {
            true => number(0),
            false => json!(self.rows().map(|row| row.map(number).collect::<Vec<_>>()).collect::<Vec<_>>()),
        }
    }

    /// As it is printed: as in [`Value::json`], with all digits.
    fn line(&self) -> String {
        let row = |row: Range<usize>| format!("[{}]", row.map(|index| self.text(index)).collect::<Vec<_>>().join(", "));
        match self.is_number() {
            true => self.text(0),
            false => format!("[{}]", self.rows().map(row).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The numbers that belong to each of the first party's columns.
    fn rows(&self) -> impl Iterator<Item = Range<usize>> {
        let width = self.columns.last().map_or(1, |(_, columns)| columns.len()).max(1);
        (0..self.numbers.len()).step_by(width).map(move |start| start..start + width)
    }
}

/// A JSON number if that is exactly the decimal number in `text`, else the text.
fn exact(text: &str) -> serde_json::Value {
    if let Ok(integer) = text.parse::<i64>() {
        return json!(integer);
    }
    if let Ok(integer) = text.parse::<u64>() {
        return json!(integer);
    }
    match text.parse::<f64>() {
        Ok(float) if float.to_string() == text => json!(float),
        _ => json!(text),
    }
}

/// Writes products to a table, if one is wanted, and says what they are. The table has one row a product, with its two
/// columns beside it if there are several, and the number of its place among the inputs if those are several.
pub fn write_values(values: &[Value], path: Option<&Path>) -> Result<Told> {
    let (json, line) = match values {
        [only] => (only.json(), only.line()),
        several => {
            let lines: Vec<_> = several.iter().map(Value::line).collect();
            (json!(several.iter().map(Value::json).collect::<Vec<_>>()), format!("[{}]", lines.join(", ")))
        }
    };
    let write = |path| output::write(&Selection::all(&table(values)?), path, None);
    Ok(Told {
        json: json!({ "value": json }),
        line: Some(format!("value {line}")),
        written: path.map_or(Ok(()), write),
    })
}

fn table(values: &[Value]) -> Result<Table> {
    let mut fields: Vec<(String, Vec<String>)> = Vec::new();
    let rows =
        || values.iter().enumerate().flat_map(|(place, value)| (0..value.numbers.len()).map(move |at| (place, at)));
    if values.len() > 1 {
        fields.push(("input".into(), rows().map(|(place, _)| (place + 1).to_string()).collect()));
    }
    if let Some(matrix) = values.iter().find(|value| !value.is_number()) {
        for (party, (name, _)) in matrix.columns.iter().enumerate() {
            let column = |(place, at): (usize, usize)| -> String {
                let columns = &values[place].columns;
                let width = columns.last().map_or(1, |(_, columns)| columns.len());
                let index = if party == 0 { at / width } else { at % width };
                columns[party].1[index].clone()
            };
            fields.push((name.clone(), rows().map(column).collect()));
        }
    }
    fields.push(("value".into(), rows().map(|(place, at)| values[place].text(at)).collect()));
    let columns = fields.into_iter().map(|(name, texts)| match &*name {
        "input" | "value" => typed(name, &texts),
        // Names of columns stay texts, even "007".
        _ => (Field::new(name, DataType::Utf8, false), Arc::new(StringArray::from(texts)) as ArrayRef),
    });
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.unzip();
    let schema = Arc::new(Schema::new(fields));
    let failed = |error| Error::Internal(format!("numbers do not make a table: {error}"));
    Table::new("result", schema.clone(), vec![RecordBatch::try_new(schema, arrays).map_err(failed)?])
}

/// A column of 64-bit integers if all are, else of texts.
fn typed(name: String, texts: &[String]) -> (Field, ArrayRef) {
    match texts.iter().map(|text| text.parse::<i64>().ok()).collect::<Option<Vec<_>>>() {
        Some(integers) => (Field::new(name, DataType::Int64, false), Arc::new(Int64Array::from(integers))),
        None => (Field::new(name, DataType::Utf8, false), Arc::new(StringArray::from(texts.to_vec()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_every_number_exactly() {
        for (text, value) in [
            ("41", json!(41)),
            ("-3", json!(-3)),
            ("18446744073709551615", json!(u64::MAX)),
            ("18446744073709551616", json!("18446744073709551616")),
            ("12.5", json!(12.5)),
            ("-0.01", json!(-0.01)),
            ("0.12345678901234567891", json!("0.12345678901234567891")),
        ] {
            assert_eq!(exact(text), value);
        }
    }

    #[test]
    fn matrices_are_nested_by_the_first_party() {
        let name = |name: &str, columns: &[&str]| (name.to_owned(), columns.iter().map(|c| c.to_string()).collect());
        let value = Value {
            columns: vec![name("shop", &["a", "b"]), name("partner", &["c", "d", "e"])],
            numbers: vec![1, 2, 3, 4, 5, 6],
            decimals: 0,
        };
        assert_eq!(value.json(), json!([[1, 2, 3], [4, 5, 6]]));
        let told = write_values(std::slice::from_ref(&value), None).unwrap();
        assert_eq!(told.line.as_deref(), Some("value [[1, 2, 3], [4, 5, 6]]"));
        let table = table(&[value]).unwrap();
        assert_eq!((table.rows(), table.schema().fields().len()), (6, 3));
        let small = Value { columns: Vec::new(), numbers: vec![1], decimals: 6 };
        assert_eq!(write_values(&[small], None).unwrap().line.as_deref(), Some("value 0.000001"));
    }
}
