//! TLS 1.3 (RFC 8446) with both sides authenticated by the fingerprints of their public keys.
//!
//! No certificate authority is asked: a certificate's key must have the fingerprint that the job names, its dates must
//! hold, and the handshake's signature must verify under that key. Sessions are never resumed and no early data is
//! sent, so that each connection proves possession of both keys afresh.

use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, CommonState, Connection, DigitallySignedStruct,
    DistinguishedName, PeerIncompatible, ServerConfig, ServerConnection, SignatureScheme, version,
};
use tacita_core::{Error, Result};

use super::key_exchange;
use crate::identity::{Certificate, Fingerprint, Identity};

/// The protocol's name in ALPN (RFC 7301).
pub const ALPN: &[u8] = b"tacita/1";

/// ALPN name of two parties that only check whether a run would come about.
pub const DOCTOR_ALPN: &[u8] = b"tacita-doctor/1";

/// ALPN name of a desk and the party that it asks.
pub const DESK_ALPN: &[u8] = b"tacita-desk/1";

/// ALPN name of a party and its helper.
pub const HELPER_ALPN: &[u8] = b"tacita-helper/1";

/// ALPN name of a party and the relay at which it meets another.
pub const RELAY_ALPN: &[u8] = b"tacita-relay/2";

/// Name of HTTP/2 in ALPN (RFC 9113 section 3.1), used by services and their clients.
pub const HTTP_ALPN: &[u8] = b"h2";

/// Purpose of one end of a connection. Both ends need the same purpose. The purpose of the other end is known before
/// anything is read from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Run of a job.
    #[default]
    Run,
    /// Check of whether a run would come about.
    Doctor,
    /// Query to a party that stands and answers, or service as such a party.
    Desk,
    /// Deposit of parcels at a helper, or service as a helper.
    Helper,
}

impl Purpose {
    const ALL: [Purpose; 4] = [Purpose::Run, Purpose::Doctor, Purpose::Desk, Purpose::Helper];

    fn alpn(self) -> &'static [u8] {
        match self {
            Purpose::Run => ALPN,
            Purpose::Doctor => DOCTOR_ALPN,
            Purpose::Desk => DESK_ALPN,
            Purpose::Helper => HELPER_ALPN,
        }
    }

    /// The one byte that a listener sends when it has accepted the dialer.
    pub(super) fn greeting(self) -> u8 {
        match self {
            Purpose::Run => 1,
            Purpose::Doctor => 2,
            Purpose::Desk => 3,
            Purpose::Helper => 4,
        }
    }

    /// Returns the purpose to which this greeting belongs.
    pub(super) fn greets(byte: u8) -> Option<Purpose> {
        Purpose::ALL.into_iter().find(|purpose| purpose.greeting() == byte)
    }

    /// Returns the purpose of the dialer of a connection, if the dialer is a party at all.
    pub(super) fn of(connection: &Connection) -> Option<Purpose> {
        let alpn = connection.alpn_protocol();
        Purpose::ALL.into_iter().find(|purpose| alpn == Some(purpose.alpn()))
    }
}

/// Label of the exporter (RFC 8446 section 7.5), with an empty context.
pub const EXPORTER_LABEL: &[u8] = b"EXPORTER-tacita-session";

/// Length of the exported secret in bytes.
pub const EXPORTER_BYTES: usize = 32;

/// More identities than these are only counted where none of them was presented.
const SHOWN_PINS: usize = 4;

/// Reason for our refusal of the other end's certificate, as the end of a sentence about its owner. The verifier sets
/// it.
pub(super) type Refusal = Arc<OnceLock<String>>;

/// The dialer's end of a new connection to the owner of `pin`.
pub(super) fn client(identity: &Identity, pin: Fingerprint, purpose: Purpose) -> Result<(Connection, Refusal)> {
    client_for(identity, pin, purpose.alpn())
}

/// A party's end of a new connection to the relay that is the owner of `pin`.
pub(super) fn guest(identity: &Identity, pin: Fingerprint) -> Result<(Connection, Refusal)> {
    client_for(identity, pin, RELAY_ALPN)
}

