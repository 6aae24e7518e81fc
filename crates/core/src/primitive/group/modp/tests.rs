//! Every operation beside plain arithmetic on single numbers, and what is refused.

use chacha20::ChaCha20Rng;
use crypto_bigint::{BoxedUint, Resize};
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::primitive::group::{DecodeError, Group, ScalarField};

/// Around eights, and more than one batch of a product.
const COUNTS: [usize; 7] = [0, 1, 7, 8, 9, 65, 130];

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// The group of the squares modulo a safe prime.
fn squares(bits: u32, two_adicity: u32) -> ModP {
    let (p, q) = safe_prime(bits, two_adicity, &mut rng(9)).unwrap();
    ModP::new(&p, &q, &BoxedUint::from(4u64)).unwrap()
}

/// The subgroup of order 11 modulo 23.
fn tiny() -> ModP {
    let odd = |number: u64| BoxedUint::from(number).into_odd().unwrap();
    ModP::made_of(odd(23), odd(11), &BoxedUint::from(4u64))
}

/// Numbers as the definition has them.
struct Plain<'a>(&'a ModP);

impl Plain<'_> {
    fn number(&self, point: &Point) -> BoxedUint {
        let words = self.0.field.words();
        BoxedUint::from_words(self.0.field.leave(&self.0.pack(std::slice::from_ref(point)))[..words].iter().copied())
    }

    fn power(&self, base: &BoxedUint, exponent: &BoxedUint) -> BoxedUint {
        BoxedMontyForm::new(base.clone(), &BoxedMontyParams::new(self.0.modulus.clone())).pow(exponent).retrieve()
    }

    fn product(&self, a: &BoxedUint, b: &BoxedUint) -> BoxedUint {
        a.mul_mod(b, self.0.modulus.as_nz_ref())
    }

    fn encode(&self, number: &BoxedUint) -> Vec<u8> {
        let bytes = number.to_be_bytes();
        let bytes = bytes[bytes.len() - self.0.point_bytes()..].to_vec();
        if number.is_one().to_bool() { vec![0; bytes.len()] } else { bytes }
    }

    fn encode_all(&self, numbers: &[BoxedUint]) -> Vec<u8> {
        numbers.iter().flat_map(|number| self.encode(number)).collect()
    }
}

fn check(group: &ModP, counts: &[usize]) {
    let mut rng = rng(1);
    let plain = Plain(group);
    for &count in counts {
        let mut scalars = group.random_scalars(count, &mut rng);
        let mut points = group.random_points(count, &mut rng);
        if count > 2 {
            scalars[0] = group.minus(&scalars[1], &scalars[1]);
            scalars[2] = group.minus(&group.scalar(0), &group.scalar(1));
            points[1] = group.identity.clone();
        }
        let numbers: Vec<_> = points.iter().map(|point| plain.number(point)).collect();
        let exponents: Vec<_> = scalars.iter().map(|scalar| scalar.number()).collect();
        assert!(numbers.iter().all(|number| plain.power(number, &group.order).is_one().to_bool()));
        assert_eq!(group.encode(&points), plain.encode_all(&numbers));
        assert_eq!(group.any_identity(&points), count > 2);

        let powers: Vec<_> = numbers.iter().zip(&exponents).map(|(number, e)| plain.power(number, e)).collect();
        assert_eq!(group.multiply_each_encode(&points, &scalars), plain.encode_all(&powers));
        let one = BoxedUint::one_with_precision(group.modulus.bits_precision());
        let sum = powers.iter().fold(one, |sum, power| plain.product(&sum, power));
        assert_eq!(plain.number(&group.combine(&points, &scalars)), sum);
        if let Some((scalar, exponent)) = scalars.iter().zip(&exponents).nth(1) {
            let powers: Vec<_> = numbers.iter().map(|number| plain.power(number, exponent)).collect();
            assert_eq!(group.multiply_encode(&points, scalar), plain.encode_all(&powers));
            assert_eq!(group.encode(&group.multiply(&points, scalar)), plain.encode_all(&powers));
        }
        for base in [Some(&group.generator), numbers.last()].into_iter().flatten() {
            let powers: Vec<_> = exponents.iter().map(|exponent| plain.power(base, exponent)).collect();
            let made = if std::ptr::eq(base, &group.generator) {
                group.multiply_generator(&scalars)
            } else {
                group.multiply_one(&points[count - 1], &scalars)
            };
            assert_eq!(group.encode(&made), plain.encode_all(&powers));
        }

        let others = group.multiply_generator(&scalars);
        let sums = group.add(&points, &others);
        let products = points.iter().zip(&others).map(|(a, b)| plain.product(&plain.number(a), &plain.number(b)));
        assert_eq!(group.encode(&sums), plain.encode_all(&products.collect::<Vec<_>>()));
        assert_eq!(group.encode(&group.subtract(&sums, &others)), plain.encode_all(&numbers));
        assert_eq!(group.encode(&group.subtract(&sums, &sums)), vec![0; count * group.point_bytes()]);
        assert_eq!(group.double_encode(&points), group.encode(&group.add(&points, &points)));

        let others: Vec<_> = points.into_iter().filter(|point| point.0 != group.identity.0).collect();
        let encoded = group.encode(&others);
        assert_eq!(group.encode(&group.decode(&encoded).unwrap()), encoded);
    }
}

