//! Who learns what in association rules, in plain sentences.

use tacita_core::protocol::rules::support::Support;

use crate::agreement::{Known, Reveal};
use crate::base::text::{count, counted};
use crate::jobs::aligned::learned::{alignment, density};
use crate::jobs::learned::list;
use crate::jobs::rules::spec::{Bins, Spec};

/// What `party` learns in association rules: `docs/protocols/rules.md` says why.
pub(crate) fn rules(job: &Spec<'_>, party: &str, known: Known<'_>) -> Vec<String> {
    let peer = job.peer_of(party);
    // Job files without a support are refused.
    let enough = match job.support() {
        Ok(Support::Rows(rows)) => format!("at least {}", counted(rows, "row")),
        Ok(support) if job.support_of_common_rows() => format!("at least {support} of the rows that both have"),
        Ok(support) => format!("at least {support} of all rows"),
        Err(_) => "enough rows".into(),
    };
    let longest =
        job.own.max_len.map_or(String::new(), |most| format!(" and have no more than {}", counted(most, "item")));
    let mut learned = Vec::new();
    match job.own.mixed_only.unwrap_or(false) {
        false => {
            learned.push(format!(
                "{party} learns all itemsets that are in {enough}{longest}, and in how many rows each is: those of its own \
                 items, those of {peer}'s, and those of both. The rules follow from them."
            ));
            learned.push(format!(
                "{party} learns the names of those of {peer}'s items that are frequent. Of {peer}'s other items it learns \
                 neither the names nor how many there are."
            ));
        }
        true => {
            learned.push(format!(
                "{party} learns the itemsets with items of both parties that are in {enough}{longest}, and in how many rows \
                 each is, and the rules that they make."
            ));
            learned.push(format!(
                "{party} learns in how many rows an itemset of {peer}'s items alone is where it is one side of such a rule, from \
                 which confidence and lift are computed, and where it can add that up: of items of {party}'s that share out all \
                 rows among them, as the values of one column do, each with that itemset is in so many rows, and all of them \
                 together in as many as the itemset."
            ));
            learned.push(format!(
                "{party} learns how many of {peer}'s items are frequent, and the names of those that stand in a frequent \
                 itemset with items of both. If all rows hold some item of {party}'s, that is all of {peer}'s frequent itemsets: \
                 each of them makes one of both with that item, in as many rows."
            ));
        }
    }
    if job.reveal == Reveal::Counts {
        let contained = match job.own.mixed_only.unwrap_or(false) {
            true => "all that they contain with items of both are",
            false => "all that they contain are",
        };
        learned.push(format!(
            "{party} learns the counts of all candidates with items of both parties, those in fewer rows too: for each \
             frequent item of its own and each of {peer}'s, how many rows hold both; for longer ones where {contained} \
             frequent. With reveal = \"frequent\" it would not."
        ));
    }
    if job.support_of_common_rows() {
        let against = match job.limits.min_rows {
            Some(least) => format!(
                "limits.min_rows ends the run before anything is counted if they are fewer than {}",
                count(least)
            ),
            None => {
                "a number of rows as min_support would not depend on that, and limits.min_rows would end such a run"
                    .into()
            }
        };
        learned.push(format!(
            "How many rows are enough depends on how many both have, and so on what {party} brings: of the one row that it may \
             choose to bring, it would learn all that {peer} has in it; {against}."
        ));
    } else if let Some(least) = job.limits.min_rows {
        learned.push(format!(
            "If both have fewer than {} in common, the run ends before anything is counted.",
            counted(least, "row")
        ));
    }
    learned.push(format!(
        "A frequent itemset can describe few rows, or one, if min_support is low. Whatever it is, two items of {party}'s that \
         differ in one row tell by the difference of their counts what {peer} has in that row. Nothing checks what baskets a party \
         brings."
    ));
    let bins = job.own.bins.iter().filter(|(_, bins)| matches!(bins, Bins::Quantiles(_)));
    let bins: Vec<String> = bins.map(|(column, _)| column.escape_debug().to_string()).collect();
    if !bins.is_empty() {
        let rows = if job.own.row_id.is_some() { "the rows that both have" } else { "all rows" };
        let names = match job.bound_rows(1) {
            Some(_) => format!(
                "The name of one of {peer}'s shows {party} a bound, a number of {peer}'s, only if {enough} hold exactly that number; \
                 else it has the bin's rank alone."
            ),
            None => "Their names have ranks and no bounds, since a party can decide how many rows are enough, down to one; with a number \
                     of rows as min_support, or a higher limits.min_rows, they show bounds that enough rows hold."
                .into(),
        };
        learned.push(format!(
            "Bins of {} hold about as many of {rows} each, but that equal numbers stay together. {names}",
            list(&bins)
        ));
    }
    density(job.density(), ["no frequent item", "is in"], peer, &mut learned);
    alignment(job.alignment().as_ref(), party, peer, known, &mut learned);
    learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    learned
}
