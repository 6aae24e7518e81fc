//! Access control of the page. It is for whoever has the address that was printed at the start, in a browser that came
//! by it. No other site gets in through that browser.
//!
//! The browser gets a cookie for the token in that address. Cookies know no ports: a browser sends one to every server
//! on its host. So the cookie is for one path, which is random and which the pages are below. A server of somebody else
//! at another port gets the cookie only if the browser asks it for that path, and nobody who does not see the pages
//! knows it.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use data_encoding::BASE64URL_NOPAD;
use subtle::ConstantTimeEq;
use tacita_core::Result;

use super::escaped;
use super::origin::{PageOrigin, is_local};
use tacita_node::base::random::fill_random;

/// Two sets and what they have in common: the icon of all pages.
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\"><g fill=\"#0b57a4\"><circle cx=\"12\" cy=\"16\" r=\"10\" \
                    fill-opacity=\".55\"/><circle cx=\"20\" cy=\"16\" r=\"10\" fill-opacity=\".55\"/></g></svg>\n";

/// Access control of a page.
#[derive(Clone)]
pub struct Guard {
    /// Program that printed the address, such as `tacita desk`.
    printed_by: &'static str,
    /// Token in the address that is printed.
    token: String,
    /// Token in the cookie for which it is exchanged.
    session: String,
    /// Token in the forms.
    form: String,
    /// The first part of the path of all pages.
    path: String,
    cookie: String,
    here: SocketAddr,
    /// Origin under which the page can be reached from elsewhere.
    origin: Option<PageOrigin>,
}

impl Guard {
    /// Fresh secrets for the page of `word`, as `desk`, at this address. The token is the one given, or a fresh one as
    /// well.
    pub fn new(word: &str, printed_by: &'static str, here: SocketAddr, token: Option<String>) -> Result<Guard> {
        // Of two pages on one machine, each keeps its own.
        let cookie = format!("tacita-{word}-{}", here.port());
        let token = token.map_or_else(secret, Ok)?;
        let [session, form, path] = [secret()?, secret()?, secret()?];
        Ok(Guard { printed_by, token, session, form, path, cookie, here, origin: None })
    }

    /// The same for a page that is also to be seen at an origin, over something that encrypts: the cookie goes over
    /// nothing else.
    pub fn behind(mut self, origin: Option<PageOrigin>) -> Guard {
        if origin.is_some() {
            self.cookie = format!("__Secure-{}", self.cookie);
        }
        self.origin = origin;
        self
    }

    /// Returns the location of the page, for whoever opens it.
    pub fn place(&self) -> String {
        self.origin.as_ref().map_or_else(|| format!("http://{}", self.here), PageOrigin::to_string)
    }

    /// The address to open.
    pub fn address(&self) -> String {
        format!("{}/?token={}", self.place(), self.token)
    }

    /// The path of a page, for whoever is sent there.
    pub fn path(&self, page: &str) -> String {
        format!("/{}/{page}", self.path)
    }

    /// A whole page, whose links have no slash in front. What is in `head` and `body` is HTML already.
    pub fn frame(&self, title: &str, stylesheet: &str, head: &str, body: &str) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<base href=\"{}\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<link rel=\"stylesheet\" \
             href=\"{stylesheet}\">\n<link rel=\"icon\" type=\"image/svg+xml\" href=\"icon.svg\">\n{head}</head>\n<body>\n{body}</body>\n</html>\n",
            self.path(""),
            escaped(title)
        )
    }

    /// Returns the token that each form holds.
    pub fn form(&self) -> &str {
        &self.form
    }

    /// Whether a form is of this page.
    pub fn is_own_form(&self, form: &str) -> bool {
        same(form, &self.form)
    }

    /// The pages as they are let to be seen.
    pub fn over(&self, pages: Router) -> Router {
        // Where a request goes is decided below the guard, which takes the first part of its path away.
        Router::new().fallback_service(pages).layer(from_fn_with_state(self.clone(), check))
    }

    /// Whether the page is asked for by a name of its own. What encrypts may pass the browser's name on, or use its own
    /// for this machine.
    fn is_called_rightly(&self, host: &str) -> bool {
        is_local(host, self.here) || self.origin.as_ref().is_some_and(|origin| origin.is_called(host))
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie && same(value, &self.session))
    }

    /// Returns the reason why a request is refused, if it is.
    fn refusal(&self, method: &Method, headers: &HeaderMap) -> Option<String> {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        if !self.is_called_rightly(host) {
            return Some(format!("This page has another name: open the address that `{}` printed.", self.printed_by));
        }
        if *method != Method::GET && *method != Method::POST {
            return Some("This page does not support that request.".into());
        }
        let origin = text(header::ORIGIN);
        let expected = self.origin.as_ref().map_or_else(|| format!("http://{host}"), PageOrigin::to_string);
        let own = origin.is_some_and(|origin| origin == expected);
        let foreign = text(header::HeaderName::from_static("sec-fetch-site"))
            .is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if *method == Method::POST && (!own || foreign) || origin.is_some() && !own {
            return Some("Another site has sent you here: go to the page yourself.".into());
        }
        None
    }

    /// The page that a path leads to, if it begins as all of them do.
    fn page(&self, uri: &Uri) -> Option<Uri> {
        let (first, _) = uri.path().strip_prefix('/')?.split_once('/')?;
        let whole = uri.path_and_query()?.as_str();
        let page = whole.get(1 + first.len()..)?;
        if same(first, &self.path) { page.parse().ok() } else { None }
    }
}

