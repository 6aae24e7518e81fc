//! The dashboard: how the database and its rounds stand, in a browser of its operator, on the same machine.
//!
//! Pages are made here, hold nothing from elsewhere, and run no script. What changes a round is what `tacita round`
//! asks for.

mod advice;
mod change;
mod chart;
mod keys;
mod overview;
mod parts;
mod round;
#[cfg(test)]
mod tests;
mod view;
mod watch;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path as At, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use tacita_core::{Error, Result};
use tacita_serve::page::PageOrigin;
use tacita_serve::page::guard::{self, Guard};
use tacita_serve::page::server;
use tacita_serve::status;
use tokio::runtime::Runtime;

use self::watch::Watch;
use super::Database;
use crate::wire::reply::{ApiError, ApiResult};

/// The longest form, in bytes.
const MAX_FORM_BYTES: usize = 4 << 10;

/// Configuration of the dashboard.
pub struct Dashboard {
    /// Address of the dashboard, on this machine.
    pub address: String,
    /// The file with the token; it is made if it is not there. Absent: a fresh token each time.
    pub token: Option<PathBuf>,
    /// Origin under which the dashboard can be reached from elsewhere, behind something that encrypts.
    pub origin: Option<PageOrigin>,
    /// Gets the address to open, with its key, unless the key is in a file.
    pub told: fn(&str),
}

/// A dashboard that has its address.
pub(super) struct Listening {
    listener: TcpListener,
    guard: Guard,
    /// State directory of the database.
    state: PathBuf,
}

/// State that all requests share.
struct Desk {
    database: Arc<Database>,
    watch: Arc<Watch>,
    guard: Guard,
    state: PathBuf,
}

type Shared = Arc<Desk>;

impl Dashboard {
    /// Takes its address, and tells it.
    ///
    /// Errors ([`Error::Input`]): others can reach it, or it cannot be had; the file of the token cannot be read or
    /// made, or others can read it.
    pub(super) fn listen(&self, state: &Path) -> Result<Listening> {
        let listener = status::listen("--dashboard", &self.address)?;
        let here = listener.local_addr().map_err(|error| Error::Internal(format!("the dashboard: {error}")))?;
        let token = self.token.as_deref().map(token).transpose()?;
        let guard = Guard::new("dashboard", "tacita database", here, token)?.behind(self.origin.clone());
        if let Some(origin) = &self.origin {
            tracing::info!("dashboard listens on {here}, to which {origin} has to lead");
        }
        match &self.token {
            None => (self.told)(&guard.address()),
            Some(file) => {
                tracing::info!("dashboard at {}/?token=..., with what is in {}", guard.place(), file.display())
            }
        }
        Ok(Listening { listener, guard, state: state.to_path_buf() })
    }
}

/// The shortest token that a file may hold.
const MIN_TOKEN: usize = 22;

/// The token in a file, which is made with a fresh one where there is none.
fn token(path: &Path) -> Result<String> {
    use std::os::unix::fs::MetadataExt;
    let shown = path.display();
    let bad = |what: &str| Error::Input(format!("--dashboard-token-file {shown}: {what}"));
    if !path.exists() {
        tacita_node::base::files::write_whole_private(path, format!("{}\n", guard::secret()?).as_bytes())?;
    }
    let mode = std::fs::metadata(path).map_err(|error| bad(&format!("cannot be read: {error}")))?.mode();
    if mode & 0o077 != 0 {
        return Err(bad(&format!(
            "others on this machine can read it: chmod 600 {shown}, and put another token in it"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|error| bad(&format!("cannot be read: {error}")))?;
    let token = text.trim();
    if token.len() >= MIN_TOKEN && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        Ok(token.to_owned())
    } else {
        Err(bad(&format!(
            "holds no token, which has {MIN_TOKEN} letters and digits at least: remove the file, and one is made"
        )))
    }
}

impl Listening {
    /// Serves it for as long as the runtime is there.
    pub(super) fn serve(self, database: &Arc<Database>, runtime: &Runtime) -> Result<()> {
        let Listening { listener, guard, state } = self;
        let desk = Desk { database: database.clone(), watch: Watch::start(database), guard, state };
        let pages = router(Arc::new(desk));
        runtime.spawn(server::serve(listener, pages, std::future::pending()));
        Ok(())
    }
}

fn router(desk: Shared) -> Router {
    let guard = desk.guard.clone();
    let style = || async { ([(header::CONTENT_TYPE, "text/css")], include_str!("dashboard.css")) };
    let lost = async |State(desk): State<Shared>| problem(&desk.guard, StatusCode::NOT_FOUND, "There is no such page.");
    let pages = Router::new()
        .route("/", get(main_page))
        .route("/dashboard.css", get(style))
        .route("/open", post(change::open))
        .route("/rounds/{round}", get(round_page))
        .route("/rounds/{round}/confirm/{action}", get(change::confirm))
        .route("/rounds/{round}/{action}", post(change::change))
        .route("/rounds/{round}/keys", get(keys::page))
        .route("/rounds/{round}/result/{file}", get(keys::download))
        .fallback(lost)
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .with_state(desk);
    guard.over(pages)
}

async fn main_page(State(desk): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let still = is_still(query);
    page(desk, move |desk| Ok(overview::page(&desk.guard, &desk.database.view(&desk.watch, &desk.state)?, still))).await
}

async fn round_page(State(desk): State<Shared>, At(name): At<String>, RawQuery(query): RawQuery) -> Response {
    let still = is_still(query);
    page(desk, move |desk| {
        let round = desk.database.known(&name)?;
        Ok(round::page(&desk.guard, &desk.database.view_of(&round, &desk.watch)?, still))
    })
    .await
}

/// Whether a page is asked not to load itself again.
fn is_still(query: Option<String>) -> bool {
    query.is_some_and(|query| query.split('&').any(|part| part == "still"))
}

/// A page that is made where it stops no other request.
async fn page(desk: Shared, make: impl FnOnce(&Desk) -> ApiResult<String> + Send + 'static) -> Response {
    let guard = desk.guard.clone();
    match work(desk, make).await {
        Ok(page) => Html(page).into_response(),
        Err(reply) => refused(&guard, &reply),
    }
}

async fn work<T: Send + 'static>(
    desk: Shared,
    work: impl FnOnce(&Desk) -> ApiResult<T> + Send + 'static,
) -> ApiResult<T> {
    let pool = desk.database.pool.clone();
    pool.run(move || work(&desk)).await
}

/// A page that says why something was not done.
fn refused(guard: &Guard, reply: &ApiError) -> Response {
    problem(guard, reply.status(), &reply.told().message)
}

fn problem(guard: &Guard, status: StatusCode, what: &str) -> Response {
    (status, Html(parts::problem(guard, what))).into_response()
}
