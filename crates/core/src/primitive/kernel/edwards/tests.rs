//! Everything is compared with curve25519-dalek, on random and on edge input, on each back end; and the forms limb by
//! limb with plain ones.

use chacha20::ChaCha20Rng;
use crypto_bigint::BoxedUint;
use curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::VartimeMultiscalarMul;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};

use super::super::backend::available;
use super::*;
use field::{Limbs, REDUCED};

/// The back ends that have this kernel: none on some processors.
fn fast() -> Vec<Backend> {
    available().into_iter().filter(|backend| is_fast(*backend)).collect()
}

fn bytes(point: &RistrettoPoint) -> [u8; 32] {
    point.compress().to_bytes()
}

/// Points through their encodings.
fn points(backend: Backend, all: &[RistrettoPoint]) -> Vec<Extended> {
    let encodings: Vec<_> = all.iter().map(bytes).collect();
    let mut out = vec![Extended::IDENTITY; all.len()];
    decode(backend, &encodings, &mut out).unwrap();
    out
}

fn encodings(backend: Backend, points: &[Extended]) -> Vec<[u8; 32]> {
    let mut out = vec![[0; 32]; points.len()];
    encode(backend, points, &mut out);
    out
}

/// Random points among edge ones.
fn some(count: usize, rng: &mut ChaCha20Rng) -> Vec<RistrettoPoint> {
    let generator = RISTRETTO_BASEPOINT_POINT;
    let random = RistrettoPoint::random(rng);
    let edge = [generator, RistrettoPoint::default(), -generator, random, -random, random + random];
    edge.into_iter().chain(std::iter::repeat_with(|| RistrettoPoint::random(rng))).take(count).collect()
}

/// The scalar of which each digit is half of what there are: the least that carries. That of one less carries nowhere.
fn halves(bits: usize) -> Scalar {
    let mut bytes = [0; 32];
    for bit in (bits - 1..252).step_by(bits) {
        bytes[bit / 8] |= 1 << (bit % 8);
    }
    Scalar::from_canonical_bytes(bytes).unwrap()
}

fn scalars(count: usize, rng: &mut ChaCha20Rng) -> Vec<Scalar> {
    let one = Scalar::ONE;
    let edge = [
        Scalar::ZERO,
        one,
        -one,
        one + one,
        one.div_by_2(),
        -(one + one),
        Scalar::from(16u64),
        halves(4),
        halves(4) - one,
        halves(5),
        halves(5) - one,
    ];
    edge.into_iter().chain(std::iter::repeat_with(|| Scalar::random(rng))).take(count).collect()
}

#[test]
fn decoding_and_encoding_agree_with_the_library() {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    for backend in fast() {
        for count in [0, 1, 7, 8, 9, 30] {
            let all = some(count, &mut rng);
            let own = points(backend, &all);
            assert_eq!(encodings(backend, &own), all.iter().map(bytes).collect::<Vec<_>>(), "{backend:?}");
            let mut doubles = vec![[0; 32]; count];
            double_encode(backend, &own, &mut doubles);
            assert_eq!(doubles, all.iter().map(|point| bytes(&(point + point))).collect::<Vec<_>>(), "{backend:?}");
            assert_eq!(any_identity(backend, &own), all.contains(&RistrettoPoint::default()));
            let others: Vec<_> =
                own.iter().zip(&all).filter(|(_, point)| **point != RistrettoPoint::default()).collect();
            assert!(!any_identity(backend, &others.into_iter().map(|(point, _)| *point).collect::<Vec<_>>()));
        }
    }
}

