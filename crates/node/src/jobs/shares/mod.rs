//! `shares`: opens what an earlier job left as shares, or compares it with a threshold; each share once.

pub mod choose;
mod compare;
pub mod cost;
mod job;
pub mod learned;
pub mod spec;

use std::collections::{BTreeMap, BTreeSet};

use rand_core::CryptoRng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::ot::mesh;
use tacita_core::protocol::dot::{Modulus, Shares, reveal};
use tacita_core::{Error, Result};

use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::{
    Answer, JobSpec, KnownSizes, PartContext, PartyInput, Peers, Protocol, RunResult, Sizes, Source,
};
use crate::base::text;
use crate::jobs::dot::mesh::{learners, peers_of};
use crate::jobs::dot::methods::ot;
use crate::jobs::dot::side;
use crate::jobs::numbers::file::{self, LoadedShareFile};
use crate::jobs::numbers::{self, Cells, ShareFile, ShareNoise, Value};
use crate::table::RowCounts;
pub use compare::{Comparison, EXTENSION};

/// Protocol that opens shares: nothing but sending them, see `tacita_core::protocol::dot::reveal`.
pub const OPEN: Protocol = Protocol::named("open");

pub use spec::{Operation, SharesJob, SharesSpec, Threshold};

/// The most numbers that one job opens or compares.
const MAX_NUMBERS: usize = 1 << 24;

/// The share files that a party brings.
pub struct SharesInput {
    own: SharesSpec,
    files: Vec<LoadedShareFile>,
    work: SharesWork,
}

/// Operation on the numbers in shares.
#[derive(Debug, Clone, Copy)]
pub enum SharesWork {
    /// Opening of so many numbers, from shares modulo this.
    Open(Modulus, usize),
    /// Comparison of the numbers with a threshold.
    Compare(Comparison),
}

impl SharesSpec {
    /// Returns the protocol of the operation.
    fn protocol(&self) -> Protocol {
        if self.threshold().is_some() { ot::PROTOCOL } else { OPEN }
    }
}

impl SharesInput {
    /// Reads share files: whole, of this party, of one job, and not opened before.
    pub fn load(job: &SharesJob<'_>, me: &str, source: &Source) -> Result<SharesInput> {
        let Source::Shares(paths) = source else {
            return Err(Error::Input("a job that opens shares needs share files: give --input FILE".into()));
        };
        let files: Vec<_> = paths.iter().map(|path| LoadedShareFile::read(path)).collect::<Result<_>>()?;
        let mut runs = BTreeSet::new();
        for kept in &files {
            let shown = kept.path.display();
            let (first, this) = (&files[0], &kept.share);
            let bad = |text: String| Err(Error::Input(format!("{shown}: {text}")));
            if this.party != me {
                return bad(format!("this is a share of \"{}\", and this party is \"{me}\"", text::shown(&this.party)));
            }
            let other = format!("than {} (\"{}\")", first.path.display(), text::shown(&first.share.job));
            if !this.is_of_job_of(&first.share) {
                return bad(format!(
                    "this is a share of another job (\"{}\") {other}: open them by two jobs",
                    text::shown(&this.job)
                ));
            }
            if this.modulus != first.share.modulus {
                return bad(format!(
                    "this share has another modulus {other}: open them by two jobs, or agree on `modulus`"
                ));
            }
            if !this.parties().eq(job.parties.names()) {
                let parties: Vec<_> = this.parties().map(text::shown).collect();
                let parties: Vec<_> = parties.iter().map(String::as_str).collect();
                return bad(format!("this is a share of a job of {}, in this order", text::names(&parties)));
            }
            if let Err(what) = check_noise(job, this.noise.as_ref()) {
                return bad(what);
            }
            if !runs.insert(&this.run) {
                return bad("this share is given twice".into());
            }
        }
        let count: usize = files.iter().map(|kept| kept.share.count()).sum();
        if count > MAX_NUMBERS {
            return Err(Error::Input(format!("the share files hold {count} numbers, and {MAX_NUMBERS} can be opened")));
        }
        let work = SharesWork::of(job, &files)?;
        if let Some(limit) = job.limits.max_rows
            && count as u64 > limit
        {
            return Err(Error::Input(format!("the share files hold {count} numbers, and limits.max_rows is {limit}")));
        }
        Ok(SharesInput { own: *job.own, files, work })
    }

