//! Messages of the program while it works, on standard error: progress bars on a terminal, plain lines elsewhere. With
//! `--log json` they are JSON lines, with `--quiet` nothing but warnings and errors, with `--verbose` more. They never
//! hold keys, items or values.

mod json;
mod progress;

use std::fmt;
use std::io::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

use indicatif::MultiProgress;
use tacita_core::{Error, Result};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use self::json::JsonLines;
use tacita_node::base::text::harmless;
use tacita_node::watch::{WITH_VALUES, WITHOUT_VALUES};

pub use progress::{ParentRelay, screen};

/// The bars on the screen, so that a line can be written without tearing them.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Log {
    /// Lines for people to read.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Amount and form of the log messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogOptions {
    /// Nothing but warnings and errors.
    pub quiet: bool,
    /// Also how each batch and each connection fares.
    pub verbose: bool,
    /// Text or JSON lines.
    pub log: Log,
}

/// Writes a line to standard output. A reader that has gone, as `head` does, is no reason to end a job; a full disk is.
pub fn print(line: impl fmt::Display) -> Result<()> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::Input(format!("standard output: cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// A panic hook that keeps where it happened for [`last_panic`], and prints nothing: a panic that is caught, as those
/// of file readers on corrupt files, is no news for the user.
pub fn note_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
    *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = format!("a panic{place}");
}

/// Returns the location of the last panic. Its message is not included, because it may hold data.
pub fn last_panic() -> String {
    LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Sets up logging for this process.
pub fn init(LogOptions { quiet, verbose, log }: LogOptions) {
    let level = match (quiet, verbose) {
        (true, _) => Level::WARN,
        (false, false) => Level::INFO,
        (false, true) => Level::DEBUG,
    };
    let unwanted = if log == Log::Text { WITHOUT_VALUES } else { WITH_VALUES };
    let builder = tracing_subscriber::fmt().with_max_level(level).with_writer(BetweenBars { unwanted });
    // A second call, as in tests, keeps the first's settings.
    let _ = match log {
        Log::Text => builder.event_format(PlainLines).try_init(),
        Log::Json => builder.fmt_fields(JsonFields::new()).event_format(JsonLines).try_init(),
    };
}

/// Writes whole lines to standard error, with the bars out of the way.
struct BetweenBars {
    /// The target of events that are not shown.
    unwanted: &'static str,
}

struct Line {
    bytes: Vec<u8>,
    shown: bool,
}

impl<'a> MakeWriter<'a> for BetweenBars {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { bytes: Vec::new(), shown: true }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> Line {
        // What others' crates do inside is nobody's business unless it goes wrong.
        let (own, serious) = (event.target().starts_with("tacita"), *event.level() <= Level::WARN);
        Line { bytes: Vec::new(), shown: event.target() != self.unwanted && (own || serious) }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown {
            BARS.suspend(|| {
                let _ = std::io::stderr().write_all(&self.bytes);
            });
        }
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
        writeln!(writer, "{prefix}{}", harmless(&message.0))
    }
}
