//! Products of ciphertexts of which each counts or not, by a secret bit.

use rayon::prelude::*;

use super::{PaillierCiphertexts, PaillierPublicKey};
use crate::primitive::kernel::mask::mask;
use crate::primitive::kernel::montgomery::{LANES, Lanes, Montgomery};
use crate::primitive::kernel::power::power;
use crate::primitive::ot::Choices;

/// Several products of ciphertexts that come one after the other, each with its own choice among them. Every ciphertext
/// is multiplied into every product, itself or a one.
pub struct CiphertextProducts<'a> {
    key: &'a PaillierPublicKey,
    count: usize,
    /// The ciphertexts of a list are divided among these.
    parts: Vec<Part>,
}

/// Products of a part of all ciphertexts, eight for each list of choices.
struct Part {
    lanes: Vec<Lanes>,
    /// Factors so far, for each of which the products lack a factor of R.
    factors: u64,
}

/// Key and number only.
impl std::fmt::Debug for CiphertextProducts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Products({})", self.count)
    }
}

impl<'a> CiphertextProducts<'a> {
    /// `count` products, all 1.
    pub fn new(key: &'a PaillierPublicKey, count: usize) -> CiphertextProducts<'a> {
        // Enough work for all threads, from products or else from parts.
        let parts = rayon::current_num_threads().div_ceil(count.max(1));
        let part = || Part { lanes: vec![key.field.one(); count], factors: 0 };
        CiphertextProducts { key, count, parts: (0..parts).map(|_| part()).collect() }
    }

    /// The product of some ciphertexts.
    pub(super) fn of_all(key: &PaillierPublicKey, ciphertexts: &PaillierCiphertexts) -> PaillierCiphertexts {
        let mut product = CiphertextProducts::new(key, 1);
        product.work(ciphertexts, |_, _| true);
        product.finish()
    }

    /// Multiplies those ciphertexts into each product that its bits choose.
    ///
    /// # Panics
    ///
    /// If there are not as many lists of choices as products, and as many choices as ciphertexts.
    pub fn multiply(&mut self, ciphertexts: &PaillierCiphertexts, choices: &[Choices]) {
        let fitting = choices.iter().all(|choices| choices.len() == ciphertexts.len());
        assert!(choices.len() == self.count && fitting, "choices for all ciphertexts and products");
        self.work(ciphertexts, |product, number| choices[product].get(number));
    }

    fn work(&mut self, ciphertexts: &PaillierCiphertexts, chosen: impl Fn(usize, usize) -> bool + Sync) {
        let (field, count) = (&self.key.field, ciphertexts.len());
        let one = plain_one(field);
        let groups: Vec<(usize, Lanes)> = (0..count)
            .step_by(LANES)
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|start| (start, field.pack(ciphertexts.range(start..count.min(start + LANES)))))
            .collect();
        let each = groups.len().div_ceil(self.parts.len()).max(1);
        self.parts.par_iter_mut().zip(groups.par_chunks(each)).for_each(|(part, groups)| {
            part.factors += groups.len() as u64;
            part.lanes.par_iter_mut().enumerate().for_each(|(product, lanes)| {
                let mut spare = field.one();
                for (start, group) in groups {
                    let masks = std::array::from_fn(|lane| {
                        let number = start + lane;
                        mask(number < count && chosen(product, number)) as u64
                    });
                    field.multiply_into(lanes, &group.select(&one, &masks), &mut spare);
                    std::mem::swap(lanes, &mut spare);
                }
            });
        });
    }

    /// Completes the products, and returns them.
    pub fn finish(self) -> PaillierCiphertexts {
        let field = &self.key.field;
        let missing: Vec<_> =
            self.parts.iter().map(|part| power(field, &field.radix(), &[&[part.factors][..]; LANES], 64)).collect();
        let words = field.words();
        let all: Vec<Vec<u64>> = (0..self.count)
            .into_par_iter()
            .map(|product| {
                let mut all = field.one();
                for (part, missing) in self.parts.iter().zip(&missing) {
                    all = field.multiply(&all, &field.multiply(&part.lanes[product], missing));
                }
                for distance in [4, 2, 1] {
                    all = field.multiply(&all, &all.rotated(distance));
                }
                field.leave(&all)[..words].to_vec()
            })
            .collect();
        PaillierCiphertexts { words, all: all.concat() }
    }
}

/// The number 1 in no form.
fn plain_one(field: &Montgomery) -> Lanes {
    let mut one = vec![0; field.words()];
    one[0] = 1;
    field.pack(std::iter::repeat_n(&one[..], LANES))
}
