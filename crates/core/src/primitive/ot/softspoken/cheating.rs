//! Tests with receivers that cheat as well as they can: how often they are caught must be what the security argument
//! says, neither less nor more.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::check;
use super::keys::Keys;
use super::params::{MAX_K, Params};
use super::receiver::Receiver;
use super::sender::Sender;
use super::trees;
use super::{CorrelatedReceiver, CorrelatedSender, RandomReceiver, RandomSender};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::kernel::block::{self, BLOCK_BITS, BLOCK_BYTES, Block};
use crate::primitive::kernel::gf128;
use crate::primitive::ot::{CONSISTENCY, CORRECTIONS, Choices, CorrelatedOtSender, RandomOtSender, TREES, ideal};
use crate::security::Security;
use crate::session::{Session, Transcript};

fn session() -> Session {
    Session::new(Transcript::new("test"))
}

fn malicious(k: usize) -> Params {
    Params::new(Security::Malicious, k).unwrap()
}

/// Returns both ends, whose setup is honest, and the channel between them.
fn ends(params: &Params, rng: &mut ChaCha20Rng) -> (Sender, Receiver, Channel, Channel) {
    let mut seed = [0; 32];
    rng.fill_bytes(&mut seed);
    let (mut base_sender, mut base_receiver) = ideal::pair(seed);
    let (mut sender_end, mut receiver_end) = Channel::pair("sender", "receiver");
    // The receiver sends its trees before the sender asks for them; one frame fits the queue.
    let receiver = Receiver::setup(params, &session(), "test", &mut base_sender, &mut receiver_end, rng).unwrap();
    let delta = Block::random(rng);
    let sender = Sender::setup(params, &session(), "test", delta, &mut base_receiver, &mut sender_end).unwrap();
    (sender, receiver, sender_end, receiver_end)
}

/// A chunk of a receiver whose choices in some trees are other ones, and who guesses what delta is there: it answers
/// the check as if its guess were right. `guesses` are the trees with the guessed parts of delta.
fn cheat(receiver: &mut Receiver, choices: &Choices, guesses: &[(usize, usize)], channel: &mut Channel) -> Result<()> {
    let params = receiver.params;
    let chosen = receiver.chosen(choices, 0, choices.len());
    let stride = chosen.len();
    let mut rows = vec![Block::ZERO; BLOCK_BITS * stride];
    let mut corrections = vec![0; params.corrections_bytes(choices.len())];
    receiver.grow(receiver.position, &chosen, &mut rows, stride, &mut corrections);
    // The other choices: one bit is.
    let mut error = vec![Block::ZERO; stride];
    error[0] = Block(1 << 77);
    for (tree, _) in guesses {
        let row = &mut corrections[tree * stride * BLOCK_BYTES..][..stride * BLOCK_BYTES];
        row.iter_mut().zip(block::as_bytes(&error)).for_each(|(byte, error)| *byte ^= error);
    }
    let digest = receiver.chain.tile_digest(&corrections);
    let coefficients = receiver.chain.challenge(&params, choices.len(), &[digest]);
    channel.send(CORRECTIONS, corrections)?;
    let mut hashes = [Block::ZERO; BLOCK_BITS];
    check::add_hashes(&rows, stride, &coefficients, &mut hashes);
    let of_error = gf128::inner_product(&error, &coefficients);
    for (tree, guess) in guesses {
        for (place, bit) in params.bits(*tree).enumerate() {
            hashes[bit] ^= of_error & Block::select(guess >> place & 1 == 1);
        }
    }
    let of_choices = gf128::inner_product(&chosen, &coefficients);
    channel.send(CONSISTENCY, check::response(&receiver.keys, of_choices, &hashes))
}

/// Checks that `hits` of `trials` agree with the probability, to within 5 standard deviations.
fn as_likely_as(hits: usize, trials: usize, probability: f64) {
    let expected = trials as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    assert!((hits as f64 - expected).abs() <= 5.0 * deviation, "{hits} of {trials}, expected {expected}");
}

