//! Membership test: whether numbers modulo p are elements of the subgroup.
//!
//! A number is one if its power to q is 1, and that power costs 200 products and more. Of many numbers at once it is
//! asked of few products instead: each of 64 is that of a random subset of the numbers, of which each is in it or not
//! with probability 1/2, and all are members if all of these products are.
//!
//! **What that promises.** Let x be no member. Whatever else is in a subset, let c be the product of that: if both c and c x were
//! members, x would be their quotient and a member too. So of the two one is none, and as x is in the subset or not by
//! a bit of its own, the product is no member with probability 1/2 at least. That holds whatever the cofactor (p - 1) /
//! q is made of, for any number of others among the numbers, and however they were chosen, as long as the subsets are
//! drawn after the numbers are fixed: 64 subsets of independent bits let x pass with probability 2^-64 at most. One
//! product with long random *exponents* would not do: if the order of x in the quotient by the subgroup is f, it passes
//! with probability 1 / f, and f may be 2.
//!
//! A test that fails ends the job, so that of all that a party receives the first wrong number has to pass; and if each
//! of 2^17 tests had a chance of its own, it would still be [`Chance::Member`].
//!
//! **What it costs.** Five numbers share a table of the products of all of their 32 subsets (the method of four Russians: Arlazarov,
//! Dinic, Kronrod & Faradzhev, 1970), and each product takes one entry of it: (26 + 64) / 5 = 18 products for a number.

use crate::parallel;
use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::ModP;
use crate::primitive::kernel::montgomery::{LANES, Lanes};
use crate::primitive::kernel::power::power;
use crate::security::Chance;

/// Random subsets: a bit for each in a word that a number has.
const SUBSETS: usize = u64::BITS as usize;

const _: () = assert!(SUBSETS as u32 >= Chance::Member.bits() + 17, "2^17 tests in a job");

/// Numbers that share a table, in each lane.
const WINDOW: usize = 5;

/// Tables that a processor works through at least: what it has made of them is multiplied with what others have.
const TABLES: usize = 16;

/// Eights of numbers from which on they are tested together. Below, the powers of 64 products would take longer.
const TOGETHER_FROM: usize = 16;

impl ModP {
    /// Tests which of these numbers below p are members, eight by eight. Numbers come from others, and the time tells
    /// whether all are.
    pub(super) fn members(&self, numbers: &[Lanes]) -> Vec<[bool; LANES]> {
        if let Some(squares) = &self.squares {
            let are_squares = |numbers: &Lanes| {
                let symbols = squares.symbols(std::slice::from_ref(numbers));
                std::array::from_fn(|lane| symbols[lane] == 1)
            };
            return parallel::map(numbers, 1, are_squares);
        }
        let together = numbers.len() >= TOGETHER_FROM
            && random_subsets(numbers.len()).is_some_and(|subsets| self.are_members(numbers, &subsets));
        if together {
            vec![[true; LANES]; numbers.len()]
        } else {
            parallel::map(numbers, 1, |numbers| self.are_one_to_q(&self.field.enter(numbers)))
        }
    }

    /// Tests for which residues in Montgomery's form the power to q is 1.
    fn are_one_to_q(&self, residues: &Lanes) -> [bool; LANES] {
        let powers = power(&self.field, residues, &[self.order.as_words(); LANES], self.order_bits());
        let powers = self.points(&powers, LANES);
        std::array::from_fn(|lane| powers[lane].0 == self.identity.0)
    }

    /// Whether the products of these subsets of the numbers are members: bit i of a number's word says whether it is in
    /// subset i.
    pub(super) fn are_members(&self, numbers: &[Lanes], subsets: &[[u64; LANES]]) -> bool {
        let field = &self.field;
        let each = numbers.len().div_ceil(rayon::current_num_threads()).max(TABLES * WINDOW).next_multiple_of(WINDOW);
        let parts = numbers.par_chunks(each).zip(subsets.par_chunks(each));
        let products = parts.map(|(numbers, subsets)| self.products(numbers, subsets)).reduce_with(|all, others| {
            all.iter().zip(&others).map(|(all, other)| field.multiply(all, other)).collect()
        });
        let one = |product: &Lanes| {
            let product = [4, 2, 1].into_iter().fold(product.clone(), |all, by| field.multiply(&all, &all.rotated(by)));
            self.points(&product, 1).remove(0)
        };
        let products: Vec<_> = products.unwrap_or_default().par_iter().map(one).collect();
        products.par_chunks(LANES).all(|products| self.are_one_to_q(&self.pack(products)) == [true; LANES])
    }

