//! A prepared sender with several receivers, and its bytes.

use crate::support::two::conclude;
use crate::support::*;
use tacita_core::primitive::oprf::Suite;
use tacita_core::progress::Progress;
use tacita_core::protocol::intersect::ecdh::payload::{self, Matches};
use tacita_core::protocol::intersect::ecdh::prepared::{Epoch, PreparedSender, prepare};
use tacita_core::protocol::intersect::ecdh::{PUBLIC_KEY, Params, TagDomain, rows};
use tacita_core::protocol::intersect::tag_exchange::{self, ENTRIES, epoch_tag_bytes};
use tacita_core::{Channel, Error, ErrorKind, Item, Result};

const EPOCH: [u8; 32] = [9; 32];

/// Other suites, and how many items are prepared.
const OTHERS: [(Suite, usize); 2] = [(Suite::P384, 20), (Suite::P521, 20)];

fn prepared(sender: &[Item], with_rows: bool, padding: usize) -> PreparedSender {
    prepared_in(Suite::Ristretto255, sender, with_rows, padding)
}

fn prepared_in(suite: Suite, sender: &[Item], with_rows: bool, padding: usize) -> PreparedSender {
    let rows = payload_of(2, sender, SENDER_ROW_BYTES);
    let entries = padding + if with_rows { rows.rows() } else { sender.len() };
    let tag_bytes = epoch_tag_bytes(1000, 10, entries);
    let payload = with_rows.then_some(&rows);
    let epoch = Epoch { id: EPOCH, entries, tag_bytes, suite };
    prepare(sender, payload, epoch, &Progress::default(), &mut rng(5)).unwrap()
}

/// One receiver's run with a prepared sender.
fn serve(
    prepared: &PreparedSender,
    receiver: &[Item],
    params: &Params,
    seed: u8,
) -> (Result<Learned>, Result<Learned>) {
    let domain = TagDomain::of_epoch(prepared.epoch());
    let (receiving, sending) = Channel::pair("receiver", "sender");
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| {
            let role = |channel: &mut Channel| {
                let learned = prepared.send(params, channel)?;
                Ok(learned.map_or(Learned::Nothing, |Matches { items, payload }| Learned::Payload(items, payload)))
            };
            conclude(sending, role).map(|(learned, _)| learned)
        });
        let role = |channel: &mut Channel| {
            if params.entries.entry_bytes() == params.entries.tag_bytes {
                rows::receive(receiver, &domain, params, channel, &mut rng(seed)).map(Learned::Rows)
            } else {
                let own = payload_of(1, receiver, RECEIVER_ROW_BYTES);
                payload::receive(receiver, Some(&own), &domain, params, channel, &mut rng(seed))
                    .map(|common| Learned::Payload(common.items, common.payload))
            }
        };
        let received = conclude(receiving, role).map(|(learned, _)| learned);
        (received, sent.join().unwrap())
    })
}

#[test]
fn many_receivers_get_what_a_fresh_sender_would_give() {
    for (with_rows, variant) in [(false, Variant::RowsBoth), (true, Variant::PayloadReturned)] {
        for (suite, size) in [0, 1, 300].map(|size| (Suite::Ristretto255, size)).into_iter().chain(OTHERS) {
            let sender = items(0..size);
            let original = prepared_in(suite, &sender, with_rows, 4);
            let prepared = PreparedSender::from_bytes(&original.to_bytes()).unwrap();
            assert_eq!(*prepared.to_bytes(), *original.to_bytes());
            for (seed, receiver) in (0..).zip([items(0..10), items(290..310), items([]), items(0..10)]) {
                let case = Case::new(variant, receiver, sender.clone(), 0, 16);
                let params = prepared.params(case.receiver.len() + 2);
                let entries = if with_rows {
                    params.entries.returning(case.receiver_rows.rows(), RECEIVER_ROW_BYTES)
                } else {
                    params.entries.to_both()
                };
                let params = Params { entries, ..params };
                let (received, sent) = serve(&prepared, &case.receiver, &params, seed);
                let (expected, told) = case.expected();
                assert_eq!(received.unwrap(), expected);
                match (sent.unwrap(), told) {
                    (Learned::Payload(items, None), Learned::Rows(expected)) => assert_eq!(items, expected),
                    (learned, expected) => assert_eq!(learned, expected),
                }
            }
        }
    }
}

