//! The files in which buckets leave their shares of counts.

use serde::{Deserialize, Serialize};
use tacita_core::protocol::dot::{Modulus, Shares};
use tacita_core::{Error, Result, Session};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::base::hex::hex;
use crate::base::text::json;

/// A bucket's shares of the counts of a level's mixed candidates. Secret: zeroized when dropped, never printed.
#[derive(Serialize, Deserialize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
pub struct LevelShares {
    /// Identifier of the run: the same at both parties.
    run: String,
    /// Modulus of the sum of shares.
    modulus: String,
    values: Vec<u64>,
}

/// Returns the identifier of a run, the same at both parties.
pub fn run_of(session: &Session) -> String {
    hex(&session.derive("run of shares"))
}

impl LevelShares {
    pub fn new(run: String, shares: &Shares) -> LevelShares {
        // The modulus is no more than four times the most rows.
        let values = shares.residues().iter().map(|residue| *residue as u64).collect();
        LevelShares { run, modulus: shares.modulus().to_string(), values }
    }

    /// The file, which is for this party alone.
    pub fn text(&self) -> Result<Zeroizing<String>> {
        json(serde_json::to_string(self)).map(Zeroizing::new)
    }

    /// The sum of what all buckets have left, by the text of their files, and what stands for all their runs.
    ///
    /// Errors: they are not such files, of so many candidates, modulo this.
    pub fn sum(files: &[Zeroizing<String>], candidates: usize, modulus: Modulus) -> Result<(Shares, [u8; 32])> {
        let bad = || Error::Input("the shares of the buckets are not of one level".into());
        let mut sums = Zeroizing::new(vec![0u128; candidates]);
        let mut runs = blake3::Hasher::new_derive_key("tacita 1 runs of shares");
        for file in files {
            let part: LevelShares = serde_json::from_str(file).map_err(|_| bad())?;
            let fits = |value: &u64| u128::from(*value) < modulus.value();
            if part.modulus != modulus.to_string() || part.values.len() != candidates || !part.values.iter().all(fits) {
                return Err(bad());
            }
            sums.iter_mut().zip(&part.values).for_each(|(sum, value)| *sum = modulus.add(*sum, u128::from(*value)));
            runs.update(&(part.run.len() as u64).to_le_bytes()).update(part.run.as_bytes());
        }
        Ok((Shares::new(modulus, std::mem::take(&mut *sums))?, runs.finalize().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_others_are_refused() {
        let modulus = Modulus::power_of_two(5).unwrap();
        let file = |run: &str, values: &[u128]| {
            LevelShares::new(run.into(), &Shares::new(modulus, values.to_vec()).unwrap()).text().unwrap()
        };
        let (sum, runs) = LevelShares::sum(&[file("a", &[30, 1]), file("b", &[5, 2])], 2, modulus).unwrap();
        assert_eq!(sum.residues(), [3, 3]);
        assert_ne!(LevelShares::sum(&[file("b", &[5, 2]), file("a", &[30, 1])], 2, modulus).unwrap().1, runs);
        assert!(LevelShares::sum(&[file("a", &[1])], 2, modulus).is_err());
        assert!(LevelShares::sum(&[file("a", &[1, 31])], 2, Modulus::power_of_two(4).unwrap()).is_err());
        assert!(LevelShares::sum(&[Zeroizing::new("{}".into())], 0, modulus).is_err());
        assert_eq!(LevelShares::sum(&[], 2, modulus).unwrap().0.residues(), [0, 0]);
    }
}
