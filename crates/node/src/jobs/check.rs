//! Whether a job makes sense.

use tacita_core::{Error, Result};

use crate::agreement::words::{bad, either};
use crate::agreement::{CommonKey, JobSpec, Show};
use crate::jobs;

impl JobSpec {
    /// Whether the job makes sense; the error says which key does not, and what would.
    pub fn check(&self) -> Result<()> {
        self.check_names()?;
        self.check_count()?;
        self.check_learners()?;
        self.check_shared()?;
        self.job.check_parties(self)?;
        self.check_words()?;
        self.job.check(self)?;
        self.check_after()
    }

    /// Refuses fewer or more parties than the job can have.
    fn check_count(&self) -> Result<()> {
        let (most, count) = (self.job.info().most_parties, self.parties.0.len());
        let has_roles = self.job.has(CommonKey::Roles) && self.has_roles();
        if self.job.served().is_some() || has_roles || (2..=most).contains(&count) {
            return Ok(());
        }
        if most > 2 {
            return bad(format!("parties: the job has {count}: name 2 to {most}"));
        }
        let with_roles = jobs::having(CommonKey::Roles).join(" and ");
        let several: Vec<_> = jobs::usual().filter(|job| job.info().most_parties > 2).map(|job| job.name()).collect();
        bad(format!(
            "parties: the job has {count}, and job = \"{}\" is between exactly two (except {with_roles} with clients): for \
             more, use {}",
            self.job.name(),
            either(several.into_iter())
        ))
    }

    /// Refuses keys that several jobs have, and this one has not.
    fn check_shared(&self) -> Result<()> {
        let limits = &self.limits;
        let present = [
            ("gives", !self.gives.is_empty(), CommonKey::Gives),
            ("[key]", self.key.is_some(), CommonKey::Key),
            ("alignment", self.alignment.is_some(), CommonKey::Alignment),
            ("limits.blur", limits.blur.is_some(), CommonKey::Alignment),
            ("parties.NAME.role and slice", self.has_roles(), CommonKey::Roles),
            ("scale", self.scale.is_some(), CommonKey::Scale),
            ("parties.NAME.items", self.parties.0.iter().any(|(_, party)| party.items.is_some()), CommonKey::Items),
            (
                "parties.NAME.show",
                self.parties.0.iter().any(|(_, party)| party.show != Show::default()),
                CommonKey::Show,
            ),
            ("noise", self.noise.is_some(), CommonKey::Noise),
            ("noise.unit", self.noise.as_ref().is_some_and(|noise| noise.unit.is_some()), CommonKey::NoiseUnit),
            ("limits.pad_to", limits.pad_to.is_some(), CommonKey::PadTo),
            ("limits.max_text", limits.max_text.is_some(), CommonKey::Gives),
            ("limits.min_result", limits.min_result.is_some(), CommonKey::MinResult),
            ("limits.min_cell", limits.min_cell.is_some(), CommonKey::MinCell),
            ("limits.max_queries", limits.max_queries.is_some(), CommonKey::Queries),
            ("limits.max_clients", limits.max_clients.is_some(), CommonKey::Queries),
            ("[helper]", self.helper.is_some(), CommonKey::Helper),
            ("[clients]", self.clients.is_some(), CommonKey::Clients),
            ("limits.daily_queries", limits.daily_queries.is_some(), CommonKey::Clients),
            ("limits.rotate_within", limits.rotate_within.is_some(), CommonKey::Clients),
        ];
        match present.into_iter().find(|(_, present, key)| *present && !self.job.has(*key)) {
            Some((name, _, key)) => {
                let instead = self.job.info().instead.filter(|(lacked, _)| *lacked == key);
                Err(match (foreign(name, &jobs::having(key), self.job.name()), instead) {
                    (Error::Input(text), Some((_, instead))) => Error::Input(format!("{text}. {instead}")),
                    (error, _) => error,
                })
            }
            None => Ok(()),
        }
    }
}

/// An error about a key of other jobs.
pub(super) fn foreign(key: &str, jobs: &[&str], job: &str) -> Error {
    let jobs: Vec<_> = jobs.iter().map(|job| format!("\"{job}\"")).collect();
    Error::Input(format!("{key} is for job = {}, and this is \"{job}\": leave it out", jobs.join(" or ")))
}
