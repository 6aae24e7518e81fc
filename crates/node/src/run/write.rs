//! An answer in files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tacita_core::{Error, Result};

use crate::agreement::{Answer, Deferred, JobSpec};
use crate::base::files::{Existing, is_device, write_private_over};
use crate::run::kept::write_or_keep;
use crate::table::{Selection, Table, output};

/// An answer that has been written, for the report and for standard output.
pub struct WrittenAnswer {
    /// JSON form for the report.
    pub json: Value,
    /// Text form for printing; nothing if nothing was learned.
    pub line: Option<String>,
    /// Whether it could be written where the user wants it. A number that could not is printed all the same.
    pub written: Result<()>,
}

/// Destination of an answer.
#[derive(Clone, Copy)]
pub struct Destination<'a> {
    /// The file that the user wants it in, if any.
    pub path: Option<&'a Path>,
    /// Whether one that is there stays.
    pub existing: Existing,
    /// Directories in which the answer is kept first if it cannot be written there; nothing where it is not lost.
    pub spare: Option<&'a [PathBuf]>,
}

impl Destination<'_> {
    fn write(&self, write: impl Fn(&Path, Existing) -> Result<()>) -> Result<()> {
        match (self.path, self.spare) {
            (None, _) => Ok(()),
            (Some(path), None) => write(path, self.existing),
            (Some(path), Some(spare)) => write_or_keep(path, self.existing, spare, write),
        }
    }
}

/// Writes an answer where the user wants it, if anywhere. `job` is the name of what it is an answer to. What cannot be
/// written there, and would be lost, is kept elsewhere: [`WrittenAnswer::written`] says where.
///
/// Errors: rows cannot be counted.
pub fn write(job: &str, answer: Answer, to: Destination) -> Result<WrittenAnswer> {
    let (json, line, written) = match answer {
        Answer::Nothing => return Ok(WrittenAnswer { json: Value::Null, line: None, written: Ok(()) }),
        Answer::Rows(rows) => {
            let written = to.write(|path, existing| output::write_over(&*rows, path, None, existing));
            let count = rows.count()?;
            (json!({ "rows": count }), format!("rows {count}"), written)
        }
        Answer::Numbers { json, line, table } => {
            let written = match to.path {
                None => Ok(()),
                Some(_) => table().and_then(|table| {
                    let rows = Selection::all(&table);
                    to.write(|path, existing| output::write_over(&rows, path, None, existing))
                }),
            };
            (json, line, written)
        }
        Answer::Share { numbers, file } => {
            let write = |path: &Path, existing| write_private_over(path, file.as_bytes(), existing);
            let kept = if to.path.is_some() { "" } else { " (not kept: no --output)" };
            (json!({ "shares": numbers }), format!("shares {numbers}{kept}"), to.write(write))
        }
        Answer::Tables { json, line, main, beside } => {
            (json, line, if to.path.is_some() { write_tables(job, main, beside, to) } else { Ok(()) })
        }
    };
    Ok(WrittenAnswer { json, line: Some(line), written })
}

/// Writes tables to files beside each other: all, or none. Only if the system refuses to rename one, when all are
/// written, do those before it stand alone.
fn write_tables(
    job: &str,
    main: Deferred<Table>,
    others: Vec<(&'static str, Deferred<Table>)>,
    to: Destination,
) -> Result<()> {
    // Items bear the names that their owners give them.
    let main = Selection::all(&main()?).of_others();
    let make = |(what, table): (&'static str, Deferred<Table>)| Ok((what, Selection::all(&table()?).of_others()));
    let others: Vec<_> = others.into_iter().map(make).collect::<Result<_>>()?;
    to.write(|path, existing| {
        let (mut tables, mut paths) = (Vec::new(), Vec::new());
        for (what, table) in &others {
            let Some(beside) = beside(job, path, what)? else { return output::write_over(&main, path, None, existing) };
            tables.push(table);
            paths.push(beside);
        }
        let mut staged = Vec::new();
        for (table, beside) in tables.into_iter().zip(&paths) {
            staged.push(output::stage(table, beside, None)?);
        }
        staged.push(output::stage(&main, path, None)?);
        staged.into_iter().try_for_each(|file| file.place_over(existing))
    })
}

/// The files that stand beside the output of a job, with what messages call them.
pub fn all_beside(job: &JobSpec, output: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    let kinds = job.job.info().beside.iter();
    let all = kinds.map(|(name, what)| Ok(beside(job.job.name(), output, name)?.map(|path| (*what, path))));
    Ok(all.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Returns the path of a table that stands beside the one in `path`: `NAME.itemsets.csv` beside `NAME.csv`. There
/// is none beside standard output, a device or a pipe.
///
/// Errors: there is no name before the ending.
pub fn beside(job: &str, path: &Path, what: &str) -> Result<Option<PathBuf>> {
    if path.as_os_str() == "-" || is_device(path) {
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
        let to = Destination { path: Some(&path), existing: Existing::Kept, spare: None };
        write("dot", share, to).unwrap().written.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
