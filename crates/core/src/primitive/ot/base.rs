//! Base OT: random OTs from Diffie-Hellman, for the few that every other protocol starts from.
//!
//! Masny and Rindal, *Endemic oblivious transfer*, CCS 2019, with the Diffie-Hellman key agreement over ristretto255.
//! For OT i with choice c the receiver draws a secret t and a random point R_(1-c), and sends R_0 and R_1, where
//! R_c = t * G - H(i, c, R_(1-c)). The sender draws one secret b for the whole batch and sends B = b * G; with
//! M_j = R_j + H(i, j, R_(1-j)) its blocks are KDF(i, j, b * M_j), of which the receiver knows KDF(i, c, t * B).
//!
//! Secure against malicious parties in the random oracle model; `docs/protocols/engine-ot.md` has the argument, and
//! why one B serves a whole batch. An OT costs the receiver one multiplication by a fixed and one by a variable
//! point, the sender two by variable points.
//!
//! The hash is twice the group's hash: as random, since the order is odd, and doubles are encoded many at a time
//! ([`Group::double_encode`]).

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use subtle::{Choice, ConditionallySelectable};
use zeroize::{Zeroize, Zeroizing};

use super::{BASE_KEY, BASE_POINTS, Choices, RandomOtReceiver, RandomOtSender};
use crate::channel::{Channel, Label};
use crate::error::Result;
use crate::primitive::group::{Group, Ristretto255, ScalarField};
use crate::primitive::kernel::Block;
use crate::session::Session;

type Point = <Ristretto255 as Group>::Point;

const POINT_BYTES: usize = Ristretto255::POINT_BYTES;

/// Domain separation tag of the hash to the group.
const HASH_TAG: &[u8] = b"tacita 1 base OT";

/// OTs that share one message, and one secret of the sender.
const BATCH: usize = 4096;

/// Bytes of [`BASE_POINTS`] and of [`BASE_KEY`] for at most 4096 OTs.
pub(super) const fn message_bytes(count: usize) -> (usize, usize) {
    (2 * count * POINT_BYTES, POINT_BYTES)
}

/// The sender of base OTs.
pub struct BaseOtSender(Context);

/// The receiver of base OTs.
pub struct BaseOtReceiver(Context);

impl BaseOtSender {
    /// A sender whose OTs are bound to `purpose` in the session. No two senders of a session may have the same one.
    pub fn new(session: &Session, purpose: &str, rng: &mut impl CryptoRng) -> BaseOtSender {
        BaseOtSender(Context::new(session, purpose, rng))
    }
}

impl BaseOtReceiver {
    /// A receiver for the [`BaseOtSender`] with the same purpose in the same session.
    pub fn new(session: &Session, purpose: &str, rng: &mut impl CryptoRng) -> BaseOtReceiver {
        BaseOtReceiver(Context::new(session, purpose, rng))
    }
}

impl RandomOtSender for BaseOtSender {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        let mut send = || -> Result<()> { outputs.chunks_mut(BATCH).try_for_each(|batch| self.0.send(batch, channel)) };
        send().inspect_err(|_| outputs.as_flattened_mut().zeroize())
    }
}

impl RandomOtReceiver for BaseOtReceiver {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        assert_eq!(choices.len(), outputs.len(), "one choice bit an OT");
        let mut receive = || -> Result<()> {
            outputs.chunks_mut(BATCH).enumerate().try_for_each(|(number, batch)| {
                let start = number * BATCH;
                self.0.receive(&choices.slice(start..start + batch.len()), batch, channel)
            })
        };
        receive().inspect_err(|_| outputs.zeroize())
    }

    fn waits(&self) -> bool {
        true
    }
}

impl fmt::Debug for BaseOtSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({} base OTs so far)", self.0.index)
    }
}

impl fmt::Debug for BaseOtReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({} base OTs so far)", self.0.index)
    }
}

/// State that both roles hold: the key of all hashes, and the index of the next OT.
struct Context {
    key: [u8; 32],
    index: u64,
    rng: ChaCha20Rng,
}

impl Context {
    fn new(session: &Session, purpose: &str, rng: &mut impl CryptoRng) -> Context {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let key = session.derive(&format!("base OT of {purpose}"));
        Context { key, index: 0, rng: ChaCha20Rng::from_seed(*seed) }
    }

