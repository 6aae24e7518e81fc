//! Cells as text: that which a spreadsheet program writes into CSV, but for dates, which are in their canonical text,
//! and for what is there for the eye alone, as thousands in groups.

use std::borrow::Cow;
use std::fmt::Write;

use calamine::{DataRef, ExcelDateTime, ExcelDateTimeType, Style};

/// Spreadsheet programs show so many digits of a number, and what stands behind is the noise of binary fractions.
const EXACT_DIGITS: usize = 15;

/// Integers above have digits that are not exact, and are written as powers of ten from here on.
const MAX_PLAIN: f64 = 1e21;

/// Dates from the first day of the year 10000 on are none.
const END_OF_DAYS: f64 = 2_958_466.0;

const DAY: i64 = 86_400_000;

/// The text of a cell; none if nothing is in it, or an error.
pub(super) fn text<'a>(value: &'a DataRef<'_>, style: Option<&Style>) -> Option<Cow<'a, str>> {
    let text = match value {
        DataRef::Empty | DataRef::Error(_) => return None,
        DataRef::SharedString(text) => Cow::Borrowed(*text),
        DataRef::String(text) | DataRef::DurationIso(text) => Cow::Borrowed(text.as_str()),
        DataRef::DateTimeIso(text) => Cow::Borrowed(without_midnight(text)),
        DataRef::Bool(true) => "TRUE".into(),
        DataRef::Bool(false) => "FALSE".into(),
        DataRef::Int(number) => number.to_string().into(),
        DataRef::Float(number) => padded(self::number(*number), style).into(),
        DataRef::DateTime(time) => date_time(time).into(),
    };
    (!text.is_empty()).then_some(text)
}

fn number(number: f64) -> String {
    match number {
        // Neither has a digit.
        _ if !number.is_finite() => String::new(),
        _ if number == 0.0 => "0".to_owned(),
        _ if number.abs() >= MAX_PLAIN => format!("{number:E}"),
        _ if number.fract() == 0.0 => number.to_string(),
        _ => {
            let rounded = format!("{number:.*e}", EXACT_DIGITS - 1);
            rounded.parse::<f64>().map_or(rounded, |number| number.to_string())
        }
    }
}

/// Pads a number with the leading zeros that a format of zeros alone asks for, such as `00000` for postal codes.
fn padded(number: String, style: Option<&Style>) -> String {
    let code = style.and_then(|style| style.number_format.as_ref()).map_or("", |format| &format.format_code);
    let is_zeros = code.len() > 1 && code.bytes().all(|byte| byte == b'0');
    if is_zeros && number.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("{number:0>width$}", width = code.len())
    } else {
        number
    }
}

fn date_time(time: &ExcelDateTime) -> String {
    let serial = time.as_f64();
    if !(time.is_duration() || (0.0..END_OF_DAYS).contains(&serial)) || serial.abs() >= END_OF_DAYS {
        return number(serial);
    }
    let milliseconds = (serial * DAY as f64).round() as i64;
    let mut text = String::new();
    if time.is_duration() {
        if milliseconds < 0 {
            text.push('-');
        }
        write_clock(&mut text, milliseconds.abs());
        return text;
    }
    let (days, rest) = (milliseconds / DAY, milliseconds % DAY);
    if days > 0 {
        let day = ExcelDateTime::new(days as f64, ExcelDateTimeType::DateTime, is_1904(time));
        let (year, month, day, ..) = day.to_ymd_hms_milli();
        let _ = write!(text, "{year:04}-{month:02}-{day:02}");
    }
    if days > 0 && rest > 0 {
        text.push('T');
    }
    if days == 0 || rest > 0 {
        write_clock(&mut text, rest);
    }
    text
}

/// Whether days are counted from 1904 on.
fn is_1904(time: &ExcelDateTime) -> bool {
    *time == ExcelDateTime::new(time.as_f64(), ExcelDateTimeType::DateTime, true)
}

