//! Multiplication of polynomials by several strategies.

use crate::parallel;

use super::fft;
use super::module::{Module, ScalarOf, Scalars};
use crate::primitive::group::ScalarField;

/// Algorithm by which two polynomials are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultiplyStrategy {
    /// Each coefficient of the result as one sum of products: k^2 of them for k coefficients.
    Schoolbook,
    /// Karatsuba & Ofman, 1963: k^1.585 products.
    Karatsuba,
    /// Toom, 1963, in three parts: k^1.465 products. For moduli greater than 3.
    Toom3,
    /// Fast Fourier transform: k log k products. For fields with roots of unity.
    Fft,
}

impl MultiplyStrategy {
    /// List of all strategies.
    pub const ALL: [MultiplyStrategy; 4] =
        [MultiplyStrategy::Schoolbook, MultiplyStrategy::Karatsuba, MultiplyStrategy::Toom3, MultiplyStrategy::Fft];

    /// Whether a field has what it takes for a result of so many coefficients.
    pub fn can(self, field: &impl ScalarField, coefficients: usize) -> bool {
        match self {
            MultiplyStrategy::Fft => fft::size(coefficients).is_some_and(|log2| field.root_of_unity(log2).is_some()),
            _ => true,
        }
    }
}

/// The product of a polynomial with scalars as coefficients and one with elements, of as many coefficients as both
/// have, less one; none if either has none.
///
/// # Panics
///
/// If the strategy [cannot](MultiplyStrategy::can) be used.
pub fn multiply<M: Module>(
    module: &M,
    strategy: MultiplyStrategy,
    scalars: &[ScalarOf<M>],
    elements: &[M::Element],
) -> Vec<M::Element> {
    if scalars.is_empty() || elements.is_empty() {
        return Vec::new();
    }
    match strategy {
        MultiplyStrategy::Schoolbook => schoolbook(module, scalars, elements),
        MultiplyStrategy::Karatsuba => in_squares(module, scalars, elements, &|a, b| karatsuba(module, a, b)),
        MultiplyStrategy::Toom3 => {
            let sixth = module.field().invert(&[module.field().scalar(6)]).remove(0);
            in_squares(module, scalars, elements, &|a, b| toom3(module, &sixth, a, b))
        }
        MultiplyStrategy::Fft => fft::multiply(module, scalars, elements),
    }
}

/// The monic polynomial that has these roots, each as often as it is there.
pub fn expand<F: ScalarField + Sync>(field: &F, strategy: MultiplyStrategy, roots: &[F::Scalar]) -> Vec<F::Scalar> {
    match roots {
        [] => vec![field.scalar(1)],
        [root] => vec![field.minus(&field.scalar(0), root), field.scalar(1)],
        _ => {
            let (first, second) = roots.split_at(roots.len() / 2);
            let (first, second) = rayon::join(|| expand(field, strategy, first), || expand(field, strategy, second));
            multiply(&Scalars(field), strategy, &first, &second)
        }
    }
}

/// Each coefficient is one sum of products.
fn schoolbook<M: Module>(module: &M, scalars: &[ScalarOf<M>], elements: &[M::Element]) -> Vec<M::Element> {
    let reversed: Vec<_> = scalars.iter().rev().cloned().collect();
    let coefficient = |place: usize| {
        // Elements from `low` on meet scalars from `place - low` down.
        let (low, high) = (place.saturating_sub(scalars.len() - 1), place.min(elements.len() - 1));
        let first = scalars.len() - 1 + low - place;
        module.combine(&elements[low..=high], &reversed[first..][..high - low + 1])
    };
    // A few scalars are multiplied before they could be handed to another processor.
    parallel::numbers(scalars.len() + elements.len() - 1, 8, coefficient)
}

/// Cuts the longer polynomial into pieces as long as the shorter one, the last of which is filled up with zeros.
fn in_squares<M: Module>(
    module: &M,
    scalars: &[ScalarOf<M>],
    elements: &[M::Element],
    square: &(impl Fn(&[ScalarOf<M>], &[M::Element]) -> Vec<M::Element> + Sync),
) -> Vec<M::Element> {
    let side = scalars.len().min(elements.len());
    let products: Vec<_> = if scalars.len() > elements.len() {
        parallel::ranges(scalars.len(), side, |part| {
            square(&filled(&scalars[part], side, module.field().scalar(0)), elements)
        })
    } else {
        parallel::ranges(elements.len(), side, |part| square(scalars, &filled(&elements[part], side, module.zero())))
    };
    let mut result = vec![module.zero(); scalars.len() + elements.len() - 1];
    for (piece, product) in products.iter().enumerate() {
        add_at(module, &mut result, piece * side, product);
    }
    result
}

/// Returns the first `count` coefficients of `part`, filled up with `zero`.
pub(super) fn filled<T: Clone>(part: &[T], count: usize, zero: T) -> Vec<T> {
    part.iter().cloned().chain(std::iter::repeat(zero)).take(count).collect()
}

