//! Findings of the doctor on a table's rows.

use tacita_core::Error;
use tacita_node::agreement::JobSpec;
use tacita_node::base::text::count;
use tacita_node::table::RowCounts;

use super::findings::Findings;

/// Divisor of the threshold for unusable rows: the user is told if more than one row in this number cannot be used.
const ONE_IN: usize = 100;

/// Judges rows that would be brought, which `said` sums up. Those that the terms refuse are to be mended, and more than
/// 1 % whose key cannot be read, unless the terms allow as many. More than 1 % without a key are worth a look.
pub fn judge(job: &JobSpec, me: &str, rows: &RowCounts, said: &str, findings: &mut Findings) {
    if let Err(error) = job.check_quality(me, rows) {
        let text = match error {
            Error::Rows { text, .. } => text,
            other => other.to_string(),
        };
        return findings.bad("input", format_args!("{said}: {text}"));
    }
    let many = |some: usize| some * ONE_IN > rows.read;
    if many(rows.unreadable) && job.limits.max_unreadable.is_none() {
        return findings.bad(
            "input",
            format_args!(
                "{said}: {} unreadable of {} is more than 1 %, and none of them is found: `tacita inspect` shows them",
                count(rows.unreadable as u64),
                count(rows.read as u64)
            ),
        );
    }
    findings.good("input", said);
    for (rows_left, what) in [(rows.nulls, "have no key"), (rows.unreadable, "have a key that cannot be read")] {
        if many(rows_left) {
            let all = count(rows.read as u64);
            findings.note(
                "input",
                format_args!(
                    "{} of {all} rows {what}, and are not found: `tacita inspect` shows more",
                    count(rows_left as u64)
                ),
            );
        }
    }
}