    /// For each subset the product of its numbers, of which each lane has a part.
    fn products(&self, numbers: &[Lanes], subsets: &[[u64; LANES]]) -> Vec<Lanes> {
        let field = &self.field;
        let mut products = vec![field.one(); SUBSETS];
        let mut table = vec![field.one(); 1 << WINDOW];
        let (mut spare, mut picked) = (field.one(), field.one());
        for (numbers, subsets) in numbers.chunks(WINDOW).zip(subsets.chunks(WINDOW)) {
            for (place, number) in numbers.iter().enumerate() {
                let (lower, upper) = table.split_at_mut(1 << place);
                upper[0] = field.enter(number);
                let (number, upper) = upper.split_at_mut(1);
                lower[1..].iter().zip(upper).for_each(|(lower, both)| field.multiply_into(lower, &number[0], both));
            }
            for (subset, product) in products.iter_mut().enumerate() {
                let bit = |place: usize, lane: usize| (subsets[place][lane] >> subset & 1) as usize;
                let entry = |lane| (0..subsets.len()).fold(0, |entry, place| entry | bit(place, lane) << place);
                Lanes::pick(&table, &std::array::from_fn(entry), &mut picked);
                field.multiply_into(product, &picked, &mut spare);
                std::mem::swap(product, &mut spare);
            }
        }
        products
    }
}

/// For each of so many eights of numbers the subsets that they are in; nothing if the system has no randomness to give.
fn random_subsets(count: usize) -> Option<Vec<[u64; LANES]>> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).ok()?;
    let mut rng = ChaCha20Rng::from_seed(seed);
    Some((0..count).map(|_| std::array::from_fn(|_| rng.next_u64())).collect())
}

#[cfg(test)]
mod tests {
    use crypto_bigint::{BoxedUint, Resize};

    use super::*;
    use crate::primitive::group::Group;
    use crate::security::Level;

    /// Around eights, tables and what is tested together; and more than one processor's part.
    const COUNTS: [usize; 12] = [0, 1, 4, 5, 8, 39, 40, 41, 127, 128, 129, 1500];

    /// The subgroup of order 1019 modulo a prime, with the cofactor 2 * 3 * 5 * 7 * 11.
    fn toy() -> ModP {
        let odd = |number: u64| BoxedUint::from(number).into_odd().unwrap();
        let (q, cofactor) = (1019u64, 2310u64);
        let p =
            (1..).map(|more| q * cofactor * more + 1).find(|p| (2..1 << 16).all(|d| p % d != 0 || *p == d)).unwrap();
        let generator = BoxedUint::from(2u64).pow_mod(&BoxedUint::from((p - 1) / q), &odd(p));
        assert!(generator.bits_vartime() > 1);
        ModP::made_of(odd(p), odd(q), &generator)
    }

    /// Eights of these numbers, and ones in lanes that are left.
    fn eights(group: &ModP, numbers: &[BoxedUint]) -> Vec<Lanes> {
        let one = BoxedUint::one();
        let eight = |numbers: &[BoxedUint]| {
            let words = numbers.iter().chain(std::iter::repeat(&one)).map(|number| number.as_words());
            group.field.pack(words.take(LANES))
        };
        numbers.chunks(LANES).map(eight).collect()
    }

    fn members_among(group: &ModP, count: usize, rng: &mut ChaCha20Rng) -> Vec<BoxedUint> {
        let bytes = group.encode(&group.random_points(count, rng));
        let numbers = bytes.chunks(group.point_bytes()).map(super::super::number_from);
        // The identity is written as zero; it is one point in 1019 of a toy.
        numbers.map(|number| if number.is_zero().to_bool() { BoxedUint::from(1u64) } else { number }).collect()
    }

    /// Numbers of order 2, of the order of each further small factor of the cofactor, and a member times one of those;
    /// and some number.
    fn outsiders(group: &ModP, rng: &mut ChaCha20Rng) -> Vec<BoxedUint> {
        let p = &group.modulus;
        let (less, some) = (p.wrapping_sub(BoxedUint::one()), BoxedUint::from(rng.next_u64() >> 32 | 2));
        let some = some.rem(p.as_nz_ref()).resize(p.bits_precision());
        let factor = |factor: u64| {
            let (rest, remainder) = less.div_rem_vartime(&BoxedUint::from(factor).to_nz().unwrap());
            remainder.is_zero().to_bool().then(|| some.pow_mod(&rest, p))
        };
        let mut all: Vec<_> = [2, 3, 5, 7, 11, 13, 17, 19, 23].into_iter().filter_map(factor).collect();
        all.push(less.clone());
        let member = &members_among(group, 1, rng)[0];
        all.push(less.mul_mod(member, p.as_nz_ref()));
        all.push(some);
        let is_outside = |number: &BoxedUint| !number.pow_mod(&group.order, p).is_one().to_bool();
        all.retain(is_outside);
        all
    }

