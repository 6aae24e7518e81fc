//! The page as text. Everything that comes from elsewhere is escaped here, and nowhere else.

use std::fmt::Write;

use super::super::verdicts::Outcome;
use super::forms;
use super::view::{Shown, View};
use crate::clock;
use crate::page::{Guard, escaped};

/// Verdicts of the day that the page shows.
pub(super) const SHOWN: usize = 50;

pub(super) fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Listed => "listed",
        Outcome::Possible => "possible",
        Outcome::NotListed => "clear",
        Outcome::NotChecked => "unchecked",
    }
}

pub(super) fn frame(guard: &Guard, title: &str, head: &str, body: &str) -> String {
    guard.frame(title, "desk.css", head, body)
}

/// The page with the form.
pub(super) fn main(view: &View<'_>, shown: Option<&Shown>) -> String {
    let mut body = String::new();
    let class_of_standing = if view.standing.connected { "there" } else { "gone" };
    let _ = write!(
        body,
        "<header>\n<h1>Desk: {}</h1>\n<p id=\"standing\" role=\"status\" class=\"{class_of_standing}\">{}</p>\n</header>\n<main>\n",
        escaped(view.job),
        escaped(&view.standing.sentence(view.authority))
    );
    if let Some(shown) = shown {
        body.push_str(&verdict(shown, &forms::again(view, shown)));
    }
    body.push_str(&forms::one(view, shown));
    body.push_str(&forms::many(view));
    let [listed, possible, clear, unchecked] = view.counts;
    let possible = if view.has_possible || possible > 0 {
        format!(", <span id=\"possible\">{possible}</span> a possible match")
    } else {
        String::new()
    };
    let _ = write!(
        body,
        "<h2>Verdicts of the day</h2>\n<p><span id=\"listed\">{listed}</span> on the list{possible}, <span id=\"clear\">{clear}</span> not on the \
         list, <span id=\"unchecked\">{unchecked}</span> not checked (days are UTC)</p>\n"
    );
    if !view.latest.is_empty() {
        body.push_str("<table class=\"verdicts\">\n<thead><tr><th>Time</th><th>Reference</th><th>Verdict</th><th>By</th><th>List</th></tr></thead>\n<tbody>\n");
        for verdict in &view.latest {
            let time = verdict.time.split(['T', 'Z']).nth(1).unwrap_or_default();
            let list =
                if verdict.list.is_empty() { String::new() } else { format!("{}, {}", verdict.list, verdict.version) };
            let by = by(&verdict.by.join("; "), &verdict.reason);
            let _ = writeln!(
                body,
                "<tr><td data-of=\"Time\">{}</td><td data-of=\"Reference\">{}</td><td data-of=\"Verdict\" class=\"{}\">{}</td><td \
                 data-of=\"By\">{}</td><td data-of=\"List\">{}</td></tr>",
                escaped(time),
                escaped(&verdict.reference),
                class(verdict.verdict),
                verdict.verdict.words(),
                escaped(&by),
                escaped(&list)
            );
        }
        body.push_str("</tbody>\n</table>\n");
    }
    body.push_str("<h2>What runs, and who learns what</h2>\n<ul>\n");
    view.learned.iter().for_each(|sentence| body.push_str(&format!("<li>{}</li>\n", escaped(sentence))));
    body.push_str("</ul>\n</main>\n<script src=\"desk.js\"></script>\n");
    let title = shown.map_or("Desk".to_owned(), |shown| format!("{} - Desk", shown.verdict.verdict.words()));
    frame(view.guard, &title, "", &body)
}

/// One verdict, to be seen at once.
fn verdict(shown: &Shown, again: &str) -> String {
    let Shown { verdict, of, .. } = shown;
    let mut text = format!(
        "<div class=\"verdict {}\" role=\"alert\" id=\"verdict\"><strong>{}</strong>\n<span>",
        class(verdict.verdict),
        match verdict.verdict {
            Outcome::Listed => "On the list",
            Outcome::Possible => "Possible match",
            Outcome::NotListed => "Not on the list",
            Outcome::NotChecked => "Not checked",
        }
    );
    let whom: Vec<_> = of.iter().map(|(header, value)| format!("{}: {}", escaped(header), escaped(value))).collect();
    text.push_str(&whom.join(", "));
    if !verdict.reference.is_empty() {
        let _ = write!(text, "; reference {}", escaped(&verdict.reference));
    }
    if !verdict.by.is_empty() {
        let kind = if verdict.verdict == Outcome::Possible { "possible match by" } else { "match by" };
        let _ = write!(text, "; {kind} {}", escaped(&verdict.by.join("; ")));
    }
    if !verdict.reason.is_empty() {
        let _ = write!(text, "; {}", escaped(&verdict.reason));
    }
    let _ = writeln!(text, "; {}</span>{again}</div>", escaped(&verdict.time));
    text
}

/// Describes the keys by which a row was found, and the remarks on it.
pub(super) fn by(by: &str, reason: &str) -> String {
    [by, reason].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A page that says what is wrong.
pub(super) fn problem(guard: &Guard, what: &str) -> String {
    let body = format!(
        "<header><h1>This cannot be done</h1></header>\n<main>\n<p class=\"verdict unchecked\" role=\"alert\">{}</p>\n<p><a href=\"./\">Back to the \
         desk</a></p>\n</main>\n",
        escaped(what)
    );
    frame(guard, "Desk", "", &body)
}

/// Now, as verdicts have it.
pub(super) fn now() -> String {
    clock::written(clock::now())
}

#[cfg(test)]
mod tests {
    use tacita_node::jobs::intersect::live::QueryColumn;

    use super::super::super::LinkStatus;
    use super::super::super::upload::Choices;
    use super::super::super::verdicts::Verdict;
    use super::*;

    #[test]
    fn what_comes_from_elsewhere_is_text() {
        let evil = "\"><script>alert(1)</script>";
        let verdict = Verdict {
            time: now(),
            reference: evil.into(),
            verdict: Outcome::Listed,
            by: vec![evil.into()],
            reason: String::new(),
            list: evil.into(),
            version: 0,
        };
        let standing = LinkStatus { connected: false, problem: evil.into(), ..LinkStatus::default() };
        let fields = [QueryColumn { header: evil.to_owned(), profiles: vec!["name".parse().unwrap()] }];
        let guard = Guard::new("desk", "tacita desk", "127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let view = View {
            job: evil,
            authority: evil,
            guard: &guard,
            fields: &fields,
            learned: &[evil.to_owned()],
            standing,
            has_possible: false,
            choices: Choices {
                reference: evil.into(),
                columns: [(evil.into(), evil.into())].into(),
                ..Choices::default()
            },
            counts: [1, 0, 0, 0],
            latest: vec![verdict.clone()],
        };
        let page = main(&view, Some(&Shown { verdict, of: vec![(evil.into(), evil.into())], could_be_asked: true }));
        assert!(!page.contains("<script>") && page.matches("&lt;script&gt;").count() >= 8, "{page}");
        assert!(!problem(&guard, evil).contains("<script>"));
    }
}
