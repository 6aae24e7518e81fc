//! Directories that one user alone can write to, and the files in them.
//!
//! A directory is looked at when it is opened, and everything after that happens in that very one, whatever its name
//! leads to by then. Its files are this user's, for this user alone, never symbolic links, and go by no other name:
//! whoever could write to the directory before cannot have a file of this user's read, cut or overwritten in the place
//! of one of ours.

use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use tacita_core::{Error, Result};

use crate::base::text::pasted;

/// Prefix of the names of incomplete files, which a process leaves behind if it is killed.
pub const LEFT_BEHIND: &str = ".tacita-";

/// Bits of a mode: others can write; only owners can rename and remove what is in a directory.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// A directory that nobody else can write to.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: OwnedFd,
}

impl Folder {
    /// Opens a directory, which is made for this user alone if it is not there; what is made is on disk before this
    /// returns.
    ///
    /// Errors ([`Error::Input`]): others can write to it, or it belongs to another user.
    pub fn make(path: &Path) -> Result<Folder> {
        let missing = path.ancestors().take_while(|place| !place.as_os_str().is_empty() && !place.exists());
        let missing: Vec<&Path> = missing.collect();
        match DirBuilder::new().recursive(true).mode(0o700).create(path) {
            Err(_) if path.exists() && !path.is_dir() => Err(fault(path, "is no directory; name one")),
            Err(error) => Err(fault(path, &format!("cannot use the directory: {error}"))),
            Ok(()) => {
                let kept = missing.into_iter().try_for_each(keep_entry);
                kept.map_err(|error| fault(path, &format!("cannot be made: {error}")))?;
                Folder::open(path)
            }
        }
    }

    /// Opens a directory that is there.
    ///
    /// Errors ([`Error::Input`]): others can write to it, or it belongs to another user.
    pub fn open(path: &Path) -> Result<Folder> {
        let failed = |error: io::Error| fault(path, &format!("cannot use the directory: {error}"));
        // The name may be a link: whoever can change it can change what the command is told, too.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let directory = File::from(handle);
        check_directory(path, &directory.metadata().map_err(failed)?)?;
        Ok(Folder { path: path.to_owned(), handle: directory.into() })
    }

    /// Returns the path at which the directory was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One of its files, for messages.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Names of what is in it.
    pub fn names(&self) -> Result<Vec<String>> {
        let failed = |error: Errno| fault(&self.path, &format!("cannot be read: {error}"));
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            // No file of ours has a name that is not UTF-8.
            names.extend(entry.map_err(failed)?.file_name().to_str().map(str::to_owned));
        }
        names.retain(|name| name != "." && name != "..");
        Ok(names)
    }

    /// Whether something of this name is there.
    pub fn has(&self, name: &str) -> bool {
        statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Opens a file to read it.
    pub fn read(&self, name: &str) -> io::Result<File> {
        self.openat(name, OFlags::RDONLY)
    }

    /// Opens a file that is there to read and to change it.
    pub fn change(&self, name: &str) -> io::Result<File> {
        self.openat(name, OFlags::RDWR)
    }

    /// Makes a file, in place of one of that name.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.remove(name)?;
        self.openat(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits until the names of its files are on disk as they are.
    pub fn flush(&self) -> io::Result<()> {
        Ok(unless_unsupported(fsync(&self.handle))?)
    }

    /// Gives a file another name, in place of the file that has it. On disk before this returns, if the file is; after
    /// an error it may have the one name or the other.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        renameat(&self.handle, from, &self.handle, to)?;
        self.flush()
    }

    /// Writes a file, whole or not at all, and on disk before this returns. After an error it may be there, whole.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write_streamed(name, |file| file.write_all(bytes).map_err(|error| self.cannot_write(name, &error)))
    }

    /// Writes like [`Folder::write`]; `write` fills the file.
    pub fn write_streamed(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let failed = |error: io::Error| self.cannot_write(name, &error);
        let part = format!("{LEFT_BEHIND}{name}.part");
        let fill = || {
            let mut file = BufWriter::with_capacity(1 << 16, self.create(&part).map_err(failed)?);
            write(&mut file)?;
            file.flush().map_err(failed)?;
            file.get_ref().sync_all().map_err(failed)?;
            self.rename(&part, name).map_err(failed)
        };
        // What went wrong is more to the point than that a part of a file stays.
        fill().inspect_err(|_| drop(self.remove(&part)))
    }

    /// Waits until no other process holds this lock, and holds it until the file is dropped.
    pub fn lock(&self, name: &str) -> Result<File> {
        loop {
            let file = self.open_lock(name)?;
            flock(&file, FlockOperation::LockExclusive).map_err(|error| self.cannot_lock(name, &error.into()))?;
            // Whoever had the lock may have given the file another name.
            if self.is_at(&file, name) {
                return Ok(file);
            }
        }
    }

    /// Locks like [`Folder::lock`]; returns nothing if another process holds the lock.
    pub fn try_lock(&self, name: &str) -> Result<Option<File>> {
        loop {
            let file = self.open_lock(name)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // A process that ended meanwhile may have removed the file that is locked now.
                Ok(()) if self.is_at(&file, name) => return Ok(Some(file)),
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(self.cannot_lock(name, &error.into())),
            }
        }
    }

    fn open_lock(&self, name: &str) -> Result<File> {
        self.openat(name, OFlags::RDWR | OFlags::CREATE).map_err(|error| self.cannot_lock(name, &error))
    }

    fn is_at(&self, file: &File, name: &str) -> bool {
        let inode = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW).map(|facts| facts.st_ino);
        matches!((inode, file.metadata()), (Ok(inode), Ok(facts)) if inode == facts.ino())
    }

    fn openat(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // A pipe of this name is not waited for.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| match errno {
            Errno::LOOP => io::Error::other("it is a link, and no file of such a directory may be one: remove it"),
            _ => errno.into(),
        })?;
        let file = File::from(file);
        let facts = file.metadata()?;
        match (facts.is_file(), facts.nlink() > 1) {
            (true, false) => check_owner(facts.uid()).map(|()| file).map_err(io::Error::other),
            (true, true) => Err(io::Error::other(
                "it has a second name (a hard link), and no file of such a directory may have one: remove one of the two",
            )),
            (false, _) => Err(io::Error::other("it is no regular file: remove it")),
        }
    }

    fn cannot_write(&self, name: &str, error: &io::Error) -> Error {
        fault(&self.at(name), &format!("cannot be written: {error}"))
    }

    fn cannot_lock(&self, name: &str, error: &io::Error) -> Error {
        fault(&self.at(name), &format!("cannot lock: {error}"))
    }
}

