//! The integers modulo p = 2^255 - 19, eight at a time.
//!
//! A residue has five limbs of 51 bits. They are never compared with p while something is computed: a residue is *reduced* when its
//! limbs are below 2^51 + 2^17, and all functions take and give reduced ones. That is below 2^52, which is what a product takes of a
//! factor, and below the limbs of 2 p, which are 2^52 - 38 and four times 2^52 - 2, so that 2 p + a - b is never negative.
//!
//! **Products** are columns that are carried: how they come about is the vectors' own ([`super::fused`], [`super::doubles`]).
//!
//! **Carrying.** Each column gives what it has above 51 bits to the next one, the highest 19 times that to the lowest, all at the same
//! time. From columns below 2^61, which twice a product has, come carries below 2^10 and 19 2^10 < 2^15, hence limbs
//! below 2^51 + 2^15. Sums and differences are of less than eight terms, and 2 p each: columns below 2^56, carries
//! below 2^5. Both are reduced.

#![expect(
    clippy::needless_range_loop,
    reason = "limbs of several residues stand side by side, and an iterator's closures are compiled for other processors"
)]

use super::vector::{LANES, Vector, Words};

/// Bits of a limb.
pub(super) const LIMB_BITS: u32 = 51;

/// Limbs of a residue.
pub(crate) const LIMBS: usize = 5;

/// The lowest [`LIMB_BITS`] bits.
const LIMB: u64 = (1 << LIMB_BITS) - 1;

/// Exclusive upper bound of the limbs of a reduced residue.
#[cfg(any(test, debug_assertions))]
pub(super) const REDUCED: u64 = (1 << LIMB_BITS) + (1 << 17);

/// A residue, limb by limb, the lowest first.
pub(crate) type Limbs = [u64; LIMBS];

/// Limbs of the modulus p.
pub(super) const MODULUS: Limbs = [LIMB - 18, LIMB, LIMB, LIMB, LIMB];

/// d = -121665 / 121666, the curve's constant.
pub(super) const D: Limbs = [0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff];

/// A square root of -1: 2^((p - 1) / 4).
pub(super) const SQRT_M1: Limbs = [0x61b274a0ea0b0, 0xd5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e, 0x2b8324804fc1d];

/// Vector of eight reduced residues.
#[derive(Clone, Copy)]
pub(super) struct Field<V>([V; LIMBS]);

impl<V: Vector> Field<V> {
    /// The same residue in all lanes.
    #[inline(always)]
    pub(super) fn all(limbs: &Limbs) -> Field<V> {
        let mut all = [V::all(0); LIMBS];
        for limb in 0..LIMBS {
            all[limb] = V::all(limbs[limb]);
        }
        Field(all)
    }

    #[inline(always)]
    pub(super) fn zero() -> Field<V> {
        Field([V::all(0); LIMBS])
    }

    #[inline(always)]
    pub(super) fn one() -> Field<V> {
        Field::all(&[1, 0, 0, 0, 0])
    }

    /// Lane i is residue i.
    #[inline(always)]
    pub(super) fn pack(lanes: [&Limbs; LANES]) -> Field<V> {
        let mut packed = [V::all(0); LIMBS];
        for limb in 0..LIMBS {
            let mut words = [0; LANES];
            for lane in 0..LANES {
                words[lane] = lanes[lane][limb];
            }
            packed[limb] = V::load(&words);
        }
        Field(packed)
    }

    /// Returns the limbs of the residues.
    #[inline(always)]
    pub(super) fn limbs(self) -> [V; LIMBS] {
        self.0
    }

    /// Loads residues from their form in memory.
    #[inline(always)]
    pub(super) fn load([a, b, c, d, e]: &[[u64; LANES]; LIMBS]) -> Field<V> {
        Field([V::load(a), V::load(b), V::load(c), V::load(d), V::load(e)])
    }

