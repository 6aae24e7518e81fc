//! The report of association rules as one HTML page: a plot, a graph of the items and a table to sort and to search.
//!
//! The page needs nothing but itself: no network (its content security policy forbids it), no library. Names of items
//! come from the peer, so everything that is not written here is escaped. The same report gives the same
//! bytes: there is no date in it.

mod graph;
mod numbers;
mod scatter;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;

use data_encoding::BASE64;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::base::html::{script_json, text, visible};
use crate::base::text::{count, counted, names};
use numbers::json_number;

/// Maximum number of rules on a page: those of the highest lift.
const MAX_RULES: usize = 10_000;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// Contents of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct RulesReport {
    /// Id of the job.
    pub id: String,
    /// The parties' names; [`ItemView::party`] is an index into them.
    pub parties: Vec<String>,
    /// Number of transactions in all.
    pub rows: u64,
    /// Minimum support as the job has it: a number of rows, or a share of them.
    pub min_support: String,
    /// Minimum confidence as the job has it, or the default.
    pub min_confidence: String,
    /// The protocol that ran.
    pub protocol: String,
    /// Each party, and sentences on what it learned.
    pub learned: Vec<(String, Vec<String>)>,
    /// The frequent itemsets, each once.
    pub itemsets: Vec<Itemset>,
    /// The rules, each once.
    pub rules: Vec<RuleView>,
}

/// An item with its owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemView {
    /// Index of the party.
    pub party: usize,
    /// Name that its owner gives it: any text.
    pub name: String,
}

/// Items that occur together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Itemset {
    /// The items, each once.
    pub items: Vec<ItemView>,
    /// Number of transactions that contain all the items.
    pub count: u64,
}

/// A rule: where the antecedents are, the consequents are too.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleView {
    /// Items on the given side.
    pub antecedents: Vec<ItemView>,
    /// Items that follow from them.
    pub consequents: Vec<ItemView>,
    /// The share of all transactions that have both sides.
    pub support: f64,
    /// The share of the transactions with the antecedents that have the consequents too.
    pub confidence: f64,
    /// The confidence over the share of all transactions that have the consequents.
    pub lift: f64,
    /// The support less what it would be if the sides were independent.
    pub leverage: f64,
    /// Factor by which the rule would fail more often if the sides were independent; infinite if it never fails.
    pub conviction: f64,
}

