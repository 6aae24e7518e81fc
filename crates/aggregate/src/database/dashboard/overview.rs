//! The first page: all rounds, how fast reports come, and who was heard of.

use std::time::Duration;

use tacita_node::base::text::{bytes, count};
use tacita_serve::page::{Guard, escaped};

use super::advice::advice;
use super::chart::sparkline;
use super::parts::{badge, frame, table, tiles};
use super::view::{RoundView, View, long, moment};
use super::watch::KEPT;

/// Rounds that are shown, those opened last first.
const SHOWN: usize = 200;

/// Renders the overview page.
pub(super) fn page(guard: &Guard, view: &View, still: bool) -> String {
    let mut rounds: Vec<&RoundView> = view.rounds.iter().collect();
    rounds.sort_by(|one, other| (other.opened, &other.name).cmp(&(one.opened, &one.name)));
    let more = match rounds.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("<p>{} older rounds are not shown.</p>\n", count(more as u64)),
    };
    let rows: Vec<Vec<String>> = rounds.iter().take(SHOWN).map(|round| row(round)).collect();
    let rounds = if rows.is_empty() {
        "<p>There is no round yet.</p>\n".to_owned()
    } else {
        table("Those opened last come first.", &["Round", "State", "Since", "Reports", "What goes on"], &rows)
    };
    let body = format!(
        "<header><h1>Aggregation {}</h1><p>The database, version {}, up for {}</p></header>\n<main>\n<h2>Rounds</h2>\n{rounds}{more}\
         <form method=\"post\" action=\"open\"><input type=\"hidden\" name=\"form\" value=\"{}\"><label>Open a round named <input name=\"round\" required \
         maxlength=\"64\" pattern=\"[A-Za-z0-9_\\-][A-Za-z0-9._\\-]*\" autocomplete=\"off\" spellcheck=\"false\"></label> <button>Open</button></form>\n\
         <h2>Reports coming in</h2>\n{}<h2>Services</h2>\n{}<h2>Storage and participants</h2>\n{}<h2>What this database learns</h2>\n<ul>\n{}</ul>\n</main>\n",
        escaped(&view.job),
        env!("CARGO_PKG_VERSION"),
        long(view.up),
        escaped(guard.form()),
        throughput(&view.rates),
        services(view),
        totals(view),
        view.learned.iter().map(|sentence| format!("<li>{}</li>\n", escaped(sentence))).collect::<String>(),
    );
    frame(guard, &format!("Aggregation {}", view.job), Some(("./", still)), &body)
}

fn row(round: &RoundView) -> Vec<String> {
    let said = advice(round);
    let class = if said.stuck { " class=\"stuck\"" } else { "" };
    vec![
        format!("<a href=\"rounds/{0}\">{0}</a>", escaped(&round.name)),
        badge(round.state),
        since(round),
        count(round.totals.reports),
        format!("<span{class}>{}</span>", escaped(&said.now)),
    ]
}

/// Returns the time since which a round is in its state.
pub(super) fn since(round: &RoundView) -> String {
    match (round.since, round.closed) {
        (Some(since), _) => time(since),
        (None, Some(closed)) => format!("after {}", time(closed)),
        (None, None) => format!("after {}", time(round.opened)),
    }
}

pub(super) fn time(seconds: u64) -> String {
    format!("<time datetime=\"{}\">{}</time>", tacita_serve::clock::written(seconds), moment(seconds))
}

fn throughput(rates: &[f64]) -> String {
    let Some(latest) = rates.last() else {
        return "<p>It is measured every five seconds: nothing yet.</p>\n".to_owned();
    };
    let most = rates.iter().copied().fold(0.0, f64::max);
    let said = format!(
        "{} reports a second now, {} at most within the last {}",
        count(latest.round() as u64),
        count(most.round() as u64),
        long(Duration::from_secs(5 * rates.len() as u64))
    );
    format!(
        "{}<p id=\"rate\">{said}. Proxies that wait for the close of a round send all at once.</p>\n",
        sparkline(&said, rates, KEPT)
    )
}

fn services(view: &View) -> String {
    let proxies = view.proxies.iter().map(|proxy| {
        if proxy.heard {
            vec![escaped(&proxy.name), format!("{} ago", long(proxy.silent)), "dials this database".into()]
        } else {
            vec![
                escaped(&proxy.name),
                "<span class=\"stuck\">not since this program was started</span>".into(),
                "dials this database".into(),
            ]
        }
    });
    let oracles = view.oracles.iter().map(|oracle| {
        let last = oracle.silent.map_or_else(|| "never".to_owned(), |silent| format!("{} ago", long(silent)));
        let found = match &oracle.problem {
            None => "is asked every 15 seconds".to_owned(),
            Some(problem) => format!("<span class=\"stuck\">{}</span>", escaped(problem)),
        };
        vec![escaped(&oracle.name), last, found]
    });
    table(
        "Whom this database works with.",
        &["Service", "Last heard of", "How"],
        &proxies.chain(oracles).collect::<Vec<_>>(),
    )
}

fn totals(view: &View) -> String {
    tiles(&[
        ("reports kept", count(view.totals.reports)),
        ("batches they came in", count(view.totals.batches)),
        ("free on this disk", view.free.map_or_else(|| "unknown".into(), bytes)),
        (
            "participants who may report",
            view.listed.map_or_else(|| "the list cannot be read".into(), |all| count(all as u64)),
        ),
    ])
}
