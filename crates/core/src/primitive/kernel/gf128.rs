//! GF(2^128) over slices: polynomials over GF(2) modulo x^128 + x^7 + x^2 + x + 1. Addition is exclusive or.

use super::backend;
use super::block::Block;
use super::memory::wipe;
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Calls the function of this name in the chosen back end.
macro_rules! dispatch {
    ($backend:expr, $function:ident $(::<$add:literal>)? ($($argument:expr),*)) => {
        match $backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 => unsafe { x86::gf128::$function$(::<$add>)?($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            backend::Family::Pclmul | backend::Family::Avx2 => {
                // SAFETY: as above.
                unsafe { x86::pclmul::$function$(::<$add>)?($($argument),*) }
            }
            _ => portable::gf128::$function$(::<$add>)?($($argument),*),
        }
    };
}

/// `a * b`, one at a time. The functions on slices are an order of magnitude faster for each product.
#[inline]
pub fn product(a: Block, b: Block) -> Block {
    match backend::chosen().family() {
        // SAFETY: the processor has what the chosen back end needs, and all but `Portable` include `Pclmul`.
        #[cfg(target_arch = "x86_64")]
        backend::Family::Pclmul | backend::Family::Avx2 | backend::Family::Avx512 => unsafe {
            x86::pclmul::product(a, b)
        },
        _ => portable::gf128::product(a, b),
    }
}

/// `out[i] = a[i] * b[i]`. The slices must be equally long.
pub fn multiply(a: &[Block], b: &[Block], out: &mut [Block]) {
    same_length(&[a.len(), b.len()], out.len());
    dispatch!(backend::chosen(), multiply::<false>(a, b, out));
}

/// `out[i] += a[i] * b[i]`. The slices must be equally long.
#[cfg(test)]
pub(crate) fn multiply_add(a: &[Block], b: &[Block], out: &mut [Block]) {
    same_length(&[a.len(), b.len()], out.len());
    dispatch!(backend::chosen(), multiply::<true>(a, b, out));
}

/// `out[i] = s * a[i]`. The slices must be equally long.
pub fn scale(a: &[Block], s: Block, out: &mut [Block]) {
    same_length(&[a.len()], out.len());
    dispatch!(backend::chosen(), scale::<false>(a, s, out));
}

/// `out[i] += s * a[i]`. The slices must be equally long.
pub fn scale_add(a: &[Block], s: Block, out: &mut [Block]) {
    same_length(&[a.len()], out.len());
    dispatch!(backend::chosen(), scale::<true>(a, s, out));
}

/// `a[i] = s * a[i]`.
pub fn scale_in_place(a: &mut [Block], s: Block) {
    dispatch!(backend::chosen(), scale_in_place(a, s));
}

/// The sum of all `a[i] * b[i]`, reduced once. The slices must be equally long.
pub fn inner_product(a: &[Block], b: &[Block]) -> Block {
    same_length(&[a.len()], b.len());
    dispatch!(backend::chosen(), inner_product(a, b))
}

/// `out[i] = first * base^i`.
pub fn powers(first: Block, base: Block, out: &mut [Block]) {
    let Some(start) = out.first_mut() else { return };
    *start = first;
    // The first `known` powers, multiplied by base^known, are the next ones.
    let (mut known, mut step) = (1, base);
    while known < out.len() {
        let (from, to) = out.split_at_mut(known);
        let count = known.min(to.len());
        scale(&from[..count], step, &mut to[..count]);
        step *= step;
        known += count;
    }
}

/// `out[i] = 1 / a[i]`, and zero where `a[i]` is zero. The slices must be equally long.
///
/// The inverse is a^(2^128 - 2), found with 127 squarings and ten further products (Itoh and Tsujii 1988).
pub(crate) fn invert(a: &[Block], out: &mut [Block]) {
    same_length(&[a.len()], out.len());
    // Long enough for the kernels to be fast, short enough for the stack.
    const BATCH: usize = 128;
    for (a, out) in a.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
        let mut power = [Block::ZERO; BATCH];
        let mut square = [Block::ZERO; BATCH];
        let [power, square] = [&mut power, &mut square].map(|room| &mut room[..a.len()]);
        // `out` is a^(2^ones - 1).
        out.copy_from_slice(a);
        let mut ones = 1;
        // 127 in binary is seven ones: double the number of ones, then add one, six times.
        while ones < 127 {
            power.copy_from_slice(out);
            for _ in 0..ones {
                square_in_place(power, square);
            }
            multiply(power, out, square);
            square_in_place(square, power);
            multiply(square, a, out);
            ones = 2 * ones + 1;
        }
        square_in_place(out, square);
        wipe(power);
        wipe(square);
    }
}

/// `a[i] = a[i]^2`; `room` must be as long, and what it holds afterwards means nothing.
fn square_in_place(a: &mut [Block], room: &mut [Block]) {
    room.copy_from_slice(a);
    multiply(room, room, a);
}

fn same_length(inputs: &[usize], output: usize) {
    assert!(inputs.iter().all(|length| *length == output), "slices of {inputs:?} and {output} elements");
}

#[cfg(test)]
mod tests {
    use super::super::backend::Backend;
    use super::super::block;
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// The definition: shift and add, bit by bit.
    fn reference(a: Block, b: Block) -> Block {
        let (mut sum, mut shifted) = (0, a.0);
        for bit in 0..128 {
            if b.bit(bit) {
                sum ^= shifted;
            }
            shifted = shifted << 1 ^ if shifted >> 127 == 1 { 0x87 } else { 0 };
        }
        Block(sum)
    }

