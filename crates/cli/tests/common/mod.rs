//! Common part of the tests of whole processes: the program as a child process, parties with key pairs, and data sets.

// Each test program uses a part of this.
#![allow(dead_code, unused_imports)]

pub mod browser;
pub mod dot;
mod pair;
pub mod site;
pub mod stranger;
mod tables;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

pub use pair::{NAMES, Pair, free_port};
pub use tables::{Rows, column, convert, data, joined_key, rows_of};

/// No process runs for longer than this.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code of the process; -1 if a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// From its start to its end.
    pub took: Duration,
}

impl Ended {
    /// Checks that it ended well, and hands it on.
    #[track_caller]
    pub fn well(self) -> Ended {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    /// Checks that it ended with this code and one line of error that holds all of `words`; returns the line.
    #[track_caller]
    pub fn failed(&self, code: i32, words: &[&str]) -> String {
        assert_eq!(self.code, code, "{}", self.stderr);
        let errors: Vec<_> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        let [line] = errors[..] else { panic!("not one line of error: {}", self.stderr) };
        assert!(self.stderr.ends_with(&format!("{line}\n")), "the error is not the last word: {}", self.stderr);
        for word in words {
            assert!(line.contains(word), "`{line}` lacks `{word}`");
        }
        line.to_owned()
    }
}

/// The program as a child process, killed if it is dropped before its end.
pub struct Running {
    child: Child,
    started: Instant,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    /// Starts `tacita` with these arguments.
    pub fn start(arguments: &[&str]) -> Running {
        Running::start_with(arguments, &[])
    }

    /// Starts the program like [`Running::start`], with additional environment variables.
    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tacita"))
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (Arc::<Mutex<String>>::default(), Arc::<Mutex<String>>::default());
        let readers = vec![
            keep(child.stdout.take().unwrap(), stdout.clone()),
            keep(child.stderr.take().unwrap(), stderr.clone()),
        ];
        Running { child, started: Instant::now(), stdout, stderr, readers }
    }

    /// Waits until it has said `text` on standard error.
    #[track_caller]
    pub fn until_it_says(&mut self, text: &str) {
        let until = Instant::now() + LIMIT;
        while !self.stderr.lock().unwrap().contains(text) {
            let ended = self.child.try_wait().unwrap();
            let said = self.stderr.lock().unwrap().clone();
            assert!(ended.is_none() || said.contains(text), "ended ({ended:?}) without `{text}`: {said}");
            assert!(Instant::now() < until, "does not say `{text}`: {said}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the output on standard error so far.
    pub fn said(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Waits like [`Running::until_it_says`], and returns the whole output on standard error so far.
    #[track_caller]
    pub fn until_it_logs(&mut self, text: &str) -> String {
        self.until_it_says(text);
        self.stderr.lock().unwrap().clone()
    }

    /// Waits until it has written `text` on standard output, and returns all that it has.
    #[track_caller]
    pub fn until_it_prints(&mut self, text: &str) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let printed = self.stdout.lock().unwrap().clone();
            if printed.contains(text) {
                return printed;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "{ended:?}: {}", self.stderr.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks it to end, and waits until it has.
    #[track_caller]
    pub fn stop(self) -> Ended {
        self.signal(rustix::process::Signal::TERM);
        self.end()
    }

    /// Returns the process ID that the system gave it.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sets how much of something it may have.
    pub fn limit(&self, resource: rustix::process::Resource, most: u64) {
        let limit = rustix::process::Rlimit { current: Some(most), maximum: Some(most) };
        rustix::process::prlimit(Some(rustix::process::Pid::from_child(&self.child)), resource, limit).unwrap();
    }

    /// Writes to its standard input, which ends with that.
    pub fn feed(&mut self, text: &str) {
        // It may have ended already.
        let _ = self.child.stdin.take().unwrap().write_all(text.as_bytes());
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(self) -> Ended {
        self.end_within(LIMIT)
    }

    /// Waits for the end like [`Running::end`], for a process that may run longer.
    #[track_caller]
    pub fn end_within(mut self, limit: Duration) -> Ended {
        let until = Instant::now() + limit;
        drop(self.child.stdin.take());
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() >= until => panic!("does not end: {}", self.stderr.lock().unwrap()),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let took = self.started.elapsed();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        let taken = |text: &Mutex<String>| std::mem::take(&mut *text.lock().unwrap());
        Ended { code: status.code().unwrap_or(-1), stdout: taken(&self.stdout), stderr: taken(&self.stderr), took }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `tacita` with these arguments to its end.
#[track_caller]
pub fn tacita(arguments: &[&str]) -> Ended {
    Running::start(arguments).end()
}

fn keep(source: impl Read + Send + 'static, text: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut source = BufReader::new(source);
        let mut line = Vec::new();
        while source.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            text.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    })
}

/// A directory that is gone with its owner.
pub struct Home(tempfile::TempDir);

impl Home {
    pub fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    /// The path of a file in it.
    pub fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file in it, and returns its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        self.bytes(name, text.as_bytes())
    }

    /// Writes a file like [`Home::file`], from bytes that may not be text.
    pub fn bytes(&self, name: &str, content: &[u8]) -> String {
        let path = self.at(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Makes a directory in it, and returns its path.
    pub fn directory(&self, name: &str) -> String {
        let path = self.at(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

/// Names of the files in a directory, hidden ones too, in order.
pub fn files(directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A text file.
#[track_caller]
pub fn text(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A JSON file.
#[track_caller]
pub fn json(path: impl AsRef<Path>) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

/// The project's samples.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Names of the keys of a JSON object, in order.
#[track_caller]
pub fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