/// Adds a polynomial times x^`place`; what would stand behind the end are zeros.
pub(super) fn add_at<M: Module>(module: &M, sum: &mut [M::Element], place: usize, polynomial: &[M::Element]) {
    let end = sum.len().min(place + polynomial.len());
    let added = module.add(&sum[place..end], &polynomial[..end - place]);
    sum[place..end].clone_from_slice(&added);
}

/// The sum of two polynomials of which the first is the longer one.
fn sum<M: Module>(module: &M, long: &[M::Element], short: &[M::Element]) -> Vec<M::Element> {
    let mut sum = module.add(&long[..short.len()], short);
    sum.extend_from_slice(&long[short.len()..]);
    sum
}

/// Polynomials of the same length. (KK, algorithm 1.)
fn karatsuba<M: Module>(module: &M, a: &[ScalarOf<M>], b: &[M::Element]) -> Vec<M::Element> {
    if a.len() <= module.school() {
        return schoolbook(module, a, b);
    }
    let half = a.len().div_ceil(2);
    let (low_a, high_a, low_b, high_b) = (&a[..half], &a[half..], &b[..half], &b[half..]);
    let middle = || {
        let (a, b) = (sum(&Scalars(module.field()), low_a, high_a), sum(module, low_b, high_b));
        karatsuba(module, &a, &b)
    };
    let outer = || rayon::join(|| karatsuba(module, low_a, low_b), || karatsuba(module, high_a, high_b));
    let (middle, (low, high)) = rayon::join(middle, outer);
    let rest = module.subtract(&middle, &low);
    let cross = module.subtract(&rest[..high.len()], &high);
    let mut result = low;
    result.resize(a.len() + b.len() - 1, module.zero());
    add_at(module, &mut result, half, &[&cross[..], &rest[high.len()..]].concat());
    add_at(module, &mut result, 2 * half, &high);
    result
}

/// Polynomials of the same length, evaluated at 0, 1, -1, 2 and infinity. Interpolation divides by 6: the scalars are
/// divided before they are multiplied, and of elements small multiples are left, which are sums.
fn toom3<M: Module>(module: &M, sixth: &ScalarOf<M>, a: &[ScalarOf<M>], b: &[M::Element]) -> Vec<M::Element> {
    if a.len() <= 2 * module.school() {
        return karatsuba(module, a, b);
    }
    let third = a.len().div_ceil(3);
    let scalars = Scalars(module.field());
    let divided: Vec<_> = a.iter().map(|scalar| module.field().times(scalar, sixth)).collect();
    let length = a.len() + b.len() - 1;
    let (a, b) = (at_five(&scalars, &divided, third), at_five(module, b, third));
    let products: Vec<_> = parallel::numbers(a.len(), 1, |i| toom3(module, sixth, &a[i], &b[i]));
    let [zero, one, minus, two, infinity] = &products[..] else { unreachable!("five points") };

    let add = |a: &[M::Element], b: &[M::Element]| module.add(a, b);
    let subtract = |a: &[M::Element], b: &[M::Element]| module.subtract(a, b);
    let times_3 = |a: &[M::Element]| add(&add(a, a), a);
    let double = |a: &[M::Element]| add(a, a);
    // With t the products: c0 = 6 t(0), c4 = 6 t(inf), c2 = 3 (t(1) + t(-1)) - c0 - c4,
    // c3 = t(2) - 3 t(1) - t(-1) + 3 t(0) - 12 t(inf), c1 = 3 (t(1) - t(-1)) - c3.
    let (zero_3, infinity_3) = (times_3(zero), times_3(infinity));
    let (first, last) = (double(&zero_3), double(&infinity_3));
    let middle = subtract(&subtract(&times_3(&add(one, minus)), &first), &last);
    let fourth = subtract(&add(&subtract(&subtract(two, &times_3(one)), minus), &zero_3), &double(&last));
    let second = subtract(&times_3(&subtract(one, minus)), &fourth);
    let mut result = vec![module.zero(); length];
    for (place, part) in [&first, &second, &middle, &fourth, &last].into_iter().enumerate() {
        add_at(module, &mut result, place * third, part);
    }
    result
}

/// The three parts of a polynomial as coefficients of another one, at 0, 1, -1, 2 and infinity.
pub(super) fn at_five<M: Module>(module: &M, polynomial: &[M::Element], third: usize) -> [Vec<M::Element>; 5] {
    let part = |place: usize| {
        let start = (place * third).min(polynomial.len());
        filled(&polynomial[start..], third, module.zero())
    };
    let [low, middle, high] = [part(0), part(1), part(2)];
    let outer = module.add(&low, &high);
    let (one, minus) = (module.add(&outer, &middle), module.subtract(&outer, &middle));
    // low + 2 middle + 4 high.
    let upper = module.add(&middle, &module.add(&high, &high));
    let two = module.add(&low, &module.add(&upper, &upper));
    [low, one, minus, two, high]
}
