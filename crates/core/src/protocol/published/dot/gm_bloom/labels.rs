//! Labels of rows: random numbers of k bits, and the items of an intersection that they make.

use std::ops::Range;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::item::Item;
use crate::primitive::kernel::mask::mask;
use crate::primitive::published::bloom::Strength;

/// A label, in its lowest bits.
pub(crate) type BloomLabel = u128;

/// Step 1.3: `count` distinct labels, otherwise uniformly random.
pub(crate) fn random(count: usize, strength: Strength, rng: &mut impl CryptoRng) -> Zeroizing<Vec<BloomLabel>> {
    let mut bytes = Zeroizing::new([0; 16]);
    loop {
        let mut labels = Zeroizing::new(Vec::with_capacity(count));
        for _ in 0..count {
            rng.fill_bytes(&mut *bytes);
            labels.push(u128::from_le_bytes(*bytes) >> (128 - strength.bits()));
        }
        if distinct(&labels) {
            return labels;
        }
    }
}

/// Whether no label is there twice.
pub(crate) fn distinct(labels: &[BloomLabel]) -> bool {
    let mut sorted = Zeroizing::new(labels.to_vec());
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// Writes labels in their encoding on the wire: little-endian, k bits each.
pub(crate) fn write(labels: impl IntoIterator<Item = BloomLabel>, strength: Strength, message: &mut Vec<u8>) {
    labels.into_iter().for_each(|label| message.extend_from_slice(&label.to_le_bytes()[..strength.slot_bytes()]));
}

/// Reads labels from their encoding on the wire.
pub(crate) fn read(bytes: &[u8], strength: Strength) -> impl Iterator<Item = BloomLabel> {
    bytes.chunks_exact(strength.slot_bytes()).map(|bytes| {
        let mut label = [0; 16];
        label[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(label)
    })
}

/// The labels of the rows whose bits are set, in any order: a part of `labels`, all of which are moved. Neither time
/// nor addresses depend on bits, but on how many are set.
///
/// Sasy, Johnson & Goldberg, "Fast fully oblivious compaction and shuffling" (CCS 2022), section 4.
///
/// # Panics
///
/// If bits and labels are not equally many.
pub(crate) fn chosen<'a>(labels: &'a mut [BloomLabel], bits: &[bool]) -> &'a [BloomLabel] {
    assert_eq!(labels.len(), bits.len(), "a bit for each label");
    let mut before = Zeroizing::new(vec![0; bits.len() + 1]);
    for (index, bit) in bits.iter().enumerate() {
        before[index + 1] = before[index] + usize::from(*bit);
    }
    compact(labels, &before);
    &labels[..before[bits.len()]]
}

/// Moves the labels that are set to the front. `before` says how many are set before each place, and before the end.
fn compact(labels: &mut [BloomLabel], before: &[usize]) {
    if labels.len() < 2 {
        return;
    }
    let right = 1 << labels.len().ilog2();
    let left = labels.len() - right;
    let set = before[left] - before[0];
    compact(&mut labels[..left], &before[..=left]);
    // So that those of the right part come to stand behind those of the left, round the end of the right part.
    rotate(&mut labels[left..], &before[left..], (right - left + set) & (right - 1));
    let (front, back) = labels.split_at_mut(right);
    front.iter_mut().zip(back).enumerate().for_each(|(place, (one, other))| swap(one, other, place >= set));
}

/// Moves the labels that are set to the places from `start` on, round the end. As many labels as a power of two.
fn rotate(labels: &mut [BloomLabel], before: &[usize], start: usize) {
    let half = labels.len() / 2;
    if half == 0 {
        return;
    }
    let set = before[half] - before[0];
    let (one, other) = (start & (half - 1), (start + set) & (half - 1));
    let crosses = (one + set >= half) ^ (start >= half);
    let (front, back) = labels.split_at_mut(half);
    rotate(front, &before[..=half], one);
    rotate(back, &before[half..], other);
    front.iter_mut().zip(back).enumerate().for_each(|(place, (a, b))| swap(a, b, crosses ^ (place >= other)));
}

/// Swaps two labels, or not.
fn swap(one: &mut BloomLabel, other: &mut BloomLabel, swaps: bool) {
    let difference = (*one ^ *other) & mask(swaps);
    *one ^= difference;
    *other ^= difference;
}

/// Items for the intersection of the product number `index`.
pub(crate) fn items(labels: &[BloomLabel], key: &[u8; 32], index: usize) -> Zeroizing<Vec<Item>> {
    let item = |label: &BloomLabel| {
        let mut bytes = Zeroizing::new([0; 24]);
        bytes[..8].copy_from_slice(&(index as u64).to_le_bytes());
        bytes[8..].copy_from_slice(&label.to_le_bytes());
        Item::new(key, &*bytes)
    };
    labels.iter().map(item).collect::<Vec<_>>().into()
}

/// The rows of each message of a column.
pub(crate) fn chunks(rows: usize, chunk: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(chunk).map(move |start| start..rows.min(start + chunk))
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn those_that_are_set_are_chosen_each_once() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for count in (0..70).chain([127, 128, 129, 1000, 4097]) {
            for density in [0, 1, 5, 10] {
                let bits: Vec<bool> = (0..count).map(|_| rng.next_u32() % 10 < density).collect();
                let labels = random(count, Strength::Bits80, &mut rng);
                assert!(labels.iter().all(|label| label >> 80 == 0) && distinct(&labels));
                let mut expected: Vec<BloomLabel> =
                    labels.iter().zip(&bits).filter(|(_, bit)| **bit).map(|(label, _)| *label).collect();
                let mut moved = labels.to_vec();
                let mut found = chosen(&mut moved, &bits).to_vec();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{count} {density}");
            }
        }
    }

    #[test]
    fn labels_survive_the_wire() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        for strength in [Strength::Bits80, Strength::Bits112, Strength::Bits128] {
            let labels = random(50, strength, &mut rng);
            let mut bytes = Vec::new();
            write(labels.iter().copied(), strength, &mut bytes);
            assert_eq!(bytes.len(), 50 * strength.slot_bytes());
            assert_eq!(read(&bytes, strength).collect::<Vec<_>>(), *labels);
        }
        assert!(distinct(&[]) && distinct(&[1, 2, 3]) && !distinct(&[3, 1, 3]));
    }
}