    /// Loads the residue of one lane into all lanes.
    #[inline(always)]
    pub(super) fn of_lane(limbs: &[[u64; LANES]; LIMBS], lane: usize) -> Field<V> {
        let mut all = [V::all(0); LIMBS];
        for limb in 0..LIMBS {
            all[limb] = V::all(limbs[limb][lane]);
        }
        Field(all)
    }

    #[inline(always)]
    pub(super) fn store(self) -> [[u64; LANES]; LIMBS] {
        let [a, b, c, d, e] = self.0;
        [a.store(), b.store(), c.store(), d.store(), e.store()]
    }

    /// For each lane the residue of this number, below 16, of a table that holds limb after limb.
    #[inline(always)]
    pub(super) fn pick(numbers: V, table: &[[u64; 2 * LANES]; LIMBS]) -> Field<V> {
        let mut picked = [V::all(0); LIMBS];
        for limb in 0..LIMBS {
            picked[limb] = V::pick(numbers, &table[limb]);
        }
        Field(picked)
    }

    #[inline(always)]
    fn carried(columns: [V; LIMBS]) -> Field<V> {
        Field(carried(columns)).checked()
    }

    /// The same residues, after a look at the limbs in builds that look.
    #[inline(always)]
    fn checked(self) -> Field<V> {
        #[cfg(debug_assertions)]
        assert_below(&self.0, REDUCED);
        self
    }

    /// Returns the sums of the residues.
    #[inline(always)]
    pub(super) fn plus(self, other: Field<V>) -> Field<V> {
        let mut sums = self.0;
        for limb in 0..LIMBS {
            sums[limb] = sums[limb].add(other.0[limb]);
        }
        Field::carried(sums)
    }

    /// Returns the differences of the residues.
    #[inline(always)]
    pub(super) fn minus(self, other: Field<V>) -> Field<V> {
        let mut differences = self.0;
        for limb in 0..LIMBS {
            differences[limb] = differences[limb].add(V::all(2 * MODULUS[limb])).sub(other.0[limb]);
        }
        Field::carried(differences)
    }

    /// Twice each, plus others, minus others.
    #[inline(always)]
    pub(super) fn twice_plus_minus(self, plus: Field<V>, minus: Field<V>) -> Field<V> {
        let mut sums = self.0;
        for limb in 0..LIMBS {
            let difference = plus.0[limb].add(V::all(2 * MODULUS[limb])).sub(minus.0[limb]);
            sums[limb] = sums[limb].shl::<1>().add(difference);
        }
        Field::carried(sums)
    }

    /// Returns 0 minus each residue.
    #[inline(always)]
    pub(super) fn negated(self) -> Field<V> {
        Field::zero().minus(self)
    }

    /// Returns twice each residue.
    #[inline(always)]
    pub(super) fn doubled(self) -> Field<V> {
        self.plus(self)
    }

    /// Returns the products of the residues.
    #[inline(always)]
    pub(super) fn times(self, other: Field<V>) -> Field<V> {
        Field(V::product(&self.0, &other.0)).checked()
    }

    /// Returns twice the products of the residues.
    #[inline(always)]
    pub(super) fn twice_times(self, other: Field<V>) -> Field<V> {
        Field(V::twice_product(&self.0, &other.0)).checked()
    }

    /// Returns the squares of the residues.
    #[inline(always)]
    pub(super) fn squared(self) -> Field<V> {
        Field(V::square(&self.0)).checked()
    }

    /// The squares of the squares, and so on.
    #[inline(always)]
    pub(super) fn squared_times(self, times: u32) -> Field<V> {
        let mut power = self;
        for _ in 0..times {
            power = power.squared();
        }
        power
    }

