//! Answers that could not be written where they were wanted, and wait to be fetched.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tacita_core::{Error, Result};

use crate::base::files::{self, Existing};
use crate::base::folder::Folder;
use crate::base::text::pasted;
use crate::table::output::Format;

/// Maximum number of answers of one name that are kept in a directory.
const MAX_KEPT: usize = 100;

/// Prefix of the names of kept answers.
const PREFIX: &str = "kept-";

/// The directories of this user in which answers are kept, in the order in which they are tried: `tacita/kept` below
/// `$XDG_STATE_HOME` or `~/.local/state`, and one below the system's directory for temporary files.
fn directories() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    let temporary = std::env::temp_dir().join(format!("tacita-kept-{}", rustix::process::geteuid().as_raw()));
    state.map(|state| state.join("tacita/kept")).into_iter().chain([temporary]).collect()
}

/// Writes to `path` by `write`, or else to a file of its own: in one of the directories `first`, or of this user's own.
/// The error names it then.
pub fn write_or_keep(
    path: &Path,
    existing: Existing,
    first: &[PathBuf],
    write: impl Fn(&Path, Existing) -> Result<()>,
) -> Result<()> {
    write(path, existing).map_err(|error| keep(error, &name_of(path), first, write))
}

/// Keeps the one line of a result that standard output has not taken; the error says where.
pub fn keep_line(error: Error, line: &str) -> Error {
    keep(error, "result.txt", &[], |path, existing| files::write_over(path, format!("{line}\n").as_bytes(), existing))
}

/// Keeps what could not be written, for the reason `error`, under a name like `name`, and says where.
fn keep(error: Error, name: &str, first: &[PathBuf], write: impl Fn(&Path, Existing) -> Result<()>) -> Error {
    let given = first.iter().map(|directory| (directory.clone(), false));
    for (directory, own) in given.chain(directories().into_iter().map(|directory| (directory, true))) {
        if own && Folder::make(&directory).is_err() {
            continue;
        }
        // What was kept before stays.
        let names = std::iter::once(format!("{PREFIX}{name}"))
            .chain((2..MAX_KEPT).map(|number| format!("{PREFIX}{number}-{name}")));
        let Some(kept) = names.map(|name| directory.join(name)).find(|path| path.symlink_metadata().is_err()) else {
            continue;
        };
        if write(&kept, Existing::Kept).is_ok() {
            let fetched = if own {
                format!(": fetch it with `tacita results --kept={} --output FILE`", pasted(shown(&kept)))
            } else {
                String::new()
            };
            return Error::Input(format!("{error}; the result is kept in {}{fetched}", kept.display()));
        }
    }
    error
}

/// The name under which an answer is kept: that of its file, with an ending that tells what it is. What a spreadsheet
/// has no room for, such as a long text that another party gave, is kept as CSV.
fn name_of(path: &Path) -> String {
    let name = path.file_name().filter(|name| *name != "-").map_or("result".into(), |name| name.to_string_lossy());
    match Format::of(Path::new(&*name)) {
        Ok(Format::Xlsx) => Path::new(&*name).with_extension("csv").to_string_lossy().into_owned(),
        Ok(_) => name.into_owned(),
        Err(_) if name.contains('.') => name.into_owned(),
        Err(_) => format!("{name}.csv"),
    }
}

fn shown(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// An answer that is kept.
pub struct KeptAnswer {
    /// Name of the answer, for [`find`].
    pub name: String,
    /// Path of the answer.
    pub path: PathBuf,
    /// Length of the answer in bytes.
    pub bytes: u64,
    /// Time at which it was written.
    pub written: SystemTime,
}

/// Returns all answers in this user's directories, the newest first.
pub fn all() -> Vec<KeptAnswer> {
    let mut found = Vec::new();
    for folder in directories().into_iter().filter_map(|directory| Folder::open(&directory).ok()) {
        for name in folder.names().unwrap_or_default().into_iter().filter(|name| name.starts_with(PREFIX)) {
            let path = folder.at(&name);
            let Ok(facts) = fs::symlink_metadata(&path) else { continue };
            let written = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            found.extend(facts.is_file().then_some(KeptAnswer { name, path, bytes: facts.len(), written }));
        }
    }
    found.sort_by_key(|kept| (std::cmp::Reverse(kept.written), kept.path.clone()));
    found
}

/// The answer of this name; the only one there is where none is named.
pub fn find(name: Option<&str>) -> Result<KeptAnswer> {
    let mut all = all();
    let names = all.iter().map(|kept| kept.name.clone()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => {
            let place = all.iter().position(|kept| kept.name == name || kept.path == Path::new(name));
            let there = if names.is_empty() { "there is none".to_owned() } else { format!("there are {names}") };
            place.map(|place| all.swap_remove(place)).ok_or_else(|| Error::Input(format!("--kept={name}: {there}")))
        }
        None => match all.len() {
            0 => Err(Error::Input("no result is kept".into())),
            1 => Ok(all.swap_remove(0)),
            _ => Err(Error::Input(format!("several results are kept: name one, as --kept=NAME: {names}"))),
        },
    }
}

impl KeptAnswer {
    /// Moves the answer to where it is wanted.
    ///
    /// Errors: it cannot be written there, and is kept.
    pub fn fetch(&self, output: &Path, existing: Existing) -> Result<()> {
        let unreadable = |error| Error::Input(format!("{}: cannot be read: {error}", self.path.display()));
        let mut kept = File::open(&self.path).map_err(unreadable)?;
        let mut copy = |to: &mut dyn std::io::Write| {
            let copied = std::io::copy(&mut kept, to).and_then(|_| to.flush());
            copied.map_err(|error| Error::Input(format!("{}: cannot be written: {error}", output.display())))
        };
        if output.as_os_str() == "-" {
            copy(&mut std::io::stdout())?
        } else {
            if !files::is_device(output) && ending(output) != ending(&self.path) {
                return Err(Error::Input(format!(
                    "{}: what is kept is {}: name a file that ends with .{}",
                    output.display(),
                    self.name,
                    ending(&self.path)
                )));
            }
            files::check_output(output, existing)?;
            files::stage(output, |file| copy(file))?.place_over(existing)?;
        }
        fs::remove_file(&self.path).map_err(|error| {
            Error::Input(format!("{}: was copied, and cannot be removed: {error}", self.path.display()))
        })
    }
}

fn ending(path: &Path) -> String {
    let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().to_lowercase());
    let (name, packed) = name.strip_suffix(".gz").map_or((name.as_str(), ""), |name| (name, ".gz"));
    name.rsplit_once('.').map_or(String::new(), |(_, ending)| format!("{ending}{packed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_an_ending_that_holds_it() {
        for (wanted, kept) in [
            ("out/common.csv", "common.csv"),
            ("common.parquet", "common.parquet"),
            ("common.xlsx", "common.csv"),
            ("share.json", "share.json"),
            ("-", "result.csv"),
            ("pipe", "pipe.csv"),
        ] {
            assert_eq!(name_of(Path::new(wanted)), kept, "{wanted}");
        }
    }
}
