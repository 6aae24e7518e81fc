//! A ledger for people and other programs: JSON, CSV, and a page.

use std::fmt::Write;

use tacita_core::{Error, Result};

use super::LedgerEntry;
use crate::base::html::text;

/// Returns all entries as a JSON array.
pub fn json(entries: &[LedgerEntry]) -> Result<String> {
    let text = crate::base::text::json(serde_json::to_string_pretty(entries))?;
    Ok(text + "\n")
}

const COLUMNS: [&str; 13] = [
    "entry",
    "time",
    "outcome",
    "job",
    "id",
    "peers",
    "learned",
    "rows",
    "result",
    "policy",
    "agreement",
    "why",
    "loss",
];

/// Returns all entries as CSV, a row each.
pub fn csv(entries: &[LedgerEntry]) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| Error::Internal(error.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(|error| failed(&error))?;
    entries
        .iter()
        .try_for_each(|entry| writer.write_record(cells(entry).map(plain)))
        .map_err(|error| failed(&error))?;
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// Returns all entries as a page without scripts.
pub fn html(entries: &[LedgerEntry]) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", text(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Ledger</title>\n<style>body{font-family:sans-serif}\
         table{border-collapse:collapse}td,th{border:1px solid #999;padding:.3em;text-align:left;vertical-align:top;overflow-wrap:anywhere}\
         </style>\n<h1>Ledger</h1>\n",
    );
    let _ = writeln!(page, "<p>{} entries.</p>", entries.len());
    page.push_str("<table>\n");
    page.push_str(&row(&COLUMNS.map(str::to_owned), "th"));
    page.extend(entries.iter().map(|entry| row(&cells(entry), "td")));
    page.push_str("</table></html>\n");
    page
}

/// A cell that spreadsheets take for text: names and reasons may be the peer's.
fn plain(cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{cell}") } else { cell }
}

fn cells(entry: &LedgerEntry) -> [String; 13] {
    let LedgerEntry { begun, ended, .. } = entry;
    let named = |(name, pin): (&String, &Option<String>)| format!("{name} {}", pin.as_deref().unwrap_or("unknown"));
    let peers: Vec<_> = begun.peers.iter().map(named).collect();
    let known = |value: &serde_json::Value| if value.is_null() { String::new() } else { value.to_string() };
    let ended = ended.as_ref();
    [
        entry.entry.to_string(),
        begun.time.to_string(),
        entry.outcome().to_owned(),
        begun.job.clone(),
        begun.id.clone(),
        peers.join("; "),
        ended.map_or_else(String::new, |ended| ended.learned.join(" ")),
        ended.map_or_else(String::new, |ended| known(&ended.rows)),
        ended.map_or_else(String::new, |ended| known(&ended.result)),
        begun.policy.clone().unwrap_or_default(),
        begun.agreement.clone(),
        ended.and_then(|ended| ended.why.clone()).unwrap_or_default(),
        begun.loss.map_or_else(String::new, |loss| loss.to_string()),
    ]
}
