//! Plain sentences on who learns what when keys are counted.

use super::spec::{AggregateJob, KeyForm, NAOR_REINGOLD, PARTICIPANTS, ROLES};
use super::{Domain, Measure, RoundNoise};
use crate::agreement::Disclosure;
use crate::base::text::{count, counted, names};

/// Returns what `party` learns: one of [`ROLES`], or a participant, or another one that gets results.
pub(super) fn learned(job: &AggregateJob<'_>, party: &str) -> Vec<String> {
    match party {
        "proxy" => proxy(job),
        "oracle" => oracle(job),
        "database" => database(job),
        name => participant(job, name),
    }
}

/// Returns a summary of who learns what.
pub(super) fn at_a_glance(job: &AggregateJob<'_>) -> Vec<Disclosure> {
    let audience = job.audience();
    let mut readers: Vec<String> = vec!["oracle".into(), "database".into()];
    if audience.participants {
        readers.push(PARTICIPANTS.into());
    }
    readers.extend(audience.names.iter().map(|name| (*name).to_owned()));
    let line = |what: &str, parties: &[&str]| Disclosure {
        what: what.into(),
        parties: parties.iter().map(|name| (*name).to_owned()).collect(),
        owner: None,
    };
    let mut row_readers = vec!["database"];
    // A histogram tells those who get results, too.
    let learners = audience.participants.then_some(PARTICIPANTS).into_iter().chain(audience.names.iter().copied());
    if job.revealed().histogram && job.noise.is_none() {
        row_readers.extend(learners.clone());
    }
    let mut lines = vec![
        line("which participant reports, when, and how many reports", &["proxy"]),
        line("how many reports each row has, whether or not it passes", &row_readers),
    ];
    if job.revealed().histogram && job.noise.is_some() {
        lines.push(line("how many rows have how many reports, with noise", &learners.collect::<Vec<_>>()));
    }
    if job.own.round.values.has_values() {
        lines.push(line("the values of each row, whether or not it passes", &["database"]));
    }
    lines.push(Disclosure { what: format!("{} that pass", keys(job)), parties: readers, owner: None });
    lines
}

/// Returns the noun for keys. Hashed ones are no longer the original keys.
fn keys(job: &AggregateJob<'_>) -> &'static str {
    match job.own.round.keys {
        KeyForm::Embedded => "keys",
        KeyForm::Hashed => "hashes of the keys",
    }
}

/// Returns sentences on what the recipients of results get.
fn results(job: &AggregateJob<'_>, who: &str) -> Vec<String> {
    let (round, revealed) = (&job.own.round, job.revealed());
    if let Ok(Some(noise)) = job.round_noise() {
        return noisy_results(job, &noise, who);
    }
    let values = match (&round.values, revealed.values) {
        (Domain::Nothing, _) | (_, false) => ", and how many reports each has",
        (Domain::Grades(_), true) => ". It learns how many reports each has, and all their values",
        (_, true) => ". It learns how many reports each has, all their values, and their sum",
    };
    let mut learned = vec![
        format!("{who} learns the {} for which {} holds{values}.", keys(job), round.reveal_when),
        format!("{who} is told no name of a reporter."),
    ];
    if revealed.histogram {
        learned.push(format!(
            "{who} learns how many rows have how many reports and reporters, rows that do not pass included, without their keys."
        ));
    }
    learned.extend(hashes(job, who));
    if revealed.values && round.values.places() > 1 {
        learned.push(format!(
            "Whoever reports a key with a value that nobody else would take learns from the result that this report is among its values. \
             ({who} sees {} values at most.)",
            count(round.values.places().into())
        ));
    }
    learned
}

/// The same of results with noise.
fn noisy_results(job: &AggregateJob<'_>, noise: &RoundNoise, who: &str) -> Vec<String> {
    let what = reports_or_reporters(noise);
    let mut learned = vec![
        format!(
            "{who} learns the {} whose number of {what}, with noise, is {} or more. It learns these numbers with noise.",
            keys(job),
            count(noise.threshold)
        ),
        format!("{who} is told no name of a reporter."),
    ];
    if job.reveals_sums() {
        learned.push(format!(
            "{who} learns the sum of the values of each of these keys, with noise, and no single value."
        ));
    }
    if job.revealed().histogram {
        learned.push(format!("{who} learns how many rows have how many {what}, with noise, without their keys."));
    }
    learned.extend(hashes(job, who));
    learned.extend(job.noise_sentences(who));
    learned
}

fn reports_or_reporters(noise: &RoundNoise) -> &'static str {
    if noise.measure == Measure::Distinct { "reporters" } else { "reports" }
}

