//! A job's roles as processes over the loopback interface, with its participants in this process.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, Result};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tacita_aggregate::participant::operate::{Operator, RoundOrder};
use tacita_aggregate::participant::results::{Collecting, collect};
use tacita_aggregate::participant::submit::{Submitting, submit};
use tacita_aggregate::setting::ServiceConfig;
use tacita_aggregate::wire::rounds::{RoundState, RoundStatus};
use tacita_bench::{measure, tacita};
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::Existing;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::reports::ReportsInput;
use tacita_node::jobs::aggregate::results::ResultFormat;
use tacita_node::table::ReadOptions;
use tacita_node::watch::NoProgress;
use tempfile::TempDir;

use crate::measures::published::paper_raf::cores::{cores, pinned};

/// Name of the one round.
const ROUND: &str = "one";

/// Participants that submit at a time.
const AT_ONCE: usize = 64;

/// Interval at which conditions are polled: seldom enough not to be work for those who are asked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time limit for anything that is waited for.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Terms of the job.
pub struct Terms {
    pub protocol: &'static str,
    pub key_bytes: usize,
    /// Normalisation of keys: `none`, `ip`.
    pub normalize: &'static str,
    /// Reports carry one of so many values; 0: none.
    pub values: u32,
    /// A key passes that so many have reported.
    pub distinct: usize,
}

/// Service with the roles that run.
pub struct Service {
    home: TempDir,
    setting: Arc<ServiceConfig>,
    operator: Operator,
    participants: Vec<Identity>,
    pub proxies: Vec<Role>,
    pub oracle: Role,
    pub database: Role,
}

/// A role's process, which ends with this.
pub struct Role {
    process: Child,
    name: String,
    /// CPU time that the role had taken when all were ready.
    before: f64,
}

/// Total cost of the participants.
pub struct Submitted {
    /// Seconds from the first to the last.
    pub wall: f64,
    /// CPU seconds of all.
    pub cpu: f64,
    /// Bytes that they have sent, and received.
    pub bytes: [u64; 2],
}

impl Terms {
    /// The job file, without its roles.
    pub fn job(&self) -> Value {
        let mut job = json!({
            "job": "aggregate", "id": "bench", "protocol": self.protocol, "reveal_to": "participants",
            "key": { "columns": ["key"], "normalize": [self.normalize], "duplicates": "all" },
            "round": { "reveal_when": format!("distinct >= {}", self.distinct), "key_bytes": self.key_bytes },
        });
        if self.values > 0 {
            job["round"]["values"] = json!({ "min": 0, "max": self.values - 1 });
        }
        job
    }
}

impl Service {
    /// Starts `proxies` proxies, the first on the first core and so on, an oracle and a database, on the last core, and
    /// opens a round.
    pub fn start(terms: &Terms, proxies: usize, participants: usize) -> Result<Service> {
        let home = tempfile::tempdir()?;
        let make = |name: &str| Identity::create(&home.path().join(name), name).map_err(Error::other);
        let mut job = terms.job();
        for (role, number) in [("proxy", proxies), ("oracle", 1), ("database", 1)] {
            let member =
                |place| Ok(json!({ "identity": make(&format!("{role}-{}", place + 1))?.fingerprint().to_string() }));
            job[role] = (0..number).map(member).collect::<Result<Vec<_>>>()?.into();
        }
        let named = (0..participants).map(|place| make(&name(place))).collect::<Result<Vec<_>>>()?;
        let allowed = |(place, identity): (usize, &Identity)| format!("{} {}\n", name(place), identity.fingerprint());
        std::fs::write(home.path().join("allowed"), named.iter().enumerate().map(allowed).collect::<String>())?;
        job["participants"] = json!({ "allow": "allowed" });
        let (file, addresses) = (home.path().join("job.json"), home.path().join("addresses"));
        std::fs::write(&file, job.to_string())?;
        std::fs::create_dir(&addresses)?;
        let setting = JobSpec::load(&file).and_then(ServiceConfig::new).map_err(Error::other)?;
        let last = cores() - 1;
        let start = |role: &str, place: usize, core: usize| Role::start(&home, role, place, core);
        let mut database = start("database", 0, last)?;
        let all = (0..proxies).map(|place| start("proxy", place, place % cores()));
        let mut proxies = all.collect::<Result<Vec<_>>>()?;
        let mut oracle = start("oracle", 0, last)?;
        for role in proxies.iter_mut().chain([&mut oracle, &mut database]) {
            role.listens(&home)?;
        }
        let identity = Identity::load(&home.path().join("database-1")).map_err(Error::other)?;
        let operator = Operator::new(&setting, &identity, Some(&addresses)).map_err(Error::other)?;
        until("all proxies take reports", || Ok(status(&operator)?.proxy.is_some()))?;
        for role in proxies.iter_mut().chain([&mut oracle, &mut database]) {
            role.before = role.cpu_so_far()?;
        }
        Ok(Service { home, setting: Arc::new(setting), operator, participants: named, proxies, oracle, database })
    }