/// Checks the price of reuse: two runs of one epoch carry the same tags in the same order, and two epochs have none in
/// common.
#[test]
fn an_epoch_repeats_its_entries_and_another_one_does_not() {
    let sender = items(0..50);
    let (one, other) = (prepared(&sender, false, 0), {
        let progress = Progress::default();
        let epoch = Epoch { id: [8; 32], entries: 50, tag_bytes: 8, suite: Suite::Ristretto255 };
        prepare(&sender, None, epoch, &progress, &mut rng(6)).unwrap()
    });
    let entries = |prepared: &PreparedSender| {
        let params = prepared.params(0);
        let (mut receiver, mut sender) = Channel::pair("receiver", "sender");
        prepared.send(&params, &mut sender).unwrap();
        receiver.receive(PUBLIC_KEY, 32).unwrap();
        receiver.receive(ENTRIES, 50 * params.entries.tag_bytes).unwrap()
    };
    assert_eq!(entries(&one), entries(&one));
    let tags = |prepared: &PreparedSender| {
        entries(prepared).chunks(prepared.params(0).entries.tag_bytes).map(<[u8]>::to_vec).collect()
    };
    let (one, other): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (tags(&one), tags(&other));
    assert!(one.iter().all(|tag| other.iter().all(|another| tag[..5] != another[..5])));
}

#[test]
fn parameters_of_something_else_are_refused() {
    let with_rows = prepared(&items(0..5), true, 0);
    let without = prepared(&items(0..5), false, 0);
    let good = without.params(3);
    let refused = |prepared: &PreparedSender, params: Params| {
        let (_receiver, mut sender) = Channel::pair("receiver", "sender");
        assert!(matches!(prepared.send(&params, &mut sender), Err(Error::Internal(_))));
    };
    refused(&with_rows, good);
    refused(&without, with_rows.params(3));
    let entries = good.entries;
    for entries in [
        tag_exchange::Params::count(3, 5),
        tag_exchange::Params { tag_bytes: entries.tag_bytes + 1, ..entries },
        tag_exchange::Params { sender_entries: 6, ..entries },
    ] {
        refused(&without, Params { entries, ..good });
    }
    refused(&without, Params { suite: Suite::P384, ..good });
}

/// A prepared key must not serve a receiver of another epoch: nothing matches.
#[test]
fn another_domain_matches_nothing() {
    let prepared = prepared(&items(0..5), false, 0);
    let params = prepared.params(5);
    let (mut receiver, mut sender) = Channel::pair("receiver", "sender");
    let domain = TagDomain::of_epoch(&[1; 32]);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| prepared.send(&params, &mut sender).unwrap());
        rows::receive(&items(0..5), &domain, &params, &mut receiver, &mut rng(1)).unwrap()
    });
    assert_eq!(found, [0usize; 0]);
}

#[test]
fn damaged_bytes_are_refused() {
    for with_rows in [false, true] {
        let bytes = prepared(&items(0..4), with_rows, 1).to_bytes();
        let refused =
            |bytes: &[u8]| assert_eq!(PreparedSender::from_bytes(bytes).unwrap_err().kind(), ErrorKind::Input);
        for length in 0..bytes.len() {
            refused(&bytes[..length]);
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[place] ^= 0x10;
            refused(&changed);
            // With a hash that fits: then only what the decoder itself checks is refused, and nothing panics.
            let content = changed.len() - 32;
            let checksum = *blake3::hash(&changed[..content]).as_bytes();
            changed[content..].copy_from_slice(&checksum);
            if let Ok(prepared) = PreparedSender::from_bytes(&changed) {
                assert_eq!(prepared.to_bytes().len(), bytes.len());
            }
            // Numbers and lengths have one place each: the order's (after 86 bytes and the offsets) must be refused.
            if (40..54).contains(&place) {
                refused(&changed);
            }
        }
        assert_eq!(format!("{:?}", prepared(&items(0..4), false, 1)), "Prepared(4 items, 5 entries)");
    }
}
