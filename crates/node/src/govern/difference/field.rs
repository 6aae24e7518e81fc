//! Integers modulo the prime 2^64 - 2^32 + 1, in which 64 bits of a hash have room.

/// The prime of the field.
const P: u64 = 0xffff_ffff_0000_0001;

/// 2^64 modulo the prime.
const EPSILON: u64 = 0xffff_ffff;

/// A number below the prime.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Element(u64);

impl Element {
    pub(super) const ZERO: Element = Element(0);
    pub(super) const ONE: Element = Element(1);

    /// Returns the residue of an integer.
    pub(super) fn new(value: u64) -> Element {
        Element(if value >= P { value - P } else { value })
    }

    /// Returns the number as an integer below the prime.
    pub(super) fn value(self) -> u64 {
        self.0
    }

    /// Returns the residue of 128 bits, by 2^64 = 2^32 - 1 and 2^96 = -1.
    pub(super) fn reduce(value: u128) -> Element {
        let (low, high) = (value as u64, (value >> 64) as u64);
        let (mut left, borrowed) = low.overflowing_sub(high >> 32);
        if borrowed {
            left = left.wrapping_sub(EPSILON);
        }
        let (mut all, carried) = left.overflowing_add((high & EPSILON) * EPSILON);
        if carried {
            all = all.wrapping_add(EPSILON);
        }
        Element::new(all)
    }

    pub(super) fn add(self, other: Element) -> Element {
        Element::reduce(u128::from(self.0) + u128::from(other.0))
    }

    pub(super) fn neg(self) -> Element {
        Element(if self.0 == 0 { 0 } else { P - self.0 })
    }

    pub(super) fn sub(self, other: Element) -> Element {
        self.add(other.neg())
    }

    pub(super) fn mul(self, other: Element) -> Element {
        Element::reduce(u128::from(self.0) * u128::from(other.0))
    }

    pub(super) fn pow(self, mut exponent: u64) -> Element {
        let (mut base, mut power) = (self, Element::ONE);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = power.mul(base);
            }
            base = base.mul(base);
            exponent >>= 1;
        }
        power
    }

    /// Returns the inverse of a number that is not zero.
    pub(super) fn inverse(self) -> Element {
        self.pow(P - 2)
    }

    /// Whether the number is nearer to zero from above than from below.
    pub(super) fn is_positive(self) -> bool {
        (1..=P / 2).contains(&self.0)
    }
}

/// Half of the order of the multiplicative group.
pub(super) const HALF_ORDER: u64 = (P - 1) / 2;

/// The number of elements, as an exponent.
pub(super) const ORDER: u64 = P;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(value: u128) -> u64 {
        (value % u128::from(P)) as u64
    }

    proptest! {
        #[test]
        fn residues_are_those_of_integers(a in any::<u128>(), b in any::<u64>(), c in any::<u64>()) {
            prop_assert_eq!(Element::reduce(a).value(), plain(a));
            let [x, y] = [b, c].map(Element::new);
            let [b, c] = [x, y].map(|x| u128::from(x.value()));
            prop_assert_eq!(x.add(y).value(), plain(b + c));
            prop_assert_eq!(x.sub(y).value(), plain(b + u128::from(P) - c));
            prop_assert_eq!(x.mul(y).value(), plain(b * c));
        }

        #[test]
        fn inverses_multiply_to_one(a in 1u64..P) {
            let x = Element::new(a);
            prop_assert_eq!(x.mul(x.inverse()).value(), 1);
            prop_assert!(x.is_positive() != x.neg().is_positive());
        }
    }

    #[test]
    fn the_corners_are_reduced() {
        for value in
            [0, 1, P as u128, u128::MAX, u64::MAX.into(), u128::from(P) * u128::from(P), 1 << 96, (1 << 96) - 1]
        {
            assert_eq!(Element::reduce(value).value(), plain(value), "{value:x}");
        }
        assert!(!Element::ZERO.is_positive() && Element::ONE.is_positive());
    }
}
