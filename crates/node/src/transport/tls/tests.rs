//! Handshakes in memory: of ends that have the post-quantum key exchange or not, and with ends that send bad shares of
//! keys.

use std::result::Result;
use std::time::SystemTime;

use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup, ring};
use rustls::{Error, NamedGroup, PeerMisbehaved};

use super::*;
use crate::base::hex::unhex;
use crate::identity::VALIDITY;
use crate::transport::key_exchange::{NegotiatedGroup, OfferedGroups};

/// Bytes of an X25519 key.
const X25519_BYTES: usize = 32;

/// The group that is preferred.
fn hybrid() -> &'static dyn SupportedKxGroup {
    OfferedGroups::Hybrid.provider().kx_groups[0]
}

/// An end's group that alters what it sends.
#[derive(Debug)]
struct Tampered(fn(Vec<u8>) -> Vec<u8>);

struct TamperedClient(Box<dyn ActiveKeyExchange>, Vec<u8>);

impl SupportedKxGroup for Tampered {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let honest = hybrid().start()?;
        let share = self.0(honest.pub_key().to_vec());
        Ok(Box::new(TamperedClient(honest, share)))
    }

    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let honest = hybrid().start_and_complete(share)?;
        Ok(CompletedKeyExchange { pub_key: self.0(honest.pub_key), ..honest })
    }

    fn name(&self) -> NamedGroup {
        hybrid().name()
    }
}

impl ActiveKeyExchange for TamperedClient {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        self.0.complete(share)
    }

    fn pub_key(&self) -> &[u8] {
        &self.1
    }

    fn group(&self) -> NamedGroup {
        self.0.group()
    }
}

fn tampering(alter: fn(Vec<u8>) -> Vec<u8>) -> Arc<CryptoProvider> {
    let group: &'static dyn SupportedKxGroup = Box::leak(Box::new(Tampered(alter)));
    Arc::new(CryptoProvider { kx_groups: vec![group], ..ring::default_provider() })
}

/// Runs a handshake in memory, and returns both ends with the first error of each.
fn handshake([client, server]: [Arc<CryptoProvider>; 2]) -> ([Connection; 2], [Option<Error>; 2]) {
    let now = SystemTime::now();
    let [dialer, listener] = ["dialer", "listener"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
    let dialing = client_config(&dialer, listener.fingerprint(), ALPN, client).unwrap().0;
    let listening = server_config(&listener, vec![dialer.fingerprint()], vec![ALPN], server).unwrap().0;
    let mut ends: [Connection; 2] =
        [ClientConnection::new(dialing, nameless()).unwrap().into(), ServerConnection::new(listening).unwrap().into()];
    let mut errors = [None, None];
    while ends.iter().any(|end| end.wants_write()) {
        for (from, to) in [(0, 1), (1, 0)] {
            let mut bytes = Vec::new();
            while ends[from].wants_write() {
                ends[from].write_tls(&mut bytes).unwrap();
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() && errors[to].is_none() {
                ends[to].read_tls(&mut rest).unwrap();
                errors[to] = ends[to].process_new_packets().err();
            }
        }
    }
    (ends, errors)
}

#[test]
fn two_ends_take_the_best_that_both_have_without_a_further_round_trip() {
    use OfferedGroups::{Classical, Hybrid};
    for (client, server, expected) in [
        (Hybrid, Hybrid, "X25519MLKEM768"),
        (Hybrid, Classical, "X25519"),
        (Classical, Hybrid, "X25519"),
        (Classical, Classical, "X25519"),
    ] {
        let (ends, errors) = handshake([client.provider(), server.provider()]);
        assert_eq!(errors, [None, None]);
        for end in &ends {
            let group = NegotiatedGroup::of(end).unwrap();
            assert_eq!(group.to_string(), expected);
            assert_eq!(group.is_post_quantum(), client == Hybrid && server == Hybrid);
            assert_eq!(end.handshake_kind(), Some(rustls::HandshakeKind::Full), "{client:?} {server:?}");
        }
        assert_eq!(exporter(&ends[0]).unwrap(), exporter(&ends[1]).unwrap());
    }
}

/// Alters the last 32 bytes, which are the X25519 key.
fn with_point(mut share: Vec<u8>, point: [u8; X25519_BYTES]) -> Vec<u8> {
    let from = share.len() - X25519_BYTES;
    share[from..].copy_from_slice(&point);
    share
}

/// RFC 7748: points whose multiples are zero.
const LOW_ORDER: [fn(Vec<u8>) -> Vec<u8>; 3] = [
    |share| with_point(share, [0; 32]),
    |share| with_point(share, std::array::from_fn(|place| u8::from(place == 0))),
    |share| {
        let eighth = "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800";
        with_point(share, unhex(eighth).unwrap().try_into().unwrap())
    },
];

const LENGTHS: [fn(Vec<u8>) -> Vec<u8>; 5] = [
    |share| share[1..].to_vec(),
    |share| [share, vec![0]].concat(),
    |share| share[..share.len() - X25519_BYTES].to_vec(),
    |share| share[share.len() - X25519_BYTES..].to_vec(),
    |_| vec![7],
];

#[test]
fn a_client_with_a_bad_share_is_refused_and_told() {
    let above: fn(Vec<u8>) -> Vec<u8> = |mut share| {
        share[..2].fill(0xff);
        share
    };
    for alter in LOW_ORDER.into_iter().chain(LENGTHS).chain([above]) {
        let (_, errors) = handshake([tampering(alter), OfferedGroups::Hybrid.provider()]);
        assert_eq!(errors[1], Some(Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare)));
        assert_eq!(errors[0], Some(Error::AlertReceived(AlertDescription::IllegalParameter)));
    }
}

#[test]
fn a_server_with_a_bad_share_is_refused_and_told() {
    for alter in LOW_ORDER.into_iter().chain(LENGTHS) {
        let (_, errors) = handshake([OfferedGroups::Hybrid.provider(), tampering(alter)]);
        assert_eq!(errors[0], Some(Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare)));
        assert_eq!(errors[1], Some(Error::AlertReceived(AlertDescription::IllegalParameter)));
    }
}

/// Bytes that may be a share but are not the one that was meant: the ends get different secrets, and see that.
#[test]
fn altered_shares_end_the_handshake() {
    let alterations: [fn(Vec<u8>) -> Vec<u8>; 2] = [
        |mut share| {
            share[700] ^= 1;
            share
        },
        |mut share| {
            let last = share.len() - 3;
            share[last] ^= 1;
            share
        },
    ];
    for alter in alterations {
        for providers in
            [[OfferedGroups::Hybrid.provider(), tampering(alter)], [tampering(alter), OfferedGroups::Hybrid.provider()]]
        {
            let (_, errors) = handshake(providers);
            // Few alterations make a share that is none.
            let noticed = [
                Error::DecryptError,
                Error::AlertReceived(AlertDescription::IllegalParameter),
                Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare),
            ];
            assert!(errors[0].as_ref().is_some_and(|error| noticed.contains(error)), "{errors:?}");
        }
    }
}
