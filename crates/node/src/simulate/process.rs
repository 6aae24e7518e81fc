//! The processes of a simulation.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tacita_core::{Error, Result};

use super::{Instructions, POLL_INTERVAL, SimulationFailure, lock};
use crate::base::text::json;
use crate::watch::{ProgressSink, Snapshot};

/// Grace period for a party after another has failed. It learns of the failure within moments if the two are
/// connected, and waits in vain if not.
pub const GRACE: Duration = Duration::from_secs(1);
/// Message of a party on standard error, in either of its forms.
enum Said {
    Error(String),
    Warning(String),
}

impl Said {
    fn of(line: &str) -> Said {
        #[derive(Deserialize)]
        struct Logged {
            level: String,
            message: String,
        }
        if let Ok(Logged { level, message }) = serde_json::from_str(line) {
            return if level == "ERROR" { Said::Error(message) } else { Said::Warning(message) };
        }
        match line.strip_prefix("error: ") {
            Some(text) => Said::Error(text.to_owned()),
            None => Said::Warning(line.strip_prefix("warning: ").unwrap_or(line).to_owned()),
        }
    }
}

/// One party's process, with threads that read what it prints.
pub struct PartyProcess {
    /// Name of the party.
    pub name: String,
    pub(super) child: Child,
    /// Lines that it printed on standard output.
    pub(super) printed: Arc<Mutex<Vec<String>>>,
    /// Error line of the party, kept back: the simulation prints the one with which the failure began.
    error: Arc<Mutex<Option<String>>>,
    readers: Vec<std::thread::JoinHandle<()>>,
    ended: Option<u8>,
}

impl PartyProcess {
    pub(super) fn start(
        program: &Path,
        name: &str,
        instructions: &Instructions,
        screen: &dyn ProgressSink,
    ) -> Result<PartyProcess> {
        let mut command = Command::new(program);
        command.args([
            "simulated-party",
            "--quiet",
            "--log",
            if instructions.settings.logged { "json" } else { "text" },
        ]);
        let text = json(serde_json::to_string(instructions))?;
        PartyProcess::spawn(command, name, &text, screen)
    }

    /// Starts a process that says on standard error what this program says, and gives it `input`.
    pub fn spawn(mut command: Command, name: &str, input: &str, screen: &dyn ProgressSink) -> Result<PartyProcess> {
        let failed = |error: std::io::Error| Error::Internal(format!("cannot start the process of {name}: {error}"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).map_err(failed)?;
        }
        let (printed, error) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Option<String>>>::default());
        let mut readers = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let printed = printed.clone();
            readers.push(read_lines(stdout, move |line| lock(&printed).push(line)));
        }
        if let Some(stderr) = child.stderr.take() {
            let (error, name) = (error.clone(), name.to_owned());
            let mut display = screen.open(Some(&name));
            readers.push(read_lines(stderr, move |line| {
                if let Some(snapshot) = Snapshot::relayed(&line) {
                    display.show(&snapshot);
                    return;
                }
                match Said::of(&line) {
                    Said::Error(text) => *lock(&error) = Some(text),
                    Said::Warning(text) => tracing::warn!("{name}: {text}"),
                }
            }));
        }
        Ok(PartyProcess { name: name.to_owned(), child, printed, error, readers, ended: None })
    }

    /// Tells it to end.
    pub fn tell_to_end(&self) {
        if self.ended.is_none() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
    }

    /// Returns the exit code, once the party has ended.
    pub fn code(&self) -> Option<u8> {
        self.ended
    }

    /// Returns the id of the process.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Returns the lines printed on standard output so far.
    pub fn printed(&self) -> Vec<String> {
        lock(&self.printed).clone()
    }

    /// Returns the failure of the party, if it has failed.
    pub fn failure(&self) -> Option<SimulationFailure> {
        let code = self.ended.filter(|code| *code != 0)?;
        let text = lock(&self.error).clone().unwrap_or_else(|| "its process was ended from outside".into());
        Some(SimulationFailure { party: self.name.clone(), text, code })
    }

    /// Whether the process has ended; notes its exit code.
    pub fn has_ended(&mut self) -> Result<bool> {
        if self.ended.is_none() {
            let status = self.child.try_wait().map_err(|error| Error::Internal(error.to_string()))?;
            self.ended = status.map(|status| status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(3));
            if self.ended.is_some() {
                self.readers.drain(..).for_each(|reader| drop(reader.join()));
            }
        }
        Ok(self.ended.is_some())
    }
}

impl Drop for PartyProcess {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn read_lines(
    source: impl Read + Send + 'static,
    mut take: impl FnMut(String) + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || BufReader::new(source).lines().map_while(|line| line.ok()).for_each(&mut take))
}

/// Waits until all have ended. Once one has failed, the others get [`GRACE`].
pub(super) fn wait_for_all(parties: &mut [PartyProcess]) -> Result<Option<SimulationFailure>> {
    let mut failed_at: Option<Instant> = None;
    loop {
        let mut running = false;
        for party in parties.iter_mut() {
            running |= !party.has_ended()?;
        }
        if failed_at.is_none() && parties.iter().any(|party| party.ended.is_some_and(|code| code != 0)) {
            failed_at = Some(Instant::now());
        }
        if !running || failed_at.is_some_and(|at| at.elapsed() > GRACE) {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let failed = parties.iter().filter(|party| party.ended.is_some_and(|code| code != 0));
    let first = failed.min_by_key(|party| consequence(party.ended.unwrap_or_default()));
    Ok(first.and_then(PartyProcess::failure))
}

/// Ranks how likely an exit code is to be the consequence of another party's failure rather than the cause.
pub fn consequence(code: u8) -> u8 {
    match code {
        130 => 0,
        70 => 1,
        2 => 2,
        5 => 3,
        4 => 4,
        3 => 6,
        _ => 5,
    }
}