    /// Random elements, after some with their bits at the edges.
    fn elements(count: usize, seed: u8) -> Vec<Block> {
        let edge = [0, 1, 2, u128::MAX, 1 << 127, 1 << 64, 1 << 63, u128::MAX << 64, u128::MAX >> 64, 0x87];
        let mut elements = block::random(count, &mut ChaCha20Rng::from_seed([seed; 32]));
        for (element, edge) in elements.iter_mut().zip(edge) {
            *element = Block(edge);
        }
        if count > 0 {
            elements.rotate_left(seed as usize % count);
        }
        elements
    }

    #[test]
    fn known_products() {
        // x^127 * x = x^128, x^64 * x^64 = x^128, (x^127)^2 = x^254 = x^126 * (x^7 + x^2 + x + 1).
        assert_eq!(Block(1 << 127) * Block(2), Block(0x87));
        assert_eq!(Block(1 << 64) * Block(1 << 64), Block(0x87));
        assert_eq!(Block(1 << 127) * Block(1 << 127), reference(Block(1 << 126), Block(0x87)));
        assert_eq!(Block(3) * Block(3), Block(5));
        // The example of Gueron and Kounavis, "Intel carry-less multiplication instruction and its usage for computing
        // the GCM mode".
        let (a, b) = (0x7b5b54657374566563746f725d53475d, 0x48692853686179295b477565726f6e5d);
        assert_eq!(Block(a) * Block(b), Block(0x40229a09a5ed12e7e4e10da323506d2));
    }

    #[test]
    fn products_follow_the_definition() {
        for (a, b) in elements(200, 1).into_iter().zip(elements(200, 2)) {
            assert_eq!(a * b, reference(a, b));
        }
        let edge = elements(10, 10);
        for a in &edge {
            for b in &edge {
                assert_eq!(*a * *b, reference(*a, *b));
            }
        }
    }

    #[test]
    fn axioms_of_a_field() {
        let (a, b, c) = (elements(60, 1), elements(60, 2), elements(60, 3));
        for ((a, b), c) in a.into_iter().zip(b).zip(c) {
            assert_eq!(a * b, b * a);
            assert_eq!(a * (b * c), (a * b) * c);
            assert_eq!(a * (b ^ c), (a * b) ^ (a * c));
            assert_eq!(a * Block::ONE, a);
            assert_eq!(a * a.invert(), if a == Block::ZERO { Block::ZERO } else { Block::ONE });
        }
    }

    #[test]
    fn slices_follow_the_definition() {
        for count in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 127, 128, 129, 500] {
            let (a, b, c) = (elements(count, 1), elements(count, 2), elements(count, 3));
            let s = Block(0x0123_4567_89ab_cdef_1122_3344_5566_7788 << 3);
            let zip = || a.iter().zip(&b).zip(&c).map(|((a, b), c)| (*a, *b, *c));
            let expected = |value: &dyn Fn(Block, Block, Block) -> Block| -> Vec<Block> {
                zip().map(|(a, b, c)| value(a, b, c)).collect()
            };

            let mut out = vec![Block::ALL_ONES; count];
            multiply(&a, &b, &mut out);
            assert_eq!(out, expected(&|a, b, _| reference(a, b)));
            let sum = block::xor_all(&out);
            assert_eq!(inner_product(&a, &b), sum);
            out.copy_from_slice(&c);
            multiply_add(&a, &b, &mut out);
            assert_eq!(out, expected(&|a, b, c| reference(a, b) ^ c));
            scale(&a, s, &mut out);
            assert_eq!(out, expected(&|a, _, _| reference(a, s)));
            out.copy_from_slice(&c);
            scale_add(&a, s, &mut out);
            assert_eq!(out, expected(&|a, _, c| reference(a, s) ^ c));
            out.copy_from_slice(&a);
            scale_in_place(&mut out, s);
            assert_eq!(out, expected(&|a, _, _| reference(a, s)));

            invert(&a, &mut out);
            for (a, inverse) in a.iter().zip(&out) {
                let one = if *a == Block::ZERO { Block::ZERO } else { Block::ONE };
                assert_eq!(reference(*a, *inverse), one);
                assert!(*a != Block::ZERO || *inverse == Block::ZERO);
            }
            powers(Block(9), s, &mut out);
            let mut power = Block(9);
            for out in &out {
                assert_eq!(*out, power);
                power = reference(power, s);
            }
        }
    }

    /// Compares all back ends, also on slices that are not aligned to vectors.
    #[test]
    fn back_ends_agree() {
        for count in [0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000] {
            let (a, b, c) = (elements(count + 1, 4), elements(count + 1, 5), elements(count + 1, 6));
            let (a, b, c, s) = (&a[1..], &b[1..], &c[1..], Block((u128::MAX / 3) << 5));
            let results = |backend: Backend| {
                let mut out = vec![c.to_vec(); 5];
                dispatch!(backend, multiply::<false>(a, b, &mut out[0]));
                dispatch!(backend, multiply::<true>(a, b, &mut out[1]));
                dispatch!(backend, scale::<false>(a, s, &mut out[2]));
                dispatch!(backend, scale::<true>(a, s, &mut out[3]));
                dispatch!(backend, scale_in_place(&mut out[4], s));
                out.push(vec![dispatch!(backend, inner_product(a, b))]);
                out
            };
            for backend in backend::available() {
                assert!(results(backend) == results(Backend::PORTABLE), "{} at {count}", backend.name());
            }
        }
    }
}
