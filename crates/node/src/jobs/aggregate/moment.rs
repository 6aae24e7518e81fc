//! A time as RFC 3339 writes it.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Visitor};
use tacita_core::Error;

use crate::base::text::shown;

/// A moment, to the second. Read as `2026-11-30T00:00Z`, `2026-11-30 01:30:00+01:00`; displayed in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970, leap seconds aside.
    seconds: u64,
}

const DAY: i64 = 86_400;

impl Moment {
    /// Returns the moment of the system's clock, truncated to the second; the beginning of 1970 for earlier times.
    pub fn at(time: SystemTime) -> Moment {
        Moment { seconds: time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()) }
    }

    /// The same for the system's clock.
    pub fn system_time(self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.seconds)
    }

    /// Date, then time with or without seconds, then `Z` or the distance from UTC; none of other texts, and none before 1970.
    fn parse(text: &str) -> Option<Moment> {
        let text = text.trim();
        let (date, rest) = text.split_at_checked(10)?;
        let rest = rest.strip_prefix(['T', 't', ' '])?;
        let at = rest.find(['Z', 'z', '+', '-'])?;
        let (time, zone) = rest.split_at(at);
        let [year, month, day] = numbers(date, '-', &[4, 2, 2])?[..] else { return None };
        let time = match time.split_once('.') {
            // Parts of a second are cut off.
            Some((whole, part)) if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) => {
                numbers(whole, ':', &[2, 2, 2])?
            }
            Some(_) => return None,
            None => numbers(time, ':', &[2, 2, 2]).or_else(|| numbers(time, ':', &[2, 2]))?,
        };
        let (hour, minute, second) = (time[0], time[1], time.get(2).copied().unwrap_or(0));
        let offset = match zone {
            "Z" | "z" => 0,
            _ => {
                let [hours, minutes] = numbers(&zone[1..], ':', &[2, 2])?[..] else { return None };
                let sign = if zone.starts_with('-') { -1 } else { 1 };
                (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))?
            }
        };
        let good = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
        if !good || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = days_before(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
        u64::try_from(seconds).ok().map(|seconds| Moment { seconds })
    }
}

/// Numbers of these lengths with a sign between them.
fn numbers(text: &str, between: char, lengths: &[usize]) -> Option<Vec<i64>> {
    let parts: Vec<&str> = text.split(between).collect();
    let good =
        |(part, length): (&&str, &usize)| part.len() == *length && part.bytes().all(|byte| byte.is_ascii_digit());
    if parts.len() != lengths.len() || !parts.iter().zip(lengths).all(good) {
        return None;
    }
    parts.into_iter().map(|part| part.parse().ok()).collect()
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the beginning of 1970 to a date.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let years: i64 = year - 1;
    let leap = years / 4 - years / 100 + years / 400;
    let of_year: i64 = (1..month).map(|month| days_in(year, month)).sum();
    // From the year 1 to 1970 there are so many days.
    years * 365 + leap + of_year + day - 1 - 719_162
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds as i64;
        let (mut days, time) = (seconds / DAY, seconds % DAY);
        let mut year = 1970;
        let of_year = |year| 365 + i64::from(is_leap(year));
        while days >= of_year(year) {
            days -= of_year(year);
            year += 1;
        }
        let mut month = 1;
        while days >= days_in(year, month) {
            days -= days_in(year, month);
            month += 1;
        }
        let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
        write!(f, "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
    }
}

impl FromStr for Moment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Moment, Error> {
        Moment::parse(text).ok_or_else(|| {
            Error::Input(format!(
                "\"{}\" is no time from 1970 on: write date, time and zone, as in \"2026-11-30T18:00Z\"",
                shown(text)
            ))
        })
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Moment;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time in quotes, as \"2026-11-30T18:00Z\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Moment, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, shown) in [
            ("2026-11-30T00:00Z", "2026-11-30T00:00:00Z"),
            ("2026-11-30T00:00:07Z", "2026-11-30T00:00:07Z"),
            ("2026-11-30 01:30:00+01:30", "2026-11-30T00:00:00Z"),
            ("2024-02-29t23:59:59.25-00:30", "2024-03-01T00:29:59Z"),
            ("1970-01-01T00:00Z", "1970-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ] {
            let read: Moment = text.parse().unwrap();
            assert_eq!(read.to_string(), shown, "{text}");
            assert_eq!(read.to_string().parse::<Moment>().unwrap(), read);
        }
        let now: Moment = "2026-11-30T00:00Z".parse().unwrap();
        assert_eq!(Moment::at(now.system_time() + Duration::from_millis(900)), now);
        // As `date -u -d 2026-11-30 +%s` has it.
        assert_eq!("2026-11-30T00:00Z".parse::<Moment>().unwrap().seconds, 1_795_996_800);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026-11-30",
            "2026-11-30T00:00",
            "2026-11-31T00:00Z",
            "2025-02-29T00:00Z",
            "2026-13-01T00:00Z",
            "2026-11-30T24:00Z",
            "2026-11-30T00:60Z",
            "2026-11-30T00:00:60Z",
            "2026-11-30T00:00+1:00",
            "2026-11-30T00:00+24:00",
            "2026-11-30T00:00.5Z",
            "1969-12-31T23:59Z",
            "30.11.2026 00:00Z",
            "2026-11-30T00:00ZZ",
            "2026-11-3éT00:00Z",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
