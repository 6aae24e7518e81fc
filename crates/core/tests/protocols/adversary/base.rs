//! Base OT, and a receiver that wants more than one block of each pair.

use tacita_core::primitive::group::{Group, Ristretto255, ScalarField};
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::{BASE_KEY, BASE_POINTS, Choices, RandomOtReceiver, RandomOtSender, base};
use tacita_core::session::Session;
use tacita_core::{Channel, Result};

use crate::adversary::against;
use crate::support::{rng, session};

type Point = <Ristretto255 as Group>::Point;

const POINT_BYTES: usize = Ristretto255::POINT_BYTES;

/// Inputs of the hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Every input that the protocol says.
    Sound,
    /// Hash of a point's partner that does not take the partner.
    WithoutPartner,
    /// None takes the number of the OT.
    WithoutNumber,
}

/// The hashes of a purpose in a session.
struct Hashes {
    form: Form,
    key: [u8; 32],
}

impl Hashes {
    fn new(form: Form, session: &Session, purpose: &str) -> Hashes {
        Hashes { form, key: session.derive(&format!("base OT of {purpose}")) }
    }

    fn number(&self, number: usize) -> [u8; 8] {
        let number = if self.form == Form::WithoutNumber { 0 } else { number };
        (number as u64).to_le_bytes()
    }

    /// Computes the hash H(i, j, R).
    fn partner(&self, number: usize, branch: usize, partner: &[u8]) -> Point {
        let nobody = [0; POINT_BYTES];
        let partner = if self.form == Form::WithoutPartner { &nobody } else { partner };
        let message = [&self.key[..], &self.number(number), &[branch as u8], partner].concat();
        let half = Ristretto255.hash_to_points(&[message], b"tacita 1 base OT");
        one(Ristretto255.add(&half, &half))
    }

    /// The block of a branch: of both points of the OT, the sender's and the shared one.
    fn block(&self, number: usize, branch: usize, points: &[u8], key: &[u8], shared: &[u8]) -> Block {
        let input = [&self.number(number)[..], &[branch as u8], points, key, shared].concat();
        Block::from_le_slice(blake3::keyed_hash(&self.key, &input).as_bytes())
    }
}

fn one<T>(mut of_one: Vec<T>) -> T {
    of_one.pop().unwrap()
}

fn encoded(point: &Point) -> Vec<u8> {
    Ristretto255.encode(std::slice::from_ref(point))
}

/// The sender of one batch.
pub struct Sender {
    hashes: Hashes,
    pub secret: <Ristretto255 as ScalarField>::Scalar,
}

impl Sender {
    pub fn new(form: Form, session: &Session, purpose: &str, seed: u8) -> Sender {
        let secret = one(Ristretto255.random_scalars(1, &mut rng(seed)));
        Sender { hashes: Hashes::new(form, session, purpose), secret }
    }
}

impl RandomOtSender for Sender {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        let points = channel.receive(BASE_POINTS, 2 * POINT_BYTES * outputs.len())?;
        let key = Ristretto255.encode(&Ristretto255.multiply_generator(std::slice::from_ref(&self.secret)));
        channel.send(BASE_KEY, key.clone())?;
        for (number, (output, points)) in outputs.iter_mut().zip(points.chunks(2 * POINT_BYTES)).enumerate() {
            let pair = points.split_at(POINT_BYTES);
            for (branch, (own, partner)) in [pair, (pair.1, pair.0)].into_iter().enumerate() {
                let hash = [self.hashes.partner(number, branch, partner)];
                let sum = Ristretto255.add(&Ristretto255.decode(own).unwrap(), &hash);
                let shared = Ristretto255.encode(&Ristretto255.multiply(&sum, &self.secret));
                output[branch] = self.hashes.block(number, branch, points, &key, &shared);
            }
        }
        Ok(())
    }
}

