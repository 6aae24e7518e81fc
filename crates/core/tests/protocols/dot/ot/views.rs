//! Shares are uniform, and what each party receives is what a simulator makes of its shares and the sizes. Every check
//! is also run on a deliberately leaky variant, which must fail it.

use std::collections::HashSet;

use crate::support::dot::*;
use crate::support::views::*;
use crate::support::*;
use tacita_core::primitive::kernel::{Block, RekeyedHash};
use tacita_core::primitive::ot::softspoken::{self, RandomReceiver, RandomSender};
use tacita_core::primitive::ot::{
    BASE_KEY, BASE_POINTS, CORRECTIONS, Choices, FLIPS, MESSAGES, RandomOtReceiver, RandomOtSender, TREES, ideal,
};
use tacita_core::primitive::vole::{TREE_SUMS, TREE_TIPS};
use tacita_core::protocol::dot::ot::{self, Extension};
use tacita_core::protocol::dot::{Integers, Modulus, Shares};
use tacita_core::security::Security;
use tacita_core::{Channel, Result, Side};

const K4: Extension = Extension::SoftSpoken(4);

fn modulus(value: u128) -> Modulus {
    Modulus::new(value).unwrap()
}

/// Counts of each residue as the share of each product.
struct Counts(Vec<Vec<u64>>);

impl Counts {
    fn new(modulus: Modulus, products: usize) -> Counts {
        Counts(vec![vec![0; modulus.value() as usize]; products])
    }

    fn add(&mut self, shares: &Shares) {
        self.0.iter_mut().zip(shares.residues()).for_each(|(counts, share)| counts[*share as usize] += 1);
    }

    fn uniform(&self) -> Check {
        self.0.iter().try_for_each(|counts| uniform("shares", counts))
    }
}

/// Shares of the first and of the second party in many runs over a dealer's OTs with the same inputs; and of the sender
/// if the dealer's first blocks were zero.
fn distributions(dot: &Dot, modulus: Modulus, runs: u32) -> [Counts; 3] {
    let params = dot.params(modulus, K4);
    let mut all = [0; 3].map(|_| Counts::new(modulus, dot.shape().products()));
    for run in 0..runs {
        let shares = dot.check(&params, Source::Dealer(run));
        all.iter_mut().zip(&shares).for_each(|(counts, (shares, _))| counts.add(shares));
        all[2].add(&without_first_blocks(dot, &params, run));
    }
    all
}

/// The sender's shares over OTs whose first blocks are zero.
fn without_first_blocks(dot: &Dot, params: &ot::Params, run: u32) -> Shares {
    struct Weak(ideal::IdealOtSender);
    impl RandomOtSender for Weak {
        fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
            self.0.send(outputs, channel)?;
            outputs.iter_mut().for_each(|pair| pair[0] = Block::ZERO);
            Ok(())
        }
    }
    let mut seed = [9; 32];
    seed[..4].copy_from_slice(&run.to_le_bytes());
    // The channel holds the few messages of these runs.
    let (mut end, _other) = Channel::pair("sender", "receiver");
    let mut weak = Weak(ideal::pair(seed).0);
    ot::send_over(&dot.columns(params.ot_sender()), params, &session(), &mut weak, &mut end).unwrap()
}

#[test]
fn each_partys_shares_are_uniform_whatever_the_inputs() {
    let cases: [(Dot, u128); 6] = [
        (Dot::constant(integers(1, false), 1, 0, 0), 2),
        (Dot::constant(integers(1, false), 5, 1, 1), 16),
        (Dot::constant(integers(2, true), 3, -2, -2), 8),
        (Dot::random(integers(1, false), 4, (3, 1), 0.5, 1), 7),
        (Dot::random(integers(1, false), 3, (1, 2), 0.5, 2), 256),
        (Dot::constant(integers(2, false), 2, 3, 3), 3),
    ];
    for (dot, value) in cases {
        let [first, second, weak] = distributions(&dot, modulus(value), 3000);
        first.uniform().unwrap();
        second.uniform().unwrap();
        // Leaky: words of nothing, or hashes of nothing, are the same every time.
        weak.uniform().unwrap_err();
    }
}

/// Counts of each pair of residues as a party's shares of two products.
struct Pairs {
    modulus: u128,
    counts: Vec<u64>,
}

