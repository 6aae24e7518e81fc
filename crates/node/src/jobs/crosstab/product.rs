//! Choice of the protocol that multiplies columns of categories, once both know how many there are.

use std::collections::BTreeMap;

use tacita_core::protocol::dot::{Modulus, Shape, lattice, ot};
use tacita_core::{Error, Result};

use super::spec::CrosstabJob;
use crate::agreement::{Choice, Chosen, Network, Sizes};
use crate::jobs::aligned;
use crate::jobs::dot::methods::ot::{bandwidth_for, cheapest};
use crate::jobs::dot::methods::{Product, lattice as by_lattice, ot as by_ot};

/// Chooses the protocols that products may be made by. The number of categories shows only in the run.
pub(super) fn choose(job: &CrosstabJob<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
    let alignment = aligned::choose(job.alignment().as_ref(), sizes, network)?;
    let extension = Some(cheapest(network));
    let (chosen, why) = match job.protocol {
        by_ot::PROTOCOL => (Chosen { extension, ..Chosen::only(by_ot::PROTOCOL) }, "the job names it"),
        by_lattice::PROTOCOL => (Chosen::only(by_lattice::PROTOCOL), "the job names it"),
        _ if job.noise.is_some() => (Chosen { extension, ..Chosen::only(by_ot::PROTOCOL) }, "the one that adds noise"),
        _ => (
            Chosen { or: Some(by_ot::PROTOCOL), extension, ..Chosen::only(by_lattice::PROTOCOL) },
            "the faster of both for as many categories as there are, over this network",
        ),
    };
    Ok(Choice { chosen: Chosen { alignment, ..chosen }, why: why.into() })
}

/// Products of this shape, by the faster of the protocols that were chosen. Both parties take the same.
pub(super) fn product(chosen: &Chosen, shape: Shape, modulus: Modulus) -> Result<Box<dyn Product>> {
    let mut all: Vec<Result<Box<dyn Product>>> = Vec::new();
    if let Some(extension) = chosen.extension {
        all.push(ot::Params::new(shape, modulus, extension, None).map(|params| Box::new(params) as Box<dyn Product>));
    }
    if chosen.protocol == by_lattice::PROTOCOL {
        all.push(lattice::Params::new(shape, modulus, None).map(|params| Box::new(params) as Box<dyn Product>));
    }
    let seconds = |product: &dyn Product| {
        let (cpu, [one, other]) = (product.cpu(None), bytes(product));
        cpu.first.max(cpu.second) + (one + other) as f64 * 8.0 / bandwidth_for(chosen.extension)
    };
    let mut refused = Error::Internal("crosstab: no protocol for its products".into());
    let mut best: Option<(f64, Box<dyn Product>)> = None;
    for product in all {
        match product {
            Ok(product) => {
                let seconds = seconds(&*product);
                if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
                    best = Some((seconds, product));
                }
            }
            Err(error) => refused = error,
        }
    }
    best.map(|(_, product)| product).ok_or(refused)
}

/// Bytes that each party sends in a product.
pub(super) fn bytes(product: &dyn Product) -> [u64; 2] {
    use tacita_core::Side;
    [Side::First, Side::Second].map(|side| product.bytes_sent_by(side))
}