/// A receiver that knows a secret of both points of each OT, as far as it can: R_0 for a partner that it has not chosen
/// yet, R_1 for R_0. What it takes for both blocks of each pair.
pub fn grab_both(
    believed: Form,
    count: usize,
    session: &Session,
    purpose: &str,
    channel: &mut Channel,
    seed: u8,
) -> Result<Vec<[Block; 2]>> {
    let hashes = Hashes::new(believed, session, purpose);
    let secrets = Ristretto255.random_scalars(2 * count, &mut rng(seed));
    let multiples = Ristretto255.multiply_generator(&secrets);
    let mut points = Vec::new();
    for number in 0..count {
        let pair = &multiples[2 * number..2 * number + 2];
        let first = Ristretto255.subtract(&pair[..1], &[hashes.partner(number, 0, &encoded(&pair[1]))]);
        let second = Ristretto255.subtract(&pair[1..], &[hashes.partner(number, 1, &encoded(&first[0]))]);
        points.extend([encoded(&first[0]), encoded(&second[0])].concat());
    }
    channel.send(BASE_POINTS, points.clone())?;
    let key = channel.receive(BASE_KEY, POINT_BYTES)?;
    let shared = Ristretto255.multiply_one(&one(Ristretto255.decode(&key).unwrap()), &secrets);
    let block = |number: usize, branch: usize| {
        let points = &points[2 * number * POINT_BYTES..][..2 * POINT_BYTES];
        hashes.block(number, branch, points, &key, &encoded(&shared[2 * number + branch]))
    };
    Ok((0..count).map(|number| [block(number, 0), block(number, 1)]).collect())
}

const COUNT: usize = 20;

/// The pairs of a sender.
fn pairs(mut sender: impl RandomOtSender, channel: &mut Channel) -> Result<Vec<[Block; 2]>> {
    let mut outputs = vec![[Block::ZERO; 2]; COUNT];
    sender.send(&mut outputs, channel)?;
    Ok(outputs)
}

fn sound(seed: u8) -> base::BaseOtSender {
    base::BaseOtSender::new(&session(), "test", &mut rng(seed))
}

#[test]
fn the_sender_written_here_is_that_of_the_protocol() {
    let choices = Choices::random(COUNT, &mut rng(1));
    let (sent, received) = against(
        |channel| pairs(Sender::new(Form::Sound, &session(), "test", 2), channel),
        |channel| {
            let mut outputs = vec![Block::ZERO; COUNT];
            base::BaseOtReceiver::new(&session(), "test", &mut rng(3))
                .receive(&choices, &mut outputs, channel)
                .unwrap();
            outputs
        },
    );
    let sent = sent.unwrap();
    assert!((0..COUNT).all(|index| received[index] == sent[index][usize::from(choices.get(index))]));
    assert!((0..COUNT).all(|index| received[index] != sent[index][usize::from(!choices.get(index))]));
}

/// Checks that a receiver gets one block of each pair. Of the two points, one is hashed for the other. Without that, a
/// receiver knows secrets of both.
#[test]
fn a_receiver_gets_one_block_of_each_pair_whatever_its_points() {
    let weak = Form::WithoutPartner;
    let grab = |believed| move |channel: &mut Channel| grab_both(believed, COUNT, &session(), "test", channel, 4);
    let (sent, got) = against(|channel| pairs(Sender::new(weak, &session(), "test", 5), channel), grab(weak));
    assert!(sent.unwrap() == got.unwrap(), "both blocks of each pair, of a weak sender");
    for (believed, expected) in [(weak, [false, false]), (Form::Sound, [false, true])] {
        let (sent, got) = against(|channel| pairs(sound(5), channel), grab(believed));
        for (sent, got) in sent.unwrap().iter().zip(got.unwrap()) {
            assert_eq!([sent[0] == got[0], sent[1] == got[1]], expected);
        }
    }
}

/// A receiver that uses one pair of points for all OTs has other blocks in each. Without numbers in the hashes all OTs
/// would be one.
#[test]
fn no_value_of_one_ot_serves_another() {
    let repeat = |channel: &mut Channel| {
        let pair = Ristretto255.encode(&Ristretto255.random_points(2, &mut rng(6)));
        channel.send(BASE_POINTS, pair.repeat(COUNT)).unwrap();
        channel.receive(BASE_KEY, POINT_BYTES).unwrap();
    };
    let (weak, ()) = against(|channel| pairs(Sender::new(Form::WithoutNumber, &session(), "test", 7), channel), repeat);
    let weak = weak.unwrap();
    assert!(weak.iter().all(|pair| *pair == weak[0]), "one OT many times, of a weak sender");
    let (sent, ()) = against(|channel| pairs(sound(7), channel), repeat);
    let blocks: std::collections::HashSet<u128> = sent.unwrap().as_flattened().iter().map(|block| block.0).collect();
    assert_eq!(blocks.len(), 2 * COUNT);
}
