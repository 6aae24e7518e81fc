//! What can be checked of a run before anything is read or sent.

use std::path::PathBuf;

use tacita_core::{Error, Result};

use crate::agreement::{Ability, Reveal};
use crate::base::files;
use crate::jobs::numbers::check_replaceable;
use crate::run::party::PartyRun;
use crate::table::output;

impl PartyRun {
    /// Whether this is the party that the job means.
    pub(super) fn check_party(&self) -> Result<()> {
        let party = self.job.party(&self.me)?;
        if let Some(expected) = &party.identity
            && *expected != self.identity.fingerprint()
            && self.meeting.announce.is_none()
        {
            return Err(Error::Input(format!(
                "parties.{}.identity: the job says {expected}, the identity given is {}: use the right --identity, or tell the other party",
                self.me,
                self.identity.fingerprint()
            )));
        }
        Ok(())
    }

    /// What can be checked before anything is read or sent.
    pub(super) fn check_paths(&self) -> Result<()> {
        self.check_party()?;
        if let Some(path) = &self.html {
            self.job.job.can(&self.job, Ability::Page)?;
            files::check_writable(path)?;
        }
        let inputs = self.source.paths();
        let beside = self.beside()?;
        for path in inputs.iter().filter(|path| path.as_os_str() != "-") {
            std::fs::File::open(path)
                .map_err(|error| Error::Input(format!("{}: cannot read: {error}", path.display())))?;
        }
        let named = |what, path: &Option<PathBuf>| path.clone().map(|path| (what, path));
        let first = [named("the job file", &self.job_file), named("the output", &self.output)];
        let last = [named("the page", &self.html), named("the report", &self.report)];
        let beside_it = beside.iter().map(|(what, path)| Some((*what, path.clone())));
        let files: Vec<_> = first.into_iter().chain(beside_it).chain(last).flatten().collect();
        let files = files.iter().map(|(what, path)| (*what, path.as_path()));
        let files: Vec<_> = inputs.iter().map(|path| ("an input", *path)).chain(files).collect();
        files::check_distinct(&files)?;
        match (&self.job.reveal, self.output.as_deref()) {
            (Reveal::Shares, Some(output)) if output.as_os_str() == "-" => {
                return Err(Error::Input("--output -: a share is a secret, and goes to a file of its own".into()));
            }
            (Reveal::Shares, Some(output)) => {
                if self.meeting.announce.is_none() {
                    check_replaceable(output)?;
                }
                files::check_writable(output)?;
            }
            (Reveal::Shares, None) if self.meeting.announce.is_none() => {
                return Err(Error::Input(
                    "reveal = \"shares\": give --output FILE, where this party's share is kept".into(),
                ));
            }
            (_, Some(path)) => {
                if !self.job.learns(&self.me) {
                    tracing::warn!("{} learns nothing in this job: {} will not be written", self.me, path.display());
                }
                output::check_writable(path, None)?;
                for (_, beside) in &beside {
                    output::check_writable(beside, None)?;
                }
            }
            (_, None) => (),
        }
        self.report.as_deref().map_or(Ok(()), files::check_writable)
    }
}
