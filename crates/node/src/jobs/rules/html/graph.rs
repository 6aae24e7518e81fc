//! The graph of the items: which ones occur together, and how much more often than by chance.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;
use std::fmt::Write;

use super::numbers::{factor, percent};
use super::{ItemView, RulesReport, mark};
use crate::base::html::{short, text, visible};
use crate::base::text::{count, counted};

/// Maximum number of items drawn, and of pairs for each of them: more could not be told apart.
const MAX_ITEMS: usize = 40;
const PAIRS_AN_ITEM: f64 = 2.5;
/// Up to so many items, their names lie flat; more of them stand out like rays.
const FLAT_ITEMS: usize = 14;
const LABEL: usize = 24;
const WIDTH: f64 = 860.0;
const RADIUS: f64 = 220.0;

/// An item of the graph.
struct Node<'a> {
    item: &'a ItemView,
    support: f64,
    /// Coordinates relative to the centre of the circle.
    x: f64,
    y: f64,
    /// Position on the circle, in radians from the right, clockwise.
    angle: f64,
}

/// Two items that occur together, by their places among the nodes.
struct Edge {
    ends: [usize; 2],
    support: f64,
    lift: f64,
}

/// The section with the graph and the same in words; nothing if no pair of items is frequent.
pub fn section(page: &mut String, report: &RulesReport) {
    let supports = supports(report);
    let all = nodes(&supports);
    let edges = edges(report, &all);
    if edges.is_empty() {
        return;
    }
    page.push_str("<section id=\"graph\">\n<h2>Items that occur together</h2>\n");
    let _ = writeln!(
        page,
        "<p class=\"legend\">Items of {}; <span class=\"line mixed\"></span>pair of two parties' items, \
         <span class=\"line own\"></span>pair of one party's items.</p>",
        super::owners(report)
    );
    let (items, of_items) = (all.len(), supports.len());
    let (pairs, of_pairs) = (edges.len().min((items as f64 * PAIRS_AN_ITEM) as usize), edges.len());
    let some = |part: usize, all: usize, noun: &str, which: &str| {
        if part < all {
            format!("the {} {which}, out of {}", counted(part as u64, noun), count(all as u64))
        } else {
            counted(all as u64, noun)
        }
    };
    let _ = writeln!(
        page,
        "<p class=\"hint\">Shown: {}; {}. The larger a mark, the more transactions have the item; the wider a line, the \
         higher the lift of its pair. Around each party's part of the circle, the items get rarer.</p>",
        some(items, of_items, "item", "that are most frequent"),
        some(pairs, of_pairs, "frequent pair", "of these items that have the highest lift")
    );
    let edges = &edges[..pairs];
    let _ = writeln!(page, "<div class=\"figure\">\n{}</div>", svg(&all, edges));
    page.push_str("<details>\n<summary>The graph in words</summary>\n<div class=\"columns\">\n<ul>\n");
    for node in &all {
        let _ = writeln!(page, "<li>{}: {} of the transactions</li>", named(report, node.item), percent(node.support));
    }
    page.push_str("</ul>\n<ol>\n");
    for Edge { ends, support, lift } in edges {
        let [a, b] = ends.map(|end| named(report, all[end].item));
        let _ =
            writeln!(page, "<li>{a} with {b}: {} of the transactions, lift {}</li>", percent(*support), factor(*lift));
    }
    page.push_str("</ol>\n</div>\n</details>\n</section>\n");
}

/// An item's name with its owner's mark and name.
fn named(report: &RulesReport, item: &ItemView) -> String {
    let name = short(&visible(&item.name), 80);
    let owner = &report.parties[item.party];
    format!("<span class=\"mark p{}\"></span><bdi>{}</bdi> (<bdi>{}</bdi>)", mark(item.party), text(&name), text(owner))
}