    /// One batch of the receiver: sends R_0 and R_1 of every OT, receives B.
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        let count = outputs.len();
        // Halves of the secrets t and of the points R: everything is doubled when it is encoded.
        let halves = Ristretto255.random_scalars(count, &mut self.rng);
        let others = Zeroizing::new(Ristretto255.double_encode(&Ristretto255.random_points(count, &mut self.rng)));
        let inputs = choices.iter().zip(others.chunks(POINT_BYTES)).enumerate();
        let hashes = self.hashes(inputs.map(|(number, (choice, other))| (number, choice, other)));
        let own = Ristretto255.subtract(&Ristretto255.multiply_generator(&halves), &hashes);
        let own = Zeroizing::new(Ristretto255.double_encode(&own));
        let mut points = vec![0; 2 * count * POINT_BYTES];
        for (index, choice) in choices.iter().enumerate() {
            let (first, second) = (2 * index * POINT_BYTES, (2 * index + 1) * POINT_BYTES);
            let choice = Choice::from(u8::from(choice));
            for at in 0..POINT_BYTES {
                let (own, other) = (own[index * POINT_BYTES + at], others[index * POINT_BYTES + at]);
                points[first + at] = u8::conditional_select(&own, &other, choice);
                points[second + at] = u8::conditional_select(&other, &own, choice);
            }
        }
        channel.send(BASE_POINTS, points.clone())?;

        let key = channel.receive(BASE_KEY, POINT_BYTES)?;
        let point = decode(&key, BASE_KEY, channel)?;
        let shared = Ristretto255.multiply_one(&point[0], &halves);
        let shared = Zeroizing::new(Ristretto255.double_encode(&shared));
        for (number, (choice, output)) in choices.iter().zip(outputs).enumerate() {
            *output = self.derive(number, choice, &key, &points, &shared[number * POINT_BYTES..][..POINT_BYTES]);
        }
        self.index += count as u64;
        Ok(())
    }

    /// One batch of the sender: receives R_0 and R_1 of every OT, sends B.
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        let points = channel.receive(BASE_POINTS, 2 * outputs.len() * POINT_BYTES)?;
        let decoded = decode(&points, BASE_POINTS, channel)?;
        let secret = Ristretto255.random_scalars(1, &mut self.rng);
        let key = Ristretto255.encode(&Ristretto255.multiply_generator(&secret));
        channel.send(BASE_KEY, key.clone())?;

        // M_j hashes the other point of its OT.
        let encoded = |index: usize| &points[index * POINT_BYTES..][..POINT_BYTES];
        let inputs = (0..2 * outputs.len()).map(|index| (index / 2, index % 2 == 1, encoded(index ^ 1)));
        let hashes = self.hashes(inputs);
        let doubled = Ristretto255.add(&hashes, &hashes);
        let shared = Ristretto255.multiply_encode(&Ristretto255.add(&decoded, &doubled), &secret[0]);
        let shared = Zeroizing::new(shared);
        for (number, pair) in outputs.iter_mut().enumerate() {
            for (branch, output) in [false, true].into_iter().zip(pair) {
                let shared = &shared[(2 * number + usize::from(branch)) * POINT_BYTES..][..POINT_BYTES];
                *output = self.derive(number, branch, &key, &points, shared);
            }
        }
        self.index += outputs.len() as u64;
        Ok(())
    }

    /// Half of H(i, j, R) for OT i of this batch, branch j and the encoding of R.
    fn hashes<'a>(&self, inputs: impl Iterator<Item = (usize, bool, &'a [u8])>) -> Vec<Point> {
        let message = |(number, branch, point): (usize, bool, &[u8])| {
            let mut message = Zeroizing::new([0; 32 + 8 + 1 + POINT_BYTES]);
            message[..32].copy_from_slice(&self.key);
            message[32..40].copy_from_slice(&(self.index + number as u64).to_le_bytes());
            message[40] = u8::from(branch);
            message[41..].copy_from_slice(point);
            message
        };
        let messages: Vec<_> = inputs.map(message).collect();
        let messages: Vec<&[u8]> = messages.iter().map(|message| &message[..]).collect();
        Ristretto255.hash_to_points(&messages, HASH_TAG)
    }

    /// KDF: a block of OT `number` of this batch from the Diffie-Hellman value, bound to all that was sent for the OT.
    fn derive(&self, number: usize, branch: bool, key: &[u8], points: &[u8], shared: &[u8]) -> Block {
        let mut input = Zeroizing::new([0; 8 + 1 + 4 * POINT_BYTES]);
        input[..8].copy_from_slice(&(self.index + number as u64).to_le_bytes());
        input[8] = u8::from(branch);
        let points = &points[2 * number * POINT_BYTES..][..2 * POINT_BYTES];
        for (at, part) in input[9..].chunks_mut(POINT_BYTES).zip(points.chunks(POINT_BYTES).chain([key, shared])) {
            at.copy_from_slice(part);
        }
        let output = Zeroizing::new(*blake3::keyed_hash(&self.key, &*input).as_bytes());
        Block::from_le_slice(&*output)
    }
}