/// Encodings that are no points, wherever they stand; `outside` is a number that is no member.
fn check_refusals(group: &ModP, outside: &BoxedUint) {
    check_refusals_among(group, outside, 17, &[0, 1, 7, 8, 16]);
    // Many are looked at together.
    check_refusals_among(group, outside, 203, &[0, 9, 128, 202]);
}

fn check_refusals_among(group: &ModP, outside: &BoxedUint, count: usize, places: &[usize]) {
    let length = group.point_bytes();
    let good = group.encode(&group.random_points(count, &mut rng(2)));
    let p = group.modulus.as_ref();
    let plain = Plain(group);
    let bytes = |number: &BoxedUint| {
        let bytes = number.to_be_bytes();
        bytes[bytes.len() - length..].to_vec()
    };
    let one = BoxedUint::one();
    let wrong = [
        bytes(p),
        bytes(&p.wrapping_add(&one)),
        bytes(&p.wrapping_add(&group.generator)),
        // Its order is 2.
        bytes(&p.wrapping_sub(&one)),
        bytes(outside),
        // A member and a number of order 2.
        bytes(&p.wrapping_sub(plain.number(&group.random_points(1, &mut rng(3))[0]))),
        vec![0xff; length],
    ];
    let one = bytes(&one.resize(p.bits_precision()));
    for &place in places {
        let decode = |encoding: &[u8]| {
            let mut all = good.clone();
            all[place * length..][..length].copy_from_slice(encoding);
            group.decode(&all).map(drop)
        };
        assert_eq!(decode(&vec![0; length]), Err(DecodeError::Identity(place)));
        assert_eq!(decode(&one), Err(DecodeError::Identity(place)));
        for (number, wrong) in wrong.iter().enumerate() {
            assert_eq!(decode(wrong), Err(DecodeError::NotAPoint(place)), "{number}");
        }
    }
    assert_eq!(group.decode(&good[1..]).unwrap_err(), DecodeError::Length);
    assert_eq!(group.decode(&good[..length - 1]).unwrap_err(), DecodeError::Length);
    assert!(group.decode(&[]).unwrap().is_empty());
}

