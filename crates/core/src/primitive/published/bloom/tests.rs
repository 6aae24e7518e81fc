//! Filters against readable ones, and what they promise.

use std::collections::BTreeSet;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::error::ErrorKind;
use crate::item::Item;
use crate::primitive::kernel::Block;

const STRENGTHS: [Strength; 3] = [Strength::Bits80, Strength::Bits112, Strength::Bits128];

fn items(numbers: std::ops::Range<usize>) -> Vec<Item> {
    numbers.map(|number| Item::new(&[7; 32], &number.to_le_bytes())).collect()
}

fn hashes(strength: Strength, bound: usize) -> Hashes {
    Hashes::new(strength, strength.slots(bound).unwrap(), &[3; 32])
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// Returns all slots, without the bits that do not belong to them.
fn all_slots(filter: &Garbled, hashes: &Hashes, step: usize) -> Vec<Block> {
    let mut slots = vec![Block::ZERO; hashes.slots()];
    for (start, out) in (0..).step_by(step).zip(slots.chunks_mut(step)) {
        filter.slots(start, out);
    }
    slots.into_iter().map(|slot| hashes.truncate(slot)).collect()
}

fn sum_of(slots: &[Block], places: &[u32]) -> Block {
    places.iter().fold(Block::ZERO, |sum, place| sum ^ slots[*place as usize])
}

/// Returns the items that a garbled filter's slots hold, by the definition.
fn found(slots: &[Block], items: &[Item], hashes: &Hashes) -> Vec<usize> {
    let places = hashes.places(items);
    (0..items.len()).filter(|&item| sum_of(slots, places.of(item)) == places.value(item)).collect()
}

#[test]
fn places_are_distinct_and_everywhere() {
    for strength in STRENGTHS {
        for bound in [1, 2, 30, 1000] {
            let hashes = hashes(strength, bound);
            let items = items(0..bound.max(MIN_BOUND));
            let places = hashes.places(&items);
            let mut all = BTreeSet::new();
            for element in 0..places.len() {
                let of_element: BTreeSet<u32> = places.of(element).iter().copied().collect();
                assert_eq!(of_element.len(), places.of(element).len());
                assert!(of_element.len() > strength.bits() / 2 && of_element.len() <= strength.bits());
                assert!(of_element.last().is_some_and(|last| (*last as usize) < hashes.slots()));
                all.extend(of_element);
            }
            // Half of all slots: m / 2, with a variance below m / 4.
            let (set, slots) = (all.len() as f64, hashes.slots() as f64);
            assert!((set - slots / 2.0).abs() < 3.0 * slots.sqrt(), "{set} of {slots} slots are set");
        }
    }
}

/// Also where the elements have more than one piece, run and batch.
#[test]
fn garbled_filters_hold_their_elements_and_no_others() {
    for (strength, sizes) in [
        (Strength::Bits80, [0, 1, 2, 500, 30_000]),
        (Strength::Bits112, [1, 3, 77, 200, 999]),
        (Strength::Bits128, [1, 4, 50, 1001, 9000]),
    ] {
        for size in sizes {
            let hashes = hashes(strength, size.max(1));
            let filter = Garbled::new(&items(0..size), &hashes, &mut rng(1)).unwrap();
            let slots = all_slots(&filter, &hashes, 4096);
            assert!(slots == all_slots(&filter, &hashes, 3000) && slots == all_slots(&filter, &hashes, PIECE));
            assert!(found(&slots, &items(0..size + 1000), &hashes).into_iter().eq(0..size));
            // The slots, not the elements, are what is fresh.
            let other = Garbled::new(&items(0..size), &hashes, &mut rng(2)).unwrap();
            let same = all_slots(&other, &hashes, PIECE).iter().zip(&slots).filter(|(one, other)| one == other).count();
            assert_eq!(same, 0);
        }
    }
}

#[test]
fn filters_find_what_the_definition_finds() {
    for (mine, theirs, bound) in
        [(0..0, 0..3, 3), (0..5, 2..9, 9), (0..3000, 1000..1700, 3000), (0..70_000, 5..10, 70_000)]
    {
        let hashes = hashes(Strength::Bits80, bound);
        let (mine, theirs) = (items(mine), items(theirs));
        let garbled = all_slots(&Garbled::new(&theirs, &hashes, &mut rng(1)).unwrap(), &hashes, PIECE);
        let mut filter = Filter::new(&mine, &hashes);
        let places = hashes.places(&mine);
        let set: BTreeSet<u32> = (0..mine.len()).flat_map(|item| places.of(item)).copied().collect();
        for (piece, slots) in garbled.chunks(PIECE).enumerate().rev() {
            let bits = filter.bits(piece);
            assert_eq!(bits.len(), slots.len());
            let mut slots = slots.to_vec();
            for (slot, bit) in bits.iter().enumerate() {
                assert_eq!(bit, set.contains(&((piece * PIECE + slot) as u32)));
                // Slots that were not chosen do not matter, nor do bits beyond the k lowest.
                slots[slot] ^= if bit { Block(5 << 80) } else { Block(99) };
            }
            filter.add(piece, &slots);
        }
        assert_eq!(filter.matches(), found(&garbled, &mine, &hashes));
    }
}

/// Without the randomness of slots, or with a slot changed after it was filled, elements are lost.
#[test]
fn one_changed_slot_loses_its_elements() {
    let hashes = hashes(Strength::Bits80, 100);
    let items = items(0..100);
    let mut slots = all_slots(&Garbled::new(&items, &hashes, &mut rng(1)).unwrap(), &hashes, PIECE);
    let place = hashes.places(&items).of(17)[40];
    slots[place as usize] ^= Block::ONE;
    assert!(!found(&slots, &items, &hashes).contains(&17));
}

#[test]
fn an_overfull_filter_is_an_error() {
    let hashes = hashes(Strength::Bits80, 10);
    let error = Garbled::new(&items(0..2000), &hashes, &mut rng(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotReady);
    assert!(Garbled::new(&items(0..10), &hashes, &mut rng(1)).is_ok());
}

/// The probability that an element has all its places set that is in no filter of `elements` with so many slots: E[p^k]
/// from the exact distribution of how many slots are set.
fn all_set(k: usize, elements: usize, slots: usize) -> f64 {
    let part = |set: usize| set as f64 / slots as f64;
    let mut chances = vec![0.0; k * elements + 1];
    chances[0] = 1.0;
    for thrown in 0..k * elements {
        for set in (0..=thrown).rev() {
            chances[set + 1] += chances[set] * (1.0 - part(set));
            chances[set] *= part(set);
        }
    }
    chances.iter().enumerate().map(|(set, chance)| chance * part(set).powi(k as i32)).sum()
}

#[test]
fn elements_that_are_not_in_a_filter_are_not_found() {
    for strength in STRENGTHS {
        let k = strength.bits();
        for bound in [1, 2, 15, 16, 17, 20] {
            let bits = -all_set(k, bound, strength.slots(bound).unwrap()).log2();
            assert!(bits > k as f64 - 2.0, "{k} {bound}: {bits}");
        }
    }
    // With as many slots as one element alone would leave half empty.
    let bits = -all_set(80, 1, 116).log2();
    assert!((70.3..70.4).contains(&bits), "{bits}");
}

#[test]
fn slots_are_k_w_log2_e() {
    let exact = [(Strength::Bits80, 1 << 20, 121_022_032), (Strength::Bits128, 1 << 14, 3_025_551)];
    for (strength, bound, slots) in exact {
        assert_eq!(strength.slots(bound).unwrap(), slots);
    }
    assert_eq!(Strength::Bits80.slots(0).unwrap(), 0);
    assert!((1..=16).all(|bound| Strength::Bits80.slots(bound).unwrap() == 1847));
    assert_eq!(Strength::Bits80.slots(17).unwrap(), 1963);
    assert_eq!(Strength::Bits80.slots(1_000_000).unwrap(), 115_415_604);
    for strength in STRENGTHS {
        let most = (MAX_SLOTS as f64 / strength.bits() as f64 / std::f64::consts::LOG2_E) as usize;
        assert!(strength.slots(most).is_ok() && strength.slots(most + 1).is_err());
        assert!(strength.slots(usize::MAX).is_err());
    }
}

/// 8 functions and 10.5 slots an element for 0.65 %; 40 and 57.7 for 2^-40, where half of the slots are set.
#[test]
fn sizes_follow_from_the_rate() {
    let exact = [(Rate::Published, 1 << 14, 8, 172_208), (Rate::Negligible, 1 << 14, 40, 945_485)];
    for (rate, bound, k, slots) in exact {
        assert_eq!(rate.sizes(bound).unwrap(), FilterSizes { k, slots });
    }
    for rate in Rate::ALL {
        assert_eq!(rate.sizes(0).unwrap().slots, 0);
        assert_eq!(rate.sizes(1).unwrap(), rate.sizes(MIN_BOUND).unwrap());
        for bound in [16, 100, 12_345, 1 << 20] {
            let FilterSizes { k, slots } = rate.sizes(bound).unwrap();
            let found = |slots: usize| (1.0 - (-((k * bound) as f64) / slots as f64).exp()).powi(k as i32);
            assert!(found(slots) <= rate.probability() * 1.000001 && found(slots - 2) > rate.probability());
        }
        assert!(rate.sizes(1 << 30).is_err() && rate.sizes(usize::MAX).is_err());
    }
}

/// Checks that elements in no filter are found as often as agreed, to within five standard deviations.
#[test]
fn elements_are_found_as_often_as_the_rate_says() {
    let (bound, others) = (1 << 12, 200_000);
    for rate in Rate::ALL {
        let hashes = Hashes::of(rate.sizes(bound).unwrap(), &[3; 32]);
        let filter = Plain::new(&items(0..bound), &hashes);
        assert_eq!(filter.matches(&items(0..bound), &hashes).len(), bound);
        let found = filter.matches(&items(bound..bound + others), &hashes).len() as f64;
        let expected = others as f64 * rate.probability();
        // The part of slots that are set varies too, which adds some percent.
        assert!((found - expected).abs() <= 5.0 * expected.sqrt() + 0.05 * expected, "{found}, not {expected}");
    }
}

/// Slots that belong to no element are drawn anew for each filter, and all are random.
#[test]
fn two_filters_of_the_same_items_have_nothing_in_common() {
    let (hashes, items) = (hashes(Strength::Bits128, 300), items(0..20));
    let of = |seed| all_slots(&Garbled::new(&items, &hashes, &mut rng(seed)).unwrap(), &hashes, PIECE);
    let [one, other] = [1, 2].map(of);
    let all: BTreeSet<u128> = one.iter().chain(&other).map(|slot| slot.0).collect();
    assert_eq!(all.len(), one.len() + other.len());
}