    /// Returns the number of values.
    fn count(&self) -> usize {
        self.files.iter().map(|kept| kept.share.count()).sum()
    }

    /// The files in the order in which all parties open them: the first party's. `sizes` are those of all.
    fn in_order(&self, job: &SharesJob<'_>, sizes: &BTreeMap<String, Sizes>) -> Result<Vec<&LoadedShareFile>> {
        let runs = |name: &str| sizes[name].runs.as_deref().unwrap_or_default();
        let all = if sizes.len() > 2 { "all" } else { "both" };
        for name in job.parties.names() {
            let theirs = runs(name);
            for kept in &self.files {
                if !theirs.contains(&kept.share.run) {
                    return Err(Error::Terms(format!(
                        "{}: {name} does not open its share of this run (of job \"{}\"): give shares of the same runs at {all} parties",
                        kept.path.display(),
                        text::shown(&kept.share.job)
                    )));
                }
            }
            if theirs.len() != self.files.len() || sizes[name].items != self.count() as u64 {
                return Err(Error::Terms(format!(
                    "{name} opens shares of {}, this party of {}: give shares of the same runs at {all} parties",
                    text::counted(theirs.len() as u64, "run"),
                    text::count(self.files.len() as u64)
                )));
            }
        }
        let (mut files, first): (Vec<_>, _) = (self.files.iter().collect(), runs(job.parties.names()[0]));
        files.sort_by_key(|kept| first.iter().position(|run| *run == kept.share.run));
        Ok(files)
    }
}

impl PartyInput for SharesInput {
    fn sizes(&self) -> Sizes {
        let runs = self.files.iter().map(|kept| kept.share.run.clone()).collect();
        Sizes { items: self.count() as u64, runs: Some(runs), ..Sizes::default() }
    }

    /// The numbers count as rows.
    fn rows(&self) -> RowCounts {
        let items = self.count();
        RowCounts { read: items, items, ..RowCounts::default() }
    }

    fn cost(&self, job: &JobSpec, sizes: &BTreeMap<String, Sizes>, machine: &Calibration) -> Result<Option<Cost>> {
        cost::shares_cost(&SharesJob { spec: job, own: &self.own }, sizes, Some(self.work), machine).map(Some)
    }