fn check_scalars(group: &ModP) {
    let mut rng = rng(4);
    let q = group.order.as_nz_ref();
    for count in COUNTS {
        let (a, b) = (group.random_scalars(count, &mut rng), group.random_scalars(count, &mut rng));
        for ((a, b), inverse) in a.iter().zip(&b).zip(group.invert(&a)) {
            let (x, y) = (a.number(), b.number());
            assert_eq!(*group.plus(a, b).number(), x.add_mod(&y, q));
            assert_eq!(*group.minus(a, b).number(), x.sub_mod(&y, q));
            assert_eq!(*group.times(a, b).number(), x.mul_mod(&y, q));
            assert!(group.times(a, &inverse).number().is_one().to_bool());
            assert!(!group.is_zero(a) && group.is_zero(&group.minus(a, a)));
            let encoded = group.encode_scalar(a);
            assert_eq!(*encoded, x.to_be_bytes()[x.to_be_bytes().len() - group.scalar_bytes()..]);
            assert_eq!(group.decode_scalar(&encoded).unwrap().number(), x);
        }
    }
    for integer in [0, 1, 0x0102_0304_0506_0708, u64::MAX] {
        let number = BoxedUint::from(integer).rem(&q.clone());
        assert_eq!(*group.scalar(integer).number(), number);
    }
    let length = group.scalar_bytes();
    let bytes = |number: &BoxedUint| number.to_be_bytes()[number.to_be_bytes().len() - length..].to_vec();
    let one = BoxedUint::one();
    assert!(group.decode_scalar(&bytes(&q.wrapping_sub(&one))).is_some());
    let long = [&[0], &bytes(&q.wrapping_sub(&one))[..]].concat();
    for wrong in
        [vec![0; length], bytes(q), bytes(&q.wrapping_add(&one)), vec![0xff; length], long, vec![1; length - 1]]
    {
        assert!(group.decode_scalar(&wrong).is_none());
    }
    // Exactly the roots that there are.
    assert_eq!(group.two_adicity, q.wrapping_sub(&one).trailing_zeros_vartime());
    for log2 in 0..=group.two_adicity {
        let root = group.root_of_unity(log2).unwrap();
        assert!((0..log2).fold(root.clone(), |root, _| group.times(&root, &root)).number().is_one().to_bool());
        if log2 > 0 {
            let half = (1..log2).fold(root, |root, _| group.times(&root, &root));
            assert!(group.is_zero(&group.plus(&half, &group.scalar(1))), "{log2}");
        }
    }
    assert!(group.root_of_unity(group.two_adicity + 1).is_none());
    let secret = group.random_scalars(1, &mut rng).remove(0);
    assert_eq!(format!("{secret:?} {:?}", group.identity), "Scalar(..) Point(..)");
}

#[test]
fn operations_of_the_groups_of_levels_are_those_of_the_definition() {
    for (level, counts) in [(Level::Paper80, &COUNTS[..]), (Level::Bits112, &COUNTS[..5])] {
        let group = ModP::of(level);
        check(&group, counts);
        check_scalars(&group);
        // Of which order 2 is, nobody knows; most likely it is p - 1.
        check_refusals(&group, &BoxedUint::from(2u64).resize(group.modulus.bits_precision()));
    }
    check(&ModP::of(Level::Bits128), &[1, 9]);
}

#[test]
#[ignore = "slow: more powers modulo primes of 2048 and 3072 bits"]
fn many_operations_of_the_groups_of_levels_are_those_of_the_definition() {
    check(&ModP::of(Level::Bits112), &COUNTS[5..]);
    check(&ModP::of(Level::Bits128), &COUNTS[..5]);
}

#[test]
fn operations_of_squares_are_those_of_the_definition() {
    for (bits, two_adicity) in [(512, 1), (517, 12)] {
        let group = squares(bits, two_adicity);
        assert!(group.squares.is_some() && group.two_adicity >= two_adicity);
        check(&group, &COUNTS);
        check_scalars(&group);
        // Of 2 and p - 2 one is a square, for p is 3 modulo 4.
        let two = BoxedUint::from(2u64).resize(group.modulus.bits_precision());
        let plain = Plain(&group);
        let outside =
            if plain.power(&two, &group.order).is_one().to_bool() { group.modulus.wrapping_sub(&two) } else { two };
        check_refusals(&group, &outside);
    }
}

#[test]
fn levels_have_the_sizes_that_they_should_have() {
    for (level, p, q) in [(Level::Paper80, 1024, 160), (Level::Bits112, 2048, 224), (Level::Bits128, 3072, 256)] {
        let group = ModP::of(level);
        assert_eq!((group.point_bytes(), group.scalar_bytes()), (p / 8, q / 8));
        assert_eq!(format!("{group:?}"), format!("ModP({p} bits, {q} bits)"));
        // All that is asked of groups that others bring.
        let again = ModP::new(&group.modulus, &group.order, &group.generator).unwrap();
        assert_eq!(again.multiply_encode(&[], &again.scalar(1)), []);
    }
}

