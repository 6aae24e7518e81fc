//! `tacita doctor`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tacita_aggregate::doctor::examine;
use tacita_core::Result;

use super::roles::Registering;
use super::{arguments, help};
use crate::console::print;
use crate::interrupt;
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::Existing;
use tacita_node::base::text::{counted, harmless, without_command_line};
use tacita_node::transport::ConnectCancel;
use tacita_serve::doctor::{DoctorInput, Examination, Finding, FindingState};

/// Check files, identities, ports and clock before a run.
///
/// Reports each problem with its remedy, for a run, a list or a desk. With --meet at both parties, also tests the
/// connection, identities, clocks, versions and terms. No data is transferred.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita doctor job.toml --as hospital --identity id --input patients.csv
  tacita doctor job.toml --as hospital --identity id --input patients.csv \
    --output common.csv --meet")]
pub struct Doctor {
    /// Job file.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Name of this party; in an aggregation a participant, or proxy, oracle or database.
    #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
    me: String,
    /// Directory of this party's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Table of this party.
    #[arg(long, value_name = "FILE", help_heading = help::INPUT)]
    input: Vec<PathBuf>,
    #[command(flatten)]
    reading: arguments::ReadArguments,
    /// Output file to check: write access and free space.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    output: Option<PathBuf>,
    /// Allow the output to replace an existing file.
    #[arg(long, requires = "output", help_heading = help::RESULT)]
    force: bool,
    /// Directory for sorting a table larger than memory, to check its free space.
    #[arg(long, value_name = "DIR", help_heading = help::RESOURCES)]
    work: Option<PathBuf>,
    /// Connect to the peers' doctors, and compare clocks, versions and terms.
    #[arg(long, help_heading = help::CONNECTION)]
    meet: bool,
    /// Longest wait for the peers.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = arguments::duration,
        requires = "meet",
        help_heading = help::CONNECTION
    )]
    timeout: Duration,
    /// Address to listen on, in place of the one in the job file.
    #[arg(long, value_name = "ADDR", help_heading = help::CONNECTION)]
    listen: Option<String>,
    #[command(flatten)]
    registry: Registering,
}

impl Doctor {
    /// Carries the command out. The exit code is 2 if something needs mending.
    pub fn execute(self) -> Result<u8> {
        if self.meet {
            interrupt::calls(|| ());
        }
        let doctor = Examination {
            shown: self.job.display().to_string(),
            me: self.me,
            identity: self.identity,
            input: DoctorInput::Files { paths: self.input, options: self.reading.options() },
            output: self.output,
            existing: Existing::unless(self.force),
            work: self.work,
            meet: self.meet.then_some(self.timeout),
            listen: self.listen,
            cancel: ConnectCancel::default(),
        };
        let registry = self.registry.registry(None);
        let problems = examine(&doctor, JobSpec::load(&self.job), registry.as_ref(), &mut tell)?;
        match problems {
            0 => print("\nNothing to mend.")?,
            problems => print(format_args!("\n{} to mend.", counted(problems as u64, "thing")))?,
        }
        Ok(if problems == 0 { 0 } else { 2 })
    }
}

/// Prints a finding.
fn tell(Finding { state, subject, text }: Finding) -> Result<()> {
    let line = match state {
        FindingState::Good => format!("ok    {subject:<10} {text}"),
        FindingState::Note => format!("note  {subject:<10} {text}"),
        // Doctor takes a job file.
        FindingState::Mend => without_command_line(&format!("MEND  {subject:<10} {text}")),
    };
    print(harmless(&line))
}
