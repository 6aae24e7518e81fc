//! A job of two parties that run as processes of their own.

use std::net::TcpListener;
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::Mutex;

use tacita_node::identity::Identity;

use super::{Home, Running, tacita};

/// Range of ports below those that the system assigns on request. Another process could take an assigned port before
/// the test listens at it.
const PORTS: Range<u16> = 20_000..32_000;

/// A port on which nobody listens, and that no other test is given as long as this process lives: it has a name in the
/// kernel as long.
pub fn free_port() -> u16 {
    static TAKEN: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
    let first = std::process::id() as usize % PORTS.len();
    for port in PORTS.cycle().skip(first).take(PORTS.len()) {
        let name = SocketAddr::from_abstract_name(format!("tacita-test-port-{port}")).unwrap();
        let Ok(taken) = UnixListener::bind_addr(&name) else { continue };
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            TAKEN.lock().unwrap().push(taken);
            return port;
        }
    }
    panic!("all ports are in use");
}

/// The parties `hospital`, which listens, and `insurer`, which dials. For each NAME there are in `home`: its key pair
/// (the directory NAME), its job file (NAME.toml), and its directory for output (NAME.out).
pub struct Pair {
    pub home: Home,
    /// Address at which the hospital listens.
    pub address: String,
    terms: String,
    fingerprints: [String; 2],
}

pub const NAMES: [&str; 2] = ["hospital", "insurer"];

impl Pair {
    /// Two parties with the same job file, made of `terms`: see [`Pair::job`].
    pub fn new(terms: &str) -> Pair {
        let home = Home::new();
        let fingerprints = NAMES.map(|name| {
            home.directory(&format!("{name}.out"));
            tacita(&["identity", "new", &home.at(name)]).well().stdout.trim().to_owned()
        });
        let address = format!("127.0.0.1:{}", free_port());
        let pair = Pair { home, address, terms: terms.to_owned(), fingerprints };
        pair.write_jobs();
        pair
    }

    fn write_jobs(&self) {
        for name in NAMES {
            self.home.file(&format!("{name}.toml"), &self.job(&self.terms));
        }
    }

    /// Gives a party another identity, which both job files name.
    pub fn identify(&mut self, name: &str, identity: &Identity) {
        std::fs::remove_dir_all(self.home.at(name)).unwrap();
        identity.save(Path::new(&self.home.at(name))).unwrap();
        let position = NAMES.iter().position(|known| *known == name).unwrap();
        self.fingerprints[position] = identity.fingerprint().to_string();
        self.write_jobs();
    }

    /// The text of a job file: `terms`, then the parties, unless `terms` end with them. In `terms`, HOSPITAL, INSURER
    /// and ADDRESS stand for the fingerprints and for where the hospital listens.
    pub fn job(&self, terms: &str) -> String {
        let parties = "[parties.hospital]\naddress = \"ADDRESS\"\nidentity = \"HOSPITAL\"\n\
                       [parties.insurer]\nidentity = \"INSURER\"\n";
        let whole = if terms.contains("[parties.") { terms.to_owned() } else { format!("{terms}\n{parties}") };
        whole
            .replace("HOSPITAL", &self.fingerprints[0])
            .replace("INSURER", &self.fingerprints[1])
            .replace("ADDRESS", &self.address)
    }

    /// The fingerprint of a party.
    pub fn fingerprint(&self, name: &str) -> &str {
        &self.fingerprints[usize::from(name != NAMES[0])]
    }

    /// Writes a party's table.
    pub fn table(&self, name: &str, text: &str) {
        self.home.file(&format!("{name}.csv"), text);
    }

    /// Starts a party on its table, NAME.csv, with further arguments. Its result goes to NAME.out/rows.csv, in the
    /// place of an earlier one, its report to NAME.out/report.json.
    pub fn start(&self, name: &str, more: &[&str]) -> Running {
        let at = |suffix: &str| self.home.at(&format!("{name}{suffix}"));
        self.start_on(name, &["--input", &at(".csv"), "--force", "--output", &at(".out/rows.csv")], more)
    }

    /// Starts a party with input and output as `files` say.
    pub fn start_on(&self, name: &str, files: &[&str], more: &[&str]) -> Running {
        let at = |suffix: &str| self.home.at(&format!("{name}{suffix}"));
        let (job, identity, report) = (at(".toml"), at(""), at(".out/report.json"));
        let fixed = ["run", &job, "--as", name, "--identity", &identity, "--report", &report];
        Running::start(&[&fixed, files, more].concat())
    }

    /// The path of a file that a party has written.
    pub fn out(&self, name: &str, file: &str) -> String {
        self.home.at(&format!("{name}.out/{file}"))
    }
}
