//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tacita_core::{Error, Result};
use tempfile::{NamedTempFile, PersistError, TempDir};

use crate::base::folder::LEFT_BEHIND;

/// Permissions of files that anybody may read as far as the user's umask allows, and of those that nobody else may.
const PUBLIC: u32 = 0o666;
const PRIVATE: u32 = 0o600;

/// The fate of a file that has the name of one that is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The file stays, unless it is empty or holds the very same.
    Kept,
    /// The file is replaced.
    Replaced,
}

impl Existing {
    /// Returns the mode that the option --force selects.
    pub fn unless(force: bool) -> Existing {
        if force { Existing::Replaced } else { Existing::Kept }
    }
}

/// Writes `bytes` to a file.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with(path, PUBLIC, |file| put(path, file, bytes))
}

/// Writes like [`write_whole`], but never replaces an existing file.
pub fn write_whole_new(path: &Path, bytes: &[u8]) -> Result<()> {
    write_new_with(path, PUBLIC, bytes)
}

/// Writes like [`write_whole_new`], with a file readable by this user alone.
pub fn write_whole_new_private(path: &Path, bytes: &[u8]) -> Result<()> {
    write_new_with(path, PRIVATE, bytes)
}

fn write_new_with(path: &Path, mode: u32, bytes: &[u8]) -> Result<()> {
    let Staged { file: Some((temporary, file)), .. } = stage_with(path, mode, |file| put(path, file, bytes))? else {
        return Ok(());
    };
    temporary.persist_noclobber(&file).map(drop).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => fault(path, "already exists, and is not overwritten: name another file"),
        _ => fault(path, &format!("cannot be written: {}", error.error)),
    })
}

/// Writes like [`write_whole`], with a file readable by this user alone.
pub fn write_whole_private(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with(path, PRIVATE, |file| put(path, file, bytes))
}

/// Writes like [`write_whole_private`], with the option to keep an existing file.
pub fn write_private_over(path: &Path, bytes: &[u8], existing: Existing) -> Result<()> {
    stage_with(path, PRIVATE, |file| put(path, file, bytes))?.place_over(existing)
}

/// Writes like [`write_whole`], with the option to keep an existing file.
pub fn write_over(path: &Path, bytes: &[u8], existing: Existing) -> Result<()> {
    stage_with(path, PUBLIC, |file| put(path, file, bytes))?.place_over(existing)
}

/// Checks early that a file of this name could be written. Nothing is left behind.
pub fn check_writable(path: &Path) -> Result<()> {
    match target(path)? {
        Target::File(file) => temporary(path, &file, PUBLIC).map(drop),
        Target::Device => Ok(()),
    }
}

/// Checks like [`check_writable`], and refuses a file that would have to be replaced but is to be kept. Devices and
/// pipes hold nothing.
pub fn check_output(path: &Path, existing: Existing) -> Result<()> {
    check_writable(path)?;
    match target(path)? {
        Target::File(file) if existing == Existing::Kept && holds_something(&file) => Err(there_already(path)),
        _ => Ok(()),
    }
}

/// Whether what is written to this path goes to a device or a pipe.
pub fn is_device(path: &Path) -> bool {
    matches!(target(path), Ok(Target::Device))
}

fn holds_something(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|facts| facts.len() > 0)
}

fn there_already(path: &Path) -> Error {
    fault(path, "already exists, and is not replaced: name another file, or add --force")
}

/// Returns the bytes free for this user at the present or future location of a file or directory; nothing if they
/// cannot be determined.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let there = resolved.ancestors().find_map(|place| {
        // The ancestors of a plain name end with the empty one, which is here.
        let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
        rustix::fs::statvfs(place).ok()
    });
    there.map(|facts| facts.f_bavail.saturating_mul(facts.f_frsize))
}

fn put(path: &Path, file: &mut (dyn Write + Send), bytes: &[u8]) -> Result<()> {
    file.write_all(bytes).map_err(|error| fault(path, &format!("cannot be written: {error}")))
}

/// A file that is on disk whole, and not yet in its place: it goes if it is never put there.
pub struct Staged<'a> {
    path: &'a Path,
    /// The temporary file, and where it goes; none if a device has got it all.
    file: Option<(NamedTempFile, PathBuf)>,
}

/// Lets `write` fill a file that waits for [`Staged::place`].
pub fn stage(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<Staged<'_>> {
    stage_with(path, PUBLIC, write)
}

fn write_with(path: &Path, mode: u32, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
    stage_with(path, mode, write)?.place()
}

