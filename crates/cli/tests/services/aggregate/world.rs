//! A job with its roles and participants as processes, each with a directory of its own, that find each other by a
//! directory of addresses.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tacita_node::identity::Identity;

use crate::common::{Ended, Home, Running, json as read_json, tacita};

/// The round that is opened at the beginning.
pub const ROUND: &str = "one";

pub struct World {
    pub home: Home,
    pub names: Vec<String>,
    running: BTreeMap<&'static str, Running>,
    /// Roles listen where the job file says, and are looked for there.
    pub addressed: bool,
    /// Roles register here, and nobody has a directory of addresses.
    pub registry: Option<String>,
}

impl World {
    /// A job with these changes to `[round]`, whose participants have these names; nothing runs yet.
    pub fn new(names: &[&str], round: Value, more: Value) -> World {
        World::of_several(&[], names, round, more)
    }

    /// With as many of some roles, as `("proxy", 3)`: they are `proxy`, `proxy-1`, `proxy-2`.
    pub fn of_several(numbers: &[(&str, usize)], names: &[&str], round: Value, more: Value) -> World {
        let home = Home::new();
        let mut job = json!({
            "job": "aggregate", "id": "world", "reveal_to": "participants",
            "key": { "columns": ["item"], "duplicates": "all" },
            "round": { "reveal_when": "distinct >= 2", "key_bytes": 16 },
            "participants": { "allow": "participants" },
        });
        for (key, value) in round.as_object().unwrap() {
            job["round"][key] = value.clone();
        }
        for (key, value) in more.as_object().unwrap() {
            job[key] = value.clone();
        }
        for role in ["proxy", "oracle", "database"] {
            let number = numbers.iter().find(|(of, _)| *of == role).map_or(1, |(_, number)| *number);
            let member = |place| json!({ "identity": identity(&home, &named(role, place)) });
            job[role] = (0..number).map(member).collect();
        }
        let lines: Vec<String> = names.iter().map(|name| format!("{name} {}", identity(&home, name))).collect();
        home.file("participants", &lines.join("\n"));
        home.file("job.json", &job.to_string());
        home.directory("addresses");
        World {
            home,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            running: BTreeMap::new(),
            addressed: false,
            registry: None,
        }
    }

    /// With all roles, and the round open.
    pub fn started(names: &[&str], round: Value, more: Value) -> World {
        let mut world = World::new(names, round, more);
        for role in ["database", "proxy", "oracle"] {
            world.start(role);
        }
        world
    }

    pub fn job(&self) -> String {
        self.home.at("job.json")
    }

    /// Starts a role, again with the state of before.
    pub fn start(&mut self, role: &'static str) {
        self.start_with(role, &[]);
    }

    pub fn start_with(&mut self, role: &'static str, more: &[&str]) {
        let (job, id) = (self.job(), self.home.at(&format!("id-{role}")));
        let (state, addresses) = (self.home.at(&format!("state-{role}")), self.home.at("addresses"));
        let report = self.home.at(&format!("{role}.report.json"));
        let kind = role.split('-').next().unwrap();
        let mut arguments = vec![kind, &job, "--identity", &id, "--state", &state, "--report", &report];
        if !self.addressed && !more.contains(&"--listen") {
            arguments.extend(["--listen", "127.0.0.1:0"]);
        }
        match &self.registry {
            Some(url) => arguments.extend(["--registry", url]),
            None if self.addressed => (),
            None => arguments.extend(["--announce", &addresses]),
        }
        if kind == "database" {
            arguments.extend(["--round", ROUND]);
        }
        arguments.extend(more);
        let mut running = Running::start(&arguments);
        running.until_it_says("listens on");
        self.running.insert(role, running);
    }

    /// Kills a role as if its machine had failed.
    pub fn kill(&mut self, role: &str) {
        let running = self.running.remove(role).unwrap();
        running.signal(Signal::KILL);
        running.end();
    }

    pub fn role(&mut self, role: &str) -> &mut Running {
        self.running.get_mut(role).unwrap()
    }

    /// Takes a role's process out, to see it end.
    pub fn take(&mut self, role: &str) -> Running {
        self.running.remove(role).unwrap()
    }

