//! What silent VOLE sends, before it is run.

use super::check::{ANSWER_BYTES, CHALLENGE_BYTES};
use super::{cot, vole};
use crate::channel::HEADER_BYTES;
use crate::error::Result;
use crate::primitive::ot::softspoken;
use crate::primitive::vole::params::{Kind, Parameters, RUN_OUTPUTS};
use crate::security::Security;

/// Bytes of payloads and frames' headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Sent by the sender, who has delta.
    pub sender: u64,
    /// Sent by the receiver.
    pub receiver: u64,
}

/// What one call for `outputs` elements of VOLE sends, by [`super::SilentSender`] and its receiver over SoftSpoken of this form, setting
/// it up included.
pub fn traffic(outputs: usize, transfers: &softspoken::Params) -> Result<Traffic> {
    let (sender, receiver) = transfers.setup_bytes();
    let mut traffic = Traffic { sender, receiver };
    for start in (0..outputs).step_by(RUN_OUTPUTS) {
        let run = traffic_of_run(Kind::Field, RUN_OUTPUTS.min(outputs - start), transfers)?;
        traffic.sender += run.sender;
        traffic.receiver += run.receiver;
    }
    Ok(traffic)
}

/// What one run with `outputs` outputs sends, of VOLE or of COT; setting up is left out.
pub fn traffic_of_run(kind: Kind, outputs: usize, transfers: &softspoken::Params) -> Result<Traffic> {
    let security = transfers.security();
    let frame = |payload: usize| (HEADER_BYTES + payload) as u64;
    let parameters = Parameters::new(kind, outputs)?;
    let base = match kind {
        Kind::Field => vole::base_elements(&parameters, security),
        Kind::Binary => cot::base_elements(security),
    };
    let mut traffic = Traffic {
        sender: parameters.depth as u64 * frame(parameters.sums_bytes()) + frame(parameters.tips_bytes()),
        receiver: transfers.bytes(128 * base + parameters.tree_transfers()),
    };
    if security == Security::Malicious {
        traffic.receiver += frame(CHALLENGE_BYTES);
        traffic.sender += frame(ANSWER_BYTES);
    }
    Ok(traffic)
}
