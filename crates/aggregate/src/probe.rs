//! State of a job's services, for checks of whether all is ready: nothing is submitted, and nothing changes.

use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::Identity;
use tacita_node::transport::key_exchange::NegotiatedGroup;

use crate::connect::ServiceClients;
use crate::hello::{meet, milliseconds};
use crate::registry::Registry;
use crate::setting::ServiceConfig;
use crate::transport::Persistence;
use crate::wire::hello::ServiceInfo;
use crate::wire::service::Service;

/// Role that probes: each dials others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prober {
    /// A participant, which reaches proxies and the database.
    Participant,
    /// One of the services.
    Service(Service),
}

/// A service that was looked at.
pub struct ProbeReport {
    /// Name of the service.
    pub name: String,
    /// Address at which the service was reached, or should listen; empty if nobody says where that is.
    pub address: String,
    /// Observations of the service, or the reason why there are none.
    pub seen: Result<ProbedService>,
}

/// Observations of a service that has the identity in the job, and serves it on the same terms.
#[derive(Debug, Clone)]
pub struct ProbedService {
    /// Statement of the service about itself.
    pub here: ServiceInfo,
    /// Duration of a request, once it is connected.
    pub round_trip: Duration,
    /// Group from which the connection has its keys, if it is still there.
    pub group: Option<NegotiatedGroup>,
    /// Number of milliseconds by which its clock is ahead of this one.
    pub clock_ahead: i64,
}

/// Looks at all services that `looker` dials, once each, where the job file or a registry says.
///
/// Errors: [`Error::Input`] if the job file does not say who or where one is; [`Error::Network`] if the registry does
/// not answer.
pub fn look(
    setting: &ServiceConfig,
    identity: &Identity,
    looker: Prober,
    registry: Option<&Registry>,
) -> Result<Vec<ProbeReport>> {
    let reach = match registry {
        Some(registry) => ServiceClients::registered(setting, identity, registry)?,
        None => ServiceClients::new(setting, identity, None, &Cancel::default())?,
    };
    let mut found = Vec::new();
    for service in dialed(setting, looker)? {
        let name = setting.name(service)?;
        let client = match reach.client(service) {
            Ok(client) => client,
            // Services may find each other by a registry.
            Err(_) if looker != Prober::Participant && setting.written(service)?.is_none() => {
                let what = "the job file has no address of it: add one, or give --registry".into();
                let seen = Err(Error::Network { peer: name.clone(), what });
                found.push(ProbeReport { name, address: String::new(), seen });
                continue;
            }
            Err(error) => return Err(error),
        };
        let once = Persistence { silence: Duration::ZERO, busy: Duration::ZERO };
        // The first question connects; the second measures.
        let seen = meet(&client, setting, once).and_then(|_| {
            let (asked, before) = (Instant::now(), milliseconds());
            let here = meet(&client, setting, once)?;
            let round_trip = asked.elapsed();
            let halfway = before.saturating_add(u64::try_from(round_trip.as_millis() / 2).unwrap_or(0));
            let clock_ahead = i64::try_from(i128::from(here.clock) - i128::from(halfway)).unwrap_or(i64::MAX);
            Ok(ProbedService { here, round_trip, group: client.group(), clock_ahead })
        });
        let address = client.reached().or(setting.written(service)?).unwrap_or_default();
        found.push(ProbeReport { name, address, seen });
    }
    Ok(found)
}

/// Returns the services that `looker` dials.
fn dialed(setting: &ServiceConfig, looker: Prober) -> Result<Vec<Service>> {
    let proxies = (0..setting.count("proxy")?.max(1)).map(Service::Proxy);
    let databases = (0..setting.count("database")?.max(1)).map(Service::Database);
    Ok(match looker {
        Prober::Participant => proxies.chain(databases).collect(),
        Prober::Service(own @ Service::Proxy(_)) => databases.chain(proxies.filter(|other| *other != own)).collect(),
        Prober::Service(Service::Oracle(_)) => proxies.collect(),
        Prober::Service(own @ Service::Database(_)) => {
            let oracles = (0..setting.count("oracle")?.max(1)).map(Service::Oracle);
            oracles.chain(databases.filter(|other| *other != own)).collect()
        }
    })
}