    /// Runs a command as a participant, with the arguments that all have.
    pub fn as_participant(&self, command: &str, name: &str, more: &[&str]) -> Running {
        let (job, id, addresses) = (self.job(), self.home.at(&format!("id-{name}")), self.home.at("addresses"));
        let mut arguments = vec![command, &job, "--as", name, "--identity", &id];
        if self.registry.is_none() && !self.addressed {
            arguments.extend(["--announce", &addresses]);
        }
        if !more.contains(&"--round") {
            arguments.extend(["--round", ROUND]);
        }
        arguments.extend(more);
        Running::start(&arguments)
    }

    /// Submits items, one a row.
    pub fn submit(&self, name: &str, items: &[&str]) -> Ended {
        self.submit_with(name, items, &[])
    }

    pub fn submit_with(&self, name: &str, items: &[&str], more: &[&str]) -> Ended {
        let input = self.home.file(&format!("{name}.csv"), &format!("item\n{}\n", items.join("\n")));
        let arguments = [&["--input", &input][..], more].concat();
        self.as_participant("submit", name, &arguments).end()
    }

    /// Runs an operator's action on a round.
    pub fn operate(&self, action: &str, round: &str, more: &[&str]) -> Ended {
        self.operate_all(action, &[&["--round", round], more].concat())
    }

    /// Runs an operator's action on all rounds.
    pub fn operate_all(&self, action: &str, more: &[&str]) -> Ended {
        let (job, id, addresses) = (self.job(), self.home.at("id-database"), self.home.at("addresses"));
        let mut arguments = vec!["round", action, &job, "--identity", &id];
        if self.registry.is_none() && !self.addressed {
            arguments.extend(["--announce", &addresses]);
        }
        arguments.extend(more);
        tacita(&arguments)
    }

    /// Returns the status of a round.
    pub fn status(&self, round: &str) -> Value {
        serde_json::from_str(&self.operate("status", round, &["--json"]).well().stdout).unwrap()
    }

    /// Waits until a round is in one of these states, and returns how it then stands.
    #[track_caller]
    pub fn until(&self, round: &str, states: &[&str]) -> Value {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let status = self.status(round);
            if states.iter().any(|state| status["state"] == *state) {
                return status;
            }
            assert!(Instant::now() < until, "{status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Closes the round, and waits for its result as a participant gets it: key and count of each row.
    #[track_caller]
    pub fn result(&self, name: &str) -> BTreeMap<String, u64> {
        self.operate("close", ROUND, &[]).well();
        let status = self.until(ROUND, &["revealed", "failed"]);
        assert_eq!(status["state"], "revealed", "{status}");
        self.collected(name, ROUND)
    }

    /// The result of a round that is revealed.
    #[track_caller]
    pub fn collected(&self, name: &str, round: &str) -> BTreeMap<String, u64> {
        let output = self.home.at(&format!("{name}.result.csv"));
        self.as_participant("results", name, &["--round", round, "--force", "--output", &output]).end().well();
        rows(&output).into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
    }

    pub fn report(&self, role: &str) -> Value {
        read_json(self.home.at(&format!("{role}.report.json")))
    }
}

/// Returns the name used here for one of several instances of a role.
fn named(role: &str, place: usize) -> String {
    if place == 0 { role.to_owned() } else { format!("{role}-{place}") }
}

/// The rows of a CSV file, without its header.
pub fn rows(path: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// Makes an identity, and returns its fingerprint. No process is started for it: some jobs have thirty of them.
fn identity(home: &Home, name: &str) -> String {
    let directory = home.at(&format!("id-{name}"));
    Identity::create(Path::new(&directory), name).unwrap().fingerprint().to_string()
}

/// Items of participants, and how many participants have each: `items[i]` is what participant `i` reports.
pub fn made(participants: usize, items: usize) -> (Vec<Vec<String>>, BTreeMap<String, u64>) {
    let mut all = Vec::new();
    let mut counts = BTreeMap::new();
    for participant in 0..participants {
        // Item k is with every participant that divides into it: shares of many kinds.
        let own = (1..=items).filter(|item| item % (participant + 1) == 0).map(|item| format!("item-{item:05}"));
        let own: Vec<String> = own.collect();
        own.iter().for_each(|item| *counts.entry(item.clone()).or_insert(0) += 1);
        all.push(own);
    }
    (all, counts)
}

/// Returns the items that have at least the given count.
pub fn over(counts: &BTreeMap<String, u64>, least: u64) -> BTreeMap<String, u64> {
    counts.iter().filter(|(_, count)| **count >= least).map(|(item, count)| (item.clone(), *count)).collect()
}