#[test]
fn products_agree_with_the_library() {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    for backend in fast() {
        for count in [0, 1, 5, 8, 17, 150] {
            let (all, factors) = (some(count, &mut rng), scalars(count, &mut rng));
            let own = points(backend, &all);
            let numbers: Vec<_> = factors.iter().map(Scalar::to_bytes).collect();
            let mut out = own.clone();
            multiply(backend, &own, &numbers, &mut out);
            let products: Vec<_> = all.iter().zip(&factors).map(|(point, factor)| point * factor).collect();
            assert_eq!(encodings(backend, &out), products.iter().map(bytes).collect::<Vec<_>>());
            let sum: RistrettoPoint = products.iter().sum();
            assert_eq!(encodings(backend, &[combine(backend, &own, &numbers, 253)]), [bytes(&sum)]);
            // Those that are below 2^128, all ones among them.
            let mut short = numbers.clone();
            short.iter_mut().enumerate().for_each(|(index, number)| {
                number[16..].fill(0);
                number[..16].iter_mut().for_each(|byte| *byte |= if index % 3 == 0 { 0xff } else { 0 });
            });
            let of_short: Vec<_> = short.iter().map(|number| Scalar::from_bytes_mod_order(*number)).collect();
            let sum: RistrettoPoint = all.iter().zip(&of_short).map(|(point, factor)| point * factor).sum();
            assert_eq!(encodings(backend, &[combine(backend, &own, &short, 128)]), [bytes(&sum)]);
            for base in all.iter().take(5) {
                Table::new(backend, &points(backend, &[*base])[0]).multiply(&numbers, &mut out);
                let products: Vec<_> = factors.iter().map(|factor| bytes(&(base * factor))).collect();
                assert_eq!(encodings(backend, &out), products);
            }
        }
    }
}

/// Checks sums of as many points as have buckets, with scalars at their edges, short and long.
#[test]
fn public_sums_agree_with_the_library() {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    for count in [buckets::MIN_POINTS - 1, buckets::MIN_POINTS, buckets::MIN_POINTS + 9] {
        let (all, factors) = (some(count, &mut rng), scalars(count, &mut rng));
        for bits in [253_usize, 129, 128, 64, 1] {
            let mut numbers: Vec<_> = factors.iter().map(Scalar::to_bytes).collect();
            for (index, number) in numbers.iter_mut().enumerate().filter(|_| bits < 253) {
                number.iter_mut().filter(|_| index % 3 == 0).for_each(|byte| *byte = 0xff);
                number[bits.div_ceil(8)..].fill(0);
                number[(bits - 1) / 8] &= 0xff >> (7 - (bits - 1) % 8);
            }
            let reduced = numbers.iter().map(|number| Scalar::from_bytes_mod_order(*number));
            let sum = bytes(&RistrettoPoint::vartime_multiscalar_mul(reduced, &all));
            for backend in fast() {
                let own = combine_public(backend, &points(backend, &all), &numbers, bits as u32);
                assert_eq!(encodings(backend, &[own]), [sum], "{backend:?}, {count} points, {bits} bits");
            }
        }
    }
}

#[test]
fn sums_and_differences_agree_with_the_library() {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    for backend in fast() {
        let all = some(12, &mut rng);
        for by in 0..12 {
            let mut others = all.clone();
            others.rotate_left(by);
            let (one, other) = (points(backend, &all), points(backend, &others));
            let mut out = one.clone();
            add(backend, Sign::Plus, &one, &other, &mut out);
            let sums: Vec<_> = all.iter().zip(&others).map(|(a, b)| bytes(&(a + b))).collect();
            assert_eq!(encodings(backend, &out), sums);
            add(backend, Sign::Minus, &one, &other, &mut out);
            let differences: Vec<_> = all.iter().zip(&others).map(|(a, b)| bytes(&(a - b))).collect();
            assert_eq!(encodings(backend, &out), differences);
        }
    }
}

#[test]
fn the_map_agrees_with_the_library() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let mut all = vec![[0; 64], [0xff; 64]];
    // 0, 1, p - 1, p, p + 1 and 2 p - 1, in each half.
    for number in [
        [0u8; 32],
        {
            let mut one = [0; 32];
            one[0] = 1;
            one
        },
        near(-1),
        near(0),
        near(1),
        {
            let mut twice = [0xff; 32];
            twice[0] = 0xd9;
            twice
        },
    ] {
        let mut both = [0; 64];
        both[..32].copy_from_slice(&number);
        all.push(both);
        both.rotate_left(32);
        all.push(both);
    }
    for _ in 0..20 {
        let mut random = [0; 64];
        rng.fill_bytes(&mut random);
        all.push(random);
    }
    for backend in fast() {
        let mut out = vec![Extended::IDENTITY; all.len()];
        map(backend, &all, &mut out);
        let truth: Vec<_> = all.iter().map(|all| bytes(&RistrettoPoint::from_uniform_bytes(all))).collect();
        assert_eq!(encodings(backend, &out), truth);
    }
}

/// Returns the bytes of p plus this offset.
fn near(offset: i8) -> [u8; 32] {
    let mut bytes = [0xff; 32];
    bytes[0] = 0xed_u8.wrapping_add_signed(offset);
    bytes[31] = 0x7f;
    bytes
}