/// Renders the whole page as HTML.
pub fn page(report: &RulesReport) -> String {
    let rules = ranked(&report.rules);
    let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let _ = writeln!(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", policy());
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    let _ = writeln!(page, "<title>Association rules: {}</title>", text(&report.id));
    let _ = writeln!(page, "<style>{STYLE}</style>\n</head>\n<body>\n<main>");
    header(&mut page, report);
    if rules.is_empty() {
        page.push_str(&no_rules(report));
    } else {
        plot(&mut page, report, &rules);
    }
    graph::section(&mut page, report);
    if !rules.is_empty() {
        table(&mut page, report, &rules);
    }
    learned(&mut page, report);
    let _ = writeln!(page, "</main>\n<script type=\"application/json\" id=\"data\">{}</script>", data(report, &rules));
    let _ = writeln!(page, "<script>{SCRIPT}</script>\n</body>\n</html>");
    page
}

/// Returns the content security policy: nothing is loaded, and nothing runs but the script and the style of this
/// program.
fn policy() -> String {
    let hash = |part: &str| format!("'sha256-{}'", BASE64.encode(&Sha256::digest(part.as_bytes())));
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// The rules that are shown, best first: by lift, then by confidence and support, then by name.
fn ranked(rules: &[RuleView]) -> Vec<&RuleView> {
    let mut ranked: Vec<_> = rules.iter().collect();
    ranked.sort_by(|a, b| {
        let numbers = |rule: &RuleView| [rule.lift, rule.confidence, rule.support];
        let by_number = |(a, b): (f64, f64)| b.total_cmp(&a);
        let numbers = numbers(a).into_iter().zip(numbers(b)).map(by_number).find(|order| order.is_ne());
        numbers.unwrap_or_else(|| (&a.antecedents, &a.consequents).cmp(&(&b.antecedents, &b.consequents)))
    });
    ranked.truncate(MAX_RULES);
    ranked
}

fn header(page: &mut String, report: &RulesReport) {
    let _ = writeln!(page, "<header>\n<h1>Association rules</h1>\n<dl class=\"facts\">");
    let found = format!(
        "{}, {}",
        counted(report.itemsets.len() as u64, "frequent itemset"),
        counted(report.rules.len() as u64, "rule")
    );
    let parties = owners(report);
    for (term, value) in [
        ("Job", text(&report.id)),
        ("Parties", parties),
        ("Transactions", count(report.rows)),
        ("Minimum support", text(&report.min_support)),
        ("Minimum confidence", text(&report.min_confidence)),
        ("Protocol", text(&report.protocol)),
        ("Found", found),
    ] {
        let _ = writeln!(page, "<div><dt>{term}</dt><dd>{value}</dd></div>");
    }
    page.push_str("</dl>\n</header>\n");
}

/// Number of the mark that a party's items have: with many parties, some share one. The script counts alike.
fn mark(party: usize) -> usize {
    party % 6
}

/// A party's name with the mark that its items have on the page.
fn owner(report: &RulesReport, party: usize) -> String {
    format!("<span class=\"mark p{}\"></span><bdi>{}</bdi>", mark(party), text(&report.parties[party]))
}

/// Names of all parties with their marks.
fn owners(report: &RulesReport) -> String {
    let all: Vec<String> = (0..report.parties.len()).map(|party| owner(report, party)).collect();
    names(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn no_rules(report: &RulesReport) -> String {
    let what = if report.itemsets.is_empty() {
        "No set of items is frequent, so there are no rules."
    } else {
        "There are frequent sets of items, but no rule is sure enough."
    };
    let try_this = if report.itemsets.is_empty() {
        format!("lower min_support (it is {})", text(&report.min_support))
    } else {
        format!(
            "lower min_confidence (it is {}), or min_support (it is {}) for rules on rarer items",
            text(&report.min_confidence),
            text(&report.min_support)
        )
    };
    format!(
        "<section class=\"empty\">\n<h2>No rules</h2>\n<p>{what} To find some, {try_this}. {} parties have \
         to agree to that, and each learns more by it.</p>\n</section>\n",
        if report.parties.len() > 2 { "All" } else { "Both" }
    )
}

fn plot(page: &mut String, report: &RulesReport, rules: &[&RuleView]) {
    page.push_str("<section>\n<h2>All rules at a glance</h2>\n<p class=\"hint\">Each point is a rule. ");
    page.push_str("To the right, more transactions have all of its items (support); further up, it holds more often ");
    page.push_str(
        "where it applies (confidence). The colour is the lift: how many times as often the consequents occur ",
    );
    page.push_str("with the antecedents as they do overall. Click on a point to find its rule in the table.</p>\n");
    page.push_str(&left_out(report, rules));
    let _ = writeln!(page, "<div class=\"figure\">\n{}</div>\n</section>", scatter::svg(report.rows, rules));
}

/// Says that not all rules are shown, if so.
fn left_out(report: &RulesReport, rules: &[&RuleView]) -> String {
    if report.rules.len() > rules.len() {
        format!(
            "<p class=\"hint\"><strong>This page has the {} rules of the highest lift, out of {}.</strong> The table \
             that the job writes has all of them.</p>\n",
            count(rules.len() as u64),
            count(report.rules.len() as u64)
        )
    } else {
        String::new()
    }
}

fn table(page: &mut String, report: &RulesReport, rules: &[&RuleView]) {
    page.push_str("<section id=\"rules\">\n<h2>Rules</h2>\n");
    page.push_str(&left_out(report, rules));
    let _ = writeln!(page, "<p class=\"legend\">Items of {}.</p>", owners(report));
    page.push_str(
        "<noscript><p>The table needs JavaScript, which is off. The table that the job writes has the same rules.</p>\
         </noscript>\n\
         <div class=\"tools\"><label for=\"search\">Items:</label> <input id=\"search\" type=\"search\" \
         placeholder=\"part of a name, or &quot;a name&quot;\" autocomplete=\"off\"> <output id=\"shown\"></output></div>\n\
         <p id=\"chosen\" role=\"status\"></p>\n\
         <div class=\"wide\">\n<table>\n<caption>Rules; choose a heading to sort by it, the number of a rule to \
         read it in words and to mark its point</caption>\n<thead><tr>",
    );
    for (key, name) in [
        ("rank", "Rank"),
        ("from", "Those who have"),
        ("to", "also have"),
        ("support", "Support"),
        ("confidence", "Confidence"),
        ("lift", "Lift"),
        ("leverage", "Leverage"),
        ("conviction", "Conviction"),
    ] {
        let class = if matches!(key, "from" | "to") { "items" } else { "number" };
        let _ = write!(page, "<th scope=\"col\" class=\"{class}\">");
        let _ = write!(page, "<button type=\"button\" data-key=\"{key}\">{name}</button></th>");
    }
    page.push_str("</tr></thead>\n<tbody></tbody>\n</table>\n</div>\n");
    page.push_str("<p class=\"more\"><button type=\"button\" id=\"more\" hidden>Show more</button> ");
    page.push_str("<button type=\"button\" id=\"all\" hidden>Show all</button></p>\n</section>\n");
}

fn learned(page: &mut String, report: &RulesReport) {
    if report.learned.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>What each party learned</h2>\n");
    for (party, sentences) in &report.learned {
        let _ = writeln!(page, "<h3><bdi>{}</bdi></h3>\n<ul>", text(party));
        for sentence in sentences {
            let _ = writeln!(page, "<li>{}</li>", text(sentence));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("</section>\n");
}

/// Returns the data for the script: items once, rules by the numbers of their items.
fn data<'a>(report: &RulesReport, rules: &[&'a RuleView]) -> String {
    let mut numbers = BTreeMap::new();
    let mut items = Vec::new();
    let mut number = |item: &'a ItemView| {
        *numbers.entry(item).or_insert_with(|| {
            items.push(json!([item.party, visible(&item.name)]));
            items.len() - 1
        })
    };
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| {
            let antecedents: Vec<_> = rule.antecedents.iter().map(&mut number).collect();
            let consequents: Vec<_> = rule.consequents.iter().map(&mut number).collect();
            let measures = [rule.support, rule.confidence, rule.lift, rule.leverage, rule.conviction].map(json_number);
            let [support, confidence, lift, leverage, conviction] = measures;
            json!([antecedents, consequents, support, confidence, lift, leverage, conviction])
        })
        .collect();
    let parties: Vec<_> = report.parties.iter().map(|party| visible(party)).collect();
    script_json(&json!({ "parties": parties, "rows": report.rows, "items": items, "rules": rules }))
}
