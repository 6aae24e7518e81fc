//! Common parts of the roles that serve: they listen, do background work, answer until they are told to end, and
//! report.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use serde_json::json;
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::write_whole;
use tacita_node::base::hex::hex;
use tacita_node::base::text::shown;
use tacita_node::base::usage;
use tacita_node::identity::Identity;
use tacita_node::run::report::write_json;
use tacita_node::transport::listening_at;
use tacita_serve::accept::bind;
use tacita_serve::status::{self, Readiness};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::metrics::{Requests, Watch, watched};
use crate::registry::{Registrar, Registry};
use crate::role::Role;
use crate::setting::ServiceConfig;
use crate::transport::{
    Addresses, Admission, Client, Contact, Endpoint, Replicas, Server, ServiceAddresses, SharedTraffic, files, stand,
};
use crate::wire::peers::is_address;
use crate::wire::service::{Service, file, parts};

/// Time limit for removing the entry from the registry.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Configuration that all roles share.
pub struct RoleConfig {
    /// Setting of the job.
    pub setting: Arc<ServiceConfig>,
    /// Identity of the role.
    pub identity: Identity,
    /// Address on which to listen; if absent, the address in the job file.
    pub listen: Option<String>,
    /// Directory for state that must not be lost.
    pub state: PathBuf,
    /// Address of the status page for monitoring.
    pub status: Option<String>,
    /// Path of the report that is written at the end.
    pub report: Option<PathBuf>,
    /// A directory in which the services say where they listen, in place of the job file.
    pub announce: Option<PathBuf>,
    /// Registry in which the role publishes its address, and finds the others; if absent, they are where the job file
    /// says.
    pub registry: Option<Registry>,
    /// Handle that cancels the service.
    pub cancel: Cancel,
}

/// State of a role that begins to serve.
pub struct Started {
    /// Settings with which the role was started.
    pub serving: RoleConfig,
    /// Service of the job that this role is.
    pub service: Service,
    /// Runtime of asynchronous work.
    pub runtime: Arc<Runtime>,
    /// Counter of the traffic.
    pub traffic: SharedTraffic,
    /// Services that the role dials.
    dialled: Mutex<Vec<(Service, Arc<Contact>)>>,
    /// Addresses that a registry names.
    addresses: Arc<Addresses>,
    registrar: Option<Registrar>,
    listener: TcpListener,
    here: SocketAddr,
    began: Instant,
}

