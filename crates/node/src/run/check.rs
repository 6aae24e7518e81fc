//! Checks of a run before anything is read or sent.

use std::path::{Path, PathBuf};

use tacita_core::{Error, Result};

use crate::agreement::{Ability, JobSpec, Reveal};
use crate::base::files::{self, Existing};
use crate::base::text;
use crate::identity::Identity;
use crate::jobs::numbers::check_replaceable;
use crate::run::party::PartyRun;
use crate::run::write::all_beside;
use crate::table::output;

/// Checks that the result of a job can be written to a file, and what stands beside it. A share of a simulation may
/// replace another.
pub fn check_output(job: &JobSpec, path: &Path, simulated: bool, existing: Existing) -> Result<()> {
    if job.reveal == Reveal::Shares {
        if path.as_os_str() == "-" {
            return Err(Error::Input("--output -: a share is a secret: name a file for it".into()));
        }
        if !simulated {
            check_replaceable(path)?;
        }
        return files::check_output(path, existing);
    }
    output::check_output(path, None, existing)?;
    let beside = all_beside(job, path)?;
    beside.iter().try_for_each(|(_, beside)| output::check_output(beside, None, existing).map(drop))
}

/// Returns a warning for a party that names a file for a result which it does not get.
pub fn unwritten(job: &JobSpec, me: &str, path: &Path) -> Option<String> {
    let gets = job.reveal == Reveal::Shares || job.learns(me);
    (!gets).then(|| format!("{me} learns nothing in this job: {} will not be written", path.display()))
}

/// Refuses an identity that is not the one that the job names for the party `me`.
pub fn check_identity(job: &JobSpec, me: &str, identity: &Identity) -> Result<()> {
    match &job.party(me)?.identity {
        Some(expected) if *expected != identity.fingerprint() => Err(Error::Input(format!(
            "parties.{me}.identity: the job says {expected}, but --identity is {}: use the right --identity, or have the job \
             file corrected at all parties",
            identity.fingerprint()
        ))),
        _ => Ok(()),
    }
}

impl PartyRun {
    /// Whether this is the party that the job means.
    pub(super) fn check_party(&self) -> Result<()> {
        match self.meeting.announce {
            None => check_identity(&self.job, &self.me, &self.identity),
            Some(_) => self.job.party(&self.me).map(drop),
        }
    }

    /// Checks that the receipts can be written, and would not replace an input.
    pub(super) fn check_receipt(&self) -> Result<()> {
        let Some(path) = &self.governance.receipt else { return Ok(()) };
        let inputs = self.source.paths();
        let inputs = inputs.iter().map(|input| ("an input", *input));
        files::check_distinct(&inputs.chain([("the receipts", path.as_path())]).collect::<Vec<_>>())?;
        files::check_output(path, self.existing)
    }

    /// Checks whatever can be checked before anything is read or sent.
    pub(super) fn check_paths(&self) -> Result<()> {
        self.check_party()?;
        self.check_receipt()?;
        if let Some(path) = &self.html {
            self.job.job.can(&self.job, Ability::Page)?;
            files::check_output(path, self.existing)?;
        }
        let inputs = self.source.paths();
        let beside = self.beside()?;
        for path in inputs.iter().filter(|path| path.as_os_str() != "-") {
            files::check_readable(path)?;
        }
        let named = |what, path: &Option<PathBuf>| path.clone().map(|path| (what, path));
        let first = [named("the job file", &self.job_file), named("the output", &self.output)];
        let receipt = &self.governance.receipt;
        let last = [named("the page", &self.html), named("the report", &self.report), named("the receipts", receipt)];
        let beside_it = beside.iter().map(|(what, path)| Some((*what, path.clone())));
        let files: Vec<_> = first.into_iter().chain(beside_it).chain(last).flatten().collect();
        let files = files.iter().map(|(what, path)| (*what, path.as_path()));
        let files: Vec<_> = inputs.iter().map(|path| ("an input", *path)).chain(files).collect();
        files::check_distinct(&files)?;
        let simulated = self.meeting.announce.is_some();
        match self.output.as_deref() {
            Some(path) => {
                if let Some(warning) = unwritten(&self.job, &self.me, path) {
                    tracing::warn!("{warning}");
                }
                // A run that is resumed may have written it before it was cut off: it is compared when it is written.
                let existing = if self.resumes() { Existing::Replaced } else { self.existing };
                check_output(&self.job, path, simulated, existing)?;
                check_room(path, &inputs)?;
            }
            None if self.job.reveal == Reveal::Shares && !simulated => {
                return Err(Error::Input(
                    "reveal = \"shares\": give --output FILE, where this party's share is kept".into(),
                ));
            }
            None if self.job.learns(&self.me) && !simulated && self.html.is_none() => match self.job.reveal {
                Reveal::Rows | Reveal::Payload => {
                    tracing::warn!("no --output FILE: the rows will be counted, and not kept")
                }
                Reveal::Frequent | Reveal::Counts => {
                    tracing::warn!("no --output FILE: the rules will be counted, and not kept");
                }
                Reveal::Cells => tracing::warn!("no --output FILE: the cells will be counted, and not kept"),
                _ => (),
            },
            None => (),
        }
        self.report.as_deref().map_or(Ok(()), files::check_writable)
    }
}

/// A result of rows can be as long as the input. Less room is said, and none refused, before anything is sent: a peer
/// that learns has its result whatever becomes of this party's.
fn check_room(output: &Path, inputs: &[&Path]) -> Result<()> {
    // Standard output, and devices, are no places on a disk.
    let elsewhere = output.as_os_str() == "-" || std::fs::metadata(output).is_ok_and(|facts| !facts.is_file());
    let Some(free) = files::free_bytes(output).filter(|_| !elsewhere) else { return Ok(()) };
    let input = inputs.iter().filter_map(|path| Some(std::fs::metadata(path).ok()?.len())).fold(0, u64::saturating_add);
    if free == 0 {
        return Err(Error::Input(format!("{}: the disk is full: make room, or name another place", output.display())));
    }
    if free < input {
        tracing::warn!(
            "{}: there are {} free, and the input has {}: make room if the result may be as long",
            output.display(),
            text::bytes(free),
            text::bytes(input)
        );
    }
    Ok(())
}
