//! CSV, and cells of it that a spreadsheet would run.

use std::borrow::Cow;
use std::io::Write;

use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use tacita_core::{Error, Result};

use super::{RowSource, written};
use crate::base::text::counted;
use crate::table::listed;
use crate::table::text::TextColumn;

pub(super) fn write(rows: &dyn RowSource, out: &mut dyn Write, name: &str) -> Result<()> {
    let failed = |error: csv::Error| Error::Input(format!("{name}: cannot be written: {error}"));
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(out);
    let places = written(rows.schema());
    writer.write_record(places.iter().map(|&place| rows.schema().field(place).name())).map_err(failed)?;
    let (own, own_rows) = (rows.own_columns(), rows.own_rows()?);
    let mut written = 0;
    let mut formulas = vec![0; rows.schema().fields().len()];
    for batch in rows.batches() {
        let batch = batch?;
        let columns = places.iter().map(|&place| Ok((place, Cells::new(batch.column(place))?)));
        let columns: Vec<_> = columns.collect::<Result<_>>()?;
        for row in 0..batch.num_rows() {
            for &(place, ref column) in &columns {
                let text = column.text(row);
                formulas[place] +=
                    u64::from(place >= own && written >= own_rows && column.is_text() && is_formula(&text));
                writer.write_field(&*text).map_err(failed)?;
            }
            writer.write_record(None::<&[u8]>).map_err(failed)?;
            written += 1;
        }
    }
    writer.flush().map_err(|error| failed(error.into()))?;
    warn_of(rows, &formulas, name);
    Ok(())
}

/// Whether a spreadsheet that opens the text would take it for a formula. A number with its sign, also one to be
/// dialled, is none.
fn is_formula(text: &str) -> bool {
    let number = |c: char| c.is_ascii_digit() || " .,-()/%'".contains(c);
    match text.as_bytes() {
        [b'=' | b'@' | b'\t' | b'\r' | b'\n', _, ..] => true,
        [b'+' | b'-', ..] => !text[1..].chars().all(number),
        _ => false,
    }
}

/// Says which columns of other parties hold what a spreadsheet would run.
fn warn_of(rows: &dyn RowSource, formulas: &[u64], name: &str) {
    let found = || rows.schema().fields().iter().zip(formulas).filter(|(_, count)| **count > 0);
    if found().next().is_some() {
        tracing::warn!(
            "{name}: {} of other parties ({}) begin as a formula does, with =, +, -, @ or a tab: a spreadsheet would run them, so open \
             the file as text, or write Parquet",
            counted(formulas.iter().sum(), "cell"),
            listed(found().map(|(field, _)| field.name().as_str()))
        );
    }
}

/// Text form of a column: canonical where its type has a canonical text, else as Arrow shows it.
pub(super) enum Cells<'a> {
    Text(TextColumn),
    Nested(ArrayFormatter<'a>),
}

impl<'a> Cells<'a> {
    /// Returns the cells of a column.
    pub fn new(array: &'a ArrayRef) -> Result<Cells<'a>> {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new();
        match TextColumn::new(array) {
            Some(text) => Ok(Cells::Text(text)),
            None => ArrayFormatter::try_new(array.as_ref() as &dyn Array, &OPTIONS)
                .map(Cells::Nested)
                .map_err(|error| Error::Input(format!("a column cannot be written as text: {error}"))),
        }
    }

    /// A row's text, empty where the value is absent.
    pub fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            Cells::Text(text) => Cow::Borrowed(text.get(row).unwrap_or_default()),
            Cells::Nested(formatter) => Cow::Owned(formatter.value(row).to_string()),
        }
    }

    fn is_text(&self) -> bool {
        matches!(self, Cells::Text(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_told_from_numbers() {
        for text in ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3+cmd|x", "\t=1", "\r=1", "-HYPERLINK(1)", "=x"] {
            assert!(is_formula(text), "{text:?}");
        }
        for text in ["", "=", "-", "-5", "+41 44 668 18 00", "-1,234.50", "a=b", "5-3", "+49 (0)30/90-1820"] {
            assert!(!is_formula(text), "{text:?}");
        }
    }
}