/// The share of the transactions that have an item: as counted, or as it follows from a rule on the item alone. If
/// there is neither (only sets of both parties' items are listed), the share of the most frequent set with it.
fn supports(report: &RulesReport) -> BTreeMap<&ItemView, f64> {
    let mut exact = BTreeMap::new();
    let mut bounds: BTreeMap<&ItemView, f64> = BTreeMap::new();
    for set in &report.itemsets {
        let share = share(report, set.count);
        if let [item] = &set.items[..] {
            exact.insert(item, share);
        }
        for item in &set.items {
            let bound = bounds.entry(item).or_default();
            *bound = bound.max(share);
        }
    }
    for rule in &report.rules {
        if let [item] = &rule.antecedents[..] {
            exact.entry(item).or_insert(rule.support / rule.confidence);
        }
        if let [item] = &rule.consequents[..] {
            exact.entry(item).or_insert(rule.confidence / rule.lift);
        }
        for item in rule.antecedents.iter().chain(&rule.consequents) {
            bounds.entry(item).or_insert(rule.support);
        }
    }
    exact.retain(|_, share| share.is_finite());
    bounds.extend(exact);
    bounds.retain(|_, share| share.is_finite());
    bounds
}

fn share(report: &RulesReport, count: u64) -> f64 {
    count as f64 / report.rows.max(1) as f64
}

/// The most frequent items on a circle: the first party's from the top to the left, the others' from there to the
/// right, one party's after the other's. Of two parties, each has its half, as far as their numbers allow it.
fn nodes<'a>(supports: &BTreeMap<&'a ItemView, f64>) -> Vec<Node<'a>> {
    let mut chosen: Vec<_> = supports.iter().map(|(item, support)| (*item, *support)).collect();
    // The order by name comes from the map, and this sort keeps it.
    chosen.sort_by(|a, b| b.1.total_cmp(&a.1));
    chosen.truncate(MAX_ITEMS);
    let parties: BTreeSet<usize> = chosen.iter().map(|(item, _)| item.party).collect();
    // There is space for one more item after each party's last one.
    let step = 2.0 * PI / (chosen.len() + parties.len()).max(1) as f64;
    let (mut nodes, mut before) = (Vec::with_capacity(chosen.len()), 0);
    for party in parties {
        let own = chosen.iter().filter(|(item, _)| item.party == party);
        nodes.extend(own.enumerate().map(|(position, &(item, support))| {
            let turn = step * (before + position + 1) as f64;
            let angle = if party == 0 { -PI / 2.0 - turn } else { -PI / 2.0 + turn };
            Node { item, support, x: RADIUS * angle.cos(), y: RADIUS * angle.sin(), angle }
        }));
        before =
            if party == 0 { 0 } else { before + chosen.iter().filter(|(item, _)| item.party == party).count() + 1 };
    }
    nodes
}