/// `13:45:07`, with a fraction if there is one.
fn write_clock(text: &mut String, milliseconds: i64) {
    let (seconds, fraction) = (milliseconds / 1000, milliseconds % 1000);
    let _ = write!(text, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        let digits = format!("{fraction:03}");
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
}

/// A date that some programs write with a time of day it does not have.
fn without_midnight(text: &str) -> &str {
    match text.split_once('T') {
        Some((date, "00:00:00" | "00:00:00Z" | "00:00:00.000" | "00:00:00.000Z")) => date,
        _ => text,
    }
}

/// The name of a cell, as `B7`, by row and column from 0.
pub(super) fn cell_name((row, column): (u32, u32)) -> String {
    let (mut letters, mut left) = (Vec::new(), column + 1);
    while left > 0 {
        letters.push(b'A' + ((left - 1) % 26) as u8);
        left = (left - 1) / 26;
    }
    letters.reverse();
    format!("{}{}", String::from_utf8_lossy(&letters), row + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: DataRef<'_>) -> Option<String> {
        text(&value, None).map(Cow::into_owned)
    }

    #[test]
    fn numbers_are_written_as_a_csv_export_has_them() {
        for (value, expected) in [
            (1.0, "1"),
            (-0.0, "0"),
            (-12.0, "-12"),
            (1_234_567_890_123_456.0, "1234567890123456"),
            (0.1 + 0.2, "0.3"),
            (11.9 / 1.19 * 1.19, "11.9"),
            (1.1, "1.1"),
            (-2.5e-7, "-0.00000025"),
            (1e20, "100000000000000000000"),
            (1e300, "1E300"),
        ] {
            assert_eq!(of(DataRef::Float(value)).as_deref(), Some(expected), "{value}");
        }
        assert_eq!(of(DataRef::Float(f64::NAN)), None);
        assert_eq!(of(DataRef::Bool(true)).as_deref(), Some("TRUE"));
        assert_eq!(of(DataRef::String("007".into())).as_deref(), Some("007"));
        assert_eq!(of(DataRef::String(String::new())), None);
        assert_eq!(of(DataRef::Error(calamine::CellErrorType::NA)), None);
    }

    #[test]
    fn dates_are_iso_in_both_systems() {
        let day = |serial, is_1904| {
            of(DataRef::DateTime(ExcelDateTime::new(serial, ExcelDateTimeType::DateTime, is_1904))).unwrap()
        };
        for (serial, in_1900, in_1904) in [
            (1.0, "1900-01-01", "1904-01-02"),
            (59.0, "1900-02-28", "1904-02-29"),
            (61.0, "1900-03-01", "1904-03-02"),
            (45_943.0, "2025-10-13", "2029-10-14"),
            (45_943.573_009_259_26, "2025-10-13T13:45:08", "2029-10-14T13:45:08"),
            (45_943.999_999_999_9, "2025-10-14", "2029-10-15"),
            (45_943.541_002_314_8, "2025-10-13T12:59:02.6", "2029-10-14T12:59:02.6"),
            (0.5, "12:00:00", "12:00:00"),
            (-1.0, "-1", "-1"),
            (3e6, "3000000", "3000000"),
        ] {
            assert_eq!((day(serial, false).as_str(), day(serial, true).as_str()), (in_1900, in_1904), "{serial}");
        }
        let duration = |serial| of(DataRef::DateTime(ExcelDateTime::new(serial, ExcelDateTimeType::TimeDelta, false)));
        assert_eq!(duration(1.5).as_deref(), Some("36:00:00"));
        assert_eq!(duration(-0.25).as_deref(), Some("-06:00:00"));
        assert_eq!(of(DataRef::DateTimeIso("2024-01-31T00:00:00".into())).as_deref(), Some("2024-01-31"));
        assert_eq!(of(DataRef::DateTimeIso("2024-01-31T10:00:00".into())).as_deref(), Some("2024-01-31T10:00:00"));
    }

    #[test]
    fn cells_have_the_names_that_spreadsheets_show() {
        for (place, name) in [((0, 0), "A1"), ((6, 25), "Z7"), ((1, 26), "AA2"), ((9, 701), "ZZ10"), ((0, 702), "AAA1")]
        {
            assert_eq!(cell_name(place), name);
        }
    }
}
