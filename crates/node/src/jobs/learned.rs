//! Who learns what, in plain sentences: the plan prints them before a job, the report after it.

use tacita_core::Security;
use tacita_core::protocol::dot::Side;
use tacita_core::protocol::intersect::vole::overfitted_items;
use tacita_core::protocol::rules::support::{Fraction, Support};

use crate::agreement::{Bins, Chosen, Job, JobSpec, Known, Operation, Protocol, Reveal, Threshold};
use crate::base::text::{count, counted};
use crate::jobs::dot::{Method, clients, side};

/// Which products are known without being learned.
pub(crate) const ZEROS: &str = " (but that those with a column of zeros are 0)";

/// Which keys a number tells.
const WHICH: &str = "but none or all of its own say which, and two runs with one key more or less tell of that key";

/// What `party` learns, given what is known.
pub fn sentences(job: &JobSpec, party: &str, known: Known) -> Vec<String> {
    match job.job {
        Job::Intersect => intersect(job, party, known),
        Job::Dot => match job.clients() {
            Some(roles) => clients::learned(job, &roles, party, None),
            None => dot(job, party, known),
        },
        Job::Shares => shares(job, party, known),
        Job::Rules => rules(job, party, known),
    }
}

/// What `party` learns in a scalar product.
fn dot(job: &JobSpec, party: &str, known: Known) -> Vec<String> {
    let peer = job.peer_of(party);
    let mut learned = Vec::new();
    let (own, theirs) = (job.columns_of(party), job.columns_of(peer));
    let products = match (own.len(), theirs.len()) {
        (1, 1) => "the sum over all rows of its number times the other's".to_owned(),
        (one, other) => format!(
            "for each of the {} pairs of a column of its own and one of {peer}'s, the sum over all rows of their products",
            count(one as u64 * other as u64)
        ),
    };
    match job.reveal {
        Reveal::Shares if job.protocol == Protocol::GmBloom => {
            let part = match side(job, party) {
                Side::First => "about half, so that twice the part is the product, give or take twice its square root",
                Side::Second => {
                    "the exact product over half of its ones, at random, and it knows which: nearly what the other half would \
                     give, and more than the product says about the rows of that half"
                }
            };
            learned.push(format!(
                "{party} gets a part of each product that tells much of it: {part}. These parts are no uniformly random shares. \
                 Where a share must say nothing, use protocol = \"ot\"."
            ));
            learned.push(
                "Columns that overlap, and runs that are repeated, are split anew each time: each tells more, and many tell all."
                    .into(),
            );
        }
        Reveal::Shares => learned.push(format!(
            "{party} learns no product{ZEROS}: it gets a share of it, a uniformly random number (0 if there are no rows). Whoever \
             has both shares knows the product; who may is agreed upon in the job that opens them."
        )),
        _ if job.learns(party) => {
            learned.push(format!("{party} learns {products}."));
            learned.push(format!(
                "A sum can tell more than it seems: if all of {party}'s numbers but one were 0, it would be {peer}'s \
                 number in that row. Nothing checks what numbers a party brings."
            ));
            learned.extend(filtered(job, party, "value"));
        }
        _ => learned.push(format!("{party} learns no product{ZEROS}.")),
    }
    if let Ok(Method::Paillier(params)) = Method::new(job, &Chosen::only(job.protocol), 0)
        && params.encryptor() != side(job, party)
    {
        learned.push(format!(
            "If {peer} takes its encryptions from a pool, {party} can tell which runs share that pool: they have the same key."
        ));
    }
    density(job, peer, &mut learned);
    alignment(job, party, peer, known, &mut learned);
    learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    learned
}

/// What an agreed bound on the ones of a column tells.
fn density(job: &JobSpec, peer: &str, learned: &mut Vec<String>) {
    if let (Some(_), Ok(Some(density))) = (&job.density, job.density())
        && density != Fraction::ONE
    {
        let (whose, what) = match job.job {
            Job::Rules => ("no frequent item", "is in"),
            _ => ("no column", "has ones in"),
        };
        learned.push(format!(
            "That the run goes on says that {whose} of {peer}'s {what} more than {density} of the rows, rounded up: the agreed \
             density. How long {peer} takes may hint at its numbers of ones."
        ));
    }
}