/// Returns sentences on hashed keys, if they are.
fn hashes(job: &AggregateJob<'_>, who: &str) -> Vec<String> {
    if job.own.round.keys == KeyForm::Embedded {
        return Vec::new();
    }
    vec![
        format!("{who} can tell which of its own keys are among these hashes."),
        format!("{who} can learn whether any other key is among them, if it guesses that key."),
        format!("{who} can learn all of these keys if keys can be listed, as addresses of version 4 can."),
    ]
}

fn proxy(job: &AggregateJob<'_>) -> Vec<String> {
    let round = &job.own.round;
    let mut learned = vec![
        "proxy learns who reports, from which address, when, and how many reports.".into(),
        "proxy does not learn a key or a value: it cannot read them.".into(),
        format!(
            "proxy sends reports on when those of {} participants are there{}. It draws their order at random, and forgets it.",
            count(round.min_participants.into()),
            share(job)
        ),
        "proxy learns which reports it has sent on, and no result.".into(),
    ];
    if job.tags() {
        learned.push(
            "proxy gives each participant a secret of the round, so that reports of one are told from reports of several.".into(),
        );
        learned.push("Whoever has the proxy's secrets and the database's rows can test who reported a key.".into());
    }
    if job.chosen() == NAOR_REINGOLD {
        learned.push(
            "proxy makes each report together with its participant, by oblivious transfers from which it learns nothing of the key.".into(),
        );
        learned.push("proxy learns when the connection broke, and a batch was begun again.".into());
    }
    learned.push(collusion());
    learned
}

fn share(job: &AggregateJob<'_>) -> String {
    let share = job.own.round.max_share;
    if share.least_parts() == 1 { String::new() } else { format!(", none with more than {share} of them") }
}

fn collusion() -> String {
    "Proxy (or oracle) and database can learn every report and who sent it, if they work together: different people have to run them."
        .into()
}

/// Returns sentences on an oracle that is asked about numbers with noise.
fn noisy_oracle(job: &AggregateJob<'_>, noise: &RoundNoise) -> Vec<String> {
    vec![
        format!(
            "oracle learns the {} of rows for which the database asks, and of each the number of {} with noise.",
            keys(job),
            reports_or_reporters(noise)
        ),
        format!(
            "oracle is asked about {} entries more than that number. Copies of a report fill up what is missing.",
            count(noise.filling)
        ),
        "oracle does not learn any of the values.".into(),
        "oracle is not told who reported a key.".into(),
        "oracle can learn more of a row, if a participant puts a wrong key beside it. It also learns a key that it then withholds."
            .into(),
        format!("oracle tells no key for fewer than {} entries.", count(noise.threshold.saturating_add(noise.filling))),
        "A database that does not follow the protocol can show oracle one report several times, and so get past this number.".into(),
        collusion(),
    ]
}

fn oracle(job: &AggregateJob<'_>) -> Vec<String> {
    if let Ok(Some(noise)) = job.round_noise() {
        return noisy_oracle(job, &noise);
    }
    let round = &job.own.round;
    let least = round.reveal_when.least();
    let reports = if job.tags() {
        "how many reports each has, and which of these are of one reporter"
    } else {
        "and how many reports each has"
    };
    let mut learned = vec![format!("oracle learns the {} of rows for which the database asks, {reports}.", keys(job))];
    learned.push("oracle does not learn any of the values.".into());
    learned.push("oracle is not told who reported a key.".into());
    learned.push(
        "oracle and proxy can learn who reported a key if everybody did. They also can if one reporter did more often than any other \
         participant has reported at all."
            .into(),
    );
    learned.push(
        "oracle also learns a key that it then withholds, if a participant reported a wrong one beside it, so that it only seemed to pass."
            .into(),
    );
    let bounds: Vec<String> = [(least.count, "reports"), (least.distinct, "distinct reporters")]
        .into_iter()
        .filter(|(number, _)| *number > 1)
        .map(|(number, what)| format!("{} {what}", count(number)))
        .collect();
    if bounds.is_empty() {
        learned.push(format!(
            "oracle cannot check whether {} holds, since it asks for no number of reports. The database gets every key that it asks for.",
            round.reveal_when
        ));
    } else {
        learned.push(format!("oracle tells no key for fewer than {}.", bounds.join(" or ")));
        learned.push(format!(
            "oracle cannot check the rest of {}: it relies on the database for that.",
            round.reveal_when
        ));
        learned.push(
            "A database that does not follow the protocol can show oracle one report several times, and so get past these numbers.".into(),
        );
    }
    learned.push(collusion());
    learned
}

