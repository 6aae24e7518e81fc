//! The page of a batch.

use std::fmt::Write;

use super::super::batch::Batch;
use super::html::{by, class, frame};
use crate::page::{Guard, escaped};
use tacita_node::base::text::count;

/// Rows of a batch that its page shows.
const NOTABLE: usize = 200;

/// The page of a batch. It loads itself again until the batch is over.
pub(super) fn page(guard: &Guard, batch: &Batch, has_possible: bool) -> String {
    let over = batch.is_over();
    let ([listed, possible, clear, unchecked], checked) = (batch.counts(), batch.checked());
    let head = if over { "" } else { "<meta http-equiv=\"refresh\" content=\"1\">\n" };
    let perhaps = if has_possible { format!("{possible} a possible match, ") } else { String::new() };
    let mut body = format!(
        "<header><h1>Batch {}</h1></header>\n<main>\n<p><label for=\"progress\"><strong>{}</strong></label></p>\n<progress id=\"progress\" \
         max=\"{}\" value=\"{checked}\">{checked}</progress>\n<p id=\"result\" role=\"status\">{}: {listed} on the list, {perhaps}{clear} not on \
         the list, {unchecked} not checked</p>\n",
        batch.number,
        batch.progress(),
        batch.rows.max(1),
        if over { "Done" } else { "Under way" }
    );
    if let Some(took) = batch.took() {
        let _ = writeln!(body, "<p>{:.1} s</p>", took.as_secs_f64());
    }
    let problem = batch.problem();
    if !problem.is_empty() {
        let _ = writeln!(
            body,
            "<p class=\"verdict unchecked\" role=\"alert\"><strong>{} of {} NOT checked</strong> {}</p>",
            count(unchecked as u64),
            count(batch.rows as u64),
            escaped(&problem)
        );
    }
    let partly = batch.partly();
    if partly > 0 {
        let _ = writeln!(
            body,
            "<p>{} of those not on the list were checked by some of the keys alone, because a value is missing or cannot be read for the others.</p>",
            count(partly as u64)
        );
    }
    body.push_str(&notable(batch));
    if over {
        let _ =
            writeln!(body, "<p><a href=\"batch/{}/verdicts.csv\" download>All verdicts as CSV</a></p>", batch.number);
    }
    body.push_str("<p><a href=\"./\">Back to the desk</a></p>\n</main>\n");
    frame(guard, &format!("Batch {} - Desk", batch.number), head, &body)
}

/// The rows that somebody has to look at.
fn notable(batch: &Batch) -> String {
    let [listed, possible, _, unchecked] = batch.counts();
    let (lines, all) = (batch.notable(NOTABLE), listed + possible + unchecked);
    if lines.is_empty() {
        return String::new();
    }
    let mut body = String::from(
        "<table class=\"verdicts\">\n<thead><tr><th>Line</th><th>Reference</th><th>Verdict</th><th>By</th></tr></thead>\n<tbody>\n",
    );
    for line in &lines {
        let _ = writeln!(
            body,
            "<tr><td data-of=\"Line\">{}</td><td data-of=\"Reference\">{}</td><td data-of=\"Verdict\" class=\"{}\">{}</td><td \
             data-of=\"By\">{}</td></tr>",
            line.line,
            escaped(&line.reference),
            class(line.verdict),
            line.verdict.words(),
            escaped(&by(&line.by, &line.reason))
        );
    }
    body.push_str("</tbody>\n</table>\n");
    if all > NOTABLE {
        let _ = writeln!(
            body,
            "<p>The first {NOTABLE} of {} that are on the list, may be, or were not checked. All of them are in the CSV.</p>",
            count(all as u64)
        );
    }
    body
}
