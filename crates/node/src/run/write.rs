//! An answer in files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tacita_core::{Error, Result};

use crate::agreement::{Answer, Deferred, JobSpec};
use crate::base::files::write_whole_private;
use crate::table::{Selection, Table, output};

/// So many results of one name are kept in a directory.
const MOST_KEPT: usize = 100;

/// An answer that has been written, for the report and for standard output.
pub struct Written {
    /// As it stands in the report.
    pub json: Value,
    /// As it is printed; nothing where nothing was learned.
    pub line: Option<String>,
    /// Whether it could be written where the user wants it. A number that could not is printed all the same.
    pub written: Result<()>,
}

/// Writes an answer where the user wants it, if anywhere. `job` is the name of what it is an answer to. What cannot be written there,
/// and would be lost, is kept in the first of the directories `spare` in which it can be.
///
/// Errors: a share cannot be written, or rows cannot be counted.
pub fn write(job: &str, answer: Answer, path: Option<&Path>, spare: &[PathBuf]) -> Result<Written> {
    let (json, line, written) = match answer {
        Answer::Nothing => return Ok(Written { json: Value::Null, line: None, written: Ok(()) }),
        Answer::Rows(rows) => {
            let write = |path: &Path| output::write(&*rows, path, None);
            let written = path.map_or(Ok(()), |path| write_or_keep(path, spare, write));
            let count = rows.count()?;
            (json!({ "rows": count }), format!("rows {count}"), written)
        }
        Answer::Numbers { json, line, table } => {
            let write = |path| output::write(&Selection::all(&table()?), path, None);
            (json, line, path.map_or(Ok(()), write))
        }
        Answer::Share { numbers, file } => {
            if let Some(path) = path {
                write_whole_private(path, file.as_bytes())?;
            }
            let kept = if path.is_some() { "" } else { " (not kept: no --output)" };
            (json!({ "shares": numbers }), format!("shares {numbers}{kept}"), Ok(()))
        }
        Answer::Tables { json, line, main, beside } => {
            (json, line, path.map_or(Ok(()), |path| write_tables(job, main, beside, path, spare)))
        }
    };
    Ok(Written { json, line: Some(line), written })
}

/// Writes tables to files beside each other: all, or none. Only if the system refuses to rename one, when all are written, do
/// those before it stand alone.
fn write_tables(
    job: &str,
    main: Deferred<Table>,
    others: Vec<(&'static str, Deferred<Table>)>,
    path: &Path,
    spare: &[PathBuf],
) -> Result<()> {
    // Items bear the names that their owners give them.
    let main = Selection::all(&main()?).of_others();
    let make = |(what, table): (&'static str, Deferred<Table>)| Ok((what, Selection::all(&table()?).of_others()));
    let others: Vec<_> = others.into_iter().map(make).collect::<Result<_>>()?;
    write_or_keep(path, spare, |path| {
        let (mut tables, mut paths) = (Vec::new(), Vec::new());
        for (what, table) in &others {
            let Some(beside) = beside(job, path, what)? else { return output::write(&main, path, None) };
            tables.push(table);
            paths.push(beside);
        }
        let mut staged = Vec::new();
        for (table, beside) in tables.into_iter().zip(&paths) {
            staged.push(output::stage(table, beside, None)?);
        }
        staged.push(output::stage(&main, path, None)?);
        staged.into_iter().try_for_each(|file| file.place())
    })
}

/// Writes to `path`, or else to a file of its own in one of the directories `spare`, which the error then names.
fn write_or_keep(path: &Path, spare: &[PathBuf], write: impl Fn(&Path) -> Result<()>) -> Result<()> {
    let Err(error) = write(path) else { return Ok(()) };
    let name = path.file_name().filter(|name| *name != "-").map_or("result.csv".into(), |name| name.to_string_lossy());
    for directory in spare {
        // What was kept before stays.
        let names =
            std::iter::once(format!("kept-{name}")).chain((2..MOST_KEPT).map(|number| format!("kept-{number}-{name}")));
        let Some(kept) = names.map(|name| directory.join(name)).find(|path| !path.exists()) else { continue };
        if write(&kept).is_ok() {
            return Err(Error::Input(format!("{error}; the result is kept in {}", kept.display())));
        }
    }
    Err(error)
}

/// The files that stand beside the output of a job, with what messages call them.
pub fn all_beside(job: &JobSpec, output: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    let kinds = job.job.beside().iter();
    let all = kinds.map(|(name, what)| Ok(beside(job.job.name(), output, name)?.map(|path| (*what, path))));
    Ok(all.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Where a table goes that stands beside the one in `path`: `NAME.itemsets.csv` beside `NAME.csv`; nowhere beside standard
/// output.
///
/// Errors: there is no name before the ending.
pub fn beside(job: &str, path: &Path, what: &str) -> Result<Option<PathBuf>> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let is_packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    let inner = path.file_stem().filter(|_| is_packed).map_or(path, Path::new);
    let (Some(stem), Some(ending)) = (inner.file_stem(), inner.extension()) else {
        return Err(Error::Input(format!(
            "{}: a name and an ending are needed, as {job}.csv: the {what} go to {job}.{what}.csv beside it",
            path.display()
        )));
    };
    let mut name = stem.to_owned();
    name.push(format!(".{what}."));
    name.push(ending);
    if is_packed {
        name.push(".gz");
    }
    Ok(Some(path.with_file_name(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn itemsets_stand_beside_their_rules() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let place = |path: &[u8]| {
            let beside = beside("rules", Path::new(OsStr::from_bytes(path)), "itemsets");
            beside.map(|path| path.map(|path| path.as_os_str().as_bytes().to_vec()))
        };
        let good = |path: &[u8]| place(path).unwrap().unwrap();
        assert_eq!(good(b"out/rules.csv"), b"out/rules.itemsets.csv");
        assert_eq!(good(b"a.b.parquet"), b"a.b.itemsets.parquet");
        assert_eq!(good(b"out/rules.csv.gz"), b"out/rules.itemsets.csv.gz");
        // A name need not be text.
        assert_eq!(good(b"out/\xff\xfe.csv"), b"out/\xff\xfe.itemsets.csv");
        assert_eq!(place(b"-").unwrap(), None);
        for bare in [&b".csv"[..], b"rules.gz", b"out/.json", b"rules", b"/"] {
            assert!(matches!(place(bare), Err(Error::Input(_))), "{bare:?}");
        }
    }

    /// A share is for its owner's eyes.
    #[test]
    fn nobody_else_reads_a_share() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("share.json");
        let share = Answer::Share { numbers: 1, file: "{}".to_owned().into() };
        write("dot", share, Some(&path), &[]).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
