//! The one way into a party's run, for the program and for the Python module. It is here and not in `tacita_node`
//! because a party in the helper's place serves the others meanwhile.

use std::path::Path;
use std::sync::Arc;

use tacita_core::Result;
use tacita_node::agreement::{JobSpec, KnownSizes};
use tacita_node::govern::account::{Account, AccountedOutcome, Governance};
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live;
use tacita_node::run::check::check_identity;
use tacita_node::run::party::PartyRun;

use crate::helper::Hosting;

/// Checks that `me` can run the job at all, before anything of its own is read.
pub fn check(job: &JobSpec, me: &str) -> Result<()> {
    job.check_run()?;
    job.party(me)?;
    live::refuse_run(job)
}

/// Runs a party by `carry_out`; if it is in the helper's place, serves the others until they have what they need.
///
/// ```no_run
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use tacita_node::agreement::{JobSpec, Source};
/// use tacita_node::base::{cancel::Cancel, files::Existing};
/// use tacita_node::govern::account::Governance;
/// use tacita_node::identity::Identity;
/// use tacita_node::run::{addresses::meeting, party::PartyRun, party::DEFAULT_PATIENCE};
/// use tacita_node::{table::ReadOptions, watch::NoProgress};
///
/// let job = JobSpec::load("job.toml".as_ref())?;
/// tacita_serve::run::check(&job, "hospital")?;
/// let run = PartyRun {
///     me: "hospital".into(),
///     source: Source::of(&job, "hospital", vec!["patients.csv".into()], ReadOptions::default(), false)?,
///     identity: Identity::load("id".as_ref())?,
///     meeting: meeting(&job, "hospital", None)?,
///     job,
///     job_file: Some("job.toml".into()),
///     output: Some("common.csv".into()),
///     report: None,
///     html: None,
///     existing: Existing::Kept,
///     governance: Governance::at("id".as_ref()),
///     pool: None,
///     timeout: Duration::from_secs(60),
///     patience: DEFAULT_PATIENCE,
///     memory: None,
///     screen: Arc::new(NoProgress),
///     cancel: Cancel::default(),
/// };
/// let outcome = tacita_serve::run::start(run, false, PartyRun::run)?;
/// println!("{}", outcome.line.unwrap_or_default());
/// # tacita_core::Result::Ok(())
/// ```
///
/// Errors: the job's level or protocol is insecure and that is not allowed; the identity is not that of the party;
/// those of the run.
pub fn start<T>(mut run: PartyRun, allow_insecure: bool, carry_out: impl FnOnce(PartyRun) -> Result<T>) -> Result<T> {
    run.job.check_secure(allow_insecure)?;
    // Else the others would be served under a name that is not this party's.
    check_identity(&run.job, &run.me, &run.identity)?;
    let hosting = Hosting::begin(&run.job, &run.identity, &mut run.meeting, [run.timeout, run.patience])?;
    let done = carry_out(run);
    let served = hosting.map_or(Ok(()), |hosting| hosting.end(done.is_ok()));
    done.and_then(|done| served.map(|()| done))
}

/// Does a party's part in a job that is not run between its parties, such as to submit reports or to keep a list, if
/// the party's policy allows the job; it is entered in the ledger from its beginning to its end. `inputs` are the files
/// that it reads.
pub fn governed<T>(
    governance: &Governance,
    (job, me): (&JobSpec, &str),
    identity: &Identity,
    inputs: &[&Path],
    work: impl FnOnce(&Arc<Account>) -> Result<T>,
) -> Result<T> {
    let why = "reports of a round and lists that are served are not compared";
    let account = Arc::new(governance.open_uncompared(job, me, identity, inputs, why)?);
    account.agreed_without_receipts().inspect_err(|error| drop(account.end(Err(error))))?;
    let done = work(&account);
    let outcome = AccountedOutcome {
        protocol: job.protocol.name().to_owned(),
        learned: job.learned(me, KnownSizes::default()),
        ..AccountedOutcome::default()
    };
    let ended = account.end(done.as_ref().map(|_| outcome));
    done.and_then(|done| ended.map(|()| done))
}
