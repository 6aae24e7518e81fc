//! The integers modulo p = 2^255 - 19, eight at a time.
//!
//! A residue has five limbs of 51 bits. They are never compared with p while something is computed: a residue is *reduced* when its
//! limbs are below 2^51 + 2^17, and all functions take and give reduced ones. That is below 2^52, which is what a product takes of a
//! factor, and below the limbs of 2 p, which are 2^52 - 38 and four times 2^52 - 2, so that 2 p + a - b is never negative.
//!
//! **A product.** The product of limbs i and j is low + 2^52 high, low and high below 2^52; at weight 2^(51 (i + j)) stands low, and
//! one column above it 2 high, since 52 = 51 + 1. high is below 2^50 + 2^17, the factors being below 2^51 + 2^17. A column is a sum of at
//! most five lows and five times 2 high: less than 5 2^52 + 5 (2^51 + 2^18) < 2^55. Five columns at the top stand for 19 times those
//! below: so the sum is below 20 2^55 < 2^60.
//!
//! **Carrying.** Each column gives what it has above 51 bits to the next one, the highest 19 times that to the lowest, all at the same
//! time. From columns below 2^60 come carries below 2^9 and 19 2^9 < 2^14, hence limbs below 2^51 + 2^14. Sums and differences are of
//! less than eight terms, and 2 p each: columns below 2^56, carries below 2^5. Both are reduced.

use super::vector::{LANES, Vector};

/// Bits of a limb.
pub(super) const LIMB_BITS: u32 = 51;

/// Limbs of a residue.
pub(crate) const LIMBS: usize = 5;

/// The lowest [`LIMB_BITS`] bits.
const LIMB: u64 = (1 << LIMB_BITS) - 1;

/// No limb of a reduced residue reaches this.
#[cfg(any(test, debug_assertions))]
pub(super) const REDUCED: u64 = (1 << LIMB_BITS) + (1 << 17);

/// A residue, limb by limb, the lowest first.
pub(crate) type Limbs = [u64; LIMBS];

/// p.
const MODULUS: Limbs = [LIMB - 18, LIMB, LIMB, LIMB, LIMB];

/// d = -121665 / 121666, the curve's constant.
pub(super) const D: Limbs = [0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff];

/// A square root of -1: 2^((p - 1) / 4).
pub(super) const SQRT_M1: Limbs = [0x61b274a0ea0b0, 0xd5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e, 0x2b8324804fc1d];

/// Eight reduced residues.
#[derive(Clone, Copy)]
pub(super) struct Field<V>([V; LIMBS]);

impl<V: Vector> Field<V> {
    /// The same residue in all lanes.
    #[inline(always)]
    pub(super) fn all(limbs: &Limbs) -> Field<V> {
        Field(limbs.map(V::all))
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
        Field(std::array::from_fn(|limb| V::load(&lanes.map(|lane| lane[limb]))))
    }

    /// Puts residue i where `lanes` says.
    #[inline(always)]
    pub(super) fn unpack(self, mut lanes: impl FnMut(usize, usize, u64)) {
        for (limb, words) in self.0.into_iter().enumerate() {
            words.store().into_iter().enumerate().for_each(|(lane, word)| lanes(lane, limb, word));
        }
    }

    /// As it is in memory.
    #[inline(always)]
    pub(super) fn load([a, b, c, d, e]: &[[u64; LANES]; LIMBS]) -> Field<V> {
        Field([V::load(a), V::load(b), V::load(c), V::load(d), V::load(e)])
    }

    #[inline(always)]
    pub(super) fn store(self) -> [[u64; LANES]; LIMBS] {
        let [a, b, c, d, e] = self.0;
        [a.store(), b.store(), c.store(), d.store(), e.store()]
    }

    /// For each lane the residue of this number, below 16, of a table that holds limb after limb.
    #[inline(always)]
    pub(super) fn pick(numbers: V, table: &[[u64; 2 * LANES]; LIMBS]) -> Field<V> {
        Field(std::array::from_fn(|limb| V::pick(numbers, &table[limb])))
    }

