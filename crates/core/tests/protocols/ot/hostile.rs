//! Oblivious transfer with a peer that breaks the protocol at every message, in either role: the victim must end with
//! the right error, and neither side may panic, hang or take what failed its check for good.
//!
//! Receivers that cheat within well-formed messages, and how often they are caught, are in `softspoken/cheating.rs`.

use std::sync::Arc;

use crate::support;
use crate::support::attack::{
    Attack, Parties, Sent, by_turns, change, in_all_wrong_forms, no_points, oversized, run_all, sent,
};
use crate::support::two::run_over;
use crate::support::{Frame, blames, passing, rng, session, tapped};
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
use tacita_core::{Channel, Result, Role};

/// Variant of the protocol that is run.
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

/// Checks that all blocks that a party has when its role fails are zero.
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
            let mut ot = base::BaseOtReceiver::new(&session, "test", &mut support::rng(3));
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
        Variant::Base => random(&mut base::BaseOtSender::new(&session, "test", rng), channel),
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

impl Parties for Variant {
    fn part(&self, role: Role, channel: &mut Channel) -> Result<()> {
        match role {
            Role::Receiver => receive(*self, channel),
            Role::Sender => send(*self, channel),
        }
    }

    fn name(&self) -> String {
        format!("{self:?}")
    }
}

/// Every frame of every variant from both roles, the closing one included.
fn frames() -> Vec<Sent<Variant>> {
    VARIANTS.into_iter().flat_map(|variant| sent(Arc::new(variant))).collect()
}

#[test]
fn every_message_in_a_wrong_form() {
    let frames = frames();
    run_all(by_turns(&frames, in_all_wrong_forms));
    run_all(by_turns(&frames, oversized));
}

#[test]
#[ignore = "slow: every message of every variant in every form"]
fn every_message_of_every_variant_in_a_wrong_form() {
    run_all(in_all_wrong_forms(&frames()));
}

#[test]
fn points_that_are_none() {
    run_all(no_points(&frames(), &[BASE_POINTS, BASE_KEY]));
}

/// One bit of what the receiver sends is another one: the sender of a malicious form notices, wherever it is. A bit of
/// the trees may be one that this sender does not need; the chain of challenges depends on it all the same.
#[test]
fn every_kind_of_bit_is_checked() {
    let mut attacks = Vec::new();
    for (case, culprit, frame, data) in frames() {
        let checked = [TREES.code, CORRECTIONS.code, CONSISTENCY.code].contains(&data.label);
        if data.kind != Frame::DATA || !checked || *case == Variant::SemiHonest {
            continue;
        }
        let length = data.payload.len();
        for at in [0, 1, 15, 16, 47, length / 3, length / 2, length - 33, length - 32, length - 1] {
            let mutation = change(move |frame| frame.payload[at] ^= 0x10);
            attacks.push(Attack {
                name: format!("byte {at}"),
                case: case.clone(),
                culprit,
                frame,
                mutation,
                expected: blames,
            });
        }
        attacks.push(Attack {
            name: "all zero".into(),
            case,
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
    for (case, culprit, frame, data) in frames() {
        let packed = *case == Variant::Additive && data.label == MESSAGES.code || data.label == FLIPS.code;
        if data.kind == Frame::DATA && packed {
            let mutation = change(|frame| *frame.payload.last_mut().unwrap() |= 0x80);
            attacks.push(Attack { name: "beyond".into(), case, culprit, frame, mutation, expected: blames });
        }
    }
    run_all(attacks);
}

/// Two parties of which one takes the other's form, k or purpose for another one.
#[test]
fn parties_that_do_not_agree_fail() {
    let run = |receiver_params: Params, sender_params: Params, sender_purpose: &str| {
        let receive = |channel: &mut Channel| {
            let (mut base, _) = ideal::pair([9; 32]);
            let rng = &mut rng(2);
            let mut ot = RandomReceiver::setup_over(&receiver_params, &session(), "test", &mut base, channel, rng)?;
            ot.receive(&Choices::zeros(100), &mut [Block::ZERO; 100], channel)
        };
        let send = |channel: &mut Channel| {
            let (_, mut base) = ideal::pair([9; 32]);
            let rng = &mut rng(1);
            let mut ot = RandomSender::setup_over(&sender_params, &session(), sender_purpose, &mut base, channel, rng)?;
            ot.send(&mut [[Block::ZERO; 2]; 100], channel)
        };
        run_over(tapped(passing(), passing()), &receive, &send).1
    };
    let malicious = |k| Params::new(Security::Malicious, k).unwrap();
    run(malicious(4), malicious(4), "test").unwrap();
    assert!(blames(&run(malicious(4), malicious(4), "another").unwrap_err()));
    assert!(blames(&run(malicious(4), malicious(5), "test").unwrap_err()));
    assert!(blames(&run(Params::new(Security::SemiHonest, 4).unwrap(), malicious(4), "test").unwrap_err()));
}
