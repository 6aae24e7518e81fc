//! Silent VOLE and COT with a peer that breaks the protocol: at every message, and within well-formed messages; and
//! what the receiver sees of an honest sender is uniform.
//!
//! The correlated OTs come from a dealer: what a hostile peer does to them is in `ot/hostile.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Frame, Tap, blames, passing, rng, session, tapped};
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::{CorrelatedOtSender, ideal};
use tacita_core::primitive::vole::params::{Parameters, VoleKind};
use tacita_core::primitive::vole::silent::{CotReceiver, CotSender, SilentReceiver, SilentSender};
use tacita_core::primitive::vole::{
    ANSWER, CHALLENGE, RandomCotReceiver, RandomCotSender, TREE_SUMS, TREE_TIPS, VoleReceiver, VoleSender,
};
use tacita_core::security::Security;
use tacita_core::{Channel, Error, Result};

const KINDS: [VoleKind; 2] = [VoleKind::Field, VoleKind::Binary];
const COUNT: usize = 100;

/// Ideal correlated OTs whose delta is odd.
fn dealer(seed: u8) -> (ideal::IdealOtSender, ideal::IdealOtReceiver) {
    let odd = |&place: &u8| ideal::pair([seed, place].repeat(16).try_into().unwrap()).0.delta().bit(0);
    ideal::pair([seed, (0..).find(odd).unwrap()].repeat(16).try_into().unwrap())
}

/// Runs a role and ends its channel as a program does. Outputs of a call that fails are zero.
fn conclude(mut channel: Channel, role: impl FnOnce(&mut Channel) -> (Result<()>, Vec<Block>)) -> Result<Vec<Block>> {
    let (result, outputs) = role(&mut channel);
    match result {
        Ok(()) => channel.finish().map(|_| outputs),
        Err(error) => {
            assert!(outputs.iter().all(|block| *block == Block::ZERO), "outputs of a call that failed");
            channel.abort(&error);
            Err(error)
        }
    }
}

fn send(kind: VoleKind, security: Security, seed: u8, channel: Channel) -> Result<Vec<Block>> {
    conclude(channel, |channel| {
        let (ot, mut b, rng) = (dealer(seed).0, vec![Block::ONE; COUNT], &mut rng(seed ^ 1));
        let result = match kind {
            VoleKind::Field => SilentSender::new(ot, security, &session(), "test", rng).extend(&mut b, channel),
            VoleKind::Binary => CotSender::new(ot, security, &session(), "test", rng).unwrap().extend(&mut b, channel),
        };
        (result, b)
    })
}

/// c, and behind it a in the case of a VOLE.
fn receive(kind: VoleKind, security: Security, seed: u8, channel: Channel) -> Result<Vec<Block>> {
    conclude(channel, |channel| {
        let (ot, mut c, rng) = (dealer(seed).1, vec![Block::ONE; COUNT], &mut rng(seed ^ 2));
        let mut a = c.clone();
        let result = match kind {
            VoleKind::Field => {
                SilentReceiver::new(ot, security, &session(), "test", rng).extend(&mut a, &mut c, channel)
            }
            VoleKind::Binary => {
                a.clear();
                CotReceiver::new(ot, security, &session(), "test", rng).extend(&mut c, channel)
            }
        };
        (result, [c, a].concat())
    })
}

/// Results of both roles when frames pass through taps.
type Ends = (Result<Vec<Block>>, Result<Vec<Block>>);

fn run(kind: VoleKind, security: Security, seed: u8, from_receiver: Arc<Tap>, from_sender: Arc<Tap>) -> Ends {
    let (receiver, sender) = tapped(from_receiver, from_sender);
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || send(kind, security, seed, sender));
        let received = receive(kind, security, seed, receiver);
        (received, sending.join().unwrap())
    })
}

/// Whether honest parties' outputs fit.
fn fits(kind: VoleKind, seed: u8, ends: &Ends) -> bool {
    let (Ok(received), Ok(b)) = ends else { panic!("both roles end well") };
    let (delta, (c, a)) = (dealer(seed).0.delta(), received.split_at(COUNT));
    (0..COUNT).all(|index| match kind {
        VoleKind::Field => c[index] == b[index] ^ (a[index] * delta),
        VoleKind::Binary => c[index] == b[index] ^ Block::select(c[index].bit(0)) & delta,
    })
}

/// Changes the `which`-th frame with `label`.
fn change(label: u8, which: usize, how: impl Fn(Frame) -> Frame + Send + Sync + 'static) -> Arc<Tap> {
    let seen = AtomicUsize::new(0);
    Arc::new(move |frame| {
        let hit = frame.kind == Frame::DATA && frame.label == label && seen.fetch_add(1, Ordering::Relaxed) == which;
        Some(vec![if hit { how(frame) } else { frame }])
    })
}

