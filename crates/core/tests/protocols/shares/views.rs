//! Tests that everything each party of a comparison receives can be made up from its own shares and the answers. Tables
//! and hidden bits are uniform whatever is compared, and the peer's shares of the answers are the answers less the own
//! ones. Leaky variants, with OTs that hide nothing and with masks that are not random, fail the same checks.

use std::convert::Infallible;

use crate::support::two;
use crate::support::views::{Check, byte_counts, uniform};
use crate::support::{payloads, rng};
use rand_core::{TryCryptoRng, TryRng};
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender, ideal};
use tacita_core::protocol::dot::{Modulus, Shares};
use tacita_core::protocol::shares::at_least;
use tacita_core::protocol::shares::{ANSWERS, HIDDEN_BITS};
use tacita_core::{Channel, Result};

/// A multiple of eight, so that all bits of a message count.
const COUNT: usize = 8000;
const BITS: u32 = 20;
const BOUND: u128 = 300_000;

/// Messages that travelled, by label.
struct View {
    tables: Vec<u8>,
    /// Hidden bits of the first party, and of the second.
    hidden: [Vec<u8>; 2],
    answers: [Vec<u8>; 2],
    learned: Vec<bool>,
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

impl View {
    /// Bits of all numbers side by side, so that a bit that is the same in all of them shows.
    fn check(&self) -> Check {
        let bytes = |what: &str, bytes: &[u8]| uniform(what, &byte_counts(bytes.iter().copied()));
        bytes("tables", &self.tables)?;
        // Both parties know the sum of what both sent.
        let opened = xor(&self.hidden[0], &self.hidden[1]);
        for hidden in [&self.hidden[0], &self.hidden[1], &opened] {
            bytes("hidden bits", hidden)?;
            for plane in hidden.chunks(COUNT / 8) {
                uniform("bits of one input", &bit_counts(plane))?;
            }
        }
        for answers in &self.answers {
            uniform("shares of answers", &bit_counts(answers))?;
            bytes("shares of answers", answers)?;
        }
        let opened = Choices::from_bytes(&xor(&self.answers[0], &self.answers[1]), COUNT);
        if opened.iter().eq(self.learned.iter().copied()) {
            Ok(())
        } else {
            Err("shares of answers are not the answers".into())
        }
    }