fn decode(bytes: &[u8], label: Label, channel: &Channel) -> Result<Vec<Point>> {
    Ristretto255.decode(bytes).map_err(|error| channel.violation(format!("`{}` {error}", label.name)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::session::Transcript;

    fn context(session: &str, purpose: &str) -> Context {
        Context::new(&Session::new(Transcript::new(session)), purpose, &mut ChaCha20Rng::from_seed([1; 32]))
    }

    fn encoding(seed: u8) -> Vec<u8> {
        Ristretto255.encode(&Ristretto255.random_points(1, &mut ChaCha20Rng::from_seed([seed; 32])))
    }

    /// The hash of a point is bound to session, purpose, transfer and branch.
    #[test]
    fn base_points_are_bound_to_their_place() {
        let mut seen = HashSet::new();
        for context in [context("a", "x"), context("b", "x"), context("a", "y")] {
            let points = [encoding(1), encoding(2)];
            for (number, branch, point) in [(0, false, 0), (1, false, 0), (0, true, 0), (0, false, 1), (300, false, 0)]
            {
                let hashed = context.hashes([(number, branch, &points[point][..])].into_iter());
                assert!(seen.insert(Ristretto255.encode(&hashed)), "{number} {branch} {point}");
            }
        }
        // A batch later, the first transfer is another one.
        let mut later = context("a", "x");
        later.index = 10_000;
        assert!(seen.insert(Ristretto255.encode(&later.hashes([(0, false, &encoding(1)[..])].into_iter()))));
    }

    /// A block is bound to transfer and branch, and to all that was sent for it.
    #[test]
    fn base_blocks_are_bound_to_what_was_sent() {
        let context = context("a", "x");
        let [key, shared, other] = [1, 2, 3].map(encoding);
        // The same points in both transfers.
        let points = [encoding(4), encoding(5), encoding(4), encoding(5)].concat();
        let mut swapped = points.clone();
        swapped.rotate_left(POINT_BYTES);
        let blocks = [
            context.derive(0, false, &key, &points, &shared),
            context.derive(1, false, &key, &points, &shared),
            context.derive(0, true, &key, &points, &shared),
            context.derive(0, false, &other, &points, &shared),
            context.derive(0, false, &key, &swapped, &shared),
            context.derive(0, false, &key, &points, &other),
        ];
        assert_eq!(blocks.iter().map(|block| block.0).collect::<HashSet<_>>().len(), blocks.len());
    }

    /// Checks that the points which a sender can compute, R_j + H(i, j, R_(1-j)), never repeat. With one secret for two
    /// transfers they would, for the chosen branches.
    #[test]
    fn no_two_transfers_have_one_secret() {
        const COUNT: usize = 64;
        let (mut end, mut other) = Channel::pair("sender", "receiver");
        let points = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut outputs = [Block::ZERO; COUNT];
                let choices = Choices::from_bits((0..COUNT).map(|index| index % 3 == 0));
                let _ = context("a", "x").receive(&choices, &mut outputs, &mut other);
            });
            let points = end.receive(BASE_POINTS, 2 * COUNT * POINT_BYTES).unwrap();
            drop(end);
            points
        });
        let encoded = |index: usize| &points[index * POINT_BYTES..][..POINT_BYTES];
        let hashes =
            context("a", "x").hashes((0..2 * COUNT).map(|index| (index / 2, index % 2 == 1, encoded(index ^ 1))));
        let sums = Ristretto255.add(&Ristretto255.decode(&points).unwrap(), &Ristretto255.add(&hashes, &hashes));
        assert_eq!(Ristretto255.encode(&sums).chunks(POINT_BYTES).collect::<HashSet<_>>().len(), 2 * COUNT);
    }
}
