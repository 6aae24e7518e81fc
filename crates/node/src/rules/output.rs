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
pub fn itemsets_path(path: &Path) -> Option<PathBuf> {
    let (stem, ending) = (path.file_stem()?.to_str()?, path.extension()?.to_str()?);
    (path.as_os_str() != "-").then(|| path.with_file_name(format!("{stem}.itemsets.{ending}")))
}

/// Writes the rules to a file, and the itemsets to another one beside it: both, or neither.
pub fn write(named: &Named, path: &Path) -> Result<()> {
    let rules = rules(named)?;
    let Some(beside) = itemsets_path(path) else {
        return output::write(&Selection::all(&rules), path, None);
    };
    output::write(&Selection::all(&itemsets(named)?), &beside, None)?;
    output::write(&Selection::all(&rules), path, None).inspect_err(|_| {
        // Itemsets without their rules would look like a run that found none.
        let _ = std::fs::remove_file(&beside);
    })
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
        let beside = |path: &str| itemsets_path(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(beside("out/rules.csv").as_deref(), Some("out/rules.itemsets.csv"));
        assert_eq!(beside("a.b.parquet").as_deref(), Some("a.b.itemsets.parquet"));
        assert_eq!(beside("-"), None);
    }
}
