//! Data that the user gives as a party's input: a table in memory, or files.

use std::path::{Path, PathBuf};

use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use tacita_core::{Error, Result};
use tacita_node::agreement::{JobSpec, Source};
use tacita_node::base::text::shown;
use tacita_node::table::output::{self, Format};
use tacita_node::table::{ReadOptions, Selection, Table};

use crate::arrow;
use crate::errors::raise;

/// A party's data, as given in Python.
pub enum Data {
    /// A table in memory.
    Table(Table),
    /// Tables of which the job takes files.
    Tables(Vec<Table>),
    /// Files at these paths.
    Paths(Vec<PathBuf>),
}

impl Data {
    /// Determines the kind of data that an object is. Messages call it `name`.
    pub fn of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Data> {
        let data = Data::of_bucket(object, name)?;
        let tables = match &data {
            Data::Table(table) => std::slice::from_ref(table),
            Data::Tables(tables) => tables,
            Data::Paths(_) => &[],
        };
        tables.iter().try_for_each(refuse_objects).map_err(|error| raise(object.py(), error))?;
        Ok(data)
    }

    /// The same of rows that were looked at when they were read.
    pub fn of_bucket(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Data> {
        if let Some(path) = path(object, name)? {
            return Ok(Data::Paths(vec![path]));
        }
        if let Some(table) = arrow::import(object, name)? {
            return Ok(Data::Table(table));
        }
        if !object.is_instance_of::<PyList>() && !object.is_instance_of::<PyTuple>() {
            return Err(no_table(object, name)?);
        }
        let (mut paths, mut tables) = (Vec::new(), Vec::new());
        for (place, one) in object.try_iter()?.enumerate() {
            let one = one?;
            match path(&one, name)? {
                Some(path) => paths.push(path),
                None => {
                    let called = if place == 0 { name.to_owned() } else { format!("{name}, {}", place + 1) };
                    tables.push(arrow::import(&one, &called)?.map_or_else(|| Err(no_table(&one, &called)?), Ok)?);
                }
            }
        }
        match (paths.is_empty(), tables.is_empty()) {
            (false, true) => Ok(Data::Paths(paths)),
            (true, false) => Ok(Data::Tables(tables)),
            (true, true) => Err(no_table(object, name)?),
            (false, false) => Err(raise(
                object.py(),
                Error::Input(format!("{name}: files and tables in one list: give all of them as the same")),
            )),
        }
    }

    /// Converts the data to a job's source. Data that has to be in a file is put into `scratch`.
    pub fn source(self, job: &JobSpec, me: &str, allow_unreadable: bool, scratch: &Path) -> Result<Source> {
        match self {
            Data::Table(table) => Ok(Source::Table { table, allow_unreadable }),
            other => Source::of(job, me, other.paths(scratch)?, ReadOptions::default(), allow_unreadable),
        }
    }

    /// Returns the data as files: tables in memory are written into `scratch`.
    pub fn paths(self, scratch: &Path) -> Result<Vec<PathBuf>> {
        let tables = match self {
            Data::Paths(paths) => return Ok(paths),
            Data::Table(table) => vec![table],
            Data::Tables(tables) => tables,
        };
        let write = |(place, table): (usize, Table)| {
            let name = table.source().replace(|c: char| !c.is_alphanumeric(), "_");
            let path = scratch.join(format!("{name}_{place}.arrow"));
            output::write(&Selection::all(&table), &path, Some(Format::Arrow)).map(|()| path)
        };
        tables.into_iter().enumerate().map(write).collect()
    }
}

/// Refuses a column that is, or may be, one of Python objects: polars hands them out as bytes, which are addresses in
/// this process's memory, and does not say so.
fn refuse_objects(table: &Table) -> Result<()> {
    const ADDRESS_BYTES: i32 = size_of::<usize>() as i32;
    let fields = table.schema().fields();
    let objects = fields.iter().find(|field| *field.data_type() == DataType::FixedSizeBinary(ADDRESS_BYTES));
    objects.map_or(Ok(()), |field| {
        Err(Error::Input(format!(
            "{}: column {:?} has {ADDRESS_BYTES} bytes of binary in each row, as polars hands out Python objects: as addresses in memory. Convert it \
             to text or numbers, cast it to binary of any length if that is what it is, or leave it out",
            table.source(),
            field.name()
        )))
    })
}

/// Returns each party's data, by its name.
pub fn by_party(tables: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Data)>> {
    let one = |(name, object): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let data = Data::of(&object, &name)?;
        Ok((name, data))
    };
    tables.iter().map(one).collect()
}

/// The path that an object is, if it is one.
fn path(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<PathBuf>> {
    if let Ok(text) = object.cast::<PyString>()
        && is_url(&text.to_string())
    {
        return Err(raise(
            object.py(),
            Error::Input(format!(
                "{name}: {:?} is a URL, and no path: give the table, as pandas.read_parquet or polars.read_parquet reads it",
                shown(&text.to_string())
            )),
        ));
    }
    if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
        object.extract().map(Some)
    } else {
        Ok(None)
    }
}

/// Whether a text is where libraries of tables read from the net, and would be taken for a path here.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

fn no_table(object: &Bound<'_, PyAny>, name: &str) -> PyResult<PyErr> {
    let kind = object.get_type().fully_qualified_name()?.to_string();
    let advice = match &kind[..] {
        "polars.lazyframe.frame.LazyFrame" => "collect() it first",
        dataset if dataset.starts_with("pyarrow._dataset.") => "give what its to_table() reads",
        pandas if pandas.starts_with("pandas.") => "give a DataFrame, of pandas 2.2 or later",
        _ => {
            "give a table of pandas, polars, pyarrow or DuckDB, or anything else with __arrow_c_stream__, or the path of a file"
        }
    };
    Ok(raise(object.py(), Error::Input(format!("{name}: a {kind} is no table: {advice}"))))
}
