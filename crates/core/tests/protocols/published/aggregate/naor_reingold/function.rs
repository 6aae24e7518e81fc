//! The function and its oblivious evaluation, compared with a direct one that multiplies points bit by bit; on a curve
//! and modulo p.

use std::collections::HashSet;

use rand_core::Rng;
use tacita_core::Level;
use tacita_core::primitive::group::{Embedding, Group, ModP, Ristretto255, ScalarField};
use tacita_core::protocol::aggregate::Params;
use tacita_core::protocol::published::aggregate::naor_reingold::{
    MAX_INPUT_BYTES, PseudorandomFunction, TransferForm, evaluate, inputs, offer,
};
use zeroize::Zeroizing;

use super::round::choose;
use crate::aggregate::round::session;
use crate::support::rng;
use crate::support::views::{byte_counts, uniform};

/// F(x) by definition: a G, multiplied by s_i for each bit i that is set.
fn direct<G: Group + Sync>(group: &G, key: &[u8], input: &[u8]) -> Vec<u8> {
    let scalars: Vec<_> =
        key.chunks(group.scalar_bytes()).map(|bytes| group.decode_scalar(bytes).expect("a scalar")).collect();
    let mut point = group.multiply_generator(&scalars[..1]);
    for (index, scalar) in scalars[1..].iter().enumerate() {
        if input[index / 8] & 1 << (index % 8) != 0 {
            point = group.multiply(&point, scalar);
        }
    }
    group.encode(&point)
}

/// Inputs of so many bytes: all bits 0, all 1, one of them, and random ones.
fn some_inputs(bytes: usize) -> Vec<u8> {
    let mut all = vec![0; bytes];
    all.extend(vec![0xff; bytes]);
    for bit in [0, 8 * bytes - 1] {
        let mut one = vec![0; bytes];
        one[bit / 8] |= 1 << (bit % 8);
        all.extend(one);
    }
    let mut random = vec![0; 5 * bytes];
    rng(1).fill_bytes(&mut random);
    [all, random].concat()
}

fn agrees<G: Group + Sync>(group: &G, bytes: usize) {
    let rng = &mut rng(2);
    let function = PseudorandomFunction::generate(group, bytes, rng);
    let key = function.to_bytes(group);
    let inputs = some_inputs(bytes);
    let count = inputs.len() / bytes;
    let expected: Vec<u8> = inputs.chunks(bytes).flat_map(|input| direct(group, &key, input)).collect();
    assert_eq!(group.encode(&function.evaluate(group, &inputs)), expected);

    let made = offer(group, &function, count, TransferForm::Blinded, rng);
    let blinds = group.decode(&made.blinds).unwrap();
    let chosen = choose(&made.pairs, group.scalar_bytes(), &inputs);
    let blinded = evaluate(group, bytes, &blinds, &chosen);
    assert_eq!(group.multiply_each_encode(&blinded, &made.unblind), expected);
    assert!(
        group
            .encode(&blinded)
            .chunks(group.point_bytes())
            .zip(expected.chunks(group.point_bytes()))
            .all(|(a, b)| a != b)
    );

    let made = offer(group, &function, count, TransferForm::Plain, rng);
    let blinds = group.decode(&made.blinds).unwrap();
    let chosen = choose(&made.pairs, group.scalar_bytes(), &inputs);
    assert_eq!(group.encode(&evaluate(group, bytes, &blinds, &chosen)), expected);
}

#[test]
fn the_function_and_its_oblivious_evaluation_agree_with_a_direct_one() {
    for bytes in [1, 4, 16] {
        agrees(&Ristretto255, bytes);
        agrees(&ModP::of(Level::Paper80), bytes);
    }
    agrees(&ModP::of(Level::Bits112), 2);
}

#[test]
fn no_inputs_and_more_than_one_thread_takes_at_once() {
    let function = PseudorandomFunction::generate(&Ristretto255, 2, &mut rng(1));
    for count in [0, 1, 31, 32, 33, 200] {
        let inputs: Vec<u8> = (0..count as u16).flat_map(u16::to_le_bytes).collect();
        let made = offer(&Ristretto255, &function, count, TransferForm::Blinded, &mut rng(2));
        let blinds = Ristretto255.decode(&made.blinds).unwrap();
        let blinded = evaluate(&Ristretto255, 2, &blinds, &choose(&made.pairs, 32, &inputs));
        let expected = Ristretto255.encode(&function.evaluate(&Ristretto255, &inputs));
        assert_eq!(Ristretto255.multiply_each_encode(&blinded, &made.unblind), expected);
    }
}