/// Refuses a directory in which others can make, rename or remove files.
fn check_directory(path: &Path, facts: &std::fs::Metadata) -> Result<()> {
    check_owner(facts.uid()).map_err(|what| fault(path, &format!("{what}: name a directory of your own")))?;
    match facts.mode() & (OTHERS_WRITE | STICKY) {
        0 | STICKY => Ok(()),
        bits if bits & STICKY != 0 => {
            Err(fault(path, "others can create files in this directory: name a private directory inside it"))
        }
        _ => {
            let (what, shown) = (others_write(facts), pasted(path.display()));
            Err(fault(
                path,
                &format!("{what}: remove their files and run `chmod 700 {shown}`, or name another directory"),
            ))
        }
    }
}

/// A directory in which others can put a file of theirs in the place of one of this user's.
#[derive(Debug, PartialEq, Eq)]
pub struct Replaceable {
    /// Description of how others can replace files.
    pub what: String,
    /// Whether the directory is this user's, who alone can change its mode.
    pub mine: bool,
}

/// Returns how others can replace a file of this user in a directory with one of theirs, if they can. In a
/// directory with the sticky bit, they cannot.
pub fn others_replace(directory: &Path) -> Option<Replaceable> {
    // A directory that cannot be looked at is refused, with the reason, where its files are opened.
    let facts = std::fs::metadata(directory).ok()?;
    let mine = facts.uid() == geteuid().as_raw() || geteuid().is_root();
    match facts.mode() & (OTHERS_WRITE | STICKY) {
        bits if bits & STICKY == 0 && bits != 0 => Some(Replaceable { what: others_write(&facts), mine }),
        _ => check_owner(facts.uid()).err().map(|what| Replaceable { what, mine }),
    }
}

fn others_write(facts: &std::fs::Metadata) -> String {
    format!("others can write to this directory (mode {:03o})", facts.mode() & 0o777)
}

/// Waits until the entry of what was made at a path is on disk.
fn keep_entry(made: &Path) -> io::Result<()> {
    let parent = made.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(unless_unsupported(fsync(File::open(parent)?))?)
}

/// Returns the result of flushing a directory. Not every file system lets directories be flushed.
fn unless_unsupported(flushed: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match flushed {
        Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
        flushed => flushed,
    }
}

/// Refuses what belongs to another user. The administrator can change everything anyway.
pub fn check_owner(uid: u32) -> std::result::Result<(), String> {
    if uid == 0 || uid == geteuid().as_raw() {
        Ok(())
    } else {
        Err(format!("it belongs to another user (number {uid})"))
    }
}

fn fault(path: &Path, what: &str) -> Error {
    Error::Input(format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests;