    fn check_peer(&self, _job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        check_peer(theirs, channel)
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<RunResult> {
        let PartContext { job, me, peers, rng, .. } = run;
        let own = self.own;
        let job = &SharesJob { spec: job, own: &own };
        let sizes = match &peers {
            Peers::One { agreed, .. } => job.sizes_of_both(me, &agreed.own_sizes, &agreed.peer_sizes),
            Peers::Mesh { agreed, .. } => agreed.sizes.clone(),
            Peers::Several { .. } | Peers::Depot(_) => {
                return Err(Error::Internal(format!("{me} opens shares with no peer")));
            }
        };
        let known = KnownSizes { all: Some(&sizes), ..KnownSizes::of_sizes(&sizes[me], &sizes[job.peer_of(me)]) };
        let (protocol, learned) = (job.own.protocol(), learned::shares(job, me, known));
        let (values, min_result) = (open(job, me, self, &sizes, peers, rng)?, job.limits.min_result);
        // That of a sum is no sum of these.
        let noise = self.files.first().and_then(|kept| kept.share.noise.clone());
        let within = noise.filter(|_| job.own.operation == Some(Operation::Open)).map(|noise| noise.within);
        let answer = move || {
            let Some(values) = values else { return Ok(Answer::Nothing) };
            Ok(match min_result.filter(|limit| values.iter().any(|value| value.is_below(*limit))) {
                Some(limit) => Answer::below("value", limit),
                None => numbers::answer(values, within),
            })
        };
        Ok(RunResult::new(protocol, learned, answer))
    }
}

impl SharesWork {
    /// Returns the operation of a job on the numbers in these files.
    ///
    /// Errors ([`Error::Input`]): their modulus is not fit for it.
    fn of(job: &SharesJob<'_>, files: &[LoadedShareFile]) -> Result<SharesWork> {
        if files.iter().any(|kept| kept.share.telling) {
            tracing::warn!(
                "these shares are parts that \"gm-bloom\" made: each party has known each number nearly from the beginning"
            );
        }
        if let Some(threshold) = job.own.threshold() {
            return Ok(SharesWork::Compare(Comparison::new(threshold, files)?));
        }
        let first = files.first().ok_or_else(|| Error::Internal("no share file".into()))?;
        let modulus = first.share.modulus.parse()?;
        check_modulus(job, files, modulus)?;
        Ok(SharesWork::opening(job, modulus, files.iter().map(|kept| kept.share.count()).sum()))
    }

    /// Returns the operation that a plan assumes without files.
    pub fn assumed(job: &SharesJob<'_>, numbers: usize) -> Result<SharesWork> {
        if numbers > MAX_NUMBERS {
            return Err(Error::Input(format!("{numbers} numbers: {MAX_NUMBERS} can be opened")));
        }
        match job.own.threshold() {
            Some(_) => Ok(SharesWork::Compare(Comparison::assumed(numbers)?)),
            None => Ok(SharesWork::opening(job, Modulus::power_of_two(64)?, numbers)),
        }
    }

