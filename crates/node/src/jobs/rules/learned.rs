//! Plain sentences on who learns what in association rules.

use tacita_core::protocol::rules::support::Support;

use crate::agreement::{AlignWay, Disclosure, KnownSizes, Reveal};
use crate::base::text::counted;
use crate::jobs::aligned::learned::{density, of_rows, rows_at_a_glance};
use crate::jobs::learned::list;
use crate::jobs::rules::mesh;
use crate::jobs::rules::spec::{Bins, RulesJob};

/// Returns what `party` learns in association rules: `docs/protocols/rules.md` says why.
pub(crate) fn rules(job: &RulesJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    if job.parties.0.len() > 2 {
        return mesh::learned(job, party, known);
    }
    let peer = job.peer_of(party);
    // Job files without a support are refused.
    let enough = match job.support() {
        Ok(Support::Rows(rows)) => format!("at least {}", counted(rows, "row")),
        Ok(support) if job.support_of_common_rows() => format!("at least {support} of the rows that both have"),
        Ok(support) => format!("at least {support} of all rows"),
        Err(_) => "enough rows".into(),
    };
    let longest = job
        .own
        .max_len
        .map_or(String::new(), |most| format!(" Itemsets of more than {} are left out.", counted(most, "item")));
    let mut learned = Vec::new();
    if job.own.mixed_only.unwrap_or(false) {
        learned.push(format!(
                "{party} learns the itemsets with items of both parties that are in {enough}.{longest} It learns in how many rows \
                 each is, and the rules that they make."
            ));
        learned.push(format!(
                "{party} learns in how many rows an itemset of {peer}'s items alone is if it is one side of such a rule. Confidence and \
                 lift are computed from that."
            ));
        learned.push(format!(
                "{party} can also compute that number from the counts of that itemset with several of its own items. That takes all \
                 of these counts, and exactly one of these items in each row, as with the values of one column."
            ));
        learned.push(format!(
            "{party} learns how many of {peer}'s items are frequent, and the names of those that stand in a frequent \
                 itemset with items of both."
        ));
        learned.push(format!(
                "{party} learns all of {peer}'s frequent itemsets if one item of {party}'s is in every row. Each makes one of both \
                 with that item, in as many rows."
            ));
    } else {
        learned.push(format!(
                "{party} learns all itemsets that are in {enough}, and in how many rows each is.{longest} These are itemsets of its own \
                 items, of {peer}'s, and of both; the rules follow from them."
            ));
        learned.push(format!("{party} learns the names of those of {peer}'s items that are frequent."));
        learned.push(format!("{party} does not learn the names of {peer}'s other items, nor how many there are."));
    }
    let hidden = job.alignment().is_some_and(|alignment| alignment.way == AlignWay::Hidden);
    if hidden {
        learned.push(format!(
            "{party} learns how many of {peer}'s items are in enough rows of {peer}'s, common or not, and how many of these are frequent."
        ));
        learned.push(format!("{party} learns which of its own items are in enough common rows."));
        learned.push(format!(
            "{party} can learn whether one of its rows is common from two items of its own that differ only in that row. Their counts, or \
             those with an item of {peer}'s, differ by it."
        ));
    }
    if job.reveal == Reveal::Counts {
        let contained = if job.own.mixed_only.unwrap_or(false) {
            "all that it contains with items of both is"
        } else {
            "all that it contains is"
        };
        learned.push(format!(
            "{party} learns the counts of all candidates with items of both parties, those in fewer rows too. With reveal = \"frequent\", it \
             would not."
        ));
        learned.push(format!(
            "{party} learns, for each frequent item of its own and each frequent item of {peer}'s, how many rows hold both."
        ));
        learned.push(format!("{party} learns the same of a longer candidate if {contained} frequent."));
    }
    if job.reveal == Reveal::Counts && hidden {
        learned.push(format!(
            "{party} also learns in how many common rows each item of {peer}'s and of its own is, frequent or not. Only items in too few \
             rows of their owner's are left out."
        ));
        let alone = if job.own.mixed_only.unwrap_or(false) {
            "itemset of one party's items that is a part of a frequent one of both, in a rule or not"
        } else {
            "candidate of one party's items"
        };
        learned.push(format!("{party} learns the same of each {alone}."));
    }
    if job.support_of_common_rows() {
        let against = match job.limits.min_rows {
            Some(least) => format!(
                "limits.min_rows ends the run before anything is counted if the two have fewer than {} in common.",
                counted(least, "row")
            ),
            None => {
                "A number of rows as min_support would not depend on what both have, and limits.min_rows would end such a run."
                    .into()
            }
        };
        learned.push(format!(
            "{party} can learn all that {peer} has in one row if it brings that row alone. How many rows are enough depends on how many \
             both have."
        ));
        learned.push(against);
    } else if let Some(least) = job.limits.min_rows {
        learned.push(format!(
            "The run ends before anything is counted if the two have fewer than {} in common.",
            counted(least, "row")
        ));
    }
    learned.push(format!(
        "{party} can learn about few rows, or a single one, from a frequent itemset if min_support is low."
    ));
    learned.push(format!(
        "{party} can learn what {peer} has in one row, whatever min_support is, from two items of {party}'s that differ only in that \
         row. Their counts with {peer}'s items differ by it. Nothing checks what baskets a party brings."
    ));
    bins(job, party, peer, &enough, &mut learned);
    density(job.density(), ["no frequent item", "is in"], [party, peer], hidden, &mut learned);
    of_rows(job.alignment().as_ref(), party, peer, known, &mut learned);
    learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    learned
}

