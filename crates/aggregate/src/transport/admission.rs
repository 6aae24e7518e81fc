//! Admission of clients, and their roles.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tacita_core::{Error, Result};
use tacita_node::identity::Fingerprint;
use tacita_serve::allow_list::AllowList;

use super::{CONNECTIONS_EACH, INTERACTIONS_EACH};
use crate::wire::reply::ApiError;
use crate::wire::service::Service;

/// Roles of an identity in the job: it may have several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// Name of the participant.
    pub participant: Option<String>,
    /// The services that it is.
    pub services: Vec<Service>,
}

impl Caller {
    /// Returns the index of the proxy, if the caller is one.
    pub fn proxy(&self) -> Option<usize> {
        self.services.iter().find_map(|one| match one {
            Service::Proxy(place) => Some(*place),
            _ => None,
        })
    }

    /// Whether it is an oracle.
    pub fn is_oracle(&self) -> bool {
        self.services.iter().any(|one| matches!(one, Service::Oracle(_)))
    }

    /// Returns the reply to the caller in the form that it may see.
    pub fn told(&self, refused: ApiError) -> ApiError {
        if self.is_database() { refused.for_operator() } else { refused }
    }

    /// Whether it is a database: its operator has its identity.
    pub fn is_database(&self) -> bool {
        self.services.iter().any(|one| matches!(one, Service::Database(_)))
    }
}

/// List of those who are let in, as the job and the list of participants say.
pub struct Admission {
    services: HashMap<Fingerprint, Vec<Service>>,
    parties: HashMap<Fingerprint, String>,
    participants: Option<RwLock<AllowList>>,
    here: Mutex<HashMap<Fingerprint, Here>>,
}

/// Number of activities of one identity, by [`Going`].
type Here = [usize; 3];

/// Kind of activity that is limited for each identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// Open connection of the identity.
    Connection,
    /// Requests, of which it may have so many as things are.
    Request {
        /// Maximum number of them.
        most: usize,
    },
    /// Requests whose bodies travel both ways at once.
    Interaction,
}

/// Something that is counted until this is dropped.
pub struct CountGuard {
    admission: Arc<Admission>,
    who: Fingerprint,
    /// Index of the kind in [`Here`].
    kind: usize,
}

impl Admission {
    /// Lets in these services, these participants, and those of a list.
    ///
    /// Errors ([`Error::Input`]): the list cannot be read; somebody is a participant, and a proxy or an oracle.
    pub fn new(
        services: Vec<(Fingerprint, Service)>,
        parties: Vec<(Fingerprint, String)>,
        participants: Option<&std::path::Path>,
    ) -> Result<Admission> {
        let mut known: HashMap<Fingerprint, Vec<Service>> = HashMap::new();
        for (who, service) in services {
            known.entry(who).or_default().push(service);
        }
        let participants = participants.map(AllowList::read).transpose()?;
        let parties: HashMap<_, _> = parties.into_iter().collect();
        let listed = participants.iter().flat_map(|list| {
            list.fingerprints().into_iter().map(|who| (who, list.name(&who).unwrap_or_default().to_owned()))
        });
        for (who, name) in listed.chain(parties.iter().map(|(who, name)| (*who, name.clone()))) {
            if known.get(&who).is_some_and(|all| all.iter().any(|one| !matches!(one, Service::Database(_)))) {
                return Err(Error::Input(format!(
                    "participant {name} is {who}, which is a proxy's or an oracle's: a participant has an identity of its own"
                )));
            }
            if parties.iter().any(|(other, own)| *own == name && *other != who) {
                return Err(Error::Input(format!(
                    "participants.allow: {name} is {who}, and parties.{name}.identity another: leave one of the two out"
                )));
            }
        }
        Ok(Admission { services: known, parties, participants: participants.map(RwLock::new), here: Mutex::default() })
    }

    /// Returns the fingerprints of all who are let in.
    pub(super) fn pins(&self) -> Vec<Fingerprint> {
        let mut pins: Vec<_> = self.services.keys().copied().collect();
        pins.extend(self.parties.keys());
        pins.extend(self.participants.iter().flat_map(|list| read(list).fingerprints()));
        pins
    }

