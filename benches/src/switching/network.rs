//! A network of switches that puts shared bits into an order that one party alone knows.
//!
//! A switch passes two wires on as they are or exchanged. Those of level d connect wires whose numbers differ in bit d
//! alone: levels 0 to D - 1 lead into two networks of half the size each, level D is the middle, and levels D - 1 to 0
//! lead out (Beneš 1964; sizes that are no powers of two as by Chang & Melhem, "Arbitrary size Beneš networks", 1997: a
//! wire without a partner keeps to the lower half).
//!
//! A switch takes one OT, chosen by its setting (Mohassel & Sadeghian, "How to hide circuits in MPC", EUROCRYPT 2013).
//! The first party, which does not know the order, adds the pad of "as they are" to its shares; the message is what
//! turns the pad of "exchanged" into what belongs to that: two bits.

use std::ops::Range;

use tacita_core::primitive::ot::messages::{self, CHUNK, Piece};
use tacita_core::primitive::ot::{Choices, RandomOtReceiver, RandomOtSender};
use tacita_core::{Channel, Result};

/// Switches of one message, all of one level.
struct Switches {
    /// Position of the level among all, in the order of wires' way.
    layer: usize,
    level: u32,
    range: Range<usize>,
}

impl Piece for Switches {
    fn count(&self) -> usize {
        self.range.len()
    }
}

impl Switches {
    /// Wires of each switch.
    fn wires(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let level = self.level;
        self.range.clone().map(move |switch| pair(level, switch))
    }

    /// Bytes of the message: two bits a switch.
    fn bytes(&self) -> usize {
        self.range.len().div_ceil(4)
    }
}

/// Wires that a switch of a level connects.
fn pair(level: u32, switch: usize) -> (usize, usize) {
    let (above, below) = (switch >> level, switch & ((1 << level) - 1));
    let first = above << (level + 1) | below;
    (first, first | 1 << level)
}

/// Number of switches of a level.
fn switches_of(level: u32, wires: usize) -> usize {
    let pairs = 2usize << level;
    wires / pairs * (pairs / 2) + (wires % pairs).saturating_sub(pairs / 2)
}

/// Levels in the order of wires' way.
fn levels(wires: usize) -> impl Iterator<Item = u32> {
    let middle = wires.next_power_of_two().ilog2();
    (0..middle).chain((0..middle.saturating_sub(1)).rev())
}

/// Number of all switches: OTs.
pub fn switches(wires: usize) -> usize {
    levels(wires).map(|level| switches_of(level, wires)).sum()
}

fn pieces(wires: usize) -> impl Iterator<Item = Switches> {
    levels(wires).enumerate().flat_map(move |(layer, level)| {
        messages::chunks(switches_of(level, wires), CHUNK).map(move |range| Switches { layer, level, range })
    })
}

/// The settings of all levels that bring wire `order[p]` to place p, for each p.
pub fn route(order: &[u32]) -> Vec<Choices> {
    /// An entering switch exchanges its wires.
    const ENTERING: u8 = 1;
    /// A leaving switch exchanges its wires.
    const LEAVING: u8 = 2;
    /// A leaving switch is set.
    const SET: u8 = 4;

    let wires = order.len();
    let all: Vec<u32> = levels(wires).collect();
    let Some(&middle) = all.iter().max() else { return Vec::new() };
    let (mut order, mut inverse, mut next) = (order.to_vec(), vec![0u32; wires], vec![0u32; wires]);
    let settings = |level: u32, is_set: &dyn Fn(usize) -> bool| {
        Choices::from_bits((0..switches_of(level, wires)).map(|switch| is_set(pair(level, switch).0)))
    };
    let (mut entering, mut leaving) = (Vec::new(), Vec::new());
    for level in 0..middle {
        let bit = 1u32 << level;
        (0..).zip(&order).for_each(|(place, &wire)| inverse[wire as usize] = place);
        let mut flags = vec![0u8; wires];
        // Wires that go through the lower half and through the upper one in turn, until they come back, or to a wire
        // without a partner.
        let mut follow = |start: u32| {
            let mut place = start;
            while flags[(place & !bit) as usize] & SET == 0 {
                let wire = order[place as usize];
                flags[(place & !bit) as usize] |= if place & bit != 0 { SET | LEAVING } else { SET };
                flags[(wire & !bit) as usize] |= if wire & bit != 0 { ENTERING } else { 0 };
                next[(place & !bit) as usize] = wire & !bit;
                let partner = wire ^ bit;
                if partner as usize >= wires {
                    break;
                }
                let upper = inverse[partner as usize];
                next[(upper | bit) as usize] = partner | bit;
                place = upper ^ bit;
            }
        };
        let lower = |place: &u32| place & bit == 0;
        let alone = (wires as u32).saturating_sub(bit);
        (alone..wires as u32).filter(lower).for_each(&mut follow);
        (0..alone).filter(lower).for_each(&mut follow);
        entering.push(settings(level, &|wire| flags[wire] & ENTERING != 0));
        leaving.push(settings(level, &|wire| flags[wire] & LEAVING != 0));
        std::mem::swap(&mut order, &mut next);
    }
    entering.push(settings(middle, &|wire| order[wire] as usize != wire));
    entering.extend(leaving.into_iter().rev());
    entering
}

