//! A headless browser, spoken to by WebDriver.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::free_port;
use super::site::until_open;

/// Time limit for something to appear.
const LIMIT: Duration = Duration::from_secs(20);

/// A browser with a window of its own, and nothing kept of it.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

/// Chromium and its driver, where a package has put them; nothing if there are none.
fn programs() -> Option<[&'static str; 2]> {
    let found = |places: &[&'static str]| places.iter().copied().find(|place| std::path::Path::new(place).exists());
    Some([found(&["/usr/bin/chromium", "/usr/bin/chromium-browser"])?, found(&["/usr/bin/chromedriver"])?])
}

impl Browser {
    /// Starts one; nothing where there is no Chromium.
    pub fn start(width: u32, height: u32) -> Option<Browser> {
        let Some([chromium, chromedriver]) = programs() else {
            eprintln!("left out: there is no chromium and chromium-driver (`scripts/need chromium` installs them)");
            return None;
        };
        let (port, profile) = (free_port(), tempfile::tempdir().unwrap());
        let driver = Command::new(chromedriver)
            .args([format!("--port={port}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until_open(port);
        let data = format!("--user-data-dir={}", profile.path().display());
        let size = format!("--window-size={width},{height}");
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            &data,
            &size,
        ];
        let options = json!({ "binary": chromium, "args": arguments });
        let mut browser = Browser { driver, port, session: String::new(), _profile: profile };
        browser.until_ready();
        let made = browser.ask(
            "POST",
            "/session",
            &json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } }),
        );
        browser.session = format!("/session/{}", made["sessionId"].as_str().unwrap_or_else(|| panic!("{made}")));
        browser.resize(width, height);
        Some(browser)
    }

    /// Shows pages as on a screen of this size. A phone is narrower than a window may be.
    pub fn resize(&self, width: u32, height: u32) {
        let screen = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": { "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 } });
        self.tell("/goog/cdp/execute", &screen);
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_ask(method, path, body).unwrap()
    }

    /// A driver that has just been started takes connections before it can serve them.
    fn until_ready(&self) {
        let until = Instant::now() + LIMIT;
        while !self.try_ask("GET", "/status", &Value::Null).is_ok_and(|status| status["ready"] == true) {
            assert!(Instant::now() < until, "the driver is not ready");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn try_ask(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes())?;
        let mut answer = Vec::new();
        // The driver may keep the connection: what it announced is all.
        let mut piece = [0; 1 << 16];
        let text = loop {
            let count = stream.read(&mut piece)?;
            answer.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&answer).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                match count {
                    0 => return Err(ErrorKind::UnexpectedEof.into()),
                    _ => continue,
                }
            };
            let head = head.to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map(|length| length.trim().parse::<usize>().unwrap());
            if count == 0 || length.is_some_and(|length| body.len() >= length) {
                break body.to_owned();
            }
        };
        Ok(serde_json::from_str::<Value>(&text)?["value"].clone())
    }

    fn tell(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", &format!("{}{path}", self.session), body)
    }

    pub fn open(&self, address: &str) {
        self.tell("/url", &json!({ "url": address }));
    }

    /// The first element that a CSS selector finds, within a while.
    #[track_caller]
    pub fn find(&self, selector: &str) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let found = self.tell("/element", &json!({ "using": "css selector", "value": selector }));
            if let Some(element) = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str)
                && found.get("error").is_none()
            {
                return element.to_owned();
            }
            assert!(Instant::now() < until, "no {selector}: {found}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types into what a selector finds.
    #[track_caller]
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.find(selector);
        self.tell(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// Types wherever the focus is: keys as WebDriver has them.
    pub fn keys(&self, text: &str) {
        let element = self.ask("GET", &format!("{}/element/active", self.session), &Value::Null);
        let element =
            element.as_object().and_then(|found| found.values().next()).and_then(Value::as_str).unwrap().to_owned();
        self.tell(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.find(selector);
        self.tell(&format!("/element/{element}/click"), &json!({}));
    }

    /// Waits until what a selector finds says some words, and returns all that it says.
    #[track_caller]
    pub fn until_says(&self, selector: &str, words: &str) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let text = self.script(&format!(
                "const e = document.querySelector({}); return e ? e.innerText ?? e.textContent : '';",
                json!(selector)
            ));
            let text = text.as_str().unwrap_or_default().to_owned();
            if text.contains(words) {
                return text;
            }
            assert!(Instant::now() < until, "{selector} does not say `{words}`: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn script(&self, script: &str) -> Value {
        self.tell("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Makes the window as high as its page.
    pub fn fit(&self, width: u32) {
        let fit = |height: &Value| {
            let params = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
            self.tell("/goog/cdp/execute", &json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": params }));
        };
        // A page is never lower than its window.
        fit(&json!(100));
        fit(&self.script("return document.documentElement.scrollHeight"));
    }

    /// Sees pages as somebody does who has chosen `dark` or `light`.
    pub fn prefer(&self, scheme: &str) {
        let chosen = json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": [{ "name": "prefers-color-scheme", "value": scheme }] } });
        self.tell("/goog/cdp/execute", &chosen);
    }

    /// A picture of the window, as PNG.
    pub fn picture(&self) -> Vec<u8> {
        let picture = self.ask("GET", &format!("{}/screenshot", self.session), &Value::Null);
        data_encoding::BASE64.decode(picture.as_str().unwrap().as_bytes()).unwrap()
    }
}

/// Keeps a picture of the documentation, where TACITA_PICTURES=write says so.
#[track_caller]
pub fn keep(browser: &Browser, name: &str) {
    let picture = browser.picture();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 5000, "{name} is no picture");
    if std::env::var("TACITA_PICTURES").is_ok_and(|word| word == "write") {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("{name}.png")), picture).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            self.ask("DELETE", &self.session.clone(), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
