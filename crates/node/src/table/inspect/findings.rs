//! Findings on a table or on baskets, as `tacita inspect` and the Python package hand them out.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tacita_core::{Error, Result};

use super::text::{Advice, lines, seen};
use super::{InspectOptions, Looked, look, look_at_table, report};
use crate::base::text::{count, counted};
use crate::table::baskets::{Between, is_dat, read_lines};
use crate::table::read::ReadOptions;
use crate::table::{DecimalMark, Duplicates, KeyColumn, KeySpec, NullWords, Nulls, Profile, Table, Warning};

/// Returns the key of these agreed names, for which `headers` has those of the table where they differ. `words` take
/// the place of the usual null words.
///
/// Errors ([`Error::Input`]): profiles for another number of columns.
pub fn key_of(
    names: &[String],
    headers: &BTreeMap<String, String>,
    profiles: &[Profile],
    mark: DecimalMark,
    words: Option<&[String]>,
) -> Result<KeySpec> {
    if !profiles.is_empty() && profiles.len() != names.len() {
        return Err(Error::Input(format!(
            "--normalize: {} for {}; give one for each column",
            counted(profiles.len() as u64, "profile"),
            counted(names.len() as u64, "key column")
        )));
    }
    let columns = names.iter().enumerate().map(|(place, name)| KeyColumn {
        name: name.clone(),
        header: headers.get(name).unwrap_or(name).clone(),
        profile: profiles.get(place).copied().unwrap_or(Profile::None).with_mark(mark),
    });
    Ok(KeySpec {
        columns: columns.collect(),
        duplicates: Duplicates::All,
        nulls: Nulls::Skip,
        words: words.map_or_else(NullWords::default, NullWords::of),
        allow_unreadable: true,
    })
}

/// Findings as text and as data.
pub struct TableFindings {
    /// Lines of text. They hold values of the table only if that was asked for.
    pub lines: Vec<String>,
    /// Warnings that a run would give.
    pub warnings: Vec<Warning>,
    /// Sentence on what a peer would learn, if there is a key. It ends the text.
    pub seen: Option<String>,
    /// The findings, without any value of the table.
    pub report: Value,
    /// Values of the table that the text shows, if there is a key: for its own user only.
    pub values: Option<Value>,
}

impl TableFindings {
    /// Examines a file: a table, or baskets. Values of the table are in the lines only `with_values`, and advice in the
    /// words of `advise`.
    ///
    /// Errors ([`Error::Input`]): as of reading it; a column is not there, or can be no key; baskets have neither.
    pub fn of_file(
        path: &Path,
        options: &ReadOptions,
        wanted: &InspectOptions,
        with_values: bool,
        advise: impl Fn(Advice) -> &'static str,
    ) -> Result<TableFindings> {
        if is_dat(path) {
            return TableFindings::of_baskets(path, options, wanted);
        }
        Ok(TableFindings::new(&look(path, options, wanted)?, wanted.key.as_ref(), with_values, advise))
    }

    /// Examines a table in memory, otherwise as [`TableFindings::of_file`] does.
    pub fn of_table(
        table: &Table,
        wanted: &InspectOptions,
        with_values: bool,
        advise: impl Fn(Advice) -> &'static str,
    ) -> Result<TableFindings> {
        Ok(TableFindings::new(&look_at_table(table, wanted)?, wanted.key.as_ref(), with_values, advise))
    }

    fn new(
        looked: &Looked,
        key: Option<&KeySpec>,
        with_values: bool,
        advise: impl Fn(Advice) -> &'static str,
    ) -> TableFindings {
        let facts = looked.key.as_ref();
        TableFindings {
            lines: lines(looked, key, with_values, advise),
            warnings: facts.map_or_else(Vec::new, |facts| facts.warnings.clone()),
            seen: facts.map(seen),
            report: report::report(looked, key),
            values: facts.map(report::values),
        }
    }

    /// Baskets have no columns.
    fn of_baskets(path: &Path, options: &ReadOptions, wanted: &InspectOptions) -> Result<TableFindings> {
        let file = path.display();
        if wanted.key.is_some() || !wanted.columns.is_empty() {
            return Err(Error::Input(format!("{file}: baskets have no columns; omit --key and --columns")));
        }
        let items = read_lines(path, Between::Blanks, options)?;
        let held: usize = (0..items.len()).map(|item| items.rows_of(item).len()).sum();
        let lines = vec![
            format!("{file}: FIMI .dat, items with blanks between them"),
            format!(
                "{} (a blank line is an empty one), {}, {} in all",
                counted(items.rows() as u64, "basket"),
                counted(items.len() as u64, "distinct item"),
                count(held as u64)
            ),
        ];
        let report = json!({
            "file": file.to_string(),
            "form": { "name": "FIMI .dat" },
            "rows": items.rows(),
            "items": items.len(),
        });
        Ok(TableFindings { lines, warnings: Vec::new(), seen: None, report, values: None })
    }
}
