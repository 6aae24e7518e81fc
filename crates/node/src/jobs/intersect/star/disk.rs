//! Tables on disk, and whoever runs with a party that has its own there: bucket by bucket.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_core::CryptoRng;
use tacita_core::channel::{Channel, conclude_all_for};
use tacita_core::protocol::intersect::buckets::{self, BucketSource};
use tacita_core::protocol::intersect::star::MeshLink;
use tacita_core::protocol::intersect::star::buckets::{self as star_buckets, Params};
use tacita_core::{Error, Progress, Result};

use super::super::IntersectResult;
use super::super::disk::{Attempt, TablePlace, check_fresh, resumed, run_attempt};
use super::memory::of_bucket;
use super::{PROTOCOL, parties};
use crate::agreement::{JobSpec, Sizes, Terms, mesh};
use crate::base::text::counted;

/// Whether parties of these sizes intersect bucket by bucket: one of them has its work on disk.
pub fn is_bucketed(sizes: &BTreeMap<String, Sizes>) -> bool {
    sizes.values().any(|sizes| sizes.work.is_some())
}

/// Returns the parameters that all derive from terms and sizes.
pub fn params(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> Result<Params> {
    let (items, leader, learners) = parties(job, sizes)?;
    let mut all = sizes.values();
    let kept = all.next().and_then(|one| resumed(one, all));
    let buckets = match kept {
        Some(kept) => kept.buckets as usize,
        None => {
            let needs = |(place, name): (usize, &&str)| {
                let Some(work) = &sizes[*name].work else { return Ok(1) };
                let least = Params::least_buckets(&items, leader, &learners, work.memory, |one| of_bucket(one, place))?;
                least.ok_or_else(|| {
                    let most = counted(items.iter().max().copied().unwrap_or_default() as u64, "key");
                    Error::Terms(format!(
                        "{name} allows too little memory for sets of up to {most}, in any number of buckets: raise --memory \
                         there, or agree on fewer rows with limits.max_rows"
                    ))
                })
            };
            // As many as the party needs that needs most.
            let names = job.parties.names();
            let each = names.iter().enumerate().map(needs).collect::<Result<Vec<_>>>()?;
            each.into_iter().max().unwrap_or(1)
        }
    };
    Params::new(items, leader, learners, buckets)
}

/// Runs all buckets that are left. Returns the rows that the party has in common with the others, if it learns them.
pub fn run(
    job: &JobSpec,
    me: &str,
    party: TablePlace<'_>,
    agreed: &mesh::MeshAgreement,
    links: &[MeshLink],
    channels: &mut [Channel],
    rng: &mut (impl CryptoRng + Send),
) -> Result<IntersectResult> {
    let params = params(job, &agreed.sizes)?;
    let own = &agreed.sizes[me];
    let others: Vec<_> = job.others(me).into_iter().map(|name| (name, &agreed.sizes[name])).collect();
    let resumes = resumed(own, others.iter().map(|(_, sizes)| *sizes)).is_some();
    if !resumes {
        check_fresh(job, me, own, &others).map_err(|error| conclude_all_for(channels, error))?;
    }
    let (learns, me, terms) = (job.learns(me), job.parties.place(me)?, Terms::of(job).agreement_bytes());
    let party_of_run = star_buckets::StarBucketsParty { me, params: &params, session: &agreed.session, links };
    let progress = channels.first().map(|channel| channel.progress().clone()).unwrap_or_default();
    run_attempt(party, learns, Among { party: party_of_run, resumes, terms, progress, channels, rng })
}

/// An attempt of all parties.
struct Among<'a, R> {
    party: star_buckets::StarBucketsParty<'a>,
    resumes: bool,
    terms: [u8; 32],
    progress: Arc<Progress>,
    channels: &'a mut [Channel],
    rng: &'a mut R,
}

impl<R: CryptoRng + Send> Attempt for Among<'_, R> {
    fn protocol(&self) -> &'static str {
        PROTOCOL.name()
    }

    fn buckets(&self) -> usize {
        self.party.params.buckets()
    }

    fn at_once(&self) -> usize {
        1
    }

    fn resumes(&self) -> bool {
        self.resumes
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }

    fn rng(&mut self) -> &mut dyn CryptoRng {
        self.rng
    }

    fn agree(&mut self, commitment: &[u8; 32], kept: Option<buckets::KeptRun<'_>>) -> Result<buckets::BucketAgreement> {
        let party = buckets::BucketsParty { place: self.party.me, commitment, kept };
        buckets::agree(party, &self.terms, &self.party.params.shape(), self.party.session, self.channels, self.rng)
    }

    fn run(&mut self, remaining: &[usize], source: &dyn BucketSource) -> Result<()> {
        star_buckets::run(self.party, remaining, source, self.channels, self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::DiskRun;

    /// Whatever the others claim, a bucket fits the memory that a party has for it; or the job is refused for that,
    /// with the name of who has too little.
    #[test]
    fn a_bucket_fits_the_memory_of_all() {
        let job = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"b\", \"c\"]\n[key]\ncolumns = [\"k\"]\n[parties.a]\n[parties.b]\n[parties.c]\n";
        let job = JobSpec::parse(job, false).unwrap();
        let counts = [0, 1, 1000, 1 << 20, 200_000_000, u64::from(u32::MAX)];
        let (mut fitting, mut refused) = (0, 0);
        for (a, b, c) in counts.iter().flat_map(|a| counts.iter().flat_map(move |b| counts.map(|c| (*a, *b, c)))) {
            for memory in [196_608, 64 << 20, 1 << 32] {
                let sizes =
                    |items, memory| Sizes { items, work: Some(DiskRun { memory, kept: None }), ..Sizes::default() };
                let all = [("a", sizes(a, memory)), ("b", sizes(b, u64::MAX)), ("c", sizes(c, 1 << 40))];
                let all: BTreeMap<String, Sizes> = all.map(|(name, sizes)| (name.to_owned(), sizes)).into();
                match params(&job, &all) {
                    Ok(params) => {
                        assert!(of_bucket(params.bucket(), 0) <= memory, "{a}, {b}, {c} in {memory}");
                        fitting += 1;
                    }
                    Err(Error::Terms(text)) => {
                        assert!(text.starts_with("a allows too little memory"), "{text}");
                        refused += 1;
                    }
                    Err(error) => panic!("{a}, {b}, {c} in {memory}: {error}"),
                }
            }
        }
        assert!(fitting > 300 && refused > 50, "{fitting} fit, {refused} do not");
    }
}
