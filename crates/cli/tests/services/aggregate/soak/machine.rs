//! The machine that a role believes it runs on: its disk can be slow or full, its clock can step (`faults.c`).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Reason of the refusal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Milliseconds that each flush takes longer.
    pub flush_ms: i64,
    /// The disk has no room.
    pub is_full: bool,
    /// Seconds that the clock is ahead.
    pub clock_s: i64,
}

pub struct Machine(PathBuf);

impl Machine {
    /// One without faults, told of them by a file.
    pub fn new(file: String) -> Machine {
        let machine = Machine(file.into());
        File::create(&machine.0).unwrap().set_len(24).unwrap();
        machine
    }

    pub fn set(&self, faults: Faults) {
        let numbers = [faults.flush_ms, i64::from(faults.is_full), faults.clock_s];
        let bytes = numbers.map(i64::to_ne_bytes).concat();
        // In its place: it is mapped.
        File::options().write(true).open(&self.0).unwrap().write_all_at(&bytes, 0).unwrap();
    }

    /// Returns the environment with which a process on it has to be started.
    pub fn environment(&self) -> [(&'static str, &str); 2] {
        [("LD_PRELOAD", preloaded().to_str().unwrap()), ("TACITA_FAULTS", self.0.to_str().unwrap())]
    }
}

/// `faults.c`, compiled.
fn preloaded() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services/aggregate/soak/faults.c");
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{}.so", std::process::id()));
        let arguments = ["-shared", "-fPIC", "-O1", source, "-ldl", "-o"];
        assert!(Command::new("cc").args(arguments).arg(&made).status().unwrap().success());
        made
    })
}
