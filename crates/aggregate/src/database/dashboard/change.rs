//! Actions of the operator on a round. Each is confirmed first, and then done through the requests that `tacita round`
//! sends.

use std::collections::HashMap;

use axum::extract::{Extension, Form, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tacita_core::Error;
use tacita_node::base::text::{count, counted};
use tacita_node::jobs::aggregate::Measure;
use tacita_serve::page::{Guard, escaped};

use super::parts::frame;
use super::view::RoundView;
use super::{Desk, Shared, page, problem, refused, work};
use crate::database::operator;
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{Closing, Tighten, check_name};

/// Something that can be done with a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Close,
    Tighten,
    Reveal,
    Remove,
}

impl Action {
    fn of(word: &str) -> ApiResult<Action> {
        let all = [Action::Close, Action::Tighten, Action::Reveal, Action::Remove];
        let found = all.into_iter().find(|action| action.word() == word);
        found.ok_or_else(|| ApiError::new(RefusalReason::UnknownRound, "there is no such page"))
    }

    fn word(self) -> &'static str {
        match self {
            Action::Close => "close",
            Action::Tighten => "tighten",
            Action::Reveal => "reveal",
            Action::Remove => "remove",
        }
    }
}

/// Raise of a threshold, as the page for confirmation shows it.
pub(super) struct Raise {
    pub(super) measure: Measure,
    pub(super) to: i64,
}

type Words = HashMap<String, String>;

/// Asks whether that is what is meant.
pub(super) async fn confirm(
    State(desk): State<Shared>,
    Path((name, action)): Path<(String, String)>,
    Query(query): Query<Words>,
) -> Response {
    page(desk, move |desk| {
        let action = Action::of(&action)?;
        let round = desk.database.known(&name)?;
        let view = desk.database.view_of(&round, &desk.watch)?;
        let raise = match action {
            Action::Tighten => Some(raise(desk, &name, &view, &query)?),
            _ => None,
        };
        Ok(asked(&desk.guard, &view, action, raise.as_ref()))
    })
    .await
}

/// Returns the measure to raise and the new number. A gap is looked up now, so that the action that is confirmed is the
/// one that is done.
fn raise(desk: &Desk, name: &str, view: &RoundView, query: &Words) -> ApiResult<Raise> {
    let malformed = |what: &str| ApiError::new(RefusalReason::Malformed, what);
    let measure = query.get("measure").map(String::as_str).unwrap_or_default();
    let known = Measure::ALL.iter().find(|(of, word)| *word == measure || of.to_string() == measure);
    let (measure, _) = *known.ok_or_else(|| malformed("this is nothing that has a threshold"))?;
    let to = match (query.contains_key("gap"), &view.counts) {
        (true, Some(counts)) => {
            let predicate = desk.database.known(name)?.predicate(&desk.database.setting)?;
            let gap = operator::gap(&predicate, measure, counts).map_err(|error| malformed(&error.to_string()))?;
            i64::try_from(gap).ok()
        }
        (true, None) => return Err(ApiError::new(RefusalReason::NotYet, "its rows are not counted yet")),
        (false, _) => query.get("to").and_then(|number| number.trim().parse().ok()),
    };
    let to = to.ok_or_else(|| malformed("a threshold is a whole number"))?;
    Ok(Raise { measure, to })
}

/// The page that asks.
pub(super) fn asked(guard: &Guard, round: &RoundView, action: Action, raise: Option<&Raise>) -> String {
    let name = escaped(&round.name);
    let (title, what, class) = match action {
        Action::Close => (
            "Close the round",
            "From then on it takes no reports: later ones go to the next round, if one is open. Proxies shuffle and send their \
             reports. This cannot be undone."
                .to_owned(),
            "go",
        ),
        Action::Tighten => ("Raise a threshold", raise.map_or_else(String::new, |raise| raised(round, raise)), "go"),
        Action::Reveal => (
            "Reveal",
            format!(
                "The oracle is asked for the keys of {}, those for which {} holds. They are told to {}. This cannot be undone.",
                counted(round.numbers.passing.unwrap_or_default(), "row"),
                round.reveal_when,
                round.reveal_to
            ),
            "go",
        ),
        Action::Remove => (
            "Remove the round",
            format!(
                "{}, this database's key of the round and its result are deleted here, in whatever state it is. Its name is not used again. This cannot be undone.",
                counted(round.totals.reports, "report")
            ),
            "stop",
        ),
    };
    let more = raise.map_or_else(String::new, |raise| {
        format!(
            "<input type=\"hidden\" name=\"measure\" value=\"{}\"><input type=\"hidden\" name=\"to\" value=\"{}\">",
            escaped(&raise.measure.to_string()),
            raise.to
        )
    });
    let body = format!(
        "<header><p><a href=\"rounds/{name}\">Round {name}</a></p><h1>{title}?</h1></header>\n<main>\n<p>{}</p>\n<form method=\"post\" \
         action=\"rounds/{name}/{}\"><input type=\"hidden\" name=\"form\" value=\"{}\">{more}<button class=\"{class}\">{title}</button> <a class=\"button\" \
         href=\"rounds/{name}\">Leave it</a></form>\n</main>\n",
        escaped(&what),
        action.word(),
        escaped(guard.form()),
    );
    frame(guard, title, None, &body)
}

