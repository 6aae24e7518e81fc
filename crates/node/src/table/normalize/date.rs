//! `date`, `date:DMY`, `date:MDY`.

/// How dates like 03/04/2001 are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Only if they have one reading.
    Clear,
    /// Day, month, year.
    DayFirst,
    /// Month, day, year.
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
pub(super) fn date(value: &str, order: Order, out: &mut String) -> Option<()> {
    let (year, month, day) = parse(value.as_bytes(), order)?;
    let digits = |n: u32, place: u32| char::from(b'0' + (n / place % 10) as u8);
    out.extend([1000, 100, 10, 1].map(|place| digits(year, place)));
    out.extend(['-', digits(month, 10), digits(month, 1), '-', digits(day, 10), digits(day, 1)]);
    Some(())
}

fn parse(text: &[u8], order: Order) -> Option<(u32, u32, u32)> {
    match text {
        [y @ .., b'-', _, _, b'-', _, _] if y.len() == 4 => iso(text),
        [_, _, _, _, b'-', _, _, b'-', _, _, b'T' | b't' | b' ', time @ ..] if is_midnight(time) => iso(&text[..10]),
        [_, _, _, _, _, _, _, _] if text.iter().all(u8::is_ascii_digit) => {
            real(number(&text[..4], 4)?, number(&text[4..6], 2)?, number(&text[6..], 2)?)
        }
        _ if text.contains(&b'/') => split(text, b'/', order),
        _ if text.contains(&b'.') => split(text, b'.', order),
        _ => month_name(text),
    }
}

fn iso(text: &[u8]) -> Option<(u32, u32, u32)> {
    let two = |digits: &[u8]| (digits.len() == 2).then(|| number(digits, 2)).flatten();
    real(number(&text[..4], 4)?, two(&text[5..7])?, two(&text[8..])?)
}

/// The time of day of a date: that of a time stamp which stands for a date and nothing else.
fn is_midnight(time: &[u8]) -> bool {
    let time = [&b"Z"[..], b"z", b"+00:00"].iter().find_map(|zone| time.strip_suffix(*zone)).unwrap_or(time);
    let (clock, fraction) = time.split_at(time.len().min(8));
    let no_fraction = match fraction {
        [] => true,
        [b'.', zeros @ ..] => clock.len() == 8 && !zeros.is_empty() && zeros.iter().all(|&byte| byte == b'0'),
        _ => false,
    };
    no_fraction && matches!(clock, b"00:00:00" | b"00:00")
}

/// Dates with `/` or `.` between three numbers.
fn split(text: &[u8], separator: u8, order: Order) -> Option<(u32, u32, u32)> {
    let mut parts = text.split(|&byte| byte == separator);
    let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    if a.len() == 4 {
        return real(number(a, 4)?, number(b, 2)?, number(c, 2)?);
    }
    let (a, b, year) = (number(a, 2)?, number(b, 2)?, (c.len() == 4).then(|| number(c, 4)).flatten()?);
    let (day_first, month_first) = (real(year, b, a), real(year, a, b));
    match order {
        Order::DayFirst => day_first,
        Order::MonthFirst => month_first,
        Order::Clear => match (day_first, month_first) {
            (Some(one), Some(other)) if one != other => None,
            (one, other) => one.or(other),
        },
    }
}

/// `DD Mon YYYY`, with blanks or hyphens between.
fn month_name(text: &[u8]) -> Option<(u32, u32, u32)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut parts = [""; 3];
    let mut words: &mut dyn Iterator<Item = &str> = &mut text.split_ascii_whitespace();
    let mut hyphens = text.split('-');
    if text.contains('-') {
        words = &mut hyphens;
    }
    for part in &mut parts {
        *part = words.next()?;
    }
    let [day, name, year] = parts;
    if words.next().is_some() || year.len() != 4 {
        return None;
    }
    let is_name = |month: &str| name.eq_ignore_ascii_case(month) || name.eq_ignore_ascii_case(&month[..3]);
    let month = MONTHS.iter().position(|month| is_name(month))? as u32 + 1;
    real(number(year.as_bytes(), 4)?, month, number(day.as_bytes(), 2)?)
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
