//! Capacity that a standing load of reports needs of each role.

use std::collections::BTreeMap;

use serde::Serialize;
use tacita_core::Result;

use super::Aggregate;
use super::cost::roles;
use crate::agreement::JobSpec;
use crate::agreement::cost::{Calibration, RoleCost};

/// The part of a machine's cores that is planned for: the rest is for bursts, for a replica that is away, and for the
/// system.
pub const BUSY: f64 = 0.6;

/// Reports that a participant submits at once, where nothing else is said: what a submission takes is shared by so many
/// that it is nothing.
pub const AT_ONCE: u64 = 2048;

/// Reports that costs are computed for: so many that none is rounded away.
const REPORTS: u64 = 1 << 30;

const DAY: f64 = 86_400.0;

/// Capacity that a role needs for a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Needed {
    /// Cores like those of this machine that are busy all the time.
    pub cores: f64,
    /// Machines with as many cores as this one, [`BUSY`] of each: how many replicas to run.
    pub machines: u64,
    /// Bytes that all of them send in a second.
    pub bytes_per_second: f64,
    /// Bytes that a day's reports take on disk, for who keeps them there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_per_day: Option<f64>,
}

/// Computes the sustained capacity that proxies, oracles and databases of a job need to take `reports` a second, by
/// role. Each submission brings `at_once` of them.
///
/// Every report is counted as if its key passed, as in the plan of a round: what does not pass costs the oracle
/// nothing. Participants take no part in the sum, for they bring their machines with them.
///
/// Errors ([`tacita_core::Error::Input`]): the job is no `aggregate`.
pub fn needed(
    job: &JobSpec,
    reports: f64,
    at_once: u64,
    machine: &Calibration,
) -> Result<BTreeMap<&'static str, Needed>> {
    let own = Aggregate::of(job)?;
    let share = reports / REPORTS as f64;
    let needed = |cost: RoleCost| {
        let cores = cost.cpu * share;
        Needed {
            cores,
            machines: (cores / (machine.threads as f64 * BUSY)).ceil().max(1.0) as u64,
            bytes_per_second: cost.bytes as f64 * share,
            disk_per_day: cost.disk.map(|disk| disk as f64 * share * DAY),
        }
    };
    let submissions = REPORTS / at_once.clamp(1, REPORTS);
    Ok(roles(&own, REPORTS, submissions, machine).map(|(role, cost)| (role, needed(cost))).into())
}
