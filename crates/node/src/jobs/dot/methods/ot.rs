//! Products by oblivious transfer: see `tacita_core::protocol::dot::ot`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::ot::{self, Extension, Params};
use tacita_core::protocol::dot::{Columns, Modulus, Shape, Shares};
use tacita_core::{Error, Result, Session, Side};

use super::{Cpu, DotPairMethod, Product, ProductRequest};
use crate::agreement::cost::{Calibration, MEASURED};
use crate::agreement::{FAR_BANDWIDTH, NEAR_BANDWIDTH, Network, Protocol};
use crate::jobs::dot::DotJob;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("ot");

/// Protocol based on oblivious transfer.
pub struct Ot;

/// Extensions for making transfers that `auto` considers.
pub const EXTENSIONS: [Extension; 4] =
    [Extension::SoftSpoken(2), Extension::SoftSpoken(4), Extension::SoftSpoken(8), Extension::Silent];

/// CPU seconds of both parties together for one transfer.
const TRANSFERS: [(Extension, f64); 4] = [
    (Extension::SoftSpoken(2), 32e-9),
    (Extension::SoftSpoken(4), 35e-9),
    (Extension::SoftSpoken(8), 90e-9),
    (Extension::Silent, 550e-9),
];

/// CPU seconds of both parties together for a further column that shares a transfer.
pub const WORD: f64 = 5e-9;

/// CPU seconds of each party before the first transfer.
pub const START: f64 = 12e-3;
const SILENT_START: f64 = 30e-3;

/// CPU seconds of both parties together for one transfer.
pub fn transfer_seconds(extension: Extension) -> f64 {
    let known = TRANSFERS.iter().find(|(known, _)| *known == extension);
    known.map_or(TRANSFERS[2].1, |(_, seconds)| *seconds)
}

/// The bandwidth in bits a second that is assumed where it depends on the network which of two protocols is the faster,
/// and both parties have to know: by how transfers are made, for which the network was looked at.
pub fn bandwidth_for(extension: Option<Extension>) -> f64 {
    match extension {
        Some(Extension::SoftSpoken(..8)) => NEAR_BANDWIDTH,
        _ => FAR_BANDWIDTH,
    }
}

/// The extension of SoftSpoken whose transfers are the cheapest over a network, for jobs that make some now and some
/// later.
pub fn cheapest(network: Network) -> Extension {
    let seconds = |extension: Extension| match extension {
        // A transfer of SoftSpoken has 128 / k bits.
        Extension::SoftSpoken(k) => {
            Some((extension, transfer_seconds(extension) / 2.0 + 128.0 / k as f64 / network.bandwidth()))
        }
        Extension::Silent => None,
    };
    let cheapest = EXTENSIONS.into_iter().filter_map(seconds).min_by(|one, other| one.1.total_cmp(&other.1));
    cheapest.map_or(Extension::SoftSpoken(4), |(extension, _)| extension)
}

impl DotPairMethod for Ot {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn adds_noise(&self) -> bool {
        true
    }

    fn has_no_extension(&self) -> Option<&'static str> {
        None
    }

    fn ways(&self, job: &DotJob<'_>, _products: usize) -> Vec<Option<Extension>> {
        let extensions = job.own.extension.map_or(EXTENSIONS.to_vec(), |extension| vec![extension]);
        extensions.into_iter().map(Some).collect()
    }

    fn allows(&self, job: &DotJob<'_>, extension: Option<Extension>) -> bool {
        extension.is_some() && (job.own.extension.is_none() || job.own.extension == extension)
    }

    fn product(&self, _job: &DotJob<'_>, wanted: ProductRequest) -> Result<Box<dyn Product>> {
        let extension = wanted.extension.ok_or_else(|| Error::Internal("transfers that are made no way".into()))?;
        Ok(Box::new(Params::new(wanted.shape, wanted.modulus, extension, wanted.learner)?))
    }
}

impl Product for Params {
    fn shape(&self) -> Shape {
        *Params::shape(self)
    }

    fn modulus(&self) -> Modulus {
        Params::modulus(self)
    }

    fn bytes_sent_by(&self, side: Side) -> u64 {
        Params::bytes_sent_by(self, side)
    }

    fn rounds(&self) -> u32 {
        Params::rounds(self)
    }

    fn begins(&self) -> Side {
        self.ot_sender()
    }

    fn ends(&self) -> Side {
        self.ot_sender()
    }

    fn cpu(&self, machine: Option<&Calibration>) -> Cpu {
        let shape = Params::shape(self);
        let (start, relative) = machine
            .map_or((START, 1.0), |machine| (machine.ot_start, machine.ot_transfer / transfer_seconds(MEASURED)));
        let start = if self.extension() == Extension::Silent { SILENT_START } else { start };
        let shared = shape.first.max(shape.second).saturating_sub(1) as f64;
        let both = self.transfers() as f64 * relative * (transfer_seconds(self.extension()) + shared * WORD);
        Cpu { first: start + both / 2.0, second: start + both / 2.0 }
    }

    fn memory(&self) -> u64 {
        if self.extension() == Extension::Silent { 512 << 20 } else { 64 << 20 }
    }

    fn run(
        &self,
        side: Side,
        columns: &Columns,
        session: &Session,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<Shares> {
        ot::run(side, columns, self, session, channel, rng)
    }
}
