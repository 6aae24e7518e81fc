//! `tacita policy`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tacita_core::Result;

use super::help;
use crate::console::print;
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::write_whole_new;
use tacita_node::base::text::shown;
use tacita_node::govern::account::Governance;
use tacita_node::govern::inquiry::{ExplainedKey, ExplainedRule, PolicyCheck, PolicyExplanation, party_of};
use tacita_node::govern::policy::Policy;
use tacita_node::identity::Fingerprint;

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
                let places = Governance { home: identity, policy, ..Governance::default() };
                check(&places.check(&JobSpec::load(&job)?, &me)?)
            }
            Action::Explain { job, me, policy, identity } => {
                let job = JobSpec::load(&job)?;
                let me = me.map_or_else(|| party_of(&job, &identity), Ok)?;
                let places = Governance { home: Some(identity), policy, ..Governance::default() };
                explain(&places.explain(&job, &me)?)
            }
        }
    }
}

/// Prints what each line of a policy says to a job.
fn explain(PolicyExplanation { allowed_by, rules, remaining }: &PolicyExplanation) -> Result<()> {
    for ExplainedRule { line, allows, keys } in rules {
        let verdict = if *allows { "allows the job" } else { "refuses the job" };
        print(format_args!("The rule of line {line} {verdict}:"))?;
        for ExplainedKey { line, text, refusal } in keys {
            let verdict = refusal.as_ref().map_or("holds".to_owned(), |why| format!("refuses: {why}"));
            print(format_args!("  {line:>3}  {}\n       {}", shown(text), shown(&verdict)))?;
        }
    }
    match allowed_by {
        Some(line) => print(format_args!("The job is allowed by the rule of line {line}."))?,
        None if rules.is_empty() => print("The job is refused: there is no [[allow]].")?,
        None => print("The job is refused: no rule allows all of it.")?,
    }
    left(remaining)
}

fn check(PolicyCheck { rule, remaining }: &PolicyCheck) -> Result<()> {
    print(format_args!("allowed by {rule}"))?;
    left(remaining)
}

/// Prints what was not counted.
fn left(remaining: &[String]) -> Result<()> {
    remaining.iter().try_for_each(|what| print(format_args!("but {what}")))
}
