//! Products and hashes of points, with secret scalars and secret messages.

use std::rc::Rc;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::Level;
use tacita_core::primitive::elgamal::ElGamalSecretKey;
use tacita_core::primitive::group::{Embedding, Group, ModP, P384, P521, Ristretto255, ScalarField};
use tacita_core::primitive::published::Pallas;

use super::measure::{Make, Operation, trial};

/// The tag of hashes: ASCII, as Pallas wants it.
const TAG: &[u8] = b"tacita bench timing";

/// Bytes of a message.
const MESSAGE_BYTES: usize = 16;

/// A message, or a string that a point stands for.
type Message = [u8; MESSAGE_BYTES];

/// The operations of all groups.
pub fn all() -> Vec<Operation> {
    let mut all = products("ristretto255", Ristretto255, 8);
    all.push(of_made_point("ristretto255", Ristretto255, 8));
    all.push(hashes("ristretto255", Ristretto255, 8, 0x7f));
    all.extend(strings());
    all.extend(products("P-384", P384::new(), 1));
    all.push(hashes("P-384", P384::new(), 1, 0xff));
    all.extend(products("P-521", P521::new(), 1));
    all.push(hashes("P-521", P521::new(), 1, 0x01));
    all.extend(products("Pallas", Pallas, 1));
    all.push(of_made_point("Pallas", Pallas, 4));
    all.push(hashes("Pallas", Pallas, 1, 0x3f));
    all.extend(products("2048 bits modulo p", ModP::of(Level::Bits112), 8));
    all
}

/// Products of `count` points at a time.
fn products<G: Group + 'static>(name: &str, group: G, count: usize) -> Vec<Operation> {
    let group = &Rc::new(group);
    let operation = |what: &str, trial: Make| {
        Operation::new(format!("{name}: {what}"), "scalar 1", trial, leaving_out_zeros(group.clone()))
    };
    vec![
        operation("products", by_scalars(group, count, |group, points, scalars| group.multiply_each(points, scalars))),
        operation("of the generator", by_scalars(group, count, |group, _, scalars| group.multiply_generator(scalars))),
        operation(
            "sum of products",
            by_scalars(group, count.max(2), |group, points, s| vec![group.combine(points, s)]),
        ),
    ]
}

/// Operation on points and secret scalars.
type Work<G, P, S> = fn(&G, &[P], &[S]) -> Vec<P>;

/// A trial of scalars, which are 1 or random.
fn by_scalars<G: Group + 'static>(group: &Rc<G>, count: usize, work: Work<G, G::Point, G::Scalar>) -> Make {
    let group = group.clone();
    Box::new(move |rng| {
        let points = group.random_points(count, rng);
        let (fixed, of_random, of_work) = (vec![group.scalar(1); count], group.clone(), group.clone());
        trial(fixed, move |rng| of_random.random_scalars(count, rng), move |scalars| work(&of_work, &points, scalars))
    })
}

/// Products of a point that has been made ready.
fn of_made_point<G: Group + 'static>(name: &str, group: G, count: usize) -> Operation {
    let group = Rc::new(group);
    let control = leaving_out_zeros(group.clone());
    let make: Make = Box::new(move |rng| {
        let base = group.base(&group.random_points(1, rng)[0]);
        let (of_random, of_work) = (group.clone(), group.clone());
        trial(
            vec![group.scalar(1); count],
            move |rng| of_random.random_scalars(count, rng),
            move |scalars| of_work.multiply_base(&base, scalars),
        )
    });
    Operation::new(format!("{name}: of a made point"), "scalar 1", make, control)
}

/// The control of products: doublings, and sums where a bit is not zero.
fn leaving_out_zeros<G: Group + 'static>(group: Rc<G>) -> Make {
    Box::new(move |rng| {
        let point = group.random_points(1, rng);
        let (of_random, of_work) = (group.clone(), group.clone());
        trial(
            group.scalar(1),
            move |rng| of_random.random_scalars(1, rng).remove(0),
            move |scalar| {
                // A few bits do: those of 1 are all zero but one.
                let bytes = of_work.encode_scalar(scalar);
                let bits =
                    bytes.iter().skip(bytes.len() / 2).take(3).flat_map(|byte| (0..8).map(move |i| byte >> i & 1));
                let mut product = point.clone();
                for bit in bits {
                    product = of_work.add(&product, &product);
                    if bit == 1 {
                        product = of_work.add(&product, &point);
                    }
                }
                product
            },
        )
    })
}