fn client_for(identity: &Identity, pin: Fingerprint, alpn: &[u8]) -> Result<(Connection, Refusal)> {
    let (config, refusal) = client_config(identity, pin, alpn, key_exchange::provider()?)?;
    let connection = ClientConnection::new(config, nameless()).map_err(internal)?;
    Ok((connection.into(), refusal))
}

/// Returns a placeholder for the server name, which rustls requires. With SNI off the name is not sent.
pub(super) fn nameless() -> ServerName<'static> {
    ServerName::try_from("tacita.invalid").expect("a valid name")
}

/// Returns the TLS configuration of a dialer that expects the owner of `pin`.
pub(super) fn client_config(
    identity: &Identity,
    pin: Fingerprint,
    alpn: &[u8],
    provider: Arc<CryptoProvider>,
) -> Result<(Arc<ClientConfig>, Refusal)> {
    let (verifier, refusal) = Pinned::new(vec![pin], provider.clone());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(internal)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_auth_cert(vec![identity.certificate().der.clone()], identity.private_key())
        .map_err(internal)?;
    config.alpn_protocols = vec![alpn.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok((Arc::new(config), refusal))
}

/// The listener's end of a new connection from the owner of one of `pins`.
pub(super) fn server(identity: &Identity, pins: Vec<Fingerprint>) -> Result<(Connection, Refusal)> {
    server_for(identity, pins, Purpose::ALL.map(Purpose::alpn).to_vec())
}

/// The relay's end of a new connection from the owner of one of `pins`.
pub(super) fn host(identity: &Identity, pins: Vec<Fingerprint>) -> Result<(Connection, Refusal)> {
    server_for(identity, pins, vec![RELAY_ALPN])
}

fn server_for(identity: &Identity, pins: Vec<Fingerprint>, alpn: Vec<&[u8]>) -> Result<(Connection, Refusal)> {
    let (config, refusal) = server_config(identity, pins, alpn, key_exchange::provider()?)?;
    let connection = ServerConnection::new(config).map_err(internal)?;
    Ok((connection.into(), refusal))
}

/// Returns the TLS configuration of a listener that expects the owners of `pins`.
pub(super) fn server_config(
    identity: &Identity,
    pins: Vec<Fingerprint>,
    alpn: Vec<&[u8]>,
    provider: Arc<CryptoProvider>,
) -> Result<(Arc<ServerConfig>, Refusal)> {
    let (verifier, refusal) = Pinned::new(pins, provider.clone());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(internal)?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(vec![identity.certificate().der.clone()], identity.private_key())
        .map_err(internal)?;
    config.alpn_protocols = alpn.into_iter().map(<[u8]>::to_vec).collect();
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    Ok((Arc::new(config), refusal))
}

/// Returns the fingerprint of the certificate that the other end of a finished handshake has shown.
pub(super) fn presented(connection: &CommonState) -> Option<Fingerprint> {
    let certificate = connection.peer_certificates()?.first()?;
    Certificate::parse(certificate).ok().map(|certificate| certificate.fingerprint())
}

/// Returns the exported secret that both ends of a finished handshake know and nobody else does.
pub(super) fn exporter(connection: &Connection) -> Result<[u8; EXPORTER_BYTES]> {
    let exported = match connection {
        Connection::Client(c) => c.export_keying_material([0; EXPORTER_BYTES], EXPORTER_LABEL, Some(&[])),
        Connection::Server(c) => c.export_keying_material([0; EXPORTER_BYTES], EXPORTER_LABEL, Some(&[])),
    };
    exported.map_err(internal)
}

/// Attribution of a handshake's failure to the end at fault.
#[derive(Debug)]
pub(super) enum Fault {
    /// The other end failed to prove who it is; the end of a sentence about it.
    TheirIdentity(String),
    /// The other end refused this about us.
    OurIdentity(&'static str),
    /// Fault that may be on either end, or anywhere else.
    Unknown(String),
}

/// Name of the thing that the other end refuses if it does not know this party's key.
pub const OUR_IDENTITY: &str = "our identity";

/// Reads the fault from rustls' error and from what our verifier noted.
pub(super) fn fault(error: &rustls::Error, refusal: &Refusal) -> Fault {
    use AlertDescription as Alert;
    if let Some(what) = refusal.get() {
        return Fault::TheirIdentity(what.clone());
    }
    match error {
        rustls::Error::InvalidCertificate(CertificateError::BadSignature) => {
            Fault::TheirIdentity("it presents the right certificate, but did not prove that it holds its key".into())
        }
        rustls::Error::InvalidCertificate(error) => {
            Fault::TheirIdentity(format!("its certificate is refused: {error}"))
        }
        rustls::Error::AlertReceived(alert) => match alert {
            Alert::CertificateExpired => Fault::OurIdentity("our certificate's dates"),
            Alert::DecryptError => Fault::OurIdentity("our proof of holding the key"),
            Alert::AccessDenied
            | Alert::BadCertificate
            | Alert::CertificateUnknown
            | Alert::CertificateRevoked
            | Alert::UnknownCA
            | Alert::UnsupportedCertificate => Fault::OurIdentity(OUR_IDENTITY),
            Alert::NoApplicationProtocol => {
                Fault::Unknown("the other end is no Tacita party, or its version has no doctor to meet".into())
            }
            alert => Fault::Unknown(format!("it ended the TLS handshake: {alert:?}")),
        },
        rustls::Error::PeerIncompatible(
            PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::Tls13RequiredForQuic
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => Fault::Unknown("it does not speak TLS 1.3".into()),
        rustls::Error::NoCertificatesPresented => Fault::Unknown("it shows no certificate".into()),
        rustls::Error::InvalidMessage(_) => Fault::Unknown("the other end is not a Tacita party".into()),
        error => Fault::Unknown(format!("no TLS handshake: {error}")),
    }
}

/// Accepts certain keys, usually one, whatever certificate they come in, while the certificate's dates hold.
#[derive(Debug)]
struct Pinned {
    pins: Vec<Fingerprint>,
    provider: Arc<CryptoProvider>,
    refusal: Refusal,
}

impl Pinned {
    fn new(pins: Vec<Fingerprint>, provider: Arc<CryptoProvider>) -> (Pinned, Refusal) {
        let refusal = Refusal::default();
        (Pinned { pins, provider, refusal: refusal.clone() }, refusal)
    }

    fn check(&self, end_entity: &CertificateDer<'_>, now: UnixTime) -> std::result::Result<(), rustls::Error> {
        let refuse = |what: String, error: CertificateError| {
            // Only the first refusal can be set: a connection verifies one certificate.
            let _ = self.refusal.set(what);
            Err(rustls::Error::InvalidCertificate(error))
        };
        let certificate = match Certificate::parse(end_entity) {
            Ok(certificate) => certificate,
            Err(what) => return refuse(format!("its certificate {what}"), CertificateError::BadEncoding),
        };
        let presented = certificate.fingerprint();
        if !self.pins.contains(&presented) {
            let pins: Vec<_> = self.pins.iter().map(ToString::to_string).collect();
            if pins.is_empty() {
                let what = format!("it presents {presented}, and nobody is admitted");
                return refuse(what, CertificateError::ApplicationVerificationFailure);
            }
            let expected = match pins.len() {
                ..=SHOWN_PINS => pins.join(" or "),
                many => format!("one of {many} others"),
            };
            let what = format!("it presents {presented}, expected {expected}; compare `tacita identity show` there");
            return refuse(what, CertificateError::ApplicationVerificationFailure);
        }
        match certificate.check_dates(i64::try_from(now.as_secs()).unwrap_or(i64::MAX)) {
            Ok(()) => Ok(()),
            Err(what) => {
                refuse(format!("its certificate {what}; it must be renewed, or a clock set"), CertificateError::Expired)
            }
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        // Under the bytes that the pin is of, as this program has read them: no second parser has a say in whose key
        // it is.
        let certificate = Certificate::parse(certificate)
            .map_err(|_| rustls::Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let key = SubjectPublicKeyInfoDer::from(certificate.public_key.as_slice());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.provider.signature_verification_algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Never called: TLS 1.2 is neither offered nor compiled in.
fn no_tls12() -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
    Err(rustls::Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered))
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        self.check(end_entity, now).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> std::result::Result<ClientCertVerified, rustls::Error> {
        self.check(end_entity, now).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

fn internal(error: rustls::Error) -> Error {
    Error::Internal(format!("TLS: {error}"))
}

#[cfg(test)]
mod tests;