    /// Has each participant submit its reports, which are lines of a table of one column, or two.
    pub fn submit(&self, header: &str, reports: &[Vec<String>]) -> Result<Submitted> {
        let inputs = reports.iter().enumerate().map(|(place, lines)| {
            let path = self.home.path().join(format!("{}.csv", name(place)));
            std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n")))?;
            Ok(path)
        });
        let inputs = inputs.collect::<Result<Vec<PathBuf>>>()?;
        let next = AtomicUsize::new(0);
        let work = || -> Result<[u64; 2]> {
            let mut bytes = [0; 2];
            while let Some((place, input)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|place| Some((place, inputs.get(place)?)))
            {
                let report = submit(&self.submitting(place, input)).map_err(Error::other)?;
                for (sum, way) in bytes.iter_mut().zip(["sent", "received"]) {
                    *sum += report["bytes"][way].as_u64().unwrap_or_default();
                }
            }
            Ok(bytes)
        };
        let (ended, taken) = measure(|| {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..AT_ONCE.min(inputs.len())).map(|_| scope.spawn(work)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<_>>>()
            })
        });
        let bytes = ended?.iter().fold([0; 2], |[sent, received], more| [sent + more[0], received + more[1]]);
        Ok(Submitted { wall: taken.wall.as_secs_f64(), cpu: taken.cpu.as_secs_f64(), bytes })
    }

    fn submitting(&self, place: usize, input: &std::path::Path) -> Submitting {
        Submitting {
            setting: self.setting.clone(),
            me: name(place),
            identity: self.participants[place].clone(),
            input: ReportsInput {
                path: input.to_owned(),
                options: ReadOptions::default(),
                listing: None,
                expand: None,
                allow_unreadable: false,
            },
            round: ROUND.into(),
            resume: false,
            batch: None,
            timeout: TIMEOUT,
            patience: TIMEOUT,
            announce: Some(self.home.path().join("addresses")),
            screen: Arc::new(NoProgress),
            cancel: Cancel::default(),
        }
    }

    /// Closes the round, and waits for its result: by key, how many reports it has.
    pub fn result(&self) -> Result<BTreeMap<String, usize>> {
        self.operator.order(ROUND, &RoundOrder::Close { without: Vec::new() }).map_err(Error::other)?;
        until("the round is revealed", || {
            let status = status(&self.operator)?;
            match status.failure {
                Some(failure) => Err(Error::other(failure.reason)),
                None => Ok(status.state == RoundState::Revealed),
            }
        })?;
        let (results, _) = collect(&Collecting {
            setting: self.setting.clone(),
            me: name(0),
            identity: self.participants[0].clone(),
            round: ROUND.into(),
            input: None,
            timeout: TIMEOUT,
            announce: Some(self.home.path().join("addresses")),
            cancel: Cancel::default(),
        })
        .map_err(Error::other)?;
        let path = self.home.path().join("result.csv");
        let format = ResultFormat::check(&path, None, Existing::Replaced).map_err(Error::other)?;
        results.write(&path, Some(format)).map_err(Error::other)?;
        let text = std::fs::read_to_string(path)?;
        let row = |line: &str| {
            let (key, count) = line.split_once(',').ok_or_else(|| Error::other("a row without a count"))?;
            Ok((key.to_owned(), count.parse().map_err(Error::other)?))
        };
        text.lines().skip(1).map(row).collect()
    }
}

/// Returns the name of a participant.
fn name(place: usize) -> String {
    format!("p{place:05}")
}

fn status(operator: &Operator) -> Result<RoundStatus> {
    let status = operator.order(ROUND, &RoundOrder::Status).map_err(Error::other)?;
    serde_json::from_value(status).map_err(Error::other)
}

fn until(what: &str, is_so: impl Fn() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !is_so()? {
        if began.elapsed() > TIMEOUT {
            return Err(Error::other(format!("{what}: not within {} s", TIMEOUT.as_secs())));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

impl Role {
    /// Starts one on a core.
    fn start(home: &TempDir, role: &str, place: usize, core: usize) -> Result<Role> {
        let at = |name: &str| home.path().join(name);
        let name = format!("{role}-{}", place + 1);
        let mut command = pinned(&tacita(), core);
        command.arg(role).arg(at("job.json")).args(["--listen", "127.0.0.1:0", "--threads", "1", "--identity"]);
        command.arg(at(&name)).arg("--state").arg(at(&format!("{name}.state")));
        command.arg("--announce").arg(at("addresses"));
        if role == "database" {
            command.args(["--round", ROUND]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(at(&format!("{name}.log")))?);
        let process = command.spawn().map_err(|error| Error::other(format!("taskset, of util-linux: {error}")))?;
        Ok(Role { process, name, before: 0.0 })
    }

    /// Waits until it listens.
    fn listens(&mut self, home: &TempDir) -> Result<()> {
        let began = Instant::now();
        while !home.path().join("addresses").join(&self.name).exists() {
            if self.process.try_wait()?.is_some() || began.elapsed() > TIMEOUT {
                let log = std::fs::read_to_string(home.path().join(format!("{}.log", self.name)))?;
                return Err(Error::other(format!("{} did not start: {log}", self.name)));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// CPU seconds since all were ready, to the hundredth.
    pub fn cpu(&self) -> Result<f64> {
        Ok(self.cpu_so_far()? - self.before)
    }

    fn cpu_so_far(&self) -> Result<f64> {
        cpu_of(self.process.id())
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // One that has ended is none to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// User and system time of a process, which Linux counts in hundredths of a second.
fn cpu_of(process: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name may hold anything; what follows its parenthesis does not.
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().map_err(Error::other));
    Ok(ticks.sum::<Result<f64>>()? / 100.0)
}
