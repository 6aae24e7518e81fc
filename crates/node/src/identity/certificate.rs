//! Fields that this program reads from a certificate: a name, a key's fingerprint and two dates.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tacita_core::{Error, Result};
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

use super::{CERTIFICATE_FILE, Fingerprint};

/// Tolerated difference between the two parties' clocks, in seconds. A certificate counts as valid for this long
/// before and after its dates.
pub const CLOCK_SLACK_SECONDS: i64 = 3600;

/// A certificate. It only carries the key and says from when to when that key is meant to be used: nobody's
/// signature on it counts, because peers are told apart by their keys' fingerprints.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub(crate) der: CertificateDer<'static>,
    /// The key, as SubjectPublicKeyInfo in DER: the very bytes that the fingerprint is of.
    pub(crate) public_key: Vec<u8>,
    name: String,
    fingerprint: Fingerprint,
    not_before: ASN1Time,
    not_after: ASN1Time,
}

impl Certificate {
    /// Reads the certificate of the identity in `directory`; its key is not touched.
    pub fn read(directory: &Path) -> Result<Certificate> {
        let path = directory.join(CERTIFICATE_FILE);
        let pem = std::fs::read(&path)
            .map_err(|e| Error::Input(format!("{}: {}", path.display(), super::unopened(directory, &e))))?;
        let der = CertificateDer::from_pem_slice(&pem)
            .map_err(|e| Error::Input(format!("{}: no certificate in PEM ({e})", path.display())))?;
        Certificate::parse(&der).map_err(|e| Error::Input(format!("{}: {e}", path.display())))
    }

    /// Reads a certificate in DER; the error is the end of a sentence about it.
    pub fn parse(der: &[u8]) -> std::result::Result<Certificate, String> {
        let (rest, parsed) = X509Certificate::from_der(der).map_err(|e| format!("is no X.509 certificate ({e})"))?;
        if !rest.is_empty() {
            return Err("is followed by other data".into());
        }
        let name = parsed.subject().iter_common_name().next().and_then(|name| name.as_str().ok()).unwrap_or_default();
        Ok(Certificate {
            name: name.to_owned(),
            public_key: parsed.public_key().raw.to_vec(),
            fingerprint: Fingerprint::of(parsed.public_key().raw),
            not_before: parsed.validity().not_before,
            not_after: parsed.validity().not_after,
            der: der.to_vec().into(),
        })
    }

    /// The name that it was made for; it proves nothing.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fingerprint of its key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// First moment of its validity, in seconds since 1970.
    pub fn not_before(&self) -> i64 {
        self.not_before.timestamp()
    }

    /// Last moment of its validity, in seconds since 1970.
    pub fn not_after(&self) -> i64 {
        self.not_after.timestamp()
    }

    /// Whether it is valid at `now` (seconds since 1970), give or take [`CLOCK_SLACK_SECONDS`]. The error is the end
    /// of a sentence about the certificate.
    pub fn check_dates(&self, now: i64) -> std::result::Result<(), String> {
        let clock = ASN1Time::from_timestamp(now).map_or_else(|_| now.to_string(), |time| time.to_string());
        if now.saturating_sub(CLOCK_SLACK_SECONDS) > self.not_after() {
            return Err(format!("expired on {} (the clock here says {clock})", self.not_after));
        }
        if now.saturating_add(CLOCK_SLACK_SECONDS) < self.not_before() {
            return Err(format!("is not valid before {} (the clock here says {clock})", self.not_before));
        }
        Ok(())
    }
}
