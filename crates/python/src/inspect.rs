//! Facts about a table before a job, for Python.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use serde_json::json;
use tacita_core::{Error, Result};
use tacita_node::base::text::json as written;
use tacita_node::table::inspect::{Advice, InspectOptions, TableFindings, key_of};
use tacita_node::table::{DecimalMark, KeySpec, Profile, ReadOptions};

use crate::data::Data;
use crate::errors::raise;
use crate::spec::Spec;
use crate::words::as_arguments;
use crate::work::{Shown, wait};

/// Examines a table, by the key of a party of a job or by the key whose columns are named; the findings as JSON. They
/// hold values of the table, for its own user.
#[pyfunction]
#[pyo3(signature = (data, *, question, key, normalize, columns, nulls, decimal))]
#[expect(clippy::too_many_arguments, reason = "the package names each of them")]
pub fn inspect(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    question: Option<(Py<Spec>, String)>,
    key: Vec<(String, String)>,
    normalize: Vec<String>,
    columns: Vec<String>,
    nulls: Option<Vec<String>>,
    decimal: Option<String>,
) -> PyResult<String> {
    let data = Data::of(data, "data")?;
    let (spec, options) = match question {
        Some((spec, party)) => {
            let job = &spec.get().job;
            let of_job = || -> Result<_> {
                job.party(&party)?;
                if job.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
                    let what = "question: it has several keys, of which one is enough: give the columns of one as key";
                    return Err(Error::Input(what.into()));
                }
                let spec = job.key.as_ref().map(|_| job.key_spec(&party, true)).transpose()?;
                Ok((spec, job.reading(&party, ReadOptions::default())))
            };
            of_job().map_err(|error| raise(py, error))?
        }
        None => {
            let spec = named_key(&key, &normalize, nulls.as_deref(), decimal.as_deref());
            (spec.map_err(|error| raise(py, error))?, ReadOptions::default())
        }
    };
    let wanted = InspectOptions { columns, key: spec };
    wait(
        py,
        || (),
        &Shown::default(),
        None,
        move || {
            let found = match data {
                Data::Table(table) => TableFindings::of_table(&table, &wanted, true, advise)?,
                Data::Paths(paths) => TableFindings::of_file(&one(paths)?, &options, &wanted, true, advise)?,
                Data::Tables(tables) => TableFindings::of_table(&one(tables)?, &wanted, true, advise)?,
            };
            let warnings: Vec<_> =
                found.warnings.iter().map(|warning| as_arguments(warning.text_for_own_user())).collect();
            let lines = found.lines.into_iter().chain(found.seen.map(|seen| format!("\n{seen}")));
            let text = lines.collect::<Vec<_>>().join("\n");
            let all = json!({ "report": found.report, "text": text, "warnings": warnings, "values": found.values });
            Ok(written(serde_json::to_string(&all))?)
        },
    )
}

/// Key of these agreed names and headers; none if there are none.
fn named_key(
    key: &[(String, String)],
    normalize: &[String],
    nulls: Option<&[String]>,
    decimal: Option<&str>,
) -> Result<Option<KeySpec>> {
    if key.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = key.iter().map(|(name, _)| name.clone()).collect();
    let headers: BTreeMap<_, _> = key.iter().cloned().collect();
    let profiles = normalize.iter().map(|profile| profile.parse()).collect::<Result<Vec<Profile>>>()?;
    let mark = decimal.map(str::parse::<DecimalMark>).transpose()?;
    key_of(&names, &headers, &profiles, mark.unwrap_or_default(), nulls).map(Some)
}

/// The only one of several.
fn one<T>(several: Vec<T>) -> Result<T> {
    let [one] = <[T; 1]>::try_from(several)
        .map_err(|several| Error::Input(format!("data: {} tables are given: inspect one at a time", several.len())))?;
    Ok(one)
}

/// Advice in the package's words.
fn advise(advice: Advice) -> &'static str {
    match advice {
        Advice::HeaderIsData => {
            "If the first line is a row, read it with pandas.read_csv(..., header=None), and give the table."
        }
        Advice::NameColumns => "columns=[...] looks at those",
        Advice::NameKey => "Add key=[...]",
    }
}