#[test]
fn what_is_no_encoding_is_refused_as_the_library_refuses_it() {
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let mut all: Vec<[u8; 32]> = vec![[0; 32], [0xff; 32], near(-1), near(0), near(1), near(18)];
    for _ in 0..200 {
        let mut random = [0; 32];
        rng.fill_bytes(&mut random);
        all.push(random);
        random[31] &= 0x7f;
        all.push(random);
        random[0] &= 0xfe;
        all.push(random);
        // The negative of an encoding, and one that is not reduced.
        let point = RistrettoPoint::random(&mut rng);
        let mut flipped = bytes(&point);
        flipped[31] |= 0x80;
        all.push(flipped);
    }
    for backend in fast() {
        let mut good = 0;
        for encoding in &all {
            let truth = CompressedRistretto(*encoding).decompress().is_some();
            good += usize::from(truth);
            let mut out = [Extended::IDENTITY; 1];
            assert_eq!(decode(backend, &[*encoding], &mut out).is_ok(), truth, "{encoding:02x?}");
        }
        assert!(good > 20);
        // The first of several is named.
        let fine = bytes(&RISTRETTO_BASEPOINT_POINT);
        let mut many = vec![fine; 20];
        (many[11], many[17]) = ([0xff; 32], [0xff; 32]);
        assert_eq!(decode(backend, &many, &mut [Extended::IDENTITY; 20]), Err(11));
    }
}

/// Limbs as large as reduced ones may be, and everything else at random.
fn residues(rng: &mut ChaCha20Rng) -> Vec<Limbs> {
    let mut all = vec![[0; 5], [REDUCED - 1; 5], [1, 0, 0, 0, 0]];
    // Products of doubles whose lower parts are as far below zero as they can be, and the higher ones next to nothing.
    all.extend([[1 << 25; 5], [(1 << 25) + 1; 5]]);
    // p - 1, p, p + 1.
    for lowest in [0x7ffffffffffec_u64, 0x7ffffffffffed, 0x7ffffffffffee] {
        all.push([lowest, (1 << 51) - 1, (1 << 51) - 1, (1 << 51) - 1, (1 << 51) - 1]);
    }
    all.extend((0..26).map(|_| std::array::from_fn(|_| rng.next_u64() % REDUCED)));
    all
}

/// The curve's constants satisfy what defines them, in the plain form of the field.
#[test]
fn constants_are_what_they_should_be() {
    type Plain = Field<vector::Plain<false>>;
    let all = |limbs: &Limbs| Plain::all(limbs);
    let same = |a: Plain, b: Plain| a.encode() == b.encode();
    let (one, d) = (Plain::one(), all(&field::D));
    assert!(same(d.times(all(&[121_666, 0, 0, 0, 0])), all(&[121_665, 0, 0, 0, 0]).negated()));
    assert!(same(all(&field::SQRT_M1).squared(), one.negated()));
    // Of two roots the one that RFC 9496, section 4.1, writes out.
    let squares = [
        (&ristretto::SQRT_AD_MINUS_ONE, d.negated().minus(one), 0x1b),
        (&ristretto::INVSQRT_A_MINUS_D, one.negated().minus(d).inverted(), 0xea),
    ];
    for (root, square, lowest) in squares {
        assert!(same(all(root).squared(), square));
        assert_eq!(root[0] & 0xff, lowest);
    }
    assert!(same(all(&ristretto::ONE_MINUS_D_SQ), one.minus(d.squared())));
    assert!(same(all(&ristretto::D_MINUS_ONE_SQ), d.minus(one).squared()));
}

/// Operations of the field on vectors of these residues, with limbs and encodings as results.
struct All<'a>(&'a [Limbs]);

impl Work for All<'_> {
    type Output = (Vec<[[u64; LANES]; 5]>, Vec<[[u64; LANES]; 4]>);

    #[inline(always)]
    fn run<V: Vector>(self) -> Self::Output {
        let mut all = Vec::new();
        let vectors: Vec<Field<V>> =
            self.0.windows(LANES).map(|lanes| Field::pack(std::array::from_fn(|lane| &lanes[lane]))).collect();
        for a in &vectors {
            for b in &vectors {
                all.extend([a.times(*b), a.twice_times(*b), a.plus(*b), a.minus(*b), a.twice_plus_minus(*b, *a)]);
            }
            all.extend([a.squared(), a.negated(), a.doubled(), a.inverted(), a.absolute()]);
            assert_eq!(a.squared().encode(), a.times(*a).encode());
        }
        (all.iter().map(|field| field.store()).collect(), all.iter().map(|field| field.encode()).collect())
    }
}

