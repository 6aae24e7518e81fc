//! A PostgreSQL server of a test's own: in a temporary directory, at a socket there and at a port of this machine,
//! ended with the test.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Owner of the cluster, who can do everything in it.
pub const USER: &str = "tester";

/// Time limit for the start of the server.
const LONG: Duration = Duration::from_secs(60);

/// A server, or one that has ended and can be started again.
pub struct PostgresServer {
    home: tempfile::TempDir,
    programs: PathBuf,
    /// User and group as which the server runs: it refuses to run as root.
    user: Option<(u32, u32)>,
    running: Option<Child>,
    port: u16,
}

impl PostgresServer {
    /// Makes a cluster and starts its server; nothing, with a note, where PostgreSQL's programs are not there.
    pub fn start() -> Option<PostgresServer> {
        let Some(programs) = programs() else {
            eprintln!("left out: there is no PostgreSQL server here (scripts/need postgresql)");
            return None;
        };
        let user = rustix::process::geteuid().is_root().then(somebody);
        let mut server = PostgresServer { home: home(user), programs, user, running: None, port: free_port() };
        let mut init = server.command("initdb");
        init.args(["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync", "-D"]);
        let made = init.arg(server.data()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.start_again();
        Some(server)
    }

    /// Starts it with what is on its disk.
    pub fn start_again(&mut self) {
        let begun = Instant::now();
        while begun.elapsed() < LONG {
            self.run();
            while self.running.as_mut().unwrap().try_wait().unwrap().is_none() {
                if self.is_ready() {
                    return;
                }
                assert!(begun.elapsed() < LONG, "{}", self.log());
                std::thread::sleep(Duration::from_millis(30));
            }
            // The processes of one that was killed may not have ended yet.
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not start: {}", self.log());
    }

    fn run(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.home.path().join("log")).unwrap();
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(self.home.path());
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-c", "shared_buffers=32MB"]);
        self.running = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
    }

    fn is_ready(&self) -> bool {
        let mut command = self.command("pg_isready");
        command.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string(), "-d", "postgres"]);
        command.status().is_ok_and(|status| status.success())
    }

    /// A server that follows this one: it has all that this one has now, and ends here.
    pub fn standby(&self) -> PostgresServer {
        let (home, port) = (home(self.user), free_port());
        let mut standby =
            PostgresServer { home, programs: self.programs.clone(), user: self.user, running: None, port };
        let mut copied = standby.command("pg_basebackup");
        copied.args([
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-U",
            USER,
            "--checkpoint=fast",
            "--no-sync",
            "-R",
            "-D",
        ]);
        let copied = copied.arg(standby.data()).output().unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        standby.start_again();
        standby.follow(self);
        standby
    }

    /// Waits until it has all that the server has that it follows.
    fn follow(&self, primary: &PostgresServer) {
        let (begun, wanted) = (Instant::now(), primary.ask("SELECT pg_current_wal_lsn()"));
        while self.ask(&format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{wanted}', false)")) != "t" {
            assert!(begun.elapsed() < LONG, "{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Takes the place of a server that has ended, at its port, with what has come from there.
    pub fn take_over(&mut self, ended: &PostgresServer) {
        if self.running.is_some() {
            self.end_at_once();
        }
        self.port = ended.port;
        self.start_again();
        assert_eq!(self.ask("SELECT pg_promote()"), "t", "{}", self.log());
    }

    /// Ends all of its processes at once, without writing what they hold in memory.
    pub fn end_at_once(&mut self) {
        self.signal("QUIT");
    }

    /// Kills the first of its processes, as a machine out of memory does.
    pub fn kill(&mut self) {
        self.signal("KILL");
    }

    fn signal(&mut self, signal: &str) {
        let mut running = self.running.take().unwrap();
        let sent = Command::new("kill").args(["-s", signal, &running.id().to_string()]).status().unwrap();
        assert!(sent.success());
        running.wait().unwrap();
    }

    /// A URL of it, with this at its end.
    pub fn url(&self, query: &str) -> String {
        format!("postgresql://{USER}@127.0.0.1:{}/postgres?{query}", self.port)
    }

    /// The same by its socket.
    pub fn socket_url(&self, query: &str) -> String {
        format!("postgresql:///postgres?user={USER}&port={}&host={}&{query}", self.port, self.home.path().display())
    }

    /// Returns the port of the server, for a URL of another kind.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the data directory of the server.
    pub fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// Puts a file into its directory, that only it can read.
    pub fn file(&self, name: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.data().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = self.user {
            chown(&path, Some(user), Some(group)).unwrap();
        }
    }

    /// Returns the log of the server.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    /// Returns the answer to an SQL statement, as `psql` shows it.
    pub fn ask(&self, statement: &str) -> String {
        let mut command = self.command("psql");
        command.args([
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-U",
            USER,
            "-d",
            "postgres",
            "-AtX",
            "-c",
            statement,
        ]);
        let told = command.output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap().trim().to_owned()
    }

    /// A session that has done a statement, and stays.
    pub fn session(&self, statement: &str) -> ServerSession {
        let mut command = self.command("psql");
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", USER, "-d", "postgres", "-AtXq"]);
        let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(running.stdin.as_mut().unwrap(), "{statement};\n\\echo done").unwrap();
        let mut said = BufReader::new(running.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.is_ok_and(|line| line == "done")));
        ServerSession(running)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(self.home.path()).stdin(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

/// Session whose locks are held until it ends.
pub struct ServerSession(Child);

impl ServerSession {
    /// Ends the session with the server.
    pub fn end(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

impl Drop for ServerSession {
    fn drop(&mut self) {
        self.end();
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if self.running.is_some() {
            self.end_at_once();
        }
    }
}

fn home(user: Option<(u32, u32)>) -> tempfile::TempDir {
    let home = tempfile::Builder::new().prefix("pg").tempdir().unwrap();
    if let Some((user, group)) = user {
        chown(home.path(), Some(user), Some(group)).unwrap();
    }
    home
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Finds the directory of the newest server's programs: on Debian it is not in the PATH.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut installed: Vec<PathBuf> =
        std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    installed.sort_by_key(|path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    places.extend(installed.into_iter().rev().map(|path| path.join("bin")));
    let all = ["initdb", "postgres", "pg_basebackup", "pg_isready", "psql"];
    places.into_iter().find(|place| all.iter().all(|name| place.join(name).is_file()))
}

/// A user that is not root: the package's own.
fn somebody() -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let found = ["postgres", "nobody"].iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    found.expect("a user who is not root")
}
