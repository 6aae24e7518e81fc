//! Addresses of services that somebody names: a registry, or other services of the job. They are hints: who answers
//! there has to prove the identity that the job file has.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::timeout;

use super::{ApiRequest, Client};
use crate::wire::peers::PeerAddresses;
use crate::wire::service::Service;

/// Bytes of an answer to `GET /v1/peers`.
const MAX_BYTES: usize = 1 << 16;

/// Time limit for a service that is asked for addresses, and the pause before the next query.
const ANSWER: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_secs(1);

/// Addresses on which services listen, as they were last named.
pub struct Addresses {
    by: &'static str,
    known: RwLock<BTreeMap<Service, String>>,
    /// Services that may be asked: none, where addresses are told without a query.
    seeds: Vec<(Service, Client)>,
    asked: Mutex<Option<Instant>>,
}

/// A service's addresses: what is named, and what the job file says.
#[derive(Clone)]
pub struct ServiceAddresses {
    /// Service to which the addresses belong.
    pub service: Service,
    /// The fingerprint of the job's terms, in hexadecimal: who is dialled at a named address has to serve this job as
    /// this service, whatever else has the same identity.
    pub agreement: String,
    /// Addresses that other services or a registry name.
    pub addresses: Arc<Addresses>,
    /// Address in the job file.
    pub written: Option<String>,
    /// Whether the job file's is tried first.
    pub written_first: bool,
}

/// Address to try, and its name in messages.
pub(super) struct Candidate {
    pub(super) address: String,
    pub(super) shown: String,
    /// Somebody else there is no more than a wrong address.
    pub(super) is_named: bool,
}

impl Addresses {
    /// None yet. `by` is who names them, in messages; `seeds` are asked for them when one is missing.
    pub fn new(by: &'static str, seeds: Vec<(Service, Client)>) -> Addresses {
        Addresses { by, known: RwLock::default(), seeds, asked: Mutex::default() }
    }

    /// Returns the address on which a service listens.
    pub fn get(&self, service: Service) -> Option<String> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&service).cloned()
    }

    /// Notes where a service listens. Addresses of before are kept where no other one is named.
    pub fn learn(&self, service: Service, address: String) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(service, address);
    }

    /// Whether there is anybody to ask.
    pub fn has_seeds(&self) -> bool {
        !self.seeds.is_empty()
    }

    /// Asks the others one after the other where `service` listens, until one names another address than before. Boxed:
    /// who asks is a client, and so is who is asked.
    pub(super) fn ask(&self, service: Service) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let before = self.get(service);
            let mut asked = self.asked.lock().await;
            if self.get(service) != before || asked.is_some_and(|last| last.elapsed() < AGAIN) {
                return;
            }
            let question = ApiRequest::get("/v1/peers", MAX_BYTES);
            for (_, seed) in self.seeds.iter().filter(|(seed, _)| *seed != service) {
                if let Ok(Ok(answer)) = timeout(ANSWER, seed.attempts(&question)).await
                    && answer.is_ok()
                {
                    PeerAddresses::decode(&answer.body)
                        .into_iter()
                        .for_each(|(service, address)| self.learn(service, address));
                    if self.get(service) != before {
                        break;
                    }
                }
            }
            *asked = Some(Instant::now());
        })
    }
}

impl ServiceAddresses {
    /// Returns the addresses to try, in this order.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let written = self.written.clone();
        let named = self.addresses.get(self.service).filter(|address| Some(address) != written.as_ref());
        let named = named.map(|address| {
            let shown = format!("{address} (named by {})", self.addresses.by);
            Candidate { address, shown, is_named: true }
        });
        let written = written.map(|address| Candidate { shown: address.clone(), address, is_named: false });
        let order = if self.written_first { [written, named] } else { [named, written] };
        order.into_iter().flatten().collect()
    }

    /// Returns the message that there is no address to try.
    pub(super) fn unknown(&self) -> String {
        format!("neither the job file nor {} says where it listens", self.addresses.by)
    }
}

impl std::fmt::Debug for ServiceAddresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Named").field("service", &self.service).field("written", &self.written).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_and_written_is_tried_once() {
        let addresses = Arc::new(Addresses::new("the registry", Vec::new()));
        let mut named = ServiceAddresses {
            service: Service::Proxy(0),
            agreement: String::new(),
            addresses,
            written: Some("a:1".into()),
            written_first: false,
        };
        let order = |named: &ServiceAddresses| named.candidates().into_iter().map(|one| one.shown).collect::<Vec<_>>();
        assert_eq!(order(&named), ["a:1"]);
        named.addresses.learn(Service::Proxy(0), "a:1".into());
        assert_eq!(order(&named), ["a:1"]);
        named.addresses.learn(Service::Proxy(0), "b:1".into());
        assert_eq!(order(&named), ["b:1 (named by the registry)", "a:1"]);
        named.written_first = true;
        assert_eq!(order(&named), ["a:1", "b:1 (named by the registry)"]);
        named.written = None;
        assert_eq!(order(&named), ["b:1 (named by the registry)"]);
    }
}
