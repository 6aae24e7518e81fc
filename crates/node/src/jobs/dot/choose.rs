//! Resolution of `auto` in a scalar product.

use std::collections::BTreeMap;

use tacita_core::{Error, Result, Side};

use super::methods::{self, DotPairMethod};
use super::spec::DotJob;
use crate::agreement::{Choice, Chosen, Network, Sizes};
use crate::base::text;
use crate::jobs::aligned::{self, cost::most_rows};

pub(crate) fn choose_dot(job: &DotJob<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
    let alignment = aligned::choose(job.alignment().as_ref(), sizes, network)?;
    let shorter = job.both(sizes).map(|(_, sizes)| sizes.items).into_iter().min().unwrap_or_default();
    // Tables of another number of rows by position are refused later.
    let rows = most_rows(job, job.alignment().as_ref(), sizes).unwrap_or(shorter) as usize;
    let products = job.dot_shape(rows)?.products();
    let usual = |method: &dyn DotPairMethod| !method.is_published() && (job.noise.is_none() || method.adds_noise());
    let named = |method: &&dyn DotPairMethod| {
        if job.protocol.is_auto() { usual(*method) } else { job.protocol == method.protocol() }
    };
    let ways = |method: &'static dyn DotPairMethod| {
        let ways = method.ways(job, products).into_iter();
        ways.map(move |extension| Chosen { extension, alignment, ..Chosen::only(method.protocol()) })
    };
    let candidates: Vec<_> = methods::all().filter(named).flat_map(ways).collect();
    let only = candidates.len() == 1;
    // Rows that are too many are refused by the check of memory, which names the party that brings them.
    let possible = |chosen: &&Chosen| methods::product(job, chosen, shorter as usize).is_ok();
    let without_them = candidates.iter().find(possible).copied().filter(|_| rows > shorter as usize);
    let mut best: Option<(Chosen, f64, u64)> = None;
    let mut refused = None;
    for chosen in candidates {
        let product = match methods::product(job, &chosen, rows) {
            Ok(product) => product,
            // Another one may do.
            Err(error) => {
                refused.get_or_insert(error);
                continue;
            }
        };
        let bytes = [Side::First, Side::Second].into_iter().map(|side| product.bytes_sent_by(side)).sum();
        // The two parties compute at the same time.
        let cpu = product.cpu(None);
        let seconds = network.seconds(cpu.first.max(cpu.second), bytes, product.rounds());
        if best.is_none_or(|(_, least, _)| seconds < least) {
            best = Some((chosen, seconds, bytes));
        }
    }
    match (best, refused) {
        (Some((chosen, ..)), _) if only => Ok(Choice { chosen, why: "the job names it".into() }),
        (Some((chosen, _, bytes)), _) => {
            Ok(Choice { chosen, why: format!("the fastest over this network, with {}", text::bytes(bytes)) })
        }
        (None, Some(error)) => match without_them {
            Some(chosen) => Ok(Choice { chosen, why: "the first that fewer rows would allow".into() }),
            None => Err(error),
        },
        (None, None) => Err(Error::Internal("no protocol for a scalar product".into())),
    }
}