impl Staged<'_> {
    /// Gives the file its name. One of that name is replaced.
    pub fn place(self) -> Result<()> {
        let Some((temporary, file)) = self.file else { return Ok(()) };
        rename(self.path, temporary, &file)
    }

    /// Places the file like [`Staged::place`], but leaves an existing one that is to be kept.
    pub fn place_over(self, existing: Existing) -> Result<()> {
        if existing == Existing::Replaced {
            return self.place();
        }
        let Some((temporary, file)) = self.file else { return Ok(()) };
        match temporary.persist_noclobber(&file) {
            Ok(_) => {
                flush_directory(&file);
                Ok(())
            }
            // Not every file system can give a name on the condition that it is free.
            Err(PersistError { file: temporary, .. }) if !holds_something(&file) => rename(self.path, temporary, &file),
            // A run that was cut off and resumed has written it before.
            Err(PersistError { file: temporary, .. }) => match same_content(temporary.path(), &file) {
                Ok(true) => Ok(()),
                _ => Err(there_already(self.path)),
            },
        }
    }
}

fn rename(path: &Path, temporary: NamedTempFile, file: &Path) -> Result<()> {
    temporary.persist(file).map_err(|error| fault(path, &format!("cannot be written: {}", error.error)))?;
    flush_directory(file);
    Ok(())
}

/// The renaming itself; not every file system lets directories be flushed, and the file is in place by now.
fn flush_directory(file: &Path) {
    let _ = File::open(parent(file)).and_then(|directory| directory.sync_all());
}

/// Whether two files hold the same.
fn same_content(one: &Path, other: &Path) -> std::io::Result<bool> {
    if fs::metadata(one)?.len() != fs::metadata(other)?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(File::open(one)?), BufReader::new(File::open(other)?));
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if left[..length] != right[..length] || (length == 0 && left.len() != right.len()) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        one.consume(length);
        other.consume(length);
    }
}

/// Fills a temporary file in the same directory, and flushes it to disk.
fn stage_with(path: &Path, mode: u32, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<Staged<'_>> {
    let failed = |error: std::io::Error| fault(path, &format!("cannot be written: {error}"));
    let file = match target(path)? {
        Target::File(file) => file,
        Target::Device => {
            // Where standard output is a file, what is printed stands in it, too.
            let mut device = BufWriter::new(OpenOptions::new().append(true).open(path).map_err(failed)?);
            write(&mut device)?;
            device.flush().map_err(failed)?;
            return Ok(Staged { path, file: None });
        }
    };
    let mut temporary = temporary(path, &file, mode)?;
    let mut buffered = BufWriter::with_capacity(1 << 16, temporary.as_file_mut());
    write(&mut buffered)?;
    buffered.flush().map_err(failed)?;
    drop(buffered);
    temporary.as_file().sync_all().map_err(failed)?;
    Ok(Staged { path, file: Some((temporary, file)) })
}

/// Actual destination of a file of this name.
enum Target {
    /// A regular file, or none yet: written beside it and renamed. Links are followed, so that they stay links.
    File(PathBuf),
    /// A device or pipe (`/dev/null`, `/dev/stdout`): written to; renaming would replace the device.
    Device,
}

fn target(path: &Path) -> Result<Target> {
    if ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"].iter().any(|opened| path.starts_with(opened)) {
        return Ok(Target::Device);
    }
    let resolved = fs::canonicalize(path).unwrap_or_else(|_| where_links_lead(path));
    match fs::metadata(&resolved) {
        Ok(metadata) if metadata.is_dir() => Err(fault(path, "is a directory; name a file in it")),
        Ok(metadata) if metadata.is_file() => Ok(Target::File(resolved)),
        Ok(_) => Ok(Target::Device),
        Err(_) => Ok(Target::File(resolved)),
    }
}

/// The file that a link stands for, which is not there yet; another path as it is.
fn where_links_lead(path: &Path) -> PathBuf {
    let mut place = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&place) else { break };
        place = parent(&place).join(next);
    }
    place
}

/// Whether what a path names can be read only once: standard input (`-`), or a pipe.
pub fn is_read_once(path: &Path) -> bool {
    path.as_os_str() == "-" || fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo())
}

/// Checks that a file can be read. A pipe is left alone: whoever writes to it would take the reader that goes for the
/// end.
pub fn check_readable(path: &Path) -> Result<()> {
    if is_read_once(path) {
        return Ok(());
    }
    File::open(path).map(drop).map_err(|error| fault(path, &format!("cannot read: {error}")))
}

/// A new directory for what goes with the value, into which nobody else may look.
pub fn scratch() -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("tacita-").permissions(fs::Permissions::from_mode(0o700));
    builder.tempdir().map_err(|error| Error::Input(format!("no temporary directory: {error}")))
}

