//! Products by the fast Fourier transform over a field with roots of unity (Cooley & Tukey, 1965).

use super::module::{Module, ScalarOf, Scalars};
use crate::primitive::group::ScalarField;

/// The logarithm of the size of a transform that holds so many coefficients.
pub(super) fn size(coefficients: usize) -> Option<u32> {
    coefficients.checked_next_power_of_two().map(usize::ilog2)
}

/// Whether a product of so many coefficients has one more than a transform holds. The highest falls on the lowest one,
/// and is taken away there: so it is with polynomials of degree 2^n, for which the next transform would take twice as
/// long.
pub(super) fn takes_less(coefficients: usize) -> bool {
    coefficients > 2 && (coefficients - 1).is_power_of_two()
}

/// Multiplies as [`super::multiply`] does, for polynomials that have coefficients.
///
/// # Panics
///
/// If the field has no root of unity of that order.
pub(super) fn multiply<M: Module>(module: &M, scalars: &[ScalarOf<M>], elements: &[M::Element]) -> Vec<M::Element> {
    let length = scalars.len() + elements.len() - 1;
    let short = scalars.len().min(elements.len()) > 1 && takes_less(length);
    let mut product = cyclic(module, scalars, elements, length - usize::from(short));
    product.truncate(length);
    if short {
        let [element, scalar] = [elements.len() - 1, scalars.len() - 1];
        let last = module.multiply_each(&elements[element..], &scalars[scalar..]);
        product[0] = module.subtract(&product[..1], &last).remove(0);
        product.extend(last);
    }
    product
}

/// Correlates as [`super::correlate`] does, with n scalars and 2 n - 1 elements. The result is the middle of a product.
/// No other part of the product overlaps it in a transform that holds the elements.
///
/// # Panics
///
/// If the field has no root of unity of that order.
pub(super) fn correlate<M: Module>(module: &M, scalars: &[ScalarOf<M>], elements: &[M::Element]) -> Vec<M::Element> {
    let reversed: Vec<_> = scalars.iter().rev().cloned().collect();
    let product = cyclic(module, &reversed, elements, elements.len());
    product[scalars.len() - 1..elements.len()].to_vec()
}

/// The product modulo x^m - 1, for the least power of two m that is not below `coefficients`.
fn cyclic<M: Module>(
    module: &M,
    scalars: &[ScalarOf<M>],
    elements: &[M::Element],
    coefficients: usize,
) -> Vec<M::Element> {
    let field = module.field();
    let log2 = size(coefficients).expect("polynomials fit memory");
    let count = 1 << log2;
    let root = field.root_of_unity(log2).expect("the field has roots of unity of this order");
    let inverse = field.invert(std::slice::from_ref(&root)).remove(0);
    // The transform back divides by the size: the scalars are divided, which costs least.
    let part = field.invert(&[field.scalar(count as u64)]).remove(0);
    let mut values: Vec<_> = scalars.iter().map(|scalar| field.times(scalar, &part)).collect();
    values.resize(count, field.scalar(0));
    let mut transformed = elements.to_vec();
    transformed.resize(count, module.zero());

    transform(&Scalars(field), &mut values, &root);
    transform(module, &mut transformed, &root);
    let mut product = module.multiply_each(&transformed, &values);
    transform(module, &mut product, &inverse);
    product
}

/// The values of a polynomial at 1, w, w^2, ..., w of the order of the slice's length. In place; each level multiplies
/// half of the elements, and nothing by 1.
fn transform<M: Module>(module: &M, elements: &mut [M::Element], root: &ScalarOf<M>) {
    let (field, count) = (module.field(), elements.len());
    let bits = count.ilog2();
    for place in 0..count {
        let other = if bits == 0 { 0 } else { place.reverse_bits() >> (usize::BITS - bits) };
        if place < other {
            elements.swap(place, other);
        }
    }
    let mut powers = vec![field.scalar(1)];
    while powers.len() < count / 2 {
        powers.push(field.times(&powers[powers.len() - 1], root));
    }
    for half in (0..bits).map(|level| 1 << level) {
        let stride = count / (2 * half);
        // The places of all lower halves of butterflies, but for the first of each, which has the factor 1.
        let places = || (0..count).filter(|place| place & half != 0);
        let twisted: Vec<usize> = places().filter(|place| place & (half - 1) != 0).collect();
        let factors: Vec<_> = twisted.iter().map(|place| powers[(place & (half - 1)) * stride].clone()).collect();
        let chosen: Vec<_> = twisted.iter().map(|&place| elements[place].clone()).collect();
        for (place, product) in twisted.iter().zip(module.multiply_each(&chosen, &factors)) {
            elements[*place] = product;
        }
        let upper: Vec<_> = places().map(|place| elements[place - half].clone()).collect();
        let lower: Vec<_> = places().map(|place| elements[place].clone()).collect();
        let (sums, differences) = (module.add(&upper, &lower), module.subtract(&upper, &lower));
        for ((place, sum), difference) in places().zip(sums).zip(differences) {
            elements[place - half] = sum;
            elements[place] = difference;
        }
    }
}
