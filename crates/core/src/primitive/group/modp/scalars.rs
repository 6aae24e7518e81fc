//! The integers modulo q.

use std::fmt;

use crypto_bigint::BoxedUint;
use crypto_bigint::modular::BoxedMontyForm;
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{ModP, SPARE_BYTES, number_from};
use crate::primitive::group::{ScalarField, expand_message_xmd};

/// Scalars that share one inversion, and one step of work for a processor.
const BATCH: usize = 256;

/// An integer modulo the group's order.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Scalar(pub(super) BoxedMontyForm);

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

impl Scalar {
    /// Returns the scalar as a number.
    pub(super) fn number(&self) -> Zeroizing<BoxedUint> {
        Zeroizing::new(self.0.retrieve())
    }

    fn nonzero(self) -> Option<Scalar> {
        self.0.is_nonzero().to_bool().then_some(self)
    }
}

impl ModP {
    /// The remainder of a long number.
    fn reduced(&self, bytes: &[u8]) -> Scalar {
        let long = Zeroizing::new(number_from(bytes));
        Scalar(BoxedMontyForm::new(long.rem(self.order.as_nz_ref()), &self.scalars))
    }
}

impl ScalarField for ModP {
    type Scalar = Scalar;

    fn scalar_bytes(&self) -> usize {
        self.order_bits().div_ceil(8)
    }

    fn scalar(&self, integer: u64) -> Scalar {
        self.reduced(&integer.to_be_bytes())
    }

    fn random_scalars(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Scalar> {
        let mut bytes = Zeroizing::new(vec![0; self.scalar_bytes() + SPARE_BYTES]);
        let mut nonzero = || {
            loop {
                rng.fill_bytes(&mut bytes);
                if let Some(scalar) = self.reduced(&bytes).nonzero() {
                    return scalar;
                }
            }
        };
        (0..count).map(|_| nonzero()).collect()
    }

    fn hash_to_scalar(&self, message: &[u8], tag: &[u8]) -> Option<Scalar> {
        let mut bytes = Zeroizing::new(vec![0; self.scalar_bytes() + SPARE_BYTES]);
        expand_message_xmd(message, tag, &mut bytes);
        self.reduced(&bytes).nonzero()
    }

    fn plus(&self, a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0.add(&b.0))
    }

    fn minus(&self, a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0.sub(&b.0))
    }

    fn times(&self, a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0.mul(&b.0))
    }

    fn is_zero(&self, scalar: &Scalar) -> bool {
        scalar.0.is_zero().to_bool()
    }

    /// Montgomery's trick: the inverse of all of a batch's product, and three products for each.
    fn invert(&self, scalars: &[Scalar]) -> Vec<Scalar> {
        let batch = |scalars: &[Scalar]| {
            // The products of those before each.
            let mut inverses = Vec::with_capacity(scalars.len());
            let mut product = self.scalar(1);
            for scalar in scalars {
                let next = self.times(&product, scalar);
                inverses.push(std::mem::replace(&mut product, next));
            }
            let mut rest = Scalar(product.0.invert().into_option().expect("scalars are not zero"));
            for (inverse, scalar) in inverses.iter_mut().zip(scalars).rev() {
                *inverse = self.times(inverse, &rest);
                rest = self.times(&rest, scalar);
            }
            inverses
        };
        scalars.par_chunks(BATCH).flat_map_iter(batch).collect()
    }

    fn root_of_unity(&self, log2: u32) -> Option<Scalar> {
        let squarings = self.two_adicity.checked_sub(log2)?;
        Some(Scalar((0..squarings).fold(self.root.clone(), |root, _| root.square())))
    }

    fn encode_scalar(&self, scalar: &Scalar) -> Zeroizing<Vec<u8>> {
        let bytes = Zeroizing::new(scalar.number().to_be_bytes().into_vec());
        Zeroizing::new(bytes[bytes.len() - self.scalar_bytes()..].to_vec())
    }

    fn decode_scalar(&self, bytes: &[u8]) -> Option<Scalar> {
        if bytes.len() != self.scalar_bytes() {
            return None;
        }
        let number = Zeroizing::new(number_from(bytes));
        let (mut difference, is_less) = number.underflowing_sub(&*self.order);
        difference.zeroize();
        // What is not less is refused after it was reduced.
        self.reduced(bytes).nonzero().filter(|_| is_less.to_bool())
    }
}
