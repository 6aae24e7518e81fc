//! A run of `ecdh` for rows, to both, with dummies.

use std::collections::HashSet;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use sha2::{Digest, Sha512};
use tacita_core::primitive::group::{DecodeError, Group, Point, Ristretto255, ScalarField};
use tacita_core::primitive::oprf::{OprfKey, Suite};
use tacita_core::primitive::shuffle::random_order;
use tacita_core::protocol::intersect::ecdh::{Params, TagDomain, rows};
use tacita_core::protocol::intersect::tag_exchange;
use tacita_core::session::Transcript;
use tacita_core::{Channel, Item, Result, Session};

use super::{Replaced, bytes, compare, derived, frames, hex, keyed, list, messages, numbers, on_wire, play};
use crate::support::{Frame, rng, two};

const RECEIVER: (&[&str], u8) = (&["ann", "bob", "cid", "dan", "eve"], 21);
const SENDER: (&[&str], u8) = (&["dan", "fay", "bob", "gus"], 24);
/// Elements of the receiver, and entries of the sender, dummies included.
const ELEMENTS: (usize, usize) = (6, 7);

fn session() -> Session {
    Session::new(Transcript::new("ecdh vectors"))
}

fn params() -> Params {
    Params::new(tag_exchange::Params::rows(ELEMENTS.0, ELEMENTS.1).to_both(), Suite::Ristretto255)
}

fn receive(channel: &mut Channel) -> Result<Vec<usize>> {
    let (items, domain) = (keyed(&session(), RECEIVER.0).0, TagDomain::of_session(&session()));
    rows::receive(&items, &domain, &params(), channel, &mut rng(RECEIVER.1))
}

fn send(channel: &mut Channel) -> Result<Vec<usize>> {
    let (items, domain) = (keyed(&session(), SENDER.0).0, TagDomain::of_session(&session()));
    rows::send(&items, &domain, &params(), channel, &mut rng(SENDER.1)).map(Option::unwrap_or_default)
}

/// Draws as the receiver does: the order of its items, dummies and blinds.
fn receivers_choices() -> (Vec<u32>, Vec<[u8; 32]>, Vec<String>) {
    let mut rng = rng(RECEIVER.1);
    let order = random_order(RECEIVER.0.len(), &mut rng);
    let [mut dummies, mut blinds] = [(); 2].map(|()| {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        ChaCha20Rng::from_seed(seed)
    });
    dummies.set_stream(RECEIVER.0.len() as u64);
    let dummies = (RECEIVER.0.len()..ELEMENTS.0).map(|_| {
        let mut dummy = [0; 32];
        dummies.fill_bytes(&mut dummy);
        dummy
    });
    let dummies = dummies.collect();
    let blinds = Ristretto255.random_scalars(ELEMENTS.0, &mut blinds);
    (order, dummies, blinds.iter().map(|blind| hex(&*Ristretto255.encode_scalar(blind))).collect())
}

/// Output of the function, 64 bytes: the last step of `Finalize` (RFC 9497, section 3.3.1).
fn finalize(input: &[u8], element: &[u8]) -> Vec<u8> {
    let part = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat();
    Sha512::digest([part(input), part(element), b"Finalize".to_vec()].concat()).to_vec()
}

/// `HashToGroup` of the suite (RFC 9497, section 4).
fn hash_to_group(inputs: &[Vec<u8>]) -> Vec<Point> {
    let tag = [b"HashToGroup-OPRFV1-\x00-", Suite::Ristretto255.name().as_bytes()].concat();
    Ristretto255.hash_to_points(inputs, &tag)
}

/// Encodings that are refused in the place of one point (RFC 9496, section 4.3.1), and what is wrong with each.
fn wrong_points() -> Vec<(&'static str, Vec<u8>)> {
    let first = |byte: u8| [&[byte][..], &[0; 31]].concat();
    let refused = |bytes: &Vec<u8>| matches!(Ristretto255.decode(bytes), Err(DecodeError::NotAPoint(0)));
    vec![
        ("the identity", first(0)),
        ("p in the place of 0", [&[0xed][..], &[0xff; 30], &[0x7f]].concat()),
        ("not below 2^255", vec![0xff; 32]),
        ("a negative number", first(1)),
        ("a number that is no point's", (1..100).map(|number| first(2 * number)).find(refused).unwrap()),
    ]
}

