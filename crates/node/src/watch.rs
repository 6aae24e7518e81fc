//! How far a run has come, for whoever waits: it is looked at from time to time, and shown where the caller says. And warnings that
//! may show one of the own values.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tacita_core::channel::{Handle, Traffic};
use tacita_core::{Error, Progress, Result};

use crate::table::Warning;

/// How often a channel is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What begins the lines with which a simulated party tells its parent how far it is.
const RELAY: &str = "progress ";

/// How far a protocol has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What is being done.
    pub phase: String,
    /// How much of it is done.
    pub done: u64,
    /// How much there is to do; 0 if that is not known.
    pub total: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

impl Snapshot {
    fn of(channel: &Handle) -> Snapshot {
        let ((phase, done, total), traffic) = (channel.progress().read(), channel.traffic());
        Snapshot { phase: phase.into(), done: done.min(total), total, sent: traffic.sent, received: traffic.received }
    }

    /// Of several channels of one job: what one of them is at that is not done, and how much of the same all have done.
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

    /// Of something that is done without a peer.
    fn of_progress(progress: &Progress) -> Snapshot {
        let (phase, done, total) = progress.read();
        Snapshot { phase: phase.into(), done: done.min(total), total, sent: 0, received: 0 }
    }

    /// The line of standard error in which a simulated party tells it to its parent.
    pub fn relay(&self) -> Result<String> {
        let json = serde_json::to_string(self).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(format!("{RELAY}{json}"))
    }

    /// What such a line tells, if it is one.
    pub fn relayed(line: &str) -> Option<Snapshot> {
        serde_json::from_str(line.strip_prefix(RELAY)?).ok()
    }
}

/// The target of warnings that may show one of the own values, for people. Each has a twin with the target [`WITHOUT_VALUES`], for
/// logs that may be collected elsewhere: a subscriber shows one of the two.
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

/// Where whoever runs a party shows how far it has come.
pub trait Screen: fmt::Debug + Send + Sync {
    /// A place on it. `name` says whose progress is shown there, if there is doubt.
    fn open(&self, name: Option<&str>) -> Box<dyn Display>;
}

/// A place where snapshots are shown until it is dropped.
pub trait Display: Send {
    /// Shows a snapshot.
    fn show(&mut self, now: &Snapshot);
}

/// A screen that nobody looks at.
#[derive(Debug, Clone, Copy)]
pub struct Nowhere;

impl Screen for Nowhere {
    fn open(&self, _name: Option<&str>) -> Box<dyn Display> {
        Box::new(Nowhere)
    }
}

impl Display for Nowhere {
    fn show(&mut self, _now: &Snapshot) {}
}

/// Shows how far a channel's protocol has come until it is dropped.
pub struct Watcher {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches a channel.
    pub fn start(channel: Handle, screen: Arc<dyn Screen>) -> Watcher {
        Watcher::look(move || Snapshot::of(&channel), screen)
    }

    /// Watches the channels of one job together.
    pub fn of_several(channels: Vec<Handle>, screen: Arc<dyn Screen>) -> Watcher {
        Watcher::look(move || Snapshot::of_all(&channels), screen)
    }

    /// Watches what is done without a peer.
    pub fn of_progress(progress: Arc<Progress>, screen: Arc<dyn Screen>) -> Watcher {
        Watcher::look(move || Snapshot::of_progress(&progress), screen)
    }

    /// Watches what is done with several connections, of which `traffic` says what went over them all.
    pub fn of_connections(
        progress: Arc<Progress>,
        traffic: impl Fn() -> Traffic + Send + 'static,
        screen: Arc<dyn Screen>,
    ) -> Watcher {
        let look = move || {
            let Traffic { sent, received, .. } = traffic();
            Snapshot { sent, received, ..Snapshot::of_progress(&progress) }
        };
        Watcher::look(look, screen)
    }

    fn look(look: impl Fn() -> Snapshot + Send + 'static, screen: Arc<dyn Screen>) -> Watcher {
        let done = Arc::new(AtomicBool::new(false));
        let stop = done.clone();
        let thread = std::thread::spawn(move || {
            let mut display = screen.open(None);
            while !stop.load(Ordering::Acquire) {
                display.show(&look());
                std::thread::park_timeout(LOOK);
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
