//! Middle products: what multiplication by a polynomial becomes when it is transposed, at the same cost. (Hanrot,
//! Quercia & Zimmermann, "The middle product algorithm I", 2004; Bostan, Lecerf & Schost, "Tellegen's principle into
//! practice", ISSAC 2003.)

use crate::parallel;
use std::ops::Range;

use super::fft;
use super::module::{Module, ScalarOf, Scalars};
use super::multiply::{MultiplyStrategy, add_at, filled};
use crate::primitive::group::ScalarField;

/// The sums of `scalars[j] * elements[i + j]` over all j, for each i below `count`. What would stand behind the last
/// element is zero.
pub(super) fn correlate<M: Module>(
    module: &M,
    strategy: MultiplyStrategy,
    scalars: &[ScalarOf<M>],
    elements: &[M::Element],
    count: usize,
) -> Vec<M::Element> {
    // Behind the last element all sums are zero, and scalars meet nothing.
    let scalars = &scalars[..scalars.len().min(elements.len())];
    let alone = count.min(elements.len());
    let side = scalars.len().min(alone);
    if side == 0 {
        return vec![module.zero(); count];
    }
    let zero = || module.zero();
    let window = |from: usize, length: usize| filled(&elements[from.min(elements.len())..], length, zero());
    let mut sums = if strategy == MultiplyStrategy::Schoolbook {
        schoolbook(module, scalars, &window(0, scalars.len() + alone - 1), alone)
    } else if scalars.len() >= alone {
        // The scalars are cut into squares; what is left is none.
        let whole = scalars.len() / side * side;
        let parts = parallel::ranges(whole, side, |part| {
            square(module, strategy, &scalars[part.clone()], &window(part.start, 2 * side - 1))
        });
        let mut sums = vec![zero(); alone];
        parts.iter().for_each(|part| add_at(module, &mut sums, 0, part));
        if whole < scalars.len() {
            let rest = correlate(module, strategy, &scalars[whole..], &elements[whole..], alone);
            add_at(module, &mut sums, 0, &rest);
        }
        sums
    } else {
        // The sums are.
        let part = |sums: Range<usize>| {
            if sums.len() < side {
                correlate(module, strategy, scalars, &elements[sums.start..], sums.len())
            } else {
                square(module, strategy, scalars, &window(sums.start, 2 * side - 1))
            }
        };
        parallel::ranges(alone, side, part).concat()
    };
    sums.resize(count, module.zero());
    sums
}

/// n sums with n scalars, of 2 n - 1 elements.
fn square<M: Module>(
    module: &M,
    strategy: MultiplyStrategy,
    scalars: &[ScalarOf<M>],
    elements: &[M::Element],
) -> Vec<M::Element> {
    match strategy {
        MultiplyStrategy::Schoolbook => schoolbook(module, scalars, elements, scalars.len()),
        MultiplyStrategy::Karatsuba => karatsuba(module, scalars, elements),
        MultiplyStrategy::Toom3 => {
            let sixth = module.field().invert(&[module.field().scalar(6)]).remove(0);
            toom3(module, &sixth, scalars, elements)
        }
        MultiplyStrategy::Fft => fft::correlate(module, scalars, elements),
    }
}

fn schoolbook<M: Module>(
    module: &M,
    scalars: &[ScalarOf<M>],
    elements: &[M::Element],
    count: usize,
) -> Vec<M::Element> {
    let sum = |place: usize| module.combine(&elements[place..place + scalars.len()], scalars);
    parallel::numbers(count, 8, sum)
}

/// Correlates by the transpose of Karatsuba's way: with a = a0 + a1 x^m, three correlations of half the size.
fn karatsuba<M: Module>(module: &M, a: &[ScalarOf<M>], elements: &[M::Element]) -> Vec<M::Element> {
    if a.len() <= module.school() {
        return schoolbook(module, a, elements, a.len());
    }
    let half = a.len().div_ceil(2);
    let field = Scalars(module.field());
    let parts = [0, half].map(|start| filled(&a[start..], half, field.zero()));
    let windows =
        [0, 1, 2].map(|place| filled(&elements[(place * half).min(elements.len())..], 2 * half - 1, module.zero()));
    let [low, middle, high] = &windows;
    let both = field.add(&parts[0], &parts[1]);
    let outer = || {
        rayon::join(
            || karatsuba(module, &parts[0], &module.subtract(low, middle)),
            || karatsuba(module, &parts[1], &module.subtract(high, middle)),
        )
    };
    let (middle, (low, high)) = rayon::join(|| karatsuba(module, &both, middle), outer);
    let mut sums = module.add(&middle, &low);
    sums.extend(module.add(&middle, &high));
    sums.truncate(a.len());
    sums
}

/// The transpose of Toom's way at 0, 1, -1, 2 and infinity: five of a third of the size. Scalars are divided by 6
/// beforehand.
fn toom3<M: Module>(module: &M, sixth: &ScalarOf<M>, a: &[ScalarOf<M>], elements: &[M::Element]) -> Vec<M::Element> {
    if a.len() <= 2 * module.school() {
        return karatsuba(module, a, elements);
    }
    let third = a.len().div_ceil(3);
    let field = Scalars(module.field());
    let divided: Vec<_> = a.iter().map(|scalar| module.field().times(scalar, sixth)).collect();
    let at_points = super::multiply::at_five(&field, &divided, third);
    let window = |place: usize| filled(&elements[(place * third).min(elements.len())..], 2 * third - 1, module.zero());
    let [w0, w1, w2, w3, w4] = [0, 1, 2, 3, 4].map(window);

    let add = |a: &[M::Element], b: &[M::Element]| module.add(a, b);
    let subtract = |a: &[M::Element], b: &[M::Element]| module.subtract(a, b);
    let double = |a: &[M::Element]| add(a, a);
    let times_3 = |a: &[M::Element]| add(&add(a, a), a);
    // The transpose of interpolation: what each product counts for in each part of the result.
    let (difference, three_w2) = (subtract(&w3, &w1), times_3(&w2));
    let zero = add(&times_3(&subtract(&double(&w0), &double(&w2))), &times_3(&difference));
    let one = add(&three_w2, &times_3(&subtract(&double(&w1), &w3)));
    let minus = subtract(&subtract(&three_w2, &double(&w1)), &w3);
    let infinity = double(&subtract(&times_3(&subtract(&w4, &w2)), &double(&times_3(&difference))));
    let weighted = [zero, one, minus, difference, infinity];
    let products: Vec<_> = parallel::numbers(at_points.len(), 1, |i| toom3(module, sixth, &at_points[i], &weighted[i]));
    let [zero, one, minus, two, infinity] = &products[..] else { unreachable!("five points") };

    // The transpose of evaluation.
    let outer = add(one, minus);
    let mut sums = add(&add(zero, &outer), two);
    sums.extend(add(&subtract(one, minus), &double(two)));
    sums.extend(add(&add(&outer, infinity), &double(&double(two))));
    sums.truncate(a.len());
    sums
}
