//! What the program says while it works, on standard error: progress bars on a terminal, plain lines elsewhere, JSON
//! lines with `--log json`, nothing but warnings and errors with `--quiet`. Never keys, items or values.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tacita_core::channel::Handle;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::text;

/// Lines between which nothing happens come this often where there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// The bars on the screen, so that a line can be written without tearing them.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Log {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes a line to standard output. A reader that has gone, as `head` does, is no reason to end a job.
pub fn print(line: impl fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// A panic hook that keeps where it happened for [`last_panic`], and prints nothing: a panic that is caught, as those
/// of file readers on corrupt files, is no news for the user.
pub fn note_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
    *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = format!("a panic{place}");
}

/// Where the last panic happened. Not its message, which may hold data.
pub fn last_panic() -> String {
    LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Sets up logging for this process. `quiet` leaves warnings and errors.
pub fn init(log: Log, quiet: bool) {
    let level = if quiet { Level::WARN } else { Level::INFO };
    let builder = tracing_subscriber::fmt().with_max_level(level).with_writer(BetweenBars);
    // A second call, as in tests, keeps the first's settings.
    let _ = match log {
        Log::Text => builder.event_format(PlainLines).try_init(),
        Log::Json => builder.json().flatten_event(true).with_target(false).with_current_span(false).try_init(),
    };
}

/// Shows how far a channel's protocol has come until it is dropped.
pub struct Watcher {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches a channel: a bar if standard error is a terminal and neither `quiet` nor JSON lines are wanted.
    pub fn start(channel: Handle, log: Log, quiet: bool) -> Watcher {
        let done = Arc::new(AtomicBool::new(false));
        let stop = done.clone();
        let thread = std::thread::spawn(move || {
            if std::io::stderr().is_terminal() && log == Log::Text && !quiet {
                draw_bar(&channel, &stop);
            } else if !quiet {
                log_lines(&channel, &stop);
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

fn draw_bar(channel: &Handle, stop: &AtomicBool) {
    let style = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} rows, {per_sec}, {msg}, {eta} left");
    let bar = BARS.add(ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())));
    let mut shown = "";
    while !stop.load(Ordering::Acquire) {
        let (phase, position, total) = channel.progress().read();
        if phase != shown {
            bar.reset();
            bar.set_prefix(phase);
            shown = phase;
        }
        let traffic = channel.traffic();
        bar.set_length(total);
        bar.set_position(position.min(total));
        bar.set_message(format!("{} out, {} in", text::bytes(traffic.sent), text::bytes(traffic.received)));
        std::thread::park_timeout(BAR_INTERVAL);
    }
    bar.finish_and_clear();
}

fn log_lines(channel: &Handle, stop: &AtomicBool) {
    let mut last = Instant::now();
    while !stop.load(Ordering::Acquire) {
        std::thread::park_timeout(PLAIN_INTERVAL.saturating_sub(last.elapsed()));
        if last.elapsed() < PLAIN_INTERVAL || stop.load(Ordering::Acquire) {
            continue;
        }
        last = Instant::now();
        let ((phase, position, total), traffic) = (channel.progress().read(), channel.traffic());
        if total > 0 {
            tracing::info!(
                "{phase}: {} of {} rows ({} %), {} out, {} in",
                text::count(position),
                text::count(total),
                position * 100 / total,
                text::bytes(traffic.sent),
                text::bytes(traffic.received)
            );
        }
    }
}

/// Writes whole lines to standard error, with the bars out of the way.
struct BetweenBars;

struct Line(Vec<u8>);

impl<'a> MakeWriter<'a> for BetweenBars {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(Vec::new())
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        BARS.suspend(|| {
            let _ = std::io::stderr().write_all(&self.0);
        });
    }
}

/// `error: ...`, `warning: ...`, or the bare text.
struct PlainLines;

impl<S, N> FormatEvent<S, N> for PlainLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let prefix = match *event.metadata().level() {
            Level::ERROR => "error: ",
            Level::WARN => "warning: ",
            _ => "",
        };
        writeln!(writer, "{prefix}{}", message.0)
    }
}
