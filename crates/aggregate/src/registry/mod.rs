//! A registry, in which roles say where they listen, and find each other: etcd, under a lease that ends with the role.
//!
//! It holds addresses and nothing else. Identities are those of the job file: a registry that says what is wrong leads
//! to somebody who is refused. Where it is silent, or lost what it had, whatever runs goes on with the addresses that
//! it knew last.

mod entries;
mod etcd;
#[cfg(test)]
#[allow(dead_code, reason = "tests of whole processes need more of it")]
mod server;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::hex::hex;
use tacita_node::base::text::{counted, shown};
use tokio::runtime::Runtime;
use tokio::time::sleep;

pub use self::entries::decode;
use self::entries::encode;
use self::etcd::{Etcd, Lease};
use crate::setting::ServiceConfig;
use crate::transport::{Addresses, Contact, cancelled};
use crate::wire::service::{Service, file};

/// For how long an entry outlives the role that does not end in order, in seconds, and how often it is told that the
/// role lives.
const LIFE: u64 = 10;
const RENEWAL: Duration = Duration::from_secs(3);

/// Interval at which addresses are read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Settings of a registry, and of the role's entry in it.
pub struct Registry {
    /// Addresses of the registry's members, one or several with commas between: `http://HOST:PORT` or
    /// `https://HOST:PORT`.
    pub urls: String,
    /// Certificate authority that has issued the registry's certificates (PEM).
    pub ca: Option<PathBuf>,
    /// A certificate to show it, and its key (PEM).
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Address at which others reach the role, if that is not where it listens.
    pub advertise: Option<String>,
}

/// A role's part in a registry.
pub(super) struct Registrar {
    etcd: Etcd,
    /// Prefix of the job's entries, and the role's own entry among them.
    prefix: String,
    key: String,
    address: String,
    own: Service,
    services: Vec<(String, Service)>,
    addresses: Arc<Addresses>,
    contact: Arc<Contact>,
    /// Lease of the entry, and the time at which it was last renewed.
    lease: Option<(Lease, Instant)>,
    /// Conditions that were reported last.
    is_silent: bool,
    garbage: u64,
    rival: Option<String>,
}

/// Returns the addresses on which services of a job listen, as a registry names them at the moment.
///
/// Errors: [`Error::Input`] if what it is told of cannot be read; [`Error::Network`] if it does not answer.
pub(super) fn named(registry: &Registry, setting: &ServiceConfig, runtime: &Runtime) -> Result<Vec<(Service, String)>> {
    let (mut etcd, prefix) = (registry.etcd()?, prefix(setting));
    let entries = runtime.block_on(etcd.range(&prefix));
    let entries = entries.map_err(|what| Error::Network { peer: "the registry".into(), what })?;
    let named = |(key, value): &(Vec<u8>, Vec<u8>), name: &str| {
        (key.strip_prefix(prefix.as_bytes()) == Some(name.as_bytes())).then(|| decode(value)).flatten()
    };
    let services = setting.services()?.into_iter().filter_map(|(_, service)| {
        let name = file(service);
        entries.iter().find_map(|entry| named(entry, &name)).map(|address| (service, address))
    });
    Ok(services.collect())
}

/// Returns the prefix of a job's keys.
fn prefix(setting: &ServiceConfig) -> String {
    format!("tacita/{}/", hex(&setting.agreement))
}

impl Registry {
    fn etcd(&self) -> Result<Etcd> {
        let certificate = self.certificate.as_ref().map(|(shown, key)| (shown.as_path(), key.as_path()));
        Etcd::new(&self.urls, self.ca.as_deref(), certificate)
    }
}

