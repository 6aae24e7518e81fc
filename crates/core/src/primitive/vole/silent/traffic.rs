//! Traffic of silent VOLE, computed before it is run. The sender is the party that has delta.

use super::check::{ANSWER_BYTES, CHALLENGE_BYTES};
use super::{cot, vole};
use crate::channel::HEADER_BYTES;
use crate::error::Result;
use crate::primitive::ot::softspoken;
use crate::primitive::vole::params::{Parameters, RUN_OUTPUTS, VoleKind};
use crate::role::Role;
use crate::security::Security;

/// Bytes that a party sends in one call for `outputs` elements of VOLE, by [`super::SilentSender`] and its receiver
/// over SoftSpoken of this form, setting it up and frames' headers included.
pub(crate) fn bytes_sent_by(role: Role, outputs: usize, transfers: &softspoken::Params) -> Result<u64> {
    let mut bytes = transfers.setup_bytes_sent_by(role);
    for start in (0..outputs).step_by(RUN_OUTPUTS) {
        bytes += run_bytes_sent_by(role, VoleKind::Field, RUN_OUTPUTS.min(outputs - start), transfers)?;
    }
    Ok(bytes)
}

/// Bytes that a party sends in one run with `outputs` outputs, of VOLE or of COT, likewise; setting up is left out.
pub(crate) fn run_bytes_sent_by(
    role: Role,
    kind: VoleKind,
    outputs: usize,
    transfers: &softspoken::Params,
) -> Result<u64> {
    let security = transfers.security();
    let frame = |payload: usize| (HEADER_BYTES + payload) as u64;
    let parameters = Parameters::new(kind, outputs)?;
    let base = match kind {
        VoleKind::Field => vole::base_elements(&parameters, security),
        VoleKind::Binary => cot::base_elements(security),
    };
    let (run, checked) = match role {
        Role::Receiver => (0, CHALLENGE_BYTES),
        Role::Sender => {
            (parameters.depth as u64 * frame(parameters.sums_bytes()) + frame(parameters.tips_bytes()), ANSWER_BYTES)
        }
    };
    let check = if security == Security::Malicious { frame(checked) } else { 0 };
    Ok(run + transfers.bytes_sent_by(role, 128 * base + parameters.tree_transfers()) + check)
}