#[test]
fn keys_survive_their_encoding_and_others_are_refused() {
    let function = PseudorandomFunction::generate(&Ristretto255, 4, &mut rng(1));
    let bytes = function.to_bytes(&Ristretto255);
    assert_eq!(bytes.len(), PseudorandomFunction::bytes(&Ristretto255, 4));
    let again = PseudorandomFunction::from_bytes(&Ristretto255, 4, &bytes).unwrap();
    assert_eq!(*again.to_bytes(&Ristretto255), *bytes);
    assert_eq!(format!("{again:?}"), "Function(32 bits)");
    for (bytes, input_bytes) in [(&bytes[..], 5), (&bytes[1..], 4), (&[], 4), (&bytes[..32], 4)] {
        assert!(PseudorandomFunction::from_bytes(&Ristretto255, input_bytes, bytes).is_none());
    }
    for place in [0, 32, bytes.len() - 32] {
        let mut zero = bytes.to_vec();
        zero[place..place + 32].fill(0);
        assert!(PseudorandomFunction::from_bytes(&Ristretto255, 4, &zero).is_none());
    }
}

/// Without a, or with an a of 1, F(0) is the generator, which everybody knows.
#[test]
fn the_row_of_no_key_is_known_beforehand() {
    let generator = Ristretto255.encode(&Ristretto255.multiply_generator(&[Ristretto255.scalar(1)]));
    let function = PseudorandomFunction::generate(&Ristretto255, 4, &mut rng(1));
    assert_ne!(Ristretto255.encode(&function.evaluate(&Ristretto255, &[0; 4])), generator);
    let mut published = function.to_bytes(&Ristretto255).to_vec();
    published[..32].fill(0);
    published[0] = 1;
    let published = PseudorandomFunction::from_bytes(&Ristretto255, 4, &published).unwrap();
    assert_eq!(Ristretto255.encode(&published.evaluate(&Ristretto255, &[0; 4])), generator);
}