fn rejected([receiver, sender]: &[Vec<Frame>; 2], places: &[usize]) -> Vec<Replaced> {
    let t = params().entries.tag_bytes;
    let [blinded, marks] = [0, 1].map(|place| receiver[place].payload.clone());
    let [public, evaluated, entries] = [0, 1, 2].map(|place| sender[place].payload.clone());
    let wrong = |what, by, message, payload: &[u8]| Replaced { what, by, message, payload: payload.to_vec() };
    // In the place of the second of several points.
    let second = |elements: &[u8], point: &[u8]| [&elements[..32], point, &elements[64..]].concat();
    let mut all = Vec::new();
    for (what, point) in wrong_points() {
        all.push(wrong(what, "sender", 0, &point));
        all.push(wrong(what, "receiver", 0, &second(&blinded, &point)));
        all.push(wrong(what, "sender", 1, &second(&evaluated, &point)));
    }
    for (by, message, payload) in [
        ("sender", 0, &public),
        ("receiver", 0, &blinded),
        ("sender", 1, &evaluated),
        ("sender", 2, &entries),
        ("receiver", 1, &marks),
    ] {
        all.push(wrong("a byte too few", by, message, &payload[1..]));
        all.push(wrong("a byte too many", by, message, &[&payload[..], &[0]].concat()));
        all.push(wrong("empty", by, message, &[]));
    }
    // Places of entries: of the sender's items, and of its first dummy.
    let own: HashSet<usize> = places.iter().copied().collect();
    let dummy = (0..ELEMENTS.1).find(|place| !own.contains(place)).unwrap();
    let mut twice = entries.clone();
    twice.copy_within(t * places[0]..t * (places[0] + 1), t * dummy);
    all.push(wrong("a tag that matches an item twice", "sender", 2, &twice));
    let with = |bit: usize| marks[0] | 1 << bit;
    all.push(wrong("a mark on a dummy", "receiver", 1, &[with(dummy)]));
    all.push(wrong("a bit after the last entry", "receiver", 1, &[with(ELEMENTS.1)]));
    all
}

#[test]
fn a_run_for_rows() {
    let (recorded, common) = two::record(&receive, &send);
    let (order, dummies, blinds) = receivers_choices();
    let key = OprfKey::random(Suite::Ristretto255, &mut rng(SENDER.1));
    let ((_, receivers), (items, senders)) = (keyed(&session(), RECEIVER.0), keyed(&session(), SENDER.0));
    let tag_key = blake3::keyed_hash(&session().derive("ecdh tag"), &key.public());
    let (t, elements) = (params().entries.tag_bytes, key.elements(&items).unwrap());
    let tag = |(item, element): (&Item, &[u8])| {
        let output = finalize(item.as_ref(), element);
        let tag = blake3::keyed_hash(tag_key.as_bytes(), &[&output[..], &[0; 4]].concat()).as_bytes()[..t].to_vec();
        (output, tag)
    };
    let (outputs, tags): (Vec<_>, Vec<_>) = items.iter().zip(elements.chunks(32)).map(tag).unzip();
    let place = |tag: &Vec<u8>| recorded[1][2].payload.chunks(t).position(|entry| entry == tag).unwrap();
    let places: Vec<usize> = tags.iter().map(place).collect();
    let rejected: Value = rejected(&recorded, &places).iter().map(Replaced::json).collect();
    let file = compare(
        "ecdh-rows.json",
        json!({
            "specification": "docs/wire.md, section 4",
            "session": hex(session().id()),
            "suite": Suite::Ristretto255.name(),
            "reveal": "rows",
            "to_both": true,
            "tag_bytes": t,
            "receiver": {
                "generator": hex([RECEIVER.1; 32]),
                "elements": ELEMENTS.0,
                "items": receivers,
                "order": order,
                "dummies": dummies.iter().map(hex).collect::<Vec<_>>(),
                "blinds": blinds,
                "messages": messages(&recorded[0]),
                "common": common[0],
            },
            "sender": {
                "generator": hex([SENDER.1; 32]),
                "entries": ELEMENTS.1,
                "items": senders,
                "key": hex(&*key.to_bytes()),
                "outputs": outputs.iter().map(hex).collect::<Vec<_>>(),
                "tags": tags.iter().map(hex).collect::<Vec<_>>(),
                "places": places,
                "messages": messages(&recorded[1]),
                "common": common[1],
            },
            "rejected": rejected,
        }),
    );
    follows(&file);
    // Each party alone, with the other's messages as the file has them.
    let alone: [(&Part, &str, &str); 2] = [(&receive, "receiver", "sender"), (&send, "sender", "receiver")];
    for (part, own, other) in alone {
        let (common, sent) = play(&on_wire(&frames(&file[other]["messages"])), false, part);
        assert_eq!((common.unwrap(), sent), (numbers(&file[own]["common"]), frames(&file[own]["messages"])));
    }
    super::refuses(&file, |channel| receive(channel).map(drop), |channel| send(channel).map(drop));
}

