//! Choice of the protocol that opens or compares shares.

use super::OPEN;
use super::spec::SharesSpec;
use crate::agreement::{Choice, Chosen};
use crate::jobs::dot::methods::ot;
use crate::jobs::shares;

pub(crate) fn choose_for_shares(job: &SharesSpec) -> Choice {
    match job.threshold() {
        Some(_) => Choice {
            chosen: Chosen { extension: Some(shares::EXTENSION), ..Chosen::only(ot::PROTOCOL) },
            why: "it compares shares and opens none".into(),
        },
        None => Choice { chosen: Chosen::only(OPEN), why: "shares are opened by sending them".into() },
    }
}
