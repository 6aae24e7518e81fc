//! Keys that were revealed, where the job tells them to the database's operator: page by page, and as files.

use std::collections::HashMap;

use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use tacita_core::{Error, Result};
use tacita_node::base::text::{count, counted};
use tacita_node::jobs::aggregate::results::{ResultFormat, RoundResults};
use tacita_node::jobs::aggregate::{AggregateJob, KeyPacking, Measure, Moment};
use tacita_node::table::Profile;
use tacita_serve::clock;
use tacita_serve::page::{Guard, escaped};

use super::parts::{frame, link, table};
use super::{Desk, Shared, page as made, refused, work};
use crate::database::record::{Record, part};
use crate::database::round::Round;
use crate::gather::Gathering;
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::RoundState;
use crate::wire::rows::{RevealedKey, decode_rows};

/// Keys on a page.
const EACH: usize = 100;

/// Values of a key that are shown.
const VALUES: usize = 20;

/// Files of results, and what they are; those of lists have one text for each key, some of them an address.
const TABLES: [&str; 4] = ["csv", "parquet", "arrow", "json"];
const LISTS: [&str; 3] = ["txt", "misp.json", "stix.json"];
const ADDRESSES: [&str; 2] = ["netset", "ipset"];

/// Contents of a page of keys.
pub(super) struct Keys<'a> {
    pub(super) round: &'a str,
    pub(super) total: u64,
    pub(super) columns: Vec<String>,
    pub(super) values: bool,
    /// Things that the number of a key counts.
    pub(super) numbers: &'static str,
    /// Texts of the key, its number, and its values.
    pub(super) rows: Vec<(Vec<String>, u64, String)>,
    pub(super) endings: Vec<&'static str>,
    /// Position at which the next page begins.
    pub(super) next: Option<(u64, usize)>,
    pub(super) first: bool,
}

/// Some of the keys.
pub(super) async fn page(
    State(desk): State<Shared>,
    Path(name): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let number = |word: &str| query.get(word).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let (place, from) = (number("part"), usize::try_from(number("from")).unwrap_or(usize::MAX));
    made(desk, move |desk| {
        let (round, record) = readable(desk, &name)?;
        let own = desk.database.setting.own()?;
        let found = if place < record.revealed.parts { read(desk, &round, place, &own)? } else { Vec::new() };
        let behind = from.saturating_add(EACH);
        let next = match (behind < found.len(), place.saturating_add(1) < record.revealed.parts) {
            (true, _) => Some((place, behind)),
            (false, true) => Some((place + 1, 0)),
            (false, false) => None,
        };
        let packing = KeyPacking::of(&own);
        Ok(shown(
            &desk.guard,
            &Keys {
                round: &name,
                total: record.revealed.keys,
                columns: columns(&own),
                values: own.revealed().values && own.own.round.values.has_values(),
                numbers: numbers(&own)?,
                rows: found.into_iter().skip(from).take(EACH).map(|row| row_of(&own, &packing, &row)).collect(),
                endings: endings(&own),
                next,
                first: place == 0 && from == 0,
            },
        ))
    })
    .await
}

/// A file of all of them.
pub(super) async fn download(State(desk): State<Shared>, Path((name, file)): Path<(String, String)>) -> Response {
    let guard = desk.guard.clone();
    let made = work(desk, move |desk| {
        let (round, record) = readable(desk, &name)?;
        let own = desk.database.setting.own()?;
        let ending = endings(&own).into_iter().find(|ending| file == format!("{name}.{ending}"));
        let ending = ending.ok_or_else(|| ApiError::new(RefusalReason::UnknownRound, "there is no such file"))?;
        let results = gathered(desk, &round, &record, &own)?;
        // It lies where keys of rounds do, for as long as it is written and read.
        let failed = |error: std::io::Error| Error::Input(format!("{}: {error}", desk.state.display()));
        let directory = tempfile::Builder::new().prefix(".result-").tempdir_in(&desk.state).map_err(failed)?;
        let path = directory.path().join(format!("result.{ending}"));
        results.write(&path, Some(ResultFormat::of(&path)?))?;
        Ok((file, std::fs::read(&path).map_err(failed)?))
    });
    match made.await {
        Ok((file, bytes)) => {
            let name = format!("attachment; filename=\"{file}\"");
            let kind = "application/octet-stream".to_owned();
            ([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], bytes).into_response()
        }
        Err(reply) => refused(&guard, &reply),
    }
}

/// A round whose keys may be shown here.
fn readable(desk: &Desk, name: &str) -> ApiResult<(std::sync::Arc<Round>, Record)> {
    let round = desk.database.known(name)?;
    if !desk.database.setting.own()?.audience().database {
        let what = "the job's reveal_to does not name the database: its keys are not shown here";
        return Err(ApiError::new(RefusalReason::Forbidden, what));
    }
    let record = Record::clone(&round.record());
    match record.state {
        RoundState::Revealed => Ok((round, record)),
        state => Err(ApiError::new(
            RefusalReason::NotYet,
            format!("round {name} is {}: its keys are not revealed", state.name()),
        )),
    }
}

