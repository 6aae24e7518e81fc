//! ristretto255 (RFC 9496): encodings of points, and points from bytes, eight at a time.

use super::field::{D, Field, Limbs, SQRT_M1};
use super::point::Points;
use super::vector::{LANES, Vector};

/// sqrt(a d - 1), with a = -1.
pub(super) const SQRT_AD_MINUS_ONE: Limbs =
    [0x7f6a0497b2e1b, 0x1836f0a97afd2, 0x7d747f6be7638, 0x456079e7e6498, 0x376931bf2b834];

/// 1 / sqrt(a - d).
pub(super) const INVSQRT_A_MINUS_D: Limbs =
    [0xfdaa805d40ea, 0x2eb482e57d339, 0x7610274bc58, 0x6510b613dc8ff, 0x786c8905cfaff];

/// Limbs of the constant 1 - d^2.
pub(super) const ONE_MINUS_D_SQ: Limbs =
    [0x409c1945fc176, 0x719abc6a1fc4f, 0x1c37f90b20684, 0x6bccca55eedf, 0x29072a8b2b3e];

/// Limbs of the constant (d - 1)^2.
pub(super) const D_MINUS_ONE_SQ: Limbs =
    [0x55aaa44ed4d20, 0x59603c3332635, 0x26d3baf4a7928, 0x120a66e6997a9, 0x5968b37af66c2];

/// Points whose encodings are the doubles': all but an inversion of `product`, which many share.
#[derive(Clone, Copy)]
pub(super) struct Doubling<V> {
    e: Field<V>,
    f: Field<V>,
    g: Field<V>,
    h: Field<V>,
    /// e g f h, or one where that is zero.
    pub(super) product: Field<V>,
    /// Mask of all ones in the lanes where e g f h is zero.
    zero: V,
}

impl<V: Vector> Points<V> {
    /// The points that these bytes canonically encode, and all ones where they do (RFC 9496, section 4.3.1).
    #[inline(always)]
    pub(super) fn decode(bytes: [&[u8; 32]; LANES]) -> (Points<V>, V) {
        let (s, is_canonical) = Field::<V>::decode(bytes);
        let one = Field::one();
        let ss = s.squared();
        let (u1, u2) = (one.minus(ss), one.plus(ss));
        let u2_sq = u2.squared();
        let v = Field::all(&D).times(u1.squared()).plus(u2_sq).negated();
        let (is_square, inverse) = Field::inverse_sqrt(v.times(u2_sq));
        let den_x = inverse.times(u2);
        let den_y = inverse.times(den_x).times(v);
        let x = s.doubled().times(den_x).absolute();
        let y = u1.times(den_y);
        let t = x.times(y);
        let none: V = t.is_negative().or(y.is_zero());
        let is_point = is_canonical.and(is_square).and(none.equals(V::all(0)));
        (Points { x, y, z: one, t }, is_point)
    }

    /// The words of their encodings (RFC 9496, section 4.3.2).
    #[inline(always)]
    pub(super) fn encode(self) -> [[u64; LANES]; 4] {
        let Points { x, y, z, t } = self;
        let u1 = z.plus(y).times(z.minus(y));
        let u2 = x.times(y);
        let (_, inverse) = Field::inverse_sqrt(u1.times(u2.squared()));
        let (den1, den2) = (inverse.times(u1), inverse.times(u2));
        let z_inverse = den1.times(den2).times(t);
        let i = Field::all(&SQRT_M1);
        let rotates = t.times(z_inverse).is_negative();
        let enchanted = den1.times(Field::all(&INVSQRT_A_MINUS_D));
        finish([x, y, z], [y.times(i), x.times(i)], [den2, enchanted], z_inverse, rotates)
    }