/// Appends what `party` learns of bins of `peer`, of which so many rows are `enough` for an item.
pub(super) fn bins(job: &RulesJob<'_>, party: &str, peer: &str, enough: &str, learned: &mut Vec<String>) {
    let bins = job.own.bins.iter().filter(|(_, bins)| matches!(bins, Bins::Quantiles(_)));
    let bins: Vec<String> = bins.map(|(column, _)| column.escape_debug().to_string()).collect();
    if !bins.is_empty() {
        let rows = match job.own.row_id {
            Some(_) if job.parties.0.len() > 2 => "the rows that all have",
            Some(_) => "the rows that both have",
            None => "all rows",
        };
        let names = match job.bound_rows(1) {
            Some(_) => format!(
                "A bound of one of {peer}'s bins is a number of {peer}'s. {party} learns it only if {enough} hold exactly that number; \
                 else, it learns the bin's rank alone."
            ),
            None => "Names of bins have ranks and no bounds: a party can decide how many rows are enough, down to one. With a number of rows \
                     as min_support, or a higher limits.min_rows, they show bounds that enough rows hold."
                .into(),
        };
        learned.push(format!(
            "The bins of {} hold about as many of {rows} each, but that equal numbers stay together.",
            list(&bins)
        ));
        learned.push(names);
    }
}

/// Returns the summary of who learns what, one entry for each result.
pub(crate) fn at_a_glance(job: &RulesJob<'_>) -> Vec<Disclosure> {
    if job.parties.0.len() > 2 {
        return mesh::at_a_glance(job);
    }
    let mixed = job.own.mixed_only.unwrap_or(false);
    let of = if mixed { "itemsets with items of both" } else { "itemsets" };
    let mut all = vec![Disclosure::new(job, format!("{of} in enough rows, and the rules"), |_| true)];
    if job.reveal == Reveal::Counts {
        all.push(Disclosure::new(job, "counts of all candidates with items of both", |_| true));
    }
    if !mixed {
        all.push(Disclosure::new(job, "names of the other's items in too few rows", |_| false));
    }
    all.extend(rows_at_a_glance(job, job.alignment().as_ref()));
    all
}
