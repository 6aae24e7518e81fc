use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::item::ITEM_BYTES;
use crate::protocol::intersect::tag_exchange;

const BUCKETS: usize = 3;
const ROOM: usize = 9;
const TAG_KEY: TagKey = [5; 32];

/// Elements, and the sender's tags.
type Part = (Vec<u8>, Vec<u8>);

fn items(numbers: &[u8]) -> Vec<Item> {
    numbers.iter().map(|number| Item([*number; ITEM_BYTES])).collect()
}

/// Runs both sides with these numbers in each bucket of the receiver (`asked`) and of the sender (`own`). Returns the
/// total count, and the receiver's data of each part.
fn run(asked: &[&[u8]; BUCKETS], own: &[&[u8]; BUCKETS], part: u64) -> (u64, Vec<Part>) {
    let suite = Suite::Ristretto255;
    let pool = TagPool::of_parts(suite, (BUCKETS * ROOM) as u64, (BUCKETS * ROOM) as u64, part);
    let params = Params::new(tag_exchange::Params::count(ROOM, ROOM), suite);
    let rng = |seed: u8| ChaCha20Rng::from_seed([seed; 32]);
    let (blind, key) = (OprfKey::random(suite, &mut rng(1)), OprfKey::random(suite, &mut rng(2)));
    let answered: Vec<Answered> = (0..BUCKETS)
        .map(|bucket| {
            let (mut to_sender, mut to_receiver) = Channel::pair("receiver", "sender");
            let (asked, own) = (items(asked[bucket]), items(own[bucket]));
            std::thread::scope(|scope| {
                let (blind, params, bucket) = (&blind, &params, bucket as u8);
                scope.spawn(move || {
                    ask(&asked, blind, params, &mut to_sender, &mut rng(10 + bucket)).unwrap();
                    to_sender.finish().unwrap();
                });
                let answered = answer(&own, &key, &TAG_KEY, &pool, params, &mut to_receiver, &mut rng(20 + bucket));
                to_receiver.finish().unwrap();
                answered.unwrap()
            })
        })
        .collect();
    let (mut to_sender, mut to_receiver) = Channel::pair("receiver", "sender");
    let parts = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rng = rng(30);
            for part in 0..pool.parts() {
                let of = |which: fn(&Answered) -> &Vec<Vec<u8>>| {
                    answered.iter().flat_map(|answered| which(answered)[part].clone()).collect::<Vec<u8>>()
                };
                let (elements, tags) = (of(|answered| &answered.elements), of(|answered| &answered.tags));
                send(elements, tags, &pool, &mut to_receiver, &mut rng).unwrap();
            }
        });
        let mut left = PoolRemainder::all(&pool);
        let parts: Vec<_> = (0..pool.parts()).map(|_| receive(&pool, &mut left, &mut to_sender).unwrap()).collect();
        left.check(&to_sender).unwrap();
        parts
    });
    let opened: Vec<_> = parts.iter().map(|(elements, _)| open(elements, &blind, &TAG_KEY, &pool).unwrap()).collect();
    let counts = (0..pool.parts()).map(|part| {
        let own: Vec<u8> = opened.iter().flat_map(|parts| parts[part].clone()).collect();
        matches(&own, &parts[part].1, part, &pool).unwrap()
    });
    (counts.sum(), parts)
}

#[test]
fn the_sum_of_all_buckets_is_counted() {
    let (asked, own) = ([&[1, 2, 3][..], &[11, 12], &[]], [&[2, 3, 4][..], &[13], &[21, 22]]);
    for part in [1000, 10, 3] {
        assert_eq!(run(&asked, &own, part).0, 2, "parts of {part}");
        assert_eq!(run(&asked, &[&[], &[], &[]], part).0, 0, "parts of {part}");
        assert_eq!(run(&asked, &asked, part).0, 5, "parts of {part}");
    }
}

#[test]
fn a_part_is_as_long_wherever_items_are_and_says_nothing_of_their_buckets() {
    // The same items in other buckets: the same elements and tags come, of which only the order is another one.
    let (_, one) = run(&[&[1, 2, 3], &[], &[]], &[&[1, 2, 3], &[], &[]], 1000);
    let (_, other) = run(&[&[], &[2], &[1, 3]], &[&[], &[2], &[1, 3]], 1000);
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].0.len(), one[0].1.len()), (other[0].0.len(), other[0].1.len()));
    let tags = |part: &Part| part.1.chunks(7).map(<[u8]>::to_vec).collect::<Vec<_>>();
    assert!(tags(&one[0]).is_sorted() && tags(&other[0]).is_sorted());
    let evaluated = |numbers: &[u8]| {
        let random = |seed: u8| OprfKey::random(Suite::Ristretto255, &mut ChaCha20Rng::from_seed([seed; 32]));
        random(2).blind_evaluate(&random(1).elements(&items(numbers)).unwrap()).unwrap()
    };
    for (part, _) in [&one[0], &other[0]] {
        assert!(evaluated(&[1, 2, 3]).chunks(32).all(|element| part.chunks(32).any(|there| there == element)));
    }
    // Elements of the first bucket do not come first.
    let (_, again) = run(&[&[1, 2, 3, 4, 5, 6, 7, 8, 9], &[], &[]], &[&[], &[], &[]], 1000);
    let first = evaluated(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let places: Vec<_> = (0..BUCKETS * ROOM)
        .filter(|place| first.chunks(32).any(|element| *element == again[0].0[32 * place..32 * (place + 1)]))
        .collect();
    assert_eq!(places.len(), 9);
    assert!(places.iter().any(|place| *place >= 9), "the first bucket's are the first: {places:?}");
}

#[test]
fn parts_that_cannot_be_are_refused() {
    let pool = TagPool::of_parts(Suite::Ristretto255, 8, 8, 4);
    let said = |counts: [u64; 2]| {
        let (mut to_sender, mut to_receiver) = Channel::pair("receiver", "sender");
        to_receiver.send(PART, counts.iter().flat_map(|count| count.to_le_bytes()).collect()).unwrap();
        let mut left = PoolRemainder::all(&pool);
        let received = receive(&pool, &mut left, &mut to_sender);
        received.and_then(|_| left.check(&to_sender))
    };
    for counts in [[9, 0], [0, u64::MAX], [0, 0]] {
        assert!(matches!(said(counts), Err(Error::Protocol { .. })), "{counts:?}");
    }
    let length = pool.bytes()[1];
    let tag = |first: u8| vec![first; length];
    assert_eq!(matches(&tag(1), &[tag(1), tag(2)].concat(), 0, &pool), Ok(1));
    assert!(matches(&tag(1), &[tag(2), tag(1)].concat(), 0, &pool).is_err(), "not sorted");
    assert!(matches(&tag(1), &tag(255), 0, &pool).is_err(), "of another part");
    assert_eq!(matches(&[tag(1), tag(1)].concat(), &[tag(1), tag(1)].concat(), 0, &pool), Ok(1), "counted once");
    assert_eq!(
        matches(&tag(2), &[tag(1), tag(1), tag(2)].concat(), 0, &pool),
        Ok(1),
        "two of the sender's agree by chance"
    );
    assert!(
        open(&[255; 32], &OprfKey::random(Suite::Ristretto255, &mut ChaCha20Rng::from_seed([3; 32])), &TAG_KEY, &pool)
            .is_err()
    );
}