/// The frequent pairs of the nodes' items, the highest lift first: sets of two items, and rules from one item to one.
fn edges(report: &RulesReport, nodes: &[Node<'_>]) -> Vec<Edge> {
    let places: BTreeMap<_, _> = nodes.iter().enumerate().map(|(place, node)| (node.item, place)).collect();
    let mut pairs: BTreeMap<[usize; 2], (f64, f64)> = BTreeMap::new();
    let ends = |a: &ItemView, b: &ItemView| {
        let (a, b) = (*places.get(a)?, *places.get(b)?);
        Some([a.min(b), a.max(b)])
    };
    for rule in &report.rules {
        if let ([a], [b]) = (&rule.antecedents[..], &rule.consequents[..])
            && let Some(ends) = ends(a, b)
        {
            pairs.insert(ends, (rule.support, rule.lift));
        }
    }
    for set in &report.itemsets {
        if let [a, b] = &set.items[..]
            && let Some(ends) = ends(a, b)
        {
            let support = share(report, set.count);
            let lift = support / (nodes[ends[0]].support * nodes[ends[1]].support);
            pairs.entry(ends).or_insert((support, lift));
        }
    }
    let edges = pairs.into_iter().map(|(ends, (support, lift))| Edge { ends, support, lift });
    let mut edges: Vec<_> = edges.filter(|edge| edge.lift.is_finite() && edge.lift > 0.0).collect();
    edges.sort_by(|a, b| b.lift.total_cmp(&a.lift));
    edges
}

/// Returns the vertical extent of the names above and below the centre.
fn reach(nodes: &[Node<'_>]) -> [f64; 2] {
    let flat = nodes.len() <= FLAT_ITEMS;
    let reach = |node: &Node<'_>| {
        let length = visible(&node.item.name).chars().count().min(LABEL) as f64 * 7.5;
        node.angle.sin() * (RADIUS + if flat { 24.0 } else { 20.0 + length })
    };
    let far = |sign: f64| nodes.iter().map(|node| sign * reach(node)).fold(RADIUS / 2.0, f64::max) + 16.0;
    [far(-1.0), far(1.0)]
}

fn svg(nodes: &[Node<'_>], edges: &[Edge]) -> String {
    let [up, down] = reach(nodes);
    let mut svg = format!(
        "<svg role=\"group\" viewBox=\"{} {:.0} {WIDTH} {:.0}\" aria-label=\"Graph of {} and {}; the same in words \
         follows.\">\n<g class=\"edges\">\n",
        -WIDTH / 2.0,
        -up,
        up + down,
        counted(nodes.len() as u64, "item"),
        counted(edges.len() as u64, "pair")
    );
    let lifts = || edges.iter().map(|edge| edge.lift.ln());
    let (low, high) = (lifts().fold(f64::INFINITY, f64::min), lifts().fold(f64::NEG_INFINITY, f64::max));
    // The widest lines are the last ones, on top of the others.
    for edge in edges.iter().rev() {
        let [a, b] = edge.ends.map(|end| &nodes[end]);
        let part = if high > low { (edge.lift.ln() - low) / (high - low) } else { 0.5 };
        let kind = if a.item.party == b.item.party { "own" } else { "mixed" };
        // Bent towards the centre, so that lines between neighbours keep clear of the marks.
        let (middle_x, middle_y) = ((a.x + b.x) * 0.175, (a.y + b.y) * 0.175);
        let _ = writeln!(
            svg,
            "<path class=\"{kind}\" data-ends=\"{} {}\" d=\"M{:.1} {:.1}Q{middle_x:.1} {middle_y:.1} {:.1} {:.1}\" \
             stroke-width=\"{:.1}\"><title>{} with {}: lift {}</title></path>",
            edge.ends[0],
            edge.ends[1],
            a.x,
            a.y,
            b.x,
            b.y,
            0.8 + 4.2 * part,
            label(a.item, 80),
            label(b.item, 80),
            factor(edge.lift)
        );
    }
    svg.push_str("</g>\n<g class=\"nodes\">\n");
    let most = nodes.iter().map(|node| node.support).fold(f64::MIN_POSITIVE, f64::max);
    for (place, node) in nodes.iter().enumerate() {
        draw(&mut svg, place, node, 2.5 + 8.5 * (node.support / most).sqrt(), nodes.len() <= FLAT_ITEMS);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// A circle for the first party's items, a square for others', with the name outside of the circle.
fn draw(svg: &mut String, place: usize, node: &Node<'_>, radius: f64, flat: bool) {
    let Node { item, x, y, angle, .. } = node;
    let name = text(&item.name);
    let _ = writeln!(svg, "<g class=\"p{}\" data-node=\"{place}\" data-name=\"{name}\">", mark(item.party));
    let _ = writeln!(svg, "<title>{}: {} of the transactions</title>", label(item, 80), percent(node.support));
    if mark(item.party) == 0 {
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>");
    } else {
        // As large as the circle would be.
        let side = radius * PI.sqrt();
        let (left, top) = (x - side / 2.0, y - side / 2.0);
        let _ = writeln!(svg, "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{side:.1}\" height=\"{side:.1}\"/>");
    }
    let (x, y) = (x + 16.0 * angle.cos(), y + 16.0 * angle.sin());
    let leftwards = angle.cos() < -1e-9;
    let turn = angle.to_degrees() + if leftwards { 180.0 } else { 0.0 };
    let anchor = if flat && angle.cos().abs() < 0.1 {
        "middle"
    } else if leftwards {
        "end"
    } else {
        "start"
    };
    // The middle of small letters is that much above the line that they stand on.
    let place = if flat {
        format!("x=\"{x:.1}\" y=\"{:.1}\"", y + 4.5 + 8.0 * angle.sin())
    } else {
        format!("transform=\"translate({x:.1} {y:.1}) rotate({turn:.1})\" y=\"4.5\"")
    };
    let _ = writeln!(svg, "<text {place} text-anchor=\"{anchor}\">{}</text>\n</g>", label(item, LABEL));
}

/// An item's name, at most so long, ready to stand in the page.
fn label(item: &ItemView, most: usize) -> String {
    text(&short(&visible(&item.name), most))
}
