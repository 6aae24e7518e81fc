//! Progress of a run, for displays: it is polled from time to time, and shown where the caller says. The module also
//! holds warnings that may show one of the own values.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tacita_core::channel::{Handle, Traffic};
use tacita_core::{Progress, Result};

use crate::base::text::json;
use crate::table::Warning;

/// Interval at which a channel is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Prefix of the lines with which a simulated party reports its progress to its parent.
const RELAY: &str = "progress ";

/// Progress of a protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Name of the current phase.
    pub phase: String,
    /// Amount of the phase that is done.
    pub done: u64,
    /// Total amount of work in the phase; 0 if that is not known.
    pub total: u64,
    /// Number of bytes sent.
    pub sent: u64,
    /// Number of bytes received.
    pub received: u64,
}

impl Snapshot {
    fn of(channel: &Handle) -> Snapshot {
        let ((phase, done, total), traffic) = (channel.progress().read(), channel.traffic());
        Snapshot { phase: phase.into(), done: done.min(total), total, sent: traffic.sent, received: traffic.received }
    }

    /// Combines the progress of several channels of one job. The phase is that of a channel that is not done; the
    /// amounts are sums over all channels in it.
    fn of_all(channels: &[Handle]) -> Snapshot {
        let each: Vec<_> = channels.iter().map(Snapshot::of).collect();
        let busy = each.iter().filter(|one| one.total > 0).min_by_key(|one| one.done == one.total);
        let phase = busy.map_or_else(String::new, |one| one.phase.clone());
        let same = || each.iter().filter(|one| one.phase == phase);
        Snapshot {
            done: same().map(|one| one.done).sum(),
            total: same().map(|one| one.total).sum(),
            sent: each.iter().map(|one| one.sent).sum(),
            received: each.iter().map(|one| one.received).sum(),
            phase,
        }
    }

    /// Takes a snapshot of work that is done without a peer.
    fn of_progress(progress: &Progress) -> Snapshot {
        let (phase, done, total) = progress.read();
        Snapshot { phase: phase.into(), done: done.min(total), total, sent: 0, received: 0 }
    }

    /// The line of standard error in which a simulated party tells it to its parent.
    pub fn relay(&self) -> Result<String> {
        let json = json(serde_json::to_string(self))?;
        Ok(format!("{RELAY}{json}"))
    }

    /// Parses a progress line of a simulated party, if it is one.
    pub fn relayed(line: &str) -> Option<Snapshot> {
        serde_json::from_str(line.strip_prefix(RELAY)?).ok()
    }
}

/// The target of warnings that may show one of the own values, for people. Each has a twin with the target
/// [`WITHOUT_VALUES`], for logs that may be collected elsewhere: a subscriber shows one of the two.
pub const WITH_VALUES: &str = "tacita_node::with_values";

/// See [`WITH_VALUES`].
pub const WITHOUT_VALUES: &str = "tacita_node::without_values";

/// Warns this party's own user of something that may show one of its values.
pub fn warn_own_user(warning: &Warning) {
    tracing::warn!(target: WITH_VALUES, "{}", warning.text_for_own_user());
    tracing::warn!(target: WITHOUT_VALUES, "{}", warning.text_without_values());
}

/// Warnings of one table that is read for several keys: what holds for a column of two of them is said once.
#[derive(Debug, Default)]
pub struct Warned(Vec<Warning>);

impl Warned {
    /// Warns this party's own user, unless the same has been said.
    pub fn tell(&mut self, warning: Warning) {
        if !self.0.contains(&warning) {
            warn_own_user(&warning);
            self.0.push(warning);
        }
    }
}

/// Display on which the operator of a party shows its progress.
pub trait ProgressSink: fmt::Debug + Send + Sync {
    /// A place on it. `name` says whose progress is shown there, if there is doubt.
    fn open(&self, name: Option<&str>) -> Box<dyn ProgressView>;
}

/// A place where snapshots are shown until it is dropped.
pub trait ProgressView: Send {
    /// Shows a snapshot on the display.
    fn show(&mut self, now: &Snapshot);
}

/// A screen that nobody looks at.
#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn open(&self, _name: Option<&str>) -> Box<dyn ProgressView> {
        Box::new(NoProgress)
    }
}

impl ProgressView for NoProgress {
    fn show(&mut self, _now: &Snapshot) {}
}

/// Shows how far a channel's protocol has come until it is dropped.
pub struct Watcher {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts to watch a channel.
    pub fn start(channel: Handle, screen: Arc<dyn ProgressSink>) -> Watcher {
        Watcher::look(move || Snapshot::of(&channel), screen)
    }

    /// Watches the channels of one job together.
    pub fn of_several(channels: Vec<Handle>, screen: Arc<dyn ProgressSink>) -> Watcher {
        Watcher::look(move || Snapshot::of_all(&channels), screen)
    }

    /// Watches what is done without a peer.
    pub fn of_progress(progress: Arc<Progress>, screen: Arc<dyn ProgressSink>) -> Watcher {
        Watcher::look(move || Snapshot::of_progress(&progress), screen)
    }

    /// Watches what is done with several connections, of which `traffic` says what went over them all.
    pub fn of_connections(
        progress: Arc<Progress>,
        traffic: impl Fn() -> Traffic + Send + 'static,
        screen: Arc<dyn ProgressSink>,
    ) -> Watcher {
        let look = move || {
            let Traffic { sent, received, .. } = traffic();
            Snapshot { sent, received, ..Snapshot::of_progress(&progress) }
        };
        Watcher::look(look, screen)
    }

    fn look(look: impl Fn() -> Snapshot + Send + 'static, screen: Arc<dyn ProgressSink>) -> Watcher {
        let done = Arc::new(AtomicBool::new(false));
        let stop = done.clone();
        let thread = std::thread::spawn(move || {
            let mut display = screen.open(None);
            while !stop.load(Ordering::Acquire) {
                display.show(&look());
                std::thread::park_timeout(POLL_INTERVAL);
            }
            // How it ended: what is done sooner than it is looked at is shown too.
            display.show(&look());
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
