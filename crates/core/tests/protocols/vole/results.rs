//! VOLE and COT with random choices: what both parties get fits together at every index, whatever is behind the traits,
//! for every number of outputs; and it looks random.

use std::collections::HashSet;

use crate::support::{rng, session};
use tacita_core::primitive::kernel::{Block, block};
use tacita_core::primitive::ot::softspoken::{CorrelatedReceiver, CorrelatedSender, Params};
use tacita_core::primitive::ot::{CorrelatedOtReceiver, CorrelatedOtSender, ideal as ideal_ot};
use tacita_core::primitive::vole::silent::{CotReceiver, CotSender, SilentReceiver, SilentSender};
use tacita_core::primitive::vole::{RandomCotReceiver, RandomCotSender, VoleReceiver, VoleSender, ideal};
use tacita_core::security::Security;
use tacita_core::{Channel, Result};

const FORMS: [Security; 2] = [Security::SemiHonest, Security::Malicious];

/// Runs the sender on a thread of its own, the receiver on this one.
fn both<S: Send, R>(
    send: impl FnOnce(&mut Channel) -> Result<S> + Send,
    receive: impl FnOnce(&mut Channel) -> Result<R>,
) -> (S, R) {
    let (mut sender, mut receiver) = Channel::pair("sender", "receiver");
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let sent = send(&mut sender).unwrap();
            sender.finish().unwrap();
            sent
        });
        let received = receive(&mut receiver).unwrap();
        receiver.finish().unwrap();
        (sending.join().unwrap(), received)
    })
}

/// Delta, b, a and c of calls of these lengths.
struct Correlation {
    delta: Block,
    b: Vec<Block>,
    a: Vec<Block>,
    c: Vec<Block>,
}

fn vole(sender: &mut (impl VoleSender + Send), receiver: &mut impl VoleReceiver, calls: &[usize]) -> Correlation {
    let count = calls.iter().sum();
    let delta = sender.delta();
    let [mut b, mut a, mut c] = [(); 3].map(|()| vec![Block::ALL_ONES; count]);
    both(
        |channel| pieces(calls).try_for_each(|range| sender.extend(&mut b[range], channel)),
        |channel| pieces(calls).try_for_each(|range| receiver.extend(&mut a[range.clone()], &mut c[range], channel)),
    );
    Correlation { delta, b, a, c }
}

fn cot(
    sender: &mut (impl RandomCotSender + Send),
    receiver: &mut impl RandomCotReceiver,
    calls: &[usize],
) -> Correlation {
    let count = calls.iter().sum();
    let delta = sender.delta();
    let [mut b, mut c] = [(); 2].map(|()| vec![Block::ALL_ONES; count]);
    both(
        |channel| pieces(calls).try_for_each(|range| sender.extend(&mut b[range], channel)),
        |channel| pieces(calls).try_for_each(|range| receiver.extend(&mut c[range], channel)),
    );
    let a = c.iter().map(|c| Block(c.0 & 1)).collect();
    Correlation { delta, b, a, c }
}

fn pieces(calls: &[usize]) -> impl Iterator<Item = std::ops::Range<usize>> {
    calls.iter().scan(0, |start, length| {
        *start += length;
        Some(*start - length..*start)
    })
}

fn check_vole(correlation: &Correlation) {
    let Correlation { delta, b, a, c } = correlation;
    for index in 0..b.len() {
        assert!(c[index] == b[index] ^ (a[index] * *delta), "element {index} of {}", b.len());
    }
    for blocks in [a, b, c] {
        look_random(blocks, 128);
    }
}