    fn opening(job: &SharesJob<'_>, modulus: Modulus, numbers: usize) -> SharesWork {
        SharesWork::Open(modulus, if job.own.operation == Some(Operation::Sum) { 1 } else { numbers })
    }
}

/// Refuses shares with noise of which the terms do not tell, and shares without noise of which they do.
fn check_noise(job: &SharesJob<'_>, noise: Option<&ShareNoise>) -> std::result::Result<(), String> {
    let agreed = job.noise.as_ref().and_then(|noise| noise.privacy().ok());
    match (noise, agreed) {
        (None, None) => Ok(()),
        (Some(noise), Some(agreed)) if noise.is_for(&agreed) => Ok(()),
        (Some(ShareNoise { epsilon, delta, .. }), _) => {
            let delta = if delta == "0" { String::new() } else { format!(", delta = {delta}") };
            Err(format!(
                "this share has noise: agree on noise = {{ epsilon = {epsilon}{delta} }} in the job that opens it"
            ))
        }
        (None, Some(_)) => Err(
            "this share has no noise, and the job is for numbers with noise: leave `noise` out, or make the shares \
             with it"
                .into(),
        ),
    }
}

/// Refuses a sum that the shares' modulus may not hold. If it may not hold even one number, the parties have agreed on
/// a modulus and were told; then what they find is known modulo that.
fn check_modulus(job: &SharesJob<'_>, files: &[LoadedShareFile], modulus: Modulus) -> Result<()> {
    if files.iter().any(|kept| !kept.share.fits(&modulus)) {
        tracing::warn!(
            "the numbers in these shares are known modulo {modulus} only: their job's numbers may be larger"
        );
        return Ok(());
    }
    match job.own.operation {
        Some(Operation::Sum) if !sum_fits(files, &modulus) => Err(Error::Input(format!(
            "the sum of these numbers may be larger than the shares' modulus {modulus} holds: open fewer, or agree on a \
             larger `modulus` in the job that makes the shares"
        ))),
        _ => Ok(()),
    }
}

/// Whether all possible sums of all numbers are told apart modulo `modulus`.
fn sum_fits(files: &[LoadedShareFile], modulus: &Modulus) -> bool {
    let bound = |end: usize| {
        let each = files.iter().map(|kept| kept.share.range()[end].checked_mul(kept.share.count() as i128));
        each.sum::<Option<i128>>()
    };
    let signed = files.iter().any(|kept| kept.share.signed);
    [bound(0), bound(1)].into_iter().all(|sum| sum.is_some_and(|sum| modulus.tells(sum, signed)))
}

/// Checks that the peer's sizes fit.
fn check_peer(theirs: &Sizes, channel: &Channel) -> Result<()> {
    theirs.refuse(true, false, true, channel)?;
    let Some(runs) = &theirs.runs else {
        return Err(channel.violation("it does not say which shares it opens"));
    };
    let due = Sizes { items: theirs.items, runs: Some(runs.clone()), ..Sizes::default() };
    if due == *theirs && theirs.items <= MAX_NUMBERS as u64 {
        Ok(())
    } else {
        Err(channel.violation("it announces more than shares"))
    }
}

/// Opens the shares to those who learn, or compares what is in them. From here on they count as opened, even if the
/// connection fails: the peer may have them. Returns the numbers, file by file; or their sum; or whether they are at
/// least a threshold; nothing if it is the other party that learns.
fn open(
    job: &SharesJob<'_>,
    me: &str,
    brought: &SharesInput,
    sizes: &BTreeMap<String, Sizes>,
    peers: Peers<'_>,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<Value>>> {
    let files = brought.in_order(job, sizes)?;
    let first = &files.first().ok_or_else(|| Error::Internal("no share file".into()))?.share;
    let modulus = match brought.work {
        SharesWork::Open(modulus, _) => modulus,
        SharesWork::Compare(comparison) => {
            file::spend(&files, job)?;
            let answers = match peers {
                Peers::Mesh { agreed, channels } => comparison.run_in_mesh(job, me, &files, agreed, channels, rng)?,
                Peers::One { agreed, channel } => {
                    comparison.run(side(job, me), &files, &agreed.session, channel, rng)?
                }
                Peers::Several { .. } | Peers::Depot(_) => Vec::new(),
            };
            return Ok(Some(vec![first.value(Cells::Answers(answers))]));
        }
    };
    let mut numbers = Vec::with_capacity(brought.count());
    for kept in &files {
        numbers.extend_from_slice(kept.share.shares()?.residues());
    }
    let all = Shares::new(modulus, numbers)?;
    let opened = match job.own.operation {
        Some(Operation::Sum) => all.sum(),
        _ => all,
    };
    file::spend(&files, job)?;
    let residues = match peers {
        Peers::Mesh { channels, .. } => {
            let place = job.parties.position(me).unwrap_or_default();
            mesh::open(&opened, place, &learners(job)?, &peers_of(job, place), channels)?
        }
        Peers::One { channel, .. } => reveal(&opened, job.learns(me), job.learns(job.peer_of(me)), channel)?,
        Peers::Several { .. } | Peers::Depot(_) => None,
    };
    let Some(residues) = residues else { return Ok(None) };
    let mut integers = residues.into_iter().map(|residue| modulus.integer(residue, first.signed));
    let mut cells =
        |count| Cells::Numbers { numbers: integers.by_ref().take(count).collect(), decimals: first.decimals };
    Ok(Some(match job.own.operation {
        Some(Operation::Sum) => vec![Value { columns: Vec::new(), cells: cells(1) }],
        _ => files.iter().map(|kept| kept.share.value(cells(kept.share.count()))).collect(),
    }))
}

/// Memory besides the files, in bytes.
pub fn memory(job: &SharesJob<'_>, own: &Sizes) -> u64 {
    job.own.threshold().map_or(0, |_| compare::memory(own.items, job.parties.0.len() as u64))
}