impl Started {
    /// Begins to listen as one of a role's services.
    ///
    /// Errors ([`Error::Input`]): the identity is none of the role's, or the address cannot be had.
    pub fn new(serving: RoleConfig, service: Service) -> Result<Started> {
        files();
        let ((role, number), written) = (parts(service), serving.setting.written(service)?);
        let place = serving.listen.clone().or_else(|| written.clone()).ok_or_else(|| {
            Error::Input(format!(
                "job file: address is missing in [[{role}]] {}: say where it listens, as address = \"{role}.example:7600\", or with --listen",
                number + 1
            ))
        })?;
        let address = listening_at(&place)?;
        let (listener, here) = bind(&address)?;
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(format!("no threads: {error}")))?;
        let addresses = Arc::new(Addresses::new("the registry", Vec::new()));
        let register = |registry: &Registry| {
            let address = advertised(registry, here, written)?;
            Registrar::new(registry, &serving.setting, service, address, &addresses)
        };
        let registrar = serving.registry.as_ref().map(register).transpose()?;
        Ok(Started {
            serving,
            service,
            runtime: Arc::new(runtime),
            traffic: SharedTraffic::default(),
            dialled: Mutex::default(),
            addresses,
            registrar,
            listener,
            here,
            began: Instant::now(),
        })
    }

    /// A client of another service.
    pub fn client(&self, service: Service) -> Result<Client> {
        let setting = &self.serving.setting;
        let place = match self.registrar {
            None => setting.place(service, self.serving.announce.as_deref())?,
            Some(_) => Endpoint::Named(ServiceAddresses {
                service,
                agreement: hex(&setting.agreement),
                addresses: self.addresses.clone(),
                written: setting.written(service)?,
                written_first: false,
            }),
        };
        let RoleConfig { identity, cancel, .. } = &self.serving;
        let client = Client::new(&self.runtime, identity, setting.peer(service)?, place, &self.traffic, cancel);
        self.dialled.lock().unwrap_or_else(PoisonError::into_inner).push((service, client.contact().clone()));
        Ok(client)
    }

    /// A client of the databases, of which any will do.
    pub fn databases(&self) -> Result<Replicas> {
        let setting = &self.serving.setting;
        let clients = (0..setting.count("database")?.max(1)).map(|place| self.client(Service::Database(place)));
        crate::hello::any_of(clients.collect::<Result<_>>()?, setting)
    }

    /// Serves until it is cancelled.
    pub(super) fn serve<R: Role + 'static>(
        self,
        role: Arc<R>,
        admission: Arc<Admission>,
        routes: Router,
    ) -> Result<()> {
        let Started { serving, service, runtime, traffic, dialled, addresses, registrar, listener, here, began } = self;
        let name = serving.setting.name(service)?;
        if let Some(directory) = &serving.announce {
            write_whole(&directory.join(file(service)), here.to_string().as_bytes())?;
        }
        let requests = Arc::new(Requests::new(&admission));
        let watch = Arc::new(Watch {
            role: role.clone(),
            identity: serving.identity.clone(),
            state: serving.state.clone(),
            traffic: traffic.clone(),
            requests: requests.clone(),
            dialled: dialled.into_inner().unwrap_or_else(PoisonError::into_inner),
            registry: registrar.as_ref().map(|registrar| registrar.contact().clone()),
            readiness: Readiness::default(),
            cancel: serving.cancel.clone(),
        });
        let status = serving.status.as_deref().map(|address| status::listen("--status", address)).transpose()?;
        let status = status.map(|listener| status::serve(listener, watch.clone())).transpose()?;
        tracing::info!("{name} {} listens on {here}", serving.identity.fingerprint());
        role.learned().iter().for_each(|sentence| tracing::info!("{sentence}"));
        let mut routes = routes.merge(crate::hello::routes(&serving.setting, &admission, service));
        if !matches!(service, Service::Oracle(_)) {
            routes = routes.merge(crate::peers::routes(&serving.setting, &admission, &addresses));
        }
        let registering = registrar.map(|registrar| runtime.spawn(registrar.keep(serving.cancel.clone())));
        let server = Server {
            identity: serving.identity.clone(),
            admission: admission.clone(),
            traffic: traffic.clone(),
            routes: routes.layer(axum::middleware::from_fn_with_state(requests, watched)),
            cancel: serving.cancel.clone(),
        };
        let ended = std::thread::scope(|scope| {
            if status.is_some() {
                scope.spawn(|| watch.keep());
            }
            let (kept, cancel) = (role.clone(), serving.cancel.clone());
            let house = scope.spawn(move || {
                let ended = kept.run_background();
                cancel.cancel();
                ended
            });
            let served = runtime.block_on(stand(Arc::new(server), listener));
            serving.cancel.cancel();
            let kept = house.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match kept {
                Ok(()) | Err(Error::Interrupted) => served,
                Err(error) => Err(error),
            }
        });
        if let Some(registering) = registering {
            // Its last word is the entry's end. Without it the entry ends by itself, a little later.
            let _ = runtime.block_on(async { timeout(SHUTDOWN_GRACE, registering).await });
        }
        if let Some(path) = &serving.report {
            let numbers: serde_json::Map<_, _> =
                role.numbers().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
            let report = json!({
                "role": file(service),
                "learned": role.learned(),
                "numbers": numbers,
                "bytes": { "sent": traffic.sent(), "received": traffic.received() },
                "tls": traffic.tls(),
                "seconds": { "total": usage::round(began.elapsed()) },
                "cpu_seconds": usage::round(usage::cpu_time()),
                "peak_memory": usage::peak_memory(),
            });
            write_json(path, &report)?;
        }
        ended
    }
}

/// Under which address a role registers that listens `here`.
fn advertised(registry: &Registry, here: SocketAddr, written: Option<String>) -> Result<String> {
    match &registry.advertise {
        Some(address) if address.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_unspecified()) => {
            Err(Error::Input(format!(
                "--advertise {address}: is a wildcard address: give one that other machines can reach"
            )))
        }
        Some(address) if is_address(address) => Ok(address.clone()),
        Some(address) => Err(Error::Input(format!("--advertise {}: write HOST:PORT", shown(address)))),
        None if !here.ip().is_unspecified() => Ok(here.to_string()),
        None => written.filter(|address| is_address(address)).ok_or_else(|| {
            Error::Input(format!(
                "--registry: {here} is a wildcard address: give one that other machines can reach, as --advertise HOST:PORT"
            ))
        }),
    }
}
