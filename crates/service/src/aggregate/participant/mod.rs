//! What participants do: they submit reports, and collect results. And what the database's operator does, who is a client as well.

pub mod batches;
pub(in crate::aggregate) mod gather;
pub mod operate;
pub mod results;
pub mod rows;
pub mod submit;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::Identity;
use tokio::runtime::{Builder, Runtime};

use super::Setting;
use super::here::any_of;
use super::transport::{Client, Replicas, Service, SharedTraffic};

/// How somebody reaches the services of a job.
pub(super) struct Reach {
    setting: Setting,
    identity: Identity,
    announced: Option<PathBuf>,
    runtime: Arc<Runtime>,
    pub(super) traffic: SharedTraffic,
    cancel: Cancel,
}

impl Reach {
    pub(super) fn new(
        setting: &Setting,
        identity: &Identity,
        announced: Option<&Path>,
        cancel: &Cancel,
    ) -> Result<Reach> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(format!("no threads: {error}")))?;
        Ok(Reach {
            setting: setting.clone(),
            identity: identity.clone(),
            announced: announced.map(Path::to_owned),
            runtime: Arc::new(runtime),
            traffic: SharedTraffic::default(),
            cancel: cancel.clone(),
        })
    }

    /// A client of a service.
    pub(super) fn client(&self, service: Service) -> Result<Client> {
        let place = self.setting.place(service, self.announced.as_deref())?;
        let peer = self.setting.peer(service)?;
        Ok(Client::new(&self.runtime, &self.identity, peer, place, &self.traffic, &self.cancel))
    }

    /// A client of the databases, of which any will do.
    pub(super) fn databases(&self) -> Result<Replicas> {
        let clients = (0..self.setting.count("database")?.max(1)).map(|place| self.client(Service::Database(place)));
        any_of(clients.collect::<Result<_>>()?, &self.setting)
    }
}
