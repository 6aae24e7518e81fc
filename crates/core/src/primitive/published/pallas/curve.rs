//! The curve's group law, complete and in constant time: pasta_curves' own has branches for the identity, which a digit
//! of zero asks for, and for equal points.

use pasta_curves::arithmetic::CurveAffine;
use pasta_curves::group::ff::{Field, PrimeField};
use pasta_curves::pallas::{Affine, Base};
use subtle::{Choice, ConditionallySelectable};
use zeroize::{DefaultIsZeroes, Zeroizing};

/// A point in homogeneous coordinates: (x / z, y / z), or the identity (0 : 1 : 0).
#[derive(Clone, Copy)]
pub(super) struct Projective {
    x: Base,
    y: Base,
    z: Base,
}

impl Default for Projective {
    fn default() -> Projective {
        Projective::IDENTITY
    }
}

impl DefaultIsZeroes for Projective {}

impl ConditionallySelectable for Projective {
    fn conditional_select(a: &Projective, b: &Projective, choice: Choice) -> Projective {
        Projective {
            x: Base::conditional_select(&a.x, &b.x, choice),
            y: Base::conditional_select(&a.y, &b.y, choice),
            z: Base::conditional_select(&a.z, &b.z, choice),
        }
    }
}

impl From<Affine> for Projective {
    fn from(point: Affine) -> Projective {
        let of = |point: pasta_curves::arithmetic::Coordinates<Affine>| Projective {
            x: *point.x(),
            y: *point.y(),
            z: Base::ONE,
        };
        Option::from(point.coordinates()).map_or(Projective::IDENTITY, of)
    }
}

/// 3 b of the curve y^2 = x^3 + b.
fn times_15(a: Base) -> Base {
    a.double().double().double().double() - a
}

impl Projective {
    pub(super) const IDENTITY: Projective = Projective { x: Base::ZERO, y: Base::ONE, z: Base::ZERO };

    pub(super) fn is_identity(&self) -> Choice {
        self.z.is_zero()
    }

    pub(super) fn negated(&self) -> Projective {
        Projective { y: -self.y, ..*self }
    }

    /// Algorithm 7 of Renes, Costello & Batina, "Complete addition formulas for prime order elliptic curves", EUROCRYPT
    /// 2016: right for every two points.
    pub(super) fn plus(&self, other: &Projective) -> Projective {
        let [xx, yy, zz] = [self.x * other.x, self.y * other.y, self.z * other.z];
        let xy = (self.x + self.y) * (other.x + other.y) - (xx + yy);
        let yz = (self.y + self.z) * (other.y + other.z) - (yy + zz);
        let xz = (self.x + self.z) * (other.x + other.z) - (xx + zz);
        let [bzz, bxz] = [times_15(zz), times_15(xz)];
        let (sum, difference, xx) = (yy + bzz, yy - bzz, xx.double() + xx);
        Projective { x: xy * difference - yz * bxz, y: bxz * xx + difference * sum, z: sum * yz + xx * xy }
    }

    /// Doubles the point, by algorithm 9 there.
    pub(super) fn doubled(&self) -> Projective {
        let (yy, yz, bzz) = (self.y.square(), self.y * self.z, times_15(self.z.square()));
        let eight = yy.double().double().double();
        let difference = yy - (bzz.double() + bzz);
        Projective {
            x: (difference * (self.x * self.y)).double(),
            y: difference * (yy + bzz) + bzz * eight,
            z: yz * eight,
        }
    }

    /// The encodings of points, which share one inversion; of the identity zeros.
    pub(super) fn encode(points: &[Projective]) -> Vec<u8> {
        // Montgomery's trick, with 1 in the place of 0.
        let depth = |point: &Projective| Base::conditional_select(&point.z, &Base::ONE, point.is_identity());
        let depths = Zeroizing::new(points.iter().map(depth).collect::<Vec<_>>());
        let mut products = Zeroizing::new(Vec::with_capacity(points.len()));
        let mut product = Base::ONE;
        for depth in depths.iter() {
            products.push(product);
            product *= depth;
        }
        let mut inverse = product.invert().unwrap_or(Base::ZERO);
        let mut encoded = vec![0; 32 * points.len()];
        for (index, point) in points.iter().enumerate().rev() {
            let own = inverse * products[index];
            inverse *= depths[index];
            let (x, y) = (point.x * own, point.y * own);
            let mut bytes = x.to_repr();
            bytes[31] |= y.is_odd().unwrap_u8() << 7;
            let kept = 0u8.wrapping_sub((!point.is_identity()).unwrap_u8());
            encoded[32 * index..][..32].iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte & kept);
        }
        encoded
    }
}
