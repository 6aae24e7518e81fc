//! Points of the curve -x^2 + y^2 = 1 + d x^2 y^2 over the integers modulo 2^255 - 19, eight at a time, and their sums.
//!
//! Coordinates are extended: x = X / Z, y = Y / Z, x y = T / Z (Hisil, Wong, Carter & Dawson, "Twisted Edwards Curves
//! Revisited", ASIACRYPT 2008). -1 is a square modulo p and d is none, so that their formulas hold for all points, the
//! identity and points of small order among them (section 3.1 there; Bernstein & Lange, ASIACRYPT 2007).

use zeroize::Zeroize;

use super::field::{D, Field, LIMBS, Limbs};
use super::vector::{LANES, Vector};

/// A point's X, Y, Z, T, as they lie in memory.
#[derive(Clone, Copy)]
pub(crate) struct Extended(pub(super) [Limbs; 4]);

/// Wipes the point, and leaves the identity. Zeros alone would be no point, and would make zeros of any point they are
/// added to.
impl Zeroize for Extended {
    fn zeroize(&mut self) {
        self.0.zeroize();
        *self = Extended::IDENTITY;
    }
}

/// Vector of eight points.
#[derive(Clone, Copy)]
pub(super) struct Points<V> {
    pub(super) x: Field<V>,
    pub(super) y: Field<V>,
    pub(super) z: Field<V>,
    pub(super) t: Field<V>,
}

/// Eight points that are going to be added: Y + X, Y - X, 2 Z, 2 d T.
#[derive(Clone, Copy)]
pub(super) struct Addends<V> {
    plus: Field<V>,
    minus: Field<V>,
    z: Field<V>,
    t: Field<V>,
}

/// Addends as they lie in memory.
pub(super) type Stored = [[[u64; LANES]; LIMBS]; 4];

/// Sixteen points of which Z is 1: y + x, y - x, 2 d x y, limb by limb.
pub(super) type Sixteen = [[[u64; 2 * LANES]; LIMBS]; 3];

/// Eight points, each as it lies in memory: in three rows of each lane, of which the last is half empty.
pub(super) type Rows<V> = [[V; LANES]; 3];

/// Result of a doubling or an addition before its last products.
struct Halfway<V> {
    e: Field<V>,
    f: Field<V>,
    g: Field<V>,
    h: Field<V>,
}

impl Extended {
    /// Neutral element of the group.
    pub(crate) const IDENTITY: Extended = Extended([[0; LIMBS], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0; LIMBS]]);
}

/// The point of a lane.
#[inline(always)]
pub(super) fn put<V: Vector>(rows: &Rows<V>, lane: usize, point: &mut Extended) {
    let (eights, rest) = point.0.as_flattened_mut().as_chunks_mut::<LANES>();
    (eights[0], eights[1]) = (rows[0][lane].store(), rows[1][lane].store());
    let last = rows[2][lane].store();
    rest.copy_from_slice(&last[..rest.len()]);
}

impl<V: Vector> Halfway<V> {
    #[inline(always)]
    fn whole(self) -> Points<V> {
        let t = self.e.times(self.h);
        Points { t, ..self.without_t() }
    }

    /// T is not what it should be: for points that are doubled, which does not look at it.
    #[inline(always)]
    fn without_t(self) -> Points<V> {
        let Halfway { e, f, g, h } = self;
        Points { x: e.times(f), y: g.times(h), z: f.times(g), t: e }
    }
}

impl<V: Vector> Points<V> {
    #[inline(always)]
    pub(super) fn identity() -> Points<V> {
        let (zero, one) = (Field::zero(), Field::one());
        Points { x: zero, y: one, z: one, t: zero }
    }

    /// Packs these points, and the identity into the lanes that are left.
    #[inline(always)]
    pub(super) fn pack(points: &[Extended]) -> Points<V> {
        let identity = Extended::IDENTITY;
        let mut lanes = [&identity; LANES];
        for (lane, point) in lanes.iter_mut().zip(points) {
            *lane = point;
        }
        Points::gather(lanes)
    }

    /// A point for each lane.
    #[inline(always)]
    pub(super) fn gather(lanes: [&Extended; LANES]) -> Points<V> {
        let coordinate = |place: usize| -> [&Limbs; LANES] { lanes.map(|point| &point.0[place]) };
        let [x, y, z, t] = [coordinate(0), coordinate(1), coordinate(2), coordinate(3)];
        Points { x: Field::pack(x), y: Field::pack(y), z: Field::pack(z), t: Field::pack(t) }
    }

    /// Unpacks as many of the points as there is room for.
    #[inline(always)]
    pub(super) fn unpack(self, points: &mut [Extended]) {
        let rows = self.rows();
        for (lane, point) in points.iter_mut().take(LANES).enumerate() {
            put(&rows, lane, point);
        }
    }

    /// The points as they lie in memory.
    #[inline(always)]
    pub(super) fn rows(self) -> Rows<V> {
        let ([x, y], [z, t]) = ([self.x, self.y].map(Field::limbs), [self.z, self.t].map(Field::limbs));
        let none = V::all(0);
        [
            V::transposed(&[x[0], x[1], x[2], x[3], x[4], y[0], y[1], y[2]]),
            V::transposed(&[y[3], y[4], z[0], z[1], z[2], z[3], z[4], t[0]]),
            V::transposed(&[t[1], t[2], t[3], t[4], none, none, none, none]),
        ]
    }

