//! The comparison of shared numbers: what each party computes on its shares. Its peer's messages and its OTs are there
//! before the clock starts.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::channel::Label;
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender};
use tacita_core::protocol::dot::{Modulus, Shares};
use tacita_core::protocol::shares::at_least::{first_over, second_over};
use tacita_core::protocol::shares::{ANSWERS, HIDDEN_BITS};
use tacita_core::{Channel, Result, Side};

use super::measure::{Make, Operation, trial};

/// Numbers that are compared, their bits, and what with.
const NUMBERS: usize = 256;
const BITS: u32 = 14;
const BOUND: u128 = (1 << 13) - 1;
const THRESHOLD: u128 = 1 << 12;

/// Labels of the exchange after the first party's tables: a level of the tree each, and the answers.
const EXCHANGED: [Label; 3] = [HIDDEN_BITS, HIDDEN_BITS, ANSWERS];

/// Longer than any message here.
const MAX_MESSAGE_BYTES: usize = 1 << 16;

/// Returns all operations of this module.
pub fn all() -> Vec<Operation> {
    let part = |side| -> Make { Box::new(move |rng| compared(side, rng)) };
    vec![
        Operation::new("comparison: first party's shares", "zeros", part(Side::First), bit_by_bit()),
        Operation::new("comparison: second party's shares", "zeros", part(Side::Second), bit_by_bit()),
    ]
}

fn shares(residues: &[u128]) -> Shares {
    let modulus = Modulus::power_of_two(BITS).expect("there are such shares");
    Shares::new(modulus, residues.to_vec()).expect("they are below the modulus")
}

fn random(rng: &mut ChaCha20Rng) -> Vec<u128> {
    (0..NUMBERS).map(|_| u128::from(rng.next_u32() >> (32 - BITS))).collect()
}

fn compared(side: Side, rng: &mut ChaCha20Rng) -> super::measure::Trial {
    let peer = Rc::new(RefCell::new(None));
    let (of_random, messages) = (peer.clone(), recorded(side));
    let mut own = ChaCha20Rng::from_rng(rng);
    let prepared = move |rng: &mut ChaCha20Rng| {
        let (party, mut other) = Channel::pair("party", "peer");
        let mut sent = messages.iter().map(|(label, message)| other.send(*label, message.clone()));
        sent.try_for_each(|sent| sent).expect("there is room for all");
        drop(sent);
        of_random.replace(Some((party, other)));
        random(rng)
    };
    trial(vec![0; NUMBERS], prepared, move |residues| {
        let mut channels = peer.borrow_mut();
        let (channel, _) = channels.as_mut().expect("the peer has sent");
        run(side, residues, channel, &mut own).expect("the messages are those of a run")
    })
}

fn run(side: Side, residues: &[u128], channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Vec<bool>> {
    match side {
        Side::First => first_over(&shares(residues), BOUND, THRESHOLD, &mut Given, channel, rng),
        Side::Second => second_over(&shares(residues), BOUND, THRESHOLD, &mut Given, channel, rng),
    }
}

/// The messages that the other party sends in a run.
fn recorded(side: Side) -> Vec<(Label, Vec<u8>)> {
    let [mut first, mut second] = [Side::First, Side::Second].map(|side| {
        let (mut party, between) = Channel::pair("party", "between");
        let thread = thread::spawn(move || {
            let mut rng = ChaCha20Rng::from_seed([side as u8; 32]);
            run(side, &random(&mut rng), &mut party, &mut rng).map(|_| party)
        });
        (between, thread, Vec::new())
    });
    let pass = |label: Label, from: &mut (Channel, _, Vec<_>), to: &mut (Channel, _, Vec<_>)| -> Result<()> {
        let message = from.0.receive_up_to(label, MAX_MESSAGE_BYTES)?;
        from.2.push((label, message.clone()));
        to.0.send(label, message)
    };
    let passed = pass(MESSAGES, &mut first, &mut second).and_then(|()| {
        EXCHANGED.iter().try_for_each(|label| {
            pass(*label, &mut first, &mut second)?;
            pass(*label, &mut second, &mut first)
        })
    });
    passed.expect("both parties run");
    let [of_first, of_second] = [first, second].map(|(_, thread, messages)| {
        thread.join().expect("it does not panic").expect("it succeeds");
        messages
    });
    match side {
        Side::First => of_second,
        Side::Second => of_first,
    }
}

/// The control: bits of a number are compared from the highest on, until they differ.
fn bit_by_bit() -> Make {
    Box::new(|_| {
        trial(vec![0; NUMBERS], random, |residues| {
            let steps = |residue: &u128| (0..BITS).rev().take_while(|bit| residue >> bit & 1 == 0).count();
            residues.iter().map(steps).sum::<usize>()
        })
    })
}

/// OTs whose blocks depend on nothing.
struct Given;

impl RandomOtSender for Given {
    fn send(&mut self, outputs: &mut [[Block; 2]], _: &mut Channel) -> Result<()> {
        outputs.fill([Block(0x1234_5678_9abc_def0), Block(0x0fed_cba9_8765_4321)]);
        Ok(())
    }
}

impl RandomOtReceiver for Given {
    fn receive(&mut self, _: &Choices, outputs: &mut [Block], _: &mut Channel) -> Result<()> {
        outputs.fill(Block(0x1234_5678_9abc_def0));
        Ok(())
    }
}