fn check_cot(correlation: &Correlation) {
    let Correlation { delta, b, a, c } = correlation;
    assert!(delta.bit(0));
    for index in 0..b.len() {
        assert!(!b[index].bit(0), "OT {index} of {}", b.len());
        assert!(c[index] == b[index] ^ Block::select(a[index].bit(0)) & *delta, "OT {index} of {}", b.len());
    }
    let upper = |blocks: &[Block]| blocks.iter().map(|block| Block(block.0 >> 1)).collect::<Vec<_>>();
    look_random(&upper(b), 127);
    look_random(&upper(c), 127);
    // The choices: as many ones as zeros, and no bit like its neighbour.
    let ones = |bits: &mut dyn Iterator<Item = u128>| bits.map(|bit| bit as u64).sum::<u64>() as f64;
    let (half, deviation) = (a.len() as f64 / 2.0, (a.len() as f64).sqrt() / 2.0);
    for count in [ones(&mut a.iter().map(|bit| bit.0)), ones(&mut a.windows(2).map(|pair| pair[0].0 ^ pair[1].0))] {
        assert!((count - half).abs() <= 7.0 * deviation + 1.0, "{count} of {}", a.len());
    }
}

/// Checks that no block comes twice. Every bit is about as often one as zero. It equals its neighbour in the same and
/// in the next block about as often as not.
fn look_random(blocks: &[Block], bits: usize) {
    let distinct: HashSet<u128> = blocks.iter().map(|block| block.0).collect();
    assert_eq!(distinct.len(), blocks.len(), "a block came twice");
    let mut counts = [[0u32; 128]; 3];
    for (index, block) in blocks.iter().enumerate() {
        let next = blocks.get(index + 1).copied().unwrap_or_default();
        for (counts, seen) in counts.iter_mut().zip([block.0, block.0 ^ block.0 >> 1, block.0 ^ next.0]) {
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += (seen >> bit & 1) as u32;
            }
        }
    }
    let (expected, deviation) = (blocks.len() as f64 / 2.0, (blocks.len() as f64).sqrt() / 2.0);
    for counts in counts {
        for count in &counts[..bits - 1] {
            // 7 standard deviations: far beyond chance, for all tests together. Few blocks show nothing.
            assert!((f64::from(*count) - expected).abs() <= 7.0 * deviation + 1.0, "{count} ones of {}", blocks.len());
        }
    }
}

type Vole<S, R> = (SilentSender<S>, SilentReceiver<R>);
type Cot<S, R> = (CotSender<S>, CotReceiver<R>);

/// Silent VOLE over given correlated OTs.
fn silent_vole<S: CorrelatedOtSender, R: CorrelatedOtReceiver>((s, r): (S, R), security: Security) -> Vole<S, R> {
    (
        SilentSender::new(s, security, &session(), "test", &mut rng(91)),
        SilentReceiver::new(r, security, &session(), "test", &mut rng(92)),
    )
}

fn silent_cot<S: CorrelatedOtSender, R: CorrelatedOtReceiver>((s, r): (S, R), security: Security) -> Cot<S, R> {
    (
        CotSender::new(s, security, &session(), "test", &mut rng(93)).unwrap(),
        CotReceiver::new(r, security, &session(), "test", &mut rng(94)),
    )
}

/// Ideal correlated OTs whose delta is odd.
fn dealer(seed: u8) -> (ideal_ot::IdealOtSender, ideal_ot::IdealOtReceiver) {
    let odd = |&seed: &u8| ideal_ot::pair([seed; 32]).0.delta().bit(0);
    ideal_ot::pair([(seed..).step_by(16).find(odd).unwrap(); 32])
}

/// SoftSpoken correlated OTs whose delta is odd, over ideal base OTs.
fn softspoken(security: Security, k: usize, seed: u8) -> (CorrelatedSender, CorrelatedReceiver) {
    let params = Params::new(security, k).unwrap();
    let (mut receiver_base, mut sender_base) = ideal_ot::pair([seed; 32]);
    let delta = Block(Block::random(&mut rng(seed)).0 | 1);
    both(
        |channel| CorrelatedSender::setup_over(&params, &session(), "test", delta, &mut sender_base, channel),
        |channel| {
            let rng = &mut rng(seed.wrapping_add(1));
            CorrelatedReceiver::setup_over(&params, &session(), "test", &mut receiver_base, channel, rng)
        },
    )
}

const SIZES: [usize; 12] = [1, 2, 3, 31, 32, 33, 1000, 4095, 4096, 4097, 8193, 20_000];