    /// What the columns stand for, which are below 2^60.
    #[inline(always)]
    fn carried(columns: [V; LIMBS]) -> Field<V> {
        let (low, nineteen) = (V::all(LIMB), V::all(19));
        let carries = columns.map(V::shr::<LIMB_BITS>);
        let kept = columns.map(|column| column.and(low));
        Field([
            kept[0].add_low(carries[4], nineteen),
            kept[1].add(carries[0]),
            kept[2].add(carries[1]),
            kept[3].add(carries[2]),
            kept[4].add(carries[3]),
        ])
        .checked()
    }

    /// The same, after a look at the limbs in builds that look.
    #[inline(always)]
    fn checked(self) -> Field<V> {
        #[cfg(debug_assertions)]
        assert!(self.0.iter().all(|limb| limb.store().iter().all(|word| *word < REDUCED)), "reduced limbs");
        self
    }

    #[inline(always)]
    fn zip(self, other: Field<V>, combine: impl Fn(V, V) -> V) -> [V; LIMBS] {
        std::array::from_fn(|limb| combine(self.0[limb], other.0[limb]))
    }

    /// The sums.
    #[inline(always)]
    pub(super) fn plus(self, other: Field<V>) -> Field<V> {
        Field::carried(self.zip(other, V::add))
    }

    /// The differences.
    #[inline(always)]
    pub(super) fn minus(self, other: Field<V>) -> Field<V> {
        Field::carried(Field::zip(Field(self.zip(twice_modulus(), V::add)), other, V::sub))
    }

    /// 0 minus each.
    #[inline(always)]
    pub(super) fn negated(self) -> Field<V> {
        Field::zero().minus(self)
    }

    /// Twice each.
    #[inline(always)]
    pub(super) fn doubled(self) -> Field<V> {
        self.plus(self)
    }

    /// The products.
    #[inline(always)]
    pub(super) fn times(self, other: Field<V>) -> Field<V> {
        let (a, b) = (self.0, other.0);
        let mut lows = [V::all(0); 2 * LIMBS];
        let mut highs = [V::all(0); 2 * LIMBS];
        for i in 0..LIMBS {
            for j in 0..LIMBS {
                lows[i + j] = lows[i + j].add_low(a[i], b[j]);
                highs[i + j + 1] = highs[i + j + 1].add_high(a[i], b[j]);
            }
        }
        Field::folded(std::array::from_fn(|column| lows[column].add(highs[column].shl::<1>())))
    }

    /// The squares: the products of different limbs are computed once, and doubled.
    #[inline(always)]
    pub(super) fn squared(self) -> Field<V> {
        let a = self.0;
        let (mut lows, mut highs) = ([V::all(0); 2 * LIMBS], [V::all(0); 2 * LIMBS]);
        for i in 0..LIMBS {
            for j in i + 1..LIMBS {
                lows[i + j] = lows[i + j].add_low(a[i], a[j]);
                highs[i + j + 1] = highs[i + j + 1].add_high(a[i], a[j]);
            }
        }
        let mut squares = [V::all(0); 2 * LIMBS];
        let (mut lows, mut highs) = (lows.map(V::shl::<1>), highs.map(V::shl::<1>));
        for i in 0..LIMBS {
            lows[2 * i] = lows[2 * i].add_low(a[i], a[i]);
            highs[2 * i + 1] = highs[2 * i + 1].add_high(a[i], a[i]);
        }
        for column in 0..2 * LIMBS {
            squares[column] = lows[column].add(highs[column].shl::<1>());
        }
        Field::folded(squares)
    }

