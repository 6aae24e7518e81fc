//! What silent VOLE sends, before it is run.

use super::check::{ANSWER_BYTES, CHALLENGE_BYTES};
use super::vole::base_elements;
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
    let security = transfers.security();
    let frame = |payload: usize| (HEADER_BYTES + payload) as u64;
    let (sender, receiver) = transfers.setup_bytes();
    let mut traffic = Traffic { sender, receiver };
    for start in (0..outputs).step_by(RUN_OUTPUTS) {
        let parameters = Parameters::new(Kind::Field, RUN_OUTPUTS.min(outputs - start))?;
        let count = 128 * base_elements(&parameters, security) + parameters.tree_transfers();
        traffic.receiver += transfers.bytes(count);
        traffic.sender += parameters.depth as u64 * frame(parameters.sums_bytes()) + frame(parameters.tips_bytes());
        if security == Security::Malicious {
            traffic.receiver += frame(CHALLENGE_BYTES);
            traffic.sender += frame(ANSWER_BYTES);
        }
    }
    Ok(traffic)
}
