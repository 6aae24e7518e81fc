//! Normalisation profiles: how values that mean the same are brought into one form.
//!
//! The exact rules, with examples that the tests run, are in `docs/normalization.md`. They are part of the agreement
//! between the parties: a change of any result needs another [`PROFILES_VERSION`].

mod address;
mod date;
mod decimal;
mod domain;
mod integer;
mod invisible;
mod latin;
mod phone;
mod timestamp;
mod words;

use std::fmt;
use std::str::FromStr;

use tacita_core::Error;

use super::DecimalMark;

use date::DateOrder;
use invisible::{without_invisible, without_invisible_but_joiners};
use phone::Country;
use timestamp::Zone;

/// Version of the rules. Parties with different versions do not run a job together.
pub const PROFILES_VERSION: u32 = 4;

/// Profile with which the values of one key column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Value as it is, byte for byte.
    None,
    /// Text: case, blanks and compatibility forms do not matter.
    Text,
    /// Names of persons: also accents, punctuation and the order of words do not matter.
    Name,
    /// Names of persons: as `Name`, in Latin letters.
    Latin,
    /// Names of persons: the family name and the other names' first letters, in Latin letters.
    Initials,
    /// Calendar date, read in this order.
    Date(DateOrder),
    /// The year of a date, or a year alone.
    Year,
    /// A point in time; times without a zone are of this one.
    Timestamp(Zone),
    /// Address for e-mail messages.
    Email,
    /// Domain name of a host.
    Domain,
    /// Telephone number, perhaps of this country.
    Phone(Option<Country>),
    /// IP address of a host.
    Ip,
    /// An integer of any length, with this mark if a fraction of zeros stands behind it.
    Integer(DecimalMark),
    /// A decimal number, with this mark.
    Decimal(DecimalMark),
}

/// Result of reading a value with a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The canonical form was appended.
    Value,
    /// There is no value: the text is empty, or (but for `none`) blank.
    Null,
    /// The profile cannot read the text.
    Unreadable,
}

impl Profile {
    /// Integers as programs write them.
    pub const INTEGER: Profile = Profile::Integer(DecimalMark::Point);

    /// The same, for numbers that are written with this mark.
    pub fn with_mark(self, mark: DecimalMark) -> Profile {
        match self {
            Profile::Integer(_) => Profile::Integer(mark),
            Profile::Decimal(_) => Profile::Decimal(mark),
            other => other,
        }
    }

    /// Appends the canonical form of `value` to `out`, or leaves `out` as it is.
    pub fn canonical(&self, value: &str, out: &mut String) -> Reading {
        if let Profile::None = self {
            out.push_str(value);
            return if value.is_empty() { Reading::Null } else { Reading::Value };
        }
        // Joiners are letters of domain names, and `domain` drops what else nobody sees.
        let seen =
            if *self == Profile::Domain { without_invisible_but_joiners(value) } else { without_invisible(value) };
        let trimmed = trim(&seen);
        if trimmed.is_empty() {
            return Reading::Null;
        }
        let start = out.len();
        let read = match self {
            Profile::None => None,
            Profile::Text => words::text(trimmed, out),
            Profile::Name => words::name(trimmed, out),
            Profile::Latin => latin::latin(trimmed, out),
            Profile::Initials => latin::initials(trimmed, out),
            Profile::Date(order) => date::date(trimmed, *order, out),
            Profile::Year => date::year(trimmed, out),
            Profile::Timestamp(zone) => timestamp::timestamp(trimmed, *zone, out),
            Profile::Email => address::email(trimmed, out),
            Profile::Domain => domain::domain(trimmed, out),
            Profile::Phone(country) => phone::phone(trimmed, *country, out),
            Profile::Ip => address::ip(trimmed, out),
            Profile::Integer(mark) => mark.with_point(trimmed).and_then(|text| integer::integer(&text, out)),
            Profile::Decimal(mark) => mark.with_point(trimmed).and_then(|text| decimal::decimal(&text, out)),
        };
        match read {
            Some(()) if out.len() > start => Reading::Value,
            _ => {
                out.truncate(start);
                Reading::Unreadable
            }
        }
    }

