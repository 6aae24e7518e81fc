//! Plain sentences on who learns what in association rules among more than two.

use tacita_core::protocol::rules::support::Support;

use crate::agreement::{Disclosure, KnownSizes, Reveal};
use crate::base::text::{counted, names};
use crate::jobs::dot::mesh::rows_at_a_glance;
use crate::jobs::dot::mesh::rows_learned;
use crate::jobs::rules::learned::bins;
use crate::jobs::rules::spec::RulesJob;

/// Returns what `party` learns: `docs/protocols/rules-mesh.md` says why.
pub(in crate::jobs::rules) fn learned(job: &RulesJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    let others = job.others(party);
    let all = names(&others);
    let mixed_only = job.own.mixed_only.unwrap_or(false);
    // Job files without a support are refused.
    let enough = match job.support() {
        Ok(Support::Rows(rows)) => format!("at least {}", counted(rows, "row")),
        Ok(support) if job.support_of_common_rows() => format!("at least {support} of the rows that all have"),
        Ok(support) => format!("at least {support} of all rows"),
        Err(_) => "enough rows".into(),
    };
    let longest =
        job.own.max_len.map_or(String::new(), |most| format!(" and have no more than {}", counted(most, "item")));
    let mut learned = Vec::new();
    if !job.learns(party) {
        learned.push(format!(
            "{party} learns which itemsets are in {enough}{longest}, whoever has their items, by numbers in place of names. Each level needs \
             those of the one before."
        ));
        learned.push(format!("{party} learns how many items of each of {all} are frequent."));
        learned.push(format!(
            "{party} does not learn in how many rows an itemset is, but for those of its own items alone. It does not learn names of items of \
             {all}, nor rules."
        ));
    } else if mixed_only {
        learned.push(format!(
            "{party} learns the itemsets with items of two or more parties that are in {enough}{longest}. It learns in how many rows each is, \
             and the rules that they make."
        ));
        learned.push(format!(
            "{party} learns in how many rows an itemset of one other party's items alone is if it is one side of such a rule. Confidence \
             and lift are computed from that."
        ));
        learned.push(format!(
            "{party} can also compute that number from the counts of that itemset with several items of any other party. That takes all of \
             these counts, and exactly one of these items in each row, as with the values of one column."
        ));
        learned.push(format!(
            "{party} learns how many items of each of {all} are frequent. It learns the names of those that stand in a frequent itemset with \
             items of two or more parties."
        ));
        learned.push(format!(
            "{party} learns all frequent itemsets of another party if any item of a third, or of {party}, is in every row. Each makes one of \
             several parties with that item, in as many rows."
        ));
    } else {
        learned.push(format!(
            "{party} learns all itemsets that are in {enough}{longest}, and in how many rows each is. These are of one party's items or of \
             several. The rules follow from them."
        ));
        learned.push(format!("{party} learns the names of those items of {all} that are frequent, and whose each is."));
        learned.push(format!("{party} does not learn the names of other items of {all}, nor how many there are."));
    }
    if job.reveal_to.len() < job.parties.0.len() {
        learned.push(
            "Whoever takes part in a candidate learns whether each of its sub-itemsets is frequent, in or out of reveal_to."
                .into(),
        );
    }
    let contained = if mixed_only { "all itemsets of several parties in it are" } else { "all that it contains is" };
    learned.push(format!(
        "{party} learns of each candidate whether it is frequent, whoever has its items. A candidate is an itemset of several parties of \
         which {contained} frequent."
    ));
    if job.reveal == Reveal::Counts {
        learned.push(format!(
            "{party} learns the count of each candidate with items of its own and of others, those in fewer rows too. With reveal = \
             \"frequent\", it would not."
        ));
        learned
            .push(format!("{party} does not learn the counts of candidates of others alone that are in fewer rows."));
    }
    if job.support_of_common_rows() && job.learns(party) {
        learned.push(format!(
            "{party} can learn all that {all} {} in one row if it brings that row alone. How many rows are enough depends on how many all have.",
            crate::jobs::learned::have(&others)
        ));
    } else if job.support_of_common_rows() {
        learned.push(format!(
            "{party} can learn how many items each of {all} has in one row if it brings that row alone."
        ));
    }
    if let Some(least) = job.limits.min_rows {
        learned.push(format!(
            "The run ends before anything is counted if all together have fewer than {} in common.",
            counted(least, "row")
        ));
    }
    learned.push(format!(
        "{party} can learn about few rows, or a single one, from a frequent itemset if min_support is low."
    ));
    learned.push(if job.learns(party) {
        format!(
            "{party} can learn what another party has in one row, whatever min_support is, from two items of {party}'s that differ only in \
             that row. Their counts with the other's items differ by it. Nothing checks what baskets a party brings."
        )
    } else {
        format!(
            "{party} can learn what another party has in one row from items of {party}'s that differ only in it, if it decides what \
             is frequent. Nothing checks what baskets a party brings."
        )
    });
    learned.push(format!(
        "If {party} and some of the others, not all, pool what they see, they learn what each of them learns. They learn what follows from \
         that and their own baskets, and nothing else about the rest."
    ));
    if job.learns(party) {
        bins(job, party, "another party", &enough, &mut learned);
    }
    rows_learned(job, job.alignment().as_ref(), party, known, &mut learned);
    learned.push(format!("{party} learns nothing else about the data of {all}, as long as all follow the protocol."));
    learned
}

/// Returns the summary of who learns what, one entry for each result.
pub(in crate::jobs::rules) fn at_a_glance(job: &RulesJob<'_>) -> Vec<Disclosure> {
    let mixed = job.own.mixed_only.unwrap_or(false);
    let of = if mixed { "itemsets with items of several parties" } else { "itemsets" };
    let mut all = vec![
        Disclosure::new(job, format!("{of} in enough rows, their counts, and the rules"), |name| job.learns(name)),
        Disclosure::new(job, "how many items of each are frequent", |_| true),
    ];
    if job.reveal_to.len() < job.parties.0.len() {
        all.push(Disclosure::new(job, "which itemsets are in enough rows, by numbers of items", |_| true));
    }
    if job.reveal == Reveal::Counts {
        all.push(Disclosure::new(job, "counts of all candidates with items of its own and of others", |_| true));
    }
    all.push(Disclosure::new(job, "counts of candidates of others that are in too few rows", |_| false));
    if !mixed {
        all.push(Disclosure::new(job, "names of the others' items in too few rows", |_| false));
    }
    all.extend(rows_at_a_glance(job, job.alignment().as_ref()));
    all
}
