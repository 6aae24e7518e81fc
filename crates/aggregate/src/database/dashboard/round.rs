//! The page of one round.

use std::collections::BTreeMap;
use std::fmt::Write;

use tacita_node::base::text::count;
use tacita_node::jobs::aggregate::Measure;
use tacita_serve::page::{Guard, escaped};

use super::advice::advice;
use super::chart::{self, Mark};
use super::overview::{since, time};
use super::parts::{self, badge, frame, link, table, tiles};
use super::view::{RoundView, Threshold, long};
use crate::wire::rounds::RoundState;

/// Renders the page of a round.
pub(super) fn page(guard: &Guard, round: &RoundView, still: bool) -> String {
    let place = format!("rounds/{}", round.name);
    let mut body = format!(
        "<header><p><a href=\"./\">All rounds</a></p><h1>Round {} {}</h1><p>{} since {}; opened {}{}</p></header>\n<main>\n{}",
        escaped(&round.name),
        badge(round.state),
        round.state.name(),
        since(round),
        time(round.opened),
        round.closed.map_or_else(String::new, |closed| format!(", closed {}", time(closed))),
        parts::advice(&advice(round)),
    );
    body.push_str(&main_actions(round, &place));
    if round.state != RoundState::Removed {
        let _ = write!(body, "<h2>Numbers</h2>\n{}", numbers(round));
        let _ = write!(body, "<h2>Proxies</h2>\n{}", proxies(round));
        body.push_str(&thresholds(round, &place));
        body.push_str(&histograms(round));
        body.push_str(&results(round, &place));
        let _ = write!(
            body,
            "<h2>Removal</h2>\n<p>Its reports, keys and result are deleted here, for good.</p>\n<p>{}</p>\n",
            link("stop", &format!("{place}/confirm/remove"), "Remove this round ...")
        );
    }
    body.push_str("</main>\n");
    // A page on which something is typed stays as it is.
    let moves = matches!(round.state, RoundState::Open | RoundState::Closed | RoundState::Revealing);
    frame(guard, &format!("Round {}", round.name), moves.then_some((&place, still)), &body)
}

fn main_actions(round: &RoundView, place: &str) -> String {
    match round.state {
        RoundState::Open => {
            format!("<p>{}</p>\n", link("go", &format!("{place}/confirm/close"), "Close this round ..."))
        }
        RoundState::Counted => format!("<p>{}</p>\n", link("go", &format!("{place}/confirm/reveal"), "Reveal ...")),
        RoundState::Failed if round.again => {
            format!("<p>{}</p>\n", link("go", &format!("{place}/confirm/reveal"), "Reveal again ..."))
        }
        _ => String::new(),
    }
}

fn numbers(round: &RoundView) -> String {
    let numbers = &round.numbers;
    let later = |number: Option<u64>| number.map_or_else(|| "\u{2013}".to_owned(), count);
    tiles(&[
        ("reports here", count(round.totals.reports)),
        ("batches", count(round.totals.batches)),
        ("dropped: held no report", count(numbers.dropped)),
        ("rows", later(numbers.rows)),
        ("rows that pass", later(numbers.passing)),
        (
            "keys revealed",
            match round.state {
                RoundState::Revealing => format!("{} so far", count(round.revealed)),
                _ => later(numbers.keys),
            },
        ),
        ("inconsistent reports", count(numbers.inconsistent)),
        ("rows too long to reveal", count(numbers.too_long)),
    ])
}

fn proxies(round: &RoundView) -> String {
    let rows = round.proxies.iter().map(|proxy| {
        let (done, entries) = match &proxy.complete {
            None if proxy.without => (
                "<span class=\"stuck\">left out: what it had not sent is missing</span>".to_owned(),
                String::from("\u{2013}"),
            ),
            None if round.state == RoundState::Closed => {
                ("<strong>waited for</strong>".to_owned(), String::from("\u{2013}"))
            }
            None => ("not yet".to_owned(), String::from("\u{2013}")),
            Some(complete) => match &complete.unshufflable {
                None => ("complete".to_owned(), count(complete.entries)),
                Some(reason) => (
                    format!("<span class=\"stuck\">cannot shuffle: {}</span>", escaped(reason)),
                    count(complete.entries),
                ),
            },
        };
        let heard = if proxy.heard {
            format!("{} ago", long(proxy.silent))
        } else {
            "not since this program was started".to_owned()
        };
        vec![escaped(&proxy.name), done, entries, heard]
    });
    let rows: Vec<_> = rows.collect();
    table(
        "Who reports is known to proxies alone: entries come here without names.",
        &["Proxy", "This round", "Entries sent", "Last heard of"],
        &rows,
    )
}

