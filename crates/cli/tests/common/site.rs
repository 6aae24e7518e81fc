//! A page of a service, asked for as it is written: with any header, or without.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A page that was entered by its link.
pub struct Site {
    pub page: u16,
    pub token: String,
    pub cookie: String,
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
        let mut site = Site { page, token: token.to_owned(), cookie: String::new(), form: String::new() };
        let entered = site.request("GET", &format!("/?token={token}"), &[], b"");
        assert_eq!(entered.status, 303, "{entered:?}");
        let cookie = entered.headers.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        site.cookie = cookie.split(';').next().unwrap().to_owned();
        let main = site.get("/").body;
        site.form = main.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        site
    }

    /// A request as it is written, with its own Host.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let host = format!("127.0.0.1:{}", self.page);
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
        format!("http://127.0.0.1:{}", self.page)
    }

    pub fn post(&self, path: &str, kind: &str, body: &[u8]) -> Answer {
        let headers = [("Cookie", self.cookie.as_str()), ("Origin", &self.origin()), ("Content-Type", kind)];
        self.request("POST", path, &headers, body)
    }
}

/// As forms have it.
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
