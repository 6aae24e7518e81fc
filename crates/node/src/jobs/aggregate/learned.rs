//! Who learns what when keys are counted, in plain sentences.

use super::spec::{KeyForm, NAOR_REINGOLD, PARTICIPANTS, ROLES, Spec};
use super::{Domain, Measure};
use crate::agreement::Glance;
use crate::base::text::{count, counted, names};

/// What `party` learns: one of [`ROLES`], or a participant, or another one that gets results.
pub(super) fn learned(job: &Spec<'_>, party: &str) -> Vec<String> {
    match party {
        "proxy" => proxy(job),
        "oracle" => oracle(job),
        "database" => database(job),
        name => participant(job, name),
    }
}

/// Who learns what at a glance.
pub(super) fn at_a_glance(job: &Spec<'_>) -> Vec<Glance> {
    let audience = job.audience();
    let mut readers: Vec<String> = vec!["oracle".into(), "database".into()];
    if audience.participants {
        readers.push(PARTICIPANTS.into());
    }
    readers.extend(audience.names.iter().map(|name| (*name).to_owned()));
    let line = |what: &str, parties: &[&str]| Glance {
        what: what.into(),
        parties: parties.iter().map(|name| (*name).to_owned()).collect(),
    };
    let mut lines = vec![
        line("who reports, when, and how much", &["proxy"]),
        line("how many reports each row has, without its key", &["database"]),
    ];
    if job.own.round.values.has_values() {
        lines.push(line("the values of each row, without its key", &["database"]));
    }
    lines.push(Glance { what: "keys that pass".into(), parties: readers });
    lines
}