#[test]
fn inconsistent_choices_pass_if_delta_is_guessed_and_only_then() {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    // For k = 3 the last tree has two bits only.
    let cases: [(usize, &[usize]); 6] = [(1, &[5]), (1, &[0, 3, 127]), (2, &[63]), (2, &[0, 1]), (3, &[42]), (4, &[7])];
    for (k, trees) in cases {
        let params = malicious(k);
        let bits: usize = trees.iter().map(|tree| params.bits(*tree).len()).sum();
        let (trials, mut passed) = (250, 0);
        for _ in 0..trials {
            let (mut sender, mut receiver, mut sender_end, mut receiver_end) = ends(&params, &mut rng);
            let delta = sender.delta();
            let part =
                |tree: usize| (delta.0 >> params.bits(tree).start) as usize & ((1 << params.bits(tree).len()) - 1);
            let guesses: Vec<_> = trees
                .iter()
                .map(|tree| (*tree, (rng.next_u32() as usize) & ((1 << params.bits(*tree).len()) - 1)))
                .collect();
            let right = guesses.iter().all(|(tree, guess)| part(*tree) == *guess);
            let choices = Choices::random(200, &mut rng);
            cheat(&mut receiver, &choices, &guesses, &mut receiver_end).unwrap();
            let mut outputs = [[Block::ALL_ONES; 2]; 200];
            match sender.send(&mut outputs, &mut sender_end) {
                Ok(()) => {
                    assert!(right, "a wrong guess passes");
                    passed += 1;
                }
                Err(error) => {
                    assert!(!right, "a right guess is refused");
                    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
                    assert!(outputs.as_flattened().iter().all(|block| *block == Block::ZERO), "outputs are handed out");
                }
            }
        }
        as_likely_as(passed, trials, 0.5f64.powi(bits as i32));
    }
}

/// Whoever lets the hash of the choices fit some trees is caught by the others.
#[test]
fn nothing_passes_whose_answer_fits_no_tree() {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    for flipped in [0, 15, 16, 47] {
        let params = malicious(4);
        let (mut sender, mut receiver, mut sender_end, mut receiver_end) = ends(&params, &mut rng);
        let (mut tap_end, mut relay_end) = Channel::pair("tap", "relay");
        let choices = Choices::random(100, &mut rng);
        receiver.receive(&choices, &mut [Block::ZERO; 100], true, &mut tap_end).unwrap();
        let corrections = relay_end.receive(CORRECTIONS, params.corrections_bytes(100)).unwrap();
        let mut response = relay_end.receive(CONSISTENCY, Params::consistency_bytes()).unwrap();
        response[flipped] ^= 0x20;
        receiver_end.send(CORRECTIONS, corrections).unwrap();
        receiver_end.send(CONSISTENCY, response).unwrap();
        let error = sender.send(&mut [Block::ZERO; 100], &mut sender_end).unwrap_err();
        assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    }
}

/// After a refusal neither side can go on: for the sender every further try would be a guess of delta for the receiver,
/// for the receiver other choices would travel under the same streams.
#[test]
fn nobody_goes_on_after_a_failure() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let params = malicious(4);
    let (mut sender, mut receiver, mut sender_end, mut receiver_end) = ends(&params, &mut rng);
    receiver_end.send(CORRECTIONS, vec![0; params.corrections_bytes(100)]).unwrap();
    receiver_end.send(CONSISTENCY, vec![0; Params::consistency_bytes()]).unwrap();
    let mut blocks = [Block::ONE; 100];
    assert!(matches!(sender.send(&mut blocks, &mut sender_end), Err(Error::Protocol { .. })));
    assert!(blocks == [Block::ZERO; 100]);
    // At a channel whose other end is gone: one that goes on finds that out, and waits for nobody.
    let (mut other_end, _) = Channel::pair("sender", "receiver");
    assert!(matches!(sender.send(&mut blocks, &mut other_end), Err(Error::Internal(_))));
    // The receiver's channel is cut.
    drop(sender_end);
    let choices = Choices::random(100, &mut rng);
    receiver_end.handle().interrupt(Error::Interrupted);
    assert!(receiver.receive(&choices, &mut blocks, true, &mut receiver_end).is_err());
    let (mut other_end, _peer) = Channel::pair("receiver", "sender");
    assert!(matches!(receiver.receive(&choices, &mut blocks, true, &mut other_end), Err(Error::Internal(_))));
}

/// Checks that the same deviation goes through in the semi-honest form, with outputs that do not fit: the check is what
/// catches it.
#[test]
fn without_the_check_nobody_notices() {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let params = Params::new(Security::SemiHonest, 2).unwrap();
    let (mut sender, mut receiver, mut sender_end, mut receiver_end) = ends(&params, &mut rng);
    let (mut tap_end, mut relay_end) = Channel::pair("tap", "relay");
    let (choices, mut blocks) = (Choices::random(100, &mut rng), [Block::ZERO; 100]);
    receiver.receive(&choices, &mut blocks, false, &mut tap_end).unwrap();
    let mut corrections = relay_end.receive(CORRECTIONS, params.corrections_bytes(100)).unwrap();
    // Column 0 is chosen otherwise in tree 1 alone, which stands for bits 2 and 3 of delta.
    corrections[BLOCK_BYTES] ^= 1;
    receiver_end.send(CORRECTIONS, corrections).unwrap();
    let mut firsts = [Block::ZERO; 100];
    sender.send(&mut firsts, &mut sender_end).unwrap();
    let expected = |index: usize| firsts[index] ^ (sender.delta() & Block::select(choices.get(index)));
    assert!(blocks[0] == expected(0) ^ (sender.delta() & Block(0b1100)));
    assert!((1..100).all(|index| blocks[index] == expected(index)));
}

