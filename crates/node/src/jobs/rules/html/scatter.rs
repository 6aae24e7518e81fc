//! The plot of all rules: support against confidence, coloured by lift.

use std::fmt::Write;

use super::RuleView;
use super::numbers::{factor, factors, percent};
use crate::base::text::{count, counted};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 720.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 384.0;
/// Number of colours in the scale.
const SHADES: usize = 6;

/// The plot. Points are drawn in the order of their lift, the highest on top, and numbered as the rules are.
pub fn svg(rows: u64, rules: &[&RuleView]) -> String {
    let shown: Vec<_> = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| [rule.support, rule.confidence, rule.lift].iter().all(|number| number.is_finite()))
        .collect();
    let x = Axis::new(shown.iter().map(|(_, rule)| rule.support), LEFT, RIGHT, true);
    let y = Axis::new(shown.iter().map(|(_, rule)| rule.confidence), BOTTOM, TOP, false);
    let shades = Shades::new(shown.iter().map(|(_, rule)| rule.lift));
    let mut svg = format!(
        "<svg id=\"plot\" role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-label=\"{}: support from {} to {}, \
         confidence from {} to {}. The table of rules has the same numbers.\">\n",
        counted(rules.len() as u64, "rule"),
        percent(x.least),
        percent(x.most),
        percent(y.least),
        percent(y.most)
    );
    axes(&mut svg, rows, &x, &y);
    shades.legend(&mut svg);
    let radius = match shown.len() {
        0..=300 => 5.0,
        301..=2000 => 4.0,
        _ => 3.0,
    };
    svg.push_str("<g class=\"points\">\n");
    for (rank, rule) in shown.iter().rev() {
        let (x, y, shade) = (x.place(rule.support), y.place(rule.confidence), shades.of(rule.lift));
        let _ = writeln!(
            svg,
            "<circle class=\"{shade}\" data-rule=\"{rank}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn axes(svg: &mut String, rows: u64, x: &Axis, y: &Axis) {
    svg.push_str("<g class=\"axes\">\n");
    for tick in x.ticks() {
        let (place, label) = (x.place(tick), percent(tick));
        let _ = writeln!(svg, "<line x1=\"{place:.1}\" y1=\"{TOP}\" x2=\"{place:.1}\" y2=\"{BOTTOM}\"/>");
        let _ = writeln!(svg, "<text x=\"{place:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", BOTTOM + 20.0);
    }
    for tick in y.ticks() {
        let (place, label) = (y.place(tick), percent(tick));
        let _ = writeln!(svg, "<line x1=\"{LEFT}\" y1=\"{place:.1}\" x2=\"{RIGHT}\" y2=\"{place:.1}\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 8.0, place + 4.0);
    }
    let _ = writeln!(svg, "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>");
    let middle = (LEFT + RIGHT) / 2.0;
    let scale = if x.log { ", logarithmic" } else { "" };
    let _ = writeln!(
        svg,
        "<text class=\"name\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">Support: share of the {} transactions\
         {scale}</text>",
        HEIGHT - 10.0,
        count(rows)
    );
    let middle = (TOP + BOTTOM) / 2.0;
    let _ = writeln!(
        svg,
        "<text class=\"name\" transform=\"translate(14 {middle}) rotate(-90)\" text-anchor=\"middle\">Confidence</text>\n</g>"
    );
}

/// One axis: numbers `low..=high` at `from..=to` on the page, a little wider than the numbers that it shows.
struct Axis {
    least: f64,
    most: f64,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    /// Logarithmic, where that is wanted, if the numbers span more than a decade.
    fn new(numbers: impl Iterator<Item = f64> + Clone, from: f64, to: f64, may_log: bool) -> Axis {
        let least = numbers.clone().fold(f64::INFINITY, f64::min);
        let most = numbers.fold(f64::NEG_INFINITY, f64::max);
        let (least, most) = if least > most { (0.0, 1.0) } else { (least, most) };
        let log = may_log && least > 0.0 && most > 10.0 * least;
        let (low, high) = if log {
            let pad = (most / least).powf(0.04);
            (least / pad, most * pad)
        } else {
            if most > least {
                (least - (most - least) * 0.04, most + (most - least) * 0.04)
            } else {
                // Around a single number, but not beyond what a share can be.
                ((least - 0.1 * most.abs() - 0.001).max(0.0), (most + 0.1 * most.abs() + 0.001).min(1.0))
            }
        };
        Axis { least, most, low, high, from, to, log }
    }

    fn place(&self, number: f64) -> f64 {
        let part = if self.log {
            (number / self.low).ln() / (self.high / self.low).ln()
        } else {
            (number - self.low) / (self.high - self.low)
        };
        self.from + part * (self.to - self.from)
    }

    /// Round numbers on it. None is below 0 or above 100 %.
    fn ticks(&self) -> Vec<f64> {
        if self.log { self.log_ticks() } else { self.even_ticks() }
    }

    fn even_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|part| part * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|k| k as f64 * step).filter(|tick| (0.0..=1.0).contains(tick)).collect()
    }

    /// Powers of ten, and between them as many as there is space for.
    fn log_ticks(&self) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let parts: &[f64] = match (self.high / self.low).log10() {
            ..1.7 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            ..4.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let all = (first..=last).flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

/// Colours by lift. Those of one and more share the range evenly by ratio; below one there is a colour of its own.
struct Shades {
    low: f64,
    high: f64,
    less: bool,
}

impl Shades {
    fn new(lifts: impl Iterator<Item = f64> + Clone) -> Shades {
        let more = lifts.clone().filter(|lift| *lift >= 1.0);
        let low = more.clone().fold(f64::INFINITY, f64::min);
        Shades { low, high: more.fold(1.0, f64::max), less: lifts.clone().any(|lift| lift < 1.0) }
    }

    /// The class of the colour.
    fn of(&self, lift: f64) -> String {
        if lift < 1.0 {
            return "less".into();
        }
        let part = (lift / self.low).ln() / (self.high / self.low).ln();
        // Of a single lift the part is no number: then it counts as the highest.
        let shade = if part.is_nan() { SHADES - 1 } else { ((part * SHADES as f64) as usize).min(SHADES - 1) };
        format!("l{shade}")
    }

    fn legend(&self, svg: &mut String) {
        let edge = |shade: usize| self.low * (self.high / self.low).powf(shade as f64 / SHADES as f64);
        let edges = factors(&(0..=SHADES).map(edge).collect::<Vec<_>>());
        let mut lines: Vec<(String, String)> = Vec::new();
        if self.high > self.low {
            let line = |shade: usize| (format!("l{shade}"), format!("{} to {}", edges[shade], edges[shade + 1]));
            lines.extend((0..SHADES).rev().map(line));
        } else if self.low.is_finite() {
            lines.push((self.of(self.low), factor(self.low)));
        }
        if self.less {
            lines.push(("less".into(), "less than 1".into()));
        }
        let left = RIGHT + 24.0;
        let _ = writeln!(svg, "<g class=\"key\">\n<text class=\"name\" x=\"{left}\" y=\"{}\">Lift</text>", TOP + 12.0);
        for (line, (shade, label)) in lines.iter().enumerate() {
            let y = TOP + 34.0 + 24.0 * line as f64;
            let _ = writeln!(svg, "<circle class=\"{shade}\" cx=\"{}\" cy=\"{y}\" r=\"7\"/>", left + 7.0);
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\">{label}</text>", left + 22.0, y + 4.0);
        }
        svg.push_str("</g>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifts_that_are_close_have_a_legend_that_tells_them_apart() {
        let mut svg = String::new();
        Shades::new([1.0, 1.01, 1.02].into_iter()).legend(&mut svg);
        assert!(svg.contains("1.017 to 1.020") && svg.contains("1.000 to 1.003"), "{svg}");
    }

    #[test]
    fn an_axis_around_a_single_share_ends_where_shares_do() {
        for share in [1.0, 0.95, 0.5, 0.0001, 0.0] {
            let axis = Axis::new([share].into_iter(), 0.0, 100.0, false);
            assert!((0.0..=share).contains(&axis.low) && (share..=1.0).contains(&axis.high), "{share}");
            assert!(axis.low < axis.high && (0.0..=100.0).contains(&axis.place(share)), "{share}");
        }
    }
}