impl Pairs {
    fn add(&mut self, one: u128, other: u128) {
        self.counts[(one * self.modulus + other) as usize] += 1;
    }
}

/// Shares of one party's products are independent of each other, too: what it is sent for one product says nothing of
/// its share of another.
#[test]
fn each_partys_shares_of_different_products_are_independent() {
    for value in [3, 7, 8] {
        for counts in [(3, 1), (2, 2)] {
            let dot = Dot::random(integers(1, false), 2, counts, 0.7, 5);
            let (modulus, products) = (modulus(value), dot.shape().products());
            let params = dot.params(modulus, K4);
            let places: Vec<(usize, usize)> = (0..products).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
            let empty = || Pairs { modulus: value, counts: vec![0; (value * value) as usize] };
            let pairs = || places.iter().map(|_| empty()).collect::<Vec<_>>();
            let (mut all, mut weak) = ([pairs(), pairs()], empty());
            for run in 0..3000 {
                for (pairs, (shares, _)) in all.iter_mut().zip(&dot.check(&params, Source::Dealer(run))) {
                    let shares = shares.residues();
                    pairs.iter_mut().zip(&places).for_each(|(pairs, &(i, j))| pairs.add(shares[i], shares[j]));
                }
                let shares = with_columns_alike(&dot, &params, run);
                weak.add(shares.residues()[0], shares.residues()[products - 1]);
            }
            for pairs in all.iter().flatten() {
                uniform("pairs of shares", &pairs.counts).unwrap();
            }
            // Leaky: each share alone is as uniform as before.
            uniform("pairs of shares", &weak.counts).unwrap_err();
            let alone = |shares: &dyn Fn(u128, u128) -> u128| -> Vec<u64> {
                let count = |one: u128| (0..value).map(|other| weak.counts[shares(one, other) as usize]).sum();
                (0..value).map(count).collect()
            };
            uniform("first shares", &alone(&|one, other| one * value + other)).unwrap();
            uniform("last shares", &alone(&|one, other| other * value + one)).unwrap();
        }
    }
}

/// The sender's shares if its words were the same for all products: those of a run with one column of each party for
/// the first product, and as many times for the others.
fn with_columns_alike(dot: &Dot, params: &ot::Params, run: u32) -> Shares {
    let one = Dot { first: vec![dot.first[0].clone()], second: vec![dot.second[0].clone()], ..dot.clone() };
    let alone = one.params(params.modulus(), K4);
    let (mut end, _other) = Channel::pair("sender", "receiver");
    let mut seed = [9; 32];
    seed[..4].copy_from_slice(&run.to_le_bytes());
    let mut dealer = ideal::pair(seed).0;
    let shares = ot::send_over(&one.columns(alone.ot_sender()), &alone, &session(), &mut dealer, &mut end).unwrap();
    Shares::new(params.modulus(), vec![shares.residues()[0]; params.shape().products()]).unwrap()
}

/// The same over SoftSpoken's OTs, set up anew for every run.
#[test]
fn shares_are_uniform_over_softspoken() {
    let dot = Dot::constant(integers(1, false), 3, 1, 1);
    let (modulus, form) = (modulus(16), softspoken::Params::new(Security::SemiHonest, 4).unwrap());
    let params = dot.params(modulus, K4);
    let mut counts = [0; 2].map(|_| Counts::new(modulus, 1));
    for run in 0..400u16 {
        let seed = |part: u8| {
            let mut seed = [part; 32];
            seed[..2].copy_from_slice(&run.to_le_bytes());
            <chacha20::ChaCha20Rng as rand_core::SeedableRng>::from_seed(seed)
        };
        let (mut base_sender, mut base_receiver) = ideal::pair([run as u8; 32]);
        let (mut first, mut second) = Channel::pair("first", "second");
        let session = session();
        let shares = std::thread::scope(|scope| {
            let (dot, params, form, session) = (&dot, &params, &form, &session);
            let sent = scope.spawn(move || {
                let base = &mut base_receiver;
                let mut ot = RandomSender::setup_over(form, session, "test", base, &mut first, &mut seed(1))?;
                ot::send_over(&dot.columns(Side::First), params, session, &mut ot, &mut first)
            });
            let base = &mut base_sender;
            let mut ot = RandomReceiver::setup_over(form, session, "test", base, &mut second, &mut seed(2)).unwrap();
            let received = ot::receive_over(&dot.columns(Side::Second), params, session, &mut ot, &mut second);
            [sent.join().unwrap().unwrap(), received.unwrap()]
        });
        assert_eq!(shares[0].open(&shares[1]), [3]);
        counts.iter_mut().zip(&shares).for_each(|(counts, shares)| counts.add(shares));
    }
    counts.iter().for_each(|counts| counts.uniform().unwrap());
}