    /// Returns the roles of a caller that has proved to hold this key; nothing, if it is not in the lists any more.
    pub fn caller(&self, who: &Fingerprint) -> Option<Caller> {
        let listed = || self.participants.as_ref().and_then(|list| read(list).name(who).map(str::to_owned));
        let participant = self.parties.get(who).cloned().or_else(listed);
        let services = self.services.get(who).cloned().unwrap_or_default();
        (participant.is_some() || !services.is_empty()).then_some(Caller { participant, services })
    }

    /// The services that somebody is.
    pub fn services(&self, who: &Fingerprint) -> Vec<Service> {
        self.services.get(who).cloned().unwrap_or_default()
    }

    /// Reads the list of participants again, if it has changed.
    pub fn refresh(&self) {
        let Some(list) = &self.participants else { return };
        if read(list).is_stale()
            && let Err(error) = list.write().unwrap_or_else(PoisonError::into_inner).read_again()
        {
            tracing::warn!("{error}; those of before are let in");
        }
    }

    /// Counts something of one; nothing, if it has too many: of requests `most`, of others what one may have.
    pub fn enter(self: &Arc<Admission>, who: Fingerprint, what: Going) -> Option<CountGuard> {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let own = here.entry(who).or_default();
        let (kind, most) = match what {
            Going::Connection => (0, CONNECTIONS_EACH),
            Going::Request { most } => (1, most),
            Going::Interaction => (2, INTERACTIONS_EACH),
        };
        if own[kind] >= most {
            return None;
        }
        own[kind] += 1;
        Some(CountGuard { admission: self.clone(), who, kind })
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        let mut here = self.admission.here.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = here.get_mut(&self.who) {
            own[self.kind] = own[self.kind].saturating_sub(1);
            if *own == Here::default() {
                here.remove(&self.who);
            }
        }
    }
}

fn read(list: &RwLock<AllowList>) -> std::sync::RwLockReadGuard<'_, AllowList> {
    list.read().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(byte: u8) -> Fingerprint {
        Fingerprint([byte; 32])
    }

    /// A list of these participants.
    fn list(names: &[(&str, Fingerprint)]) -> String {
        names.iter().map(|(name, who)| format!("{name} {who}\n")).collect()
    }

    #[test]
    fn who_is_taken_off_the_list_is_let_in_no_more() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("participants");
        std::fs::write(&path, list(&[("a", who(1)), ("b", who(2))])).unwrap();
        let admission = Admission::new(vec![(who(9), Service::Proxy(0))], Vec::new(), Some(&path)).unwrap();
        let name = |one| admission.caller(&who(one)).and_then(|caller| caller.participant);
        assert_eq!((name(1).as_deref(), name(9), admission.pins().len()), (Some("a"), None, 3));
        std::fs::write(&path, list(&[("b", who(2))])).unwrap();
        admission.refresh();
        assert_eq!((admission.caller(&who(1)), name(2).as_deref()), (None, Some("b")));
        assert!(!admission.pins().contains(&who(1)) && admission.caller(&who(9)).is_some());
    }

    /// A proxy that reports to itself, or an oracle that does, would be among whom others hide.
    #[test]
    fn a_participant_is_no_proxy_and_no_oracle() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("participants");
        std::fs::write(&path, list(&[("a", who(1))])).unwrap();
        let admit = |service| Admission::new(vec![(who(1), service)], Vec::new(), Some(&path)).map(drop);
        for service in [Service::Proxy(0), Service::Oracle(1)] {
            assert!(admit(service).unwrap_err().to_string().contains("has an identity of its own"), "{service:?}");
        }
        admit(Service::Database(0)).unwrap();
    }

    #[test]
    fn one_has_so_many_connections_at_a_time() {
        let admission = Arc::new(Admission::new(Vec::new(), Vec::new(), None).unwrap());
        let enter = |one| admission.enter(who(one), Going::Connection);
        let mut held: Vec<_> = (0..CONNECTIONS_EACH).map(|_| enter(1).unwrap()).collect();
        assert!(enter(1).is_none() && enter(2).is_some() && admission.enter(who(1), Going::Interaction).is_some());
        held.pop();
        held.push(enter(1).unwrap());
        assert!(enter(1).is_none());
    }
}
