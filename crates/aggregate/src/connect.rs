//! Connection to the services for a caller that is none of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::hex::hex;
use tacita_node::identity::Identity;
use tokio::runtime::{Builder, Runtime};

use crate::hello::any_of;
use crate::registry::{self, Registry};
use crate::setting::ServiceConfig;
use crate::transport::{Addresses, Client, Endpoint, Replicas, ServiceAddresses, SharedTraffic};
use crate::wire::service::Service;

/// Access of a client to the services of a job.
pub(crate) struct ServiceClients {
    setting: ServiceConfig,
    identity: Identity,
    announced: Option<PathBuf>,
    /// Addresses named by the proxies and databases to which the job file leads, or by a registry.
    addresses: Arc<Addresses>,
    /// Whether the addresses are from a registry.
    is_registered: bool,
    runtime: Arc<Runtime>,
    pub(crate) traffic: SharedTraffic,
    cancel: Cancel,
}

impl ServiceClients {
    pub(crate) fn new(
        setting: &ServiceConfig,
        identity: &Identity,
        announced: Option<&Path>,
        cancel: &Cancel,
    ) -> Result<ServiceClients> {
        let proxies = (0..setting.count("proxy")?).map(Service::Proxy);
        let databases = (0..setting.count("database")?).map(Service::Database);
        ServiceClients::asking(proxies.chain(databases), setting, identity, announced, cancel)
    }

    /// Creates access for a database's operator, whom no proxy lets in.
    pub(crate) fn of_operator(
        setting: &ServiceConfig,
        identity: &Identity,
        announced: Option<&Path>,
    ) -> Result<ServiceClients> {
        let databases = (0..setting.count("database")?).map(Service::Database);
        ServiceClients::asking(databases, setting, identity, announced, &Cancel::default())
    }

    /// Creates access for a service that finds the others by a registry, as the registry names them now.
    pub(crate) fn registered(
        setting: &ServiceConfig,
        identity: &Identity,
        registry: &Registry,
    ) -> Result<ServiceClients> {
        let nobody = std::iter::empty();
        let mut reach = ServiceClients::asking(nobody, setting, identity, None, &Cancel::default())?;
        let addresses = Addresses::new("the registry", Vec::new());
        for (service, address) in registry::named(registry, setting, &reach.runtime)? {
            addresses.learn(service, address);
        }
        (reach.addresses, reach.is_registered) = (Arc::new(addresses), true);
        Ok(reach)
    }

    /// Creates access in which `services` are asked where others listen.
    fn asking(
        services: impl Iterator<Item = Service>,
        setting: &ServiceConfig,
        identity: &Identity,
        announced: Option<&Path>,
        cancel: &Cancel,
    ) -> Result<ServiceClients> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(format!("no threads: {error}")))?;
        let (runtime, traffic) = (Arc::new(runtime), SharedTraffic::default());
        let mut seeds = Vec::new();
        for service in services {
            if let (Some(address), Ok(peer)) = (setting.written(service)?, setting.peer(service)) {
                let client = Client::new(&runtime, identity, peer, Endpoint::At(address), &traffic, cancel);
                seeds.push((service, client));
            }
        }
        Ok(ServiceClients {
            setting: setting.clone(),
            identity: identity.clone(),
            announced: announced.map(Path::to_owned),
            addresses: Arc::new(Addresses::new("another service", seeds)),
            is_registered: false,
            runtime,
            traffic,
            cancel: cancel.clone(),
        })
    }

    /// A client of a service.
    pub(crate) fn client(&self, service: Service) -> Result<Client> {
        let place = if self.announced.is_none() && (self.is_registered || self.addresses.has_seeds()) {
            Endpoint::Named(ServiceAddresses {
                service,
                agreement: hex(&self.setting.agreement),
                addresses: self.addresses.clone(),
                written: self.setting.written(service)?,
                written_first: !self.is_registered,
            })
        } else {
            self.setting.place(service, self.announced.as_deref())?
        };
        let peer = self.setting.peer(service)?;
        Ok(Client::new(&self.runtime, &self.identity, peer, place, &self.traffic, &self.cancel))
    }

    /// A client of the databases, of which any will do.
    pub(crate) fn databases(&self) -> Result<Replicas> {
        let clients = (0..self.setting.count("database")?.max(1)).map(|place| self.client(Service::Database(place)));
        any_of(clients.collect::<Result<_>>()?, &self.setting)
    }
}
