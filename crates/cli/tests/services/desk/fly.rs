//! An authority, desks, and a client for their pages.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::site::{Answer, Site, encoded};
use crate::common::{Home, Running, free_port, tacita};

/// Terms of the job without the parties; a line of limits follows.
pub const TERMS: &str = "job = \"intersect\"\nid = \"fly\"\nreveal = \"rows\"\nreveal_to = [\"airline\"]\n\
    [key]\ncolumns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date\"]\n[clients]\nallow = \"desks.txt\"\n";

pub const LIMITS: &str = "[limits]\npad_to = 200\ndaily_queries = 1000\nmax_clients = 5\n";

/// The list that tests begin with.
pub const LIST: &str =
    "name,dob\n\"BELLQUIST, Béryn\",1948-05-21\n\"O'TARRIN, Corvin\",2009-09-17\n\"ESTERVALE, Zdeněk\",1939-03-16\n";

/// A place for an authority and its desks.
pub struct Fly {
    pub home: Home,
    pub job: String,
}

/// A desk that runs, and its page.
pub struct Desk {
    pub running: Running,
    site: Site,
}

impl std::ops::Deref for Desk {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl Fly {
    pub fn new(terms: &str, limits: &str, list: &str) -> Fly {
        let home = Home::new();
        let authority = tacita(&["identity", "new", &home.at("authority")]).well().stdout;
        let mut desks = String::new();
        for name in ["gate-1", "gate-2"] {
            desks += &format!("{name} {}", tacita(&["identity", "new", &home.at(name)]).well().stdout);
        }
        home.file("desks.txt", &desks);
        home.file("list.csv", list);
        let port = free_port();
        let parties = format!(
            "[parties.authority]\naddress = \"127.0.0.1:{port}\"\nidentity = \"{}\"\n[parties.airline]\n",
            authority.trim()
        );
        let job = home.file("job.toml", &format!("{terms}{limits}{parties}"));
        Fly { home, job }
    }

    /// Starts the authority, and waits until it serves.
    pub fn serve(&self) -> Running {
        let mut running = self.serve_with(&["--input", &self.home.at("list.csv")]);
        running.until_it_says("serving ");
        running
    }

    pub fn serve_with(&self, more: &[&str]) -> Running {
        let (identity, state) = (self.home.at("authority"), self.home.at("state"));
        let fixed = ["serve", &self.job, "--as", "authority", "--identity", &identity, "--state", &state];
        Running::start(&[&fixed[..], more].concat())
    }

    /// Tells the authority something.
    #[track_caller]
    pub fn tell(&self, order: &[&str]) -> String {
        tacita(&[&["serve", "--state", &self.home.at("state")], order].concat()).well().stdout
    }

    /// Puts rows on the list, or takes them off.
    #[track_caller]
    pub fn change(&self, order: &str, rows: &str) -> String {
        let file = self.home.file("change.csv", &format!("name,dob\n{rows}"));
        self.tell(&[order, &file])
    }

    /// Starts a desk, and waits until it is connected.
    pub fn desk(&self, name: &str) -> Desk {
        let desk = self.desk_alone(name);
        desk.until(|standing| standing["connected"] == true);
        desk
    }

    /// Starts a desk.
    pub fn desk_alone(&self, name: &str) -> Desk {
        self.desk_at(name, None)
    }

    /// Starts a desk, whose page browsers open at an origin.
    pub fn desk_at(&self, name: &str, origin: Option<&str>) -> Desk {
        let (page, identity) = (free_port(), self.home.at(name));
        let (address, verdicts) = (format!("127.0.0.1:{page}"), self.home.at(&format!("{name}.jsonl")));
        let fixed = ["desk", &self.job, "--as", "airline", "--identity", &identity];
        let files = ["--page", &address, "--verdicts", &verdicts];
        let more = origin.map_or(vec![], |origin| vec!["--origin", origin]);
        let mut running = Running::start(&[&fixed[..], &files, &more].concat());
        let said = running.until_it_prints("token=");
        let (place, token) = said.trim().rsplit_once("/?token=").unwrap();
        assert_eq!(place, origin.unwrap_or(&format!("http://{address}")));
        Desk { running, site: Site::enter_at(page, token, origin) }
    }
}

impl Desk {
    /// Sends the form of one row; what the page says of it then.
    pub fn check(&self, name: &str, born: &str, reference: &str) -> String {
        let page = self.page_after(name, born, reference);
        let verdict = page.split("id=\"verdict\">").nth(1).unwrap().split("</div>").next().unwrap();
        verdict.to_owned()
    }

    /// Sends the form of one row; the whole page then.
    pub fn page_after(&self, name: &str, born: &str, reference: &str) -> String {
        let form = [("form", self.form.as_str()), ("field-name", name), ("field-dob", born), ("reference", reference)];
        let form: Vec<_> = form.iter().map(|(field, value)| format!("{field}={}", encoded(value))).collect();
        let answer = self.post("/check", "application/x-www-form-urlencoded", form.join("&").as_bytes());
        assert_eq!(answer.status, 303, "{answer:?}");
        let place = answer.headers.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned();
        self.get(&place).body
    }

    /// Uploads a table, and waits for the end of its batch: its page, and the verdicts.
    pub fn batch(&self, table: &str) -> (String, String) {
        self.ended(self.upload(table))
    }

    /// Waits for the end of a batch that was begun: its page, and the verdicts.
    pub fn ended(&self, answer: Answer) -> (String, String) {
        assert_eq!(answer.status, 303, "{answer:?}");
        let place = answer.headers.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned();
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let page = self.get(&place).body;
            if page.contains("Done: ") {
                return (page, self.get(&format!("{place}/verdicts.csv")).body);
            }
            assert!(page.contains("http-equiv=\"refresh\"") && Instant::now() < until, "{page}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn upload(&self, table: &str) -> Answer {
        // A column of references that is not there is refused.
        let reference = if table.lines().next().is_some_and(|header| header.split(',').any(|name| name == "ref")) {
            "ref"
        } else {
            ""
        };
        self.upload_as(table.as_bytes(), &[("reference", reference)])
    }

    /// Uploads a table with what its sender says of it.
    pub fn upload_as(&self, table: &[u8], choices: &[(&str, &str)]) -> Answer {
        let part = |name: &str, file: &str, content: &[u8]| {
            let head = format!("--bound\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
            [head.as_bytes(), content, b"\r\n"].concat()
        };
        let mut body = part("form", "", self.form.as_bytes());
        choices.iter().for_each(|(name, value)| body.extend(part(name, "", value.as_bytes())));
        body.extend(part("table", "; filename=\"t.csv\"", table));
        body.extend(b"--bound--\r\n");
        self.post("/batch", "multipart/form-data; boundary=bound", &body)
    }

    /// Status of the connection.
    pub fn standing(&self) -> Value {
        serde_json::from_str(&self.get("/standing").body).unwrap()
    }

    #[track_caller]
    pub fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let standing = self.standing();
            if wanted(&standing) {
                return standing;
            }
            assert!(Instant::now() < until, "{standing}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the number of keys that may still be queried, as the page says.
    pub fn left(&self) -> u64 {
        let text = self.until(|standing| standing["connected"] == true)["text"].as_str().unwrap().to_owned();
        let number = text.split(". ").last().unwrap().split(' ').next().unwrap().replace(',', "");
        number.parse().unwrap_or_else(|_| panic!("{text}"))
    }
}