    /// Returns the values from which the encodings of twice these points are made.
    ///
    /// 2 (X : Y : Z : T) is (e h : g f : f h : e g) with e = 2 X Y, f = Z^2 + d T^2, g = Y^2 + X^2, h = Z^2 - d T^2. By the curve's
    /// equation f = Y^2 - X^2, and so h^2 - g^2 = -(1 + d) e^2 = (a - d) e^2. RFC 9496 asks, in section 4.3.2, for the inverse square
    /// root of u1 u2^2 = (f^2 h^2 - g^2 f^2) (e h g f)^2 = (a - d) (f e)^2 (e f g h)^2: that is 1 / sqrt(a - d) over f e (e f g h), up to
    /// a sign which makes no difference, and needs an inversion only (the idea is curve25519-dalek's `double_and_compress_batch`).
    #[inline(always)]
    pub(super) fn doubling(self) -> Doubling<V> {
        let e = self.x.times(self.y).doubled();
        let (zz, dtt) = (self.z.squared(), self.t.squared().times(Field::all(&D)));
        let (f, h) = (zz.plus(dtt), zz.minus(dtt));
        let g = self.y.squared().plus(self.x.squared());
        let product = e.times(g).times(f.times(h));
        let zero = product.is_zero();
        Doubling { e, f, g, h, product: Field::one().select(product, zero), zero }
    }

    /// The points of the map that RFC 9496, section 4.3.4, calls `MAP`, for reduced residues.
    #[inline(always)]
    pub(super) fn map(t: Field<V>) -> Points<V> {
        let (one, d) = (Field::one(), Field::all(&D));
        let r = t.squared().times(Field::all(&SQRT_M1));
        let u = r.plus(one).times(Field::all(&ONE_MINUS_D_SQ));
        let v = one.plus(r.times(d)).negated().times(r.plus(d));
        let (is_square, s) = Field::sqrt_ratio(u, v);
        let other = s.times(t).absolute().negated();
        let s = s.select(other, is_square);
        let c = one.negated().select(r, is_square);
        let n = c.times(r.minus(one)).times(Field::all(&D_MINUS_ONE_SQ)).minus(v);
        let (w0, w1) = (s.times(v).doubled(), n.times(Field::all(&SQRT_AD_MINUS_ONE)));
        let ss = s.squared();
        let (w2, w3) = (one.minus(ss), one.plus(ss));
        Points { x: w0.times(w3), y: w2.times(w1), z: w1.times(w3), t: w0.times(w2) }
    }
}

impl<V: Vector> Doubling<V> {
    /// Returns the values of no point.
    #[inline(always)]
    pub(super) fn none() -> Doubling<V> {
        let none = Field::zero();
        Doubling { e: none, f: none, g: none, h: none, product: none, zero: V::all(0) }
    }

    /// The words of the encodings, from the inverses of the products.
    #[inline(always)]
    pub(super) fn encode(self, inverse: Field<V>) -> [[u64; LANES]; 4] {
        let Doubling { e, f, g, h, product: _, zero } = self;
        // Where a product is zero, the double is the identity, and the inverse of den2 has to be zero.
        let inverse = Field::zero().select(inverse, zero);
        let (eg, fh, i) = (e.times(g), f.times(h), Field::all(&SQRT_M1));
        let z_inverse = eg.times(inverse);
        // 1 / (f e) and 1 / (g h).
        let (of_fe, of_gh) = (g.times(h).times(inverse), e.times(f).times(inverse));
        let (x, y, z) = (e.times(h), g.times(f), fh);
        let rotates = eg.times(z_inverse).is_negative();
        let den2 = of_fe.times(Field::all(&INVSQRT_A_MINUS_D));
        finish([x, y, z], [y.times(i), x.times(i)], [den2, of_gh], z_inverse, rotates)
    }
}

/// The end of an encoding: which of the four representatives it is, and its s.
#[inline(always)]
fn finish<V: Vector>(
    [x, y, z]: [Field<V>; 3],
    [rotated_x, rotated_y]: [Field<V>; 2],
    [den, rotated_den]: [Field<V>; 2],
    z_inverse: Field<V>,
    rotates: V,
) -> [[u64; LANES]; 4] {
    let x = rotated_x.select(x, rotates);
    let y = rotated_y.select(y, rotates);
    let den = rotated_den.select(den, rotates);
    let y = y.negated_where(x.times(z_inverse).is_negative());
    den.times(z.minus(y)).absolute().encode()
}
