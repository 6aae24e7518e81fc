//! Privacy loss as a ledger keeps it: in decimals, digit for digit.

use std::fmt;

use serde::{Deserialize, Serialize};
use tacita_core::primitive::noise::{PrivacyLoss, decimal};

/// Privacy loss that a run is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenLoss", into = "WrittenLoss")]
pub struct ChargedLoss(pub PrivacyLoss);

/// Number of decimals of rho.
const RHO: u32 = 12;

/// The same in decimals.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLoss {
    epsilon: String,
    delta: String,
    rho: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rho_delta: Option<String>,
}

impl From<ChargedLoss> for WrittenLoss {
    fn from(ChargedLoss(PrivacyLoss { epsilon, delta, rho, rho_delta }): ChargedLoss) -> WrittenLoss {
        WrittenLoss {
            epsilon: decimal::write(epsilon, decimal::EPSILON),
            delta: decimal::write(delta, decimal::DELTA),
            rho: decimal::write(rho, RHO),
            rho_delta: (rho_delta > 0).then(|| decimal::write(rho_delta, decimal::DELTA)),
        }
    }
}

impl TryFrom<WrittenLoss> for ChargedLoss {
    type Error = &'static str;

    fn try_from(WrittenLoss { epsilon, delta, rho, rho_delta }: WrittenLoss) -> Result<ChargedLoss, &'static str> {
        let read = |text: &str, decimals| decimal::read(text, decimals).ok_or("no privacy loss");
        Ok(ChargedLoss(PrivacyLoss {
            epsilon: read(&epsilon, decimal::EPSILON)?,
            delta: read(&delta, decimal::DELTA)?,
            rho: read(&rho, RHO)?,
            rho_delta: rho_delta.map_or(Ok(0), |delta| read(&delta, decimal::DELTA))?,
        }))
    }
}

impl fmt::Display for ChargedLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrittenLoss { epsilon, delta, rho, .. } = (*self).into();
        write!(f, "epsilon {epsilon}, delta {delta}, rho {rho}")
    }
}
