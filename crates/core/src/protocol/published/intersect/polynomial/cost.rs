//! Estimates of the work of a run.

use super::{Curve, Params, PolynomialReveal};
use crate::primitive::group::Ristretto255;
use crate::primitive::published::polynomial::{Module, Points};
use crate::role::Role;

/// Approximate costs of other operations, relative to a multiplication of a point: a multiplication of the generator,
/// an encoding, a decoding, and an operation on scalars. `intersect_polynomial` judges what is chosen by them.
const FIXED: f64 = 0.45;
const ENCODE: f64 = 0.3;
const DECODE: f64 = 0.3;
const SCALAR: f64 = 0.004;

/// Coefficients that curves multiply as in school. Both parties have to come to the same choice, so nothing is asked of
/// the group.
const SCHOOL: usize = 8;

/// The work of a run, in multiplications of a point in ristretto255.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolynomialCost {
    /// Work of the receiver.
    pub receiver: f64,
    /// Work of the sender.
    pub sender: f64,
}

impl PolynomialCost {
    /// Returns the work of both parties.
    pub fn work(&self) -> f64 {
        self.receiver + self.sender
    }
}

impl Curve {
    /// Duration of a multiplication relative to ristretto255, as measured with AVX-512 IFMA.
    fn times_ristretto(self) -> f64 {
        match self {
            Curve::Ristretto255 => 1.0,
            Curve::Pallas => 6.5,
            Curve::P384 => 45.0,
            Curve::P521 => 46.0,
        }
    }
}

/// The work of a run with these parameters.
pub(super) fn of(params: &Params) -> PolynomialCost {
    of_looking_at(params, params.items(Role::Receiver))
}

/// The same where the receiver looks at so many items.
pub(in crate::protocol) fn of_looking_at(params: &Params, looked_at: usize) -> PolynomialCost {
    let bins = params.bins() as f64;
    let sent = params.items(Role::Sender) as f64;
    let portions = params.portions().len() as f64;
    let evaluated = |items| portions * params.points_of_portion(items) as f64;
    let [first, second] = [Role::Receiver, Role::Sender].map(|role| params.bound(role));
    let count = params.answers_of_bin();
    let up = bins * params.ciphertexts_of_bin() as f64;
    let down = if params.reveal() == PolynomialReveal::Rows { bins * count as f64 } else { sent };
    let strategy = params.strategy().of_coefficients();

    // Ciphertexts: made by who has the secret key, read, decrypted; read, made with the public key.
    let mut receiver = up * (2.0 * FIXED + 2.0 * ENCODE) + down * (2.0 * DECODE + 1.0);
    let mut sender = up * 2.0 * DECODE + down * (2.0 * FIXED + 1.0 + 2.0 * ENCODE);
    // Values of an opened polynomial, or of an encrypted one, at the items of all bins.
    let evaluate = |points: f64, items: usize| match strategy {
        Some(strategy) if params.bins() == 1 => {
            strategy.work_of_evaluation::<Points<'_, Ristretto255>>(SCHOOL, count, items)
        }
        Some(_) => points * count as f64 * <Points<'_, Ristretto255> as Module>::IN_SUM,
        None => points * count as f64 * (<Points<'_, Ristretto255> as Module>::IN_SUM + 5.0 * SCALAR),
    };
    match params.reveal() {
        PolynomialReveal::Rows => {
            receiver += evaluate(evaluated(looked_at), looked_at);
            sender += match strategy {
                Some(strategy) => {
                    let product = strategy.work::<Points<'_, Ristretto255>>(SCHOOL, second + 1, first + 1);
                    2.0 * bins * product
                }
                None => 2.0 * down,
            };
        }
        PolynomialReveal::Count => {
            sender += 2.0 * evaluate(evaluated(params.items(Role::Sender)), second) + 2.0 * sent;
        }
    }
    if strategy.is_none() {
        // Values of what is known: of products of differences, and of polynomials.
        let values = bins * count as f64 * SCALAR;
        receiver += values * 2.0 * first as f64;
        if params.reveal() == PolynomialReveal::Rows {
            sender += values * 2.0 * (first + 2 * second) as f64;
        }
    }
    let times = params.curve().times_ristretto();
    PolynomialCost { receiver: receiver * times, sender: sender * times }
}
