//! Oblivious transfer with a peer that breaks the protocol at every message, in either role: the victim must end with the
//! right error, and neither side may panic, hang or take what failed its check for good.
//!
//! Receivers that cheat within well-formed messages, and how often they are caught, are in `softspoken/cheating.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::support;
use crate::support::{Frame, Tap, blames, passing, rng, session, tapped};
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::additive::{self, Sharing};
use tacita_core::primitive::ot::softspoken::{
    CorrelatedReceiver, CorrelatedSender, Params, RandomReceiver, RandomSender,
};
use tacita_core::primitive::ot::{
    BASE_KEY, BASE_POINTS, CONSISTENCY, CORRECTIONS, Choices, CorrelatedOtReceiver, CorrelatedOtSender, FLIPS,
    MESSAGES, RandomOtReceiver, RandomOtSender, StoredReceiver, StoredSender, TREES, base, chosen, ideal,
};
use tacita_core::security::Security;
use tacita_core::{Channel, Error, Result};

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Base,
    /// The whole protocol, base OTs included.
    Whole,
    SemiHonest,
    Malicious,
    Correlated,
    Additive,
    Chosen,
    Stored,
}

const VARIANTS: [Variant; 8] = [
    Variant::Base,
    Variant::Whole,
    Variant::SemiHonest,
    Variant::Malicious,
    Variant::Correlated,
    Variant::Additive,
    Variant::Chosen,
    Variant::Stored,
];

/// OTs of two calls, whose messages have different lengths.
const CALLS: [usize; 2] = [203, 77];

const BITS: u32 = 13;

fn params(variant: Variant) -> Params {
    let security = if variant == Variant::SemiHonest { Security::SemiHonest } else { Security::Malicious };
    Params::new(security, 5).unwrap()
}

/// All blocks that a party has when its role fails must be zero.
fn zero_if_failed(result: &Result<()>, outputs: &[Block]) {
    assert!(result.is_ok() || outputs.iter().all(|block| *block == Block::ZERO), "outputs of a call that failed");
}

fn receive(variant: Variant, channel: &mut Channel) -> Result<()> {
    let (params, session, rng) = (params(variant), session(), &mut rng(1));
    let (mut base, mut dealt) = ideal::pair([9; 32]);
    let mut random = |ot: &mut dyn RandomOtReceiver, channel: &mut Channel| {
        CALLS.iter().try_for_each(|count| {
            let mut outputs = vec![Block::ALL_ONES; *count];
            let received = ot.receive(&Choices::random(*count, rng), &mut outputs, channel);
            zero_if_failed(&received, &outputs);
            received
        })
    };
    match variant {
        Variant::Base => {
            let mut ot = base::Receiver::new(&session, "test", &mut support::rng(3));
            random(&mut ot, channel)
        }
        Variant::Whole => {
            let mut ot = RandomReceiver::setup(&params, &session, "test", channel, &mut support::rng(3))?;
            random(&mut ot, channel)
        }
        Variant::SemiHonest | Variant::Malicious => {
            let rng = &mut support::rng(3);
            let mut ot = RandomReceiver::setup_over(&params, &session, "test", &mut base, channel, rng)?;
            random(&mut ot, channel)
        }
        Variant::Correlated => {
            let setup_rng = &mut support::rng(3);
            let mut ot = CorrelatedReceiver::setup_over(&params, &session, "test", &mut base, channel, setup_rng)?;
            CALLS.iter().try_for_each(|count| {
                let mut outputs = vec![Block::ALL_ONES; *count];
                let received = ot.receive(&Choices::random(*count, rng), &mut outputs, channel);
                zero_if_failed(&received, &outputs);
                received
            })
        }
        Variant::Additive => CALLS.iter().try_for_each(|count| {
            let mut shares = vec![7u16; *count];
            let choices = Choices::random(*count, rng);
            let received = additive::receive(Sharing::modulo(BITS)?, &mut dealt, &choices, &mut shares, channel);
            assert!(received.is_ok() || shares.iter().all(|share| *share == 0));
            received
        }),
        Variant::Chosen => CALLS.iter().try_for_each(|count| {
            let mut outputs = vec![7; *count * 3];
            let received = chosen::receive(&mut dealt, &Choices::random(*count, rng), 3, &mut outputs, channel);
            assert!(received.is_ok() || outputs.iter().all(|byte| *byte == 0));
            received
        }),
        Variant::Stored => {
            let (choices, mut blocks) = (Choices::random(1000, &mut support::rng(5)), vec![Block::ZERO; 1000]);
            RandomOtReceiver::receive(&mut dealt, &choices, &mut blocks, channel)?;
            let mut ot = StoredReceiver::new(choices, blocks);
            random(&mut ot, channel)
        }
    }
}

