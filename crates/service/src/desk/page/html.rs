//! The page as text. Everything that comes from elsewhere is escaped here, and nowhere else.

use std::fmt::Write;

use tacita_node::base::text::count;

use super::super::Standing;
use super::super::batch::Batch;
use super::super::verdicts::{Outcome, Verdict};
use crate::clock;
use crate::page::{Guard, escaped};

/// Verdicts of the day that the page shows.
pub(super) const SHOWN: usize = 50;

/// Rows of a batch that its page shows.
const NOTABLE: usize = 200;

/// What a page is made of.
pub(super) struct View<'a> {
    pub(super) job: &'a str,
    pub(super) authority: &'a str,
    pub(super) guard: &'a Guard,
    pub(super) fields: &'a [(String, &'static str)],
    pub(super) learned: &'a [String],
    pub(super) standing: Standing,
    pub(super) counts: [u64; 3],
    pub(super) latest: Vec<Verdict>,
}

/// A verdict that was just made, and of whom: shown once, and kept nowhere.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) verdict: Verdict,
    pub(super) of: Vec<(String, String)>,
}

/// How it stands, in a sentence or two.
pub(super) fn standing(standing: &Standing, authority: &str) -> String {
    if !standing.connected {
        let why =
            if standing.problem.is_empty() { "the connection is being made".into() } else { standing.problem.clone() };
        return format!("Not connected: nothing can be checked now. {why}. The desk keeps trying.");
    }
    let left = if standing.left == u64::MAX {
        String::new()
    } else {
        format!(" {} more keys may be asked today.", count(standing.left))
    };
    let changes =
        if standing.version == 1 { "1 change".into() } else { format!("{} changes", count(standing.version)) };
    format!("Connected to {authority}. List {}, {changes} since its key began.{left}", standing.epoch)
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Listed => "listed",
        Outcome::NotListed => "clear",
        Outcome::NotChecked => "unchecked",
    }
}

fn frame(guard: &Guard, title: &str, head: &str, body: &str) -> String {
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
        escaped(&standing(&view.standing, view.authority))
    );
    if let Some(shown) = shown {
        body.push_str(&verdict(shown));
    }
    body.push_str("<h2 id=\"one\">Check one</h2>\n<form method=\"post\" action=\"check\" autocomplete=\"off\" aria-labelledby=\"one\">\n");
    let _ = writeln!(body, "<input type=\"hidden\" name=\"form\" value=\"{}\">", escaped(view.guard.form()));
    for (place, (header, kind)) in view.fields.iter().enumerate() {
        let hint = match *kind {
            "name" => " <small>in any order, with or without accents</small>",
            "date" => " <small>as 1983-05-06 or 6 May 1983</small>",
            _ => "",
        };
        let focus = if place == 0 { " autofocus" } else { "" };
        let _ = writeln!(
            body,
            "<label><span>{}{hint}</span><input name=\"field-{}\" maxlength=\"512\" spellcheck=\"false\"{focus}></label>",
            escaped(header),
            escaped(header)
        );
    }
    body.push_str(
        "<label><span>Reference <small>to find the verdict again; no name</small></span><input name=\"reference\" maxlength=\"64\" \
         spellcheck=\"false\"></label>\n<button>Check</button>\n</form>\n",
    );
    body.push_str(
        "<h2 id=\"many\">Check many</h2>\n<form method=\"post\" action=\"batch\" enctype=\"multipart/form-data\" aria-labelledby=\"many\">\n",
    );
    let headers: Vec<_> = view.fields.iter().map(|(header, _)| escaped(header)).collect();
    let _ = write!(
        body,
        "<input type=\"hidden\" name=\"form\" value=\"{}\">\n<label><span>Column of references <small>optional</small></span><input \
         name=\"reference\" value=\"reference\" maxlength=\"64\"></label>\n<label><span>Table <small>CSV with the columns {}</small></span><input \
         type=\"file\" name=\"table\" accept=\".csv,text/csv\" required></label>\n<button>Check all</button>\n</form>\n",
        escaped(view.guard.form()),
        headers.join(", ")
    );
    let [listed, clear, unchecked] = view.counts;
    let _ = write!(
        body,
        "<h2>Verdicts of the day</h2>\n<p><span id=\"listed\">{listed}</span> on the list, <span id=\"clear\">{clear}</span> not on the list, <span \
         id=\"unchecked\">{unchecked}</span> not checked (days are UTC)</p>\n"
    );
    if !view.latest.is_empty() {
        body.push_str("<div class=\"table\"><table>\n<thead><tr><th>Time</th><th>Reference</th><th>Verdict</th><th>By</th><th>List</th></tr></thead>\n<tbody>\n");
        for verdict in &view.latest {
            let time = verdict.time.split(['T', 'Z']).nth(1).unwrap_or_default();
            let list =
                if verdict.list.is_empty() { String::new() } else { format!("{}, {}", verdict.list, verdict.version) };
            let by = if verdict.reason.is_empty() { verdict.by.join("; ") } else { verdict.reason.clone() };
            let _ = writeln!(
                body,
                "<tr><td>{}</td><td>{}</td><td class=\"{}\">{}</td><td>{}</td><td>{}</td></tr>",
                escaped(time),
                escaped(&verdict.reference),
                class(verdict.verdict),
                verdict.verdict.words(),
                escaped(&by),
                escaped(&list)
            );
        }
        body.push_str("</tbody>\n</table></div>\n");
    }
    body.push_str("<h2>What runs, and who learns what</h2>\n<ul>\n");
    view.learned.iter().for_each(|sentence| body.push_str(&format!("<li>{}</li>\n", escaped(sentence))));
    body.push_str("</ul>\n</main>\n<script src=\"desk.js\"></script>\n");
    let title = shown.map_or("Desk".to_owned(), |shown| format!("{} - Desk", shown.verdict.verdict.words()));
    frame(view.guard, &title, "", &body)
}

