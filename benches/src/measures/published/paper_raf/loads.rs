//! Section 5.2: what the paper's applications ask for, as traces over the service, computed for all that it speaks of,
//! and planned.

use std::io::{Error, Result};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use serde_json::json;
use tacita_node::agreement::JobSpec;
use tacita_node::agreement::cost::Calibration;
use tacita_node::base::random::fresh_rng;
use tacita_node::jobs::aggregate::load::{BUSY, Needed, needed};

use crate::measures::published::paper_raf::service::{Service, Terms};
use crate::measures::published::paper_raf::traces::{attackers, certificates, pages, truth};
use crate::measures::published::paper_raf::{Bench, heading};

/// The roles that serve, in the order of the tables.
const ROLES: [&str; 3] = ["proxy", "oracle", "database"];

/// Load of an application.
struct Load {
    name: &'static str,
    /// Participants that are run.
    participants: usize,
    /// And those that the paper speaks of.
    all: usize,
    /// Reports of each, in one round.
    each: usize,
    /// Number of seconds between rounds.
    every: f64,
    normalize: &'static str,
    /// A key passes that so many have reported.
    distinct: usize,
    make: fn(usize, usize, &mut ChaCha20Rng) -> Vec<Vec<String>>,
}

const LOADS: [Load; 3] = [
    Load {
        name: "300 networks, 10,000 addresses each an hour",
        participants: 5,
        all: 300,
        each: 10_000,
        every: 3_600.0,
        normalize: "ip",
        distinct: 3,
        make: attackers,
    },
    Load {
        name: "30,000 hosts, 30 keys, 15 updates an hour",
        participants: 600,
        all: 30_000,
        each: 15,
        every: 3_600.0,
        normalize: "none",
        distinct: 3,
        make: certificates,
    },
    Load {
        name: "180,000 users, 120 pages a day",
        participants: 150,
        all: 180_000,
        each: 120,
        every: 86_400.0,
        normalize: "none",
        distinct: 10,
        make: pages,
    },
];

/// Cost of a trace, in CPU seconds a report.
struct Taken {
    participants: usize,
    reports: usize,
    passed: usize,
    /// Cost at proxy, oracle and database; the oracle's is for a report whose key passed.
    roles: [f64; 3],
    participant: f64,
    bytes: [u64; 2],
}

/// Runs all of them by both protocols.
pub fn section_5_2(bench: &mut Bench) -> Result<()> {
    heading(
        "| section 5.2: proxy, oracle, database | protocol | participants run | reports | keys passed | us of CPU a report | planned \
         | measured / planned | participant, us | reports/s of a pair, a core each | reports/s of all | cores of all, measured \
         | machines planned |",
    );
    for load in &LOADS {
        for protocol in bench.protocols.clone() {
            load.tell(bench, protocol)?;
        }
    }
    Ok(())
}

impl Load {
    /// Runs a part of it, and compares the result with the truth.
    fn run(&self, bench: &Bench, protocol: &'static str) -> Result<Taken> {
        let participants = ((self.participants as f64 * bench.scale) as usize).clamp(3, self.all);
        let terms = self.terms(protocol, participants);
        let trace = (self.make)(participants, self.each.min(bench.most), &mut ChaCha20Rng::seed_from_u64(52));
        let reports = trace.iter().map(Vec::len).sum::<usize>();
        let service = Service::start(&terms, 1, participants)?;
        let submitted = service.submit("key", &trace)?;
        let result = service.result()?;
        assert!(result == truth(&trace, terms.distinct), "{}: what came out is not what many have", self.name);
        let told = result.values().sum::<usize>().max(1);
        let roles = [(&service.proxies[0], reports), (&service.oracle, told), (&service.database, reports)];
        let roles = roles.map(|(role, reports)| Ok(role.cpu()? / reports as f64));
        Ok(Taken {
            participants,
            reports,
            passed: result.len(),
            roles: roles.into_iter().collect::<Result<Vec<_>>>()?.try_into().expect("three roles"),
            participant: submitted.cpu / reports as f64,
            bytes: submitted.bytes,
        })
    }

    fn terms(&self, protocol: &'static str, participants: usize) -> Terms {
        let distinct = self.distinct.min(participants);
        Terms { protocol, key_bytes: 16, normalize: self.normalize, values: 0, distinct }
    }

    /// A line of the table.
    fn tell(&self, bench: &mut Bench, protocol: &'static str) -> Result<()> {
        let taken = self.run(bench, protocol)?;
        let all = (self.all * self.each) as f64 / self.every;
        let planned = planned(&self.terms(protocol, self.all), all, self.each)?;
        let of_plan: [f64; 3] = [0, 1, 2].map(|role| planned[role].cores / all);
        let ratios = [0, 1, 2].map(|role| taken.roles[role] / of_plan[role]);
        let cores = taken.roles.map(|seconds| seconds * all);
        let machines = [0, 1, 2].map(|role| planned[role].machines);
        let [micro, of_plan_micro] = [taken.roles, of_plan].map(|seconds| seconds.map(|seconds| 1e6 * seconds));
        let pair = 1.0 / taken.roles[0].max(taken.roles[2]);
        println!(
            "| {} | {protocol} | {} | {} | {} | {} | {} | {} | {:.0} | {pair:.0} | {all:.0} | {} | {} |",
            self.name,
            taken.participants,
            taken.reports,
            taken.passed,
            micro.map(|number| format!("{number:.0}")).join(", "),
            of_plan_micro.map(|number| format!("{number:.0}")).join(", "),
            ratios.map(|ratio| format!("{ratio:.2}")).join(", "),
            1e6 * taken.participant,
            cores.map(|cores| format!("{cores:.3}")).join(", "),
            machines.map(|number| number.to_string()).join(", "),
        );
        bench.keep(&json!({
            "section": "5.2", "load": self.name, "protocol": protocol, "participants": taken.participants, "reports": taken.reports,
            "passed": taken.passed, "roles": ROLES, "seconds": taken.roles, "planned": of_plan, "measured_by_planned": ratios,
            "participant": taken.participant, "bytes": taken.bytes, "all_participants": self.all, "all_reports_a_second": all,
            "cores": cores, "machines_planned": machines, "busy": BUSY,
        }))
    }
}

/// Returns the estimate of `tacita plan --load` for this many reports a second, by role.
fn planned(terms: &Terms, reports: f64, at_once: usize) -> Result<[Needed; 3]> {
    let job = JobSpec::parse(&terms.job().to_string(), true).map_err(Error::other)?;
    let machine = Calibration::measure(&mut fresh_rng().map_err(Error::other)?).map_err(Error::other)?;
    let mut needed = needed(&job, reports, at_once as u64, &machine).map_err(Error::other)?;
    Ok(ROLES.map(|role| needed.remove(role).expect("a plan has all roles")))
}