#[test]
fn honest_parties_end_well() {
    for (kind, security) in
        KINDS.into_iter().flat_map(|kind| [(kind, Security::SemiHonest), (kind, Security::Malicious)])
    {
        let ends = run(kind, security, 1, passing(), passing());
        assert!(fits(kind, 1, &ends));
    }
}

#[test]
fn every_message_in_a_wrong_form() {
    type Form = fn(Frame) -> Frame;
    let forms: [Form; 6] = [
        |frame| Frame { payload: Vec::new(), ..frame },
        |frame| Frame { payload: frame.payload[1..].to_vec(), ..frame },
        |frame| Frame { payload: [&frame.payload[..], &[0]].concat(), ..frame },
        |frame| Frame { payload: vec![0; 1 << 20], ..frame },
        |frame| Frame { label: frame.label ^ 1, ..frame },
        |_| Frame::close(),
    ];
    for (kind, form) in KINDS.into_iter().flat_map(|kind| forms.map(|form| (kind, form))) {
        let depth = Parameters::new(kind, COUNT).unwrap().depth;
        let from_sender = [(TREE_SUMS.code, 0), (TREE_SUMS.code, depth - 1), (TREE_TIPS.code, 0), (ANSWER.code, 0)];
        for (label, which) in from_sender {
            let (received, sent) = run(kind, Security::Malicious, 2, passing(), change(label, which, form));
            assert!(blames(&received.unwrap_err()), "{kind:?}, message {label}");
            // An answer is the last message: the sender only hears of it.
            assert!(matches!(sent, Err(Error::Peer { .. } | Error::Network { .. } | Error::Protocol { .. })));
        }
        let (received, sent) = run(kind, Security::Malicious, 2, change(CHALLENGE.code, 0, form), passing());
        assert!(blames(&sent.unwrap_err()), "{kind:?}, challenge");
        assert!(received.is_err());
    }
}

/// Adds a one to each block of `blocks` of the payload.
fn add_to(blocks: impl Fn(usize) -> bool + Send + Sync + 'static) -> impl Fn(Frame) -> Frame + Send + Sync {
    move |mut frame| {
        frame
            .payload
            .iter_mut()
            .step_by(16)
            .enumerate()
            .filter(|(index, _)| blocks(*index))
            .for_each(|(_, byte)| *byte ^= 4);
        frame
    }
}

/// Checks that a cheating sender is caught. The changes are to both sums of one level of one tree, to a tip, to all
/// tips, and to the answer. To change a tip amounts to another delta for one tree. The receiver ends with probability 1
/// - 2^-128 at least. In the semi-honest form nobody notices, and outputs are wrong: so the changes do matter.
#[test]
fn a_sender_that_cheats_is_caught() {
    for kind in KINDS {
        type Blocks = fn(usize) -> bool;
        let cases: [(u8, usize, Blocks); 5] = [
            (TREE_SUMS.code, 0, |block| block / 2 == 3),
            (TREE_SUMS.code, 4, |block| block / 2 == 0),
            (TREE_TIPS.code, 0, |block| block == 5),
            (TREE_TIPS.code, 0, |_| true),
            (ANSWER.code, 0, |block| block == 1),
        ];
        for (case, (label, which, blocks)) in cases.into_iter().enumerate() {
            let seed = 10 + case as u8;
            let (received, _) = run(kind, Security::Malicious, seed, passing(), change(label, which, add_to(blocks)));
            assert!(blames(&received.unwrap_err()), "{kind:?}, case {case}");
            if label != ANSWER.code {
                let tap = change(label, which, add_to(blocks));
                let ends = run(kind, Security::SemiHonest, seed, passing(), tap);
                // One noisy place reaches each of the outputs with some probability only.
                assert!(case == 2 || !fits(kind, seed, &ends), "{kind:?}, case {case}");
            }
        }
    }
}

/// One of the two sums of a level is a guess of the receiver's choice there: the sender is caught with probability 1/2,
/// and learns one bit of one place if it is not. So g such guesses pass with probability 2^-g.
#[test]
fn a_guess_of_a_noisy_place_is_caught_half_of_the_time() {
    let guess = |seed: u8, guesses: usize| {
        let tap = change(TREE_SUMS.code, 1, add_to(move |block| block % 2 == 0 && block / 2 < guesses));
        let (received, _) = run(VoleKind::Field, Security::Malicious, seed, passing(), tap);
        received.inspect_err(|error| assert!(blames(error))).is_err()
    };
    let caught = (100..140).filter(|&seed| guess(seed, 1)).count();
    assert!((8..=32).contains(&caught), "{caught} of 40");
    assert!((140..150).all(|seed| guess(seed, 24)));
}

