//! Order in which a process changes the files below a directory, as `recorder.c` has seen it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Numbers of an event, before its texts.
const NUMBERS: usize = 6;

/// Something that a process did. Files and directories are called by their inodes; a number may come again when its
/// file is gone.
#[derive(Debug)]
pub(super) enum Event {
    /// A file was opened that is made if it is not there.
    Opened {
        inode: u64,
        is_cut: bool,
        path: String,
    },
    Written {
        inode: u64,
        at: u64,
        bytes: Vec<u8>,
    },
    Cut {
        inode: u64,
        length: u64,
    },
    Synced {
        inode: u64,
    },
    Directory {
        inode: u64,
        path: String,
    },
    Removed {
        path: String,
    },
    Renamed {
        from: String,
        to: String,
    },
}

/// Runs a test of this program alone, in a process of its own, until it ends well; what it does below `home`.
pub(super) fn record(home: &Path, test: &str, variable: &str) -> Vec<Event> {
    let home = home.canonicalize().unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new(recorder());
    command.arg(log.path()).arg(&home).arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--ignored"]).env(variable, &home).stdin(Stdio::null());
    let output = command.output().unwrap();
    let texts = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
    assert!(output.status.success() && texts.contains("1 passed"), "{texts}");
    let bytes = std::fs::read(log.path()).unwrap();
    let mut rest = &bytes[..];
    std::iter::from_fn(|| (!rest.is_empty()).then(|| next(&mut rest))).collect()
}

fn next(rest: &mut &[u8]) -> Event {
    let mut numbers = [0; NUMBERS];
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = u64::from_le_bytes(*rest[8 * place..].first_chunk().unwrap());
    }
    *rest = &rest[8 * NUMBERS..];
    let mut take = |length: u64| {
        let (taken, after) = rest.split_at(usize::try_from(length).unwrap());
        *rest = after;
        taken.to_vec()
    };
    let [kind, inode, number, path, to, data] = numbers;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (path, to, bytes) = (text(take(path)), text(take(to)), take(data));
    match kind {
        1 => Event::Opened { inode, is_cut: number == 1, path },
        2 => Event::Written { inode, at: number, bytes },
        3 => Event::Cut { inode, length: number },
        4 => Event::Synced { inode },
        5 => Event::Directory { inode, path },
        6 => Event::Removed { path },
        7 => Event::Renamed { from: path, to },
        _ => panic!("system call {number} of {path:?} {to:?} is not recorded"),
    }
}

/// `recorder.c`, compiled.
fn recorder() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../serve/src/crashes/model/recorder.c");
        let made = std::env::current_exe().unwrap().with_file_name(format!("recorder-{}", std::process::id()));
        assert!(Command::new("cc").args(["-O1", source, "-o"]).arg(&made).status().unwrap().success());
        made
    })
}
