//! Connections between real sockets: who is let in, who is not, and what each side is told.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tacita_core::channel::{Label, MAX_PAYLOAD_BYTES};
use tacita_core::{Error, ErrorKind, Result};
use tacita_node::identity::{CERTIFICATE_FILE, Fingerprint, Identity, KEY_FILE, VALIDITY};
use tacita_node::transport::{ConnectCancel, Connected, LinkShape, Options, Peer, dial, listen};

const DATA: Label = Label::new(1, "data");

/// Maximum time for which a test waits.
const BOUND: Duration = Duration::from_secs(8);

/// Time for which a listener waits for a peer that does not come.
const SHORT: Duration = Duration::from_millis(1500);

fn identity(name: &str) -> Identity {
    let now = SystemTime::now();
    Identity::generate(name, now, now + VALIDITY).unwrap()
}

fn peer(name: &str, pin: Fingerprint) -> Peer {
    Peer { name: name.into(), pin }
}

fn options() -> Options {
    Options { timeout: BOUND, ..Options::default() }
}

fn local() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Connects the two, each with what it expects of the other.
fn connect(hospital: (&Identity, Fingerprint), insurer: (&Identity, Fingerprint)) -> [Result<Connected>; 2] {
    connect_within(BOUND, hospital, insurer)
}

/// Connects as [`connect`] does, with this time-out of the listener.
fn connect_within(
    timeout: Duration,
    (hospital, expects): (&Identity, Fingerprint),
    (insurer, expected): (&Identity, Fingerprint),
) -> [Result<Connected>; 2] {
    let (listener, address) = local();
    let options_of_listener = Options { timeout, ..options() };
    std::thread::scope(|scope| {
        let listening = scope.spawn(|| listen(&listener, &peer("insurer", expects), hospital, &options_of_listener));
        let dialed = dial(&address, &peer("hospital", expected), insurer, &options());
        [listening.join().unwrap(), dialed]
    })
}

fn assert_both_refused([listener, dialer]: [Result<Connected>; 2], listener_says: &str, dialer_says: &str) {
    for (result, name, says) in [(listener, "insurer", listener_says), (dialer, "hospital", dialer_says)] {
        match result.err().expect("must be refused") {
            Error::Authentication { peer, what } => {
                assert_eq!(peer, name);
                assert!(what.contains(says) && !what.contains('\n'), "`{what}` lacks `{says}`");
            }
            error => panic!("{error:?}"),
        }
    }
}

fn exchange(hospital: Connected, insurer: Connected) {
    assert_eq!(hospital.exporter, insurer.exporter);
    assert_ne!(hospital.exporter, [0; 32]);
    let (mut a, mut b) = (hospital.channel, insurer.channel);
    assert_eq!((a.peer(), b.peer()), ("insurer", "hospital"));
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            assert_eq!(b.receive(DATA, 3).unwrap(), b"abc");
            b.send(DATA, vec![9; MAX_PAYLOAD_BYTES]).unwrap();
            b.finish().unwrap()
        });
        a.send(DATA, b"abc".to_vec()).unwrap();
        assert_eq!(a.receive(DATA, MAX_PAYLOAD_BYTES).unwrap(), vec![9; MAX_PAYLOAD_BYTES]);
        let (here, there) = (a.finish().unwrap(), other.join().unwrap());
        assert_eq!((here.sent, here.received), (there.received, there.sent));
    });
}

#[test]
fn right_pins_connect_whoever_starts_first() {
    let (hospital, insurer) = (identity("hospital"), identity("insurer"));
    let [a, b] = connect((&hospital, insurer.fingerprint()), (&insurer, hospital.fingerprint()));
    exchange(a.unwrap(), b.unwrap());

    // The dialer first: its port is not even open yet.
    let (listener, address) = local();
    drop(listener);
    std::thread::scope(|scope| {
        let dialing = scope.spawn(|| dial(&address, &peer("hospital", hospital.fingerprint()), &insurer, &options()));
        std::thread::sleep(Duration::from_millis(300));
        let listener = TcpListener::bind(&address).unwrap();
        let a = listen(&listener, &peer("insurer", insurer.fingerprint()), &hospital, &options());
        exchange(a.unwrap(), dialing.join().unwrap().unwrap());
    });
}

