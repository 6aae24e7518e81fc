//! Findings on a table in a form for programs.

use serde_json::{Value, json};

use super::text::seen;
use super::{KeyFacts, Looked};
use crate::table::read::Compression;
use crate::table::{KeySpec, Mark, Profile};

/// Returns the findings in a form for programs. The report holds no value of the table.
pub(super) fn report(looked: &Looked, key: Option<&KeySpec>) -> Value {
    let text = looked.form.text;
    let columns = looked.columns.iter().map(|column| {
        let (shortest, longest) = column.lengths.unzip();
        let share = |read: usize| read as f64 / column.values as f64;
        json!({
            "name": column.name,
            "type": column.kind,
            "index": column.is_index,
            "empty": column.empty,
            "distinct": column.distinct,
            "shortest": shortest,
            "longest": longest,
            "shape": column.shape.as_ref().map(|(shape, _)| shape),
            "shape_share": column.shape.as_ref().map(|(_, rows)| share(*rows)),
            "profiles": column.fitting.iter().map(Profile::to_string).collect::<Vec<_>>(),
            "read": column.read_by.iter()
                .map(|(profile, read)| (profile.to_string(), share(*read).into()))
                .collect::<serde_json::Map<_, _>>(),
        })
    });
    let mut found = json!({
        "file": looked.source,
        "version": env!("CARGO_PKG_VERSION"),
        "form": {
            "name": looked.form.name,
            "gzip": looked.form.packed == Compression::Gzip,
            "packed": looked.form.packed.name(),
            "sheet": looked.form.sheet.as_deref(),
            "delimiter": text.map(|text| char::from(text.delimiter).to_string()),
            "encoding": text.map(|text| text.encoding.name()),
            "line_end": text.map(|text| if text.crlf { "CR LF" } else { "LF" }),
            "byte_order_mark": text.map(|text| text.marked),
        },
        "rows": looked.rows,
        "columns": columns.collect::<Vec<_>>(),
        "columns_left_out": looked.left_out,
    });
    if let (Some(facts), Some(spec)) = (&looked.key, key) {
        let columns = spec.columns.iter().map(|column| {
            json!({
                "name": column.name, "header": column.header, "profile": column.profile.to_string(),
            })
        });
        found["key"] = json!({ "columns": columns.collect::<Vec<_>>(), "rows": facts.counts, "seen": seen(facts) });
    }
    found
}

/// Returns the values of the table that the text shows, for its own user alone.
pub(super) fn values(facts: &KeyFacts) -> Value {
    let first = facts.first.iter().map(|(place, parts)| json!({ "place": place, "parts": parts }));
    let unreadable = facts
        .unreadable
        .iter()
        .map(|(place, header, value)| json!({ "place": place, "header": header, "value": value }));
    let frequent = facts.frequent.iter().map(|column| {
        let values = column.values.iter().map(|(value, rows, mark)| {
            let mark = mark.map(|mark| match mark {
                Mark::Null => "null",
                Mark::Doubtful => "doubtful",
            });
            json!({ "value": value, "rows": rows, "mark": mark })
        });
        json!({ "header": column.header, "exact": column.exact, "values": values.collect::<Vec<_>>() })
    });
    json!({
        "first": first.collect::<Vec<_>>(),
        "unreadable": unreadable.collect::<Vec<_>>(),
        "frequent": frequent.collect::<Vec<_>>(),
    })
}
