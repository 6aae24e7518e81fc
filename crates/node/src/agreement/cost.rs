//! What a job costs.

use std::collections::BTreeMap;

use tacita_core::channel::HEADER_BYTES;

/// Measured on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Calibration {
    /// CPU time in seconds that one item costs in one pass of `ecdh`: hashing or decoding, a multiplication, encoding.
    pub ecdh_pass: f64,
    /// CPU time in seconds that `vole` costs each party before the first item.
    pub vole_start: f64,
    /// CPU time in seconds that an item of both parties costs both in `vole`.
    pub vole_item: f64,
    /// CPU time in seconds that `ot` costs each party before the first transfer.
    pub ot_start: f64,
    /// CPU time in seconds that a transfer costs both parties in `ot` by [`dot::MEASURED`].
    pub ot_transfer: f64,
    /// CPU time in seconds that checking a ciphertext of Paillier's takes at level `bits128`.
    pub paillier_read: f64,
    /// Threads that share the work.
    pub threads: usize,
}

/// Bytes of the frame with which each party ends a job.
pub(crate) const CLOSE_BYTES: u64 = HEADER_BYTES as u64;

/// What a protocol costs, the handshake aside.
pub(crate) struct Cost<'a> {
    pub roles: BTreeMap<&'a str, RoleCost>,
    pub rounds: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct RoleCost {
    /// CPU seconds.
    pub cpu: f64,
    /// Bytes sent.
    pub bytes: u64,
}
