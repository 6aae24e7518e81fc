//! An etcd of a test's own: in a temporary directory, at a port of this machine, ended with the test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde_json::{Value, json};

/// Time limit for the start of the server.
const LONG: Duration = Duration::from_secs(60);

/// A server, or one that has ended and can be started again.
pub struct RegistryServer {
    home: tempfile::TempDir,
    program: PathBuf,
    port: u16,
    /// Options of TLS; with none it speaks in the clear.
    private: Vec<String>,
    running: Option<Child>,
}

impl RegistryServer {
    /// Starts one; nothing, with a note, where there is no etcd.
    pub fn start() -> Option<RegistryServer> {
        RegistryServer::start_with(|_| Vec::new())
    }

    /// Starts a server with options of TLS, about files that are made in its directory.
    pub fn start_with(private: impl FnOnce(&Path) -> Vec<String>) -> Option<RegistryServer> {
        let Some(program) = program() else {
            eprintln!("left out: there is no etcd here (scripts/need etcd)");
            return None;
        };
        let home = tempfile::Builder::new().prefix("etcd").tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let private = private(home.path());
        let mut server = RegistryServer { home, program, port, private, running: None };
        server.start_again();
        Some(server)
    }

    /// Starts it with what is on its disk.
    pub fn start_again(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.home.path().join("log")).unwrap();
        let url = format!("{}://127.0.0.1:{}", if self.private.is_empty() { "http" } else { "https" }, self.port);
        let mut command = Command::new(&self.program);
        command.arg("--data-dir").arg(self.home.path().join("data")).args(["--listen-client-urls", &url]);
        command.args(["--advertise-client-urls", &url, "--listen-peer-urls", "http://127.0.0.1:0"]).args(&self.private);
        let command = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.running = Some(command.spawn().unwrap());
        let begun = Instant::now();
        while !self.is_ready() {
            let ended = self.running.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < LONG, "{ended:?}: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts it with nothing on its disk.
    pub fn start_empty(&mut self) {
        std::fs::remove_dir_all(self.home.path().join("data")).unwrap();
        self.start_again();
    }

    /// Kills the server process.
    pub fn kill(&mut self) {
        let mut running = self.running.take().unwrap();
        running.kill().unwrap();
        running.wait().unwrap();
    }

    fn is_ready(&self) -> bool {
        if self.private.is_empty() {
            self.try_call("/v3/kv/range", &json!({ "key": "AA==" })).is_some_and(|told| told["header"].is_object())
        } else {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    /// Returns the URL of the server, for `--registry`.
    pub fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", if self.private.is_empty() { "http" } else { "https" }, self.port)
    }

    /// Returns the directory of the server.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Puts an entry that stays.
    pub fn put(&self, key: &str, value: &[u8]) {
        self.call("/v3/kv/put", &json!({ "key": BASE64.encode(key.as_bytes()), "value": BASE64.encode(value) }));
    }

    /// Returns all entries of the server, keys and values.
    pub fn all(&self) -> Vec<(String, String)> {
        let told = self.call("/v3/kv/range", &json!({ "key": "AA==", "range_end": "AA==" }));
        let text = |value: &Value| {
            String::from_utf8(BASE64.decode(value.as_str().unwrap_or_default().as_bytes()).unwrap()).unwrap()
        };
        let entries = told["kvs"].as_array().into_iter().flatten();
        entries.map(|one| (text(&one["key"]), text(&one["value"]))).collect()
    }

    fn call(&self, path: &str, said: &Value) -> Value {
        self.try_call(path, said).unwrap_or_else(|| panic!("{path}: no answer: {}", self.log()))
    }

    fn try_call(&self, path: &str, said: &Value) -> Option<Value> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let said = said.to_string();
        let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", said.len());
        socket.write_all(format!("{head}{said}").as_bytes()).ok()?;
        let mut told = String::new();
        socket.read_to_string(&mut told).ok()?;
        serde_json::from_str(told.split_once("\r\n\r\n")?.1).ok()
    }
}

impl Drop for RegistryServer {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.kill();
            let _ = running.wait();
        }
    }
}

/// The program, where `scripts/need` has put it, or the machine has it.
fn program() -> Option<PathBuf> {
    let tools = std::env::var_os("TOOLS").map(PathBuf::from);
    let tools = tools.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([tools.join("bin")]);
    places.map(|place| place.join("etcd")).find(|program| program.is_file())
}
