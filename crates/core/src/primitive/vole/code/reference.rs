//! The codes by their definition, as the oracle of the fast encoders: the matrix row by row, one product at a time.

use super::{Binary, FieldCode};
use super::{FIELD_MEMORY, FIELD_REGIONS, FIRST_LAG, FRONT, binary};
use crate::primitive::kernel::Aes128;
use crate::primitive::kernel::backend;
use crate::primitive::kernel::block::{self, Block};

/// Block `index` of a stream.
fn block_at(stream: &Aes128, index: usize) -> Block {
    stream.encrypt(Block(index as u128))
}

/// The convolution and then the expander, over GF(2^128).
fn encode_field(code: &FieldCode, word: &[Block], outputs: usize) -> Vec<Block> {
    let length = word.len() / FIELD_REGIONS;
    let mut word = word.to_vec();
    for place in 0..word.len() {
        for tap in 0..FIELD_MEMORY {
            let constant = block_at(&code.constants, (place / 4 * FIELD_MEMORY + tap) * 4 + place % 4);
            if let Some(before) = place.checked_sub(FIRST_LAG + tap) {
                let product = word[before] * constant;
                word[place] ^= product;
            }
        }
    }
    let output = |index: usize| {
        (0..FIELD_REGIONS).fold(Block::ZERO, |sum, region| {
            let at = index / 4 * FIELD_REGIONS + region;
            let number = block_at(&code.numbers, at).0 >> (32 * (index % 4)) & 0xffff_ffff;
            let place = region * length + ((number * length as u128) >> 32) as usize;
            sum ^ (word[place] * block_at(&code.labels, at * 4 + index % 4))
        })
    };
    (0..outputs).map(output).collect()
}

/// The same over GF(2).
fn encode_binary(code: &Binary, word: &[Block], outputs: usize) -> Vec<Block> {
    let length = word.len() / binary::REGIONS;
    let mut word = word.to_vec();
    for place in 0..word.len() {
        let bits = block_at(&code.bits, place / 8).0 >> (16 * (place % 8));
        for lag in 1..=binary::MEMORY {
            if (lag == binary::MEMORY || bits >> (lag - 1) & 1 == 1) && lag <= place {
                let before = word[place - lag];
                word[place] ^= before;
            }
        }
    }
    let output = |index: usize| {
        (0..binary::REGIONS).fold(Block::ZERO, |sum, region| {
            let at = 12 * index + region;
            let number = block_at(&code.numbers, at / 4).0 >> (32 * (at % 4)) & 0xffff_ffff;
            sum ^ word[region * length + ((number * length as u128) >> 32) as usize]
        })
    };
    (0..outputs).map(output).collect()
}

/// Random symbols, of which most are zero.
fn noise(symbols: usize, seed: u128) -> Vec<Block> {
    let stream = Aes128::new(Block(seed));
    (0..symbols)
        .map(|index| block_at(&stream, index))
        .map(|symbol| if symbol.0 % 7 == 0 { symbol } else { Block::ZERO })
        .collect()
}

fn with_front(width: usize, word: impl IntoIterator<Item = Block>) -> Vec<Block> {
    let mut room = block::zeros(FRONT * width);
    room.extend(word);
    room
}

#[test]
fn fast_encoders_over_the_field_follow_the_definition() {
    for (length, outputs) in [(1, 1), (2, 3), (3, 12), (7, 28), (40, 131), (100, 400), (129, 33)] {
        for backend in backend::available() {
            let code = FieldCode::on(backend, Block(9), length);
            let words = [noise(code.symbols(), 1), noise(code.symbols(), 2)];
            let expected = words.each_ref().map(|word| encode_field(&code, word, outputs));
            let mut single = block::zeros(outputs);
            code.encode(&mut with_front(1, words[0].clone()), [&mut single]);
            assert!(single == expected[0], "{backend:?}, {length} a region");
            let mut double = [block::zeros(outputs), block::zeros(outputs)];
            let both = words[0].iter().zip(&words[1]).flat_map(|(one, other)| [*one, *other]);
            code.encode(&mut with_front(2, both), double.each_mut().map(|outputs| &mut outputs[..]));
            assert!(double == expected);
        }
    }
}

#[test]
fn fast_encoders_over_bits_follow_the_definition() {
    for (length, outputs) in [(1, 1), (2, 3), (3, 12), (7, 28), (40, 131), (131, 400)] {
        let code = Binary::new(Block(9), length);
        let word = noise(code.symbols(), 3);
        let mut fast = block::zeros(outputs);
        code.encode(&mut with_front(1, word.clone()), &mut fast);
        assert!(fast == encode_binary(&code, &word, outputs), "{length} a region");
    }
}

#[test]
fn encoders_are_linear() {
    let code = FieldCode::new(Block(4), 50);
    let words = [noise(code.symbols(), 1), noise(code.symbols(), 2)];
    let encode = |word: Vec<Block>| {
        let mut outputs = block::zeros(200);
        code.encode(&mut with_front(1, word), [&mut outputs]);
        outputs
    };
    let factor = Block(0x1234_5678_9abc_def0_0fed_cba9);
    let sum = words[0].iter().zip(&words[1]).map(|(one, other)| (*one * factor) ^ *other).collect();
    let [one, other] = words.map(encode);
    let expected: Vec<Block> = one.iter().zip(&other).map(|(one, other)| (*one * factor) ^ *other).collect();
    assert!(encode(sum) == expected);
}
