//! TLS as the parties use it, for those who speak HTTP/2 over sockets of their own.

use std::error::Error as Cause;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, CommonState, ServerConfig};
use tacita_core::{Error, Result};

use super::key_exchange::OfferedGroups;
use super::tls::{self, Fault, HTTP_ALPN, Refusal};
use super::{Peer, dial};
use crate::identity::{Fingerprint, Identity};

/// The dialer's end of one connection.
pub struct Dialer {
    /// For the TLS library.
    pub config: Arc<ClientConfig>,
    /// Peer to which the connection is made.
    pub peer: Peer,
    refusal: Refusal,
    own: Fingerprint,
}

/// The listener's end of one connection.
pub struct HttpAcceptor {
    /// For the TLS library.
    pub config: Arc<ServerConfig>,
    refusal: Refusal,
}

impl Dialer {
    /// For one connection to `peer`.
    pub fn new(identity: &Identity, peer: &Peer) -> Result<Dialer> {
        Dialer::offering(OfferedGroups::of_environment()?, identity, peer)
    }

    /// For one connection to `peer` with keys from one of these groups.
    pub fn offering(groups: OfferedGroups, identity: &Identity, peer: &Peer) -> Result<Dialer> {
        let (config, refusal) = tls::client_config(identity, peer.pin, HTTP_ALPN, groups.provider())?;
        Ok(Dialer { config, refusal, peer: peer.clone(), own: identity.fingerprint() })
    }

    /// The name that the TLS library wants, which goes nowhere.
    pub fn name(&self) -> ServerName<'static> {
        tls::nameless()
    }

    /// Translates a failure of the connection: [`Error::Authentication`] where an identity was refused, else
    /// [`Error::Network`].
    pub fn failure(&self, error: &(dyn Cause + 'static), address: &str) -> Error {
        let peer = self.peer.name.clone();
        match cause(error).map(|error| tls::fault(error, &self.refusal)) {
            Some(Fault::TheirIdentity(what)) => Error::Authentication { peer, what: format!("at {address} {what}") },
            Some(Fault::OurIdentity(what)) => {
                let own = self.own;
                let what = format!("at {address} it refused {what} ({own}); compare with whom it expects");
                Error::Authentication { peer, what }
            }
            Some(Fault::Unknown(what)) => Error::Network { peer, what: format!("at {address}: {what}") },
            None => Error::Network { peer, what: format!("at {address}: {}", told(error)) },
        }
    }
}

impl HttpAcceptor {
    /// For one connection from the owner of one of `pins`.
    pub fn new(identity: &Identity, pins: Vec<Fingerprint>) -> Result<HttpAcceptor> {
        HttpAcceptor::offering(OfferedGroups::of_environment()?, identity, pins)
    }

    /// For one connection from the owner of one of `pins`, with keys from one of these groups.
    pub fn offering(groups: OfferedGroups, identity: &Identity, pins: Vec<Fingerprint>) -> Result<HttpAcceptor> {
        let (config, refusal) = tls::server_config(identity, pins, vec![HTTP_ALPN], groups.provider())?;
        Ok(HttpAcceptor { config, refusal })
    }

    /// Returns the reason why a connection was not let in.
    pub fn refused(&self, error: &(dyn Cause + 'static)) -> String {
        match cause(error).map(|error| tls::fault(error, &self.refusal)) {
            Some(Fault::TheirIdentity(what) | Fault::Unknown(what)) => what,
            Some(Fault::OurIdentity(what)) => format!("it refused {what}"),
            None => told(error),
        }
    }
}

/// Returns the fingerprint of the certificate that the other end of a finished handshake has shown.
pub fn presented(connection: &CommonState) -> Option<Fingerprint> {
    tls::presented(connection)
}

/// Returns the error of the TLS library that underlies the error of a library on top of it.
fn cause<'a>(error: &'a (dyn Cause + 'static)) -> Option<&'a rustls::Error> {
    let mut error = Some(error);
    while let Some(one) = error {
        if let Some(found) = one.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        let inner = one.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
        error = match inner {
            Some(inner) => Some(inner),
            None => one.source(),
        };
    }
    None
}

/// The innermost reason in a few words.
fn told(error: &(dyn Cause + 'static)) -> String {
    let mut error = error;
    loop {
        if let Some(system) = error.downcast_ref::<std::io::Error>()
            && system.get_ref().is_none()
        {
            return dial::describe(system);
        }
        match error.source() {
            Some(inner) => error = inner,
            None => return error.to_string(),
        }
    }
}
