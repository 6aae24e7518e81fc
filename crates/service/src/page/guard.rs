//! Who may see the page: whoever has the address that was printed at the start, in a browser that came by it; and no other site through
//! that browser.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use data_encoding::BASE64URL_NOPAD;
use subtle::ConstantTimeEq;
use tacita_core::{Error, Result};

/// What a page lets in.
#[derive(Clone)]
pub(crate) struct Guard {
    /// What printed the address, as `tacita desk`.
    printed_by: &'static str,
    /// In the address that is printed.
    token: String,
    /// In the cookie that it is changed for.
    session: String,
    /// In the forms.
    form: String,
    cookie: String,
    here: SocketAddr,
}

impl Guard {
    /// Fresh secrets for the page of `word`, as `desk`, at this address. The token is the one given, or a fresh one as well.
    pub(crate) fn new(word: &str, printed_by: &'static str, here: SocketAddr, token: Option<String>) -> Result<Guard> {
        // Cookies know no ports: two pages on one machine have two.
        let cookie = format!("tacita-{word}-{}", here.port());
        let token = token.map_or_else(secret, Ok)?;
        Ok(Guard { printed_by, token, session: secret()?, form: secret()?, cookie, here })
    }

    /// The address to open.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/?token={}", self.here, self.token)
    }

    /// What each form holds.
    pub(crate) fn form(&self) -> &str {
        &self.form
    }

    /// Whether a form is of this page.
    pub(crate) fn is_own_form(&self, form: &str) -> bool {
        same(form, &self.form)
    }

    /// Whether the browser asks this machine by a name that can lead nowhere else: another site's name that leads here today is none.
    fn is_called_rightly(&self, host: &str) -> bool {
        let port = format!(":{}", self.here.port());
        let Some(name) = host.strip_suffix(&port).or_else(|| (self.here.port() == 80).then_some(host)) else {
            return false;
        };
        let number = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match number {
            Ok(number) => number == self.here.ip() || number.is_loopback() || self.here.ip().is_unspecified(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie && same(value, &self.session))
    }

    /// Why a request is refused, if it is.
    fn refusal(&self, method: &Method, headers: &HeaderMap) -> Option<String> {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        if !self.is_called_rightly(host) {
            return Some(format!("This page has another name: open the address that `{}` printed.", self.printed_by));
        }
        if *method != Method::GET && *method != Method::POST {
            return Some("This page has nothing to be asked for in this way.".into());
        }
        let origin = text(header::ORIGIN);
        let own = origin.is_some_and(|origin| origin == format!("http://{host}"));
        let foreign = text(header::HeaderName::from_static("sec-fetch-site"))
            .is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if *method == Method::POST && (!own || foreign) || origin.is_some() && !own {
            return Some("Another site has sent you here: go to the page yourself.".into());
        }
        None
    }
}

/// What nobody guesses.
pub(crate) fn secret() -> Result<String> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Internal(format!("the operating system gives no randomness: {error}")))?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// Lets requests through, or refuses them.
pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(request.method(), request.headers()) {
        Some(why) => refuse(why),
        None if guard.has_cookie(request.headers()) => next.run(request).await,
        None => guard.enter(&request),
    };
    for (name, value) in [
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
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
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.session);
        (StatusCode::SEE_OTHER, [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, cookie)]).into_response()
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
}