/// A temporary file beside `file`; it removes itself unless renamed.
fn temporary(path: &Path, file: &Path, mode: u32) -> Result<NamedTempFile> {
    let directory = parent(file);
    if !directory.is_dir() {
        return Err(fault(path, &format!("there is no directory {}; make it first", directory.display())));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(LEFT_BEHIND).suffix(".part").permissions(fs::Permissions::from_mode(mode));
    builder.tempfile_in(directory).map_err(|error| {
        // The error names the temporary file, which tells the user nothing.
        fault(path, &format!("cannot be written in {}: {}", directory.display(), error.kind()))
    })
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

fn fault(path: &Path, what: &str) -> Error {
    Error::Input(format!("{}: {what}", path.display()))
}

/// Refuses two names of one file, links included: what is written would destroy what is read, or what was written
/// before. Each file comes with what messages call it.
pub fn check_distinct(files: &[(&str, &Path)]) -> Result<()> {
    for (position, (what, path)) in files.iter().enumerate() {
        for (other_what, other) in &files[..position] {
            if path.as_os_str() != "-" && !is_device(path) && same_file(path, other) {
                let what =
                    if what == other_what { "given twice".to_owned() } else { format!("both {other_what} and {what}") };
                return Err(Error::Input(format!("{}: this is {what}", path.display())));
            }
        }
    }
    Ok(())
}

fn same_file(one: &Path, other: &Path) -> bool {
    let inode = |path: &Path| fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
    // What is not there yet is told by its name in its directory.
    let place = |path: &Path| {
        let path = where_links_lead(path);
        Some((fs::canonicalize(parent(&path)).ok()?, path.file_name()?.to_owned()))
    };
    match (inode(one), inode(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => place(one).is_some() && place(one) == place(other),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        write_whole(&path, b"old").unwrap();
        let failed = write_with(&path, PUBLIC, |file| {
            put(&path, file, b"new")?;
            Err(Error::Input("the table is no good".into()))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_holds_something_is_replaced_only_where_that_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        let write = |text: &[u8], existing| {
            stage(&path, |file| put(&path, file, text)).and_then(|staged| staged.place_over(existing))
        };
        check_output(&path, Existing::Kept).unwrap();
        write(b"", Existing::Kept).unwrap();
        // An empty file holds nothing.
        check_output(&path, Existing::Kept).unwrap();
        write(b"old", Existing::Kept).unwrap();
        assert!(check_output(&path, Existing::Kept).unwrap_err().to_string().contains("--force"));
        check_output(&path, Existing::Replaced).unwrap();
        assert!(write(b"new", Existing::Kept).unwrap_err().to_string().contains("--force"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        // The same once more is no other.
        write(b"old", Existing::Kept).unwrap();
        write(b"new", Existing::Replaced).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        check_output(Path::new("/dev/null"), Existing::Kept).unwrap();
    }

    #[test]
    fn a_scratch_directory_is_for_its_owner_alone_and_goes() {
        let directory = scratch().unwrap();
        let path = directory.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn devices_are_written_to_and_not_replaced() {
        let before = fs::metadata("/dev/null").unwrap().ino();
        write_whole(Path::new("/dev/null"), b"report").unwrap();
        assert_eq!(fs::metadata("/dev/null").unwrap().ino(), before);
    }

    #[test]
    fn one_file_under_two_names_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        write_whole(&path("a"), b"a").unwrap();
        write_whole(&path("b"), b"b").unwrap();
        fs::hard_link(path("a"), path("hard")).unwrap();
        std::os::unix::fs::symlink(path("a"), path("soft")).unwrap();
        let check = |one: &str, other: &str| check_distinct(&[("one", &path(one)), ("other", &path(other))]);
        for (one, other) in [("a", "a"), ("a", "hard"), ("soft", "a"), ("new", "new")] {
            assert!(check(one, other).is_err(), "{one} and {other}");
        }
        assert!(check("a", "b").is_ok() && check("a", "new").is_ok() && check("new", "other").is_ok());
    }

    #[test]
    fn what_is_private_is_so_and_what_is_new_replaces_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let path = |name: &str| directory.path().join(name);
        write_whole_private(&path("private"), b"secret").unwrap();
        write_whole_new_private(&path("new"), b"secret").unwrap();
        write_whole(&path("public"), b"").unwrap();
        assert_eq!((mode(&path("private")), mode(&path("new"))), (0o600, 0o600));
        assert_eq!(mode(&path("public")) & 0o400, 0o400);
        // One that others could read is not written into.
        write_whole(&path("private"), b"").unwrap();
        write_whole_private(&path("private"), b"secret").unwrap();
        assert_eq!(mode(&path("private")), 0o600);
        for written in [write_whole_new(&path("new"), b"other"), write_whole_new_private(&path("new"), b"other")] {
            assert!(written.unwrap_err().to_string().contains("is not overwritten"));
        }
        assert_eq!(fs::read(path("new")).unwrap(), b"secret");
    }
}
