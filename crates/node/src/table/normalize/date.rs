//! `date`, `date:DMY`, `date:MDY`, `year`.

/// Order in which dates like 03/04/2001 are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// Dates only if they have one reading.
    Clear,
    /// Day, then month, then year.
    DayFirst,
    /// Month, then day, then year.
    MonthFirst,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Appends `YYYY-MM-DD`. `value` is trimmed.
pub(super) fn date(value: &str, order: DateOrder, out: &mut String) -> Option<()> {
    let (year, month, day) = parse(value.as_bytes(), order)?;
    let digits = |n: u32, place: u32| char::from(b'0' + (n / place % 10) as u8);
    out.extend([1000, 100, 10, 1].map(|place| digits(year, place)));
    out.extend(['-', digits(month, 10), digits(month, 1), '-', digits(day, 10), digits(day, 1)]);
    Some(())
}

/// Appends the year of a date, of a year and month, or of a year alone. `value` is trimmed.
pub(super) fn year(value: &str, out: &mut String) -> Option<()> {
    let text = value.as_bytes();
    // Which number is the day makes no difference.
    let dated =
        |text| parse(text, DateOrder::DayFirst).or_else(|| parse(text, DateOrder::MonthFirst)).map(|(year, ..)| year);
    let year = bare_year(text).or_else(|| year_of_month(text)).or_else(|| dated(without_clock(text)?))?;
    out.extend([1000, 100, 10, 1].map(|place| char::from(b'0' + (year / place % 10) as u8)));
    Some(())
}

/// The date without a time of day that names no zone: that time is in the same year. (In another zone New Year may be
/// between.)
fn without_clock(text: &[u8]) -> Option<&[u8]> {
    let Some(colon) = text.iter().position(|&byte| byte == b':') else { return Some(text) };
    let start = text[..colon].iter().rposition(|byte| matches!(byte, b'T' | b't' | b' '))?;
    let clock = &text[start + 1..];
    let half = clock.len().checked_sub(2).map(|start| clock[start..].to_ascii_lowercase());
    let digits = match half.as_deref() {
        Some(b"am" | b"pm") => clock[..clock.len() - 2].trim_ascii_end(),
        _ => clock,
    };
    let is_clock = digits.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    let is_midnight_in_utc = is_midnight(clock);
    (is_clock || is_midnight_in_utc).then(|| text[..start].trim_ascii_end())
}

/// Four digits, with a fraction of zeros if a program has taken them for a number.
fn bare_year(text: &[u8]) -> Option<u32> {
    let (digits, fraction) = text.split_at_checked(4)?;
    let zeros =
        fraction.strip_prefix(b".").is_some_and(|zeros| !zeros.is_empty() && zeros.iter().all(|&byte| byte == b'0'));
    let is_year = fraction.is_empty() || zeros;
    number(digits, 4).filter(|&year| is_year && year >= 1)
}

/// `YYYY-MM`, `MM/YYYY`, `Oct 1973`, `1973 October` and the like.
fn year_of_month(text: &[u8]) -> Option<u32> {
    let at = text.iter().position(|byte| matches!(byte, b'-' | b'/' | b'.' | b' '))?;
    let (one, other) = (&text[..at], text[at + 1..].trim_ascii_start());
    // 1973.5 is half a year, and no May.
    if text[at] == b'.' && number(other, 1).is_some() {
        return None;
    }
    let (digits, month_word) = if one.len() == 4 && number(one, 4).is_some() { (one, other) } else { (other, one) };
    let is_month = month(month_word).is_some() || number(month_word, 2).is_some_and(|month| (1..=12).contains(&month));
    number(digits, 4).filter(|&year| digits.len() == 4 && is_month && year >= 1)
}

/// Year, month and day of a date.
pub(super) fn parse(text: &[u8], order: DateOrder) -> Option<(u32, u32, u32)> {
    let text = without_midnight(text)?;
    if text.len() == 8 && text.iter().all(u8::is_ascii_digit) {
        return real(number(&text[..4], 4)?, number(&text[4..6], 2)?, number(&text[6..], 2)?);
    }
    let (parts, commas) = parts(text)?;
    let named = parts.iter().position(|part| month(part).is_some());
    let [a, b, c] = parts;
    let year = |part: &[u8]| (part.len() == 4).then(|| number(part, 4)).flatten();
    let (first, last) = (year(a), year(c));
    // A comma stands behind the day or the month that the year follows, and nowhere else.
    if commas[0] || commas[1] && (named.is_none() || last.is_none()) {
        return None;
    }
    match (named, first, last) {
        (Some(0), _, Some(year)) => real(year, month(a)?, day(b)?),
        (Some(1), _, Some(year)) => real(year, month(b)?, day(a)?),
        (Some(1), Some(year), _) => real(year, month(b)?, day(c)?),
        (None, Some(year), _) => real(year, number(b, 2)?, number(c, 2)?),
        (None, _, Some(year)) => by_order(number(a, 2)?, number(b, 2)?, year, order),
        _ => None,
    }
}

