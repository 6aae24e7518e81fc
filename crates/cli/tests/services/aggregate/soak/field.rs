//! Roles of a job, each on a machine and behind a wire of its own, and the faults that happen to them. All run over one
//! PostgreSQL and are registered in one etcd.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::machine::{Faults, Machine};
use super::wire::{Cut, Wire};
use crate::aggregate::registry::server::RegistryServer;
use crate::aggregate::stored::server::PostgresServer;
use crate::aggregate::world::World;
use crate::common::{Running, free_port, json as read_json};

/// Time limit for waiting for a batch under way.
const LONG: Duration = Duration::from_secs(30);

/// A role's place in the field.
pub struct Role {
    pub name: &'static str,
    listen: u16,
    pub wire: Wire,
    pub machine: Machine,
    running: Mutex<Option<Running>>,
    /// Output of its processes that have ended.
    said: Mutex<String>,
}

pub struct Field {
    pub world: World,
    pub roles: Vec<Role>,
    pub postgres: Mutex<PostgresServer>,
    pub etcd: Mutex<RegistryServer>,
    storage: String,
}

impl Field {
    /// Starts everything; nothing where there is no PostgreSQL or no etcd. The job file says of the first proxy and the
    /// first database where they listen, and the registry of the others.
    pub fn start(roles: &[&'static str], names: &[&str], round: Value, more: Value) -> Option<Field> {
        let (postgres, etcd) = (PostgresServer::start()?, RegistryServer::start()?);
        let number = |kind: &str| roles.iter().filter(|role| kind_of(role) == kind).count();
        let numbers = ["proxy", "oracle", "database"].map(|kind| (kind, number(kind)));
        let mut world = World::of_several(&numbers, names, round, more);
        world.addressed = true;
        let url = world.home.file("url", &format!("{}\n", postgres.socket_url("")));
        std::fs::set_permissions(&url, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let role = |name: &&'static str| {
            let listen = free_port();
            Role {
                name,
                listen,
                wire: Wire::to(listen),
                machine: Machine::new(world.home.at(&format!("faults-{name}"))),
                running: Mutex::default(),
                said: Mutex::default(),
            }
        };
        let roles: Vec<Role> = roles.iter().map(role).collect();
        let mut job = read_json(world.job());
        for role in roles.iter().filter(|role| ["proxy", "database"].contains(&role.name)) {
            job[role.name][0]["address"] = json!(role.address());
        }
        world.home.file("job.json", &job.to_string());
        let field = Field {
            world,
            roles,
            postgres: Mutex::new(postgres),
            etcd: Mutex::new(etcd),
            storage: format!("file:{url}"),
        };
        field.roles.iter().for_each(|role| field.begin(role));
        Some(field)
    }

    pub fn role(&self, name: &str) -> &Role {
        self.roles.iter().find(|role| role.name == name).unwrap()
    }

    /// Starts a role, again with the state of before.
    pub fn begin(&self, role: &Role) {
        let (job, home, kind) = (self.world.job(), &self.world.home, kind_of(role.name));
        let (id, state) = (home.at(&format!("id-{}", role.name)), home.at(&format!("state-{}", role.name)));
        let listen = format!("127.0.0.1:{}", role.listen);
        let (registry, address) = (self.etcd.lock().unwrap().url(), role.address());
        let mut arguments = vec![kind, &job, "--identity", &id, "--state", &state, "--listen", &listen, "--verbose"];
        arguments.extend(["--registry", &registry, "--advertise", &address]);
        if kind == "database" {
            arguments.extend(["--storage", &self.storage, "--dashboard", "127.0.0.1:0"]);
        }
        let mut running = Running::start_with(&arguments, &role.machine.environment());
        running.until_it_says("listens on");
        *role.running.lock().unwrap() = Some(running);
    }

    pub fn end(&self) {
        for role in &self.roles {
            if let Some(running) = role.running.lock().unwrap().take() {
                running.stop();
            }
        }
    }
}

impl Role {
    /// Returns the address at which others find it.
    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.wire.port)
    }

    /// Kills the role as if its machine had failed. Returns the number of batches, or questions, that were under way.
    pub fn kill(&self) -> usize {
        let running = self.running.lock().unwrap().take().unwrap();
        running.signal(Signal::KILL);
        let said = running.end().stderr;
        *self.said.lock().unwrap() += &said;
        under_way(&said)
    }

    /// Waits until something is under way.
    #[track_caller]
    pub fn until_something_is_under_way(&self) {
        let until = Instant::now() + LONG;
        while under_way(&self.says()) == 0 {
            assert!(Instant::now() < until, "nothing comes to {}: {}", self.name, self.says());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn signal(&self, signal: Signal) {
        self.running.lock().unwrap().as_ref().unwrap().signal(signal);
    }

    pub fn cut(&self, cut: Cut) {
        self.wire.cut(cut);
    }

    pub fn faults(&self, faults: Faults) {
        self.machine.set(faults);
    }

    /// Returns the messages and output of the running process.
    pub fn says(&self) -> String {
        self.running.lock().unwrap().as_ref().map(Running::said).unwrap_or_default()
    }

    /// The link of its dashboard.
    pub fn link(&self) -> String {
        self.running.lock().unwrap().as_mut().unwrap().until_it_prints("token=").trim().to_owned()
    }

    /// Returns the whole log of the role.
    pub fn log(&self) -> String {
        self.said.lock().unwrap().clone() + &self.says()
    }
}

fn kind_of(role: &'static str) -> &'static str {
    role.split('-').next().unwrap()
}

/// Batches that have come and are not on disk, and questions that have no answer, as a role's log tells them.
pub fn under_way(said: &str) -> usize {
    let mut open = BTreeMap::new();
    for line in said.lines() {
        let batch = line.split_once(": batch ").map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
        match batch {
            Some(batch) if line.ends_with(" comes") => *open.entry(batch).or_insert(0) = 1,
            Some(batch) if line.ends_with(" is on disk") => *open.entry(batch).or_insert(0) = 0,
            _ if line.contains(": is asked about ") => *open.entry("").or_insert(0) += 1,
            _ if line.contains(": has answered about ") => *open.entry("").or_insert(0) -= 1,
            _ => (),
        }
    }
    open.values().sum::<i64>().max(0) as usize
}
