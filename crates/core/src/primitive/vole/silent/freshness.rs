//! Tests of the values that each role draws for itself in a run, over many runs. Every bit of them is as often one as
//! zero, and no value comes twice.

use std::collections::HashSet;
use std::sync::Mutex;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::check::CHALLENGE_BYTES;
use super::keys::Keys;
use super::{CotReceiver, CotSender, SilentReceiver, SilentSender};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::{Block, block};
use crate::primitive::ot::{Choices, CorrelatedOtReceiver, CorrelatedOtSender, ideal};
use crate::primitive::vole::params::{Parameters, VoleKind};
use crate::primitive::vole::{ANSWER, CHALLENGE, RandomCotReceiver, RandomCotSender, TREE_SUMS, TREE_TIPS};
use crate::primitive::vole::{VoleReceiver, VoleSender};
use crate::security::Security;
use crate::session::{Session, Transcript};

const RUNS: usize = 200;
const OUTPUTS: usize = 1;

fn session() -> Session {
    Session::new(Transcript::new("test"))
}

fn parameters(kind: VoleKind) -> Parameters {
    Parameters::new(kind, OUTPUTS).unwrap()
}

/// A dealer's end that keeps the choices.
struct Chosen<'a>(ideal::IdealOtReceiver, &'a Mutex<Option<Choices>>);

impl CorrelatedOtReceiver for Chosen<'_> {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        *self.1.lock().unwrap() = Some(choices.clone());
        CorrelatedOtReceiver::receive(&mut self.0, choices, outputs, channel)
    }
}

/// A dealer's end for a sender whose delta can be one of COT.
struct Odd(ideal::IdealOtSender);

impl CorrelatedOtSender for Odd {
    fn delta(&self) -> Block {
        Block(CorrelatedOtSender::delta(&self.0).0 | 1)
    }

    fn send(&mut self, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        CorrelatedOtSender::send(&mut self.0, outputs, channel)
    }
}

/// Messages and choices of a receiver that has drawn from this seed, while nobody answers as the protocol has it.
fn receiver(kind: VoleKind, seed: u8) -> (Choices, Vec<u8>) {
    let (parameters, chosen) = (parameters(kind), Mutex::new(None));
    let (mut end, mut channel) = Channel::pair("sender", "receiver");
    let challenge =
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (transfers, mut rng) =
                    (Chosen(ideal::pair([1; 32]).1, &chosen), ChaCha20Rng::from_seed([seed; 32]));
                let (mut a, mut c) = ([Block::ZERO; OUTPUTS], [Block::ZERO; OUTPUTS]);
                let security = Security::Malicious;
                let ended =
                    match kind {
                        VoleKind::Field => SilentReceiver::new(transfers, security, &session(), "test", &mut rng)
                            .extend(&mut a, &mut c, &mut channel),
                        VoleKind::Binary => CotReceiver::new(transfers, security, &session(), "test", &mut rng)
                            .extend(&mut c, &mut channel),
                    };
                assert!(ended.is_err(), "the answer is none");
            });
            (0..parameters.depth).for_each(|_| end.send(TREE_SUMS, vec![0; parameters.sums_bytes()]).unwrap());
            end.send(TREE_TIPS, vec![0; parameters.tips_bytes()]).unwrap();
            let challenge = end.receive(CHALLENGE, CHALLENGE_BYTES).unwrap();
            end.send(ANSWER, vec![0; super::check::ANSWER_BYTES]).unwrap();
            challenge
        });
    (chosen.into_inner().unwrap().unwrap(), challenge)
}