#[test]
#[ignore = "tests primes of 7680 and 15360 bits"]
fn groups_of_the_highest_levels_are_groups() {
    for (level, p, q) in [(Level::Bits192, 7680, 384), (Level::Bits256, 15360, 512)] {
        let group = ModP::of(level);
        assert_eq!((group.point_bytes(), group.scalar_bytes()), (p / 8, q / 8));
        ModP::new(&group.modulus, &group.order, &group.generator).unwrap();
        check(&group, &[3]);
    }
}

#[test]
fn powers_of_four_modulo_23() {
    let group = tiny();
    let scalars: Vec<_> = (0..=11).map(|integer| group.scalar(integer)).collect();
    let encoded = group.encode(&group.multiply_generator(&scalars));
    assert_eq!(encoded, [0, 4, 16, 18, 3, 12, 2, 8, 9, 13, 6, 0]);
    // The squares but 1, and nothing else.
    for number in 0..=255u8 {
        assert_eq!(group.decode(&[number]).is_ok(), encoded[1..11].contains(&number), "{number}");
    }
    check_scalars(&group);
}

#[test]
fn hashes_depend_on_messages_and_tags() {
    let group = ModP::of(Level::Paper80);
    let hash = |message: &[u8], tag: &[u8]| group.encode(&group.hash_to_points(&[message], tag));
    assert_eq!(hash(b"a", b"tag"), hash(b"a", b"tag"));
    assert_ne!(hash(b"a", b"tag"), hash(b"b", b"tag"));
    assert_ne!(hash(b"a", b"tag"), hash(b"a", b"other"));
    // By the definition.
    let mut bytes = [0; 144];
    crate::primitive::group::expand_message_xmd(b"a", b"tag", &mut bytes);
    let number = number_from(&bytes).rem(group.modulus.as_nz_ref());
    let plain = Plain(&group);
    assert_eq!(hash(b"a", b"tag"), plain.encode(&plain.power(&number, &group.cofactor)));
    let mut bytes = [0; 36];
    crate::primitive::group::expand_message_xmd(b"a", b"tag", &mut bytes);
    let number = number_from(&bytes).rem(group.order.as_nz_ref());
    assert_eq!(*group.hash_to_scalar(b"a", b"tag").unwrap().number(), number);
}

#[test]
fn what_is_no_group_is_refused() {
    let group = ModP::of(Level::Paper80);
    let (p, q, g) = (group.modulus.as_ref(), group.order.as_ref(), &group.generator);
    let one = BoxedUint::one();
    let refused = |p: &BoxedUint, q: &BoxedUint, g: &BoxedUint, why: &str| match ModP::new(p, q, g) {
        Err(Error::Input(text)) => assert!(text.contains(why), "{text}"),
        other => panic!("{other:?}"),
    };
    assert!(ModP::new(p, q, g).is_ok());
    // The length of numbers in memory says nothing.
    let long = ModP::new(&p.resize(2048), &q.resize(1024), &g.resize(4096)).unwrap();
    assert_eq!((long.point_bytes(), long.field.words()), (128, 16));
    refused(&p.shr(513), q, g, "511 bits");
    refused(&p.resize(16385).shl(16385 - 1024), q, g, "16385 bits");
    refused(p, &q.shr(1), g, "q must have");
    refused(p, p, g, "q must have");
    refused(&p.wrapping_sub(&one), q, g, "even");
    refused(p, &q.wrapping_sub(&one), g, "even");
    refused(p, &q.wrapping_add(&one).wrapping_add(&one), g, "divide");
    refused(&p.wrapping_sub(q).wrapping_sub(q), q, g, "no prime");
    for wrong in [BoxedUint::zero(), one.clone(), p.clone(), p.wrapping_add(g), p.wrapping_sub(&one), p.wrapping_sub(g)]
    {
        refused(p, q, &wrong, "order of g");
    }
    let mut rng = rng(5);
    assert!((0..20).all(|_| ModP::new(p, q, &BoxedUint::from(rng.next_u64())).is_err()));
}
