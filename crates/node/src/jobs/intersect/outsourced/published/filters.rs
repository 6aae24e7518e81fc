//! How filters are made and decrypted, in jobs by the protocol through a helper as it was published.

use serde_json::Value;
use tacita_core::Result;
use tacita_core::primitive::elgamal::threshold::Order;
use tacita_core::primitive::published::bloom::Rate;

use super::bloom;
use crate::agreement::JobSpec;
use crate::agreement::words::bad;

/// How filters are made and decrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filters {
    /// In which order the parties decrypt; absent: in a chain.
    pub decryption: Option<Order>,
    /// How often a key that not all have is taken for one that they have; absent: as good as never.
    pub false_positives: Option<Rate>,
}

impl Filters {
    /// The order in which the parties decrypt.
    pub fn order(&self) -> Order {
        self.decryption.unwrap_or(Order::Chain)
    }

    /// How often a key is wrongly in the result.
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

    /// Both, as they stand in the terms.
    pub(crate) fn terms(&self) -> [(&'static str, Value); 2] {
        [("decryption", self.order().name().into()), ("false_positives", self.rate().name().into())]
    }
}
