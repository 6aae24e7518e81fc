//! Cost estimates of a job.

use std::collections::BTreeMap;

use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::dot::ot::Extension;

/// Measured on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Calibration {
    /// CPU time in seconds that one item costs in one pass of `ecdh`: hashing or decoding, a multiplication, encoding.
    pub ecdh_pass: f64,
    /// The same where points are multiplied one at a time: what groups cost that have no kernel is told by it.
    pub single_pass: f64,
    /// CPU time in seconds that `vole` costs each party before the first item.
    pub vole_start: f64,
    /// CPU time in seconds that an item of both parties costs both in `vole`.
    pub vole_item: f64,
    /// CPU time in seconds that `ot` costs each party before the first transfer.
    pub ot_start: f64,
    /// CPU time in seconds that a transfer costs both parties in `ot` by [`MEASURED`].
    pub ot_transfer: f64,
    /// CPU time in seconds that it takes to re-randomise a ciphertext of Paillier's under a key of 1024 bits.
    pub paillier_power: f64,
    /// Threads that share the work.
    pub threads: usize,
}

/// Factor by which a pass takes longer in P-384 than in ristretto255, one point after the other, as measured with
/// AVX-512.
pub const P384_PASSES: f64 = 28.0;

/// Extension with which the transfers are made that [`Calibration::ot_transfer`] is measured with.
pub const MEASURED: Extension = Extension::SoftSpoken(4);

/// Bytes of the frame with which each party ends a job.
pub const CLOSE_BYTES: u64 = HEADER_BYTES as u64;

/// Cost of a job for its helper.
#[derive(Debug, Clone, Copy, Default)]
pub struct HelperCost {
    /// CPU time in seconds.
    pub cpu: f64,
    /// Bytes that parties collect of it.
    pub sent: u64,
    /// Bytes that parties leave for it.
    pub received: u64,
    /// Sentences that state what the helper learns.
    pub learns: &'static [&'static str],
}

/// Cost of a job, excluding the handshake.
#[derive(Debug, Clone, Default)]
pub struct Cost {
    /// Cost of each role, by party.
    pub roles: BTreeMap<String, RoleCost>,
    /// Cost for the helper, in a job with one.
    pub helper: Option<HelperCost>,
    /// Message flights in sequence.
    pub rounds: u32,
    /// Buckets of a run on disk.
    pub buckets: Option<usize>,
    /// Unknowns on which rounds, bytes and seconds depend, and which cannot be known beforehand. If there are any, the
    /// figures are lower bounds.
    pub notes: Vec<String>,
    /// Assumption behind the figures, besides the reason for the choice of protocol.
    pub assumed: Option<&'static str>,
}

impl Cost {
    /// Adds the cost of a job that runs afterwards between the same parties.
    pub fn and(mut self, then: Cost) -> Cost {
        for (name, cost) in then.roles {
            let role = self.roles.entry(name).or_default();
            let disk = [role.disk, cost.disk].into_iter().flatten().reduce(|a, b| a + b);
            *role = RoleCost { cpu: role.cpu + cost.cpu, bytes: role.bytes + cost.bytes, disk };
        }
        self.notes.extend(then.notes);
        Cost {
            rounds: self.rounds + then.rounds,
            buckets: [self.buckets, then.buckets].into_iter().flatten().reduce(|a, b| a + b),
            assumed: self.assumed.or(then.assumed),
            ..self
        }
    }
}

/// Cost of a job for one party.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoleCost {
    /// CPU time in seconds.
    pub cpu: f64,
    /// Number of bytes sent.
    pub bytes: u64,
    /// Bytes on disk at once, for a table that is sorted there.
    pub disk: Option<u64>,
}
