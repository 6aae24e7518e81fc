//! How far a protocol has come, for whoever waits: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use tacita_core::Progress;
use tacita_core::channel::Handle;

use crate::base::text;
use crate::console::{BARS, Log, Voice};

/// How often a channel is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How often a line is written where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// What begins the lines with which a simulated party tells its parent how far it is.
const RELAY: &str = "progress ";

/// How far a protocol has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    phase: String,
    done: u64,
    total: u64,
    sent: u64,
    received: u64,
}

impl Snapshot {
    fn of(channel: &Handle) -> Snapshot {
        let ((phase, done, total), traffic) = (channel.progress().read(), channel.traffic());
        Snapshot { phase: phase.into(), done: done.min(total), total, sent: traffic.sent, received: traffic.received }
    }

    /// Of something that is done without a peer.
    fn of_progress(progress: &Progress) -> Snapshot {
        let (phase, done, total) = progress.read();
        Snapshot { phase: phase.into(), done: done.min(total), total, sent: 0, received: 0 }
    }

    /// What a simulated party told in a line of standard error, if that is what the line is.
    pub fn relayed(line: &str) -> Option<Snapshot> {
        serde_json::from_str(line.strip_prefix(RELAY)?).ok()
    }

    fn traffic(&self) -> String {
        match self.sent + self.received {
            0 => "on disk".into(),
            _ => format!("{} out, {} in", text::bytes(self.sent), text::bytes(self.received)),
        }
    }
}

/// Where snapshots are shown.
pub enum Display {
    /// On a terminal.
    Bar {
        /// The bar.
        bar: ProgressBar,
        /// Whose progress it is, and a blank; empty if there is no doubt.
        name: String,
        /// The phase that it shows.
        phase: String,
    },
    /// In the log, when the time has come.
    Lines {
        /// As above.
        name: String,
        /// When the last line was written.
        last: Instant,
    },
    /// To the parent process.
    Relay,
    /// Nowhere.
    Nowhere,
}

impl Display {
    /// The display that suits the voice and the terminal. `name` says whose progress it is, if there is doubt.
    pub fn new(voice: Voice, name: Option<&str>) -> Display {
        let name = name.map_or(String::new(), |name| format!("{name} "));
        if voice.relayed {
            Display::Relay
        } else if voice.quiet {
            Display::Nowhere
        } else if std::io::stderr().is_terminal() && voice.log == Log::Text {
            Display::Bar { bar: BARS.add(ProgressBar::hidden()), name, phase: String::new() }
        } else {
            Display::Lines { name, last: Instant::now() }
        }
    }

    /// Shows a snapshot.
    pub fn show(&mut self, now: &Snapshot) {
        match self {
            Display::Bar { .. } if now.total == 0 => (),
            Display::Bar { bar, name, phase } => {
                if *phase != now.phase {
                    *bar = start_bar(bar, format!("{name}{}", now.phase));
                    phase.clone_from(&now.phase);
                }
                bar.set_length(now.total);
                bar.set_position(now.done);
                bar.set_message(now.traffic());
            }
            Display::Lines { name, last } => {
                if last.elapsed() >= LINE_INTERVAL && now.total > 0 {
                    *last = Instant::now();
                    let (done, total) = (text::count(now.done), text::count(now.total));
                    let percent = now.done * 100 / now.total;
                    tracing::info!("{name}{}: {done} of {total} ({percent} %), {}", now.phase, now.traffic());
                }
            }
            Display::Relay => {
                if let Ok(json) = serde_json::to_string(now) {
                    let _ = writeln!(std::io::stderr(), "{RELAY}{json}");
                }
            }
            Display::Nowhere => (),
        }
    }
}

/// Takes the bar off the screen.
impl Drop for Display {
    fn drop(&mut self) {
        if let Display::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

/// A new bar in place of the last phase's, so that rate and time left are the new phase's own.
fn start_bar(last: &ProgressBar, prefix: String) -> ProgressBar {
    last.finish_and_clear();
    BARS.remove(last);
    let template = "{prefix:24!} {wide_bar} {human_pos}/{human_len}, {per_sec:.0}, {msg}, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    BARS.add(ProgressBar::new(0).with_style(style).with_prefix(prefix))
}

/// Shows how far a channel's protocol has come until it is dropped.
pub struct Watcher {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches a channel.
    pub fn start(channel: Handle, voice: Voice) -> Watcher {
        Watcher::look(move || Snapshot::of(&channel), voice)
    }

    /// Watches what is done without a peer.
    pub fn of_progress(progress: Arc<Progress>, voice: Voice) -> Watcher {
        Watcher::look(move || Snapshot::of_progress(&progress), voice)
    }

    fn look(look: impl Fn() -> Snapshot + Send + 'static, voice: Voice) -> Watcher {
        let done = Arc::new(AtomicBool::new(false));
        let stop = done.clone();
        let thread = std::thread::spawn(move || {
            let mut display = Display::new(voice, None);
            while !stop.load(Ordering::Acquire) {
                display.show(&look());
                std::thread::park_timeout(LOOK);
            }
        });
        Watcher { done, thread: Some(thread) }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