    /// The sizes of all parts.
    fn sizes(&self) -> [usize; 5] {
        [&self.tables, &self.hidden[0], &self.hidden[1], &self.answers[0], &self.answers[1]].map(Vec::len)
    }
}

fn bit_counts(bytes: &[u8]) -> Vec<u64> {
    let ones = bytes.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
    vec![ones, 8 * bytes.len() as u64 - ones]
}

/// Simulates the messages from public values and the answers alone.
fn simulate(sizes: [usize; 5], learned: &[bool]) -> View {
    let mut rng = rng(77);
    let mut random = |bytes: usize| {
        let mut made = vec![0; bytes];
        rand_core::Rng::fill_bytes(&mut rng, &mut made);
        made
    };
    let [tables, one, other, answers, _] = sizes;
    let (tables, hidden, own) = (random(tables), [random(one), random(other)], random(answers));
    let mut theirs = own.clone();
    learned.iter().enumerate().for_each(|(index, &bit)| theirs[index / 8] ^= u8::from(bit) << (index % 8));
    View { tables, hidden, answers: [own, theirs], learned: learned.to_vec() }
}

/// A run on numbers that are all the same, in shares that are all the same.
fn view(
    number: u128,
    share: u128,
    threshold: u128,
    sender: impl Fn() -> Box<dyn RandomOtSender> + Sync,
    receiver: impl Fn() -> Box<dyn RandomOtReceiver> + Sync,
    hides: [bool; 2],
) -> View {
    let modulus = Modulus::power_of_two(BITS).unwrap();
    let shares = |residue| Shares::new(modulus, vec![residue; COUNT]).unwrap();
    let (first, second) = (shares(share), shares(modulus.subtract(number, share)));
    let (frames, [learned, same]) = two::record(
        &|channel| {
            let mut ot = Boxed(sender());
            if hides[0] {
                at_least::first_over(&first, BOUND, threshold, &mut ot, channel, &mut rng(1))
            } else {
                at_least::first_over(&first, BOUND, threshold, &mut ot, channel, &mut Zeros)
            }
        },
        &|channel| {
            let mut ot = Boxed(receiver());
            if hides[1] {
                at_least::second_over(&second, BOUND, threshold, &mut ot, channel, &mut rng(2))
            } else {
                at_least::second_over(&second, BOUND, threshold, &mut ot, channel, &mut Zeros)
            }
        },
    );
    assert!(learned == same && learned.iter().all(|&answer| answer == (number >= threshold)));
    let [one, other] = frames;
    assert!(payloads(&other, MESSAGES.code).is_empty());
    View {
        tables: payloads(&one, MESSAGES.code),
        hidden: [payloads(&one, HIDDEN_BITS.code), payloads(&other, HIDDEN_BITS.code)],
        answers: [payloads(&one, ANSWERS.code), payloads(&other, ANSWERS.code)],
        learned,
    }
}

#[test]
fn everything_is_made_up_from_the_answers() {
    let (sender, receiver) = (|| Box::new(ideal::pair([3; 32]).0) as _, || Box::new(ideal::pair([3; 32]).1) as _);
    for (number, threshold) in [(0, 1), (0, BOUND), (BOUND, 1), (BOUND, BOUND), (1234, 1234), (1233, 1234)] {
        for share in [0, 1, (1 << BITS) - 1, 0x5a5a5] {
            let real = view(number, share, threshold, sender, receiver, [true; 2]);
            real.check().unwrap();
            let simulated = simulate(real.sizes(), &real.learned);
            simulated.check().unwrap();
            assert_eq!(simulated.sizes(), real.sizes());
        }
    }
}

#[test]
fn leaky_variants_fail() {
    // OTs whose strings are all zero: tables stand open.
    let bare = view(1234, 99, 1000, || Box::new(Bare), || Box::new(Bare), [true; 2]);
    assert!(bare.check().unwrap_err().contains("tables"));
    // Masks that are zero: the tree's inputs are opened.
    let (sender, receiver) = (|| Box::new(ideal::pair([3; 32]).0) as _, || Box::new(ideal::pair([3; 32]).1) as _);
    let open = view(1234, 99, 1000, sender, receiver, [false; 2]);
    assert!(open.check().unwrap_err().contains("hidden bits"));
    // Answers that say more than they should.
    let mut real = view(1234, 99, 1000, sender, receiver, [true; 2]);
    real.answers[0][5] ^= 1;
    real.check().unwrap_err();
}

/// Checks that the bits which both parties see opened, without the masks of one of them, are uniform because of the
/// other's, in every plane. Each party's masks alone hide what is compared from the other, who knows its own.
fn hidden_by_each(real: &View, hides: [bool; 2]) -> Check {
    let opened = xor(&real.hidden[0], &real.hidden[1]);
    for (party, hides) in hides.into_iter().enumerate() {
        // The masks are the first that a party draws, plane by plane.
        let mut masks = vec![0; opened.len()];
        if hides {
            rand_core::Rng::fill_bytes(&mut rng(party as u8 + 1), &mut masks);
        }
        for (plane, bits) in xor(&opened, &masks).chunks(COUNT / 8).enumerate() {
            uniform(&format!("what the other hides of plane {plane} from party {party}"), &bit_counts(bits))?;
        }
        uniform("what is opened, without own masks", &byte_counts(xor(&opened, &masks).into_iter()))?;
    }
    Ok(())
}

#[test]
fn each_party_alone_hides_what_is_opened() {
    let (sender, receiver) = (|| Box::new(ideal::pair([3; 32]).0) as _, || Box::new(ideal::pair([3; 32]).1) as _);
    for (number, share) in [(0, 0), (1234, 0x5a5a5), (BOUND, (1 << BITS) - 1)] {
        let with = |hides| hidden_by_each(&view(number, share, 1000, sender, receiver, hides), hides);
        with([true; 2]).unwrap();
        // With masks of zero of either party the other sees everything, though what is opened is still uniform.
        assert!(with([false, true]).unwrap_err().contains("from party 1"));
        assert!(with([true, false]).unwrap_err().contains("from party 0"));
        view(number, share, 1000, sender, receiver, [false, true]).check().unwrap();
        view(number, share, 1000, sender, receiver, [true, false]).check().unwrap();
    }
}

/// OTs that hide nothing.
struct Bare;

impl RandomOtSender for Bare {
    fn send(&mut self, outputs: &mut [[Block; 2]], _: &mut Channel) -> Result<()> {
        outputs.fill([Block::ZERO; 2]);
        Ok(())
    }
}

impl RandomOtReceiver for Bare {
    fn receive(&mut self, _: &Choices, outputs: &mut [Block], _: &mut Channel) -> Result<()> {
        outputs.fill(Block::ZERO);
        Ok(())
    }
}

/// Box for OTs of any kind.
struct Boxed<T: ?Sized>(Box<T>);

impl RandomOtSender for Boxed<dyn RandomOtSender> {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        self.0.send(outputs, channel)
    }
}

impl RandomOtReceiver for Boxed<dyn RandomOtReceiver> {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        self.0.receive(choices, outputs, channel)
    }
}

/// A generator that is none.
struct Zeros;

impl TryRng for Zeros {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> std::result::Result<u32, Infallible> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> std::result::Result<u64, Infallible> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Infallible> {
        bytes.fill(0);
        Ok(())
    }
}

impl TryCryptoRng for Zeros {}
