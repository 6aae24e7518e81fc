//! Plain sentences on who learns what in a scalar product.

use crate::agreement::{AlignWay, Chosen, Disclosure, KnownSizes, Reveal};
use crate::base::text::count;
use crate::jobs::aligned::learned::{density, of_rows, rows_at_a_glance};
use crate::jobs::dot::spec::DotJob;
use crate::jobs::dot::{methods, noise, side};
use crate::jobs::learned::filtered;

/// Clause on the products that are known without being learned.
pub(crate) const ZEROS: &str = " (but that those with a column of zeros, or over no rows, are 0)";

/// Returns what the share of this party tells, if it is no uniformly random number.
fn telling(job: &DotJob<'_>, party: &str) -> Option<&'static str> {
    methods::named(job.protocol)?.telling(side(job, party))
}

/// Returns a warning of shares that are no uniformly random numbers.
pub(super) fn warning(job: &DotJob<'_>) -> Option<String> {
    let tells =
        job.reveal == Reveal::Shares && job.parties.names().into_iter().any(|name| telling(job, name).is_some());
    tells.then(|| {
        format!(
            "reveal = \"shares\" by protocol = \"{}\": the parts are not uniformly random, and each nearly tells its party the product. \
             Where a share must say nothing, use \"ot\"",
            job.protocol.name()
        )
    })
}

/// Returns what `party` learns in a scalar product.
pub(crate) fn dot(job: &DotJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    let (peer, alignment) = (job.peer_of(party), job.alignment());
    let mut learned = Vec::new();
    let (own, theirs) = (job.columns_of(party), job.columns_of(peer));
    let products = match (own.len(), theirs.len()) {
        (1, 1) => "the sum over all rows of its number times the other's".to_owned(),
        (one, other) => format!(
            "{} sums of products over all rows, one for each pair of a column of its own and one of {peer}'s",
            count(one as u64 * other as u64)
        ),
    };
    match job.reveal {
        Reveal::Shares if let Some(part) = telling(job, party) => {
            learned.push(format!("{party} learns much of each product from the part that it gets. That is {part}."));
            learned.push(format!(
                "{party}'s parts are not uniformly random shares: where a share must say nothing, use protocol = \"ot\"."
            ));
            learned.push(format!(
                "{party} learns more from columns that overlap and from runs that are repeated, since each is split anew: many tell all."
            ));
        }
        Reveal::Shares => {
            learned.push(format!("{party} learns no product{ZEROS}."));
            learned.push(format!(
                "{party} gets a share of each product: a uniformly random number, or 0 if there are no rows."
            ));
            let noise = if job.noise.is_some() { ", plus noise" } else { "" };
            learned.push(format!(
                "Whoever has both shares learns the product{noise}. Who may is agreed upon in the job that opens them."
            ));
            learned.extend(noise::sentences(job, party));
        }
        _ if job.learns(party) => {
            let noise = if job.noise.is_some() { ", plus noise" } else { "" };
            learned.push(format!("{party} learns {products}{noise}."));
            learned.extend(noise::sentences(job, party));
            let single = (job.noise.is_none()).then(|| format!(
                "{party} can learn single numbers of {peer}'s by the choice of its own. An example is the number in one row, if its own \
                 number there is the only one that is not 0. Nothing checks what numbers a party brings."
            ));
            learned.extend(single);
            learned.extend(filtered(job, party, "value"));
        }
        _ => learned.push(format!("{party} learns no product{ZEROS}.")),
    }
    if job.learns(party)
        && job.reveal != Reveal::Shares
        && job.noise.is_none()
        && alignment.as_ref().is_some_and(|it| it.way == AlignWay::Hidden)
    {
        learned.push(format!(
            "{party} can learn that one of its rows is common if its number is 0 in all others, and the product is not 0."
        ));
    }
    if let Ok(product) = methods::product(job, &Chosen::only(job.protocol), 0)
        && product.pooled().is_some_and(|params| params.encryptor() != side(job, party))
    {
        learned.push(format!(
            "{party} can tell which runs share a pool if {peer} takes its encryptions from a pool: these runs have the same key."
        ));
    }
    let hidden = alignment.as_ref().is_some_and(|it| it.way == AlignWay::Hidden);
    density(job.density(), ["no column", "has ones in"], [party, peer], hidden, &mut learned);
    of_rows(alignment.as_ref(), party, peer, known, &mut learned);
    learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    learned
}

/// Returns the summary of who learns what, one entry for each result.
pub(crate) fn at_a_glance(job: &DotJob<'_>) -> Vec<Disclosure> {
    let in_shares = job.reveal == Reveal::Shares;
    let tells = |name: &str| in_shares && telling(job, name).is_some();
    let mut all = Vec::new();
    if job.parties.names().into_iter().any(tells) {
        all.push(Disclosure::new(job, "much of each product, from its part", tells));
    } else {
        let what = if job.noise.is_some() { "the scalar products, with noise" } else { "the scalar products" };
        all.push(Disclosure::new(job, what, |name| job.learns(name) && !in_shares));
    }
    all.extend(rows_at_a_glance(job, job.alignment().as_ref()));
    all
}
