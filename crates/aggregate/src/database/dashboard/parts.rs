//! Pieces that pages have in common.

use std::fmt::Write;

use tacita_serve::page::{Guard, escaped};

use super::advice::Advice;
use crate::wire::rounds::RoundState;

/// Seconds after which a page loads itself again.
const AGAIN: u32 = 5;

/// A whole page below its heading. It loads itself again if `again` says where it is, and unless `still`.
pub(super) fn frame(guard: &Guard, title: &str, again: Option<(&str, bool)>, body: &str) -> String {
    let head = match again {
        Some((_, false)) => format!("<meta http-equiv=\"refresh\" content=\"{AGAIN}\">\n"),
        _ => String::new(),
    };
    let foot = match again {
        None => String::new(),
        Some((place, false)) => format!(
            "<footer><p>Loaded again every {AGAIN} seconds. <a href=\"{0}?still\">Hold this page still</a></p></footer>\n",
            escaped(place)
        ),
        Some((place, true)) => {
            format!("<footer><p><a href=\"{}\">Load this page again and again</a></p></footer>\n", escaped(place))
        }
    };
    guard.frame(&format!("{title} - Tacita"), "dashboard.css", &head, &format!("{body}{foot}"))
}

/// A page that says what is wrong.
pub(super) fn problem(guard: &Guard, what: &str) -> String {
    let mut said = what.to_owned();
    if let Some(first) = said.get(..1).map(str::to_uppercase) {
        said.replace_range(..1, &first);
    }
    let body = format!(
        "<header><p><a href=\"./\">All rounds</a></p><h1>This was not done</h1></header>\n<main>\n<p class=\"advice stuck\" role=\"alert\">{}</p>\n</main>\n",
        escaped(&said)
    );
    frame(guard, "Not done", None, &body)
}

/// A state as a word with a colour.
pub(super) fn badge(state: RoundState) -> String {
    format!("<strong class=\"badge {0}\">{0}</strong>", state.name())
}

/// Renders the advice on a round.
pub(super) fn advice(advice: &Advice) -> String {
    let (class, role) = if advice.stuck { ("stuck", "alert") } else { ("well", "status") };
    let mut text =
        format!("<div class=\"advice {class}\" role=\"{role}\" id=\"advice\">\n<p>{}</p>\n", escaped(&advice.now));
    if let Some(todo) = &advice.todo {
        let _ = writeln!(text, "<p><strong>What to do:</strong> {}</p>", escaped(todo));
    }
    text.push_str("</div>\n");
    text
}

/// Numbers side by side: what they are, and how large; both are text.
pub(super) fn tiles(tiles: &[(&str, String)]) -> String {
    let mut text = String::from("<dl class=\"tiles\">\n");
    for (what, number) in tiles {
        let _ = writeln!(text, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(what), escaped(number));
    }
    text.push_str("</dl>\n");
    text
}

/// A table. Cells are HTML already; on a narrow screen each stands below its header.
pub(super) fn table(caption: &str, headers: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("<table>\n<caption>{}</caption>\n<thead><tr>", escaped(caption));
    headers.iter().for_each(|header| text.push_str(&format!("<th scope=\"col\">{}</th>", escaped(header))));
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        text.push_str("<tr>");
        for (place, (cell, header)) in row.iter().zip(headers).enumerate() {
            let (tag, scope) = if place == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let _ = write!(text, "<{tag}{scope} data-of=\"{}\">{cell}</{tag}>", escaped(header));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table>\n");
    text
}

/// A link that looks like a button.
pub(super) fn link(class: &str, place: &str, what: &str) -> String {
    format!("<a class=\"button {class}\" href=\"{}\">{}</a>\n", escaped(place), escaped(what))
}
