//! Subgroups of prime order q of the integers modulo a prime p.
//!
//! What other groups have in the words of sums is done by products here: points are integers modulo p, to add is to
//! multiply, and to multiply is to raise to a power. Points are encoded big-endian, as long as p, and scalars as long
//! as q. The identity, which [`Group::decode`](super::Group::decode) refuses, is written as zeros.
//!
//! A group is made for a level of security ([`ModP::of`]), or of numbers that somebody brings ([`ModP::new`]).

mod embedding;
mod members;
mod points;
mod primes;
mod scalars;
mod standard;
#[cfg(test)]
mod tests;

pub(crate) use points::Point;
pub use primes::safe_prime;
pub(crate) use scalars::Scalar;

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd, Resize};
use crypto_primes::{Flavor, is_prime};

use crate::error::{Error, Result};
use crate::primitive::kernel::jacobi::Jacobi;
use crate::primitive::kernel::montgomery::Montgomery;
use crate::primitive::kernel::power::FixedBase;
use crate::security::Level;

use standard::Standard;

/// Lengths of p in bits. Below, discrete logarithms are found within hours; above, hashes are too short.
const BITS: std::ops::RangeInclusive<u32> = 512..=16384;

/// Bits of q at least: the shortest of the 2000s' papers.
const MIN_ORDER_BITS: u32 = 160;

/// Further bits of what is reduced, so that the remainder is uniform but for 2^-128.
const SPARE_BYTES: usize = 16;

/// The subgroup of prime order q of the integers modulo a prime p.
pub struct ModP {
    /// p, of as many words as it takes; it is the modulus of `field`.
    modulus: Odd<BoxedUint>,
    field: Montgomery,
    /// q, of as many words as it takes.
    order: Odd<BoxedUint>,
    scalars: BoxedMontyParams,
    /// (p - 1) / q.
    cofactor: BoxedUint,
    /// Tells members from others where the cofactor is 2, so that they are the squares.
    squares: Option<Jacobi>,
    generator: BoxedUint,
    /// Tables of the generator.
    tables: OnceLock<FixedBase>,
    identity: Point,
    /// Strings that points stand for, by their encodings.
    strings: OnceLock<HashMap<Vec<u8>, u16>>,
    /// A root of unity modulo q of order 2^two_adicity, the highest that there is.
    root: BoxedMontyForm,
    two_adicity: u32,
}

/// Prints the sizes only.
impl fmt::Debug for ModP {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModP({} bits, {} bits)", self.modulus.bits_vartime(), self.order.bits_vartime())
    }
}

impl ModP {
    /// The group of a level of security: of 1024 bits and an order of 160, 2048 and 224, 3072 and 256, 7680 and 384, or
    /// 15360 and 512.
    pub fn of(level: Level) -> ModP {
        let standard = Standard::of(level);
        let order = standard.order().into_odd().expect("orders are made odd");
        let modulus = standard.modulus(&order).into_odd().expect("a multiple of twice the order, and one");
        let generator = standard.generator(&order, &modulus);
        ModP::made_of(modulus, order, &generator)
    }

    /// The group of order `q` modulo `p` that `g` generates.
    ///
    /// Errors ([`Error::Input`]): p or q is too short or too long or no prime, q does not divide p - 1, or the order of
    /// g is not q.
    pub fn new(p: &BoxedUint, q: &BoxedUint, g: &BoxedUint) -> Result<ModP> {
        let refuse = |why: &str| Err(Error::Input(format!("no group modulo a prime: {why}")));
        if !BITS.contains(&p.bits_vartime()) {
            return refuse(&format!(
                "p has {} bits: it must have {} to {}",
                p.bits_vartime(),
                BITS.start(),
                BITS.end()
            ));
        }
        if q.bits_vartime() < MIN_ORDER_BITS || q >= p {
            return refuse(&format!("q must have at least {MIN_ORDER_BITS} bits, and be less than p"));
        }
        let (Some(modulus), Some(order)) = (p.as_odd_vartime(), q.as_odd_vartime()) else {
            return refuse("p or q is even");
        };
        let (modulus, order) = (shortest(modulus), shortest(order));
        if !modulus.wrapping_sub(BoxedUint::one()).rem_vartime(order.as_nz_ref()).is_zero().to_bool() {
            return refuse("q does not divide p - 1");
        }
        if !is_prime(Flavor::Any, &*order) || !is_prime(Flavor::Any, &*modulus) {
            return refuse("p or q is no prime");
        }
        let one = BoxedUint::one();
        let has_order = || g.resize(modulus.bits_precision()).pow_mod(&order, &modulus) == one;
        if *g <= one || g >= p || !has_order() {
            return refuse("the order of g is not q");
        }
        Ok(ModP::made_of(modulus, order, g))
    }

    /// The subgroup of order 1019 modulo 2039: so small that logarithms are a table.
    #[cfg(test)]
    pub(crate) fn toy() -> ModP {
        let odd = |number: u64| shortest(&BoxedUint::from(number).into_odd().expect("odd"));
        ModP::made_of(odd(2039), odd(1019), &BoxedUint::from(4u64))
    }

    /// A group of numbers that are known to be right.
    fn made_of(modulus: Odd<BoxedUint>, order: Odd<BoxedUint>, generator: &BoxedUint) -> ModP {
        let less = modulus.wrapping_sub(BoxedUint::one());
        let (cofactor, _) = less.div_rem_vartime(order.as_nz_ref());
        let cofactor = (&cofactor).resize(cofactor.bits_vartime());
        let scalars = BoxedMontyParams::new_vartime(order.clone());
        let (root, two_adicity) = root_of_unity(&scalars);
        let field = Montgomery::new(&modulus);
        ModP {
            squares: (cofactor.bits_vartime() == 2).then(|| Jacobi::new(&modulus)),
            generator: generator.resize(modulus.bits_precision()),
            tables: OnceLock::new(),
            strings: OnceLock::new(),
            identity: Point::identity(&field),
            modulus,
            field,
            order,
            scalars,
            cofactor,
            root,
            two_adicity,
        }
    }

    /// Returns the length of q in bits.
    fn order_bits(&self) -> usize {
        self.order.bits_vartime() as usize
    }
}

/// A root of unity modulo a prime of the highest order 2^t that there is, and t: a power of the least number that is no
/// square.
fn root_of_unity(field: &BoxedMontyParams) -> (BoxedMontyForm, u32) {
    let less = field.modulus().wrapping_sub(BoxedUint::one());
    let two_adicity = less.trailing_zeros_vartime();
    let (half, odd) = (less.shr(1), less.shr(two_adicity));
    let minus_one = BoxedMontyForm::one(field).neg();
    let mut number = BoxedMontyForm::one(field).double();
    while number.pow(&half) != minus_one {
        number = number.add(&BoxedMontyForm::one(field));
    }
    (number.pow(&odd), two_adicity)
}

/// The same number, of as many words as it takes.
fn shortest(number: &Odd<BoxedUint>) -> Odd<BoxedUint> {
    (&**number).resize(number.bits_vartime()).into_odd().expect("it was odd before")
}

/// The number whose big-endian bytes these are.
fn number_from(bytes: &[u8]) -> BoxedUint {
    let word = |bytes: &[u8]| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    BoxedUint::from_words(bytes.rchunks(8).map(word))
}