/// One verdict, to be seen at once.
fn verdict(shown: &Shown) -> String {
    let Shown { verdict, of } = shown;
    let mut text = format!(
        "<div class=\"verdict {}\" role=\"alert\" id=\"verdict\"><strong>{}</strong>\n<span>",
        class(verdict.verdict),
        match verdict.verdict {
            Outcome::Listed => "On the list",
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
        let _ = write!(text, "; by {}", escaped(&verdict.by.join("; ")));
    }
    if !verdict.reason.is_empty() {
        let _ = write!(text, "; {}", escaped(&verdict.reason));
    }
    let _ = writeln!(text, "; {}</span></div>", escaped(&verdict.time));
    text
}

/// The page of a batch. It loads itself again until the batch is over.
pub(super) fn batch(guard: &Guard, batch: &Batch) -> String {
    let (done, rows, [listed, clear, unchecked]) = (batch.done(), batch.rows, batch.counts());
    let over = batch.is_over();
    let head = if over { "" } else { "<meta http-equiv=\"refresh\" content=\"1\">\n" };
    let mut body = format!(
        "<header><h1>Batch {}</h1></header>\n<main>\n<p><label for=\"progress\">{} of {} rows checked</label></p>\n<progress id=\"progress\" max=\"{}\" \
         value=\"{done}\">{done}</progress>\n<p id=\"result\" role=\"status\">{}: {listed} on the list, {clear} not on the list, {unchecked} not \
         checked</p>\n",
        batch.number,
        count(done as u64),
        count(rows as u64),
        rows.max(1),
        if over { "Done" } else { "Under way" }
    );
    if let Some(took) = batch.took() {
        let _ = writeln!(body, "<p>{:.1} s</p>", took.as_secs_f64());
    }
    let problem = batch.problem();
    if !problem.is_empty() {
        let _ = writeln!(
            body,
            "<p class=\"verdict unchecked\" role=\"alert\">Not all rows were checked: {}</p>",
            escaped(&problem)
        );
    }
    let notable = batch.notable(NOTABLE);
    if !notable.is_empty() {
        body.push_str("<div class=\"table\"><table>\n<thead><tr><th>Row</th><th>Reference</th><th>Verdict</th><th>By</th></tr></thead>\n<tbody>\n");
        for line in &notable {
            let by = if line.reason.is_empty() { &line.by } else { &line.reason };
            let _ = writeln!(
                body,
                "<tr><td>{}</td><td>{}</td><td class=\"{}\">{}</td><td>{}</td></tr>",
                line.row,
                escaped(&line.reference),
                class(line.verdict),
                line.verdict.words(),
                escaped(by)
            );
        }
        body.push_str("</tbody>\n</table></div>\n");
    }
    if listed + unchecked > NOTABLE {
        let _ = writeln!(
            body,
            "<p>The first {NOTABLE} of {} that are on the list, or were not checked.</p>",
            listed + unchecked
        );
    }
    if over {
        let _ =
            writeln!(body, "<p><a href=\"batch/{}/verdicts.csv\" download>All verdicts as CSV</a></p>", batch.number);
    }
    body.push_str("<p><a href=\"./\">Back to the desk</a></p>\n</main>\n");
    frame(guard, &format!("Batch {} - Desk", batch.number), head, &body)
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
        let standing = Standing { connected: false, problem: evil.into(), ..Standing::default() };
        let fields = [(evil.to_owned(), "name")];
        let guard = Guard::new("desk", "tacita desk", "127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let view = View {
            job: evil,
            authority: evil,
            guard: &guard,
            fields: &fields,
            learned: &[evil.to_owned()],
            standing,
            counts: [1, 0, 0],
            latest: vec![verdict.clone()],
        };
        let page = main(&view, Some(&Shown { verdict, of: vec![(evil.into(), evil.into())] }));
        assert!(!page.contains("<script>") && page.matches("&lt;script&gt;").count() >= 8, "{page}");
        assert!(!problem(&guard, evil).contains("<script>"));
    }
}