/// The trees of both sides, and what the receiver could change of its message.
struct Grown {
    params: Params,
    keys: Keys,
    pads: Vec<[Block; 2]>,
    message: Vec<u8>,
}

impl Grown {
    fn new(params: Params, rng: &mut ChaCha20Rng) -> Grown {
        let keys = Keys::new(&params, &session(), "test");
        let pads: Vec<_> = (0..BLOCK_BITS).map(|_| [Block::random(rng), Block::random(rng)]).collect();
        let (_, message) = trees::grow(&params, &keys, &block::random(params.trees(), rng), &pads);
        Grown { params, keys, pads, message }
    }

    /// Whether a sender with this delta, and base OTs with these choices, accepts a message.
    fn accepts(&self, delta: Block, base_choices: &Choices, message: &[u8]) -> bool {
        let pads: Vec<_> =
            self.pads.iter().zip(base_choices.iter()).map(|(pair, choice)| pair[usize::from(choice)]).collect();
        trees::grow_punctured(&self.params, &self.keys, delta, &pads, message).is_some()
    }
}

/// A receiver that spoils some of the masked sums learns by the sender's abort whether the sender needed any, and each
/// such question is caught half the time.
#[test]
fn spoilt_trees_are_caught_if_they_matter_and_only_then() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    for k in 1..=MAX_K {
        for spoilt in [&[(0, 0)][..], &[(127, 1)], &[(3, 0), (64, 1), (100, 0)]] {
            let grown = Grown::new(malicious(k), &mut rng);
            let mut message = grown.message.clone();
            for (level, side) in spoilt {
                message[(2 * level + side) * BLOCK_BYTES] ^= 4;
            }
            let (trials, mut passed) = (40, 0);
            for _ in 0..trials {
                let delta = Block::random(&mut rng);
                let choices = trees::base_choices(&grown.params, delta);
                assert!(grown.accepts(delta, &choices, &grown.message));
                let matters = spoilt.iter().any(|(level, side)| choices.get(*level) == (*side == 1));
                let accepted = grown.accepts(delta, &choices, &message);
                assert_eq!(accepted, !matters);
                passed += usize::from(accepted);
            }
            as_likely_as(passed, trials, 0.5f64.powi(spoilt.len() as i32));
        }
    }
}

#[test]
fn spoilt_tags_are_always_caught() {
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    for k in [1, 3, 8] {
        let grown = Grown::new(malicious(k), &mut rng);
        let start = 2 * BLOCK_BITS * BLOCK_BYTES;
        for at in
            [start, start + 31, start + 32, grown.message.len() - 33, grown.message.len() - 32, grown.message.len() - 1]
        {
            let mut message = grown.message.clone();
            message[at] ^= 0x80;
            let delta = Block::random(&mut rng);
            assert!(!grown.accepts(delta, &trees::base_choices(&grown.params, delta), &message));
        }
    }
}

/// A sender whose base OTs were for another delta than the one it goes on with has no trees.
#[test]
fn another_delta_fits_no_trees() {
    let mut rng = ChaCha20Rng::from_seed([6; 32]);
    for k in [1, 2, 5, 8] {
        let grown = Grown::new(malicious(k), &mut rng);
        let delta = Block::random(&mut rng);
        let choices = trees::base_choices(&grown.params, delta);
        for bit in [0, 1, 64, 127] {
            assert!(!grown.accepts(delta ^ Block(1 << bit), &choices, &grown.message));
        }
    }
}

/// Checks the correlation that every tree gives the two parties: w = v + part * u.
#[test]
fn trees_are_voles_over_small_fields() {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    for security in [Security::SemiHonest, Security::Malicious] {
        for k in 1..=MAX_K {
            let params = Params::new(security, k).unwrap();
            let keys = Keys::new(&params, &session(), "test");
            let pads: Vec<_> = (0..BLOCK_BITS).map(|_| [Block::random(&mut rng), Block::random(&mut rng)]).collect();
            let (full, message) = trees::grow(&params, &keys, &block::random(params.trees(), &mut rng), &pads);
            assert_eq!(message.len(), params.trees_bytes());
            let delta = Block::random(&mut rng);
            let choices = trees::base_choices(&params, delta);
            let chosen: Vec<_> =
                pads.iter().zip(choices.iter()).map(|(pair, choice)| pair[usize::from(choice)]).collect();
            let punctured = trees::grow_punctured(&params, &keys, delta, &chosen, &message).unwrap();
            for tree in 0..params.trees() {
                let bits = params.bits(tree);
                let (mut u, mut v, mut w) = ([Block::ZERO; 3], vec![Block::ZERO; 3 * k], vec![Block::ZERO; 3 * k]);
                full[tree].fold(9, &mut u, &mut v, 3);
                punctured[tree].fold_planes(9, 3, &mut w, 3);
                assert!(u.iter().all(|block| *block != Block::ZERO));
                for (plane, bit) in bits.enumerate() {
                    for at in 0..3 {
                        let expected = v[3 * plane + at] ^ (u[at] & Block::select(delta.bit(bit)));
                        assert!(w[3 * plane + at] == expected);
                    }
                }
            }
        }
    }
}

