//! Metrics of the helper.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Helper;
use crate::status::{MetricsPage, Watched};

impl Watched for Helper {
    fn health(&self) -> (bool, String) {
        match (self.open.load(Ordering::Acquire), self.drain.is_cancelled()) {
            (true, false) => (true, "ok\n".to_owned()),
            (true, true) => (false, format!("ending, with {} under way\n", self.running())),
            (false, _) => (false, "not open\n".to_owned()),
        }
    }

    fn metrics(&self) -> String {
        let mut page = MetricsPage::new("helper");
        let of = |number: &AtomicU64| vec![(String::new(), number.load(Ordering::Relaxed))];
        let by_job = |value: &dyn Fn(usize) -> u64| -> Vec<(String, u64)> {
            (0..self.desks.len()).map(|job| (format!("{{job=\"{}\"}}", job + 1), value(job))).collect()
        };
        page.tell("runs_finished_total", "counter", "Runs that all parties finished.", &of(&self.numbers.finished));
        page.tell("runs_failed_total", "counter", "Runs that somebody ended.", &of(&self.numbers.failed));
        page.tell("refused_total", "counter", "Connections of strangers.", &of(&self.numbers.refused));
        page.tell("received_bytes_total", "counter", "Bytes that parties left.", &of(&self.numbers.received));
        page.tell("sent_bytes_total", "counter", "Bytes that parties collected.", &of(&self.numbers.sent));
        let running = by_job(&|job| u64::from(self.desks[job].is_running()));
        page.tell("running", "gauge", "Whether a run is under way.", &running);
        page.tell(
            "parties_here",
            "gauge",
            "Parties that are connected.",
            &by_job(&|job| self.desks[job].now().0 as u64),
        );
        page.tell("kept_bytes", "gauge", "Bytes that were left in the run.", &by_job(&|job| self.desks[job].now().1));
        page.text()
    }
}
