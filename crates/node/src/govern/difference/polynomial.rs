//! Polynomials over the field, as coefficients from that of x^0 on, without zeros at the end.

use super::field::{Element, HALF_ORDER, ORDER};

pub(super) type Polynomial = Vec<Element>;

fn trimmed(mut polynomial: Polynomial) -> Polynomial {
    while polynomial.last() == Some(&Element::ZERO) {
        polynomial.pop();
    }
    polynomial
}

/// Returns the remainder, and the quotient, of a division by a monic polynomial.
fn divide(mut dividend: Polynomial, by: &[Element]) -> (Polynomial, Polynomial) {
    let degree = by.len() - 1;
    if dividend.len() <= degree {
        return (dividend, Polynomial::new());
    }
    let mut quotient = vec![Element::ZERO; dividend.len() - degree];
    for place in (0..quotient.len()).rev() {
        let factor = dividend[place + degree];
        quotient[place] = factor;
        for (room, of) in dividend[place..].iter_mut().zip(by) {
            *room = room.sub(factor.mul(*of));
        }
    }
    dividend.truncate(degree);
    (trimmed(dividend), quotient)
}

/// The same polynomial with a leading coefficient of 1.
fn monic(polynomial: Polynomial) -> Polynomial {
    let Some(leading) = polynomial.last() else { return polynomial };
    let inverse = leading.inverse();
    polynomial.iter().map(|coefficient| coefficient.mul(inverse)).collect()
}

fn gcd(mut a: Polynomial, mut b: Polynomial) -> Polynomial {
    while !b.is_empty() {
        b = monic(b);
        let (rest, _) = divide(a, &b);
        a = std::mem::replace(&mut b, rest);
    }
    monic(a)
}

fn multiply(a: &[Element], b: &[Element], modulo: &[Element]) -> Polynomial {
    let mut product = vec![Element::ZERO; (a.len() + b.len()).saturating_sub(1)];
    for (place, x) in a.iter().enumerate() {
        for (room, y) in product[place..].iter_mut().zip(b) {
            *room = room.add(x.mul(*y));
        }
    }
    divide(trimmed(product), modulo).0
}

fn power(base: &[Element], exponent: u64, modulo: &[Element]) -> Polynomial {
    let mut power = divide(vec![Element::ONE], modulo).0;
    for bit in (0..u64::BITS).rev() {
        power = multiply(&power, &power, modulo);
        if exponent >> bit & 1 == 1 {
            power = multiply(&power, base, modulo);
        }
    }
    power
}

/// Returns the roots of a monic polynomial; none if they are not as many as its degree says, and all different.
pub(super) fn roots(polynomial: &[Element]) -> Option<Vec<Element>> {
    let x = divide(vec![Element::ZERO, Element::ONE], polynomial).0;
    if power(&x, ORDER, polynomial) != x {
        return None;
    }
    let mut found = Vec::with_capacity(polynomial.len() - 1);
    split(polynomial.to_vec(), 1, &mut found);
    Some(found)
}

/// Splits a product of different linear factors (Cantor & Zassenhaus 1981): half of all elements are squares, and
/// `shift` decides which of the roots, plus it, are.
fn split(polynomial: Polynomial, shift: u64, found: &mut Vec<Element>) {
    match polynomial[..] {
        [] | [_] => {}
        [constant, _] => found.push(constant.neg()),
        _ => {
            let squares = power(&[Element::new(shift), Element::ONE], HALF_ORDER, &polynomial);
            let mut less_one = squares;
            less_one.resize(less_one.len().max(1), Element::ZERO);
            less_one[0] = less_one[0].sub(Element::ONE);
            let some = gcd(polynomial.clone(), trimmed(less_one));
            let (_, rest) = divide(polynomial, &some);
            split(some, shift + 1, found);
            split(rest, shift + 1, found);
        }
    }
}

/// Returns the values c for which the sums of c_i x_i^k over the points are these, for k from 0 on: as many as points.
pub(super) fn coefficients(points: &[Element], sums: &[Element]) -> Vec<Element> {
    let mut product = vec![Element::ONE];
    for point in points {
        product.insert(0, Element::ZERO);
        for place in 1..product.len() {
            let above = product[place];
            product[place - 1] = product[place - 1].sub(above.mul(*point));
        }
    }
    let of_point = |point: &Element| {
        // The product of all others, by Horner, and its value here.
        let (mut others, mut carried) = (vec![Element::ZERO; points.len()], Element::ZERO);
        for place in (0..points.len()).rev() {
            carried = carried.mul(*point).add(product[place + 1]);
            others[place] = carried;
        }
        let at_point = others.iter().rev().fold(Element::ZERO, |value, of| value.mul(*point).add(*of));
        let sum = others.iter().zip(sums).fold(Element::ZERO, |all, (of, sum)| all.add(of.mul(*sum)));
        sum.mul(at_point.inverse())
    };
    points.iter().map(of_point).collect()
}

/// Returns the shortest linear recurrence of a sequence, as the polynomial whose roots are its terms' bases; none if it
/// is longer than `most` (Berlekamp 1968, Massey 1969).
pub(super) fn recurrence(sequence: &[Element], most: usize) -> Option<Polynomial> {
    let (mut current, mut before) = (vec![Element::ONE], vec![Element::ONE]);
    let (mut length, mut since, mut discrepancy_before) = (0, 1, Element::ONE);
    for (place, term) in sequence.iter().enumerate() {
        let known = current.iter().skip(1).zip(sequence[..place].iter().rev());
        let discrepancy = known.fold(*term, |sum, (of, earlier)| sum.add(of.mul(*earlier)));
        if discrepancy == Element::ZERO {
            since += 1;
            continue;
        }
        let longer = 2 * length <= place;
        let kept = longer.then(|| current.clone());
        let factor = discrepancy.mul(discrepancy_before.inverse());
        current.resize(current.len().max(before.len() + since), Element::ZERO);
        for (room, of) in current[since..].iter_mut().zip(&before) {
            *room = room.sub(factor.mul(*of));
        }
        since += 1;
        if let Some(kept) = kept {
            (before, discrepancy_before, length, since) = (kept, discrepancy, place + 1 - length, 1);
            if length > most {
                return None;
            }
        }
    }
    current.resize(length + 1, Element::ZERO);
    current.reverse();
    Some(current)
}