    /// Converts points into the form of addends.
    #[inline(always)]
    pub(super) fn addends(self) -> Addends<V> {
        let d = Field::all(&D);
        let t = self.t.times(d);
        Addends { plus: self.y.plus(self.x), minus: self.y.minus(self.x), z: self.z.doubled(), t: t.doubled() }
    }

    #[inline(always)]
    fn halfway_plus(self, other: &Addends<V>) -> Halfway<V> {
        let a = self.y.minus(self.x).times(other.minus);
        let b = self.y.plus(self.x).times(other.plus);
        let c = self.t.times(other.t);
        let d = self.z.times(other.z);
        Halfway { e: b.minus(a), f: d.minus(c), g: d.plus(c), h: b.plus(a) }
    }

    /// Returns the sums of the points.
    #[inline(always)]
    pub(super) fn plus(self, other: &Addends<V>) -> Points<V> {
        self.halfway_plus(other).whole()
    }

    /// The sums, of which the next thing is that they are doubled.
    #[inline(always)]
    fn plus_to_double(self, other: &Addends<V>) -> Points<V> {
        self.halfway_plus(other).without_t()
    }

    #[inline(always)]
    fn halfway_doubled(self) -> Halfway<V> {
        let (xx, yy, zz) = (self.x.squared(), self.y.squared(), self.z.squared());
        // F and H of the paper with their signs changed, which changes those of all coordinates.
        Halfway { e: self.x.twice_times(self.y), f: zz.twice_plus_minus(xx, yy), g: yy.minus(xx), h: xx.plus(yy) }
    }

    /// Returns twice each point.
    #[inline(always)]
    pub(super) fn doubled(self) -> Points<V> {
        self.halfway_doubled().whole()
    }

    /// 2^`times` times each, `times` being at least 1.
    #[inline(always)]
    pub(super) fn doubled_times(self, times: u32) -> Points<V> {
        let mut points = self;
        for _ in 1..times {
            points = points.halfway_doubled().without_t();
        }
        points.doubled()
    }

    /// 2^`times` times each, plus the addends, of which the next thing is that they are doubled, or not.
    #[inline(always)]
    pub(super) fn step(self, times: u32, addends: &Addends<V>, is_last: bool) -> Points<V> {
        let doubled = self.doubled_times(times);
        if is_last { doubled.plus(addends) } else { doubled.plus_to_double(addends) }
    }

    /// Returns all ones in the lanes whose point stands for the group's identity: one of order 1, 2 or 4 (RFC 9496,
    /// section 4.3.3).
    #[inline(always)]
    pub(super) fn is_identity(self) -> V {
        self.x.is_zero().or(self.y.is_zero())
    }
}

impl<V: Vector> Addends<V> {
    #[inline(always)]
    pub(super) fn identity() -> Addends<V> {
        let one = Field::one();
        Addends { plus: one, minus: one, z: one.doubled(), t: Field::zero() }
    }

    /// Their negatives where the mask is all ones.
    #[inline(always)]
    pub(super) fn negated_where(self, mask: V) -> Addends<V> {
        Addends {
            plus: self.minus.select(self.plus, mask),
            minus: self.plus.select(self.minus, mask),
            z: self.z,
            t: self.t.negated_where(mask),
        }
    }

    /// `self` where the mask is all ones, `other` where it is zero.
    #[inline(always)]
    pub(super) fn select(self, other: &Addends<V>, mask: V) -> Addends<V> {
        Addends {
            plus: self.plus.select(other.plus, mask),
            minus: self.minus.select(other.minus, mask),
            z: self.z.select(other.z, mask),
            t: self.t.select(other.t, mask),
        }
    }

    #[inline(always)]
    pub(super) fn store(self) -> Stored {
        [self.plus.store(), self.minus.store(), self.z.store(), self.t.store()]
    }

    #[inline(always)]
    pub(super) fn load([plus, minus, z, t]: &Stored) -> Addends<V> {
        Addends { plus: Field::load(plus), minus: Field::load(minus), z: Field::load(z), t: Field::load(t) }
    }

    /// Loads the addend of one lane into all lanes.
    #[inline(always)]
    pub(super) fn of_lane([plus, minus, z, t]: &Stored, lane: usize) -> Addends<V> {
        Addends {
            plus: Field::of_lane(plus, lane),
            minus: Field::of_lane(minus, lane),
            z: Field::of_lane(z, lane),
            t: Field::of_lane(t, lane),
        }
    }

    /// For each lane the point of this number of a table.
    #[inline(always)]
    pub(super) fn pick(numbers: V, table: &Sixteen) -> Addends<V> {
        let [plus, minus, t] = table;
        let [plus, minus, t] = [Field::pick(numbers, plus), Field::pick(numbers, minus), Field::pick(numbers, t)];
        Addends { plus, minus, z: Field::one().doubled(), t }
    }

    /// The parts that make a [`Sixteen`], of points of which Z is 1.
    #[inline(always)]
    pub(super) fn parts(self) -> [Field<V>; 3] {
        [self.plus, self.minus, self.t]
    }
}
