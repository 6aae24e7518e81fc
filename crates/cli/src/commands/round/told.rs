//! State of a round, written for people.

use tacita_aggregate::wire::rounds::{ReportCounts, RoundStatus};
use tacita_core::Result;
use tacita_node::base::text::{count, counted};

use crate::console::print;

/// A line for each thing that is known of a round.
pub(super) fn status(status: &RoundStatus) -> Result<()> {
    let closed = status.closed_at().map_or(String::new(), |at| format!(", closed at {at}"));
    print(format_args!("round {}: {}{closed}", status.round, status.state.name()))?;
    let mut lines = Vec::new();
    if !status.waits_for.is_empty() {
        lines.push(format!("waits for {}", status.waits_for.join(" and ")));
    }
    if let Some(failure) = &status.failure {
        let by = failure.culprit.as_ref().map_or(String::new(), |culprit| format!("{culprit}: "));
        lines.push(format!("failed: {by}{}", failure.reason));
    }
    if let Some(numbers) = &status.numbers {
        lines.push(format!("{} here", counted(numbers.reports, "report")));
        let of_rows = [(numbers.rows, "row"), (numbers.passing, "row")];
        if let [(Some(rows), what), (passing, _)] = of_rows {
            let passing = passing.map_or(String::new(), |passing| format!(", of which {} pass", count(passing)));
            lines.push(format!("{}{passing}", counted(rows, what)));
        }
        if let Some(keys) = numbers.keys {
            lines.push(format!("{} revealed", counted(keys, "key")));
        }
        for (number, what) in [
            (numbers.dropped, "malformed reports dropped"),
            (numbers.discarded, "discarded by proxies that handed them over"),
            (numbers.inconsistent, "reports excluded, because they contradict their rows"),
            (numbers.too_long, "rows with more reports than an oracle is asked about"),
        ] {
            if number > 0 {
                lines.push(format!("{} {what}", count(number)));
            }
        }
    }
    if !status.reveal_when.is_empty() {
        lines.push(format!("keys are revealed when {}", status.reveal_when));
    }
    if !status.without.is_empty() {
        let proxies: Vec<String> = status.without.iter().map(|place| (place + 1).to_string()).collect();
        lines.push(format!("excludes what proxy {} has not sent", proxies.join(", ")));
    }
    if let Some(next) = &status.next {
        lines.push(format!("round {next} is open"));
    }
    lines.into_iter().try_for_each(|line| print(format_args!("  {line}")))
}

/// A line for each round.
pub(super) fn list(rounds: &[RoundStatus]) -> Result<()> {
    if rounds.is_empty() {
        return print("no rounds yet");
    }
    let widest = rounds.iter().map(|status| status.round.chars().count()).max().unwrap_or(0);
    rounds.iter().try_for_each(|status| {
        let mut line = format!("{:widest$}  {:<9}", status.round, status.state.name());
        if let Some(at) = status.closed_at() {
            line.push_str(&format!("  closed at {at}"));
        }
        if let Some(numbers) = &status.numbers {
            line.push_str(&format!("  {}", counted(numbers.reports, "report")));
        }
        if !status.waits_for.is_empty() {
            line.push_str(&format!("  waits for {}", status.waits_for.join(" and ")));
        }
        print(line.trim_end())
    })
}

/// Prints the number of rows for each number of reports, and for each number of reporters.
pub(super) fn histogram(counts: &ReportCounts) -> Result<()> {
    for (what, sizes) in [("report", &counts.count), ("reporter", &counts.distinct)] {
        for (number, rows) in sizes {
            print(format_args!("{} with {}", counted(*rows, "row"), counted(*number, what)))?;
        }
    }
    Ok(())
}