#[test]
fn inputs_are_keys_or_hashes_of_them() {
    let inputs_of = |round: &str, key_bytes: usize, keys: &[&[u8]]| {
        let params = Params::new(session(round), key_bytes, 0, false).unwrap();
        let padded = |key: &&[u8]| {
            let mut padded = vec![0; key_bytes.next_multiple_of(16)];
            padded[..key.len()].copy_from_slice(key);
            Zeroizing::new(padded)
        };
        inputs(&params, &keys.iter().map(padded).collect::<Vec<_>>()).to_vec()
    };
    assert_eq!(inputs_of("one", 4, &[b"abc", b"", b"abcd"]), b"abc\0\0\0\0\0abcd");
    assert_eq!(inputs_of("one", 16, &[b"abc"]), b"abc\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let long = inputs_of("one", 17, &[b"abc", b"abd", b"abc"]);
    assert_eq!(long.len(), 3 * MAX_INPUT_BYTES);
    assert!(long[..16] != long[16..32] && long[..16] == long[32..] && long[..3] != *b"abc");
    assert_ne!(inputs_of("two", 17, &[b"abc"]), long[..16]);
    assert!(inputs_of("one", 4, &[]).is_empty());
}

/// Checks that all values which a participant gets are new and uniform each time, even for one input again and again.
#[test]
fn what_a_participant_gets_is_uniform_whatever_its_input() {
    let function = PseudorandomFunction::generate(&Ristretto255, 4, &mut rng(1));
    for input in [[0; 4], [0xff; 4], [1, 2, 3, 4]] {
        let check = |form: TransferForm, seeds: [u8; 2]| -> Result<(), String> {
            let inputs = input.repeat(64);
            let mut seen = HashSet::new();
            let mut bytes = Vec::new();
            for seed in seeds {
                let made = offer(&Ristretto255, &function, 64, form, &mut rng(seed));
                let chosen = choose(&made.pairs, 32, &inputs);
                let values = evaluate(&Ristretto255, 4, &Ristretto255.decode(&made.blinds).unwrap(), &chosen);
                let values = Ristretto255.encode(&values);
                // Scalars are below 2^252 and a bit.
                bytes.extend(chosen.chunks(32).flat_map(|scalar| scalar[..31].to_vec()));
                for part in chosen.chunks(32).chain(values.chunks(32)).chain(made.blinds.chunks(32)) {
                    if !seen.insert(part.to_vec()) {
                        return Err("something came twice".into());
                    }
                }
            }
            uniform("bytes", &byte_counts(bytes.into_iter()))
        };
        check(TransferForm::Blinded, [2, 3]).unwrap();
        // Leaky: the basic protocol, whose values are those of the input; and a proxy that draws the same again.
        check(TransferForm::Plain, [2, 3]).unwrap_err();
        check(TransferForm::Blinded, [2, 2]).unwrap_err();
    }
}

/// Whatever a participant puts together of what it may choose in two evaluations, and of both blinds, is the function
/// of neither input, nor of any other of the same bits.
#[test]
fn parts_of_two_evaluations_make_no_third() {
    let (group, rng) = (Ristretto255, &mut rng(1));
    let function = PseudorandomFunction::generate(&group, 1, rng);
    let all: Vec<u8> = (0..=255).collect();
    let rows: HashSet<Vec<u8>> =
        group.encode(&function.evaluate(&group, &all)).chunks(32).map(<[u8]>::to_vec).collect();
    assert_eq!(rows.len(), 256);
    let made = offer(&group, &function, 2, TransferForm::Blinded, rng);
    let blinds = group.decode(&made.blinds).unwrap();
    let chosen = choose(&made.pairs, 32, &[0b1010_1010, 0b0101_0101]);
    let (first, second) = chosen.split_at(8 * 32);
    // Every way to take each message from one or from the other, for each blind, undone by each r.
    for ways in 0..=255u8 {
        let mixed: Vec<u8> = (0..8)
            .flat_map(|bit| if ways >> bit & 1 == 0 { &first[32 * bit..][..32] } else { &second[32 * bit..][..32] })
            .copied()
            .collect();
        for (number, blind) in blinds.iter().enumerate() {
            let value = evaluate(&group, 1, std::slice::from_ref(blind), &mixed);
            for (other, unblind) in made.unblind.iter().enumerate() {
                let row = group.multiply_encode(&value, unblind);
                let own = (ways, number, other) == (0, 0, 0) || (ways, number, other) == (255, 1, 1);
                assert_eq!(rows.contains(&row), own, "{ways:08b} {number} {other}");
            }
        }
    }
}

/// A proxy replaces the message for 0, or the one for 1, by what is no scalar: the participant answers with a point in
/// either case.
#[test]
fn messages_that_are_no_scalars_count_as_one() {
    let group = Ristretto255;
    let function = PseudorandomFunction::generate(&group, 1, &mut rng(1));
    for (input, branch) in [(0u8, 0usize), (0, 1), (255, 0), (255, 1)] {
        for wrong in [[0; 32], [0xff; 32]] {
            let mut made = offer(&group, &function, 1, TransferForm::Blinded, &mut rng(2));
            made.pairs[32 * branch..][..32].copy_from_slice(&wrong);
            let chosen = choose(&made.pairs, 32, &[input]);
            let values = evaluate(&group, 1, &group.decode(&made.blinds).unwrap(), &chosen);
            let right = group.multiply_each_encode(&values, &made.unblind)
                == group.encode(&function.evaluate(&group, &[input]));
            assert_eq!(right, usize::from(input & 1) != branch);
            assert!(!group.any_identity(&values));
        }
    }
}

#[test]
fn short_strings_modulo_p() {
    let group = ModP::of(Level::Paper80);
    let strings = [[0, 0], [1, 0], [0, 1], [0xff, 0xff], *b"ab", [0, 0]];
    let points = group.embed(&strings.concat());
    assert!(!group.any_identity(&points));
    assert_eq!(group.encode(&points[..1]), group.encode(&points[5..]));
    let back: Vec<_> = group.unembed(&points).into_iter().map(|string| string.unwrap().to_vec()).collect();
    assert_eq!(back, strings);
    // The number after the last, the identity, and random points are of no string.
    let others = group.multiply_generator(&[group.scalar(0), group.scalar((1 << 16) + 1)]);
    let random = group.random_points(3, &mut rng(1));
    assert!(group.unembed(&[others, random].concat()).iter().all(Option::is_none));
    assert!(group.embed(&[]).is_empty() && group.unembed(&[]).is_empty());
}