impl Registrar {
    /// A role that listens at `address`. Nothing is connected yet.
    ///
    /// Errors ([`tacita_core::Error::Input`]): an address of the registry is none, or a file cannot be read.
    pub(super) fn new(
        registry: &Registry,
        setting: &ServiceConfig,
        own: Service,
        address: String,
        addresses: &Arc<Addresses>,
    ) -> Result<Registrar> {
        let prefix = prefix(setting);
        let services = setting.services()?.into_iter().map(|(_, service)| (file(service), service));
        Ok(Registrar {
            etcd: registry.etcd()?,
            key: format!("{prefix}{}", file(own)),
            prefix,
            address,
            own,
            services: services.collect(),
            addresses: addresses.clone(),
            contact: Arc::default(),
            lease: None,
            is_silent: false,
            garbage: 0,
            rival: None,
        })
    }

    /// Returns the record of the registry's last answer.
    pub(super) fn contact(&self) -> &Arc<Contact> {
        &self.contact
    }

    /// Keeps the role registered and its addresses fresh until it is to end; takes its entry out then.
    pub(super) async fn keep(mut self, cancel: Cancel) {
        while !cancel.is_cancelled() {
            tokio::select! {
                done = self.look() => self.tell(done),
                () = cancelled(&cancel) => break,
            }
            tokio::select! {
                () = sleep(POLL_INTERVAL) => (),
                () = cancelled(&cancel) => break,
            }
        }
        if let Some((lease, _)) = self.lease.take() {
            let _ = self.etcd.revoke(&lease).await;
        }
    }

    /// Registers, or renews what lives, and reads addresses.
    async fn look(&mut self) -> std::result::Result<(), String> {
        if let Some((lease, renewed)) = &mut self.lease
            && renewed.elapsed() >= RENEWAL
        {
            if self.etcd.renew(lease).await? { *renewed = Instant::now() } else { self.lease = None }
        }
        if self.lease.is_none() {
            let lease = self.etcd.grant(LIFE).await?;
            self.etcd.put(&self.key, &encode(&self.address), &lease).await?;
            tracing::info!("registered as {} at {}", file(self.own), self.address);
            self.lease = Some((lease, Instant::now()));
        }
        let entries = self.etcd.range(&self.prefix).await?;
        self.learn(&entries);
        Ok(())
    }

    /// Takes over what can be an address of one of the job's services.
    fn learn(&mut self, entries: &[(Vec<u8>, Vec<u8>)]) {
        let (mut garbage, mut first, mut own) = (0, None, None);
        for (key, value) in entries {
            let name = key.strip_prefix(self.prefix.as_bytes());
            let service = self.services.iter().find(|(one, _)| Some(one.as_bytes()) == name);
            match (service, decode(value)) {
                (Some((_, service)), Some(address)) if *service == self.own => own = Some(address),
                (Some((_, service)), Some(address)) => self.addresses.learn(*service, address),
                _ => {
                    garbage += 1;
                    first.get_or_insert(key);
                }
            }
        }
        self.addresses.learn(self.own, self.address.clone());
        if let Some(first) = first.filter(|_| garbage != self.garbage) {
            let first = shown(&String::from_utf8_lossy(first));
            tracing::warn!(
                "registry: {} no address of a service of this job, as {first}: left out",
                counted_are(garbage)
            );
        }
        self.garbage = garbage;
        // Somebody has changed it, or the registry was put back to what it was before: a new lease, and the entry anew.
        if own.as_ref() != Some(&self.address) {
            if let Some(other) = own.as_ref().filter(|other| self.rival.as_ref() != Some(*other)) {
                tracing::warn!("registry: it names {other} for this role: is another process started as it?");
            }
            self.rival = own.or(self.rival.take());
            self.lease = None;
        }
    }

    /// Says when the registry falls silent, and when it answers again.
    fn tell(&mut self, done: std::result::Result<(), String>) {
        match done {
            Ok(()) => {
                self.contact.now();
                if std::mem::take(&mut self.is_silent) {
                    tracing::info!("the registry answers again");
                }
            }
            Err(what) => {
                if !std::mem::replace(&mut self.is_silent, true) {
                    tracing::warn!("the registry does not answer ({what}): going on with the addresses known so far");
                }
            }
        }
    }
}

fn counted_are(number: u64) -> String {
    format!("{} {}", counted(number, "entry"), if number == 1 { "is" } else { "are" })
}