/// The coefficients of a chunk's check depend on all that the receiver has sent until then: trees, all corrections, and
/// numbers of OTs.
#[test]
fn coefficients_depend_on_all_that_was_sent() {
    let params = malicious(4);
    let keys = Keys::new(&params, &session(), "test");
    // The coefficients of two chunks, after a message of trees, for the corrections of tiles.
    let two = |trees: &[u8], first: (usize, &[&[u8]]), second: (usize, &[&[u8]])| {
        let mut chain = check::Chain::new(&keys, trees);
        [first, second].map(|(count, tiles)| {
            let digests: Vec<_> = tiles.iter().map(|tile| chain.tile_digest(tile)).collect();
            let coefficients = chain.challenge(&params, count, &digests);
            // The last one is always one.
            assert!(coefficients.len() > 1 && coefficients.last() == Some(&Block::ONE));
            coefficients[0].0
        })
    };
    let usual = two(b"trees", (128, &[b"a", b"b"]), (128, &[b"c"]));
    let others = [
        two(b"other", (128, &[b"a", b"b"]), (128, &[b"c"])),
        two(b"trees", (128, &[b"b", b"b"]), (128, &[b"c"])),
        two(b"trees", (128, &[b"a", b"a"]), (128, &[b"c"])),
        two(b"trees", (127, &[b"a", b"b"]), (128, &[b"c"])),
    ];
    for [first, second] in others {
        assert!(first != usual[0] && second != usual[1]);
    }
    assert!(usual[0] != usual[1]);
    // The same chunk again has others: a chunk is good for its place only.
    let [first, again] = two(b"trees", (128, &[b"a"]), (128, &[b"a"]));
    assert!(first != again);
    assert!(two(b"trees", (128, &[b"a", b"b"]), (128, &[b"d"]))[1] != usual[1]);
}

/// A receiver draws a root for each of its trees.
#[test]
fn every_tree_has_a_root_of_its_own() {
    let params = malicious(4);
    let mut pads = vec![[Block::ZERO; 2]; BLOCK_BITS];
    RandomOtSender::send(&mut ideal::pair([1; 32]).0, &mut pads, &mut Channel::pair("a", "b").0).unwrap();
    for seed in 0..4 {
        let rng = || ChaCha20Rng::from_seed([seed; 32]);
        let (mut other, mut end) = Channel::pair("sender", "receiver");
        Receiver::setup(&params, &session(), "test", &mut ideal::pair([1; 32]).0, &mut end, &mut rng()).unwrap();
        let roots = block::random(params.trees(), &mut rng());
        let grown = trees::grow(&params, &Keys::new(&params, &session(), "test"), &roots, &pads).1;
        assert!(other.receive(TREES, params.trees_bytes()).unwrap() == grown);
    }
}

/// Checks that both kinds of senders draw a delta each bit of which is one in some set-ups and zero in others.
#[test]
fn every_bit_of_delta_is_drawn() {
    let params = malicious(8);
    let drawn = |seed: u8| {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let (mut base_sender, mut base_receiver) = ideal::pair([1; 32]);
        let (mut end, mut other) = Channel::pair("sender", "receiver");
        RandomReceiver::setup_over(&params, &session(), "test", &mut base_sender, &mut other, &mut rng).unwrap();
        let random = RandomSender::setup_over(&params, &session(), "test", &mut base_receiver, &mut end, &mut rng);
        let correlated = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut rng = ChaCha20Rng::from_seed([9; 32]);
                CorrelatedReceiver::setup(&params, &session(), "test", &mut other, &mut rng).unwrap();
            });
            CorrelatedSender::setup(&params, &session(), "test", &mut end, &mut rng).unwrap()
        });
        [random.unwrap().0.delta(), CorrelatedOtSender::delta(&correlated)]
    };
    let drawn: Vec<[Block; 2]> = (0..40).map(drawn).collect();
    for kind in 0..2 {
        let (all, any) =
            drawn.iter().fold((u128::MAX, 0), |(all, any), deltas| (all & deltas[kind].0, any | deltas[kind].0));
        assert!(all == 0 && any == u128::MAX, "{all:x} in all, {any:x} in any");
    }
}
