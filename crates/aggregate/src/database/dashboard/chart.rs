//! Charts as SVG that stands in a page: a histogram with its thresholds, and a line of rates. Colours come from the
//! page's style.

use std::collections::BTreeMap;
use std::fmt::Write;

use tacita_node::base::text::count;

/// Up to this size, each has a bar of its own; beyond, a bar has twice as many as the one before.
const SINGLE: u64 = 32;

/// The chart's size, in its own units.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 240.0;
/// Room for labels on the left, above and below.
const LEFT: f64 = 56.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 26.0;

/// Rows of sizes `from` to `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) rows: u64,
    /// Rows of at least `from`.
    pub(super) at_least: u64,
}

impl Bar {
    /// The sizes, as a label.
    pub(super) fn label(&self) -> String {
        if self.from == self.to { count(self.from) } else { format!("{}\u{2013}{}", count(self.from), count(self.to)) }
    }
}

/// The bars of a histogram: at most a hundred, whatever the sizes.
pub(super) fn bars(sizes: &BTreeMap<u64, u64>) -> Vec<Bar> {
    let most = sizes.keys().next_back().copied().unwrap_or(0);
    let (mut bars, mut from) = (Vec::new(), 1_u64);
    while from <= most {
        let to = if most <= SINGLE { from } else { from.checked_mul(2).map_or(u64::MAX, |next| next - 1) };
        let at_least = sizes.range(from..).map(|(_, rows)| rows).sum();
        bars.push(Bar { from, to, rows: sizes.range(from..=to).map(|(_, rows)| rows).sum(), at_least });
        let Some(next) = to.checked_add(1) else { break };
        from = next;
    }
    bars
}

/// A mark at the least size that passes.
pub(super) struct Mark {
    pub(super) at: u64,
    pub(super) label: &'static str,
    pub(super) class: &'static str,
}

/// A histogram whose bars are as high as the logarithm of their rows. `title` and `of` are text of this program.
pub(super) fn histogram(id: &str, title: &str, bars: &[Bar], marks: &[Mark]) -> String {
    let mut svg = format!(
        "<svg class=\"histogram\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-title\">\n<title id=\"{id}-title\">{title}</title>\n"
    );
    let (floor, high) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP);
    let most = bars.iter().map(|bar| bar.rows).max().unwrap_or(0).max(1);
    // The highest bar of one row has a height, too.
    let decades = (most as f64 * 2.0).log10();
    let height = |rows: u64| if rows == 0 { 0.0 } else { (rows as f64 * 2.0).log10() / decades * high };
    let mut line = 1_u64;
    while line <= most {
        let y = floor - height(line);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            short(line)
        );
        let Some(next) = line.checked_mul(10) else { break };
        line = next;
    }
    let step = (WIDTH - LEFT) / bars.len().max(1) as f64;
    let passes = marks.iter().map(|mark| mark.at).max().unwrap_or(0);
    // Labels that do not run into each other.
    let each = (bars.iter().map(|bar| bar_label(bar).len()).max().unwrap_or(1) as f64 * 7.5 / step).ceil().max(1.0);
    for (place, bar) in bars.iter().enumerate() {
        let (x, tall) = (LEFT + place as f64 * step, height(bar.rows));
        let class = if bar.from >= passes { "pass" } else { "under" };
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"><title>{}: {}</title></rect>",
            x + step * 0.1,
            floor - tall,
            step * 0.8,
            bar.label(),
            count(bar.rows)
        );
        if place % each as usize == 0 {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x + step / 2.0,
                HEIGHT - 9.0,
                bar_label(bar)
            );
        }
    }
    for (row, mark) in marks.iter().enumerate() {
        let x = LEFT + step * position(bars, mark.at);
        let (anchor, beside) = if x > WIDTH * 0.7 { ("end", -5.0) } else { ("start", 5.0) };
        let _ = writeln!(
            svg,
            "<line class=\"mark {}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{floor}\"/><text class=\"mark {}\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"{anchor}\">{} {}</text>",
            mark.class,
            4.0,
            mark.class,
            x + beside,
            12.0 + 13.0 * row as f64,
            mark.label,
            count(mark.at)
        );
    }
    let _ = writeln!(svg, "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{floor}\" y2=\"{floor}\"/>\n</svg>");
    svg
}