fn thresholds(round: &RoundView, place: &str) -> String {
    let mut text =
        format!("<h2>Condition</h2>\n<p>A key is revealed when <code>{}</code>", escaped(&round.reveal_when));
    if round.agreed_when == round.reveal_when {
        text.push_str(", as agreed.</p>\n")
    } else {
        text.push_str(&format!("; agreed on was <code>{}</code>.</p>\n", escaped(&round.agreed_when)))
    }
    if !round.tighten {
        text.push_str("<p>The job does not say <code>round.tighten = true</code>: its thresholds stay.</p>\n");
        return text;
    }
    if round.state != RoundState::Counted {
        text.push_str("<p>Thresholds can be raised between the count and the reveal, and never lowered.</p>\n");
        return text;
    }
    let mut seen: Vec<Measure> = Vec::new();
    for threshold in &round.thresholds {
        if seen.contains(&threshold.measure) {
            continue;
        }
        seen.push(threshold.measure);
        let name = escaped(&threshold.measure.to_string());
        let _ = write!(
            text,
            "<form method=\"get\" action=\"{0}/confirm/tighten\"><input type=\"hidden\" name=\"measure\" value=\"{name}\"><label>Raise the bound of \
             <code>{name}</code> to <input type=\"number\" name=\"to\" required min=\"{1}\" value=\"{2}\"></label> <button>Raise ...</button>",
            escaped(place),
            threshold.bound,
            threshold.bound + 1
        );
        if !threshold.measure.is_of_values() {
            let gap = format!("{place}/confirm/tighten?measure={}&gap", threshold.measure);
            text.push_str(&link("", &gap, "Into the widest gap ..."));
        }
        text.push_str("</form>\n");
    }
    text
}

fn histograms(round: &RoundView) -> String {
    let Some(counts) = &round.counts else {
        return "<h2>Histogram</h2>\n<p>Rows are counted when the round is closed and all proxies have sent what they have.</p>\n".into();
    };
    let mut text = String::from("<h2>Histogram</h2>\n");
    let all = [
        ("count", Measure::Count, &counts.count, "reports", "Rows by how many reports they have"),
        ("distinct", Measure::Distinct, &counts.distinct, "reporters", "Rows by how many distinct reporters they have"),
    ];
    for (id, measure, sizes, of, title) in all {
        if !sizes.is_empty() {
            text.push_str(&histogram(
                id,
                title,
                of,
                sizes,
                round.thresholds.iter().filter(|one| one.measure == measure),
            ));
        }
    }
    text
}

fn histogram<'a>(
    id: &str,
    title: &str,
    of: &str,
    sizes: &BTreeMap<u64, u64>,
    thresholds: impl Iterator<Item = &'a Threshold>,
) -> String {
    let size = |number: i128| u64::try_from(number.max(0)).unwrap_or(u64::MAX);
    // With several, the highest is what is drawn: the condition says the rest.
    let highest = thresholds.max_by_key(|threshold| threshold.now);
    let marks: Vec<Mark> = highest.map_or_else(Vec::new, |one| {
        let mut marks = vec![Mark { at: size(one.now), label: "at least", class: "now" }];
        if one.agreed != one.now {
            marks.push(Mark { at: size(one.agreed), label: "agreed", class: "agreed" });
        }
        marks
    });
    let bars = chart::bars(sizes);
    let rows = bars.iter().filter(|bar| bar.rows > 0).map(|bar| {
        let passes = marks.first().is_some_and(|mark| bar.from >= mark.at);
        vec![bar.label(), format!("{}{}", count(bar.rows), if passes { " \u{2713}" } else { "" }), count(bar.at_least)]
    });
    let rows: Vec<_> = rows.collect();
    let caption = if marks.is_empty() {
        "The condition has no threshold of this."
    } else {
        "\u{2713}: at or above the threshold."
    };
    format!(
        "<h3>{title}</h3>\n<div class=\"chart\">\n<figure>\n{}<figcaption>Heights are logarithmic.</figcaption>\n</figure>\n{}</div>\n",
        chart::histogram(id, title, &bars, &marks),
        table(caption, &[of, "rows", "rows with at least so many"], &rows)
    )
}

fn results(round: &RoundView, place: &str) -> String {
    if round.state != RoundState::Revealed {
        return String::new();
    }
    let keys = round.numbers.keys.unwrap_or(round.revealed);
    let mut text = String::from("<h2>Result</h2>\n");
    if round.reads {
        let _ = writeln!(
            text,
            "<p>{} keys were revealed.</p>\n<p>{}</p>",
            count(keys),
            link("go", &format!("{place}/keys"), "Keys and files")
        );
    } else {
        let _ = writeln!(
            text,
            "<p>{} keys were revealed, to {}. The job's <code>reveal_to</code> does not name the database: this page does not show them.</p>",
            count(keys),
            escaped(&round.reveal_to)
        );
    }
    text
}