/// Describes the effect of raising a threshold, as far as the histogram tells.
fn raised(round: &RoundView, raise: &Raise) -> String {
    let Raise { measure, to } = raise;
    let sizes = round.counts.as_ref().and_then(|counts| match measure {
        Measure::Count => Some((&counts.count, "reports")),
        Measure::Distinct => Some((&counts.distinct, "distinct reporters")),
        _ => None,
    });
    let told = sizes.map_or_else(String::new, |(sizes, of)| {
        let least = u64::try_from(*to).unwrap_or(0);
        let (rows, all): (u64, u64) = (sizes.range(least..).map(|(_, rows)| rows).sum(), sizes.values().sum());
        format!(" {} of {} have {} {of} or more.", count(rows), counted(all, "row"), count(least))
    });
    format!(
        "The condition is {} now, and every bound of {measure} in it that is lower becomes {to}.{told} A threshold cannot be lowered again.",
        round.reveal_when
    )
}

/// Carries out a confirmed action on a round.
pub(super) async fn change(
    State(desk): State<Shared>,
    Path((name, action)): Path<(String, String)>,
    Form(form): Form<Words>,
) -> Response {
    if let Some(response) = foreign_form(&desk, &form) {
        return response;
    }
    done(&desk.guard, change_round(&desk, &name, &action, &form).await, &name)
}

async fn change_round(desk: &Shared, name: &str, action: &str, form: &Words) -> ApiResult<()> {
    let who = Extension(desk.database.identity.fingerprint());
    let at = (State(desk.database.clone()), who, Path(name.to_owned()));
    let changed = match Action::of(action)? {
        Action::Close => operator::close_with(at, Closing::default()).await,
        Action::Reveal => operator::reveal(at).await,
        Action::Remove => operator::remove(at).await,
        Action::Tighten => {
            let (owner, name, form) = (desk.clone(), name.to_owned(), form.clone());
            let raise = work(owner, move |desk| {
                let round = desk.database.known(&name)?;
                raise(desk, &name, &desk.database.view_of(&round, &desk.watch)?, &form)
            });
            let Raise { measure, to } = raise.await?;
            operator::raise(at, Tighten { measure: measure.to_string(), to: Some(to) }).await
        }
    };
    changed.map(drop)
}

/// Opens a round from the form.
pub(super) async fn open(State(desk): State<Shared>, Form(form): Form<Words>) -> Response {
    if let Some(response) = foreign_form(&desk, &form) {
        return response;
    }
    let name = form.get("round").map(|name| name.trim().to_owned()).unwrap_or_default();
    if let Err(Error::Input(text)) = check_name(&name) {
        return problem(&desk.guard, StatusCode::BAD_REQUEST, &text);
    }
    let who = Extension(desk.database.identity.fingerprint());
    let opened = operator::open((State(desk.database.clone()), who, Path(name.clone()))).await;
    done(&desk.guard, opened.map(drop), &name)
}

/// The answer to a form that is of another page.
fn foreign_form(desk: &Desk, form: &Words) -> Option<Response> {
    let own = form.get("form").is_some_and(|own| desk.guard.is_own_form(own));
    (!own).then(|| {
        problem(
            &desk.guard,
            StatusCode::FORBIDDEN,
            "This form is of an earlier page: go back, load that again, and try again.",
        )
    })
}

/// Back to the round, or why not.
fn done(guard: &Guard, done: ApiResult<()>, round: &str) -> Response {
    match done {
        Ok(()) => (StatusCode::SEE_OTHER, [(header::LOCATION, guard.path(&format!("rounds/{round}")))]).into_response(),
        Err(reply) => refused(guard, &reply),
    }
}