fn send(variant: Variant, channel: &mut Channel) -> Result<()> {
    let (params, session, rng) = (params(variant), session(), &mut rng(2));
    let (mut dealt, mut base) = ideal::pair([9; 32]);
    let random = |ot: &mut dyn RandomOtSender, channel: &mut Channel| {
        CALLS.iter().try_for_each(|count| {
            let mut outputs = vec![[Block::ALL_ONES; 2]; *count];
            let sent = ot.send(&mut outputs, channel);
            zero_if_failed(&sent, outputs.as_flattened());
            sent
        })
    };
    match variant {
        Variant::Base => random(&mut base::Sender::new(&session, "test", rng), channel),
        Variant::Whole => random(&mut RandomSender::setup(&params, &session, "test", channel, rng)?, channel),
        Variant::SemiHonest | Variant::Malicious => {
            random(&mut RandomSender::setup_over(&params, &session, "test", &mut base, channel, rng)?, channel)
        }
        Variant::Correlated => {
            let delta = Block::random(rng);
            let mut ot = CorrelatedSender::setup_over(&params, &session, "test", delta, &mut base, channel)?;
            CALLS.iter().try_for_each(|count| {
                let mut outputs = vec![Block::ALL_ONES; *count];
                let sent = ot.send(&mut outputs, channel);
                zero_if_failed(&sent, &outputs);
                sent
            })
        }
        Variant::Additive => CALLS.iter().try_for_each(|count| {
            let mut shares = vec![7u16; *count];
            let sent = additive::send(Sharing::modulo(BITS)?, &mut dealt, &vec![3u16; *count], &mut shares, channel);
            assert!(sent.is_ok() || shares.iter().all(|share| *share == 0));
            sent
        }),
        Variant::Chosen => CALLS.iter().try_for_each(|count| chosen::send(&mut dealt, 3, &vec![5; 6 * count], channel)),
        Variant::Stored => {
            let mut pairs = vec![[Block::ZERO; 2]; 1000];
            RandomOtSender::send(&mut dealt, &mut pairs, channel)?;
            random(&mut StoredSender::new(pairs), channel)
        }
    }
}

fn conclude(mut channel: Channel, role: impl FnOnce(&mut Channel) -> Result<()>) -> Result<()> {
    match role(&mut channel) {
        Ok(()) => channel.finish().map(drop),
        Err(error) => {
            channel.abort(&error);
            Err(error)
        }
    }
}

fn run_over(variant: Variant, receiver: Channel, sender: Channel) -> (Result<()>, Result<()>) {
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || conclude(sender, |channel| send(variant, channel)));
        let received = conclude(receiver, |channel| receive(variant, channel));
        (received, sending.join().unwrap())
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Culprit {
    Receiver,
    Sender,
}

/// Every frame of every variant from both roles, the closing one included.
fn frames() -> Vec<(Variant, Culprit, usize, Frame)> {
    let mut all = Vec::new();
    for variant in VARIANTS {
        let recorded: [Arc<Mutex<Vec<Frame>>>; 2] = Default::default();
        let recorder = |frames: &Arc<Mutex<Vec<Frame>>>| -> Arc<Tap> {
            let frames = frames.clone();
            Arc::new(move |frame| {
                frames.lock().unwrap().push(frame.clone());
                Some(vec![frame])
            })
        };
        let (receiver, sender) = tapped(recorder(&recorded[0]), recorder(&recorded[1]));
        let (received, sent) = run_over(variant, receiver, sender);
        received.unwrap();
        sent.unwrap();
        for (culprit, frames) in [Culprit::Receiver, Culprit::Sender].into_iter().zip(recorded) {
            let frames = std::mem::take(&mut *frames.lock().unwrap());
            all.extend(frames.into_iter().enumerate().map(|(number, frame)| (variant, culprit, number, frame)));
        }
    }
    all
}