#[test]
fn the_dealer_gives_what_the_traits_promise() {
    for size in SIZES {
        let (mut sender, mut receiver) = ideal::pair([3; 32]);
        check_vole(&vole(&mut sender, &mut receiver, &[size, 0, 5]));
        check_cot(&cot(&mut sender, &mut receiver, &[size, 0, 5]));
    }
}

#[test]
fn every_size_over_the_dealer() {
    for (size, security) in SIZES.into_iter().flat_map(|size| FORMS.map(|form| (size, form))) {
        let (mut sender, mut receiver) = silent_vole(dealer(1), security);
        check_vole(&vole(&mut sender, &mut receiver, &[size]));
        let (mut sender, mut receiver) = silent_cot(dealer(2), security);
        check_cot(&cot(&mut sender, &mut receiver, &[size]));
    }
}

#[test]
fn several_runs_over_softspoken() {
    for security in FORMS {
        let calls = [1, 0, 5000, 129];
        let (mut sender, mut receiver) = silent_vole(softspoken(security, 4, 5), security);
        check_vole(&vole(&mut sender, &mut receiver, &calls));
        let (mut sender, mut receiver) = silent_cot(softspoken(security, 8, 6), security);
        check_cot(&cot(&mut sender, &mut receiver, &calls));
    }
}

#[test]
fn a_quarter_of_a_million() {
    let (mut sender, mut receiver) = silent_vole(dealer(3), Security::Malicious);
    check_vole(&vole(&mut sender, &mut receiver, &[1 << 18]));
    let (mut sender, mut receiver) = silent_cot(dealer(4), Security::Malicious);
    check_cot(&cot(&mut sender, &mut receiver, &[1 << 18]));
}

#[test]
#[ignore = "minutes, and gigabytes"]
fn millions() {
    for size in [(1 << 20) - 1, 1 << 20, 1 << 22, (1 << 22) + 1, 1 << 24] {
        let (mut sender, mut receiver) = silent_vole(dealer(3), Security::Malicious);
        check_vole(&vole(&mut sender, &mut receiver, &[size]));
        let (mut sender, mut receiver) = silent_cot(dealer(4), Security::Malicious);
        check_cot(&cot(&mut sender, &mut receiver, &[size]));
    }
}

/// The rank over GF(2) of blocks as rows of bits.
fn rank(blocks: &[Block]) -> usize {
    let mut basis: Vec<u128> = Vec::new();
    for block in blocks {
        let rest = basis.iter().fold(block.0, |rest, row| rest.min(rest ^ row));
        if rest != 0 {
            basis.push(rest);
        }
    }
    basis.len()
}

/// A code with constants in GF(2) leaves all of a in the space that the t values of the noise span: with the noise's
/// values in a small space, the outputs show it. That of the protocol does not keep to any such space.
#[test]
fn outputs_have_full_rank_whatever_space_the_noise_is_from() {
    use tacita_core::primitive::vole::code::{Binary, FRONT, FieldCode};
    let values = block::random(20, &mut rng(1));
    let noise = |symbols: usize| {
        let mut word = block::zeros(FRONT + symbols);
        let each = symbols / values.len();
        values.iter().enumerate().for_each(|(index, value)| word[FRONT + index * each + 7 * index] = *value);
        word
    };
    let mut outputs = block::zeros(4096);
    let field = FieldCode::new(Block(5), 1024);
    field.encode(&mut noise(field.symbols()), [&mut outputs]);
    assert_eq!(rank(&outputs), 128);
    assert_eq!(rank(&outputs[..200]), 128);
    let binary = Binary::new(Block(5), 820);
    binary.encode(&mut noise(binary.symbols()), &mut outputs);
    assert_eq!(rank(&outputs), 20);
}

#[test]
fn an_even_delta_is_refused() {
    let (sender, _) = (0..).map(|seed| ideal_ot::pair([seed; 32])).find(|(sender, _)| !sender.delta().bit(0)).unwrap();
    assert!(CotSender::new(sender, Security::SemiHonest, &session(), "test", &mut rng(1)).is_err());
}
