//! Rules and itemsets as files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use tacita_core::protocol::rules::association::Rule;
use tacita_core::{Error, Result};

use super::Named;
use crate::table::{Selection, Table, output};

/// Where the itemsets of rules in `path` go: `NAME.itemsets.csv` beside `NAME.csv`; nowhere beside standard output.
///
/// Errors: there is no name before the ending.
pub fn itemsets_path(path: &Path) -> Result<Option<PathBuf>> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let (Some(stem), Some(ending)) = (path.file_stem(), path.extension()) else {
        return Err(Error::Input(format!(
            "{}: a name and an ending are needed, as rules.csv: the itemsets go to rules.itemsets.csv beside it",
            path.display()
        )));
    };
    let mut name = stem.to_owned();
    name.push(".itemsets.");
    name.push(ending);
    Ok(Some(path.with_file_name(name)))
}

/// Writes the rules to a file, and the itemsets to another one beside it: both, or neither. Only if the system refuses to
/// rename the second, when both are written, do the new itemsets stand alone.
pub fn write(named: &Named, path: &Path) -> Result<()> {
    let rules = rules(named)?;
    let Some(beside) = itemsets_path(path)? else {
        return output::write(&Selection::all(&rules), path, None);
    };
    let itemsets = itemsets(named)?;
    let itemsets = output::stage(&Selection::all(&itemsets), &beside, None)?;
    let rules = output::stage(&Selection::all(&rules), path, None)?;
    itemsets.place()?;
    rules.place()
}

fn itemsets(named: &Named) -> Result<Table> {
    let sets = || named.itemsets.iter();
    let support = sets().map(|(_, count)| f64::from(*count) / f64::from(named.rows));
    table(vec![
        ("items", texts(sets().map(|(items, _)| named.text(items)))),
        ("count", Arc::new(Int64Array::from_iter_values(sets().map(|(_, count)| i64::from(*count))))),
        ("support", Arc::new(Float64Array::from_iter_values(support))),
    ])
}

fn rules(named: &Named) -> Result<Table> {
    let rules = || named.rules.iter();
    let measure = |measure: fn(&Rule) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(rules().map(|rule| measure(&rule.rule))))
    };
    table(vec![
        ("antecedents", texts(rules().map(|rule| named.text(&rule.antecedents)))),
        ("consequents", texts(rules().map(|rule| named.text(&rule.consequents)))),
        ("support", measure(Rule::support)),
        ("confidence", measure(Rule::confidence)),
        ("lift", measure(Rule::lift)),
        ("leverage", measure(Rule::leverage)),
        ("conviction", measure(Rule::conviction)),
    ])
}

fn texts(texts: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Table> {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), false);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let failed = |error| Error::Internal(format!("rules do not make a table: {error}"));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    Table::new("result", schema.clone(), vec![RecordBatch::try_new(schema, arrays).map_err(failed)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn itemsets_stand_beside_their_rules() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let beside = |path: &[u8]| {
            let beside = itemsets_path(Path::new(OsStr::from_bytes(path)));
            beside.map(|path| path.map(|path| path.as_os_str().as_bytes().to_vec()))
        };
        let good = |path: &[u8]| beside(path).unwrap().unwrap();
        assert_eq!(good(b"out/rules.csv"), b"out/rules.itemsets.csv");
        assert_eq!(good(b"a.b.parquet"), b"a.b.itemsets.parquet");
        // A name need not be text.
        assert_eq!(good(b"out/\xff\xfe.csv"), b"out/\xff\xfe.itemsets.csv");
        assert_eq!(beside(b"-").unwrap(), None);
        for bare in [&b".csv"[..], b"out/.json", b"rules", b"/"] {
            assert!(matches!(beside(bare), Err(Error::Input(_))), "{bare:?}");
        }
    }
}
