//! Numbering plans: which prefixes and how many digits the numbers of each country have.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use regex_lite::Regex;

/// The table, made by `scripts/phone_plans.py`; its head says what the fields are.
const TABLE: &str = include_str!("plans.tsv");

const FIELDS: usize = 8;

/// Country codes have up to three digits.
const CODE_DIGITS: usize = 3;

/// Numbering plans in the order of their regions, and for each country code its common rules.
static PLANS: LazyLock<(Vec<Plan>, Vec<Option<Code>>)> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let plans: Vec<Plan> = lines.map(Plan::parse).collect();
    let mut codes: Vec<Option<Code>> = vec![None; 10usize.pow(CODE_DIGITS as u32)];
    for (index, plan) in plans.iter().enumerate() {
        let code = codes[usize::from(plan.code)].get_or_insert(Code { main: index, called: 0 });
        code.called |= plan.called;
        if plan.is_main {
            code.main = index;
        }
    }
    (plans, codes)
});

/// Rules of a country code, whatever region of it a number belongs to.
#[derive(Clone, Copy)]
struct Code {
    /// The plan by whose rules its numbers are read.
    main: usize,
    /// The lengths of numbers that can be called from anywhere, as bits.
    called: u32,
}

/// Numbering plan of one region.
pub(super) struct Plan {
    region: &'static str,
    code: u16,
    is_main: bool,
    /// Prefixes in front of a country code, and of a number within the country.
    abroad: Pattern,
    within: Pattern,
    /// Replacement for a number whose last group `within` has found.
    rewritten: Option<&'static str>,
    numbers: Pattern,
    /// Lengths of the plan's numbers, as bits; of those that can be called from anywhere.
    lengths: u32,
    called: u32,
}

impl Plan {
    /// The plan of a region, by its two letters.
    pub(super) fn index_of(region: &str) -> Option<usize> {
        // Codes that no country has go by a number.
        let is_country = region.bytes().all(|byte| byte.is_ascii_uppercase());
        PLANS.0.iter().position(|plan| is_country && plan.region == region)
    }

    /// The plan with this index.
    pub(super) fn at(index: usize) -> &'static Plan {
        &PLANS.0[index]
    }

    /// Splits a country code off, and finds the plan that numbers with it are read by.
    pub(super) fn split(digits: &str) -> Option<(&'static Plan, &str)> {
        (1..=CODE_DIGITS.min(digits.len())).find_map(|length| {
            // No code begins with a zero, and none is the beginning of another one.
            let (code, rest) = digits.split_at(length);
            let code =
                PLANS.1.get(code.parse::<usize>().ok()?).copied().flatten().filter(|_| !code.starts_with('0'))?;
            Some((Plan::at(code.main), rest))
        })
    }

    /// Returns the letters of the region.
    pub(super) fn region(&self) -> &'static str {
        self.region
    }

    /// Returns the country code.
    pub(super) fn code(&self) -> u16 {
        self.code
    }

    /// The plan of the main region with the same country code.
    pub(super) fn main(&self) -> &'static Plan {
        Plan::at(PLANS.1[usize::from(self.code)].map_or(0, |code| code.main))
    }

    /// The number without what is dialled in front of a foreign country code; none if it does not begin so.
    pub(super) fn without_abroad<'a>(&self, digits: &'a str) -> Option<&'a str> {
        // A country code does not begin with a zero: then it is something else.
        self.abroad.end(digits).map(|end| &digits[end..]).filter(|rest| !rest.starts_with('0'))
    }

    /// The number without what is dialled in front of it within the country, unless it would be no number of the plan
    /// without.
    pub(super) fn without_within<'a>(&self, digits: &'a str) -> Cow<'a, str> {
        let Some(end) = self.within.end(digits) else { return digits.into() };
        let shorter = self.rewritten.and_then(|rule| self.within.replaced(digits, rule));
        let shorter = shorter.map_or(Cow::Borrowed(&digits[end..]), Cow::Owned);
        if self.has(digits) && !self.has(&shorter) { digits.into() } else { shorter }
    }

    /// Whether 0 is what is dialled in front of a number within the country.
    pub(super) fn dials_zero(&self) -> bool {
        self.within.end("0") == Some(1)
    }

    /// Whether the plan has numbers like this one.
    pub(super) fn has(&self, digits: &str) -> bool {
        self.numbers.end(digits).is_some()
    }

    /// Whether the plan has numbers of this length, or only shorter ones.
    pub(super) fn has_length(&self, digits: &str) -> bool {
        bit(digits.len()) & self.lengths != 0 || self.is_too_long(digits)
    }

    /// Whether the plan has only shorter numbers.
    pub(super) fn is_too_long(&self, digits: &str) -> bool {
        bit(digits.len()) > self.lengths
    }

    /// Whether numbers of this length can be called from anywhere, in some region with the same country code.
    pub(super) fn is_called(&self, digits: &str) -> bool {
        PLANS.1[usize::from(self.code)].is_some_and(|code| code.called & bit(digits.len()) != 0)
    }

    /// A line of the table, which the tests have seen whole.
    fn parse(line: &'static str) -> Plan {
        let fields: Vec<&str> = line.split('\t').map(|field| if field == "-" { "" } else { field }).collect();
        let fields: [&str; FIELDS] = fields.try_into().expect("a line of the table has all fields");
        let [region, code, abroad, within, rewritten, numbers, lengths, called] = fields;
        let bits = |lengths: &str| {
            let lengths = lengths.split(',').filter(|length| !length.is_empty());
            lengths.fold(0, |bits, length| bits | bit(length.parse().expect("a length is a number")))
        };
        Plan {
            region,
            code: code.trim_end_matches('*').parse().expect("a country code is a number"),
            is_main: code.ends_with('*'),
            abroad: Pattern::new(abroad, false),
            within: Pattern::new(within, false),
            rewritten: (!rewritten.is_empty()).then_some(rewritten),
            numbers: Pattern::new(numbers, true),
            lengths: bits(lengths),
            called: bits(called),
        }
    }
}

