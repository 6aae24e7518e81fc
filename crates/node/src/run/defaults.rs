//! A party's run with the program's defaults.

use std::sync::Arc;

use tacita_core::Result;

use crate::agreement::{JobSpec, Source};
use crate::base::cancel::Cancel;
use crate::base::files::Existing;
use crate::govern::account::Governance;
use crate::identity::Identity;
use crate::jobs::refuse_run;
use crate::run::addresses::meeting;
use crate::run::check::check_identity;
use crate::run::party::{DEFAULT_PATIENCE, PartyRun};
use crate::transport::DEFAULT_TIMEOUT;
use crate::watch::NoProgress;

impl PartyRun {
    /// The run of a party that meets its peers where the job says, and has the program's defaults otherwise: nothing is
    /// written, and there is neither policy nor ledger. Change its fields before it runs:
    ///
    /// ```no_run
    /// use tacita_node::prelude::*;
    ///
    /// let job = JobSpec::load("job.toml".as_ref())?;
    /// let source = Source::of(&job, "hospital", vec!["patients.csv".into()], ReadOptions::default(), false)?;
    /// let run = PartyRun {
    ///     output: Some("common.csv".into()),
    ///     governance: Governance::at("id".as_ref()),
    ///     ..PartyRun::new(job, "hospital", source, Identity::load("id".as_ref())?)?
    /// };
    /// println!("{}", run.run()?.line.unwrap_or_default());
    /// # tacita_core::Result::Ok(())
    /// ```
    ///
    /// A party in a helper's place has to serve the others meanwhile, which `tacita-serve` does.
    ///
    /// Errors: the job is not run between its parties, or insecure; the identity is not the party's; an address or a
    /// peer's identity is missing.
    pub fn new(job: JobSpec, me: &str, source: Source, identity: Identity) -> Result<PartyRun> {
        job.check_run()?;
        refuse_run(&job)?;
        job.check_secure(false)?;
        check_identity(&job, me, &identity)?;
        Ok(PartyRun {
            me: me.to_owned(),
            source,
            identity,
            meeting: meeting(&job, me, None)?,
            job,
            job_file: None,
            output: None,
            report: None,
            html: None,
            existing: Existing::Kept,
            governance: Governance::default(),
            pool: None,
            timeout: DEFAULT_TIMEOUT,
            patience: DEFAULT_PATIENCE,
            memory: None,
            screen: Arc::new(NoProgress),
            cancel: Cancel::default(),
        })
    }
}
