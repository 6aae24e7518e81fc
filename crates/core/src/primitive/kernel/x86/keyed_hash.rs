//! BLAKE3's compression of the only block of each message, one message in each lane of a vector (O'Connor, Aumasson,
//! Neves & Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2021, section 2).

use std::arch::x86_64::*;

use super::super::keyed_hash::{BLOCK_WORDS, Hashes, LANES, Messages};

/// The first words of SHA-256's initial value.
const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];

/// CHUNK_START, CHUNK_END, ROOT and KEYED_HASH: the block is all of a message.
const FLAGS: u32 = 1 | 2 | 8 | 16;

const ROUNDS: usize = 7;

/// Numbers of the message's words in each round: those of the round before, permuted.
const SCHEDULE: [[usize; BLOCK_WORDS]; ROUNDS] = {
    const PERMUTATION: [usize; BLOCK_WORDS] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    let mut schedule = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]; ROUNDS];
    let mut round = 1;
    while round < ROUNDS {
        let mut word = 0;
        while word < BLOCK_WORDS {
            schedule[round][word] = schedule[round - 1][PERMUTATION[word]];
            word += 1;
        }
        round += 1;
    }
    schedule
};

/// Defines the compression for one width of vectors, by its instructions; the rotations are to the right.
macro_rules! compression {
    ($name:ident, $feature:literal, $vector:ty, $load:ident, $store:ident, $all:ident, $add:ident, $xor:ident,
     $rotate_16:expr, $rotate_12:expr, $rotate_8:expr, $rotate_7:expr) => {
        #[target_feature(enable = $feature)]
        pub(in super::super) fn $name(key: &[u32; 8], messages: &Messages, hashes: &mut Hashes) {
            const WIDTH: usize = size_of::<$vector>() / size_of::<u32>();
            for part in 0..LANES / WIDTH {
                let load = |lanes: &[u32; LANES]| {
                    let lanes = &lanes[part * WIDTH..][..WIDTH];
                    // SAFETY: a vector's bytes are there to be read, and the load needs no alignment.
                    unsafe { $load(lanes.as_ptr().cast()) }
                };
                let words: [$vector; BLOCK_WORDS] = std::array::from_fn(|word| load(&messages.words[word]));
                let mut state: [$vector; 16] = std::array::from_fn(|word| match word {
                    0..8 => $all(key[word] as i32),
                    8..12 => $all(IV[word - 8] as i32),
                    // A chunk's number, which is 0.
                    12 | 13 => $all(0),
                    14 => load(&messages.lengths),
                    _ => $all(FLAGS as i32),
                });
                macro_rules! mix {
                    ($a:literal, $b:literal, $c:literal, $d:literal, $x:expr, $y:expr) => {
                        state[$a] = $add($add(state[$a], state[$b]), $x);
                        state[$d] = $rotate_16($xor(state[$d], state[$a]));
                        state[$c] = $add(state[$c], state[$d]);
                        state[$b] = $rotate_12($xor(state[$b], state[$c]));
                        state[$a] = $add($add(state[$a], state[$b]), $y);
                        state[$d] = $rotate_8($xor(state[$d], state[$a]));
                        state[$c] = $add(state[$c], state[$d]);
                        state[$b] = $rotate_7($xor(state[$b], state[$c]));
                    };
                }
                for order in &SCHEDULE {
                    let word = |place: usize| words[order[place]];
                    mix!(0, 4, 8, 12, word(0), word(1));
                    mix!(1, 5, 9, 13, word(2), word(3));
                    mix!(2, 6, 10, 14, word(4), word(5));
                    mix!(3, 7, 11, 15, word(6), word(7));
                    mix!(0, 5, 10, 15, word(8), word(9));
                    mix!(1, 6, 11, 12, word(10), word(11));
                    mix!(2, 7, 8, 13, word(12), word(13));
                    mix!(3, 4, 9, 14, word(14), word(15));
                }
                let mut store = |word: usize, vector| {
                    let lanes = &mut hashes[word][part * WIDTH..][..WIDTH];
                    // SAFETY: a vector's bytes are there to be written, and the store needs no alignment.
                    unsafe { $store(lanes.as_mut_ptr().cast(), vector) };
                };
                for word in 0..8 {
                    store(word, $xor(state[word], state[word + 8]));
                    store(word + 8, $xor(state[word + 8], $all(key[word] as i32)));
                }
            }
        }
    };
}

compression!(
    avx512,
    "avx512f",
    __m512i,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_set1_epi32,
    _mm512_add_epi32,
    _mm512_xor_si512,
    _mm512_ror_epi32::<16>,
    _mm512_ror_epi32::<12>,
    _mm512_ror_epi32::<8>,
    _mm512_ror_epi32::<7>
);

compression!(
    avx2,
    "avx2",
    __m256i,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_set1_epi32,
    _mm256_add_epi32,
    _mm256_xor_si256,
    rotate_bytes::<2>,
    rotate::<12, 20>,
    rotate_bytes::<1>,
    rotate::<7, 25>
);

/// Rotates each word to the right by so many bits; `LEFT` are those to 32.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const RIGHT: i32, const LEFT: i32>(words: __m256i) -> __m256i {
    const { assert!(RIGHT + LEFT == 32) };
    _mm256_or_si256(_mm256_srli_epi32::<RIGHT>(words), _mm256_slli_epi32::<LEFT>(words))
}

/// Rotates each word to the right by so many bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate_bytes<const BYTES: i32>(words: __m256i) -> __m256i {
    let from = |word: i32| std::array::from_fn::<_, 4, _>(|byte| (4 * word + (byte as i32 + BYTES) % 4) as u8);
    let order = _mm_setr_epi32(
        i32::from_le_bytes(from(0)),
        i32::from_le_bytes(from(1)),
        i32::from_le_bytes(from(2)),
        i32::from_le_bytes(from(3)),
    );
    _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(order))
}