    /// Returns membership by its definition.
    fn truth(group: &ModP, numbers: &[BoxedUint]) -> Vec<bool> {
        numbers.iter().map(|number| number.pow_mod(&group.order, &group.modulus).is_one().to_bool()).collect()
    }

    #[track_caller]
    fn check(group: &ModP, numbers: &[BoxedUint], truth: &[bool]) {
        let eights = eights(group, numbers);
        let found = group.members(&eights);
        assert_eq!(found.len(), eights.len());
        assert!(found.as_flattened()[..numbers.len()] == *truth, "of {} numbers", numbers.len());
        let subsets = random_subsets(eights.len()).unwrap();
        assert_eq!(group.are_members(&eights, &subsets), truth.iter().all(|member| *member));
    }

    #[test]
    fn one_that_is_no_member_is_found_wherever_it_stands() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for group in [toy(), ModP::of(Level::Paper80)] {
            let outsiders = outsiders(&group, &mut rng);
            assert!(outsiders.len() >= 4, "{}", outsiders.len());
            for count in COUNTS {
                let members = members_among(&group, count, &mut rng);
                check(&group, &members, &vec![true; count]);
                let places = (0..count).filter(|place| count < 1000 || place % 149 == 0 || place + 3 > count);
                for place in places.filter(|place| group.field.words() == 1 || place % 13 == 0) {
                    let mut numbers = members.clone();
                    numbers[place] = outsiders[(place + count) % outsiders.len()].clone();
                    let truth: Vec<bool> = (0..count).map(|other| other != place).collect();
                    check(&group, &numbers, &truth);
                }
            }
        }
    }

    #[test]
    fn any_mixture_is_told_apart_as_the_definition_has_it() {
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        let group = toy();
        let p = group.modulus.as_words()[0];
        for round in 0..50 {
            let mut numbers = members_among(&group, 200, &mut rng);
            for _ in 0..round % 7 {
                let place = rng.next_u64() as usize % numbers.len();
                numbers[place] = BoxedUint::from(1 + rng.next_u64() % (p - 1));
            }
            let truth = truth(&group, &numbers);
            check(&group, &numbers, &truth);
        }
    }

    /// Checks the purpose of the random bits: each weaker choice of subsets lets numbers of order 2 through, and the
    /// test finds such numbers.
    #[test]
    fn subsets_that_can_be_known_or_are_shared_are_beaten() {
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        let group = ModP::of(Level::Paper80);
        let minus_one = group.modulus.wrapping_sub(BoxedUint::one());
        let with = |places: &[usize], rng: &mut ChaCha20Rng| {
            let mut numbers = members_among(&group, 160, rng);
            places.iter().for_each(|place| numbers[*place] = minus_one.clone());
            eights(&group, &numbers)
        };
        let (one, two) = (with(&[9], &mut rng), with(&[9, 90], &mut rng));
        let in_a_row = with(&[8, 9], &mut rng);
        for numbers in [&one, &two, &in_a_row] {
            for _ in 0..20 {
                assert!(!group.are_members(numbers, &random_subsets(20).unwrap()));
            }
        }
        // All that there are: two of order 2 are a member together.
        assert!(group.are_members(&two, &[[u64::MAX; LANES]; 20]));
        // Half of them, and everybody knows which.
        let known: Vec<_> = (0..20).map(|eight| [if eight % 2 == 1 { 0 } else { u64::MAX }; LANES]).collect();
        assert!(group.are_members(&one, &known));
        // One word for all lanes.
        let shared: Vec<_> = random_subsets(20).unwrap().into_iter().map(|words| [words[0]; LANES]).collect();
        assert!(group.are_members(&in_a_row, &shared));
        // One subset: as often as not.
        let single =
            || random_subsets(20).unwrap().into_iter().map(|words| words.map(|word| (word & 1).wrapping_neg()));
        let passed = (0..200).filter(|_| group.are_members(&one, &single().collect::<Vec<_>>())).count();
        assert!((60..140).contains(&passed), "{passed}");
    }
}
