//! The page of a desk, in a browser on the same machine.

mod batch_html;
mod forms;
mod html;
mod view;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Form, Multipart, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use tacita_core::{Error, Result};
use tacita_node::jobs::intersect::live::{KeyReader, Live, QueryColumn, QueryRow, learned, protocol};
use tacita_node::transport::ConnectCancel;

use super::batch::Batch;
use super::judge::Judge;
use super::link::{Asking, DeskLink};
use super::upload::{self, Choices};
use super::verdicts::{MAX_REFERENCE, Outcome, Verdict, Verdicts};
use view::{Shown, View};

use crate::page::{Guard, PageOrigin, server};
use crate::sync::lock;

/// Time for which a clerk waits for one verdict.
const TIMEOUT: Duration = Duration::from_secs(6);

/// The longest table that can be uploaded, in bytes.
const MAX_TABLE_BYTES: usize = 32 << 20;

/// The longest other form.
const MAX_FORM_BYTES: usize = 64 << 10;

/// Time that requests under way get at the end.
const LINGER: Duration = Duration::from_secs(1);

/// Verdicts that were made and are still to be shown, and batches that are remembered.
const REMEMBERED: usize = 64;

/// Configuration of a desk.
pub struct DeskConfig {
    /// The job, and who asks.
    pub asking: Asking,
    /// Address of the page.
    pub page: SocketAddr,
    /// Whether it may be on an address that others can reach.
    pub allow_remote: bool,
    /// Origin under which the page can be reached from elsewhere, behind something that encrypts.
    pub origin: Option<PageOrigin>,
    /// File in which verdicts are kept.
    pub verdicts: PathBuf,
    /// Gets the address to open, with its key.
    pub told: fn(&str),
}

struct Desk {
    live: Live,
    link: DeskLink,
    reader: KeyReader,
    fields: Vec<QueryColumn>,
    judge: Judge,
    learned: Vec<String>,
    guard: Guard,
    verdicts: Arc<Mutex<Verdicts>>,
    shown: Mutex<VecDeque<(u64, Shown)>>,
    batches: Mutex<BTreeMap<u64, Arc<Batch>>>,
    /// Format of the last table, as its sender described it: the next one is often written alike.
    choices: Mutex<Choices>,
    next: AtomicU64,
}

type Shared = Arc<Desk>;

/// Serves the page until it is cancelled.
///
/// Errors: [`Error::Input`] for an address that cannot be listened on, or that others can reach without leave, or a
/// file that cannot be written.
pub fn serve(serving: DeskConfig) -> Result<()> {
    let DeskConfig { asking, page, allow_remote, origin, verdicts, told } = serving;
    if !page.ip().is_loopback() && !allow_remote {
        return Err(Error::Input(format!(
            "--page {page}: others can reach that address, and the page is not encrypted: use 127.0.0.1, or --allow-remote-page \
             behind a proxy that encrypts"
        )));
    }
    let cancel = asking.cancel.clone();
    let failed = |error: std::io::Error| {
        Error::Input(format!("cannot serve the page on {page}: {error}: give another address with --page"))
    };
    let listener = std::net::TcpListener::bind(page).map_err(failed)?;
    let here = listener.local_addr().map_err(failed)?;
    let guard = Guard::new("desk", "tacita desk", here, None)?.behind(origin);
    let live = asking.live.clone();
    let reader = KeyReader::new(&live, &live.desk)?;
    let verdicts = Arc::new(Mutex::new(Verdicts::open(&verdicts)?));
    let sentences = std::iter::once(protocol(&live));
    let both = [&live.desk, &live.authority].into_iter().flat_map(|party| learned(&live.job, party));
    let desk = Arc::new(Desk {
        link: DeskLink::start(asking),
        fields: reader.fields(),
        judge: Judge::new(&live, &reader),
        reader,
        learned: sentences.chain(both).collect(),
        guard: guard.clone(),
        verdicts,
        shown: Mutex::default(),
        batches: Mutex::default(),
        choices: Mutex::default(),
        next: AtomicU64::new(1),
        live,
    });
    told(&guard.address());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Error::Internal(format!("no threads for the page: {error}")))?;
    runtime.block_on(async {
        // Whoever still waits for a verdict gets it, if it comes soon.
        let served = std::pin::pin!(server::serve(listener, router(desk), until_cancelled(cancel.clone())));
        let late = std::pin::pin!(async {
            until_cancelled(cancel).await;
            tokio::time::sleep(LINGER).await;
        });
        first(served, late).await.unwrap_or(Ok(())).map_err(failed)
    })?;
    runtime.shutdown_timeout(Duration::from_millis(100));
    tracing::info!("the page is closed");
    Ok(())
}

