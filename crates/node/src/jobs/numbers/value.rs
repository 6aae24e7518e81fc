//! Results about numbers as users see them: one, or a matrix of them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use serde_json::json;
use tacita_core::{Error, Result};

use crate::agreement::Answer;
use crate::jobs::dot::DotJob;
use crate::jobs::noise::ERROR_BAR;
use crate::table::Table;
use crate::table::numbers::{decimal, to_column, to_json};

/// Name of the error bar in results.
const WITHIN: &str = "within";

/// The products of one job, or what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Name and columns of each side, in the order of the job; none for a sum.
    pub columns: Vec<(String, Vec<String>)>,
    /// One for each choice of a column of each party: the last party's changes first.
    pub cells: Cells,
}

/// Knowledge about each product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cells {
    /// The number itself: an integer over 10^`decimals`.
    Numbers {
        /// Integers before the decimal point is placed.
        numbers: Vec<i128>,
        /// Number of decimals that the numbers have.
        decimals: u32,
    },
    /// Whether it is at least what it was compared with.
    Answers(Vec<bool>),
}

impl Value {
    /// Returns the value that a `dot` job's parties learn.
    pub fn of_job(job: &DotJob<'_>, numbers: Vec<i128>) -> Value {
        let columns = job.factors().into_iter().map(|(name, columns)| (name.to_owned(), columns));
        Value { columns: columns.collect(), cells: Cells::Numbers { numbers, decimals: job.product_decimals() } }
    }

    /// Whether it is one and no matrix.
    fn is_single(&self) -> bool {
        self.columns.iter().all(|(_, columns)| columns.len() == 1)
    }

    /// Whether some number is below a limit.
    pub fn is_below(&self, limit: u64) -> bool {
        match &self.cells {
            Cells::Numbers { numbers, decimals } => {
                let limit = i128::from(limit) * 10i128.pow(*decimals);
                numbers.iter().any(|&number| number < limit)
            }
            Cells::Answers(_) => false,
        }
    }

    /// A number where JSON numbers hold it exactly, else its digits as text; nested arrays for a matrix.
    fn json(&self) -> serde_json::Value {
        if self.is_single() {
            self.cells.json(0)
        } else {
            self.nested(0..self.cells.len(), 0, &|index| self.cells.json(index), &|all| json!(all))
        }
    }

    /// Formats the value as it is printed: as in [`Value::json`], with all digits.
    fn line(&self) -> String {
        let text = |index| self.cells.text(index);
        let list = |all: Vec<String>| format!("[{}]", all.join(", "));
        if self.is_single() { text(0) } else { self.nested(0..self.cells.len(), 0, &text, &list) }
    }

    /// The numbers in `range`, which have the columns of all parties before `party` in common: for each column of that
    /// party, what `list` makes of those that have it.
    fn nested<T>(
        &self,
        range: Range<usize>,
        party: usize,
        one: &impl Fn(usize) -> T,
        list: &impl Fn(Vec<T>) -> T,
    ) -> T {
        let Some((_, columns)) = self.columns.get(party) else { return one(range.start) };
        let width = range.len() / columns.len().max(1);
        let parts = (0..columns.len()).map(|column| range.start + column * width);
        list(parts.map(|start| self.nested(start..start + width, party + 1, one, list)).collect())
    }

    /// Returns the column of the party at `party` that goes into a number.
    fn column(&self, party: usize, at: usize) -> &str {
        let width: usize = self.columns[party + 1..].iter().map(|(_, columns)| columns.len()).product();
        let columns = &self.columns[party].1;
        &columns[at / width % columns.len()]
    }
}

impl Cells {
    /// The word for it in results.
    fn name(&self) -> &'static str {
        match self {
            Cells::Numbers { .. } => "value",
            Cells::Answers(_) => "at_least",
        }
    }

    fn len(&self) -> usize {
        match self {
            Cells::Numbers { numbers, .. } => numbers.len(),
            Cells::Answers(answers) => answers.len(),
        }
    }

    fn text(&self, index: usize) -> String {
        match self {
            Cells::Numbers { numbers, decimals } => decimal(numbers[index], *decimals),
            Cells::Answers(answers) => answers[index].to_string(),
        }
    }

    fn json(&self, index: usize) -> serde_json::Value {
        match self {
            Cells::Numbers { .. } => to_json(&self.text(index)),
            Cells::Answers(answers) => json!(answers[index]),
        }
    }
}

