//! What opens or compares shares.

use crate::agreement::{Choice, Chosen, Protocol};
use crate::jobs::shares;
use crate::jobs::shares::spec::Shares;

pub(crate) fn choose_for_shares(job: &Shares) -> Choice {
    match job.threshold() {
        Some(_) => Choice {
            chosen: Chosen { extension: Some(shares::EXTENSION), ..Chosen::only(Protocol::Ot) },
            why: "it compares shares and opens none".into(),
        },
        None => Choice { chosen: Chosen::only(Protocol::Open), why: "shares are opened by sending them".into() },
    }
}
