//! Settings that every role takes from the job file.

use std::collections::HashSet;
use std::path::Path;

use tacita_core::protocol::aggregate::{Params, RoundKeys};
use tacita_core::protocol::published::aggregate::naor_reingold;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Error, Result};
use tacita_node::agreement::{JobSpec, Member, Terms};
use tacita_node::base::hex::unhex;
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::jobs::aggregate::spec::{NAOR_REINGOLD, ROLES};
use tacita_node::jobs::aggregate::{Aggregate, AggregateJob};
use tacita_node::transport::Peer;
use tacita_serve::allow_list::AllowList;

use crate::transport::{Endpoint, MAX_BODY_BYTES};
use crate::wire::rounds::Open;
use crate::wire::service::Service;
use crate::wire::service::{file, parts};
use crate::wire::signed::{KeyPurpose, KeyRole};
use tacita_node::base::random::fresh_rng;

/// Reports in one request, at most: more do not make it faster.
const MAX_REPORTS: usize = 2048;

/// The job, with its services.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// Specification of the job.
    pub spec: JobSpec,
    /// The fingerprint of its terms.
    pub agreement: [u8; 32],
}

impl ServiceConfig {
    /// Creates the setting of an `aggregate` job.
    ///
    /// Errors ([`Error::Input`]): it is another job, or lets in participants in a way that is not served.
    pub fn new(spec: JobSpec) -> Result<ServiceConfig> {
        let own = Aggregate::of(&spec).map_err(|_| {
            Error::Input(format!(
                "job = \"{}\" has no rounds: its parties use `tacita run`; this is for job = \"aggregate\"",
                spec.job.name()
            ))
        })?;
        if let Some(ca) = own.own.participants.ca {
            return Err(Error::Input(format!(
                "participants.ca = \"{ca}\" is not supported, because identities sign their own certificates: list the \
                 participants in a file, and name it as participants.allow"
            )));
        }
        let agreement = unhex(&Terms::of(&spec).agreement()).and_then(|bytes| bytes.try_into().ok());
        let agreement = agreement.ok_or_else(|| Error::Internal("an agreement is no fingerprint".into()))?;
        Ok(ServiceConfig { spec, agreement })
    }