const ROWS: usize = 6000;

/// One number for each row.
type Numbers = Vec<u128>;

/// Chooser's data of one plane, and the data that it is made of.
struct Plane {
    /// Modulus of the residues that words are.
    modulus: u128,
    choices: Vec<bool>,
    /// The chooser's words for each of the sender's columns.
    words: Vec<Numbers>,
    /// Likewise what the sender sent.
    corrections: Vec<Numbers>,
}

/// A run over a dealer's OTs: what the chooser has of each plane. Words are made of the dealer's blocks here once more,
/// as the specification has it, and have to add up to the chooser's shares.
fn chooser_sees(dot: &Dot, modulus: Modulus, dealt: u8) -> Vec<Plane> {
    let params = dot.params(modulus, K4);
    // With as many columns as the chooser the first party sends too.
    assert_eq!(params.ot_sender(), Side::First);
    let mut shares = None;
    let recorded = recorded(|receiver, sender| {
        let (received, sent) = dot.run_as(&params, Source::Dealer(dealt.into()), receiver, sender, (1, 2));
        let received = received.unwrap().0;
        assert_eq!(received.open(&sent.unwrap().0), dot.truth(modulus));
        shares = Some(received);
    });
    assert!(recorded.receiver.iter().all(|frame| frame.kind == Frame::CLOSE), "the chooser sends nothing");
    let mut messages = recorded.sender.iter().filter(|frame| frame.kind == Frame::DATA);

    let mut seed = [0; 32];
    seed[0] = dealt;
    let (mut dealer, (mut end, _other)) = (ideal::pair(seed).1, Channel::pair("nobody", "nobody"));
    let (mut planes, mut sums) = (Vec::new(), vec![0; dot.shape().products()]);
    for (column, values) in dot.second.iter().enumerate() {
        for bit in 0..dot.integers.bits() {
            let choices: Vec<bool> = values.iter().map(|value| value >> bit & 1 == 1).collect();
            let mut blocks = vec![Block::ZERO; ROWS];
            dealer.receive(&Choices::from_bits(choices.iter().copied()), &mut blocks, &mut end).unwrap();
            let ring = if modulus.is_power_of_two() { modulus.value() >> bit } else { modulus.value() };
            let words = words(ring, dot.first.len(), (planes.len() * ROWS) as u64, &blocks);
            let corrections = numbers(&messages.next().unwrap().payload, dot.first.len(), ring);
            for (of_sender, (words, corrections)) in words.iter().zip(&corrections).enumerate() {
                let rows = choices.iter().zip(words).zip(corrections);
                let sum = rows.fold(0, |sum, ((&choice, word), d)| (sum + word + if choice { *d } else { 0 }) % ring);
                let (sum, share) = ((sum << bit) % modulus.value(), &mut sums[of_sender * dot.second.len() + column]);
                let negative = dot.integers.weight(bit) < 0;
                *share = if negative { modulus.subtract(*share, sum) } else { modulus.add(*share, sum) };
            }
            planes.push(Plane { modulus: ring, choices, words, corrections });
        }
    }
    assert!(messages.next().is_none(), "one message for each plane");
    assert_eq!(shares.unwrap().residues(), sums, "the words are those of the protocol");
    planes
}

/// The words of blocks modulo `modulus`, for each of the sender's columns.
fn words(modulus: u128, columns: usize, index: u64, blocks: &[Block]) -> Vec<Numbers> {
    let hashed = |number: usize| {
        let key = session().derive(&format!("dot words 0 {number}"));
        let mut hashed = vec![Block::ZERO; blocks.len()];
        RekeyedHash::new(Block::from_le_slice(&key)).hash(index, blocks, &mut hashed, false);
        hashed
    };
    if !modulus.is_power_of_two() {
        let modulus = Modulus::new(modulus).unwrap();
        let column = |column| {
            let (first, second) = (hashed(2 * column), hashed(2 * column + 1));
            first.iter().zip(&second).map(|(first, second)| modulus.uniform(first.0, second.0)).collect()
        };
        return (0..columns).map(column).collect();
    }
    let bits = modulus.ilog2() as usize;
    let fitting = 128 / bits;
    let column = |column: usize| {
        let blocks = if columns <= fitting { blocks } else { &hashed(column / fitting) };
        blocks.iter().map(|block| block.0 >> (column % fitting * bits) & (modulus - 1)).collect()
    };
    (0..columns).map(column).collect()
}

