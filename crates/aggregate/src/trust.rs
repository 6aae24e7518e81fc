//! TLS to servers that are none of the job's, such as storages: whose certificates were issued by whom the operator
//! names.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use tacita_core::{Error, Result};
use tacita_node::transport::key_exchange::provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A certificate of this end, and its key, in files (PEM).
pub(super) type Shown<'a> = (&'a Path, &'a Path);

/// Returns a connector for servers whose certificates were issued by those in a file (PEM); `option` names the file in
/// messages, as in `--registry-ca FILE`.
///
/// Errors ([`Error::Input`]): a file cannot be read, or holds none of what it should.
pub(super) fn trusting(option: &str, path: &Path, shown: Option<Shown>) -> Result<Arc<ClientConfig>> {
    let bad = |what: &dyn Display| {
        Error::Input(format!("{option}{} holds no certificate in PEM that can be read: {what}", path.display()))
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| bad(&error))? {
        roots.add(certificate.map_err(|error| bad(&error))?).map_err(|error| bad(&error))?;
    }
    if roots.is_empty() {
        return Err(bad(&"it has none"));
    }
    let config = ClientConfig::builder_with_provider(provider()?)
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| Error::Internal(error.to_string()))?
        .with_root_certificates(roots);
    Ok(Arc::new(match shown {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = CertificateDer::pem_file_iter(certificate)
                .and_then(|all| all.collect::<std::result::Result<Vec<_>, _>>())
                .map_err(|error| unreadable(certificate, "certificate", &error))?;
            let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, "key", &error))?;
            config
                .with_client_auth_cert(chain, secret)
                .map_err(|error| unreadable(certificate, "pair with the key", &error))?
        }
    }))
}

fn unreadable(path: &Path, what: &str, error: &dyn Display) -> Error {
    Error::Input(format!("{} holds no {what} in PEM that can be read: {error}", path.display()))
}