fn bar_label(bar: &Bar) -> String {
    if bar.from == bar.to { short(bar.from) } else { format!("{}+", short(bar.from)) }
}

/// Returns the position of a size in the chart, in bars from the left.
fn position(bars: &[Bar], size: u64) -> f64 {
    match bars.iter().position(|bar| bar.to >= size) {
        None => bars.len() as f64,
        Some(place) => {
            let bar = &bars[place];
            place as f64 + size.saturating_sub(bar.from) as f64 / (bar.to - bar.from + 1) as f64
        }
    }
}

/// A number that fits an axis.
pub(super) fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1000),
        1_000_000..1_000_000_000 => format!("{}M", number / 1_000_000),
        _ => format!("{}G", number / 1_000_000_000),
    }
}

/// Rates as an area, the latest at the right, where there is room for `kept`. `title` is text of this program.
pub(super) fn sparkline(title: &str, rates: &[f64], kept: usize) -> String {
    let (width, height) = (640.0, 72.0);
    let most = rates.iter().copied().fold(1.0, f64::max);
    let step = width / (kept.max(2) - 1) as f64;
    let first = width - step * rates.len().saturating_sub(1) as f64;
    let mut points = String::new();
    for (place, rate) in rates.iter().enumerate() {
        let _ =
            write!(points, " {:.1},{:.1}", first + step * place as f64, height - 2.0 - rate / most * (height - 6.0));
    }
    let area = if rates.is_empty() {
        String::new()
    } else {
        format!(
            "<polygon points=\"{first:.1},{:.1}{points} {width},{:.1}\"/>\n<polyline points=\"{}\"/>\n",
            height - 1.0,
            height - 1.0,
            points.trim()
        )
    };
    format!(
        "<svg class=\"sparkline\" viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" role=\"img\" aria-labelledby=\"rates-title\">\n<title \
         id=\"rates-title\">{title}</title>\n<line class=\"axis\" x1=\"0\" x2=\"{width}\" y1=\"{}\" y2=\"{}\"/>\n{area}</svg>\n",
        height - 1.0,
        height - 1.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_bar() {
        for sizes in [
            BTreeMap::from([(1, 90), (2, 5), (5, 4), (32, 1)]),
            BTreeMap::from([(1, 90), (33, 5), (100, 4), (1_000_000, 1)]),
            BTreeMap::from([(u64::MAX, 7)]),
            BTreeMap::new(),
        ] {
            let bars = bars(&sizes);
            assert!(bars.len() <= 100);
            assert_eq!(bars.iter().map(|bar| bar.rows).sum::<u64>(), sizes.values().sum::<u64>());
            assert_eq!(bars.first().map_or(0, |bar| bar.at_least), sizes.values().sum::<u64>());
            assert!(bars.windows(2).all(|pair| pair[0].to + 1 == pair[1].from));
            let svg = histogram("h", "t", &bars, &[Mark { at: u64::MAX, label: "at least", class: "now" }]);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn a_threshold_stands_before_the_bars_that_pass() {
        let small = bars(&BTreeMap::from([(1, 9), (2, 5), (6, 1)]));
        assert_eq!(position(&small, 3), 2.0);
        let svg = histogram("h", "t", &small, &[Mark { at: 3, label: "at least", class: "now" }]);
        assert_eq!((svg.matches("class=\"under\"").count(), svg.matches("class=\"pass\"").count()), (2, 4));
        let large = bars(&BTreeMap::from([(1, 9), (2, 5), (600, 1)]));
        assert_eq!((position(&large, 2), position(&large, 3), position(&large, 4)), (1.0, 1.5, 2.0));
        assert_eq!(large[2].label(), "4\u{2013}7");
    }

    #[test]
    fn rates_are_drawn_within_the_picture() {
        for rates in [vec![], vec![0.0], vec![0.0; 3], vec![1e9, 0.5, 3.0]] {
            let svg = sparkline("t", &rates, 120);
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains(",-"), "{svg}");
        }
    }
}
