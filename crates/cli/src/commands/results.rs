//! `tacita results`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tacita_aggregate::participant::results::{Collecting, collect};
use tacita_aggregate::setting::ServiceConfig;
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::{Existing, check_output};
use tacita_node::base::text;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::reports::ReportsInput;
use tacita_node::jobs::aggregate::results::{ResultFormat, RoundResults};
use tacita_node::run::kept::{self, write_or_keep};
use tacita_node::run::report::write_json;
use tacita_node::table::Selection;
use tacita_node::table::output::{self, Format};
use tacita_node::table::read::Listing;

use super::{arguments, help, wait};
use crate::console::print;
use crate::interrupt;

/// Collect the result of a round, or one kept on disk.
///
/// The participants in `reveal_to` collect the result of a round. Exit code 75 means that there is no result yet: try
/// again later, or use --wait.
///
/// With --kept, recovers the result of any command that could not write its --output.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita results job.toml --as alice --identity id --round 2026-11-30 \
    --output attackers.csv
  tacita results job.toml --as alice --identity id --round 2026-11-30 \
    --wait=2h --output attackers.stix.json
  tacita results --kept
  tacita results --kept=kept-common.csv --output common.csv")]
pub struct ResultsCommand {
    /// Job file, identical everywhere.
    #[arg(value_name = "JOB", required_unless_present = "kept")]
    job: Option<PathBuf>,
    /// Name of this participant in the list of participants.
    #[arg(long = "as", value_name = "NAME", required_unless_present = "kept", help_heading = help::PARTY)]
    me: Option<String>,
    /// Directory of this participant's key pair.
    #[arg(long, value_name = "DIR", required_unless_present = "kept", help_heading = help::PARTY)]
    identity: Option<PathBuf>,
    /// Identifier of the round.
    #[arg(long, value_name = "ID", required_unless_present = "kept", help_heading = help::ROUND)]
    round: Option<String>,
    /// Wait for the result, at most TIME [default: no limit].
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        value_parser = arguments::duration,
        help_heading = help::ROUND
    )]
    wait: Option<Option<Duration>>,
    /// Output file: a table (.csv, .parquet, .arrow, .json) or a list (.txt, .netset, .ipset, .misp.json, .stix.json)
    /// [default: print only the number of keys].
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    output: Option<PathBuf>,
    /// Overwrite existing files: the output, and the files beside it.
    #[arg(long, help_heading = help::RESULT)]
    force: bool,
    /// Format of the output, if its ending does not show it.
    #[arg(long, value_name = "FORMAT", help_heading = help::RESULT)]
    format: Option<ResultFormat>,
    /// Reports of this participant, in which hashed keys are looked up (round.keys = "hashed").
    #[arg(long, value_name = "FILE", help_heading = help::INPUT)]
    input: Option<PathBuf>,
    /// Kind of the input, if its content does not show it.
    #[arg(long, value_name = "table|list|netset|ipset|zeek", requires = "input", help_heading = help::INPUT)]
    format_in: Option<Listing>,
    #[command(flatten)]
    reading: arguments::Text,
    /// Longest wait for a connection to the database.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = arguments::duration,
        help_heading = help::CONNECTION
    )]
    timeout: Duration,
    /// JSON file for the report.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    report: Option<PathBuf>,
    /// Recover a result that could not be written, as on a full disk. Without --output, list all; with it, move the
    /// named one, or the only one, there.
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["job", "me", "identity", "round", "wait", "format", "input", "report"],
        help_heading = help::RESULT
    )]
    kept: Option<Option<String>>,
    #[arg(long, hide = true)]
    announce: Option<PathBuf>,
}

impl ResultsCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let existing = Existing::unless(self.force);
        if let Some(name) = &self.kept {
            return kept_results(name.as_deref(), self.output.as_deref(), existing);
        }
        let (Some(job), Some(me), Some(identity), Some(round)) = (self.job, self.me, self.identity, self.round) else {
            return Err(Error::Internal("a required option is missing".into()));
        };
        if let Some(output) = &self.output {
            ResultFormat::check(output, self.format, existing)?;
            beside(output).map_or(Ok(()), |beside| check_output(&beside, existing))?;
        }
        if let Some(path) = &self.report {
            tacita_node::base::files::check_writable(path)?;
        }
        let cancel = Cancel::default();
        interrupt::ends(cancel.clone());
        let options = self.reading.options();
        let collecting = Collecting {
            setting: Arc::new(ServiceConfig::new(JobSpec::load(&job)?)?),
            me,
            identity: Identity::load(&identity)?,
            round,
            input: self.input.map(|path| ReportsInput {
                path,
                options,
                listing: self.format_in,
                expand: None,
                allow_unreadable: false,
            }),
            timeout: self.timeout,
            announce: self.announce,
            cancel,
        };
        let (results, mut report) = wait::until_ready(self.wait, || collect(&collecting))?;
        write(&results, self.output.as_deref(), self.format, existing)?;
        if let Some(output) = &self.output
            && let Some(warning) = results.left_out(output, self.format)?
        {
            report["warnings"] = [warning.text_without_values()].as_slice().into();
        }
        self.report.map_or(Ok(()), |path| write_json(&path, &report))
    }
}

/// Writes and prints what was collected. What cannot be written is printed all the same.
fn write(
    results: &RoundResults,
    output: Option<&Path>,
    format: Option<ResultFormat>,
    existing: Existing,
) -> Result<()> {
    let to_standard_output = output.is_some_and(|path| path.as_os_str() == "-");
    let written = output.map_or(Ok(()), |output| {
        write_or_keep(output, existing, &[], |path, existing| results.write_over(path, format, existing))
    });
    if !to_standard_output || written.is_err() {
        print(results.line())?;
    }
    written?;
    if let (Some(beside), Some(histogram)) = (output.and_then(beside), results.histogram_table()?) {
        output::write_over(&Selection::all(&histogram).of_others(), &beside, Some(Format::Csv), existing)?;
    }
    Ok(())
}

/// Returns the path for the histogram of a result, beside the output file.
fn beside(output: &Path) -> Option<PathBuf> {
    if output.as_os_str() == "-" || tacita_node::base::files::is_device(output) {
        return None;
    }
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    Some(output.with_file_name(format!("{stem}.histogram.csv")))
}

/// Lists results that are kept, or moves one to where it is wanted.
fn kept_results(name: Option<&str>, output: Option<&Path>, existing: Existing) -> Result<()> {
    match output {
        Some(output) => {
            let kept = kept::find(name)?;
            kept.fetch(output, existing)?;
            tracing::info!("moved {} to {}", kept.path.display(), output.display());
            Ok(())
        }
        None => {
            let all = match name {
                Some(name) => vec![kept::find(Some(name))?],
                None => kept::all(),
            };
            if all.is_empty() {
                return print("no result is kept");
            }
            all.iter().try_for_each(|kept| {
                let written = kept
                    .written
                    .elapsed()
                    .map_or_else(|_| "just now".into(), |ago| format!("{} ago", text::duration(ago)));
                print(format_args!("{}  {}, {written}  {}", kept.name, text::bytes(kept.bytes), kept.path.display()))
            })
        }
    }
}