/// Each form gives the limbs that the plain one with its products does, all of them reduced, and both have the same
/// residues.
fn check_field(residues: &[Limbs]) {
    let doubles = All(residues).run::<vector::Plain<true>>();
    let integers = All(residues).run::<vector::Plain<false>>();
    for (limbs, _) in [&doubles, &integers] {
        assert!(limbs.iter().flatten().flatten().all(|word| *word < REDUCED));
    }
    assert!(doubles.1 == integers.1);
    for backend in fast() {
        let plain = if backend.family() == Family::Avx2 { &doubles } else { &integers };
        assert!(run(backend, All(residues)) == *plain, "{backend:?}");
    }
}

#[test]
fn residues_at_the_bounds_stay_within_them() {
    check_field(&residues(&mut ChaCha20Rng::from_seed([6; 32])));
}

/// A limb at an end of what it may be, or anywhere.
fn limb() -> impl Strategy<Value = u64> {
    let edge = |value: u64| (value.saturating_sub(2)..(value + 3).min(REDUCED)).boxed();
    proptest::strategy::Union::new([
        edge(0),
        edge(1 << 25),
        edge(1 << 26),
        edge(1 << 50),
        edge(1 << 51),
        edge(REDUCED - 3),
        (0..REDUCED).boxed(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn residues_are_multiplied_as_plainly(
        residues in prop::collection::vec([limb(), limb(), limb(), limb(), limb()], LANES + 1),
    ) {
        check_field(&residues);
    }

    /// Compares products with those of long numbers: both plain forms could be wrong alike.
    #[test]
    fn products_are_those_of_long_numbers(
        a in [limb(), limb(), limb(), limb(), limb()],
        b in [limb(), limb(), limb(), limb(), limb()],
    ) {
        let number = |limbs: &Limbs| {
            limbs.iter().rev().fold(BoxedUint::zero_with_precision(512), |sum, limb| {
                sum.shl(51).wrapping_add(BoxedUint::from(*limb))
            })
        };
        let modulus = number(&field::MODULUS).to_nz().unwrap();
        let truth = number(&a).wrapping_mul(number(&b)).rem(&modulus);
        let plain = |limbs: &Limbs| Field::<vector::Plain<true>>::all(limbs);
        let product = plain(&a).times(plain(&b)).encode().map(|words| words[0]);
        prop_assert_eq!(&product[..], &truth.as_words()[..4]);
    }
}

#[test]
fn words_are_transposed() {
    struct Transpose([[u64; LANES]; LANES]);
    impl Work for Transpose {
        type Output = [[u64; LANES]; LANES];

        #[inline(always)]
        fn run<V: Vector>(self) -> Self::Output {
            let mut rows = [V::all(0); LANES];
            for (row, words) in rows.iter_mut().zip(&self.0) {
                *row = V::load(words);
            }
            V::transposed(&rows).map(|column| column.store())
        }
    }
    let rows: [[u64; LANES]; LANES] = std::array::from_fn(|row| std::array::from_fn(|word| (10 * row + word) as u64));
    let truth = std::array::from_fn(|column| rows.map(|row| row[column]));
    assert!(fast().into_iter().all(|backend| run(backend, Transpose(rows)) == truth));
}

/// Checks all words that a table may have, picked by all numbers.
#[test]
fn words_are_picked_from_tables() {
    struct Pick([u64; 2 * LANES]);
    impl Work for Pick {
        type Output = Vec<[u64; LANES]>;

        #[inline(always)]
        fn run<V: Vector>(self) -> Self::Output {
            let mut picked = Vec::new();
            for first in 0..16u64 {
                let numbers = std::array::from_fn(|lane| (first + 3 * lane as u64) % 16);
                picked.push(V::pick(V::load(&numbers), &self.0).store());
            }
            picked
        }
    }
    let table: [u64; 16] = std::array::from_fn(|index| 0x0123_4567_89ab_cdef_u64.rotate_left(4 * index as u32));
    let truth: Vec<[u64; LANES]> =
        (0..16).map(|first| std::array::from_fn(|lane| table[(first + 3 * lane) % 16])).collect();
    assert!(fast().into_iter().all(|backend| run(backend, Pick(table)) == truth));
}
