//! What a doctor says of what it has found.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tacita_core::Result;
use tacita_node::base::files::free_bytes;
use tacita_node::base::text::{bytes, duration};
use tacita_node::identity::{CLOCK_SLACK_SECONDS, Identity};

use crate::console::print;

/// Clocks that are further apart are told of: logs of the two would not match.
const CLOCKS_APART: Duration = Duration::from_secs(60);

/// What the doctor has found.
#[derive(Default)]
pub(super) struct Findings {
    lines: Vec<String>,
    problems: usize,
}

impl Findings {
    /// All is well.
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
        self.lines.push(format!("MEND  {what:<10} {text}"));
    }

    /// Prints what was found since the last time.
    pub(super) fn tell(&mut self) -> Result<()> {
        self.lines.drain(..).try_for_each(print)
    }

    /// How many things are to be mended.
    pub(super) fn problems(&self) -> usize {
        self.problems
    }

    /// Whether an identity's certificate is valid now.
    pub(super) fn dates(&mut self, identity: &Identity) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        match identity.certificate().check_dates(now) {
            Ok(()) => self.good("clock", "within the dates of the certificate"),
            Err(error) => self.bad("clock", format_args!("{error}: set the clock, or `tacita identity renew`")),
        }
    }

    /// How far another's clock is from this one; `ahead` in milliseconds.
    pub(super) fn clocks(&mut self, other: &str, ahead: i128) {
        let apart = Duration::from_millis(u64::try_from(ahead.unsigned_abs()).unwrap_or(u64::MAX));
        let clocks =
            format!("{other}'s is {} {} this one", duration(apart), if ahead < 0 { "behind" } else { "ahead of" });
        match apart {
            _ if apart <= CLOCKS_APART => self.good("clock", clocks),
            _ if apart.as_secs() < CLOCK_SLACK_SECONDS as u64 => self.note("clock", clocks),
            _ => self.bad("clock", format_args!("{clocks}: one of the two is wrong; certificates are refused by it")),
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
                "{}: {} free, and it may take {why}, {}: make room, or name another place",
                place.display(),
                bytes(free),
                bytes(needed)
            ),
        ),
    }
}
