//! Entries of tables, chosen by secret numbers: all are read.

use super::backend::{Backend, Family};
use super::montgomery::{LANES, Lanes, Limbs};
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Bits of the numbers that choose from a row.
pub(super) const WINDOW: usize = 7;

/// Entries of a row.
pub(super) const SIZE: usize = 1 << WINDOW;

/// For each lane the entry of this number of a row: its lowest limbs of all entries come first, then those above them.
pub(super) fn choose(backend: Backend, row: &[u64], numbers: &Limbs, chosen: &mut Lanes) {
    assert!(row.len() == SIZE * chosen.0.len(), "a row of as many limbs");
    match backend.family() {
        // SAFETY: the processor has what the back end needs.
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => unsafe { x86::table::choose(row, numbers, &mut chosen.0) },
        _ => choose_plainly(row, numbers, &mut chosen.0),
    }
}

/// For each lane its own number in the entry of this number.
pub(crate) fn choose_lanes(backend: Backend, table: &[Lanes], numbers: &Limbs, chosen: &mut Lanes) {
    assert!(table.iter().all(|entry| entry.0.len() == chosen.0.len()), "entries of as many limbs");
    match backend.family() {
        // SAFETY: the processor has what the back end needs.
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => unsafe { x86::table::choose_lanes(table, numbers, chosen) },
        _ => choose_lanes_plainly(table, numbers, &mut chosen.0),
    }
}

fn choose_plainly(row: &[u64], numbers: &Limbs, chosen: &mut [Limbs]) {
    chosen.fill([0; LANES]);
    for number in 0..SIZE {
        let masks = masks(number as u64, numbers);
        for (chosen, entries) in chosen.iter_mut().zip(row.as_chunks::<SIZE>().0) {
            (0..LANES).for_each(|lane| chosen[lane] |= entries[number] & masks[lane]);
        }
    }
}

fn choose_lanes_plainly(table: &[Lanes], numbers: &Limbs, chosen: &mut [Limbs]) {
    chosen.fill([0; LANES]);
    for (number, entry) in (0u64..).zip(table) {
        let masks = masks(number, numbers);
        for (chosen, limbs) in chosen.iter_mut().zip(&entry.0) {
            (0..LANES).for_each(|lane| chosen[lane] |= limbs[lane] & masks[lane]);
        }
    }
}

/// Returns all ones in the lanes that hold this number.
fn masks(number: u64, numbers: &Limbs) -> Limbs {
    std::hint::black_box(numbers.map(|other| {
        let difference = number ^ other;
        // The highest bit of x | -x says whether x is not zero.
        ((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::backend;
    use super::*;

    #[test]
    fn every_lane_has_the_entry_that_it_asks_for() {
        for limbs in [4, 8, 20, 80] {
            let row: Vec<u64> = (0..(SIZE * limbs) as u64).collect();
            let value = |limb: usize, number: u64| (SIZE * limb) as u64 + number;
            let lanes = |number: u64| {
                Lanes((0..limbs).map(|limb| std::array::from_fn(|lane| value(limb, number) << lane)).collect())
            };
            let table: Vec<_> = (0..32).map(lanes).collect();
            for first in 0..SIZE as u64 {
                let numbers: Limbs = std::array::from_fn(|lane| (first + 19 * lane as u64) % SIZE as u64);
                let few = numbers.map(|number| number % 32);
                for backend in backend::available() {
                    let mut chosen = Lanes::zero(limbs);
                    choose(backend, &row, &numbers, &mut chosen);
                    for limb in 0..limbs {
                        assert_eq!(chosen.0[limb], numbers.map(|number| value(limb, number)), "{backend:?}");
                    }
                    choose_lanes(backend, &table, &few, &mut chosen);
                    for limb in 0..limbs {
                        let wanted = std::array::from_fn(|lane| value(limb, few[lane]) << lane);
                        assert_eq!(chosen.0[limb], wanted, "{backend:?}");
                    }
                }
            }
        }
    }
}