/// Products, or answers about them, as the answer of a job. The table has one row a product, with its two columns
/// beside it if there are several, and the number of its place among the inputs if those are several. `within` is the
/// error bar of numbers with noise.
pub fn answer(values: Vec<Value>, within: Option<String>) -> Answer {
    let name = values.first().map_or("value", |value| value.cells.name());
    let (json, line) = match &values[..] {
        [only] => (only.json(), only.line()),
        several => {
            let lines: Vec<_> = several.iter().map(Value::line).collect();
            (json!(several.iter().map(Value::json).collect::<Vec<_>>()), format!("[{}]", lines.join(", ")))
        }
    };
    let (json, line) = match &within {
        Some(within) => {
            let line = format!("{name} {line}, within {within} in {ERROR_BAR}");
            (json!({ name: json, WITHIN: to_json(within) }), line)
        }
        None => (json!({ name: json }), format!("{name} {line}")),
    };
    let table = Box::new(move || table(name, &values, within.as_deref()));
    Answer::Numbers { json, line, table }
}

fn table(name: &str, values: &[Value], within: Option<&str>) -> Result<Table> {
    let places =
        || values.iter().enumerate().flat_map(|(place, value)| (0..value.cells.len()).map(move |at| (place, at)));
    let mut columns: Vec<(Field, ArrayRef)> = Vec::new();
    if values.len() > 1 {
        let inputs: Vec<_> = places().map(|(place, _)| (place + 1).to_string()).collect();
        columns.push(to_column("input", &inputs));
    }
    if let Some(matrix) = values.iter().find(|value| !value.is_single()) {
        for (party, (name, _)) in matrix.columns.iter().enumerate() {
            let column = |(place, at): (usize, usize)| values[place].column(party, at);
            // Names of columns stay texts, even "007".
            let names = Arc::new(StringArray::from_iter_values(places().map(column)));
            columns.push((Field::new(name, DataType::Utf8, false), names));
        }
    }
    columns.push(match values {
        [Value { cells: Cells::Answers(answers), .. }] => {
            (Field::new(name, DataType::Boolean, false), Arc::new(BooleanArray::from(answers.clone())))
        }
        _ => to_column(name, &places().map(|(place, at)| values[place].cells.text(at)).collect::<Vec<_>>()),
    });
    if let Some(within) = within {
        columns.push(to_column(WITHIN, &vec![within.to_owned(); places().count()]));
    }
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    let failed = |error| Error::Internal(format!("numbers do not make a table: {error}"));
    Table::new("result", schema.clone(), vec![RecordBatch::try_new(schema, arrays).map_err(failed)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(columns: Vec<(String, Vec<String>)>, numbers: Vec<i128>, decimals: u32) -> Value {
        Value { columns, cells: Cells::Numbers { numbers, decimals } }
    }

    fn said(value: Value) -> String {
        match answer(vec![value], None) {
            Answer::Numbers { line, .. } => line,
            _ => panic!("no numbers"),
        }
    }

    #[test]
    fn matrices_are_nested_by_the_first_party() {
        let name = |name: &str, columns: &[&str]| (name.to_owned(), columns.iter().map(|c| c.to_string()).collect());
        let columns = vec![name("shop", &["a", "b"]), name("partner", &["c", "d", "e"])];
        let value = numbers(columns.clone(), vec![1, 2, 3, 4, 5, 6], 0);
        let answers = Value { columns, cells: Cells::Answers(vec![true, false, false, true, true, false]) };
        assert_eq!(value.json(), json!([[1, 2, 3], [4, 5, 6]]));
        assert_eq!(answers.json(), json!([[true, false, false], [true, true, false]]));
        for (value, name, line, kind) in [
            (value, "value", "value [[1, 2, 3], [4, 5, 6]]", DataType::Int64),
            (answers, "at_least", "at_least [[true, false, false], [true, true, false]]", DataType::Boolean),
        ] {
            assert_eq!(said(value.clone()), line);
            let table = table(name, &[value], None).unwrap();
            assert_eq!((table.rows(), table.schema().fields().len()), (6, 3));
            assert_eq!((table.schema().field(2).name().as_str(), table.schema().field(2).data_type()), (name, &kind));
        }
        let columns = vec![name("a", &["x", "y"]), name("b", &["z"]), name("c", &["u", "v"])];
        let of_three = numbers(columns, vec![1, 2, 3, 4], 0);
        assert_eq!(of_three.json(), json!([[[1, 2]], [[3, 4]]]));
        assert_eq!((of_three.column(0, 1), of_three.column(1, 2), of_three.column(2, 2)), ("x", "z", "u"));
        assert_eq!(said(of_three), "value [[[1, 2]], [[3, 4]]]");
        let small = numbers(Vec::new(), vec![1], 6);
        assert_eq!(said(small), "value 0.000001");
    }
}
