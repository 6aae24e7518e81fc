//! The forms of the page: for one, and for a table.

use std::fmt::Write;

use tacita_node::jobs::intersect::live::QueryColumn;

use super::super::upload::{DELIMITERS, ENCODINGS, USUAL_REFERENCE};
use super::super::verdicts::Outcome;
use super::view::{Shown, View};
use crate::page::escaped;

/// The form for one. What was typed stays if it is to be mended.
pub(super) fn one(view: &View<'_>, shown: Option<&Shown>) -> String {
    let typed = shown.filter(|shown| !shown.could_be_asked);
    let mut body = String::from(
        "<h2 id=\"one\">Check one</h2>\n<form method=\"post\" action=\"check\" autocomplete=\"off\" aria-labelledby=\"one\">\n",
    );
    let _ = writeln!(body, "<input type=\"hidden\" name=\"form\" value=\"{}\">", escaped(view.guard.form()));
    for (place, field) in view.fields.iter().enumerate() {
        let of = |shown: &&Shown| {
            shown.of.iter().find(|(header, _)| *header == field.header).map(|(_, value)| value.clone())
        };
        let value = typed.as_ref().and_then(of).unwrap_or_default();
        let focus = if place == 0 { " autofocus" } else { "" };
        let hint = hint(field).map_or(String::new(), |hint| format!(" <small>{hint}</small>"));
        let _ = writeln!(
            body,
            "<label><span>{0}{hint}</span><input name=\"field-{0}\" value=\"{1}\" maxlength=\"512\" spellcheck=\"false\"{focus}></label>",
            escaped(&field.header),
            escaped(&value)
        );
    }
    let reference = typed.map_or("", |shown| shown.verdict.reference.as_str());
    let _ = writeln!(
        body,
        "<label><span>Reference <small>to find the verdict again; no name</small></span><input name=\"reference\" value=\"{}\" maxlength=\"64\" \
         spellcheck=\"false\"></label>\n<button>Check</button>\n</form>",
        escaped(reference)
    );
    body
}

/// A button that checks the same again, where it could have been and was not, as when the authority was away; nothing
/// elsewhere.
pub(super) fn again(view: &View<'_>, shown: &Shown) -> String {
    if shown.verdict.verdict != Outcome::NotChecked || !shown.could_be_asked {
        return String::new();
    }
    let mut body = String::from("\n<form method=\"post\" action=\"check\">\n");
    let of = shown.of.iter().map(|(header, value)| (format!("field-{header}"), value.as_str()));
    let fixed = [("form", view.guard.form()), ("reference", shown.verdict.reference.as_str())];
    for (name, value) in fixed.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(of) {
        let _ = writeln!(body, "<input type=\"hidden\" name=\"{}\" value=\"{}\">", escaped(&name), escaped(value));
    }
    body.push_str("<button>Check again</button>\n</form>");
    body
}

/// Returns a hint on how to write a value, as far as that is not clear.
fn hint(field: &QueryColumn) -> Option<&'static str> {
    let has_year = field.profiles.iter().any(|profile| profile.kind() == "year");
    let date = field.profiles.iter().find(|profile| profile.kind() == "date").map(ToString::to_string);
    match (field.profiles.first()?.kind(), date.as_deref(), has_year) {
        ("name" | "latin" | "initials", ..) => Some("in any order, with or without accents"),
        (_, Some("date:DMY"), false) => Some("as 06/05/1983 (day first), 1983-05-06 or 6 May 1983"),
        (_, Some("date:DMY"), true) => {
            Some("as 06/05/1983 (day first) or 1983-05-06; a year alone if no more is known")
        }
        (_, Some("date:MDY"), false) => Some("as 05/06/1983 (month first), 1983-05-06 or 6 May 1983"),
        (_, Some("date:MDY"), true) => {
            Some("as 05/06/1983 (month first) or 1983-05-06; a year alone if no more is known")
        }
        (_, Some(_), false) => Some("as 1983-05-06 or 6 May 1983"),
        (_, Some(_), true) => Some("as 1983-05-06 or 6 May 1983; a year alone if no more is known"),
        (_, None, true) => Some("as 1983"),
        _ => None,
    }
}

/// The form for a table.
pub(super) fn many(view: &View<'_>) -> String {
    let choices = &view.choices;
    let headers: Vec<_> = view.fields.iter().map(|field| escaped(&field.header)).collect();
    let mut body = format!(
        "<h2 id=\"many\">Check many</h2>\n<form method=\"post\" action=\"batch\" enctype=\"multipart/form-data\" aria-labelledby=\"many\">\n<input \
         type=\"hidden\" name=\"form\" value=\"{}\">\n<label><span>Column of references <small>optional; else \"{USUAL_REFERENCE}\", if there \
         is one</small></span><input name=\"reference\" value=\"{}\" maxlength=\"256\"></label>\n",
        escaped(view.guard.form()),
        escaped(&choices.reference)
    );
    let is_said = !choices.encoding.is_empty() || !choices.delimiter.is_empty() || !choices.columns.is_empty();
    let _ = writeln!(
        body,
        "<details{}><summary>The file has other headers, or is written otherwise</summary>\n<div class=\"fields\">",
        if is_said { " open" } else { "" }
    );
    for field in view.fields {
        let own = choices.columns.get(&field.header).map_or("", String::as_str);
        let _ = writeln!(
            body,
            "<label><span>Column with {0}</span><input name=\"column-{0}\" value=\"{1}\" placeholder=\"{0}\" maxlength=\"256\"></label>",
            escaped(&field.header),
            escaped(own)
        );
    }
    body.push_str(&select("Encoding", "encoding", &ENCODINGS, &choices.encoding));
    body.push_str(&select("Delimiter", "delimiter", &DELIMITERS, &choices.delimiter));
    let _ = write!(
        body,
        "</div></details>\n<label><span>Table <small>CSV with the columns {}</small></span><input type=\"file\" name=\"table\" \
         accept=\".csv,.tsv,.txt,text/csv\" required></label>\n<button>Check all</button>\n</form>\n",
        headers.join(", ")
    );
    body
}

fn select(label: &str, name: &str, options: &[(&str, &str)], chosen: &str) -> String {
    let mut body = format!("<label><span>{label}</span><select name=\"{name}\">\n");
    for (value, text) in options {
        let selected = if *value == chosen { " selected" } else { "" };
        let _ = writeln!(body, "<option value=\"{}\"{selected}>{}</option>", escaped(value), escaped(text));
    }
    body.push_str("</select></label>\n");
    body
}