    /// Returns the kind of the values, whatever form this party writes them in: `date` for `date:DMY`. Parties may
    /// differ in the form, not in the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Profile::None => "none",
            Profile::Text => "text",
            Profile::Name => "name",
            Profile::Latin => "latin",
            Profile::Initials => "initials",
            Profile::Date(_) => "date",
            Profile::Year => "year",
            Profile::Timestamp(_) => "timestamp",
            Profile::Email => "email",
            Profile::Domain => "domain",
            Profile::Phone(_) => "phone",
            Profile::Ip => "ip",
            Profile::Integer(_) => "integer",
            Profile::Decimal(_) => "decimal",
        }
    }

    /// Whether it reads any text: of its values, case and blanks may matter.
    pub(super) fn is_of_text(&self) -> bool {
        matches!(self, Profile::None | Profile::Text | Profile::Name | Profile::Latin | Profile::Initials)
    }

    /// The profiles that read values of a certain kind and nothing else, the plainer first.
    pub(super) fn of_kinds() -> [Profile; 7] {
        [
            Profile::Date(DateOrder::Clear),
            Profile::Date(DateOrder::DayFirst),
            Profile::Date(DateOrder::MonthFirst),
            Profile::INTEGER,
            Profile::Ip,
            Profile::Email,
            Profile::Phone(None),
        ]
    }

    /// The profiles that read `values` where `self` does not, for a message: those that read nearly all of them.
    pub(super) fn alternatives(&self, values: &[&str]) -> Vec<Profile> {
        let candidates = Profile::of_kinds();
        // Of the profiles of the same kind, those that read most; only if there are none, the others.
        let counts: Vec<_> = candidates.iter().filter(|p| *p != self).map(|p| (*p, p.count_read(values))).collect();
        let best = |same_kind: bool| {
            let of_kind = || {
                // A bare year is an integer, but no better a date for it; nor is a number without its country a better
                // one.
                let suits = |p: &Profile| !(matches!(self.kind(), "date" | "phone") && *p == Profile::INTEGER);
                counts.iter().filter(move |(p, _)| (p.kind() == self.kind()) == same_kind && suits(p))
            };
            let most = of_kind().map(|(_, n)| *n).max().unwrap_or(0);
            let enough = most > 0 && most * 10 >= values.len() * 9;
            of_kind().filter(move |(_, n)| enough && *n == most).map(|(p, _)| *p).collect::<Vec<_>>()
        };
        match best(true) {
            same if !same.is_empty() => same,
            _ => best(false),
        }
    }

    /// Returns the number of `values` that it reads.
    pub(super) fn count_read(&self, values: &[&str]) -> usize {
        let mut scratch = String::new();
        let reads = |value: &&&str| {
            scratch.clear();
            self.canonical(value, &mut scratch) == Reading::Value
        };
        values.iter().filter(reads).count()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Profile::Date(DateOrder::DayFirst) => f.write_str("date:DMY"),
            Profile::Date(DateOrder::MonthFirst) => f.write_str("date:MDY"),
            Profile::Phone(Some(country)) => write!(f, "phone:{country}"),
            Profile::Timestamp(zone) if *zone != Zone::UTC => write!(f, "timestamp:{zone}"),
            _ => f.write_str(self.kind()),
        }
    }
}

impl FromStr for Profile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Profile, Error> {
        let known = "none, text, name, latin, initials, date, date:DMY, date:MDY, year, timestamp, timestamp:ZONE (as Europe/Vienna), \
                     email, domain, phone, phone:CC (CC a country such as DE), ip, integer, decimal";
        Ok(match text {
            "none" => Profile::None,
            "text" => Profile::Text,
            "name" => Profile::Name,
            "latin" => Profile::Latin,
            "initials" => Profile::Initials,
            "date" => Profile::Date(DateOrder::Clear),
            "date:DMY" => Profile::Date(DateOrder::DayFirst),
            "date:MDY" => Profile::Date(DateOrder::MonthFirst),
            "year" => Profile::Year,
            "timestamp" => Profile::Timestamp(Zone::UTC),
            "email" => Profile::Email,
            "domain" => Profile::Domain,
            "phone" => Profile::Phone(None),
            "ip" => Profile::Ip,
            "integer" => Profile::INTEGER,
            "decimal" => Profile::Decimal(DecimalMark::Point),
            _ => match text.split_once(':') {
                Some(("phone", country)) => Profile::Phone(Some(country.parse()?)),
                Some(("timestamp", zone)) => Profile::Timestamp(zone.parse()?),
                _ => {
                    return Err(Error::Input(format!("normalize: no profile {text:?}; the profiles are {known}")));
                }
            },
        })
    }
}

/// `value` without the white space around it.
pub(super) fn trim(value: &str) -> &str {
    match value.as_bytes() {
        // Nearly always there is nothing to trim, and that is seen at once.
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => value,
        _ => value.trim(),
    }
}