#[test]
fn a_wrong_fingerprint_ends_the_dialer_at_once_and_the_listener_when_its_time_is_over() {
    let (hospital, insurer, other) = (identity("hospital"), identity("insurer"), identity("other"));
    let start = Instant::now();
    // The listener expects somebody else.
    let outcome = connect_within(SHORT, (&hospital, other.fingerprint()), (&insurer, hospital.fingerprint()));
    let presented = format!("presents {}, expected {}", insurer.fingerprint(), other.fingerprint());
    assert_both_refused(outcome, &presented, &format!("refused our identity ({})", insurer.fingerprint()));
    // The dialer expects somebody else.
    let outcome = connect_within(SHORT, (&hospital, insurer.fingerprint()), (&insurer, other.fingerprint()));
    let presented = format!("presents {}, expected {}", hospital.fingerprint(), other.fingerprint());
    assert_both_refused(outcome, &format!("refused our identity ({})", hospital.fingerprint()), &presented);
    assert!((2 * SHORT..BOUND).contains(&start.elapsed()), "{:?}", start.elapsed());
}

/// Whoever comes first with another key, without the key of its certificate, or to refuse ours: the peer is still
/// found.
#[test]
fn no_stranger_ends_the_wait_for_the_peer() {
    let (hospital, insurer, stranger) = (identity("hospital"), identity("insurer"), identity("stranger"));
    let (listener, address) = local();
    std::thread::scope(|scope| {
        let listening =
            scope.spawn(|| listen(&listener, &peer("insurer", insurer.fingerprint()), &hospital, &options()));
        let with_own_key = dial(&address, &peer("hospital", hospital.fingerprint()), &stranger, &options());
        assert!(matches!(with_own_key, Err(Error::Authentication { .. })));
        hostile_client(b"tacita/1", Some(Swapped::new(&insurer, &stranger)), &address).unwrap_err();
        // It refuses this party's identity with an alert.
        let refusing = dial(&address, &peer("hospital", stranger.fingerprint()), &stranger, &options());
        assert!(matches!(refusing, Err(Error::Authentication { .. })));
        std::thread::sleep(Duration::from_millis(100));
        assert!(!listening.is_finished());
        let dialed = dial(&address, &peer("hospital", hospital.fingerprint()), &insurer, &options());
        exchange(listening.join().unwrap().unwrap(), dialed.unwrap());
    });
}

#[test]
fn certificates_outside_their_dates_are_refused() {
    let (now, day) = (SystemTime::now(), Duration::from_secs(24 * 3600));
    let (hospital, insurer) = (identity("hospital"), identity("insurer"));
    let expired = Identity::generate("late", now - 2 * day, now - day).unwrap();
    let early = Identity::generate("early", now + day, now + 2 * day).unwrap();
    for (odd, says) in [(&expired, "certificate expired on"), (&early, "certificate is not valid before")] {
        let outcome = connect_within(SHORT, (&hospital, odd.fingerprint()), (odd, hospital.fingerprint()));
        assert_both_refused(outcome, says, "refused our certificate's dates");
        let outcome = connect_within(SHORT, (odd, insurer.fingerprint()), (&insurer, odd.fingerprint()));
        assert_both_refused(outcome, "refused our certificate's dates", says);
    }
    // Within the hour, clocks may differ.
    let nearly = Identity::generate("nearly", now + Duration::from_secs(3000), now + day).unwrap();
    let [a, b] = connect((&hospital, nearly.fingerprint()), (&nearly, hospital.fingerprint()));
    exchange(a.unwrap(), b.unwrap());
}

/// The certificate and key of an identity, as TLS takes them.
fn raw_parts(identity: &Identity) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let home = tempfile::tempdir().unwrap();
    identity.save(home.path()).unwrap();
    let certificate = CertificateDer::from_pem_file(home.path().join(CERTIFICATE_FILE)).unwrap();
    (certificate, PrivateKeyDer::from_pem_file(home.path().join(KEY_FILE)).unwrap())
}

/// Presents one identity's certificate while it signs with another's key.
#[derive(Debug)]
struct Swapped(Arc<rustls::sign::CertifiedKey>);