/// What `party` learns of rows, in jobs over rows that both have.
fn alignment(job: &JobSpec, party: &str, peer: &str, known: Known, learned: &mut Vec<String>) {
    match job.alignment() {
        Some(alignment) => {
            let rows = known.common.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!(
                "Rows are aligned by an intersection first: {party} learns which of its own rows have an id that {peer} has \
                 too{rows}."
            ));
            sizes(&alignment, party, peer, Known { common: None, ..known }, learned);
        }
        None => {
            let rows = known.items.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!("{party} learns how many rows {peer} has{rows}: as many as itself."));
            learned.push(format!("{party} learns which version {peer} runs."));
        }
    }
}

/// What `party` learns in association rules: `docs/protocols/rules.md` says why.
fn rules(job: &JobSpec, party: &str, known: Known) -> Vec<String> {
    let peer = job.peer_of(party);
    // Job files without a support are refused.
    let enough = match job.support() {
        Ok(Support::Rows(rows)) => format!("at least {}", counted(rows, "row")),
        Ok(support) if job.support_of_common_rows() => format!("at least {support} of the rows that both have"),
        Ok(support) => format!("at least {support} of all rows"),
        Err(_) => "enough rows".into(),
    };
    let longest = job.max_len.map_or(String::new(), |most| format!(" and have no more than {}", counted(most, "item")));
    let mut learned = Vec::new();
    match job.mixed_only.unwrap_or(false) {
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
                "{party} learns in how many rows an itemset of {peer}'s items alone is only where it is one side of such a \
                 rule: confidence and lift are computed from that."
            ));
            learned.push(format!(
                "{party} learns how many of {peer}'s items are frequent, and the names of those that stand in a frequent \
                 itemset with items of both. If all rows hold some item of {party}'s, that is all of {peer}'s frequent itemsets: \
                 each of them makes one of both with that item, in as many rows."
            ));
        }
    }
    if job.reveal == Reveal::Counts {
        let contained = match job.mixed_only.unwrap_or(false) {
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
    let bins = job.bins.iter().filter(|(_, bins)| matches!(bins, Bins::Quantiles(_)));
    let bins: Vec<String> = bins.map(|(column, _)| column.escape_debug().to_string()).collect();
    if !bins.is_empty() {
        let rows = if job.row_id.is_some() { "the rows that both have" } else { "all rows" };
        let names = match job.bound_rows(1) {
            Some(_) => format!(
                "The name of one of {peer}'s shows {party} a bound, a number of {peer}'s, only if {enough} hold exactly that number; \
                 else it has the bin's rank alone."
            ),
            None => "Their names have ranks and no bounds, since a party can decide how many rows are enough; with limits.min_rows \
                     or a number of rows as min_support they show bounds that enough rows hold."
                .into(),
        };
        learned.push(format!(
            "Bins of {} hold about as many of {rows} each, but that equal numbers stay together. {names}",
            list(&bins)
        ));
    }
    density(job, peer, &mut learned);
    alignment(job, party, peer, known, &mut learned);
    learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    learned
}

/// What `party` learns when shares are opened or compared.
fn shares(job: &JobSpec, party: &str, known: Known) -> Vec<String> {
    let peer = job.peer_of(party);
    let numbers = known.items.map_or("the numbers".into(), |items| counted(items, "number"));
    let what = match job.operation {
        Some(Operation::Sum) if known.items == Some(1) => "the one number in the shares".into(),
        Some(Operation::Sum) => format!("the sum of {numbers} in the shares, and is shown none of them alone"),
        _ => format!("{numbers} in the shares"),
    };
    let mut learned = match (job.threshold(), job.learns(party)) {
        (Some(threshold), _) => compared(party, peer, &threshold, known),
        (None, true) => vec![format!("{party} learns {what}.")],
        (None, false) => vec![format!("{party} learns no number.")],
    };
    if job.operation == Some(Operation::Sum) && job.learns(party) && known.items != Some(1) {
        learned.push(format!(
            "What {party} knows of the numbers, it can take off: if all but one come from columns of its own that it filled with \
             zeros, or so that it knows the products, the sum gives that one away. Nothing checks what numbers a party brought."
        ));
    }
    if job.learns(party) && job.threshold().is_none() {
        learned.extend(filtered(job, party, "value"));
    }
    learned.push(format!("{party} learns which runs' shares {peer} brings, and which version it runs."));
    learned.push(match job.threshold() {
        Some(_) => {
            "Each share answers once: both parties' share files are marked as opened. Copies elsewhere are not.".into()
        }
        None => {
            "Each share opens once: both parties' share files are marked as opened. Copies elsewhere are not.".into()
        }
    });
    learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    learned
}

/// What `party` learns when what is in shares is compared with a threshold.
fn compared(party: &str, peer: &str, threshold: &Threshold, known: Known) -> Vec<String> {
    let answers = known.items.zip(known.runs).filter(|(_, runs)| *runs > 0).map(|(items, runs)| (items / runs, runs));
    let what = match answers {
        Some((1, 1)) => format!("whether the number in the shares is at least {threshold}, and nothing else of it"),
        Some((1, runs)) => {
            format!(
                "whether the sum of the {} in the shares is at least {threshold}, and nothing else of it or them",
                counted(runs, "number")
            )
        }
        Some((places, 1)) => {
            format!(
                "of each of the {} in the shares whether it is at least {threshold}, and nothing else of them",
                counted(places, "number")
            )
        }
        Some((places, runs)) => format!(
            "of each of {}, each of {}, whether it is at least {threshold}, and nothing else of sums and numbers",
            counted(places, "sum"),
            counted(runs, "number")
        ),
        None => {
            format!("of each number in the shares, or sum of those in one place, whether it is at least {threshold}")
        }
    };
    vec![
        format!("{party} learns {what}."),
        format!(
            "An answer can tell more than it seems: if {party} knows a number but for one of {peer}'s rows, the answer can give \
             that row away, and so can answers to several thresholds, over shares of several runs. Nothing checks what numbers a \
             party brought."
        ),
    ]
}

/// What `party` learns in a two-party intersection, given what is known.
fn intersect(job: &JobSpec, party: &str, known: Known) -> Vec<String> {
    let peer = job.peer_of(party);
    let mut learned = Vec::new();
    if job.learns(party) {
        result(job, party, peer, &mut learned);
        limit(job, &mut learned);
    } else {
        let sum = job.summed().map_or(String::new(), |(_, column)| format!(", nor the sum of `{column}` over them"));
        learned.push(format!(
            "{party} does not learn which keys the two have in common, nor how many{sum}; but if one of them has no key, there are \
             none."
        ));
    }
    sizes(job, party, peer, known, &mut learned);
    if known.prepared && party == job.receiver() {
        learned.push(format!(
            "{peer} answers from a prepared part: {party} can tell which answers of this run equal answers of its other \
             runs against the same part, so it can join all that it ever asked, also with what others asked and show it; and \
             that {peer}'s table is the same in all of these runs."
        ));
    }
    if known.on_disk {
        learned.push(format!(
            "{peer} works on disk: {party} learns how much memory its buckets may take and, if the run is resumed, which of them it \
             has finished, and whether its keys are the same as before."
        ));
    }
    if job.protocol == Protocol::Bloom && party == job.receiver() {
        learned.push(format!(
            "Nothing checks what {party} asks: if it does not follow the protocol, it can test any number of keys for being \
             {peer}'s."
        ));
    }
    match job.security {
        Security::SemiHonest => learned
            .push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol.")),
        Security::Malicious => {
            cheating(job, party, peer, known, &mut learned);
            learned.push(format!("{party} learns nothing else about {peer}'s data, whatever it does."));
        }
    }
    learned
}

/// What a party can gain by cheating, where the protocol limits that.
fn cheating(job: &JobSpec, party: &str, peer: &str, known: Known, learned: &mut Vec<String>) {
    if party != job.receiver() {
        return;
    }
    let bound = known.own_items.and_then(|items| overfitted_items(items as usize).ok());
    let number = bound.map_or("several times as many keys as it announces".into(), |n| counted(n, "key"));
    learned.push(format!(
        "If {party} cheats, it can test up to {number} for being {peer}'s, chosen before it sees anything."
    ));
}

fn result(job: &JobSpec, party: &str, peer: &str, learned: &mut Vec<String>) {
    match &job.reveal {
        Reveal::Rows => learned.push(format!("{party} learns which of its own rows have a key that {peer} has too.")),
        Reveal::Payload => {
            learned.push(format!("{party} learns which of its own rows have a key that {peer} has too."));
            let given = job.given_by(peer);
            if !given.is_empty() {
                learned.push(format!(
                    "{party} learns {peer}'s {} for those keys, and how many rows {peer} has for each of them.",
                    list(given)
                ));
            }
        }
        Reveal::Count => {
            learned.push(format!("{party} learns how many distinct keys the two have in common, not which; {WHICH}."));
            learned.extend(filtered(job, party, "count"));
        }
        Reveal::Sum(column) => {
            let gives = job.summed().is_some_and(|(giver, _)| giver == party);
            let whose = if gives { "its own".to_owned() } else { format!("{peer}'s") };
            learned.push(format!(
                "{party} learns how many distinct keys the two have in common, not which, and the sum of {whose} `{column}` over \
                 all rows with those keys; {WHICH}."
            ));
            learned.push(match gives {
                true => format!(
                    "From a sum of its own numbers {party} may find out which keys are common, if few choices of them have \
                     that sum."
                ),
                false => format!(
                    "A sum over few keys can tell more than it seems: over one key, it is that key's. Nothing checks which keys \
                     {party} brings."
                ),
            });
            if let Some(limit) = job.limits.min_result {
                learned.push(format!(
                    "If the count or the sum is below {limit}, only that is reported. That is a filter on the output: whoever \
                     runs {party}'s program could look at both numbers."
                ));
            }
        }
        Reveal::Value | Reveal::Shares | Reveal::Frequent | Reveal::Counts => (),
    }
}

fn sizes(job: &JobSpec, party: &str, peer: &str, known: Known, learned: &mut Vec<String>) {
    if let Some(bound) = job.limits.pad_to {
        learned.push(format!(
            "{party} does not learn how many keys {peer} has, beyond what the result says and that they are no more than {}: all \
             sets are padded to that. (The time that {peer} takes to load its table may hint at it.)",
            count(bound)
        ));
    } else {
        let number = known.items.map_or(String::new(), |items| format!(" ({})", count(items)));
        learned.push(format!("{party} learns how many distinct keys {peer} has{number}."));
    }
    learned.push(format!(
        "{party} learns which version {peer} runs, and by which kinds of profiles it normalises its key."
    ));
    let gives = job.reveal == Reveal::Payload && job.learns(party) && !job.given_by(peer).is_empty();
    if gives {
        let rows = match (job.limits.pad_to, known.entries) {
            (None, Some(entries)) => format!(", that it has {} with a key", counted(entries, "row")),
            (None, None) => ", how many rows with a key it has".to_owned(),
            (Some(_), _) => String::new(),
        };
        learned.push(format!(
            "{party} learns the types of {peer}'s given columns, the length of the longest text in each{rows}."
        ));
    }
}

/// What `min_result` does to a value or count that `party` learns.
pub(crate) fn filtered(job: &JobSpec, party: &str, what: &str) -> Option<String> {
    job.limits.min_result.map(|limit| {
        format!(
            "If a {what} is below {limit}, only that is reported. That is a filter on the output: whoever runs {party}'s \
             program could look at the number, and who brings larger numbers or more keys gets above the limit."
        )
    })
}

/// What `min_result` does not do.
fn limit(job: &JobSpec, learned: &mut Vec<String>) {
    if let (Reveal::Rows | Reveal::Payload, Some(limit)) = (&job.reveal, job.limits.min_result) {
        learned.push(format!(
            "limits.min_result = {limit} holds back small numbers only; rows are revealed however few they are."
        ));
    }
}

fn list(columns: &[String]) -> String {
    match columns {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [firsts @ .., last] => {
            let firsts: Vec<_> = firsts.iter().map(|column| format!("`{column}`")).collect();
            format!("{} and `{last}`", firsts.join(", "))
        }
    }
}
