//! Assignment of cores to processes.

use std::io::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Number of cores that this process had at first: it may stay on fewer later.
static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// Returns the number of cores.
pub fn cores() -> usize {
    *CORES
}

/// A program that uses one core alone, by util-linux's `taskset`, which replaces itself by it.
pub fn pinned(program: &Path, core: usize) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &core.to_string()]).arg(program);
    command
}

/// Has all threads of this process use these cores alone.
pub fn stay_on(cores: &str) -> Result<()> {
    let this = std::process::id().to_string();
    let mut command = Command::new("taskset");
    command.args(["--all-tasks", "--pid", "--cpu-list", cores, &this]).stdout(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Error::other(format!("taskset, of util-linux: this process cannot stay on cores {cores}"))),
    }
}
