//! What runs, as it is chosen and written.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tacita_core::protocol::dot::ot::Extension;
use tacita_core::{Error, Result};

use super::{JobSpec, Protocol};

/// What runs. Written as on the wire: `vole`, `ot softspoken-4`, `ot softspoken-4 after vole`, `lattice or ot softspoken-4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The protocol that answers; never [`Protocol::Auto`].
    pub protocol: Protocol,
    /// How `ot` makes its oblivious transfers. With [`Protocol::Lattice`], in rules: each level goes by `lattice` or by `ot`,
    /// whichever takes less time there.
    pub extension: Option<Extension>,
    /// The intersection that aligns rows before.
    pub alignment: Option<Protocol>,
}

/// A choice, and why.
pub struct Choice {
    /// What runs.
    pub chosen: Chosen,
    /// For the plan.
    pub why: String,
}

/// What is known of the network between the parties.
#[derive(Debug, Clone, Copy, Default)]
pub struct Network {
    /// Forth and back.
    pub round_trip: Duration,
    /// Bits a second; unknown, as a rule.
    pub bandwidth: Option<u64>,
}

/// With a shorter round trip a network is near.
const NEAR: Duration = Duration::from_millis(5);

/// Bits a second that are assumed of a near network, where only an order of magnitude matters.
pub const NEAR_BANDWIDTH: f64 = 1e9;

/// The same of another one.
pub const FAR_BANDWIDTH: f64 = 100e6;

impl Chosen {
    /// A protocol that needs nothing else.
    pub fn only(protocol: Protocol) -> Chosen {
        Chosen { protocol, extension: None, alignment: None }
    }
}

impl JobSpec {
    /// Whether the job leaves the choice of this protocol.
    pub(crate) fn leaves(&self, protocol: Protocol) -> bool {
        let named = self.protocol == Protocol::Auto || self.protocol == protocol;
        named && self.job.protocols(self).contains(&protocol)
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.protocol, self.extension) {
            (Protocol::Lattice, Some(extension)) => write!(f, "lattice or ot {extension}")?,
            (protocol, Some(extension)) => write!(f, "{} {extension}", protocol.name())?,
            (protocol, None) => f.write_str(protocol.name())?,
        }
        if let Some(alignment) = self.alignment {
            write!(f, " after {}", alignment.name())?;
        }
        Ok(())
    }
}

impl FromStr for Chosen {
    type Err = Error;

    fn from_str(text: &str) -> Result<Chosen> {
        let (answer, alignment) = match text.split_once(" after ") {
            Some((answer, alignment)) => (answer, Some(alignment.parse()?)),
            None => (text, None),
        };
        let (protocol, extension) = match (answer.strip_prefix("lattice or ot "), answer.split_once(' ')) {
            (Some(extension), _) => ("lattice", Some(extension.parse()?)),
            (None, Some((protocol @ ("lattice" | "paillier" | "gm-bloom" | "bloom"), extension))) => {
                return Err(Error::Input(format!("{protocol} has no extension \"{}\"", extension.escape_debug())));
            }
            (None, Some((protocol, extension))) => (protocol, Some(extension.parse()?)),
            (None, None) => (answer, None),
        };
        Ok(Chosen { protocol: protocol.parse()?, extension, alignment })
    }
}

impl Network {
    /// Bits a second, known or assumed.
    pub fn bandwidth(&self) -> f64 {
        let assumed = if self.round_trip < NEAR { NEAR_BANDWIDTH } else { FAR_BANDWIDTH };
        self.bandwidth.map_or(assumed, |bits| bits as f64)
    }

    /// How long something takes, with computation and traffic one after the other.
    pub fn seconds(&self, cpu: f64, bytes: u64, rounds: u32) -> f64 {
        cpu + bytes as f64 * 8.0 / self.bandwidth() + f64::from(rounds) / 2.0 * self.round_trip.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in [
            "vole",
            "lattice",
            "paillier",
            "paillier after vole",
            "gm-bloom after vole",
            "bloom",
            "ot softspoken-4",
            "ot silent after ecdh",
            "lattice after vole",
            "lattice or ot softspoken-8",
            "lattice or ot softspoken-2 after vole",
        ] {
            assert_eq!(text.parse::<Chosen>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "ot ",
            "lattice softspoken-4",
            "paillier softspoken-4",
            "gm-bloom softspoken-4",
            "bloom softspoken-4",
            "lattice or ot",
            "lattice or ot ",
            "ot or lattice",
            "no",
        ] {
            assert!(text.parse::<Chosen>().is_err(), "{text}");
        }
    }
}
