//! Comparison of the numbers in share files with a threshold.

use rand_core::CryptoRng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Modulus, Shares};
use tacita_core::protocol::mesh::MeshOts;
use tacita_core::protocol::shares::at_least::{self, MeshComparison, Params};
use tacita_core::{Error, Result, Session, Side};

use super::ShareFile;
use crate::agreement::JobSpec;
use crate::agreement::mesh::MeshAgreement;
use crate::jobs::dot::side;
use crate::jobs::numbers::file::LoadedShareFile;
use crate::jobs::shares::spec::Threshold;
use crate::table::numbers::decimal;

/// Extension with which a comparison makes its oblivious transfers.
pub const EXTENSION: Extension = Extension::SoftSpoken(at_least::K);

/// The longest modulus, in bits.
const MAX_BITS: u32 = 127;

/// Bytes of memory that a comparison takes besides the files, from above: for transfers, and for each number.
const SETUP_BYTES: u64 = 64 << 20;
const NUMBER_BYTES: u64 = 160;

/// A comparison: what both parties derive from the terms and their share files. The numbers in one place of all files
/// are added up; the sums, less the least that they can be, are compared with the threshold, less the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    modulus: Modulus,
    /// Numbers, or sums of them.
    numbers: usize,
    /// The least that each can be, before decimals.
    low: i128,
    /// Maximum excess of each number over the least.
    bound: u128,
    /// Minimum excess over the least for the answer to be yes.
    threshold: u128,
}

impl Comparison {
    /// The comparison of what is in share files of one job.
    ///
    /// Errors ([`Error::Input`]): their modulus is no power of two, or not more than twice the range of what is
    /// compared.
    pub fn new(threshold: Threshold, files: &[LoadedShareFile]) -> Result<Comparison> {
        let first = files.first().ok_or_else(|| Error::Internal("no share file".into()))?;
        let share = &first.share;
        let modulus: Modulus = share.modulus.parse()?;
        let sum = |end: usize| files.iter().map(|kept| kept.share.range()[end]).try_fold(0, i128::checked_add);
        let ends = sum(0).zip(sum(1));
        let bound = ends.and_then(|(low, high)| u128::try_from(high.checked_sub(low)?).ok());
        // The least modulus that is more than twice the range.
        let bits = bound.map_or(u32::MAX, |bound| 129 - bound.leading_zeros());
        let advice = match bits {
            0..=MAX_BITS => format!(
                "in the job that makes the shares, leave `modulus` out, or agree on \"2^{bits}\" or a higher power of two"
            ),
            _ => "compare fewer files at once".into(),
        };
        let bad = |what: String| Err(Error::Input(format!("{}: {what}: {advice}", first.path.display())));
        if !modulus.is_power_of_two() {
            return bad(format!("shares modulo {modulus} cannot be compared, because that is no power of two"));
        }
        let shown = |number| decimal(number, share.decimals);
        let what = if files.len() > 1 { "the sums of these files" } else { "the numbers in this file" };
        let range = ends.map_or(String::new(), |(low, high)| format!(" ({} to {})", shown(low), shown(high)));
        let (Some((low, high)), Some(bound)) = (ends, bound.filter(|&bound| bound < modulus.value() / 2)) else {
            return bad(format!(
                "to compare {what}, a modulus has to be more than twice their range{range}, and it is {modulus}"
            ));
        };
        let ceiling = threshold.ceiling(share.decimals);
        let above = if ceiling > low { ceiling.abs_diff(low) } else { 0 };
        if ceiling <= low || ceiling > high {
            let answer = if ceiling <= low { "are all" } else { "cannot be" };
            tracing::warn!("nothing is to be found out: {what}{range} {answer} at least {threshold}");
        }
        Ok(Comparison { modulus, numbers: share.count(), low, bound, threshold: above })
    }

    /// The comparison that a plan assumes which knows no share files: of numbers of up to 63 bits.
    pub fn assumed(numbers: usize) -> Result<Comparison> {
        let modulus = Modulus::power_of_two(64)?;
        Ok(Comparison { modulus, numbers, low: 0, bound: modulus.value() / 2 - 1, threshold: 1 })
    }

    /// Returns the parameters of the comparison, which determine its cost.
    pub fn params(&self) -> Result<Params> {
        Params::new(self.numbers, self.modulus, self.bound, self.threshold)
    }

    /// A party's part: whether each number is at least the threshold.
    pub fn run(
        &self,
        side: Side,
        files: &[&LoadedShareFile],
        session: &Session,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<bool>> {
        let shares = self.added_up(side, files.iter().map(|kept| &kept.share))?;
        at_least::run(side, &shares, self.bound, self.threshold, session, channel, rng)
    }

    /// Returns the comparison among all parties of a job.
    pub fn among(&self, parties: usize) -> Result<MeshComparison> {
        let all: Vec<usize> = (0..parties).collect();
        MeshComparison::new(self.modulus, self.bound, self.threshold, vec![all; self.numbers])
    }

    /// A party's part among more than two.
    pub fn run_in_mesh(
        &self,
        job: &JobSpec,
        me: &str,
        files: &[&LoadedShareFile],
        agreed: &MeshAgreement,
        channels: &mut [Channel],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<bool>> {
        let place = job.parties.position(me).unwrap_or_default();
        let shares = self.added_up(side(job, me), files.iter().map(|kept| &kept.share))?;
        let comparison = self.among(job.parties.0.len())?;
        if comparison.rounds() == 0 {
            // What the terms and files say alone takes no message.
            return Ok(vec![self.threshold == 0; self.numbers]);
        }
        let mut ots = MeshOts::setup(place, &agreed.session, &agreed.links(job)?, at_least::K, channels, rng)?;
        comparison.run(&shares, &mut ots, channels)
    }

    /// A party's shares of what is compared: the first party takes off the least number.
    fn added_up<'f>(&self, side: Side, files: impl Iterator<Item = &'f ShareFile>) -> Result<Shares> {
        let start = match side {
            Side::First => self.modulus.subtract(0, self.modulus.residue(self.low)),
            Side::Second => 0,
        };
        let mut sums = vec![start; self.numbers];
        for file in files {
            let shares = file.shares()?;
            sums.iter_mut().zip(shares.residues()).for_each(|(sum, &share)| *sum = self.modulus.add(*sum, share));
        }
        Shares::new(self.modulus, sums)
    }
}

/// Memory that a comparison among so many parties takes besides the files, in bytes, from above.
pub fn memory(numbers: u64, parties: u64) -> u64 {
    if parties <= 2 {
        return SETUP_BYTES + NUMBER_BYTES * numbers;
    }
    // Numbers are compared in batches. In the widest layer each three summands make a product for each of their bits,
    // of which each link holds two shares; and the list of parties of each number is kept.
    let (links, products) = (parties - 1, u64::from(u64::BITS) * (parties / 3));
    let batch = numbers.min(1 << 14) * (products * (4 * links + 8) + 4 * parties * 128);
    SETUP_BYTES * links + (NUMBER_BYTES + 64 + 8 * parties) * numbers + batch
}
