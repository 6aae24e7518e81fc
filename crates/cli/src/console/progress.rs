//! Progress of a run: a bar on a terminal, a line now and then elsewhere.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tacita_node::base::text;
use tacita_node::watch::{NoProgress, ProgressSink, ProgressView, Snapshot};

use super::{BARS, Log, LogOptions};

/// Interval between progress lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The screen that suits the voice and the terminal.
pub fn screen(voice: LogOptions) -> Arc<dyn ProgressSink> {
    if voice.quiet {
        Arc::new(NoProgress)
    } else if std::io::stderr().is_terminal() && voice.log == Log::Text {
        Arc::new(Terminal)
    } else {
        Arc::new(Lines)
    }
}

/// A terminal, with a bar for each.
#[derive(Debug)]
struct Terminal;

/// A bar. The phase is the one that it shows.
struct Bar {
    bar: ProgressBar,
    name: String,
    phase: String,
}

impl ProgressSink for Terminal {
    fn open(&self, name: Option<&str>) -> Box<dyn ProgressView> {
        Box::new(Bar { bar: BARS.add(ProgressBar::hidden()), name: prefix(name), phase: String::new() })
    }
}

impl ProgressView for Bar {
    fn show(&mut self, now: &Snapshot) {
        if now.total == 0 {
            return;
        }
        if self.phase != now.phase {
            self.bar = start_bar(&self.bar, format!("{}{}", self.name, now.phase));
            self.phase.clone_from(&now.phase);
        }
        self.bar.set_length(now.total);
        self.bar.set_position(now.done);
        self.bar.set_message(traffic(now));
    }
}

/// Takes the bar off the screen.
impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A new bar in place of the last phase's, so that rate and time left are the new phase's own.
fn start_bar(last: &ProgressBar, prefix: String) -> ProgressBar {
    last.finish_and_clear();
    BARS.remove(last);
    let template = "{prefix:24!} {wide_bar} {human_pos}/{human_len}, {rate}, {msg}, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = write!(out, "{}/s", text::count(state.per_sec() as u64));
    };
    BARS.add(ProgressBar::new(0).with_style(style.with_key("rate", rate)).with_prefix(prefix))
}

/// The log, to which a line is written when the time has come.
#[derive(Debug)]
struct Lines;

struct LinesOf {
    name: String,
    last: Instant,
}

impl ProgressSink for Lines {
    fn open(&self, name: Option<&str>) -> Box<dyn ProgressView> {
        Box::new(LinesOf { name: prefix(name), last: Instant::now() })
    }
}

impl ProgressView for LinesOf {
    fn show(&mut self, now: &Snapshot) {
        if self.last.elapsed() >= LINE_INTERVAL && now.total > 0 {
            self.last = Instant::now();
            let (done, total) = (text::count(now.done), text::count(now.total));
            let percent = now.done * 100 / now.total;
            tracing::info!("{}{}: {done} of {total} ({percent} %), {}", self.name, now.phase, traffic(now));
        }
    }
}

/// The parent process, which shows it.
#[derive(Debug)]
pub struct ParentRelay;

impl ProgressSink for ParentRelay {
    fn open(&self, _name: Option<&str>) -> Box<dyn ProgressView> {
        Box::new(ParentRelay)
    }
}

impl ProgressView for ParentRelay {
    fn show(&mut self, now: &Snapshot) {
        if let Ok(line) = now.relay() {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

/// Returns the name of the party whose progress it is, and a blank; empty if there is no doubt.
fn prefix(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("{name} "))
}

fn traffic(now: &Snapshot) -> String {
    match now.sent + now.received {
        0 => "on disk".into(),
        _ => format!("{} out, {} in", text::bytes(now.sent), text::bytes(now.received)),
    }
}