/// The part of the party that does not know the order: its shares of the wires' bits become those of the places'.
pub fn offer(shares: &mut [u8], ot: &mut impl RandomOtSender, channel: &mut Channel) -> Result<()> {
    messages::send(ot, pieces(shares.len()), channel, |piece, pairs| {
        let mut message = vec![0; piece.bytes()];
        for (switch, ((one, other), [straight, crossed])) in piece.wires().zip(pairs).enumerate() {
            let (straight, crossed) = (straight.0 as u8, crossed.0 as u8);
            let before = [shares[one], shares[other]];
            shares[one] ^= straight & 1;
            shares[other] ^= straight >> 1 & 1;
            let turned = before[1] ^ shares[one] | (before[0] ^ shares[other]) << 1;
            message[switch / 4] |= (turned ^ crossed & 3) << (2 * (switch % 4));
        }
        Ok(message)
    })
}

/// The part of the party that knows the order, with its settings.
pub fn choose(
    settings: &[Choices],
    shares: &mut [u8],
    ot: &mut impl RandomOtReceiver,
    channel: &mut Channel,
) -> Result<()> {
    let choices = |piece: &Switches| settings[piece.layer].slice(piece.range.clone());
    messages::receive(
        ot,
        pieces(shares.len()),
        choices,
        Switches::bytes,
        channel,
        |piece, choices, blocks, message, _| {
            for (switch, ((one, other), (exchanged, block))) in
                piece.wires().zip(choices.iter().zip(blocks)).enumerate()
            {
                let exchanged = u8::from(exchanged).wrapping_neg();
                let added = block.0 as u8 ^ message[switch / 4] >> (2 * (switch % 4)) & exchanged;
                let swapped = (shares[one] ^ shares[other]) & exchanged;
                shares[one] ^= swapped ^ added & 1;
                shares[other] ^= swapped ^ added >> 1 & 1;
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};
    use tacita_core::primitive::ot::ideal;
    use tacita_core::primitive::shuffle::random_order;

    use super::*;

    /// Wires through switches in the clear.
    fn passed(settings: &[Choices], wires: usize) -> Vec<u32> {
        let mut places: Vec<u32> = (0..wires as u32).collect();
        for piece in pieces(wires) {
            let choices = settings[piece.layer].slice(piece.range.clone());
            for ((one, other), exchanged) in piece.wires().zip(choices.iter()) {
                if exchanged {
                    places.swap(one, other);
                }
            }
        }
        places
    }

    #[test]
    fn every_order_is_routed() {
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        for wires in (0..=70).chain([127, 128, 129, 1000, 1024, 1025, 33_333]) {
            for _ in 0..20 {
                let order = random_order(wires, &mut rng);
                let settings = route(&order);
                assert_eq!(settings.iter().map(Choices::len).sum::<usize>(), switches(wires));
                assert_eq!(passed(&settings, wires), order);
            }
        }
    }

    #[test]
    fn all_orders_of_few_wires_are_routed() {
        fn orders(left: Vec<u32>, order: Vec<u32>) {
            if left.is_empty() {
                assert_eq!(passed(&route(&order), order.len()), order);
            }
            for &next in &left {
                let rest = left.iter().copied().filter(|&other| other != next).collect();
                orders(rest, [&order[..], &[next]].concat());
            }
        }
        (0..=7).for_each(|wires| orders((0..wires).collect(), Vec::new()));
    }

    #[test]
    fn shared_bits_are_put_in_order() {
        let mut rng = ChaCha20Rng::from_seed([8; 32]);
        for wires in [0, 1, 2, 3, 5, 64, 100, 70_000] {
            let order = random_order(wires, &mut rng);
            let mut share = || (0..wires).map(|_| rng.next_u32() as u8 & 1).collect::<Vec<u8>>();
            let (mut first, mut second) = (share(), share());
            let bits: Vec<u8> = first.iter().zip(&second).map(|(first, second)| first ^ second).collect();
            let (mut one, mut two) = Channel::pair("one", "two");
            let (mut sender, mut receiver) = ideal::pair([9; 32]);
            std::thread::scope(|scope| {
                scope.spawn(|| offer(&mut first, &mut sender, &mut one).unwrap());
                choose(&route(&order), &mut second, &mut receiver, &mut two).unwrap();
            });
            let placed: Vec<u8> = order.iter().map(|&wire| bits[wire as usize]).collect();
            assert_eq!(first.iter().zip(&second).map(|(first, second)| first ^ second).collect::<Vec<u8>>(), placed);
        }
    }
}