    /// Ten columns, of which those at the top stand for 19 times those below.
    #[inline(always)]
    fn folded(columns: [V; 2 * LIMBS]) -> Field<V> {
        Field::carried(std::array::from_fn(|column| {
            let top = columns[column + LIMBS];
            columns[column].add(top.shl::<4>()).add(top.shl::<1>().add(top))
        }))
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

    /// Where u / v is a square, all ones and its root that is not negative; elsewhere zero and the root of sqrt(-1) u / v. Zero and
    /// zero where v is zero and u is not (RFC 9496, section 4.2, `SQRT_RATIO_M1`).
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

    /// The limbs of the residues themselves, which are below p.
    #[inline(always)]
    pub(super) fn canonical(self) -> [V; LIMBS] {
        let low = V::all(LIMB);
        // Each limb gives what it has above 51 bits to the next one, one after the other; the highest gives it away.
        let pass = |mut limbs: [V; LIMBS]| {
            let mut carry = V::all(0);
            for limb in &mut limbs {
                let sum = limb.add(carry);
                (*limb, carry) = (sum.and(low), sum.shr::<LIMB_BITS>());
            }
            (limbs, carry)
        };
        // Reduced residues are below 2^255 + 2^222: if there is a carry, it is 1 and next to nothing is left, so that the second pass
        // ends without one.
        let (mut limbs, carry) = pass(self.0);
        limbs[0] = limbs[0].add_low(carry, V::all(19));
        let (limbs, _) = pass(limbs);
        // Below 2^255: p or more if it is 2^255 or more with 19 added, and then that without the 2^255 is what is left.
        let mut less = limbs;
        less[0] = less[0].add(V::all(19));
        let (less, carry) = pass(less);
        let has_more = carry.equals(V::all(1));
        std::array::from_fn(|limb| less[limb].select(limbs[limb], has_more))
    }

    /// All ones where the residues are equal.
    #[inline(always)]
    pub(super) fn equals(self, other: Field<V>) -> V {
        self.minus(other).is_zero()
    }

    /// All ones where the residue is zero.
    #[inline(always)]
    pub(super) fn is_zero(self) -> V {
        let limbs = self.canonical();
        limbs.into_iter().reduce(V::or).unwrap_or(limbs[0]).equals(V::all(0))
    }

    /// All ones where it is negative: odd, below p (RFC 9496, section 4.1, `IS_NEGATIVE`).
    #[inline(always)]
    pub(super) fn is_negative(self) -> V {
        self.canonical()[0].and(V::all(1)).equals(V::all(1))
    }

    /// `self` where the mask is all ones, `other` where it is zero.
    #[inline(always)]
    pub(super) fn select(self, other: Field<V>, mask: V) -> Field<V> {
        Field(self.zip(other, |a, b| a.select(b, mask)))
    }

    /// Negated where the mask is all ones.
    #[inline(always)]
    pub(super) fn negated_where(self, mask: V) -> Field<V> {
        self.negated().select(self, mask)
    }

    /// That of x and -x which is not negative.
    #[inline(always)]
    pub(super) fn absolute(self) -> Field<V> {
        self.negated_where(self.is_negative())
    }

    /// The residues of 32 bytes each, little-endian, without the highest bit, and all ones where the bytes are the one encoding of it
    /// and it is not negative.
    #[inline(always)]
    pub(super) fn decode(bytes: [&[u8; 32]; LANES]) -> (Field<V>, V) {
        let words: [V; 4] = std::array::from_fn(|word| {
            V::load(&bytes.map(|bytes| {
                u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * word + byte]))
            }))
        });
        let low = V::all(LIMB);
        let field = Field([
            words[0].and(low),
            words[0].shr::<51>().or(words[1].shl::<13>()).and(low),
            words[1].shr::<38>().or(words[2].shl::<26>()).and(low),
            words[2].shr::<25>().or(words[3].shl::<39>()).and(low),
            words[3].shr::<12>().and(low),
        ]);
        let canonical = field.canonical();
        let same = canonical.into_iter().zip(field.0).map(|(one, other)| one.equals(other)).reduce(V::and);
        let highest = words[3].shr::<63>().or(words[0].and(V::all(1)));
        (field, same.unwrap_or(highest).and(highest.equals(V::all(0))))
    }

    /// The words of the encodings, little-endian: word by word, for all lanes.
    #[inline(always)]
    pub(super) fn encode(self) -> [[u64; LANES]; 4] {
        let limbs = self.canonical();
        [
            limbs[0].or(limbs[1].shl::<51>()),
            limbs[1].shr::<13>().or(limbs[2].shl::<38>()),
            limbs[2].shr::<26>().or(limbs[3].shl::<25>()),
            limbs[3].shr::<39>().or(limbs[4].shl::<12>()),
        ]
        .map(V::store)
    }
}

#[inline(always)]
fn twice_modulus<V: Vector>() -> Field<V> {
    Field(MODULUS.map(|limb| V::all(2 * limb)))
}
