//! Files that appear whole or not at all.

use std::io::{BufWriter, Write};
use std::path::Path;

use tacita_core::{Error, Result};

/// Writes a file through a temporary one in the same directory, which is flushed to disk and then renamed.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    write_whole_with_mode(path, 0o666, write)
}

/// As [`write_whole`], readable by this user alone.
pub fn write_whole_private(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    write_whole_with_mode(path, 0o600, write)
}

/// Refuses two names of one file, links included: what is written would destroy what is read, or what was written
/// before. Each file comes with what messages call it.
pub fn check_distinct(files: &[(&str, &Path)]) -> Result<()> {
    for (position, (what, path)) in files.iter().enumerate() {
        for (other_what, other) in &files[..position] {
            if path.as_os_str() != "-" && same_file(path, other) {
                return Err(Error::Input(format!("{}: this is both {other_what} and {what}", path.display())));
            }
        }
    }
    Ok(())
}

fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |path: &Path| std::fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
    // What is not there yet is told by its name in its directory.
    let place = |path: &Path| Some((std::fs::canonicalize(parent(path)).ok()?, path.file_name()?.to_owned()));
    match (inode(one), inode(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => place(one).is_some() && place(one) == place(other),
        _ => false,
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Fails early if `path` cannot be written because its directory is missing.
pub fn check_parent(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            Err(Error::Input(format!("{}: the directory {} does not exist", path.display(), parent.display())))
        }
        _ if path.is_dir() => Err(Error::Input(format!("{}: this is a directory, not a file", path.display()))),
        _ => Ok(()),
    }
}

fn write_whole_with_mode(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let bad = |error: std::io::Error| Error::Input(format!("{}: cannot write: {error}", path.display()));
    let directory = parent(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tacita-").permissions(std::fs::Permissions::from_mode(mode));
    let mut file = builder.tempfile_in(directory).map_err(bad)?;
    {
        let mut buffered = BufWriter::with_capacity(1 << 18, file.as_file_mut());
        write(&mut buffered).map_err(bad)?;
        buffered.flush().map_err(bad)?;
    }
    file.as_file().sync_all().map_err(bad)?;
    file.persist(path).map_err(|error| bad(error.error))?;
    // The name is on disk only when its directory is.
    std::fs::File::open(directory).and_then(|directory| directory.sync_all()).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        write_whole(&path, |file| file.write_all(b"old")).unwrap();
        let failed = write_whole(&path, |file| {
            file.write_all(b"new")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(matches!(failed, Err(Error::Input(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
