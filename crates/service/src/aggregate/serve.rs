//! What the roles that serve have in common: they listen, keep house, answer until they are told to end, and report.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use serde_json::json;
use tacita_core::{Error, Result};
use tacita_node::agreement::Known;
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::write_whole;
use tacita_node::base::usage;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::Spec;
use tacita_node::run::report::write_json;
use tacita_node::transport::listening_at;
use tokio::runtime::{Builder, Runtime};

use super::setting::{Setting, file};
use super::transport::{Admission, Client, Server, Service, SharedTraffic, files, stand};
use crate::status::{self, Page, Watched};

/// How to serve a role.
pub struct Serving {
    /// The job.
    pub setting: Arc<Setting>,
    /// Whose identity it is.
    pub identity: Identity,
    /// Where to listen; absent: at the address in the job file.
    pub listen: Option<String>,
    /// Where it keeps what it must not lose.
    pub state: PathBuf,
    /// Where whoever watches it finds how it is.
    pub status: Option<String>,
    /// Where a report goes at the end.
    pub report: Option<PathBuf>,
    /// A directory in which the services say where they listen, in place of the job file.
    pub announce: Option<PathBuf>,
    /// Ends it.
    pub cancel: Cancel,
}

/// What a role has when it begins to serve.
pub struct Started {
    /// What it was told.
    pub serving: Serving,
    /// Which service it is.
    pub service: Service,
    /// Where asynchronous work is done.
    pub runtime: Arc<Runtime>,
    /// What travels.
    pub traffic: SharedTraffic,
    listener: TcpListener,
    here: SocketAddr,
    began: Instant,
}

/// A role, as what all have in common sees it.
pub(super) trait Role: Send + Sync {
    /// Its word.
    fn word(&self) -> &'static str;

    /// Looks after what is due, until the role is to end. What it returns ends the role.
    fn keep_house(&self) -> Result<()>;

    /// What it has learned, in sentences.
    fn learned(&self) -> Vec<String>;

    /// Numbers for whoever watches it: name, help, value.
    fn numbers(&self) -> Vec<(&'static str, &'static str, u64)>;
}

/// A role as whoever watches it sees it.
struct Watch<R> {
    role: Arc<R>,
    traffic: SharedTraffic,
    cancel: Cancel,
}

impl<R: Role + 'static> Watched for Watch<R> {
    fn health(&self) -> (bool, String) {
        match self.cancel.is_cancelled() {
            false => (true, "ok\n".into()),
            true => (false, "ending\n".into()),
        }
    }

    fn metrics(&self) -> String {
        let mut page = Page::new(self.role.word());
        let mut tell = |name: &str, help: &str, value: u64| page.tell(name, "gauge", help, &[(String::new(), value)]);
        self.role.numbers().into_iter().for_each(|(name, help, value)| tell(name, help, value));
        tell("sent_bytes", "Bytes sent.", self.traffic.sent());
        tell("received_bytes", "Bytes received.", self.traffic.received());
        page.text()
    }
}

impl Started {
    /// Begins to listen as one of a role's services.
    ///
    /// Errors ([`Error::Input`]): the identity is none of the role's, or the address cannot be had.
    pub fn new(serving: Serving, service: Service) -> Result<Started> {
        files();
        let place = match &serving.listen {
            Some(listen) => listen.clone(),
            None => match serving.setting.place(service, None)? {
                super::transport::Place::At(address) => address,
                super::transport::Place::Told(_) => return Err(Error::Internal("a role without an address".into())),
            },
        };
        let address = listening_at(&place)?;
        let bad = |error: std::io::Error| {
            Error::Input(format!("cannot listen on {address}: {error}: give another address with --listen"))
        };
        let listener = TcpListener::bind(&address).map_err(bad)?;
        let here = listener.local_addr().map_err(bad)?;
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(format!("no threads: {error}")))?;
        Ok(Started {
            serving,
            service,
            runtime: Arc::new(runtime),
            traffic: SharedTraffic::default(),
            listener,
            here,
            began: Instant::now(),
        })
    }

    /// A client of another service.
    pub fn client(&self, service: Service) -> Result<Client> {
        let setting = &self.serving.setting;
        let place = setting.place(service, self.serving.announce.as_deref())?;
        let Serving { identity, cancel, .. } = &self.serving;
        Ok(Client::new(&self.runtime, identity, setting.peer(service)?, place, &self.traffic, cancel))
    }

    /// Serves until it is cancelled.
    pub(super) fn serve<R: Role + 'static>(
        self,
        role: Arc<R>,
        admission: Arc<Admission>,
        routes: Router,
    ) -> Result<()> {
        let Started { serving, service, runtime, traffic, listener, here, began } = self;
        let name = serving.setting.name(service)?;
        if let Some(directory) = &serving.announce {
            write_whole(&directory.join(file(service)), here.to_string().as_bytes())?;
        }
        let watch = Watch { role: role.clone(), traffic: traffic.clone(), cancel: serving.cancel.clone() };
        let status = serving.status.as_deref().map(|address| status::listen("--status", address)).transpose()?;
        let _status = status.map(|listener| status::serve(listener, Arc::new(watch))).transpose()?;
        tracing::info!("{name} {} listens on {here}", serving.identity.fingerprint());
        role.learned().iter().for_each(|sentence| tracing::info!("{sentence}"));
        let server = Server {
            identity: serving.identity.clone(),
            admission: admission.clone(),
            traffic: traffic.clone(),
            routes: routes.merge(super::here::routes(&serving.setting, &admission)),
            cancel: serving.cancel.clone(),
        };
        let ended = std::thread::scope(|scope| {
            let (kept, cancel) = (role.clone(), serving.cancel.clone());
            let house = scope.spawn(move || {
                let ended = kept.keep_house();
                cancel.cancel();
                ended
            });
            let served = runtime.block_on(stand(Arc::new(server), listener));
            serving.cancel.cancel();
            let kept = house.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match kept {
                Ok(()) | Err(Error::Interrupted) => served.and(Err(Error::Interrupted)),
                Err(error) => Err(error),
            }
        });
        if let Some(path) = &serving.report {
            let numbers: serde_json::Map<_, _> =
                role.numbers().into_iter().map(|(name, _, value)| (name.to_owned(), value.into())).collect();
            let report = json!({
                "role": file(service),
                "learned": role.learned(),
                "numbers": numbers,
                "bytes": { "sent": traffic.sent(), "received": traffic.received() },
                "seconds": { "total": usage::round(began.elapsed()) },
                "cpu_seconds": usage::round(usage::cpu_time()),
                "peak_memory": usage::peak_memory(),
            });
            write_json(path, &report)?;
        }
        ended
    }
}

/// What a role learns.
pub(super) fn learned(own: Spec<'_>, role: &str) -> Vec<String> {
    own.spec.job.learned(own.spec, role, Known::default())
}