/// The bit of a length; none stands for those that no plan has.
fn bit(length: usize) -> u32 {
    1 << length.min(31)
}

/// Pattern for a prefix of digits, or for all of them.
struct Pattern {
    text: &'static str,
    whole: bool,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    fn new(text: &'static str, whole: bool) -> Pattern {
        Pattern { text, whole, compiled: OnceLock::new() }
    }

    /// Returns the end of the digits that it finds at the beginning.
    fn end(&self, digits: &str) -> Option<usize> {
        // Nearly all prefixes are digits.
        if !self.whole && self.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return (!self.text.is_empty() && digits.starts_with(self.text)).then_some(self.text.len());
        }
        self.regex().find(digits).map(|found| found.end())
    }

    /// The digits with what it finds replaced by the rule, if it has found its last group.
    fn replaced(&self, digits: &str, rule: &str) -> Option<String> {
        let groups = self.regex().captures(digits)?;
        groups.get(groups.len() - 1)?;
        Some(self.regex().replace(digits, rule).into_owned())
    }

    fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            let end = if self.whole { "$" } else { "" };
            Regex::new(&format!("^(?:{}){end}", self.text)).expect("the patterns of the table are sound")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let (plans, codes) = &*PLANS;
        assert_eq!(plans.len(), TABLE.lines().filter(|line| !line.starts_with('#')).count());
        for plan in plans {
            for pattern in [&plan.abroad, &plan.within, &plan.numbers] {
                pattern.regex();
            }
            assert!(plan.lengths != 0 && plan.lengths >> 18 == 0, "{}", plan.region);
            assert_eq!(plan.called & !plan.lengths, 0, "{}", plan.region);
            let same = plans.iter().filter(|other| other.code == plan.code);
            assert_eq!(same.filter(|other| other.is_main).count(), 1, "{}", plan.code);
        }
        // No code is the beginning of another one.
        for code in (0..codes.len()).filter(|code| codes[*code].is_some()) {
            assert!(code > 0 && codes[code / 10].is_none() && codes[code / 100].is_none(), "{code}");
        }
    }
}
