//! Findings that the doctor reports.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tacita_core::Result;
use tacita_node::base::files::free_bytes;
use tacita_node::base::text::{bytes, counted, duration, harmless, without_command_line};
use tacita_node::identity::{CLOCK_SLACK_SECONDS, Identity};
use tacita_node::transport::key_exchange::{KEY_EXCHANGE_VARIABLE, NegotiatedGroup, OfferedGroups};

use crate::console::print;

/// Clocks that are further apart are told of: logs of the two would not match.
const CLOCKS_APART: Duration = Duration::from_secs(60);

/// Number of days before a certificate's expiry at which the doctor warns of it.
const WARN_DAYS: i64 = 30;
const DAY_SECONDS: i64 = 86_400;

/// Findings of the doctor.
#[derive(Default)]
pub(super) struct Findings {
    lines: Vec<String>,
    problems: usize,
}

impl Findings {
    /// Records that all is well.
    pub(super) fn good(&mut self, what: &str, text: impl std::fmt::Display) {
        self.lines.push(format!("ok    {what:<10} {text}"));
    }

    /// Worth knowing.
    pub(super) fn note(&mut self, what: &str, text: impl std::fmt::Display) {
        self.lines.push(format!("note  {what:<10} {text}"));
    }

    /// To be mended.
    pub(super) fn bad(&mut self, what: &str, text: impl std::fmt::Display) {
        self.problems += 1;
        // Doctor takes a job file.
        self.lines.push(without_command_line(&format!("MEND  {what:<10} {text}")));
    }

    /// Reports whether a connection is safe from who records it now.
    pub(super) fn key_exchange(&mut self, what: &str, peer: &str, group: NegotiatedGroup) {
        if group.is_post_quantum() {
            return self
                .good(what, format_args!("TLS 1.3 with {group}: a recording of it is of no use to quantum computers"));
        }
        let mend = match OfferedGroups::of_environment() {
            Ok(OfferedGroups::Classical) => format!("{KEY_EXCHANGE_VARIABLE} asks for that here"),
            _ => format!("{peer} offers nothing newer"),
        };
        self.note(
            what,
            format_args!("TLS 1.3 with {group}, which a quantum computer could read from a recording: {mend}"),
        );
    }

    /// Prints what was found since the last time.
    pub(super) fn tell(&mut self) -> Result<()> {
        self.lines.drain(..).try_for_each(|line| print(harmless(&line)))
    }

    /// Returns the number of problems to be mended.
    pub(super) fn problems(&self) -> usize {
        self.problems
    }

    /// Whether an identity's certificate is valid now.
    pub(super) fn dates(&mut self, identity: &Identity) {
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
    pub(super) fn clocks(&mut self, other: &str, ahead: i128) {
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
pub(super) fn enough(what: &str, good: &str, place: &Path, (why, needed): (&str, u64), findings: &mut Findings) {
    match free_bytes(place) {
        None => findings.good(what, good),
        Some(free) if free >= needed => findings.good(what, format_args!("{good}, {} free", bytes(free))),
        Some(free) => findings.bad(
            what,
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
        for (days, said) in [(400, "ok "), (31, "ok "), (29, "note "), (2, "note ")] {
            let identity = Identity::generate("proxy", now - day, now + day * days + day / 2).unwrap();
            let mut findings = Findings::default();
            findings.dates(&identity);
            assert!(findings.lines[0].starts_with(said), "{days}: {:?}", findings.lines);
            assert!(
                said == "ok " || findings.lines[0].contains(&format!("expires in {days} days")),
                "{:?}",
                findings.lines
            );
        }
        let identity = Identity::generate("proxy", now - day * 9, now - day * 2).unwrap();
        let mut findings = Findings::default();
        findings.dates(&identity);
        assert!(findings.lines[0].starts_with("MEND "), "{:?}", findings.lines);
    }
}
