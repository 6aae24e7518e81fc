//! Sharings of zero, which make shares of results uniformly random.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use zeroize::Zeroizing;

use crate::error::Result;
use crate::protocol::dot::Shares;
use crate::protocol::mesh::MeshOts;

/// Adds a fresh sharing of zero to shares. `parties` are, for each of them, those that have a share, this one included.
///
/// Each two of them add and subtract the same random residue. The sums of those who do not pool what they see are
/// random to all others.
pub(super) fn add_zeros(ots: &MeshOts, batch: u64, parties: &[&[usize]], shares: &Shares) -> Result<Shares> {
    let modulus = shares.modulus();
    let mut sums = Zeroizing::new(shares.residues().to_vec());
    for link in ots.links() {
        let common: Vec<usize> = (0..parties.len()).filter(|&index| parties[index].contains(&link.peer)).collect();
        let key = link.key("mesh shares of zero", ots.session(), batch);
        let masks = Shares::random(modulus, common.len(), &mut ChaCha20Rng::from_seed(*key));
        for (index, mask) in common.into_iter().zip(masks.residues()) {
            let sum = &mut sums[index];
            *sum = if ots.me() < link.peer { modulus.add(*sum, *mask) } else { modulus.subtract(*sum, *mask) };
        }
    }
    Shares::new(modulus, sums.to_vec())
}