/// What is done to one frame; `None` cuts the connection.
type Mutation = Arc<dyn Fn(Frame) -> Option<Vec<Frame>> + Send + Sync>;

/// One attack: the culprit's frame with this number is replaced.
struct Attack {
    name: String,
    variant: Variant,
    culprit: Culprit,
    frame: usize,
    mutation: Mutation,
    /// What the victim must make of it.
    expected: fn(&Error) -> bool,
}

/// Runs all attacks, many at once, because most of their time is spent waiting for the other end to read an abort.
fn run_all(attacks: Vec<Attack>) {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                while let Some(attack) = attacks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(failure) = run_attack(attack) {
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        !attacks.is_empty() && failures.is_empty(),
        "{} of {} attacks: {failures:#?}",
        failures.len(),
        attacks.len()
    );
}

fn run_attack(attack: &Attack) -> std::result::Result<(), String> {
    let (count, mutation, frame) = (AtomicUsize::new(0), attack.mutation.clone(), attack.frame);
    let tap: Arc<Tap> = Arc::new(move |data| match count.fetch_add(1, Ordering::Relaxed) == frame {
        true => mutation(data),
        false => Some(vec![data]),
    });
    let (receiver, sender) = match attack.culprit {
        Culprit::Receiver => tapped(tap, passing()),
        Culprit::Sender => tapped(passing(), tap),
    };
    let (received, sent) = run_over(attack.variant, receiver, sender);
    let victim = match attack.culprit {
        Culprit::Receiver => sent,
        Culprit::Sender => received,
    };
    match victim {
        Err(error) if (attack.expected)(&error) => Ok(()),
        other => {
            let Attack { name, variant, culprit, frame, .. } = attack;
            Err(format!("{variant:?}, {culprit:?} at frame {frame}, {name}: {other:?}"))
        }
    }
}

fn network(error: &Error) -> bool {
    matches!(error, Error::Network { .. })
}

fn change(change: impl Fn(&mut Frame) + Send + Sync + 'static) -> Mutation {
    Arc::new(move |mut frame| {
        change(&mut frame);
        Some(vec![frame])
    })
}

#[test]
fn every_message_in_a_wrong_form() {
    let mut attacks = Vec::new();
    for (variant, culprit, frame, data) in frames() {
        let mut add = |name: &str, expected: fn(&Error) -> bool, mutation: Mutation| {
            attacks.push(Attack { name: name.into(), variant, culprit, frame, mutation, expected });
        };
        add("cut", network, Arc::new(|_| None));
        if data.kind == Frame::CLOSE {
            // The honest end behind the tap then hangs up, which may be noticed first.
            add(
                "data at the end",
                |error| blames(error) || network(error),
                change(|frame| (frame.kind, frame.label) = (Frame::DATA, 1)),
            );
            continue;
        }
        add("shortened", blames, change(|frame| frame.payload.truncate(frame.payload.len() - 1)));
        add("lengthened", blames, change(|frame| frame.payload.push(0)));
        add("oversized", blames, change(|frame| frame.payload.resize(1 << 20, 0)));
        add("emptied", blames, change(|frame| frame.payload.clear()));
        add("wrong label", blames, change(|frame| frame.label ^= 0x40));
        add("other kind", blames, change(|frame| (frame.kind, frame.payload) = (9, Vec::new())));
        add("closed early", blames, Arc::new(|_| Some(vec![Frame::close()])));
        add("twice", blames, Arc::new(|frame| Some(vec![frame.clone(), frame])));
        // Both may then wait for each other, until the transport has heard nothing for too long.
        add("left out", |error| blames(error) || network(error), Arc::new(|_| Some(Vec::new())));
    }
    run_all(attacks);
}