/// The sums of the first level of a sender's trees, without their pads.
fn sums(kind: VoleKind, seed: u8) -> Vec<[Block; 2]> {
    let parameters = parameters(kind);
    let (mut channel, mut end) = Channel::pair("sender", "receiver");
    let base = match kind {
        VoleKind::Field => super::vole::base_elements(&parameters, Security::SemiHonest),
        VoleKind::Binary => super::cot::base_elements(Security::SemiHonest),
    };
    let mut dealer = Odd(ideal::pair([1; 32]).0);
    let mut transfers = block::zeros(128 * base + parameters.trees);
    dealer.send(&mut transfers, &mut channel).unwrap();
    let mut pads = vec![[Block::ZERO; 2]; parameters.trees];
    let keys = Keys::new(&session(), kind, "test");
    keys.hash.hash_pairs(0, &transfers[128 * base..], dealer.delta(), &mut pads, false);
    let message = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (transfers, mut rng) = (Odd(ideal::pair([1; 32]).0), ChaCha20Rng::from_seed([seed; 32]));
            let (security, mut b) = (Security::SemiHonest, [Block::ZERO; OUTPUTS]);
            let _ = match kind {
                VoleKind::Field => {
                    SilentSender::new(transfers, security, &session(), "test", &mut rng).extend(&mut b, &mut channel)
                }
                VoleKind::Binary => CotSender::new(transfers, security, &session(), "test", &mut rng)
                    .unwrap()
                    .extend(&mut b, &mut channel),
            };
        });
        let message = end.receive(TREE_SUMS, parameters.sums_bytes()).unwrap();
        drop(end);
        block::from_bytes(&message).unwrap()
    });
    message.as_chunks::<2>().0.iter().zip(&pads).map(|(sums, pads)| [sums[0] ^ pads[0], sums[1] ^ pads[1]]).collect()
}

/// Each bit is one in about half of the runs: to within 6 standard deviations.
fn even(what: &str, runs: &[Vec<bool>]) {
    for bit in 0..runs[0].len() {
        let ones = runs.iter().filter(|run| run[bit]).count() as f64;
        let (half, deviation) = (runs.len() as f64 / 2.0, (runs.len() as f64).sqrt() / 2.0);
        assert!((ones - half).abs() < 6.0 * deviation, "bit {bit} of {what} is one in {ones} of {} runs", runs.len());
    }
}

/// The values at the holes, the value that hides the receiver's sum in the check, the holes' first turns, and the seed
/// of the check.
#[test]
fn what_a_receiver_draws_is_uniform() {
    for kind in [VoleKind::Field, VoleKind::Binary] {
        let parameters = parameters(kind);
        let values = match kind {
            VoleKind::Field => parameters.trees,
            VoleKind::Binary => 0,
        };
        let (mut of_values, mut masks, mut holes, mut seeds) = (vec![], vec![], vec![], vec![]);
        for run in 0..RUNS {
            let (choices, challenge) = receiver(kind, run as u8);
            assert_eq!(choices.len(), 128 * (values + 1) + parameters.tree_transfers());
            let mut bits = choices.iter();
            of_values.push(bits.by_ref().take(128 * values).collect::<Vec<bool>>());
            masks.push(bits.by_ref().take(128).collect::<Vec<bool>>());
            // Further down, a path that ends in a whole tree is likelier to go left.
            holes.push(bits.take(parameters.trees).collect::<Vec<bool>>());
            seeds.push(challenge[..16].iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect());
        }
        even(&format!("the values at the holes, {kind:?}"), &of_values);
        even(&format!("what hides the sum in the check, {kind:?}"), &masks);
        even(&format!("the seed of the check, {kind:?}"), &seeds);
        // The first half of a tree may be somewhat larger than the other.
        let left = 1 << (parameters.depth - 1);
        let share = left as f64 / parameters.leaves as f64;
        let went_right = holes.iter().flatten().filter(|went_left| !**went_left).count() as f64;
        let all = (RUNS * parameters.trees) as f64;
        let (expected, deviation) = (all * (1.0 - share), (all * share * (1.0 - share)).sqrt());
        assert!(
            (went_right - expected).abs() < 6.0 * deviation,
            "{went_right} of {all}, {expected} expected, {kind:?}"
        );
    }
}

/// Every tree of every run grows from a root of its own.
#[test]
fn no_two_trees_have_one_root() {
    for kind in [VoleKind::Field, VoleKind::Binary] {
        let mut seen = HashSet::new();
        for run in 0..4 {
            let all = sums(kind, run);
            assert_eq!(all.len(), parameters(kind).trees);
            assert!(all.iter().flatten().all(|sum| seen.insert(sum.0)), "{kind:?}");
        }
    }
}
