//! `tacita results`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tacita_core::Result;
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::reports::Input;
use tacita_node::jobs::aggregate::results::ResultFormat;
use tacita_node::run::report::write_json;
use tacita_node::table::Selection;
use tacita_node::table::output::{self, Format};
use tacita_node::table::read::Listing;
use tacita_service::aggregate::Setting;
use tacita_service::aggregate::participant::results::{Collecting, collect};

use super::arguments;
use crate::console::print;
use crate::interrupt;

/// Collect the result of a round of an aggregate job: for those whom reveal_to names.
///
/// Ends with exit code 75 as long as there is no result: ask again later.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tacita results job.toml --as alice --identity id --round 2026-11-30 --output attackers.csv\n  \
    tacita results job.toml --as alice --identity id --round 2026-11-30 --output attackers.stix.json"
)]
pub struct Results {
    /// The job file: the same everywhere.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The participant to be, as the list of participants calls it.
    #[arg(long = "as", value_name = "NAME")]
    me: String,
    /// Directory of this participant's key pair.
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// The round.
    #[arg(long, value_name = "ID")]
    round: String,
    /// Where the keys are written; by its ending a table (.csv, .parquet, .arrow, .json) or a list (.txt, .netset, .ipset, .misp.json,
    /// .stix.json) [default: only how many there are is printed].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Its format, where its ending does not say.
    #[arg(long, value_name = "FORMAT")]
    format: Option<ResultFormat>,
    /// This participant's own reports, among which hashed keys are looked for (round.keys = "hashed").
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// What the input is, where its content does not tell.
    #[arg(long, value_name = "table|list|netset|ipset|zeek", requires = "input")]
    format_in: Option<Listing>,
    #[command(flatten)]
    reading: arguments::Reading,
    /// How long to try to reach the database.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = arguments::duration)]
    timeout: Duration,
    /// Write a report to this JSON file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[arg(long, hide = true)]
    announce: Option<PathBuf>,
}

impl Results {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        if let Some(output) = &self.output {
            ResultFormat::check(output, self.format)?;
        }
        if let Some(path) = &self.report {
            tacita_node::base::files::check_writable(path)?;
        }
        let cancel = Cancel::default();
        interrupt::ends(cancel.clone());
        let options = self.reading.options();
        let (results, report) = collect(&Collecting {
            setting: Arc::new(Setting::new(JobSpec::load(&self.job)?)?),
            me: self.me,
            identity: Identity::load(&self.identity)?,
            round: self.round,
            input: self.input.map(|path| Input {
                path,
                options,
                listing: self.format_in,
                expand: None,
                allow_unreadable: false,
            }),
            timeout: self.timeout,
            announce: self.announce,
            cancel,
        })?;
        let to_standard_output = self.output.as_deref().is_some_and(|path| path.as_os_str() == "-");
        if let Some(output) = &self.output {
            results.write(output, self.format)?;
            if let Some(histogram) = results.histogram_table()?
                && !to_standard_output
            {
                let (stem, path) =
                    (output.file_stem().unwrap_or_default().to_string_lossy(), output.with_extension(""));
                let beside = path.with_file_name(format!("{stem}.histogram.csv"));
                let whole = Selection::all(&histogram).of_others();
                output::write(&whole, &beside, Some(Format::Csv))?;
            }
        }
        if !to_standard_output {
            print(results.line())?;
        }
        self.report.map_or(Ok(()), |path| write_json(&path, &report))
    }
}
