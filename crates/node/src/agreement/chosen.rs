//! Protocol choice of a run, and its textual form.

use std::fmt;
use std::time::Duration;

use tacita_core::protocol::dot::ot::Extension;

use super::{AlignWay, JobSpec, Protocol};

/// Protocol choice of a run. Written as on the wire: `vole`, `ot softspoken-4`, `ot softspoken-4 after vole`,
/// `lattice or ot softspoken-4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The protocol that answers; never [`Protocol::AUTO`].
    pub protocol: Protocol,
    /// Another one: each part of the job goes by one of the two, whichever takes less time there.
    pub or: Option<Protocol>,
    /// Extension with which oblivious transfers are made, if there is a choice.
    pub extension: Option<Extension>,
    /// The protocol that aligns rows before: [`AlignWay::HIDDEN`], or an intersection.
    pub alignment: Option<Protocol>,
}

/// A choice, and why.
pub struct Choice {
    /// Protocol choice for the run.
    pub chosen: Chosen,
    /// Reason for the choice, shown in the plan.
    pub why: String,
}

/// Known properties of the network between the parties.
#[derive(Debug, Clone, Copy, Default)]
pub struct Network {
    /// Round-trip time between the parties.
    pub round_trip: Duration,
    /// Bits a second; unknown, as a rule.
    pub bandwidth: Option<u64>,
}

/// Round-trip time below which a network counts as near.
const NEAR: Duration = Duration::from_millis(5);

/// Bits a second that are assumed of a near network, where only an order of magnitude matters.
pub const NEAR_BANDWIDTH: f64 = 1e9;

/// The same of another one.
pub const FAR_BANDWIDTH: f64 = 100e6;

impl Chosen {
    /// A protocol that needs nothing else.
    pub const fn only(protocol: Protocol) -> Chosen {
        Chosen { protocol, or: None, extension: None, alignment: None }
    }

    /// Reads a choice as it is written; none if it is no choice among the protocols of this job.
    pub fn read(job: &JobSpec, text: &str) -> Option<Chosen> {
        let called = |protocols: Vec<Protocol>, name: &str| protocols.into_iter().find(|known| known.name() == name);
        let (answer, alignment) = match text.split_once(" after ") {
            Some((answer, name)) => {
                let alignment = job.job.alignment(job)?;
                let known = match job.align_way() {
                    AlignWay::Hidden => vec![AlignWay::HIDDEN],
                    AlignWay::Rows => alignment.job.protocols(&alignment),
                };
                (answer, Some(called(known, name)?))
            }
            None => (text, None),
        };
        let of_job = |name| called(job.job.protocols(job), name);
        let (protocol, rest) = match answer.split_once(" or ") {
            Some((protocol, rest)) => (Some(of_job(protocol)?), rest),
            None => (None, answer),
        };
        let (last, extension) = match rest.split_once(' ') {
            Some((last, extension)) => (of_job(last)?, Some(extension.parse().ok()?)),
            None => (of_job(rest)?, None),
        };
        Some(Chosen { protocol: protocol.unwrap_or(last), or: protocol.map(|_| last), extension, alignment })
    }
}

impl JobSpec {
    /// Whether the job leaves the choice of this protocol.
    pub(crate) fn leaves(&self, protocol: Protocol) -> bool {
        let named = self.protocol.is_auto() || self.protocol == protocol;
        named && self.job.protocols(self).contains(&protocol)
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.protocol.name())?;
        if let Some(other) = self.or {
            write!(f, " or {}", other.name())?;
        }
        if let Some(extension) = self.extension {
            write!(f, " {extension}")?;
        }
        if let Some(alignment) = self.alignment {
            write!(f, " after {}", alignment.name())?;
        }
        Ok(())
    }
}

impl Network {
    /// Bits a second, known or assumed.
    pub fn bandwidth(&self) -> f64 {
        let assumed = if self.round_trip < NEAR { NEAR_BANDWIDTH } else { FAR_BANDWIDTH };
        self.bandwidth.map_or(assumed, |bits| bits as f64)
    }

    /// Returns the duration in seconds, with computation and traffic one after the other.
    pub fn seconds(&self, cpu: f64, bytes: u64, rounds: u32) -> f64 {
        cpu + bytes as f64 * 8.0 / self.bandwidth() + f64::from(rounds) / 2.0 * self.round_trip.as_secs_f64()
    }
}