/// The numbers in a message, for each column.
fn numbers(message: &[u8], columns: usize, modulus: u128) -> Vec<Numbers> {
    let bits = 128 - (modulus - 1).leading_zeros() as usize;
    let length = (ROWS * bits).div_ceil(8);
    assert_eq!(message.len(), columns * length);
    let number = |bytes: &[u8], row: usize| {
        let bit = |at: usize| u128::from(bytes[at / 8] >> (at % 8) & 1);
        (0..bits).fold(0, |number, place| number | bit(row * bits + place) << place)
    };
    message.chunks(length).map(|bytes| (0..ROWS).map(|row| number(bytes, row)).collect()).collect()
}

/// Residues are uniform: their highest bits are, and their lowest.
fn uniform_residues(what: &str, modulus: u128, residues: impl Iterator<Item = u128>) -> Check {
    let residues: Numbers = residues.collect();
    uniform(what, &byte_counts(residues.iter().map(|residue| (residue * 256 / modulus) as u8)))?;
    uniform(what, &byte_counts(residues.iter().map(|residue| *residue as u8)))
}

fn difference(modulus: u128, a: u128, b: u128) -> u128 {
    (a % modulus + modulus - b % modulus) % modulus
}

/// Checks the view against a simulator that knows no x. Corrections are uniform, and unrelated to the chooser's words,
/// to those of other columns, rows and planes, and to the order of rows.
fn simulated(planes: &[Plane]) -> Check {
    for (number, plane) in planes.iter().enumerate() {
        for (column, corrections) in plane.corrections.iter().enumerate() {
            of_column(plane, corrections)?;
            let m = plane.modulus;
            for other in &plane.corrections[..column] {
                let pairs = corrections.iter().zip(other).map(|(a, b)| difference(m, *a, *b));
                uniform_residues("differences between columns", m, pairs)?;
            }
            for other in &planes[..number] {
                let m = m.min(other.modulus);
                let pairs = corrections.iter().zip(&other.corrections[column]).map(|(a, b)| difference(m, *a, *b));
                uniform_residues("differences between planes", m, pairs)?;
            }
        }
    }
    Ok(())
}

/// The corrections of one column and plane, compared with each other and with the chooser's words, those for all
/// columns.
fn of_column(plane: &Plane, corrections: &[u128]) -> Check {
    let m = plane.modulus;
    for half in [0..ROWS / 2, ROWS / 2..ROWS] {
        for choice in [false, true] {
            let rows: Vec<usize> = half.clone().filter(|&row| plane.choices[row] == choice).collect();
            if rows.len() < 1000 {
                continue;
            }
            uniform_residues("corrections", m, rows.iter().map(|&row| corrections[row]))?;
            for words in &plane.words {
                let sums = rows.iter().map(|&row| (corrections[row] + words[row]) % m);
                uniform_residues("sums with the chooser's words", m, sums)?;
                let differences = rows.iter().map(|&row| difference(m, corrections[row], words[row]));
                uniform_residues("differences from the chooser's words", m, differences)?;
            }
        }
    }
    for distance in [1, 128, 1024] {
        let pairs = corrections.iter().zip(&corrections[distance..]).map(|(a, b)| difference(m, *a, *b));
        uniform_residues("differences between rows", m, pairs)?;
    }
    Ok(())
}

/// Words that are cut from the OTs' own blocks, or from hashes of them; of one machine word, of two, of two in the
/// lowest planes only; residues. Modulus, integers, columns of the sender and of the chooser.
fn kinds() -> [(Modulus, Integers, (usize, usize)); 6] {
    [
        (modulus(1 << 8), Integers::BINARY, (3, 1)),
        (modulus(1 << 8), Integers::BINARY, (20, 1)),
        (modulus(1 << 20), integers(4, true), (3, 2)),
        (modulus(1 << 100), integers(4, false), (3, 2)),
        (modulus(1 << 66), integers(4, true), (3, 2)),
        (modulus(65537), integers(4, true), (3, 2)),
    ]
}