/// A party's part of the run.
type Part = dyn Fn(&mut Channel) -> Result<Vec<usize>>;

/// Follows the run by the specification: both parties' messages and answers, from their secrets.
fn follows(file: &Value) {
    let (group, receiver, sender) = (&Ristretto255, &file["receiver"], &file["sender"]);
    let items = |party: &Value| -> Vec<Vec<u8>> {
        party["items"].as_array().unwrap().iter().map(|item| bytes(&item["item"])).collect()
    };
    let message = |party: &Value, place: usize| bytes(&party["messages"][place]["payload"]);
    let (own, others, t) = (items(receiver), items(sender), super::number(&file["tag_bytes"]));
    for (party, keys) in [(receiver, &own), (sender, &others)] {
        for (key, item) in party["items"].as_array().unwrap().iter().zip(keys) {
            assert_eq!(blake3::keyed_hash(&derived(file, "item"), &bytes(&key["key"])).as_bytes(), &item[..]);
        }
    }

    let key = group.decode_scalar(&bytes(&sender["key"])).unwrap();
    let public = group.multiply_generator(std::slice::from_ref(&key));
    assert_eq!(group.encode(&public), message(sender, 0));
    let order = numbers(&receiver["order"]);
    let asked: Vec<Vec<u8>> = order.iter().map(|place| own[*place].clone()).chain(list(&receiver["dummies"])).collect();
    assert_eq!(asked.len(), super::number(&receiver["elements"]));
    let blinds: Vec<_> = list(&receiver["blinds"]).iter().map(|blind| group.decode_scalar(blind).unwrap()).collect();
    let blinded = group.add(&hash_to_group(&asked), &group.multiply_generator(&blinds));
    assert_eq!(group.encode(&blinded), message(receiver, 0));
    let evaluated = group.multiply(&blinded, &key);
    assert_eq!(group.encode(&evaluated), message(sender, 1));

    let tag_key = *blake3::keyed_hash(&derived(file, "ecdh tag"), &message(sender, 0)).as_bytes();
    let tag = |item: &[u8], element: &[u8]| {
        let output = finalize(item, element);
        let tag = blake3::keyed_hash(&tag_key, &[&output[..], &[0; 4]].concat()).as_bytes()[..t].to_vec();
        (output, tag)
    };
    let entries: Vec<Vec<u8>> = message(sender, 2).chunks(t).map(<[u8]>::to_vec).collect();
    assert_eq!(entries.len(), super::number(&sender["entries"]));
    let elements = group.multiply_encode(&hash_to_group(&others), &key);
    let made: Vec<_> = others.iter().zip(elements.chunks(32)).map(|(item, element)| tag(item, element)).collect();
    let (outputs, tags): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    assert_eq!((outputs, &tags), (list(&sender["outputs"]), &list(&sender["tags"])));
    let places = numbers(&sender["places"]);
    assert!(places.iter().zip(&tags).all(|(place, tag)| entries[*place] == *tag));

    let elements = group.encode(&group.subtract(&evaluated, &group.multiply_one(&public[0], &blinds)));
    let mut marks = vec![0u8; entries.len().div_ceil(8)];
    let mut common = Vec::new();
    for (place, (item, element)) in asked.iter().zip(elements.chunks(32)).enumerate() {
        if let Some(entry) = entries.iter().position(|entry| *entry == tag(item, element).1) {
            marks[entry / 8] |= 1 << (entry % 8);
            common.push(order[place]);
        }
    }
    common.sort_unstable();
    let marked = |place: usize| marks[place / 8] >> (place % 8) & 1 == 1;
    let learned: Vec<usize> = (0..places.len()).filter(|item| marked(places[*item])).collect();
    assert_eq!((common, learned), (numbers(&receiver["common"]), numbers(&sender["common"])));
    assert_eq!(marks, message(receiver, 1));
}