/// What keys are called: hashed ones are no longer what they were.
fn keys(job: &Spec<'_>) -> &'static str {
    match job.own.round.keys {
        KeyForm::Embedded => "keys",
        KeyForm::Hashed => "hashes of the keys",
    }
}

/// What those get who get results.
fn results(job: &Spec<'_>, who: &str) -> Vec<String> {
    let (round, revealed) = (&job.own.round, job.revealed());
    let values = match (&round.values, revealed.values) {
        (Domain::Nothing, _) | (_, false) => "",
        (Domain::Grades(_), true) => ", and all their values",
        (_, true) => ", all their values, and their sum",
    };
    let mut learned = vec![format!(
        "{who} learns the {} for which {} holds, how many reports each has{values}, and no name of a reporter.",
        keys(job),
        round.reveal_when
    )];
    if revealed.histogram {
        learned.push(format!(
            "{who} learns how many rows have how many reports and reporters, those that do not pass among them, without their keys."
        ));
    }
    if round.keys == KeyForm::Hashed {
        learned.push(format!(
            "Keys come back as hashes: {who} can tell which of the keys that it has itself they are, and of any other one that it \
             guesses whether it is among them. Where keys can be listed, as addresses of version 4 can, that is all of them."
        ));
    }
    if revealed.values && round.values.places() > 1 {
        learned.push(format!(
            "A key can be marked: whoever reports it with a value that nobody else would take sees in the result that this report is \
             among its values. ({who} sees {} values at most.)",
            count(round.values.places().into())
        ));
    }
    learned
}

fn proxy(job: &Spec<'_>) -> Vec<String> {
    let round = &job.own.round;
    let mut learned = vec![
        "proxy learns who reports, from which address, when, and how many reports; it cannot read a key or a value."
            .into(),
        format!(
            "proxy sends reports on when those of {} participants are there{}, in an order that it draws and forgets; it sees which of \
             them it has sent and no result.",
            count(round.min_participants.into()),
            share(job)
        ),
    ];
    if job.tags() {
        learned.push(
            "proxy gives each participant a secret of the round, so that reports of one are told from reports of several: whoever has \
             the proxy's secrets and the database's rows can test who reported a key."
                .into(),
        );
    }
    if job.chosen() == NAOR_REINGOLD {
        learned.push(
            "proxy makes each report together with its participant, by oblivious transfers from which it learns nothing of the key; it sees \
             when the connection broke, and a batch was begun again."
                .into(),
        );
    }
    learned.push(collusion());
    learned
}

fn share(job: &Spec<'_>) -> String {
    let share = job.own.round.max_share;
    if share.least_parts() == 1 { String::new() } else { format!(", none with more than {share} of them") }
}

fn collusion() -> String {
    "Proxy (or oracle) and database together can read every report and who sent it: they have to be run by different people.".into()
}

fn oracle(job: &Spec<'_>) -> Vec<String> {
    let round = &job.own.round;
    let least = round.reveal_when.least();
    let mut learned = vec![format!(
        "oracle learns the {} of rows for which the database asks, how many reports each has{}, and none of the values.",
        keys(job),
        if job.tags() { ", and which of these are of one reporter" } else { "" },
    )];
    learned.push(
        "oracle is not told who reported a key, and with the proxy knows it where numbers tell: where everybody did, or one reporter did \
         more often than any other participant has reported at all."
            .into(),
    );
    learned.push(
        "oracle also sees a key that it then withholds, where a participant reported a wrong one beside it, so that it only seemed to \
         pass."
            .into(),
    );
    let bounds: Vec<String> = [(least.count, "reports"), (least.distinct, "distinct reporters")]
        .into_iter()
        .filter(|(number, _)| *number > 1)
        .map(|(number, what)| format!("{} {what}", count(number)))
        .collect();
    learned.push(match bounds.is_empty() {
        true => format!(
            "oracle cannot see whether {} holds, since it asks for no number of reports: the database gets every key that it asks for.",
            round.reveal_when
        ),
        false => format!(
            "oracle tells no key for fewer than {}; a database that does not follow the protocol can show it one report several times, \
             and the rest of {} it cannot see.",
            bounds.join(" or "),
            round.reveal_when
        ),
    });
    learned.push(collusion());
    learned
}

fn database(job: &Spec<'_>) -> Vec<String> {
    let round = &job.own.round;
    let values = if round.values.has_values() { " with which values" } else { "" };
    let mut learned = vec![format!(
        "database learns how many rows there are, and of each how many reports it has{values}, without its key and without who reported."
    )];
    if job.tags() {
        learned.push(
            "database learns how often each reporter of a row reported it, without who that is: in different rows the same reporter \
             looks like another one."
                .into(),
        );
    }
    learned.extend(results(job, "database"));
    let together = match round.batch_size {
        Some(size) => format!(
            "in batches of about {} reports, each of {} participants at least{}: database learns in which batch a report came",
            count(size),
            count(round.min_participants.into()),
            share(job)
        ),
        None => format!(
            "in one shuffle at the close of the round, of {} participants at least{}",
            count(round.min_participants.into()),
            share(job)
        ),
    };
    learned.push(format!("Reports reach database {together}."));
    learned.push(
        "database learns at which moments a proxy acknowledges reports, and not whose or how many they are.".into(),
    );
    let proxies = job.own.members("proxy").len();
    if proxies > 1 {
        learned.push(format!(
            "Each of the {} proxies shuffles what it has, if that is of enough participants: database learns by which of them a report came, \
             how many batches of reports each has, and how many of these came to several.",
            count(proxies as u64)
        ));
    }
    if round.tighten {
        learned.push(
            "database's operator may raise a threshold before the reveal, having seen how many rows have how many reports; it cannot \
             lower one."
                .into(),
        );
    }
    let quota = match round.max_reports {
        Some(most) if proxies > 1 => format!("round.max_reports = {most} limits how often, at each proxy"),
        Some(most) => format!("round.max_reports = {most} limits how often"),
        None => "nothing in the job limits how often: agree on round.max_reports".into(),
    };
    learned.push(format!(
        "database, together with a participant that does not follow the protocol, can test whether a key of its choice was reported, one \
         for each report of that participant; {quota}."
    ));
    learned.push(collusion());
    learned
}

fn participant(job: &Spec<'_>, name: &str) -> Vec<String> {
    let round = &job.own.round;
    let audience = job.audience();
    let named = audience.names.contains(&name);
    let mut learned = match (audience.participants || named, job.own.round.reveal_when.measures()) {
        (true, measures) => {
            let mut learned = results(job, name);
            if round.reveal_when.least().distinct < 2
                && measures.iter().any(|one| matches!(one, Measure::Count | Measure::Sum))
            {
                learned.push(format!(
                    "{name} can report a key so often, or with such values, that a single report more reveals it, and so learns whether \
                     anybody else has it: {} asks for no distinct reporters.",
                    round.reveal_when
                ));
            }
            if let Some(others) = round.reveal_when.least().distinct.checked_sub(1).filter(|others| *others > 0) {
                learned.push(format!(
                    "{name} learns of a key in the result that it has reported itself that {} at least have it, too: if no more take \
                     part, who they are.",
                    counted(others, "other participant")
                ));
            }
            learned
        }
        (false, _) => {
            let mut readers: Vec<&str> = audience.names.clone();
            if !readers.contains(&"database") {
                readers.push("database");
            }
            vec![format!("{name} learns no result: {} and the oracle do.", names(&readers))]
        }
    };
    let raised = if round.tighten { ", the condition as the operator has raised it" } else { "" };
    learned.push(format!(
        "{name} learns which rounds there are and how far they are{raised}, of a round that cannot be shuffled how many reports there are, \
         of how many participants or how many of one, and nothing else about other reports."
    ));
    learned.push(format!(
        "Of {name}'s reports, the {} learn what is said of them: the proxy sees who reports and not what, the database what and not who.",
        names(&["proxy", "oracle", "database"])
    ));
    if job.chosen() == NAOR_REINGOLD {
        learned.push(format!(
            "{name} gets from the proxy the row of each of its keys under a blind that it does not know, fresh for each report: it \
             knows the row of none."
        ));
    }
    debug_assert!(!ROLES.contains(&name));
    learned
}
