//! Secret scalars by themselves: their inverses, and sums of products.

use std::rc::Rc;

use crypto_bigint::BoxedUint;
use tacita_core::Level;
use tacita_core::primitive::group::{ModP, P384, P521, Ristretto255, ScalarField};
use tacita_core::primitive::published::Pallas;
use tacita_core::primitive::published::polynomial::{Scalars, evaluate_one};

use super::measure::{Make, Operation, trial};

/// Coefficients of a polynomial whose value is a share.
const COEFFICIENTS: usize = 16;

/// The operations of all fields.
pub fn all() -> Vec<Operation> {
    let mut all = of("ristretto255", Ristretto255);
    all.extend(of("P-384", P384::new()));
    all.extend(of("P-521", P521::new()));
    all.extend(of("Pallas", Pallas));
    all.extend(of("2048 bits modulo p", ModP::of(Level::Bits112)));
    all
}

fn of<F: ScalarField + Sync + 'static>(name: &str, field: F) -> Vec<Operation> {
    let field = Rc::new(field);
    vec![
        Operation::new(
            format!("{name}: inverses of scalars"),
            "scalar 1",
            by_scalars(&field, 1, |field, scalars| field.invert(scalars)),
            by_scalars(&field, 1, divisor),
        ),
        Operation::new(
            format!("{name}: value of a polynomial"),
            "scalars 1",
            by_scalars(&field, COEFFICIENTS, |field, scalars| {
                vec![evaluate_one(&Scalars(field), scalars, &field.scalar(7))]
            }),
            by_scalars(&field, COEFFICIENTS, leaving_out_ones),
        ),
    ]
}

fn by_scalars<F: ScalarField + 'static, R: 'static>(
    field: &Rc<F>,
    count: usize,
    work: fn(&F, &[F::Scalar]) -> R,
) -> Make {
    let field = field.clone();
    Box::new(move |_| {
        let (of_random, of_work) = (field.clone(), field.clone());
        let random = move |rng: &mut _| of_random.random_scalars(count, rng);
        trial(vec![field.scalar(1); count], random, move |scalars| work(&of_work, scalars))
    })
}

/// The control of inverses: Euclid's algorithm, which takes as many steps as it has to.
fn divisor<F: ScalarField>(field: &F, scalars: &[F::Scalar]) -> BoxedUint {
    let bytes = field.encode_scalar(&scalars[0]);
    let words = bytes.chunks(8).map(|bytes| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    let mut pair = [BoxedUint::from_words(words.clone()), BoxedUint::max(64 * words.count() as u32)];
    while let Some(divisor) = pair[0].clone().to_nz().into_option() {
        let rest = pair[1].rem_vartime(&divisor);
        pair = [rest, divisor.get()];
    }
    pair[1].clone()
}

/// The control of values: products with 1 are left out.
fn leaving_out_ones<F: ScalarField>(field: &F, scalars: &[F::Scalar]) -> F::Scalar {
    let one = field.encode_scalar(&field.scalar(1));
    scalars.iter().fold(field.scalar(7), |product, scalar| {
        if field.encode_scalar(scalar) == one { product } else { field.times(&product, scalar) }
    })
}