/// Checks what the chooser sees of all columns of the sender's and its own, or of each with one of the other side's in
/// turn.
fn uniform_words(all: bool) {
    for (kind, (modulus, integers, (senders, choosers))) in kinds().into_iter().enumerate() {
        let (low, high) = integers.range();
        let of = |count: usize, seed: u8| -> Vec<Vec<i64>> {
            (0..count as u8).map(|column| random_column(integers, ROWS, 0.5, seed + column)).collect()
        };
        let mut halves = of(senders, 1);
        halves[senders - 1] = (0..ROWS).map(|row| if row >= ROWS / 2 { high } else { low }).collect();
        let same = |count, value| vec![vec![value; ROWS]; count];
        let choices = [same(choosers, 0), same(choosers, if integers.signed() { -1 } else { high }), of(choosers, 50)];
        let inputs = [same(senders, 0), same(senders, high), halves];
        for (dealt, first) in (1..).zip(&inputs) {
            for (place, second) in choices.iter().enumerate() {
                if !all && (kind + dealt as usize) % choices.len() != place {
                    continue;
                }
                let dot = Dot { integers, rows: ROWS, first: first.clone(), second: second.clone() };
                simulated(&chooser_sees(&dot, modulus, dealt)).unwrap_or_else(|leak| panic!("{modulus}: {leak}"));
            }
        }
    }
}

#[test]
fn the_chooser_sees_uniform_words_whatever_the_sender_has() {
    uniform_words(false);
}

#[test]
#[ignore = "slow: every combination"]
fn the_chooser_sees_uniform_words_whatever_both_have() {
    uniform_words(true);
}

/// Leaky variants of what the chooser sees, each of which must fail the check that is there for it, in all kinds of
/// words.
#[test]
fn corrections_that_say_something_are_found() {
    for (modulus, integers, (senders, choosers)) in kinds() {
        let dot = Dot::random(integers, ROWS, (senders, choosers), 0.5, 60);
        let honest = || chooser_sees(&dot, modulus, 4);
        let last = senders - 1;
        let x = |column: usize, row: usize, m: u128| i128::from(dot.first[column][row]).rem_euclid(m as i128) as u128;
        let found = |check: &str, spoil: &dyn Fn(&mut [Plane], usize)| {
            let mut planes = honest();
            (0..ROWS).for_each(|row| spoil(&mut planes, row));
            let leak = simulated(&planes).unwrap_err();
            assert!(leak.contains(check), "modulo {modulus}: {leak} instead of {check}");
        };
        simulated(&honest()).unwrap();
        // The sender's x where words should be; under the same words in all rows.
        found("corrections", &|planes, row| {
            let plane = planes.last_mut().unwrap();
            plane.corrections[last][row] = x(last, row, plane.modulus);
        });
        found("corrections", &|planes, row| {
            let plane = planes.last_mut().unwrap();
            plane.corrections[last][row] = (77 + x(last, row, plane.modulus)) % plane.modulus;
        });
        // One column under the chooser's own word, and under the word that it has for another column.
        for under in [last, 0] {
            found("the chooser's words", &|planes, row| {
                let plane = planes.last_mut().unwrap();
                let m = plane.modulus;
                plane.corrections[last][row] = (plane.words[under][row] + x(last, row, m)) % m;
            });
            found("the chooser's words", &|planes, row| {
                let plane = planes.last_mut().unwrap();
                let m = plane.modulus;
                plane.corrections[last][row] = difference(m, x(last, row, m), plane.words[under][row]);
            });
        }
        // Two columns under the same words.
        found("differences between columns", &|planes, row| {
            let plane = planes.last_mut().unwrap();
            let m = plane.modulus;
            let words = difference(m, plane.corrections[0][row], x(0, row, m));
            plane.corrections[last][row] = (words + x(last, row, m)) % m;
        });
        // Some rows under the words of the one before, not so many that corrections would be found to be alike.
        found("differences between rows", &|planes, row| {
            let plane = planes.last_mut().unwrap();
            let (m, other) = (plane.modulus, row.saturating_sub(1));
            if row % 16 == 1 {
                let words = difference(m, plane.corrections[last][other], x(last, other, m));
                plane.corrections[last][row] = (words + x(last, row, m)) % m;
            }
        });
        // Two planes of one of the chooser's columns under the same words, and the same plane of two.
        for to in [1, integers.bits() as usize] {
            if choosers * integers.bits() as usize <= to {
                continue;
            }
            found("differences between planes", &|planes, row| {
                let words = difference(planes[0].modulus, planes[0].corrections[0][row], x(0, row, planes[0].modulus));
                let m = planes[to].modulus;
                planes[to].corrections[0][row] = (words + x(0, row, m)) % m;
            });
        }
    }
}