/// A receiver that lies in the check has nothing from it: its own run ends.
#[test]
fn a_receiver_that_lies_in_the_check_fails() {
    for kind in KINDS {
        for block in 0..2 {
            let tap = change(CHALLENGE.code, 0, add_to(move |index| index == block));
            let (received, _) = run(kind, Security::Malicious, 20, tap, passing());
            assert!(blames(&received.unwrap_err()));
        }
    }
}

/// Parties of different sessions or purposes have nothing in common: in the malicious form they notice.
#[test]
fn runs_are_bound_to_their_purpose() {
    let (mut sender, mut receiver) = Channel::pair("sender", "receiver");
    let (send_ot, receive_ot) = dealer(30);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut vole = SilentSender::new(send_ot, Security::Malicious, &session(), "one", &mut rng(1));
            let _ = vole.extend(&mut [Block::ZERO], &mut sender);
        });
        let mut vole = SilentReceiver::new(receive_ot, Security::Malicious, &session(), "other", &mut rng(2));
        let error = vole.extend(&mut [Block::ZERO], &mut [Block::ZERO], &mut receiver).unwrap_err();
        assert!(blames(&error));
    });
}

/// An OT sender with the same outputs every time.
struct Stuck(Block);

impl CorrelatedOtSender for Stuck {
    fn delta(&self) -> Block {
        self.0
    }

    fn send(&mut self, outputs: &mut [Block], _: &mut Channel) -> Result<()> {
        outputs.fill(Block::ONE);
        Ok(())
    }
}

/// Returns all sums, and the tips, that a sender with given randomness of its own sends, over given OTs.
fn sent(kind: VoleKind, ot: impl CorrelatedOtSender + Send, own: u8) -> (Vec<u8>, Vec<u8>) {
    let (mut sender, mut receiver) = Channel::pair("sender", "receiver");
    let parameters = Parameters::new(kind, COUNT).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut b, security, rng) = (vec![Block::ZERO; COUNT], Security::SemiHonest, &mut rng(own));
            match kind {
                VoleKind::Field => SilentSender::new(ot, security, &session(), "test", rng).extend(&mut b, &mut sender),
                VoleKind::Binary => {
                    CotSender::new(ot, security, &session(), "test", rng).unwrap().extend(&mut b, &mut sender)
                }
            }
            .unwrap();
        });
        let mut bytes = Vec::new();
        for _ in 0..parameters.depth {
            bytes.extend(receiver.receive(TREE_SUMS, parameters.sums_bytes()).unwrap());
        }
        (bytes, receiver.receive(TREE_TIPS, parameters.tips_bytes()).unwrap())
    })
}

/// Whether each bit of the views is about as often one as zero.
fn uniform(views: &[Vec<u8>]) -> bool {
    let (runs, length) = (views.len() as f64, views[0].len());
    let worst = (0..8 * length)
        .map(|bit| views.iter().filter(|view| view[bit / 8] >> (bit % 8) & 1 == 1).count() as f64)
        .map(|ones| (ones - runs / 2.0).abs())
        .fold(0.0, f64::max);
    let blocks: std::collections::HashSet<&[u8]> = views.iter().flat_map(|view| view.chunks(16)).collect();
    // 128 runs have a standard deviation of 5.7; a million bits reach five times that, not eight.
    worst <= 8.0 * runs.sqrt() / 2.0 && blocks.len() == views.len() * length / 16
}

/// The masks of the OTs make the sums uniform for a receiver that lacks the other side's, whatever the trees are; so do
/// base elements with the tips of a VOLE. The tips of COTs are hidden by the leaf that the receiver lacks, and so by
/// the sender's own randomness. With neither, they are not uniform.
#[test]
fn the_receiver_sees_uniform_messages() {
    for kind in KINDS {
        let (sums, tips): (Vec<_>, Vec<_>) = (0..128).map(|seed| sent(kind, dealer(seed).0, 7)).unzip();
        assert!(uniform(&sums), "{kind:?}");
        assert_eq!(uniform(&tips), kind == VoleKind::Field);
        let tips: Vec<_> = (0..128).map(|seed| sent(kind, dealer(1).0, seed).1).collect();
        assert!(uniform(&tips), "{kind:?}");
        let stuck = || Stuck(dealer(1).0.delta());
        let (sums, tips): (Vec<_>, Vec<_>) = (0..128).map(|_| sent(kind, stuck(), 7)).unzip();
        assert!(!uniform(&sums) && !uniform(&tips), "{kind:?}");
    }
}