    /// The powers with exponents 2^250 - 1 and 11, from which those that are needed are made.
    #[inline(always)]
    fn powers(self) -> (Field<V>, Field<V>) {
        let two = self.squared();
        let nine = two.squared_times(2).times(self);
        let eleven = nine.times(two);
        // 2^k - 1 for k = 5, 10, 20, 40, 50, 100, 200, 250.
        let ones5 = eleven.squared().times(nine);
        let ones10 = ones5.squared_times(5).times(ones5);
        let ones20 = ones10.squared_times(10).times(ones10);
        let ones40 = ones20.squared_times(20).times(ones20);
        let ones50 = ones40.squared_times(10).times(ones10);
        let ones100 = ones50.squared_times(50).times(ones50);
        let ones200 = ones100.squared_times(100).times(ones100);
        (ones200.squared_times(50).times(ones50), eleven)
    }

    /// The inverses; zero of zero. The exponent p - 2 is 2^5 (2^250 - 1) + 11.
    #[inline(always)]
    pub(super) fn inverted(self) -> Field<V> {
        let (ones250, eleven) = self.powers();
        ones250.squared_times(5).times(eleven)
    }

    /// Computes square roots of u / v (RFC 9496, section 4.2, `SQRT_RATIO_M1`). If u / v is a square, returns all ones
    /// and the root that is not negative. Otherwise returns zero and the root of sqrt(-1) u / v. Both results are zero
    /// if v is zero and u is not.
    #[inline(always)]
    pub(super) fn sqrt_ratio(u: Field<V>, v: Field<V>) -> (V, Field<V>) {
        let i = Field::all(&SQRT_M1);
        let v3 = v.squared().times(v);
        let v7 = v3.squared().times(v);
        let product = u.times(v7);
        // (p - 5) / 8 = 2^2 (2^250 - 1) + 1.
        let power = product.powers().0.squared_times(2).times(product);
        let root = u.times(v3).times(power);
        let check = v.times(root.squared());
        let (minus, minus_i) = (u.negated(), u.negated().times(i));
        let (correct, flipped, flipped_i) = (check.equals(u), check.equals(minus), check.equals(minus_i));
        let root = root.times(i).select(root, flipped.or(flipped_i));
        (correct.or(flipped), root.absolute())
    }

    /// 1 / sqrt(v), as [`Field::sqrt_ratio`].
    #[inline(always)]
    pub(super) fn inverse_sqrt(v: Field<V>) -> (V, Field<V>) {
        Field::sqrt_ratio(Field::one(), v)
    }

    /// Each limb gives what it has above 51 bits to the next one, one after the other; the highest gives it away.
    #[inline(always)]
    fn ripple(mut limbs: [V; LIMBS]) -> ([V; LIMBS], V) {
        let (low, mut carry) = (V::all(LIMB), V::all(0));
        for limb in 0..LIMBS {
            let sum = limbs[limb].add(carry);
            (limbs[limb], carry) = (sum.and(low), sum.shr::<LIMB_BITS>());
        }
        (limbs, carry)
    }

    /// The limbs of the residues themselves, which are below p.
    #[inline(always)]
    pub(super) fn canonical(self) -> [V; LIMBS] {
        // Reduced residues are below 2^255 + 2^222: if there is a carry, it is 1 and next to nothing is left, so that
        // the second pass ends without one.
        let (mut limbs, carry) = Field::ripple(self.0);
        limbs[0] = limbs[0].add_nineteen(carry);
        let (mut limbs, _) = Field::ripple(limbs);
        // Below 2^255: p or more if it is 2^255 or more with 19 added, and then that without the 2^255 is what is left.
        let mut less = limbs;
        less[0] = less[0].add(V::all(19));
        let (less, carry) = Field::ripple(less);
        let has_more = carry.equals(V::all(1));
        for limb in 0..LIMBS {
            limbs[limb] = less[limb].select(limbs[limb], has_more);
        }
        limbs
    }

    /// Returns all ones in the lanes whose residues are equal.
    #[inline(always)]
    pub(super) fn equals(self, other: Field<V>) -> V {
        self.minus(other).is_zero()
    }

    /// Returns all ones in the lanes whose residue is zero.
    #[inline(always)]
    pub(super) fn is_zero(self) -> V {
        let [a, b, c, d, e] = self.canonical();
        a.or(b).or(c.or(d)).or(e).equals(V::all(0))
    }

