//! Lines of a log for programs: one JSON object each.

use std::fmt;

use serde_json::{Map, Value};
use tacita_node::base::text::harmless;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// `timestamp`, `level`, `target` and `message`, and what the event and what it happened in say: `round`, for example.
pub(super) struct JsonLines;

/// The fields of an event.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), harmless(&format!("{value:?}")).into());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> FormatEvent<S, JsonFields> for JsonLines {
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields(Map::new());
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let formatted = extensions.get::<FormattedFields<JsonFields>>();
            if let Some(Ok(of_span)) = formatted.map(|formatted| serde_json::from_str::<Map<_, _>>(&formatted.fields)) {
                fields.0.extend(of_span);
            }
        }
        event.record(&mut fields);
        let metadata = event.metadata();
        for (name, value) in
            [("timestamp", time.as_str()), ("level", metadata.level().as_str()), ("target", metadata.target())]
        {
            fields.0.insert(name.to_owned(), value.into());
        }
        writeln!(writer, "{}", Value::Object(fields.0))
    }
}