#[test]
fn points_that_are_none() {
    let none: [(&str, Vec<u8>); 4] = [
        ("the identity", vec![0; 32]),
        ("not reduced", [&[0xed][..], &[0xff; 30], &[0x7f]].concat()),
        ("negative", [&[1][..], &[0; 31]].concat()),
        ("all ones", vec![0xff; 32]),
    ];
    let mut attacks = Vec::new();
    for (variant, culprit, frame, data) in frames() {
        if data.kind != Frame::DATA || ![BASE_POINTS.code, BASE_KEY.code].contains(&data.label) {
            continue;
        }
        for (name, bytes) in none.clone() {
            for at_end in [false, true] {
                let bytes = bytes.clone();
                let mutation = change(move |frame| {
                    let start = if at_end { frame.payload.len() - 32 } else { 0 };
                    frame.payload[start..start + 32].copy_from_slice(&bytes);
                });
                attacks.push(Attack { name: name.into(), variant, culprit, frame, mutation, expected: blames });
            }
        }
    }
    run_all(attacks);
}

/// One bit of what the receiver sends is another one: the sender of a malicious form notices, wherever it is. A bit of
/// the trees may be one that this sender does not need; the chain of challenges depends on it all the same.
#[test]
fn every_kind_of_bit_is_checked() {
    let mut attacks = Vec::new();
    for (variant, culprit, frame, data) in frames() {
        let checked = [TREES.code, CORRECTIONS.code, CONSISTENCY.code].contains(&data.label);
        if data.kind != Frame::DATA || !checked || variant == Variant::SemiHonest {
            continue;
        }
        let length = data.payload.len();
        for at in [0, 1, 15, 16, 47, length / 3, length / 2, length - 33, length - 32, length - 1] {
            let mutation = change(move |frame| frame.payload[at] ^= 0x10);
            attacks.push(Attack { name: format!("byte {at}"), variant, culprit, frame, mutation, expected: blames });
        }
        attacks.push(Attack {
            name: "all zero".into(),
            variant,
            culprit,
            frame,
            mutation: change(|frame| frame.payload.fill(0)),
            expected: blames,
        });
    }
    run_all(attacks);
}

#[test]
fn bits_that_nobody_sends() {
    let mut attacks = Vec::new();
    for (variant, culprit, frame, data) in frames() {
        let packed = variant == Variant::Additive && data.label == MESSAGES.code || data.label == FLIPS.code;
        if data.kind == Frame::DATA && packed {
            let mutation = change(|frame| *frame.payload.last_mut().unwrap() |= 0x80);
            attacks.push(Attack { name: "beyond".into(), variant, culprit, frame, mutation, expected: blames });
        }
    }
    run_all(attacks);
}

/// Two parties of which one takes the other's form, k or purpose for another one.
#[test]
fn parties_that_do_not_agree_fail() {
    let run = |receiver_params: Params, sender_params: Params, sender_purpose: &str| {
        let (receiver, sender) = tapped(passing(), passing());
        std::thread::scope(|scope| {
            let sending = scope.spawn(move || {
                conclude(sender, |channel| {
                    let (_, mut base) = ideal::pair([9; 32]);
                    let rng = &mut rng(1);
                    let mut ot =
                        RandomSender::setup_over(&sender_params, &session(), sender_purpose, &mut base, channel, rng)?;
                    ot.send(&mut [[Block::ZERO; 2]; 100], channel)
                })
            });
            let _ = conclude(receiver, |channel| {
                let (mut base, _) = ideal::pair([9; 32]);
                let rng = &mut rng(2);
                let mut ot = RandomReceiver::setup_over(&receiver_params, &session(), "test", &mut base, channel, rng)?;
                ot.receive(&Choices::zeros(100), &mut [Block::ZERO; 100], channel)
            });
            sending.join().unwrap()
        })
    };
    let malicious = |k| Params::new(Security::Malicious, k).unwrap();
    run(malicious(4), malicious(4), "test").unwrap();
    assert!(blames(&run(malicious(4), malicious(4), "another").unwrap_err()));
    assert!(blames(&run(malicious(4), malicious(5), "test").unwrap_err()));
    assert!(blames(&run(Params::new(Security::SemiHonest, 4).unwrap(), malicious(4), "test").unwrap_err()));
}
