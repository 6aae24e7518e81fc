//! Findings that the doctor reports.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tacita_core::Result;
use tacita_node::base::files::free_bytes;
use tacita_node::base::text::{bytes, counted, duration};
use tacita_node::identity::{CLOCK_SLACK_SECONDS, Identity};
use tacita_node::transport::key_exchange::{KEY_EXCHANGE_VARIABLE, NegotiatedGroup, OfferedGroups};

/// Clocks that are further apart are told of: logs of the two would not match.
const CLOCKS_APART: Duration = Duration::from_secs(60);

/// Number of days before a certificate's expiry at which the doctor warns of it.
const WARN_DAYS: i64 = 30;
const DAY_SECONDS: i64 = 86_400;

/// State of a checked subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingState {
    /// Nothing needs to be done.
    Good,
    /// Nothing has to be done, but the user should know.
    Note,
    /// The user has to mend something.
    Mend,
}

/// A finding of the doctor.
#[derive(Debug, Clone)]
pub struct Finding {
    /// State of the subject.
    pub state: FindingState,
    /// Subject of the check, such as `network`.
    pub subject: &'static str,
    /// Observation, and advice if something is to be done.
    pub text: String,
}

/// Findings of the doctor.
#[derive(Default)]
pub struct Findings {
    found: Vec<Finding>,
    problems: usize,
}

impl Findings {
    /// Records that all is well.
    pub fn good(&mut self, subject: &'static str, text: impl std::fmt::Display) {
        self.found.push(Finding { state: FindingState::Good, subject, text: text.to_string() });
    }

    /// Records what is worth knowing.
    pub fn note(&mut self, subject: &'static str, text: impl std::fmt::Display) {
        self.found.push(Finding { state: FindingState::Note, subject, text: text.to_string() });
    }

    /// Records what is to be mended.
    pub fn bad(&mut self, subject: &'static str, text: impl std::fmt::Display) {
        self.problems += 1;
        self.found.push(Finding { state: FindingState::Mend, subject, text: text.to_string() });
    }

    /// Reports whether a connection is safe from who records it now.
    pub fn key_exchange(&mut self, subject: &'static str, peer: &str, group: NegotiatedGroup) {
        if group.is_post_quantum() {
            return self.good(
                subject,
                format_args!("TLS 1.3 with {group}: a recording of it is of no use to quantum computers"),
            );
        }
        let mend = match OfferedGroups::of_environment() {
            Ok(OfferedGroups::Classical) => format!("{KEY_EXCHANGE_VARIABLE} asks for that here"),
            _ => format!("{peer} offers nothing newer"),
        };
        self.note(
            subject,
            format_args!("TLS 1.3 with {group}, which a quantum computer could read from a recording: {mend}"),
        );
    }

    /// Hands out what was found since the last time.
    pub fn tell(&mut self, tell: &mut dyn FnMut(Finding) -> Result<()>) -> Result<()> {
        self.found.drain(..).try_for_each(tell)
    }

    /// Returns the number of problems to be mended.
    pub fn problems(&self) -> usize {
        self.problems
    }

    /// Whether an identity's certificate is valid now.
    pub fn dates(&mut self, identity: &Identity) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        match identity.certificate().check_dates(now) {
            Ok(()) => match (identity.certificate().not_after() - now) / DAY_SECONDS {
                left if left < WARN_DAYS => self.note(
                    "clock",
                    format_args!(
                        "the certificate expires in {}: `tacita identity renew`, which keeps the fingerprint, and start again",
                        counted(u64::try_from(left).unwrap_or(0), "day")
                    ),
                ),
                _ => self.good("clock", "within the dates of the certificate"),
            },
            Err(error) => self.bad("clock", format_args!("{error}: set the clock, or `tacita identity renew`")),
        }
    }

    /// Reports the difference between another party's clock and this one; `ahead` is in milliseconds.
    pub fn clocks(&mut self, other: &str, ahead: i128) {
        let apart = Duration::from_millis(u64::try_from(ahead.unsigned_abs()).unwrap_or(u64::MAX));
        let clocks =
            format!("{other}'s is {} {} this one", duration(apart), if ahead < 0 { "behind" } else { "ahead of" });
        match apart {
            _ if apart <= CLOCKS_APART => self.good("clock", clocks),
            _ if apart.as_secs() < CLOCK_SLACK_SECONDS as u64 => self.note("clock", clocks),
            _ => self
                .bad("clock", format_args!("{clocks}: one of them is wrong, so certificates are refused; correct it")),
        }
    }
}

/// Whether a place has room for so many bytes.
pub(super) fn enough(
    subject: &'static str,
    good: &str,
    place: &Path,
    (why, needed): (&str, u64),
    findings: &mut Findings,
) {
    match free_bytes(place) {
        None => findings.good(subject, good),
        Some(free) if free >= needed => findings.good(subject, format_args!("{good}, {} free", bytes(free))),
        Some(free) => findings.bad(
            subject,
            format_args!(
                "{}: {} free, but it may take {why}, {}: make room, or choose another place",
                place.display(),
                bytes(free),
                bytes(needed)
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_expires_soon_is_told_of() {
        let (now, day) = (SystemTime::now(), Duration::from_secs(86_400));
        for (days, state) in
            [(400, FindingState::Good), (31, FindingState::Good), (29, FindingState::Note), (2, FindingState::Note)]
        {
            let identity = Identity::generate("proxy", now - day, now + day * days + day / 2).unwrap();
            let mut findings = Findings::default();
            findings.dates(&identity);
            assert_eq!(findings.found[0].state, state, "{days}: {:?}", findings.found);
            assert!(
                state == FindingState::Good || findings.found[0].text.contains(&format!("expires in {days} days")),
                "{:?}",
                findings.found
            );
        }
        let identity = Identity::generate("proxy", now - day * 9, now - day * 2).unwrap();
        let mut findings = Findings::default();
        findings.dates(&identity);
        assert_eq!(findings.found[0].state, FindingState::Mend, "{:?}", findings.found);
    }
}