/// Hashes of messages to points. `top` are the bits of the highest byte that a coordinate may have.
fn hashes<G: Group + 'static>(name: &str, group: G, count: usize, top: u8) -> Operation {
    let group = Rc::new(group);
    let control = hunting(group.clone(), top);
    let make: Make = Box::new(move |_| {
        let group = group.clone();
        trial(
            vec![[0; MESSAGE_BYTES]; count],
            move |rng| (0..count).map(|_| message(rng)).collect(),
            move |messages| group.hash_to_points(messages, TAG),
        )
    });
    Operation::new(format!("{name}: hashes to points"), "zeros", make, control)
}

fn message(rng: &mut ChaCha20Rng) -> Message {
    let mut message = [0; MESSAGE_BYTES];
    rng.fill_bytes(&mut message);
    message
}

/// The control of hashes: one after the other, until one is the encoding of a point.
fn hunting<G: Group + 'static>(group: Rc<G>, top: u8) -> Make {
    let hunt = move |group: &G, message: &Message| {
        let mut hash = vec![0; group.point_bytes()];
        let tries = (0u8..).take_while(|number| {
            blake3::Hasher::new().update(message).update(&[*number]).finalize_xof().fill(&mut hash);
            match hash.len() {
                // SEC 1: what stands before the coordinate.
                49 | 67 => (hash[0], hash[1]) = (2, hash[1] & top),
                last => hash[last - 1] &= top,
            }
            group.decode(&hash).is_err()
        });
        tries.count()
    };
    Box::new(move |_| {
        // A message that takes several tries.
        let fixed = (0u8..).map(|number| [number; MESSAGE_BYTES]).find(|message| hunt(&group, message) >= 4);
        let group = group.clone();
        trial(fixed.expect("one in sixteen does"), message, move |message| hunt(&group, message))
    })
}

/// Strings in points of ristretto255, and out of them; and encrypted bits.
fn strings() -> Vec<Operation> {
    const COUNT: usize = 8;
    let group = Ristretto255;
    let random = |rng: &mut ChaCha20Rng| (0..COUNT).flat_map(|_| message(rng)).collect::<Vec<u8>>();
    let embedded: Make =
        Box::new(move |_| trial(vec![0; COUNT * MESSAGE_BYTES], random, move |bytes| group.embed(bytes)));
    let read: Make = Box::new(move |_| {
        let point = move |rng: &mut ChaCha20Rng| group.embed(&random(rng));
        trial(group.embed(&[0; COUNT * MESSAGE_BYTES]), point, move |points| group.unembed(points))
    });
    // Strings that end with their first zero.
    let until_zero: Make = Box::new(move |_| {
        trial(vec![0; COUNT * MESSAGE_BYTES], random, |strings| {
            let one = |string: &[u8]| {
                string
                    .iter()
                    .take_while(|byte| **byte != 0)
                    .fold(0, |sum, byte| sum ^ blake3::hash(&[*byte]).as_bytes()[0])
            };
            strings.chunks(MESSAGE_BYTES).fold(0, |sum, string| sum ^ one(string))
        })
    });
    let bits = |rng: &mut ChaCha20Rng| (0..COUNT).map(|_| rng.next_u32() as u8 & 1).collect::<Vec<u8>>();
    let key = ElGamalSecretKey::generate(&group, &mut ChaCha20Rng::from_seed([9; 32])).public(&group);
    let key = Rc::new(key);
    let of_control = key.clone();
    let encrypted: Make = Box::new(move |rng| {
        let (key, mut rng) = (key.clone(), ChaCha20Rng::from_rng(rng));
        trial(vec![0; COUNT], bits, move |bits| key.encrypt_bits_encode(&group, bits, &mut rng))
    });
    let branching: Make = Box::new(move |rng| {
        let (key, mut rng) = (of_control.clone(), ChaCha20Rng::from_rng(rng));
        trial(vec![0; COUNT], bits, move |bits| {
            let one = |bit: &u8| if *bit == 1 { vec![group.scalar(0); 2] } else { vec![group.scalar(1)] };
            key.encrypt(&group, &bits.iter().flat_map(one).collect::<Vec<_>>(), &mut rng)
        })
    });
    let hunted = hunting(Rc::new(group), 0x7f);
    vec![
        Operation::new("ristretto255: points of strings", "zeros", embedded, hunted),
        Operation::new("ristretto255: strings of points", "zeros", read, until_zero),
        Operation::new("ristretto255: encrypted bits", "zeros", encrypted, branching),
    ]
}
