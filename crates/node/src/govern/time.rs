//! Days and moments, as policies, approvals, ledgers and receipts write them: in UTC.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::base::text::shown;

/// A day of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day(Date);

impl Day {
    /// Returns this day, in UTC.
    pub fn today() -> Day {
        Day::of(Timestamp::now())
    }

    /// Returns the day of a moment.
    pub fn of(now: Timestamp) -> Day {
        Day(now.to_zoned(TimeZone::UTC).date())
    }

    /// Returns the day so many days earlier, or the first one that there is.
    pub fn before(self, days: u32) -> Day {
        Day(self.0.saturating_sub(jiff::Span::new().days(days)))
    }

    /// Returns the day so many days later, or the last one that there is.
    pub fn after(self, days: u32) -> Day {
        Day(self.0.saturating_add(jiff::Span::new().days(days)))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Day> for String {
    fn from(day: Day) -> String {
        day.to_string()
    }
}

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Day, String> {
        text.parse()
    }
}

impl std::str::FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Day, String> {
        let day = text.parse().ok().filter(|_| text.len() == "2026-12-31".len());
        day.map(Day).ok_or_else(|| format!("\"{}\" is no day: write it as in \"2026-12-31\"", shown(text)))
    }
}

/// A moment to the second, written in UTC in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcTime(Timestamp);

impl UtcTime {
    /// Returns this moment, in UTC.
    pub fn now() -> UtcTime {
        UtcTime(Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default())
    }

    /// Returns the day of the moment.
    pub fn day(self) -> Day {
        Day::of(self.0)
    }

    /// Returns the moment as policies are asked about it.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl From<UtcTime> for String {
    fn from(moment: UtcTime) -> String {
        moment.to_string()
    }
}

impl TryFrom<String> for UtcTime {
    type Error = String;

    fn try_from(text: String) -> Result<UtcTime, String> {
        let read = text.parse().map(UtcTime).ok().filter(|read| read.to_string() == text);
        read.ok_or_else(|| format!("\"{}\" is no time: it is written as in \"2026-12-31T08:05:09Z\"", shown(&text)))
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}