/// Draws a secret that nobody guesses.
pub fn secret() -> Result<String> {
    let mut bytes = [0; 24];
    fill_random(&mut bytes)?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// Lets requests through, or refuses them.
async fn check(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let mut response = match (guard.refusal(request.method(), request.headers()), guard.page(request.uri())) {
        (Some(why), _) => refuse(why),
        (None, Some(page)) if guard.has_cookie(request.headers()) => match page.path() {
            "/icon.svg" => ([(header::CONTENT_TYPE, "image/svg+xml")], ICON).into_response(),
            _ => {
                *request.uri_mut() = page;
                next.run(request).await
            }
        },
        (None, _) => guard.enter(&request),
    };
    for (name, value) in [
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'self'; \
             frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        // With none at all, browsers would not say where a form comes from.
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

impl Guard {
    /// Changes the token in the address for a cookie, so that it stays in no history.
    fn enter(&self, request: &Request) -> Response {
        let pairs = request.uri().query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        let token = pairs.into_iter().find(|(name, _)| *name == "token").map(|(_, value)| value);
        if *request.method() != Method::GET
            || request.uri().path() != "/"
            || !token.is_some_and(|token| same(token, &self.token))
        {
            return refuse(format!(
                "Open the address that `{}` printed when it started: it holds the key to this page.",
                self.printed_by
            ));
        }
        let secure = if self.origin.is_some() { "; Secure" } else { "" };
        let pages = self.path("");
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict{secure}; Path={pages}", self.cookie, self.session);
        (StatusCode::SEE_OTHER, [(header::LOCATION, pages), (header::SET_COOKIE, cookie)]).into_response()
    }
}

fn refuse(why: String) -> Response {
    (StatusCode::FORBIDDEN, why).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_this_machine_s_names_and_this_page_s_forms_pass() {
        let guard = Guard::new("desk", "tacita desk", "127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let passes = |method: Method, pairs: &[(&'static str, &str)]| guard.refusal(&method, &headers(pairs)).is_none();
        for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"] {
            assert!(passes(Method::GET, &[("host", host)]), "{host}");
            assert!(passes(Method::POST, &[("host", host), ("origin", &format!("http://{host}"))]), "{host}");
        }
        for host in
            ["evil.example:8080", "127.0.0.1:80", "127.0.0.1", "10.0.0.1:8080", "", "localhost.evil.example:8080"]
        {
            assert!(!passes(Method::GET, &[("host", host)]), "{host}");
        }
        let host = ("host", "127.0.0.1:8080");
        assert!(!passes(Method::POST, &[host]));
        for origin in ["null", "http://evil.example", "http://localhost:8080", "https://127.0.0.1:8080"] {
            assert!(!passes(Method::POST, &[host, ("origin", origin)]), "{origin}");
            assert!(!passes(Method::GET, &[host, ("origin", origin)]), "{origin}");
        }
        let own = ("origin", "http://127.0.0.1:8080");
        assert!(!passes(Method::POST, &[host, own, ("sec-fetch-site", "cross-site")]));
        assert!(passes(Method::POST, &[host, own, ("sec-fetch-site", "same-origin")]));
        assert!(!passes(Method::PUT, &[host, own]) && !passes(Method::OPTIONS, &[host, own]));
    }

    #[test]
    fn a_cookie_is_this_page_s_or_none() {
        let guard = Guard::new("desk", "tacita desk", "127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let with = |cookie: &str| guard.has_cookie(&headers(&[("cookie", cookie)]));
        assert!(with(&format!("a=b; tacita-desk-8080={}", guard.session)));
        assert!(!with(&format!("tacita-desk-8081={}", guard.session)));
        assert!(!with(&format!("tacita-desk-8080={}", guard.token)) && !with("tacita-desk-8080="));
        assert!(!guard.is_own_form("") && guard.is_own_form(guard.form()));
    }

    #[test]
    fn pages_are_below_a_path_that_nobody_guesses() {
        let guard = Guard::new("desk", "tacita desk", "127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let other = Guard::new("desk", "tacita desk", "127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let page = |path: &str| guard.page(&path.parse().unwrap()).map(|page| page.to_string());
        assert_eq!(page(&guard.path("")).as_deref(), Some("/"));
        assert_eq!(page(&guard.path("batch/1?x=/y")).as_deref(), Some("/batch/1?x=/y"));
        let bare = guard.path("").trim_end_matches('/').to_owned();
        for path in ["/", "/batch/1", "//", &other.path(""), &bare, &format!("/x{bare}/"), &format!("/.{bare}/")] {
            assert_eq!(page(path), None, "{path}");
        }
        assert!(
            guard.path.len() >= 22 && guard.frame("t", "s.css", "", "").contains(&format!("<base href=\"{bare}/\">"))
        );
    }

    /// Returns the answer of a guard to a browser's request for this path, with this cookie.
    fn answer(guard: &Guard, path: &str, cookie: &str) -> (StatusCode, HeaderMap) {
        use axum::body::Body;
        use hyper::service::Service as _;

        let pages = guard.over(Router::new().route("/", axum::routing::get(|| async { "the page" })));
        let request = Request::get(path).header(header::HOST, "127.0.0.1:8080").header(header::COOKIE, cookie);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = hyper_util::service::TowerToHyperService::new(pages).call(request.body(Body::empty()).unwrap());
        let answer = runtime.block_on(answer).unwrap();
        (answer.status(), answer.headers().clone())
    }

    #[test]
    fn the_page_is_seen_with_the_cookie_alone_and_that_is_had_for_the_token_alone() {
        let guard = Guard::new("desk", "tacita desk", "127.0.0.1:8080".parse().unwrap(), None).unwrap();
        for path in ["/?token=", "/?token=x", &format!("/?token={}", guard.session), &guard.path(""), "/x?token=x"] {
            let (status, headers) = answer(&guard, path, "a=b");
            assert!(status == StatusCode::FORBIDDEN && !headers.contains_key(header::SET_COOKIE), "{path}: {status}");
        }
        let address = format!("/?token={}", guard.token);
        let (status, headers) = answer(&guard, &address, "a=b");
        assert_eq!((status, headers[header::LOCATION].to_str().unwrap()), (StatusCode::SEE_OTHER, &*guard.path("")));
        let cookie = headers[header::SET_COOKIE].to_str().unwrap();
        let (own, ways) = cookie.split_once("; ").unwrap();
        assert_eq!(ways, format!("HttpOnly; SameSite=Strict; Path={}", guard.path("")));
        assert_eq!(answer(&guard, &guard.path(""), own).0, StatusCode::OK);
        let guard = guard.behind(Some("https://desk.example".parse().unwrap()));
        let (_, headers) = answer(&guard, &address, "");
        assert!(headers[header::SET_COOKIE].to_str().unwrap().contains("; Secure; Path="));
    }

    #[test]
    fn behind_something_that_encrypts_it_has_another_name() {
        let guard = Guard::new("desk", "tacita desk", "127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let guard = guard.behind(Some("https://desk.example".parse().unwrap()));
        assert!(guard.address().starts_with("https://desk.example/?token="));
        let passes = |method: Method, pairs: &[(&'static str, &str)]| guard.refusal(&method, &headers(pairs)).is_none();
        let own = ("origin", "https://desk.example");
        for host in ["desk.example", "Desk.Example", "desk.example:443", "127.0.0.1:8080", "localhost:8080"] {
            assert!(passes(Method::GET, &[("host", host)]) && passes(Method::POST, &[("host", host), own]), "{host}");
            assert!(!passes(Method::POST, &[("host", host), ("origin", "https://evil.example")]), "{host}");
            assert!(!passes(Method::POST, &[("host", host), ("origin", &format!("http://{host}"))]), "{host}");
            assert!(!passes(Method::POST, &[("host", host)]), "{host}");
        }
        for host in ["evil.example", "desk.example:8080", "desk.example.evil.example", ""] {
            assert!(!passes(Method::GET, &[("host", host)]), "{host}");
        }
        assert!(guard.has_cookie(&headers(&[("cookie", &format!("__Secure-tacita-desk-8080={}", guard.session))])));
        assert!(!guard.has_cookie(&headers(&[("cookie", &format!("tacita-desk-8080={}", guard.session))])));
    }
}