impl Swapped {
    fn new(certificate: &Identity, key: &Identity) -> Arc<Swapped> {
        let key = rustls::crypto::ring::sign::any_supported_type(&raw_parts(key).1).unwrap();
        Arc::new(Swapped(Arc::new(rustls::sign::CertifiedKey::new(vec![raw_parts(certificate).0], key))))
    }
}

impl rustls::client::ResolvesClientCert for Swapped {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<rustls::sign::CertifiedKey>> {
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl rustls::server::ResolvesServerCert for Swapped {
    fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<rustls::sign::CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// Accepts every certificate: for hostile ends only.
#[derive(Debug)]
struct Gullible;

impl rustls::client::danger::ServerCertVerifier for Gullible {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> std::result::Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        vec![rustls::SignatureScheme::ED25519, rustls::SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

/// A hostile or foreign TLS client.
fn hostile_client(alpn: &[u8], resolver: Option<Arc<Swapped>>, address: &str) -> std::io::Result<()> {
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Gullible));
    let mut config = match resolver {
        Some(resolver) => builder.with_client_cert_resolver(resolver),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![alpn.to_vec()];
    let mut connection = rustls::ClientConnection::new(Arc::new(config), "x.invalid".try_into().unwrap()).unwrap();
    let mut socket = TcpStream::connect(address)?;
    let mut stream = rustls::Stream::new(&mut connection, &mut socket);
    stream.read_exact(&mut [0])
}

#[test]
fn a_right_certificate_without_its_key_is_refused() {
    let (hospital, insurer, thief) = (identity("hospital"), identity("insurer"), identity("thief"));
    let (listener, address) = local();
    let short = Options { timeout: SHORT, ..options() };
    std::thread::scope(|scope| {
        let listening = scope.spawn(|| listen(&listener, &peer("insurer", insurer.fingerprint()), &hospital, &short));
        let error = hostile_client(b"tacita/1", Some(Swapped::new(&insurer, &thief)), &address).unwrap_err();
        assert!(error.to_string().contains("DecryptError"), "{error}");
        let error = listening.join().unwrap().err().unwrap();
        assert!(matches!(&error, Error::Authentication { what, .. } if what.contains("did not prove")), "{error}");
    });

    // The same on the other side.
    let (listener, address) = local();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let mut config = rustls::ServerConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&rustls::version::TLS13])
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Swapped::new(&hospital, &thief));
            config.alpn_protocols = vec![b"tacita/1".to_vec()];
            let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
            let mut socket = listener.accept().unwrap().0;
            rustls::Stream::new(&mut connection, &mut socket).read_exact(&mut [0]).unwrap_err();
        });
        let error = dial(&address, &peer("hospital", hospital.fingerprint()), &insurer, &options()).err().unwrap();
        assert!(matches!(&error, Error::Authentication { what, .. } if what.contains("did not prove")), "{error}");
    });
}

/// A TLS 1.2 ClientHello: without `supported_versions` there is no TLS 1.3 (RFC 8446 section 4.2.1).
fn tls12_hello() -> Vec<u8> {
    let mut hello = vec![3, 3];
    hello.extend([7; 32]);
    hello.push(0); // no session
    hello.extend([0, 2, 0xc0, 0x2b]); // TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
    hello.extend([1, 0]); // no compression
    let extensions = [
        0, 10, 0, 4, 0, 2, 0, 29, // supported_groups: x25519
        0, 11, 0, 2, 1, 0, // ec_point_formats: uncompressed
        0, 13, 0, 4, 0, 2, 4, 3, // signature_algorithms: ecdsa_secp256r1_sha256
        0, 23, 0, 0, // extended_master_secret
    ];
    hello.extend((extensions.len() as u16).to_be_bytes());
    hello.extend(extensions);
    let mut record = vec![22, 3, 1];
    record.extend((hello.len() as u16 + 4).to_be_bytes());
    record.extend([1, 0]);
    record.extend((hello.len() as u16).to_be_bytes());
    record.extend(hello);
    record
}

