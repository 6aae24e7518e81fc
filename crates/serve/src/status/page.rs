//! A page of metrics in the text format of Prometheus, version 0.0.4.
//!
//! It is written by hand: most values are read from where they stand anyway when somebody asks, so that a library's
//! registry would hold a second copy of them, and what is left is what this file has.
//!
//! No label holds what somebody sent, nor a name that a job file gives: what whoever reads metrics sees is words of
//! this program, and numbers.

use std::fmt::{Display, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tacita_node::base::usage;

/// Upper bounds of a histogram's buckets, in seconds.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0, 120.0];

/// A page of metrics that is being written.
pub struct MetricsPage {
    prefix: &'static str,
    text: String,
}

/// Histogram of the durations of a repeated operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Durations {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    total: Duration,
}

impl Durations {
    /// Adds one duration to the histogram.
    pub fn add(&mut self, one: Duration) {
        let seconds = one.as_secs_f64();
        if let Some(place) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[place] += 1;
        }
        self.count += 1;
        self.total += one;
    }
}

impl MetricsPage {
    /// One whose [`MetricsPage::tell`] names all begin with `tacita_PREFIX_`.
    pub fn new(prefix: &'static str) -> MetricsPage {
        MetricsPage { prefix, text: String::new() }
    }

    /// Adds a metric of this service with its values, each with [`labels`], if it has some.
    pub fn tell(&mut self, name: &str, kind: &str, help: &str, values: &[(String, impl Display)]) {
        self.all(&format!("tacita_{}_{name}", self.prefix), kind, help, values);
    }

    /// Adds a metric of this service with one value.
    pub fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.tell(name, kind, help, &[(String::new(), value)]);
    }

    /// Adds a metric that all services have, by its whole name.
    pub fn all(&mut self, name: &str, kind: &str, help: &str, values: &[(String, impl Display)]) {
        self.head(name, kind, help);
        for (labels, value) in values {
            let _ = writeln!(self.text, "{name}{labels} {value}");
        }
    }

    /// Adds a histogram that all services have; each of the durations has labels.
    pub fn durations(&mut self, name: &str, help: &str, all: &[(Vec<(&str, &str)>, Durations)]) {
        self.head(name, "histogram", help);
        for (of, durations) in all {
            let mut below = 0;
            let mut bucket = |bound: &str, count: u64| {
                let with = labels(&[&of[..], &[("le", bound)]].concat());
                let _ = writeln!(self.text, "{name}_bucket{with} {count}");
            };
            for (bound, count) in BOUNDS.iter().zip(durations.buckets) {
                below += count;
                bucket(&bound.to_string(), below);
            }
            bucket("+Inf", durations.count);
            let (own, total) = (labels(of), durations.total.as_secs_f64());
            let _ = write!(self.text, "{name}_sum{own} {total}\n{name}_count{own} {}\n", durations.count);
        }
    }

    /// Adds what every process tells of itself, by the names that these have everywhere.
    pub fn process(&mut self) {
        self.all("process_cpu_seconds_total", "counter", "CPU time used.", &value(usage::cpu_time().as_secs_f64()));
        if let Some(bytes) = usage::memory() {
            self.all("process_resident_memory_bytes", "gauge", "Memory held.", &value(bytes));
        }
        let (open, most) = usage::files();
        if let Some(open) = open {
            self.all("process_open_fds", "gauge", "Files and connections that are open.", &value(open));
        }
        if let Some(most) = most {
            self.all("process_max_fds", "gauge", "Files and connections that may be open.", &value(most));
        }
    }

    /// Returns the text of the page.
    pub fn text(self) -> String {
        self.text
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }
}

/// A value without labels.
pub fn value<V>(value: V) -> [(String, V); 1] {
    [(String::new(), value)]
}

/// Labels as they are written: nothing where there are none.
pub fn labels(all: &[(&str, &str)]) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    match all {
        [] => String::new(),
        all => {
            let each: Vec<String> = all.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            format!("{{{}}}", each.join(","))
        }
    }
}

/// A moment in seconds since 1970.
pub fn seconds(moment: SystemTime) -> f64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_written_as_the_format_says() {
        let mut page = MetricsPage::new("test");
        page.one("things_total", "counter", "Things.", 3);
        let mut durations = Durations::default();
        [0, 3, 3, 400_000].into_iter().for_each(|milliseconds| durations.add(Duration::from_millis(milliseconds)));
        page.durations("tacita_waits_seconds", "Waits.", &[(vec![("of", "a\"b\\c\nd")], durations)]);
        let text = page.text();
        let expected = [
            "# HELP tacita_test_things_total Things.",
            "# TYPE tacita_test_things_total counter",
            "tacita_test_things_total 3",
            "# HELP tacita_waits_seconds Waits.",
            "# TYPE tacita_waits_seconds histogram",
            r#"tacita_waits_seconds_bucket{of="a\"b\\c\nd",le="0.001"} 1"#,
            r#"tacita_waits_seconds_bucket{of="a\"b\\c\nd",le="0.005"} 3"#,
        ];
        assert!(text.starts_with(&expected.join("\n")), "{text}");
        assert!(text.contains("le=\"120\"} 3\n") && text.contains("le=\"+Inf\"} 4\n"), "{text}");
        assert!(text.contains("_sum{of=\"a\\\"b\\\\c\\nd\"} 400.006\n"), "{text}");
        assert!(text.ends_with("_count{of=\"a\\\"b\\\\c\\nd\"} 4\n"), "{text}");
    }
}
