//! What the library says on the way goes to Python's `logging`, as the logger `tacita`.

use std::fmt::{Debug, Write};

use pyo3::prelude::*;
use tacita_node::watch::WITH_VALUES;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Has everything said in this process go there.
pub fn install() {
    // Fails where another library of this process, built of the same parts, was first.
    let _ = tracing_subscriber::registry().with(ToPython).try_init();
}

struct ToPython;

impl<S: Subscriber> Layer<S> for ToPython {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
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
        // None where the interpreter is ending.
        Python::try_attach(|py| {
            if let Err(error) = say(py, level, &message.0) {
                error.write_unraisable(py, None);
            }
        });
    }
}

fn say(py: Python<'_>, level: u8, message: &str) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("tacita",))?;
    if logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
        logger.call_method1("log", (level, "%s", message))?;
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
