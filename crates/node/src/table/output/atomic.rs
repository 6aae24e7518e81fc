//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tacita_core::{Error, Result};
use tempfile::NamedTempFile;

/// Where a file of this name really goes.
enum Target {
    /// A regular file, or none yet: written beside it and renamed. Links are followed, so that they stay links.
    File(PathBuf),
    /// A device or pipe (`/dev/null`, `/dev/stdout`): written to; renaming would replace the device.
    Device,
}

fn target(path: &Path) -> Result<Target> {
    let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&resolved) {
        Ok(metadata) if metadata.is_dir() => Err(fault(path, "is a directory; name a file in it")),
        Ok(metadata) if metadata.is_file() => Ok(Target::File(resolved)),
        Ok(_) => Ok(Target::Device),
        Err(_) => Ok(Target::File(resolved)),
    }
}

/// Checks that [`write()`] could write a file of this name.
pub(super) fn check(path: &Path) -> Result<()> {
    match target(path)? {
        Target::File(file) => temporary(path, &file).map(drop),
        Target::Device => Ok(()),
    }
}

/// Writes a file by `write` into a temporary file in the same directory, which is flushed to disk and then renamed.
pub(super) fn write(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
    let failed = |error: std::io::Error| fault(path, &format!("cannot be written: {error}"));
    let file = match target(path)? {
        Target::File(file) => file,
        Target::Device => {
            let mut device = BufWriter::new(OpenOptions::new().write(true).open(path).map_err(failed)?);
            write(&mut device)?;
            return device.flush().map_err(failed);
        }
    };
    let mut temporary = temporary(path, &file)?;
    let mut buffered = BufWriter::with_capacity(1 << 16, temporary.as_file_mut());
    write(&mut buffered)?;
    buffered.flush().map_err(failed)?;
    drop(buffered);
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&file).map_err(|error| failed(error.error))?;
    // The renaming itself; not every file system lets directories be flushed, and the file is in place by now.
    let _ = File::open(directory(&file)).and_then(|directory| directory.sync_all());
    Ok(())
}

/// A temporary file beside `file`; it removes itself unless renamed. Its permissions are those of any new file.
fn temporary(path: &Path, file: &Path) -> Result<NamedTempFile> {
    let directory = directory(file);
    if !directory.is_dir() {
        return Err(fault(path, &format!("there is no directory {}; make it first", directory.display())));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tacita-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory).map_err(|error| {
        // The error names the temporary file, which tells the user nothing.
        fault(path, &format!("cannot be written in {}: {}", directory.display(), error.kind()))
    })
}

fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

fn fault(path: &Path, what: &str) -> Error {
    Error::Input(format!("{}: {what}", path.display()))
}