/// The three parts of a date, and whether a comma stands behind the first and the second. Between them is twice the
/// same: `-`, `/`, `.` or blanks.
fn parts(text: &[u8]) -> Option<([&[u8]; 3], [bool; 2])> {
    // The dots of `Oct. 26, 1973` and `26-Oct.-1973` separate nothing.
    let others = text.iter().find(|byte| matches!(byte, b'-' | b'/' | b' '));
    let separator = *others.or_else(|| text.iter().find(|&&byte| byte == b'.'))?;
    let mut words = text.split(|&byte| byte == separator).filter(|word| separator != b' ' || !word.is_empty());
    let mut commas = [false; 2];
    let mut take = |place: usize| {
        let word: &[u8] = words.next()?;
        match word.strip_suffix(b",") {
            Some(word) if separator == b' ' && place < 2 => {
                commas[place] = true;
                Some(word)
            }
            _ => Some(word),
        }
    };
    let parts = [take(0)?, take(1)?, take(2)?];
    words.next().is_none().then_some((parts, commas))
}

/// A date with its numbers in the order that its writer has.
fn by_order(a: u32, b: u32, year: u32, order: DateOrder) -> Option<(u32, u32, u32)> {
    let (day_first, month_first) = (real(year, b, a), real(year, a, b));
    match order {
        DateOrder::DayFirst => day_first,
        DateOrder::MonthFirst => month_first,
        DateOrder::Clear => match (day_first, month_first) {
            (Some(one), Some(other)) if one != other => None,
            (one, other) => one.or(other),
        },
    }
}

/// An English month: its name in full, or its first three letters (of September also four), with a dot behind them if
/// need be.
fn month(word: &[u8]) -> Option<u32> {
    let word = word.strip_suffix(b".").unwrap_or(word);
    let is_name = |month: &str| {
        word.eq_ignore_ascii_case(month.as_bytes())
            || word.eq_ignore_ascii_case(&month.as_bytes()[..3])
            || month == "september" && word.eq_ignore_ascii_case(b"sept")
    };
    MONTHS.iter().position(|month| is_name(month)).map(|place| place as u32 + 1)
}

/// The number of a day beside the name of a month, also as `1st` or `26th`.
fn day(word: &[u8]) -> Option<u32> {
    let ordinal = [&b"st"[..], b"nd", b"rd", b"th"].into_iter().find_map(|ending| {
        let (digits, last) = word.split_at_checked(word.len().checked_sub(2)?)?;
        last.eq_ignore_ascii_case(ending).then_some(digits)
    });
    number(ordinal.unwrap_or(word), 2)
}

/// The date without its time of day, which has to be midnight: else cutting it off would lose something.
fn without_midnight(text: &[u8]) -> Option<&[u8]> {
    // Behind a `T`, or the last blank before the first colon.
    let Some(colon) = text.iter().position(|&byte| byte == b':') else { return Some(text) };
    let start = text[..colon].iter().rposition(|byte| matches!(byte, b'T' | b't' | b' '))?;
    is_midnight(&text[start + 1..]).then(|| text[..start].trim_ascii_end())
}

/// `00:00`, `00:00:00` with any zeros as fraction and with no zone, `Z` or `+00:00`; or `12:00 AM`, `12:00:00 AM`.
fn is_midnight(time: &[u8]) -> bool {
    let half = time.len().checked_sub(2).map(|start| time.split_at(start));
    if let Some((clock, _)) = half.filter(|(_, half)| half.eq_ignore_ascii_case(b"am")) {
        return matches!(no_fraction(clock.trim_ascii_end()), Some(b"12:00" | b"12:00:00"));
    }
    let time = [&b"Z"[..], b"z", b"+00:00"].iter().find_map(|zone| time.strip_suffix(*zone)).unwrap_or(time);
    matches!(no_fraction(time), Some(b"00:00" | b"0:00" | b"00:00:00" | b"0:00:00"))
}

/// A time of day without the zeros of its fraction, if it has no other.
fn no_fraction(time: &[u8]) -> Option<&[u8]> {
    let Some(dot) = time.iter().position(|&byte| byte == b'.') else { return Some(time) };
    let (clock, zeros) = (&time[..dot], &time[dot + 1..]);
    let seconds = clock.iter().filter(|&&byte| byte == b':').count() == 2;
    (seconds && !zeros.is_empty() && zeros.iter().all(|&byte| byte == b'0')).then_some(clock)
}

/// A number of one digit up to `most`.
fn number(digits: &[u8], most: usize) -> Option<u32> {
    if digits.is_empty() || digits.len() > most || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |n, digit| n * 10 + u32::from(digit - b'0')))
}

/// The date, if the Gregorian calendar has it. There is no year 0.
fn real(year: u32, month: u32, day: u32) -> Option<(u32, u32, u32)> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    (year >= 1 && (1..=days).contains(&day)).then_some((year, month, day))
}