    /// Returns all ones in the lanes whose residue is negative: odd, below p (RFC 9496, section 4.1, `IS_NEGATIVE`).
    #[inline(always)]
    pub(super) fn is_negative(self) -> V {
        self.canonical()[0].and(V::all(1)).equals(V::all(1))
    }

    /// `self` where the mask is all ones, `other` where it is zero.
    #[inline(always)]
    pub(super) fn select(self, other: Field<V>, mask: V) -> Field<V> {
        let mut selected = self.0;
        for limb in 0..LIMBS {
            selected[limb] = self.0[limb].select(other.0[limb], mask);
        }
        Field(selected)
    }

    /// Negated where the mask is all ones.
    #[inline(always)]
    pub(super) fn negated_where(self, mask: V) -> Field<V> {
        self.negated().select(self, mask)
    }

    /// Returns the one of x and -x which is not negative.
    #[inline(always)]
    pub(super) fn absolute(self) -> Field<V> {
        self.negated_where(self.is_negative())
    }

    /// The residues of 32 bytes each, little-endian, without the highest bit, and all ones where the bytes are the one
    /// encoding of it and it is not negative.
    #[inline(always)]
    pub(super) fn decode(bytes: [&[u8; 32]; LANES]) -> (Field<V>, V) {
        let mut words = [V::all(0); 4];
        for word in 0..4 {
            let mut lanes = [0; LANES];
            for lane in 0..LANES {
                lanes[lane] = u64::from_le_bytes(bytes[lane].as_chunks().0[word]);
            }
            words[word] = V::load(&lanes);
        }
        let low = V::all(LIMB);
        let field = Field([
            words[0].and(low),
            words[0].shr::<51>().or(words[1].shl::<13>()).and(low),
            words[1].shr::<38>().or(words[2].shl::<26>()).and(low),
            words[2].shr::<25>().or(words[3].shl::<39>()).and(low),
            words[3].shr::<12>().and(low),
        ]);
        let canonical = field.canonical();
        let highest = words[3].shr::<63>().or(words[0].and(V::all(1)));
        let mut is_canonical = highest.equals(V::all(0));
        for limb in 0..LIMBS {
            is_canonical = is_canonical.and(canonical[limb].equals(field.0[limb]));
        }
        (field, is_canonical)
    }

    /// The words of the encodings, little-endian: word by word, for all lanes.
    #[inline(always)]
    pub(super) fn encode(self) -> [[u64; LANES]; 4] {
        let limbs = self.canonical();
        [
            limbs[0].or(limbs[1].shl::<51>()).store(),
            limbs[1].shr::<13>().or(limbs[2].shl::<38>()).store(),
            limbs[2].shr::<26>().or(limbs[3].shl::<25>()).store(),
            limbs[3].shr::<39>().or(limbs[4].shl::<12>()).store(),
        ]
    }
}

/// Carries columns below 2^61 into the limbs of the reduced residues that they stand for.
#[inline(always)]
pub(super) fn carried<W: Words>(columns: [W; LIMBS]) -> [W; LIMBS] {
    #[cfg(debug_assertions)]
    assert_below(&columns, 1 << 61);
    let (low, mut limbs) = (W::all(LIMB), columns);
    limbs[0] = columns[0].and(low).add_nineteen(columns[LIMBS - 1].shr::<LIMB_BITS>());
    for limb in 1..LIMBS {
        limbs[limb] = columns[limb].and(low).add(columns[limb - 1].shr::<LIMB_BITS>());
    }
    limbs
}

/// Is not inlined, for it is called wherever anything is computed.
#[cfg(debug_assertions)]
#[inline(never)]
fn assert_below<W: Words>(words: &[W; LIMBS], bound: u64) {
    assert!(words.iter().all(|word| word.is_below(bound)), "limbs or columns at most as large as they may be");
}