fn router(desk: Shared) -> Router {
    let guard = desk.guard.clone();
    let pages = Router::new()
        .route("/", get(main_page))
        .route("/check", post(check))
        .route("/batch", post(begin_batch).layer(DefaultBodyLimit::max(MAX_TABLE_BYTES)))
        .route("/batch/{number}", get(batch_page))
        .route("/batch/{number}/verdicts.csv", get(batch_csv))
        .route("/standing", get(standing))
        .route("/desk.css", get(|| async { ([(header::CONTENT_TYPE, "text/css")], include_str!("desk.css")) }))
        .route("/desk.js", get(|| async { ([(header::CONTENT_TYPE, "text/javascript")], include_str!("desk.js")) }))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .with_state(desk);
    guard.over(pages)
}

impl Desk {
    fn has_field(&self, header: &str) -> bool {
        self.fields.iter().any(|field| field.header == header)
    }

    /// A page that says what is wrong.
    fn wrong(&self, status: StatusCode, what: &str) -> Response {
        (status, Html(html::problem(&self.guard, what))).into_response()
    }

    /// Sends the browser to a page.
    fn see(&self, page: &str) -> Response {
        (StatusCode::SEE_OTHER, [(header::LOCATION, self.guard.path(page))]).into_response()
    }
}

async fn main_page(State(desk): State<Shared>, Query(query): Query<HashMap<String, String>>) -> Html<String> {
    let number = query.get("shown").and_then(|number| number.parse::<u64>().ok());
    let shown = lock(&desk.shown).iter().find(|(known, _)| Some(*known) == number).map(|(_, shown)| shown.clone());
    let (counts, latest) = {
        let verdicts = lock(&desk.verdicts);
        (verdicts.counts(), verdicts.latest(html::SHOWN))
    };
    let view = View {
        job: &desk.live.job.id,
        authority: &desk.live.authority,
        guard: &desk.guard,
        fields: &desk.fields,
        learned: &desk.learned,
        standing: desk.link.standing(),
        has_possible: desk.judge.has_possible(),
        choices: lock(&desk.choices).clone(),
        counts,
        latest,
    };
    Html(html::main(&view, shown.as_ref()))
}

async fn standing(State(desk): State<Shared>) -> Json<serde_json::Value> {
    let standing = desk.link.standing();
    let text = standing.sentence(&desk.live.authority);
    let [listed, possible, clear, unchecked] = lock(&desk.verdicts).counts();
    Json(json!({
        "connected": standing.connected,
        "text": text,
        "counts": [listed, clear, unchecked],
        "possible": possible,
        "fetched": standing.fetched
    }))
}

/// One row, as it was typed.
async fn check(State(desk): State<Shared>, Form(form): Form<HashMap<String, String>>) -> Response {
    if !form.get("form").is_some_and(|own| desk.guard.is_own_form(own)) {
        return desk.wrong(StatusCode::FORBIDDEN, "This form is of an earlier page: go back, and load it again.");
    }
    let value = |header: &str| form.get(&format!("field-{header}")).map(String::as_str).unwrap_or_default();
    let asked = desk.reader.read(value);
    let could_be_asked = asked.can_be_asked();
    let of = desk.fields.iter().map(|field| (field.header.clone(), value(&field.header).to_owned())).collect();
    let reference: String =
        form.get("reference").map(String::as_str).unwrap_or_default().trim().chars().take(MAX_REFERENCE).collect();
    let (asker, number) = (desk.clone(), desk.next.fetch_add(1, Ordering::Relaxed));
    let made = tokio::task::spawn_blocking(move || asker.verdict(asked, reference)).await;
    let verdict = match made {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(error)) => return desk.wrong(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        Err(_) => return desk.wrong(StatusCode::INTERNAL_SERVER_ERROR, "The desk failed: see its log."),
    };
    let mut shown = lock(&desk.shown);
    shown.push_front((number, Shown { verdict, of, could_be_asked }));
    shown.truncate(REMEMBERED);
    desk.see(&format!("?shown={number}"))
}