/// Checks all traffic: the labels that are due, as many bytes as the formulas say, uniform, and never the same twice.
#[test]
fn frames_say_nothing_but_sizes() {
    for (extension, receiver_labels, sender_labels) in [
        (K4, vec![BASE_KEY, TREES, CORRECTIONS], vec![BASE_POINTS, MESSAGES]),
        (
            Extension::Silent,
            vec![BASE_KEY, TREES, CORRECTIONS, FLIPS],
            vec![BASE_POINTS, TREE_SUMS, TREE_TIPS, MESSAGES],
        ),
    ] {
        let (zeros, ones) = (vec![vec![0; 40_000]], vec![vec![1; 40_000]]);
        let dots = [(&zeros, &zeros), (&zeros, &ones), (&ones, &zeros), (&ones, &ones), (&ones, &ones)];
        let mut runs = Vec::new();
        for (seed, (first, second)) in (1..).zip(dots) {
            let dot = Dot { integers: Integers::BINARY, rows: 40_000, first: first.clone(), second: second.clone() };
            let params = dot.params(modulus(1 << 16), extension);
            let recorded = recorded(|receiver, sender| {
                let ended = dot.run_as(&params, Source::Protocol, receiver, sender, (seed, seed + 100));
                assert!(ended.0.is_ok() && ended.1.is_ok());
            });
            for (frames, side) in [(&recorded.sender, Side::First), (&recorded.receiver, Side::Second)] {
                let bytes: usize = frames.iter().map(|frame| 10 + frame.payload.len()).sum();
                assert_eq!(bytes as u64 - 10, params.bytes_sent_by(side));
            }
            runs.push(recorded);
        }
        let labels = |frames: &[Frame]| -> HashSet<u8> {
            frames.iter().filter(|frame| frame.kind == Frame::DATA).map(|frame| frame.label).collect()
        };
        for run in &runs {
            assert_eq!(labels(&run.receiver), receiver_labels.iter().map(|label| label.code).collect());
            assert_eq!(labels(&run.sender), sender_labels.iter().map(|label| label.code).collect());
        }
        let under = |label: u8| -> Vec<Vec<u8>> {
            let of_run = |run: &Recorded| [payloads(&run.receiver, label), payloads(&run.sender, label)].concat();
            runs.iter().map(of_run).collect()
        };
        // Points have their own tests.
        let uniform_labels = [TREES, CORRECTIONS, FLIPS, TREE_SUMS, TREE_TIPS, MESSAGES];
        let all: Vec<u8> = receiver_labels.iter().chain(&sender_labels).map(|label| label.code).collect();
        for label in uniform_labels.iter().filter(|label| all.contains(&label.code)) {
            fresh(&under(label.code)).unwrap_or_else(|leak| panic!("{extension}, {}: {leak}", label.name));
        }
        // Leaky: the choices themselves; the correlations themselves; the same run again.
        let mut messages = under(MESSAGES.code);
        let length = messages[0].len();
        fresh(&[messages[0].clone(), [1, 0].repeat(length / 2)]).unwrap_err();
        fresh(&[vec![0; length], messages[0].clone()]).unwrap_err();
        messages[1] = messages[0].clone();
        fresh(&messages).unwrap_err();
    }
}

/// Bytes of several runs are equally many, uniform, and unrelated from run to run.
fn fresh(runs: &[Vec<u8>]) -> Check {
    for pair in runs.windows(2) {
        if pair[0].len() != pair[1].len() {
            return Err("sizes depend on the input".into());
        }
        uniform("differences between runs", &byte_counts(pair[0].iter().zip(&pair[1]).map(|(a, b)| a ^ b)))?;
    }
    runs.iter().try_for_each(|run| uniform("bytes", &byte_counts(run.iter().copied())))
}
