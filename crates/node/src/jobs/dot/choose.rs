//! What `auto` stands for in a scalar product.

use tacita_core::protocol::dot::ot::Extension;
use tacita_core::{Error, Result, Side};

use crate::agreement::{Choice, Chosen, Network, Protocol, Sizes};
use crate::base::text;
use crate::jobs::dot;
use crate::jobs::dot::spec::Spec;
use crate::jobs::intersect::choose::choose_intersection;

/// How `ot` can make its transfers, as far as `auto` looks.
pub(crate) const EXTENSIONS: [Extension; 4] =
    [Extension::SoftSpoken(2), Extension::SoftSpoken(4), Extension::SoftSpoken(8), Extension::Silent];

pub(crate) fn choose_dot(job: &Spec<'_>, me: &str, own: &Sizes, theirs: &Sizes, network: Network) -> Result<Choice> {
    let alignment = job.alignment().map(|job| choose_intersection(&job, me, own, theirs, network).chosen.protocol);
    // Of aligned rows there are no more than the shorter table has.
    let rows = own.items.min(theirs.items) as usize;
    let named = |protocol| job.protocol == Protocol::Auto || job.protocol == protocol;
    let mut candidates = Vec::new();
    if named(Protocol::Ot) {
        let extensions = job.own.extension.map_or(EXTENSIONS.to_vec(), |extension| vec![extension]);
        let by_ot = |extension| Chosen { protocol: Protocol::Ot, extension: Some(extension), alignment };
        candidates.extend(extensions.into_iter().map(by_ot));
    }
    // One product is so little that the fewest bytes are worth more than a few milliseconds.
    let several = job.dot_shape(rows)?.products() > 1;
    if job.protocol == Protocol::Lattice || (named(Protocol::Lattice) && several && job.own.extension.is_none()) {
        candidates.push(Chosen { alignment, ..Chosen::only(Protocol::Lattice) });
    }
    if job.protocol.is_published() {
        candidates.push(Chosen { alignment, ..Chosen::only(job.protocol) });
    }
    let only = candidates.len() == 1;
    let mut best: Option<(Chosen, f64, u64)> = None;
    let mut refused = None;
    for chosen in candidates {
        let method = match dot::Method::new(job, &chosen, rows) {
            Ok(method) => method,
            // Another one may do.
            Err(error) => {
                refused.get_or_insert(error);
                continue;
            }
        };
        let bytes = [Side::First, Side::Second].into_iter().map(|side| method.bytes_sent_by(side)).sum();
        // The two parties compute at the same time.
        let cpu = method.cpu(None);
        let seconds = network.seconds(cpu.first.max(cpu.second), bytes, method.rounds());
        if best.is_none_or(|(_, least, _)| seconds < least) {
            best = Some((chosen, seconds, bytes));
        }
    }
    match (best, refused) {
        (Some((chosen, ..)), _) if only => Ok(Choice { chosen, why: "the job names it".into() }),
        (Some((chosen, _, bytes)), _) => {
            Ok(Choice { chosen, why: format!("the fastest over this network, with {}", text::bytes(bytes)) })
        }
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::Internal("no protocol for a scalar product".into())),
    }
}