#[test]
fn strangers_are_left_aside() {
    let (hospital, insurer) = (identity("hospital"), identity("insurer"));
    let (listener, address) = local();
    std::thread::scope(|scope| {
        let listening =
            scope.spawn(|| listen(&listener, &peer("insurer", insurer.fingerprint()), &hospital, &options()));
        // More silent ones than may shake hands at a time.
        let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&address).unwrap()).collect();
        let mut garbage = TcpStream::connect(&address).unwrap();
        garbage.write_all(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n").unwrap();
        let mut flood = TcpStream::connect(&address).unwrap();
        flood.write_all(&[22, 3, 1, 255, 255, 1]).unwrap();
        drop(TcpStream::connect(&address).unwrap());
        let mut old = TcpStream::connect(&address).unwrap();
        old.write_all(&tls12_hello()).unwrap();
        let mut answer = Vec::new();
        old.set_read_timeout(Some(BOUND)).unwrap();
        old.read_to_end(&mut answer).unwrap();
        // A fatal alert, protocol_version: RFC 8446 section 6.
        assert_eq!((answer[0], &answer[5..]), (21, &[2u8, 70][..]), "{answer:?}");
        hostile_client(b"tacita/1", None, &address).unwrap_err();
        hostile_client(b"h2", None, &address).unwrap_err();
        assert!(!listening.is_finished());
        let start = Instant::now();
        let b = dial(&address, &peer("hospital", hospital.fingerprint()), &insurer, &options());
        exchange(listening.join().unwrap().unwrap(), b.unwrap());
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        drop((silent, garbage, flood));
    });
}

#[test]
fn nobody_there_is_a_network_error_that_says_so() {
    let me = identity("me");
    let pin = identity("x").fingerprint();
    let short = Options { timeout: Duration::from_millis(400), ..Options::default() };
    let (listener, address) = local();
    let error = listen(&listener, &peer("insurer", pin), &me, &short).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(error.to_string().contains("within 0.4 s (nobody did)"), "{error}");
    // Somebody accepts, and that is all.
    let error = dial(&address, &peer("insurer", pin), &me, &short).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Network);
    drop(listener);
    let start = Instant::now();
    let error = dial(&address, &peer("insurer", pin), &me, &short).err().unwrap();
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(
        error.to_string(),
        format!(
            "insurer: did not answer at {address} within 0.4 s (connection refused): is it running, and is the address right?"
        )
    );
    for address in ["", "host", ":1", "host:", "host:0", "host:99999", "a\nb"] {
        assert!(matches!(dial(address, &peer("insurer", pin), &me, &short), Err(Error::Input(_))), "{address}");
    }
}

#[test]
fn waiting_can_be_cancelled() {
    let me = identity("me");
    let pin = identity("x").fingerprint();
    let ((listener, _), (_silent, silent_address)) = (local(), local());
    let cancel = ConnectCancel::default();
    let options = Options { cancel: cancel.clone(), ..Options::default() };
    std::thread::scope(|scope| {
        // One waits for connections, one for the other's greeting, one to be answered at all.
        let listening = scope.spawn(|| listen(&listener, &peer("p", pin), &me, &options));
        let dialing = scope.spawn(|| dial(&silent_address, &peer("p", pin), &me, &options));
        let refused = scope.spawn(|| dial("127.0.0.1:1", &peer("p", pin), &me, &options));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!listening.is_finished() && !dialing.is_finished() && !refused.is_finished());
        let start = Instant::now();
        cancel.cancel();
        for waiting in [listening, dialing, refused] {
            assert_eq!(waiting.join().unwrap().err(), Some(Error::Interrupted));
        }
        assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
    });
}

#[test]
fn a_shaped_connection_has_its_latency_and_keeps_its_data() {
    let (hospital, insurer) = (identity("hospital"), identity("insurer"));
    let (listener, address) = local();
    let shape = LinkShape { latency: Duration::from_millis(40), bandwidth: Some(200_000_000) };
    let options = Options { shape, ..options() };
    std::thread::scope(|scope| {
        let listening = scope.spawn(|| listen(&listener, &peer("insurer", insurer.fingerprint()), &hospital, &options));
        let b = dial(&address, &peer("hospital", hospital.fingerprint()), &insurer, &options).unwrap();
        let a = listening.join().unwrap().unwrap();
        let start = Instant::now();
        // One round trip, a megabyte at 200 Mbit/s (42 ms), and the goodbyes, of which one way is on the path.
        exchange(a, b);
        assert!((160..400).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    });
}