impl Desk {
    /// Asks, and keeps the verdict before it is shown.
    fn verdict(&self, asked: QueryRow, reference: String) -> Result<Verdict> {
        let reason = self.judge.advice(&asked);
        let mut verdict = Verdict {
            time: html::now(),
            reference,
            verdict: Outcome::NotChecked,
            by: Vec::new(),
            reason,
            list: String::new(),
            version: 0,
        };
        if asked.can_be_asked() {
            match self.link.ask(vec![asked], TIMEOUT).map(|found| found.into_iter().next()) {
                Ok(Some(found)) => {
                    (verdict.verdict, verdict.by) = (self.judge.outcome(&found), self.judge.by(&found));
                    (verdict.list, verdict.version) = (found.epoch, found.version);
                }
                Ok(None) => return Err(Error::Internal("an answer without a verdict".into())),
                Err(error) => {
                    tracing::warn!("one was not checked: {error}");
                    verdict.reason = error.to_string();
                }
            }
        }
        verdict.time = html::now();
        lock(&self.verdicts).keep(vec![verdict.clone()])?;
        Ok(verdict)
    }
}

/// Many rows, as a file.
async fn begin_batch(State(desk): State<Shared>, mut form: Multipart) -> Response {
    let (mut own, mut table, mut choices) = (false, None, Choices::default());
    loop {
        let field = match form.next_field().await {
            Ok(Some(field)) => field,
            Ok(None) => break,
            Err(error) => return desk.wrong(error.status(), &error.body_text()),
        };
        let name = field.name().unwrap_or_default().to_owned();
        let bytes = match field.bytes().await {
            Ok(bytes) => bytes,
            Err(error) => return desk.wrong(error.status(), &error.body_text()),
        };
        let text = || String::from_utf8_lossy(&bytes).trim().to_owned();
        match name.as_str() {
            "form" => own = std::str::from_utf8(&bytes).is_ok_and(|form| desk.guard.is_own_form(form)),
            "table" => table = Some(bytes.to_vec()),
            "reference" => choices.reference = text(),
            "encoding" => choices.encoding = text(),
            "delimiter" => choices.delimiter = text(),
            _ => {
                let header = name.strip_prefix("column-").filter(|header| desk.has_field(header));
                if let Some(header) = header.filter(|_| !text().is_empty()) {
                    choices.columns.insert(header.to_owned(), text());
                }
            }
        }
        if !own {
            return desk.wrong(StatusCode::FORBIDDEN, "This form is of an earlier page: go back, and load it again.");
        }
    }
    let Some(table) = table.filter(|table| !table.is_empty()) else {
        return desk.wrong(StatusCode::BAD_REQUEST, "No table was chosen, or it is empty.");
    };
    let number = desk.next.fetch_add(1, Ordering::Relaxed);
    let owner = desk.clone();
    lock(&desk.choices).clone_from(&choices);
    let begun = tokio::task::spawn_blocking(move || {
        let rows = upload::read(table, &choices, &owner.live, &owner.reader)?;
        Ok::<_, Error>(Batch::begin(number, rows, (&owner.link, &owner.judge), &owner.verdicts))
    });
    match begun.await {
        Ok(Ok(batch)) => {
            let mut batches = lock(&desk.batches);
            batches.insert(number, batch);
            while batches.len() > REMEMBERED {
                batches.pop_first();
            }
            desk.see(&format!("batch/{number}"))
        }
        Ok(Err(error)) => desk.wrong(StatusCode::BAD_REQUEST, &error.to_string()),
        Err(_) => desk.wrong(StatusCode::INTERNAL_SERVER_ERROR, "The desk failed: see its log."),
    }
}

fn batch(desk: &Desk, number: u64) -> Option<Arc<Batch>> {
    lock(&desk.batches).get(&number).cloned()
}

const NO_BATCH: &str = "There is no such batch, or it is no longer kept: its verdicts are in the file of verdicts.";

async fn batch_page(State(desk): State<Shared>, Path(number): Path<u64>) -> Response {
    match batch(&desk, number) {
        Some(batch) => Html(batch_html::page(&desk.guard, &batch, desk.judge.has_possible())).into_response(),
        None => desk.wrong(StatusCode::NOT_FOUND, NO_BATCH),
    }
}

async fn batch_csv(State(desk): State<Shared>, Path(number): Path<u64>) -> Response {
    match batch(&desk, number) {
        Some(batch) => {
            let name = format!("attachment; filename=\"verdicts-{number}.csv\"");
            (
                [(header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (header::CONTENT_DISPOSITION, name)],
                batch.csv(),
            )
                .into_response()
        }
        None => desk.wrong(StatusCode::NOT_FOUND, NO_BATCH),
    }
}

/// Returns the result of the first of two futures, if that is the one that ends first.
async fn first<T>(mut one: impl Future<Output = T> + Unpin, mut other: impl Future<Output = ()> + Unpin) -> Option<T> {
    std::future::poll_fn(|context| match Pin::new(&mut one).poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Pin::new(&mut other).poll(context).map(|()| None),
    })
    .await
}

/// Ends when it is cancelled.
async fn until_cancelled(cancel: ConnectCancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
