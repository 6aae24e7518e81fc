//! `tacita policy`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tacita_core::{Error, Result};

use super::help;
use crate::console::print;
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::write_whole_new;
use tacita_node::base::text::shown;
use tacita_node::govern::account::Governance;
use tacita_node::govern::ledger::Ledger;
use tacita_node::govern::policy::{History, NoHistory, NotCounted, Policy, PolicyQuestion, TriedKey, TriedRule};
use tacita_node::govern::time::UtcTime;
use tacita_node::identity::{Fingerprint, Identity};

/// Write or try the policy that says which jobs this party runs.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita policy new id/policy.toml --peer SHA256:...
  tacita policy check job.toml --as hospital --policy id/policy.toml
  tacita policy explain job.toml --identity id")]
pub struct PolicyCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write a new policy, with a line for every key.
    ///
    /// Without --peer, the policy refuses every job until you name a peer.
    #[command(after_help = r"Examples:
  tacita policy new id/policy.toml
  tacita policy new id/policy.toml --peer SHA256:...")]
    New {
        /// File to write; policy.toml in the identity's directory holds for all runs.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Fingerprint of a peer to allow; repeat it for several.
        #[arg(long, value_name = "SHA256:...", help_heading = help::PARTY)]
        peer: Vec<Fingerprint>,
    },
    /// Print the rule that allows a job, or exit with 2 and the rule that refuses it.
    ///
    /// With --identity, runs of today and approvals count as they would in a run.
    #[command(after_help = r"Examples:
  tacita policy check job.toml --as hospital --policy id/policy.toml
  tacita policy check job.toml --as hospital --identity id")]
    Check {
        /// Job file, identical at every party.
        #[arg(value_name = "JOB")]
        job: PathBuf,
        /// Name of this party in the job file.
        #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
        me: String,
        /// Policy to try [default: policy.toml in the identity's directory].
        #[arg(long, value_name = "FILE", required_unless_present = "identity", help_heading = help::GOVERNANCE)]
        policy: Option<PathBuf>,
        /// Directory of this party's key pair.
        #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
        identity: Option<PathBuf>,
    },
    /// Print each rule, and line by line whether it allows a job.
    #[command(after_help = r"Examples:
  tacita policy explain job.toml --identity id
  tacita policy explain job.toml --as hospital --identity id --policy new.toml")]
    Explain {
        /// Job file, identical at every party.
        #[arg(value_name = "JOB")]
        job: PathBuf,
        /// Name of this party in the job file [default: the party with this identity].
        #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
        me: Option<String>,
        /// Policy to explain [default: policy.toml in the identity's directory].
        #[arg(long, value_name = "FILE", help_heading = help::GOVERNANCE)]
        policy: Option<PathBuf>,
        /// Directory of this party's key pair.
        #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
        identity: PathBuf,
    },
}

impl PolicyCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        match self.action {
            Action::New { file, peer } => write_whole_new(&file, Policy::template(&peer).as_bytes()),
            Action::Check { job, me, policy, identity } => {
                let places = Governance { home: identity.clone(), policy, ..Governance::default() };
                check(&JobSpec::load(&job)?, &me, &places)
            }
            Action::Explain { job, me, policy, identity } => {
                let job = JobSpec::load(&job)?;
                let me = me.map_or_else(|| party_of(&job, &identity), Ok)?;
                let places = Governance { home: Some(identity), policy, ..Governance::default() };
                asked(&job, &me, &places, |policy, question| explain(policy, &policy.explain(question)))
            }
        }
    }
}

/// Returns the name of the party that has this identity.
fn party_of(job: &JobSpec, identity: &Path) -> Result<String> {
    let own = Identity::load(identity)?.fingerprint();
    let mut parties = job.parties.names().into_iter();
    let me = parties.find(|name| job.party(name).is_ok_and(|party| party.identity == Some(own)));
    let unknown = || Error::Input(format!("the job file names no party with the identity {own}: give --as NAME"));
    me.map(str::to_owned).ok_or_else(unknown)
}

/// Prints what each line of a policy says to a job.
fn explain(policy: &Policy, rules: &[TriedRule]) -> Result<()> {
    for rule in rules {
        let verdict = if rule.refusal().is_some() { "refuses the job" } else { "allows the job" };
        print(format_args!("The rule of line {} {verdict}:", rule.line))?;
        for TriedKey { line, broken, .. } in &rule.keys {
            let verdict = broken.as_ref().map_or("holds".to_owned(), |why| format!("refuses: {why}"));
            print(format_args!("  {line:>3}  {}\n       {}", shown(policy.line_text(*line)), shown(&verdict)))?;
        }
    }
    match rules.iter().find(|rule| rule.refusal().is_none()) {
        Some(rule) => print(format_args!("The job is allowed by the rule of line {}.", rule.line))?,
        None if rules.is_empty() => print("The job is refused: there is no [[allow]].")?,
        None => print("The job is refused: no rule allows all of it.")?,
    }
    if policy.compares_rows() {
        print("exact_answers: counted when a run has read its rows.")?;
    }
    Ok(())
}

fn check(job: &JobSpec, me: &str, places: &Governance) -> Result<()> {
    asked(job, me, places, |policy, question| print(format!("allowed by {}", policy.allow(question)?.rule)))
}

/// Asks a policy by `ask`, with the runs and approvals that there are.
fn asked(
    job: &JobSpec,
    me: &str,
    places: &Governance,
    ask: impl FnOnce(&Policy, &PolicyQuestion<'_>) -> Result<()>,
) -> Result<()> {
    job.party(me)?;
    let policy = places.policy()?;
    let missing =
        || Error::Input("there is no policy in the identity's directory: `tacita policy new` writes one".into());
    let policy = policy.ok_or_else(missing)?;
    let ledger = places.home.as_deref().map(|home| Ledger::open(home, &Identity::load(home)?)).transpose()?;
    let entries = ledger.filter(Ledger::is_there).map(|ledger| ledger.read()).transpose()?;
    let history: &dyn History = entries.as_ref().map_or(&NoHistory, |contents| &contents.entries);
    let approvals = places.approvals();
    let now = UtcTime::now().timestamp();
    let question = PolicyQuestion { job, me, now, history, approvals: &approvals, answers: &NotCounted };
    ask(&policy, &question)
}
