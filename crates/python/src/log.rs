//! Log records of the library, sent to Python's `logging` as the logger `tacita`. Each record has the job and the party
//! that it is of, where it is of one. Warnings to a party are kept for its report, too.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use tacita_node::watch::WITH_VALUES;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Span};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::words::as_arguments;

/// Name of the span of a run.
const RUN: &str = "tacita_run";

/// Maximum number of warnings kept of a run.
const MAX_WARNINGS: usize = 100;

/// Warnings of the runs under way, by run number. Never locked while anything is logged.
static WARNINGS: Mutex<BTreeMap<u64, Vec<String>>> = Mutex::new(BTreeMap::new());

fn warnings() -> MutexGuard<'static, BTreeMap<u64, Vec<String>>> {
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has everything said in this process go there.
pub fn install() {
    // Fails where another library of this process, built of the same parts, was first.
    let _ = tracing_subscriber::registry().with(ToPython).try_init();
}

/// A run of a job, or a party's part in it: what is said within it is said of it.
pub struct RunLog {
    number: u64,
    span: Span,
}

impl RunLog {
    /// Creates the log scope of a party, or of the whole job where `party` is empty.
    pub fn of(job: &str, party: &str) -> RunLog {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        warnings().insert(number, Vec::new());
        RunLog { number, span: tracing::error_span!(RUN, number, job, party) }
    }

    /// Does something within it.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.span.in_scope(work)
    }

    /// Returns the warnings up to now, without values of tables.
    pub fn warnings(&self) -> Vec<String> {
        warnings().get(&self.number).cloned().unwrap_or_default()
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        warnings().remove(&self.number);
    }
}

struct ToPython;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ToPython {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() != RUN {
            return;
        }
        let mut run = Run::default();
        attributes.record(&mut run);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(run);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        // Handlers may send records elsewhere: of two twins they get the one without values.
        if !metadata.target().starts_with("tacita") || metadata.target() == WITH_VALUES {
            return;
        }
        let level = match *metadata.level() {
            Level::ERROR => 40,
            Level::WARN => 30,
            Level::INFO => 20,
            _ => 10,
        };
        let mut message = Message(String::new());
        event.record(&mut message);
        let message = as_arguments(&message.0);
        let scope = context.event_scope(event);
        let run = scope.and_then(|mut spans| spans.find_map(|span| span.extensions().get::<Run>().cloned()));
        if let Some(run) = run.as_ref().filter(|_| level >= 30) {
            run.warn(&message);
        }
        // None where the interpreter is ending.
        Python::try_attach(|py| {
            if let Err(error) = say(py, level, &message, &run.unwrap_or_default()) {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// Run and party that a record belongs to.
#[derive(Default, Clone)]
struct Run {
    number: u64,
    job: String,
    party: String,
}

impl Run {
    fn warn(&self, message: &str) {
        let mut all = warnings();
        let Some(own) = all.get_mut(&self.number) else { return };
        if own.len() < MAX_WARNINGS && !own.iter().any(|one| one == message) {
            own.push(message.to_owned());
        }
    }

    /// Fields that every record has, so that formats may name them.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        [("job", known(&self.job)), ("party", known(&self.party))].into_py_dict(py)
    }
}

impl Visit for Run {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "number" {
            self.number = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "job" => self.job = value.to_owned(),
            "party" => self.party = value.to_owned(),
            _ => (),
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

fn say(py: Python<'_>, level: u8, message: &str, run: &Run) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("tacita",))?;
    if logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
        let options = [("extra", run.fields(py)?)].into_py_dict(py)?;
        logger.call_method("log", (level, "%s", message), Some(&options))?;
    }
    Ok(())
}

/// The message of an event, with what else it says behind it.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
