//! Messages about a run that has come to its end.

use std::time::Duration;

use tacita_core::Result;

use crate::console::print;
use crate::interrupt;
use tacita_node::agreement::Reveal;
use tacita_node::base::text;
use tacita_node::run::kept::keep_line;
use tacita_node::run::party::{PartyRun, RunOutcome};

/// Runs a party, and prints its result in one line on standard output.
pub fn show(run: PartyRun) -> Result<()> {
    // A table on standard output stands there alone.
    let alone = run.output.as_ref().is_some_and(|path| path.as_os_str() == "-");
    let reveal = run.job.reveal.clone();
    interrupt::ends(run.cancel.clone());
    let RunOutcome { report, line, wrote, kept, warning, ended } = run.run()?;
    let printed = match line.as_ref().filter(|_| !alone || ended.is_err()) {
        Some(line) => print(line).map_err(|error| keep_line(error, line)),
        None => Ok(()),
    };
    let wrote: Vec<String> = wrote.into_iter().map(|path| path.display().to_string()).collect();
    let time = |seconds: f64| text::duration(Duration::from_secs_f64(seconds.max(0.0)));
    tracing::info!(
        "done in {}{}: {} sent, {} received{}",
        time(report.seconds.total - report.seconds.connect),
        match report.seconds.connect {
            0.0 => String::new(),
            connect => format!(", after {} until connected", time(connect)),
        },
        text::bytes(report.bytes.sent),
        text::bytes(report.bytes.received),
        if wrote.is_empty() { String::new() } else { format!(", wrote {}", wrote.join(", ")) }
    );
    if line.is_some() && !kept {
        match reveal {
            Reveal::Rows | Reveal::Payload => tracing::info!("the rows were not written: run again with --output FILE"),
            Reveal::Frequent | Reveal::Counts => {
                tracing::info!("the rules were not written: run again with --output FILE");
            }
            Reveal::Cells => tracing::info!("the cells were not written: run again with --output FILE"),
            _ => (),
        }
    }
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    ended.and(printed)
}