fn database(job: &AggregateJob<'_>) -> Vec<String> {
    let round = &job.own.round;
    let values = if round.values.has_values() { " with which values" } else { "" };
    let mut learned = vec![format!(
        "database learns how many rows there are, and of each how many reports it has{values}, without its key and without who reported."
    )];
    if job.tags() {
        learned.push(
            "database learns how often each reporter of a row reported it, not who that is: in different rows, the same reporter looks like \
             another one."
                .into(),
        );
    }
    learned.extend(results(job, "database"));
    let least = format!("of {} participants at least{}", count(round.min_participants.into()), share(job));
    learned.push(match round.batch_size {
        Some(size) => format!(
            "database learns in which batch a report came. Reports reach it in batches of about {} reports, each {least}.",
            count(size)
        ),
        None => format!("Reports reach database in one shuffle at the close of the round, {least}."),
    });
    learned
        .push("database learns at which moments a proxy acknowledges reports, not whose or how many they are.".into());
    let proxies = job.own.members("proxy").len();
    if proxies > 1 {
        learned.push(format!(
            "database learns by which of the {} proxies a report came: each shuffles what it has, if that is of enough participants.",
            count(proxies as u64)
        ));
        learned.push(
            "database learns how many batches of reports each proxy has, and how many of these came to several.".into(),
        );
    }
    if round.tighten {
        learned.push(
            "database's operator can raise a threshold before the reveal, having seen how many rows have how many reports. It cannot \
             lower one."
                .into(),
        );
    }
    let quota = match round.max_reports {
        Some(most) if proxies > 1 => format!("round.max_reports = {most} limits how often, at each proxy"),
        Some(most) => format!("round.max_reports = {most} limits how often"),
        None => "Nothing in the job limits how often: agree on round.max_reports".into(),
    };
    let values = if round.values.has_values() { ", and with which values" } else { "" };
    let mark = if round.values.has_values() { "with an uncommon value, or unusually often" } else { "unusually often" };
    learned.push(format!(
        "database and a participant can learn together how often others reported a key{values}. That takes a participant that reports it {mark}."
    ));
    learned.push(format!(
        "database and a participant that does not follow the protocol can learn the same of any key of their choice. Each report of that \
         participant serves for one key. {quota}."
    ));
    learned.push(collusion());
    learned
}

fn participant(job: &AggregateJob<'_>, name: &str) -> Vec<String> {
    let round = &job.own.round;
    let audience = job.audience();
    let named = audience.names.contains(&name);
    let mut learned = match (audience.participants || named, job.own.round.reveal_when.measures()) {
        (true, measures) => {
            let mut learned = results(job, name);
            // With noise, a report more or less decides nothing.
            let exact = job.noise.is_none();
            if exact
                && round.reveal_when.least().distinct < 2
                && measures.iter().any(|one| matches!(one, Measure::Count | Measure::Sum))
            {
                learned.push(format!(
                    "{name} can learn whether anybody else has a key. For that, it reports the key so often, or with such values, that a single \
                     further report reveals it. {} asks for no distinct reporters.",
                    round.reveal_when
                ));
            }
            if let Some(others) =
                round.reveal_when.least().distinct.checked_sub(1).filter(|others| exact && *others > 0)
            {
                learned.push(format!(
                    "{name} learns that at least {} have a key in the result, too, if it has reported that key itself. It learns who they are \
                     if no more take part.",
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
            vec![format!("{name} does not learn a result: {} do, and so does the oracle.", names(&readers))]
        }
    };
    let raised = if round.tighten { ", and the condition as the operator has raised it" } else { "" };
    learned.push(format!("{name} learns which rounds there are and how far they are{raised}."));
    learned.push(format!(
        "{name} learns how many reports a round has, and of how many participants or how many of one, if it cannot be shuffled."
    ));
    learned.push(format!("{name} learns nothing else about other reports."));
    learned.push(format!("proxy, oracle and database learn of {name}'s reports what is said of these roles."));
    learned.push(
        "proxy learns who reports, not what; database learns how often each key is reported and which keys pass, not who reports.".into(),
    );
    if job.chosen() == NAOR_REINGOLD {
        learned.push(format!(
            "{name} does not learn the row of any of its keys. The proxy gives each row under a blind that {name} does not know, fresh for \
             each report."
        ));
    }
    debug_assert!(!ROLES.contains(&name));
    learned
}