    /// The job with its own keys.
    pub fn own(&self) -> Result<AggregateJob<'_>> {
        Aggregate::of(&self.spec)
    }

    /// Returns the parameters on which the roles agree for a round.
    pub fn params(&self, round: &str) -> Result<Params> {
        let mut transcript = Transcript::new("aggregate round");
        transcript.append("terms", &self.agreement).append("round", round.as_bytes());
        let own = self.own()?;
        Params::new(Session::new(transcript), own.own.round.key_bytes, own.own.round.values.places(), own.tags())
    }

    /// Whether participants make their reports together with the proxy, and do not just send them.
    pub fn is_interactive(&self) -> bool {
        self.own().is_ok_and(|own| own.chosen() == NAOR_REINGOLD)
    }

    /// Returns the maximum number of reports in one request of a participant: as many as it may carry, or as are made
    /// at a time.
    pub fn submission(&self, params: &Params) -> usize {
        if self.is_interactive() {
            ServiceConfig::batch(params).min(naor_reingold::stage(params))
        } else {
            ServiceConfig::batch(params)
        }
    }

    /// Returns the maximum number of reports or entries that one request may carry.
    pub fn batch(params: &Params) -> usize {
        (MAX_BODY_BYTES / params.report_bytes().max(params.entry_bytes())).clamp(1, MAX_REPORTS)
    }

    /// Returns all services that the job names, with their identities.
    ///
    /// Errors ([`Error::Input`]): one has none.
    pub fn services(&self) -> Result<Vec<(Fingerprint, Service)>> {
        let mut all = Vec::new();
        for role in ROLES {
            for (place, _) in self.members(role)?.iter().enumerate() {
                let service = service(role, place);
                all.push((self.peer(service)?.pin, service));
            }
        }
        Ok(all)
    }

    /// Participants whose identities stand in the job file.
    pub fn parties(&self) -> Vec<(Fingerprint, String)> {
        let parties = self.spec.parties.0.iter();
        parties.filter_map(|(name, party)| party.identity.map(|identity| (identity, name.clone()))).collect()
    }

    /// Returns the number of participants that may report: those in the job file, and those of its list.
    ///
    /// Errors ([`Error::Input`]): the list cannot be read.
    pub fn participants(&self) -> Result<usize> {
        let listed = match &self.own()?.own.participants.allow {
            Some(path) => AllowList::read(path)?.fingerprints(),
            None => Vec::new(),
        };
        let all = listed.into_iter().chain(self.parties().into_iter().map(|(identity, _)| identity));
        Ok(all.map(|identity| identity.to_string()).collect::<HashSet<_>>().len())
    }

    /// Refuses a job file that lacks a role.
    pub fn check_roles(&self) -> Result<()> {
        for role in ["proxy", "oracle", "database"] {
            if self.count(role)? == 0 {
                return Err(Error::Input(format!(
                    "the job file names no [[{role}]]: add it, with address and identity"
                )));
            }
        }
        Ok(())
    }

    /// The service that `identity` is in a role.
    ///
    /// Errors ([`Error::Input`]): it is none.
    pub fn place_of(&self, role: &str, identity: &Identity) -> Result<usize> {
        let own = identity.fingerprint();
        let members = self.members(role)?;
        members.iter().position(|member| member.identity == Some(own)).ok_or_else(|| {
            Error::Input(format!(
                "--identity is {own}, and no [[{role}]] in the job file has it: add it there, or give the identity of the {role}"
            ))
        })
    }

    /// Identities of a role.
    pub fn pins(&self, role: &str) -> Result<Vec<Fingerprint>> {
        Ok(self.members(role)?.iter().filter_map(|member| member.identity).collect())
    }

    /// The public keys of a round, if both are signed by who has to and prove what they have to; `database` and `proxy`
    /// are who is to blame if not.
    pub(crate) fn round_keys(&self, params: &Params, open: &Open, database: &str, proxy: &str) -> Result<RoundKeys> {
        let purpose = |role| KeyPurpose { agreement: &self.agreement, round: &open.round, role };
        let of_database = open.database.open(purpose(KeyRole::Database), &self.pins("database")?, database)?;
        let of_proxy = open.proxy.open(purpose(KeyRole::Proxy), &self.pins("proxy")?, proxy)?;
        RoundKeys::new(params, &of_database, &of_proxy, &mut fresh_rng()?).ok_or_else(|| Error::Protocol {
            peer: proxy.to_owned(),
            check: format!("the keys of round {} prove nothing", open.round),
        })
    }

    /// Returns the number of services with a role.
    pub fn count(&self, role: &str) -> Result<usize> {
        Ok(self.members(role)?.len())
    }

    /// Returns the name and identity of a service.
    pub fn peer(&self, service: Service) -> Result<Peer> {
        let (role, place) = parts(service);
        let members = self.members(role)?;
        let member = members.get(place).ok_or_else(|| {
            Error::Input(format!(
                "[[{role}]] is missing: add it to the job file, with address = \"HOST:PORT\" and identity = \"SHA256:...\""
            ))
        })?;
        let pin = member.identity.ok_or_else(|| {
            Error::Input(format!(
                "identity is missing in [[{role}]]: ask its operator for its fingerprint (`tacita identity show`)"
            ))
        })?;
        Ok(Peer { name: self.name(service)?, pin })
    }

    /// Returns the name of a service.
    pub fn name(&self, service: Service) -> Result<String> {
        let (role, place) = parts(service);
        Ok(match self.count(role)? {
            ..=1 => format!("the {role}"),
            _ => format!("{role} {}", place + 1),
        })
    }

    /// Returns the address on which a service listens: as the job says, or as it has told in a directory.
    pub fn place(&self, service: Service, announced: Option<&Path>) -> Result<Endpoint> {
        let (role, place) = parts(service);
        if let Some(directory) = announced {
            return Ok(Endpoint::Told(directory.join(file(service))));
        }
        self.written(service)?.map(Endpoint::At).ok_or_else(|| {
            Error::Input(format!(
                "job file: address is missing in [[{role}]] {}: say where it listens, as address = \"{role}.example:7600\"",
                place + 1
            ))
        })
    }

    /// Returns the address on which a service listens according to the job file, if it is there.
    pub fn written(&self, service: Service) -> Result<Option<String>> {
        let (role, place) = parts(service);
        Ok(self.members(role)?.get(place).and_then(|member| member.address.clone()))
    }

    fn members(&self, role: &str) -> Result<&[Member]> {
        Ok(self.own()?.own.members(role))
    }
}

fn service(role: &str, place: usize) -> Service {
    match role {
        "proxy" => Service::Proxy(place),
        "oracle" => Service::Oracle(place),
        _ => Service::Database(place),
    }
}
