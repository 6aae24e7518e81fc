//! A page of a service, asked for as it is written: with any header, or without.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A page that was entered by its link.
pub struct Site {
    pub page: u16,
    pub token: String,
    pub cookie: String,
    /// The path that all pages are below.
    pub base: String,
    /// Origin at which browsers open it, if that is another one.
    pub origin: Option<String>,
    /// The word in its forms.
    pub form: String,
}

/// An answer of a page.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

impl Site {
    /// Enters the page at a port by its token.
    #[track_caller]
    pub fn enter(page: u16, token: &str) -> Site {
        Site::enter_at(page, token, None)
    }

    /// The same behind something that encrypts, and passes on by which name browsers ask for it.
    #[track_caller]
    pub fn enter_at(page: u16, token: &str, origin: Option<&str>) -> Site {
        let (token, empty) = (token.to_owned(), String::new);
        let origin = origin.map(str::to_owned);
        let mut site = Site { page, token, origin, base: empty(), cookie: empty(), form: empty() };
        let token = &site.token;
        let entered = site.request("GET", &format!("/?token={token}"), &[], b"");
        assert_eq!(entered.status, 303, "{entered:?}");
        let cookie = entered.header("set-cookie");
        site.base = entered.header("location").trim_end_matches('/').to_owned();
        assert!(site.base.len() > 22, "nobody guesses it: {}", site.base);
        // Cookies know no ports: a server of somebody else gets what is for a path that it can be asked for.
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        assert!(cookie.ends_with(&format!("; Path={}/", site.base)), "{cookie}");
        let secure = cookie.starts_with("__Secure-") && cookie.contains("; Secure;");
        assert_eq!(secure, site.origin.is_some(), "{cookie}");
        site.cookie = cookie.split(';').next().unwrap().to_owned();
        let main = site.get("/").body;
        site.form = main.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        site
    }

    /// The same, asked for what is below no path of its own.
    pub fn elsewhere(&self) -> Site {
        let (token, cookie, form) = (self.token.clone(), self.cookie.clone(), self.form.clone());
        Site { page: self.page, token, cookie, form, base: String::new(), origin: self.origin.clone() }
    }

    /// Returns the path of a page: below the base path, unless that is there already.
    pub fn at(&self, path: &str) -> String {
        if path.starts_with(&self.base) { path.to_owned() } else { format!("{}{path}", self.base) }
    }

    /// A request as it is written, with its own Host.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let path = self.at(path);
        let own = format!("127.0.0.1:{}", self.page);
        let host = self.origin.as_ref().map_or(own, |origin| origin.replace("https://", ""));
        let host = headers.iter().find(|(name, _)| *name == "Host").map_or(host.as_str(), |(_, value)| value);
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        headers
            .iter()
            .filter(|(name, _)| *name != "Host")
            .for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let mut stream = TcpStream::connect(("127.0.0.1", self.page)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(&[head.as_bytes(), b"\r\n", body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (headers, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, headers: headers.replace('\r', ""), body: body.to_owned() }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[("Cookie", &self.cookie)], b"")
    }

    pub fn origin(&self) -> String {
        self.origin.clone().unwrap_or_else(|| format!("http://127.0.0.1:{}", self.page))
    }

    pub fn post(&self, path: &str, kind: &str, body: &[u8]) -> Answer {
        let headers = [("Cookie", self.cookie.as_str()), ("Origin", &self.origin()), ("Content-Type", kind)];
        self.request("POST", path, &headers, body)
    }
}

impl Answer {
    /// Returns the value of a header.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }
}

/// Encodes text as forms do.
pub fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Waits until a port is listened on again.
pub fn until_open(port: u16) {
    let until = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
}
