//! Construction and decryption of filters, in jobs that use the protocol through a helper as published.

use serde_json::Value;
use tacita_core::Result;
use tacita_core::primitive::elgamal::threshold::PartyOrder;
use tacita_core::primitive::published::bloom::Rate;

use super::bloom;
use crate::agreement::JobSpec;
use crate::agreement::words::bad;

/// Options for the construction and decryption of filters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filters {
    /// Order in which the parties decrypt; absent: in a chain.
    pub decryption: Option<PartyOrder>,
    /// Rate at which a key that not all have is taken for a common one; absent: negligible.
    pub false_positives: Option<Rate>,
}

impl Filters {
    /// The order in which the parties decrypt.
    pub fn order(&self) -> PartyOrder {
        self.decryption.unwrap_or(PartyOrder::Chain)
    }

    /// Returns the rate at which a key is wrongly in the result.
    pub fn rate(&self) -> Rate {
        self.false_positives.unwrap_or(Rate::Negligible)
    }

    /// Refuses these keys where they mean nothing.
    pub(crate) fn check(&self, job: &JobSpec) -> Result<()> {
        let present = [("decryption", self.decryption.is_some()), ("false_positives", self.false_positives.is_some())];
        match present.into_iter().find(|(_, present)| *present) {
            Some((key, _)) if job.protocol != bloom::PROTOCOL => {
                bad(format!("{key} is for protocol = \"{}\": leave it out", bloom::PROTOCOL.name()))
            }
            _ => Ok(()),
        }
    }

    /// Returns both options as they stand in the terms.
    pub(crate) fn terms(&self) -> [(&'static str, Value); 2] {
        [("decryption", self.order().name().into()), ("false_positives", self.rate().name().into())]
    }
}