/// A part of a result.
fn read(desk: &Desk, round: &Round, place: u64, own: &AggregateJob<'_>) -> Result<Vec<RevealedKey>> {
    let bytes = stored(desk, round, place)?;
    decode_rows(&bytes, own.own.round.key_bytes).ok_or_else(|| damaged(round))
}

fn stored(desk: &Desk, round: &Round, place: u64) -> Result<Vec<u8>> {
    desk.database.storage.get(&round.name, &part(place))?.ok_or_else(|| damaged(round))
}

fn damaged(round: &Round) -> Error {
    Error::Input(format!("round {}: a part of the result is gone, or damaged: restore the storage", round.name))
}

/// The whole result, as those get it who collect it.
fn gathered(desk: &Desk, round: &Round, record: &Record, own: &AggregateJob<'_>) -> Result<RoundResults> {
    let mut gathering = Gathering::new(*own);
    for place in 0..record.revealed.parts {
        let added = gathering.add(&stored(desk, round, place)?);
        added.map_err(|refused| refused.error(&round.name, |_| damaged(round)))?;
    }
    let closed: Moment = clock::written(record.closed.unwrap_or_default()).parse()?;
    let counts = record.counts.clone().filter(|_| own.revealed().histogram);
    let histogram = counts.map(|counts| counts.histogram(own.noise.is_some()));
    Ok(RoundResults::new(own, &round.name, closed, gathering.rows(), histogram, None))
}

/// Returns the things that the number of a key counts.
fn numbers(own: &AggregateJob<'_>) -> Result<&'static str> {
    Ok(match own.round_noise()?.map(|noise| noise.measure) {
        None => "reports",
        Some(Measure::Distinct) => "reporters, with noise",
        Some(_) => "reports, with noise",
    })
}

/// The names of a key's columns.
fn columns(own: &AggregateJob<'_>) -> Vec<String> {
    if KeyPacking::of(own).is_hashed() {
        vec!["hash".into()]
    } else {
        own.key.as_ref().map_or_else(Vec::new, |key| key.columns.clone())
    }
}

/// The endings of files that these keys can be written to.
fn endings(own: &AggregateJob<'_>) -> Vec<&'static str> {
    let mut all = TABLES.to_vec();
    if columns(own).len() == 1 {
        all.extend(LISTS);
        let addresses = own.key.as_ref().is_some_and(|key| key.profiles() == [Profile::Ip]);
        all.extend(ADDRESSES.iter().filter(|_| addresses && !KeyPacking::of(own).is_hashed()));
    }
    all
}

fn row_of(own: &AggregateJob<'_>, packing: &KeyPacking, row: &RevealedKey) -> (Vec<String>, u64, String) {
    let mut values: Vec<String> =
        row.values.iter().take(VALUES).map(|(place, times)| value(own, *place, *times)).collect();
    values.extend(row.noisy_sum.map(|sum| format!("sum {sum}, with noise")));
    if row.values.len() > VALUES {
        values.push("...".into());
    }
    let unreadable = || vec!["none of the job's keys: a participant reports malformed keys".to_owned()];
    (packing.unpack(&row.key).unwrap_or_else(unreadable), row.count, values.join(", "))
}

fn value(own: &AggregateJob<'_>, place: u32, times: u64) -> String {
    let value = own.own.round.values.value(place).unwrap_or_else(|| "?".into());
    if times == 1 { value } else { format!("{value} ({} times)", count(times)) }
}

/// Renders the page of keys.
pub(super) fn shown(guard: &Guard, keys: &Keys<'_>) -> String {
    let name = escaped(keys.round);
    let mut headers: Vec<&str> = keys.columns.iter().map(String::as_str).collect();
    headers.push(keys.numbers);
    headers.extend(keys.values.then_some("values"));
    let rows = keys.rows.iter().map(|(texts, reports, values)| {
        let mut cells: Vec<String> = texts.iter().map(|text| escaped(text)).collect();
        cells.resize(keys.columns.len(), String::new());
        cells.push(count(*reports));
        cells.extend(keys.values.then(|| escaped(values)));
        cells
    });
    let rows: Vec<_> = rows.collect();
    let files = keys.endings.iter().map(|ending| {
        format!("<li><a href=\"rounds/{name}/result/{name}.{ending}\" download>{name}.{ending}</a></li>\n")
    });
    let table = if rows.is_empty() { "<p>No key.</p>\n".to_owned() } else { table("In no order.", &headers, &rows) };
    let base = format!("rounds/{}/keys", keys.round);
    let first = if keys.first { String::new() } else { link("", &base, "From the beginning") };
    let next = keys
        .next
        .map_or_else(String::new, |(part, from)| link("", &format!("{base}?part={part}&from={from}"), "Next keys"));
    let body = format!(
        "<header><p><a href=\"rounds/{name}\">Round {name}</a></p><h1>Revealed keys</h1><p>{}</p></header>\n<main>\n{table}<p>{first}{next}</p>\n<h2>All of them as a \
         file</h2>\n<ul class=\"files\">\n{}</ul>\n</main>\n",
        counted(keys.total, "key"),
        files.collect::<String>()
    );
    frame(guard, &format!("Keys of round {}", keys.round), None, &body)
}
