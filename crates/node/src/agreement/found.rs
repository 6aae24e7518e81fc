//! Results of a party as data. The caller that runs a party writes them, prints them, or hands them on.

use serde_json::{Map, Value, json};
use tacita_core::Result;
use zeroize::Zeroizing;

use super::{JobSpec, Protocol};
use crate::base::text::json;
use crate::table::output::{RowSource, numbers};
use crate::table::{Selection, Table};

/// Something that is made when it is needed.
pub type Deferred<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// Results of a party's run.
pub struct RunResult {
    /// The answer. It is made when the connections have ended: what fails in that is no concern of the peers.
    pub answer: Deferred<Answer>,
    /// The protocol that ran: of several, the one with most to do.
    pub protocol: Protocol,
    /// Sentences that state what the party learned.
    pub learned: Vec<String>,
    /// Number of rows that both parties have, where rows are aligned by ids.
    pub common: Option<usize>,
    /// Flights that no connection of this party has seen.
    pub further_rounds: u32,
    /// Further entries of the report, by key.
    pub extras: Map<String, Value>,
    /// A page for readers, in a job that has one.
    pub page: Option<Box<dyn ResultPage>>,
}

/// The answer to the question that a job asks.
pub enum Answer {
    /// No answer: the party is not meant to learn.
    Nothing,
    /// Rows of the party's table.
    Rows(Box<dyn RowSource>),
    /// Numbers, or what is known of them. They are said even where the table cannot be written.
    Numbers {
        /// JSON form for the report.
        json: Value,
        /// Text form for printing.
        line: String,
        /// Table form, built on demand.
        table: Deferred<Table>,
    },
    /// A share, for a file that nobody else may read.
    Share {
        /// Number of values in the share.
        numbers: usize,
        /// Contents of the share file.
        file: Zeroizing<String>,
    },
    /// Tables, of which some stand beside the main one. Their numbers are said even where they cannot be written.
    Tables {
        /// Row counts of the tables, as they stand in the report.
        json: Value,
        /// Row counts as they are printed.
        line: String,
        /// Main table, built on demand.
        main: Deferred<Table>,
        /// The others, each with what is put into its file's name.
        beside: Vec<(&'static str, Deferred<Table>)>,
    },
}

/// A page that explains a result to readers.
pub trait ResultPage: Send {
    /// Returns the page as HTML. `choice` is the choice that ran.
    fn html(&self, job: &JobSpec, choice: &str) -> String;
}

impl RunResult {
    /// Returns a result without an answer.
    pub fn nothing(protocol: Protocol, learned: Vec<String>) -> RunResult {
        RunResult::new(protocol, learned, || Ok(Answer::Nothing))
    }

    /// An answer that `answer` makes, and nothing besides.
    pub fn new(
        protocol: Protocol,
        learned: Vec<String>,
        answer: impl FnOnce() -> Result<Answer> + Send + 'static,
    ) -> RunResult {
        RunResult {
            answer: Box::new(answer),
            protocol,
            learned,
            common: None,
            further_rounds: 0,
            extras: Map::new(),
            page: None,
        }
    }

    /// Adds to what the report says.
    pub fn with(mut self, key: &str, value: impl serde::Serialize) -> Result<RunResult> {
        let value = json(serde_json::to_value(value))?;
        self.extras.insert(key.to_owned(), value);
        Ok(self)
    }
}

impl Answer {
    /// Numbers, each under its name, in a table of one row.
    pub fn numbers<N: AsRef<str> + Send + 'static>(json: Value, line: String, values: Vec<(N, String)>) -> Answer {
        Answer::Numbers { json, line, table: Box::new(move || numbers(&values)) }
    }

    /// Instead of a number that is below the job's `min_result`.
    pub fn below(what: &str, limit: u64) -> Answer {
        let line = format!("{what} below {limit}");
        Answer::numbers(json!({ "below": limit }), line, vec![("below", limit.to_string())])
    }

    /// Rows of a table.
    pub fn rows(rows: Selection) -> Answer {
        Answer::Rows(Box::new(rows))
    }
}
