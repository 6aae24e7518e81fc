//! A random band matrix as a key-value store, to compare with: Bienstock, Patel, Seo & Yeo, "Near-Optimal Oblivious
//! Key-Value Stores for Efficient PSI, PSU and Volume-Hiding Multi-Maps" (USENIX Security 2023). Each row is a band of
//! [`BAND`] random bits that begins at a random column. Good enough for timing: it is written plainly, not to be used.

use tacita_core::primitive::kernel::{Aes128, Block};

/// Bits of a row. The paper's fit for 2^20 keys and 10 % more columns than keys asks for about 180 at 2^-40.
pub const BAND: usize = 192;

/// Number of columns per key.
pub const EXPANSION: f64 = 1.1;

const WORDS: usize = BAND / 64;

#[derive(Clone, Copy)]
struct Row {
    start: u32,
    bits: [u64; WORDS],
    value: Block,
}

/// Columns of a store of so many keys.
pub fn columns(keys: usize) -> usize {
    ((keys as f64 * EXPANSION) as usize).max(BAND + 1)
}

fn row(ciphers: &[Aes128; 2], columns: usize, key: Block, value: Block) -> Row {
    let [first, second] = ciphers.each_ref().map(|cipher| cipher.encrypt(key).0);
    let bits = [first as u64 | 1, (first >> 64) as u64, second as u64];
    let start = (((second >> 64) * (columns - BAND) as u128) >> 64) as u32;
    Row { start, bits, value }
}

/// The store; `None` if the rows are not independent.
pub fn encode(ciphers: &[Aes128; 2], keys: &[Block], values: &[Block]) -> Option<Vec<Block>> {
    let columns = columns(keys.len());
    let mut rows: Vec<Row> = keys.iter().zip(values).map(|(&key, &value)| row(ciphers, columns, key, value)).collect();
    rows.sort_unstable_by_key(|row| row.start);
    let mut pivots: Vec<Option<Row>> = vec![None; columns];
    for mut row in rows {
        loop {
            let skipped = leading_zeros(&row.bits)?;
            shift(&mut row.bits, skipped);
            row.start += skipped as u32;
            match &pivots[row.start as usize] {
                Some(pivot) => {
                    row.bits.iter_mut().zip(&pivot.bits).for_each(|(own, pivot)| *own ^= pivot);
                    row.value ^= pivot.value;
                }
                free => {
                    debug_assert!(free.is_none());
                    pivots[row.start as usize] = Some(row);
                    break;
                }
            }
        }
    }
    let mut store = vec![Block::ZERO; columns];
    for column in (0..columns).rev() {
        if let Some(row) = &pivots[column] {
            store[column] = row.value ^ product(&row.bits, column, &store);
        }
    }
    Some(store)
}

/// Decodes the values of the keys.
pub fn decode(ciphers: &[Aes128; 2], keys: &[Block], store: &[Block]) -> Vec<Block> {
    let value = |&key: &Block| {
        let row = row(ciphers, store.len(), key, Block::ZERO);
        product(&row.bits, row.start as usize, store)
    };
    keys.iter().map(value).collect()
}

/// The sum of the columns from `start` on that `bits` select. Those past the end are not selected.
fn product(bits: &[u64; WORDS], start: usize, store: &[Block]) -> Block {
    let mut sum = Block::ZERO;
    for (word, bits) in bits.iter().enumerate() {
        for (bit, column) in store[(start + 64 * word).min(store.len())..].iter().take(64).enumerate() {
            sum ^= *column & Block(u128::from(bits >> bit & 1).wrapping_neg());
        }
    }
    sum
}

fn leading_zeros(bits: &[u64; WORDS]) -> Option<usize> {
    let word = bits.iter().position(|&word| word != 0)?;
    Some(64 * word + bits[word].trailing_zeros() as usize)
}

/// Moves the bits `by` places towards the first.
fn shift(bits: &mut [u64; WORDS], by: usize) {
    let (words, rest) = (by / 64, by % 64);
    for word in 0..WORDS {
        let at = |index: usize| bits.get(index).copied().unwrap_or(0);
        let high = if rest == 0 { 0 } else { at(word + words + 1) << (64 - rest) };
        bits[word] = at(word + words) >> rest | high;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use tacita_core::primitive::kernel::block;

    #[test]
    fn the_opponent_gives_right_answers() {
        let mut rng = chacha20::ChaCha20Rng::from_seed([1; 32]);
        let ciphers = [Aes128::new(Block(1)), Aes128::new(Block(2))];
        for count in [0, 1, 200, 5000] {
            let (keys, values) = (block::random(count, &mut rng), block::random(count, &mut rng));
            let store = encode(&ciphers, &keys, &values).unwrap();
            assert!(decode(&ciphers, &keys, &store) == values);
        }
    }
}
