//! Key-value stores of ciphertexts.

use rand_core::CryptoRng;

use super::params::CIPHERTEXT;
use super::{OutsourcedParty, Params};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::elgamal::{self, Ciphertext};
use crate::primitive::group::{Point, Ristretto255};
use crate::primitive::kernel::Block;
use crate::primitive::kernel::block::BLOCK_BYTES;
use crate::primitive::okvs::{EncodeError, Okvs};

/// Keys by which a store is looked up: half of each item, which is random.
fn keys(items: &[Item]) -> Vec<Block> {
    items.iter().map(|item| Block::from_le_slice(&item.0[BLOCK_BYTES..])).collect()
}

impl<D> OutsourcedParty<'_, D> {
    /// The rows of all stores of this run, under a seed that nobody knew before all had told their keys.
    fn rows(&self) -> Result<Okvs> {
        Ok(Okvs::new(self.params.store()?, &self.met.session.derive("outsourced store")))
    }

    /// The columns of a store in which each item, dummies among them, has the ciphertext at its place, and all else is
    /// random.
    pub(super) fn encode(
        &self,
        items: &[Item],
        ciphertexts: &[Ciphertext<Ristretto255>],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Ciphertext<Ristretto255>>> {
        let okvs = self.rows()?;
        let numbers: Vec<u32> = (0..items.len() as u32).collect();
        let (grouped, numbers) = okvs.group(&keys(items), &numbers);
        let values: Vec<[Point; 2]> = numbers.iter().map(|number| ciphertexts[*number as usize].clone()).collect();
        okvs.encode_random(&grouped, &values, rng).map_err(|error| match error {
            EncodeError::Duplicate(..) => Error::Internal("outsourced: an item is there twice".into()),
            EncodeError::Unlucky => {
                Error::NotReady("the items do not fit their store by a rare chance; run it again".into())
            }
        })
    }

    /// Decodes the values that a store has for each of these items.
    pub(super) fn decode(
        &self,
        items: &[Item],
        columns: &[Ciphertext<Ristretto255>],
    ) -> Result<Vec<Ciphertext<Ristretto255>>> {
        let okvs = self.rows()?;
        let numbers: Vec<u32> = (0..items.len() as u32).collect();
        let (grouped, numbers) = okvs.group(&keys(items), &numbers);
        let mut found: Vec<_> = numbers.into_iter().zip(okvs.decode(&grouped, columns)).collect();
        found.sort_unstable_by_key(|(number, _)| *number);
        Ok(found.into_iter().map(|(_, ciphertext)| ciphertext).collect())
    }
}

impl Params {
    /// The columns that the parts of a store hold, which `collect` gets; the error is what is wrong with the first
    /// wrong one.
    pub(super) fn columns(
        &self,
        mut collect: impl FnMut(u32, usize) -> Result<Vec<u8>>,
        wrong: impl Fn(String) -> Error,
    ) -> Result<Vec<Ciphertext<Ristretto255>>> {
        let mut all = Vec::new();
        for (part, columns) in (0..).zip(self.store_parts()?) {
            let bytes = collect(part, columns * CIPHERTEXT)?;
            all.extend(elgamal::decode(&Ristretto255, &bytes).map_err(|error| wrong(format!("its store {error}")))?);
        }
        Ok(all)
    }
}
