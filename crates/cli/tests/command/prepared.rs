//! A sender's part that is prepared once and answers many clients.

use crate::common::{Ended, Home, Running, files, free_port, json, rows_of, tacita, text};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

/// An authority with a prepared part, and clients with key pairs of their own.
struct Service {
    home: Home,
    address: String,
    head: String,
    fingerprints: BTreeMap<&'static str, String>,
}

const CLIENTS: [&str; 3] = ["a", "b", "c"];
const LIST: &str = "id,name,note\n1,Ann,x\n2,Bob,y\n3,Cat,z\n4,Bob,w\n";

impl Service {
    /// `head` says what is revealed, `limits` are lines of `[limits]`.
    fn new(head: &str, limits: &str) -> Service {
        let home = Home::new();
        let identify = |name| (name, tacita(&["identity", "new", &home.at(name)]).well().stdout.trim().to_owned());
        let fingerprints = ["authority", "a", "b", "c"].map(identify).into();
        home.file("list.csv", LIST);
        home.file("client.csv", "name\nBob\nDan\n");
        let head = format!(
            "job = \"intersect\"\nid = \"service\"\n{head}\n[key]\ncolumns = [\"name\"]\n[limits]\nmax_rows = 10\n{limits}\n"
        );
        Service { home, address: format!("127.0.0.1:{}", free_port()), head, fingerprints }
    }

    fn payload(limits: &str) -> Service {
        let head = "reveal = \"payload\"\nreveal_to = [\"client\"]\ngives = { authority = [\"id\", \"note\"] }";
        Service::new(head, limits)
    }

    /// The job file for one client.
    fn job(&self, client: &str) -> String {
        let text = format!(
            "{}[parties.authority]\naddress = \"{}\"\nidentity = \"{}\"\n[parties.client]\nidentity = \"{}\"\n",
            self.head, self.address, self.fingerprints["authority"], self.fingerprints[client]
        );
        self.home.file(&format!("{client}.toml"), &text)
    }

    fn prepare(&self, more: &[&str]) -> Ended {
        let (job, input, work) = (self.job("a"), self.home.at("list.csv"), self.home.at("work"));
        tacita(&[&["prepare", &job, "--as", "authority", "--input", &input, "--work", &work], more].concat())
    }

    /// The authority, where no file may have a byte; what it says, at the end of which is why it ended.
    fn without_room(&self, command: &[&str]) -> String {
        let (job, work) = (self.home.at("a.toml"), self.home.at("work"));
        let command = [&[command[0], &job, "--as", "authority", "--work", &work], &command[1..]].concat();
        let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
        let ended = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_tacita")]).args(command).output();
        let ended = ended.unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{said}");
        said
    }

    /// The authority answers alone: what it says before a client comes.
    fn open(&self, more: &[&str]) -> Ended {
        self.authority("a", more).end()
    }

    fn authority(&self, client: &str, more: &[&str]) -> Running {
        let (job, work, identity) = (self.job(client), self.home.at("work"), self.home.at("authority"));
        let fixed = ["run", &job, "--as", "authority", "--work", &work, "--identity", &identity, "--timeout", "2s"];
        Running::start(&[&fixed, more].concat())
    }

    /// One client asks; how authority and client end. The client's rows are in `out.csv`.
    fn ask(&self, client: &str, more: &[&str]) -> [Ended; 2] {
        let authority = self.authority(client, more);
        let asked = self.client(client).end();
        [authority.end(), asked]
    }

    fn client(&self, client: &str) -> Running {
        let (job, input, output) =
            (self.home.at(&format!("{client}.toml")), self.home.at("client.csv"), self.home.at("out.csv"));
        let (identity, report) = (self.home.at(client), self.home.at("report.json"));
        Running::start(&[
            "run",
            &job,
            "--as",
            "client",
            "--input",
            &input,
            "--identity",
            &identity,
            "--force",
            "--output",
            &output,
            "--report",
            &report,
            "--timeout",
            "5s",
        ])
    }

    /// Checks what the authority is told of the clients that have asked.
    #[track_caller]
    fn asked(&self, told: &str) {
        let said = self.open(&[]).stderr;
        assert!(said.contains(&format!("work: {told}; no more than")), "{said}");
    }

    /// The directory of the part, to be put back.
    fn keep(&self, name: &str) -> String {
        let kept = self.home.at(name);
        std::fs::create_dir(&kept).unwrap();
        for file in files(&self.home.at("work")) {
            std::fs::copy(self.home.at(&format!("work/{file}")), format!("{kept}/{file}")).unwrap();
        }
        kept
    }

    /// Puts one file back.
    fn put_back(&self, kept: &str, file: &str) {
        std::fs::copy(format!("{kept}/{file}"), self.home.at(&format!("work/{file}"))).unwrap();
    }
}

#[test]
fn many_clients_get_what_a_plain_run_gives() {
    let payload = "name,authority.id,authority.note\nBob,2,y\nBob,4,w\n";
    for (service, expected, table) in [
        (Service::payload(""), payload, "out.csv"),
        (Service::new("reveal_to = [\"client\"]", ""), "name\nBob\n", "out.csv"),
        (Service::new("reveal_to = [\"client\"]\nlevel = \"bits192\"", ""), "name\nBob\n", "out.csv"),
    ] {
        service.prepare(&[]).well();
        // Three where columns are given: two show as well that one part answers several.
        let clients = if expected == payload { &CLIENTS[..] } else { &CLIENTS[..2] };
        for client in clients {
            for ended in service.ask(client, &[]) {
                ended.well();
            }
            assert_eq!(text(service.home.at(table)), expected);
        }
        let report = json(service.home.at("report.json"));
        let sentence = |text: &serde_json::Value| text.as_str().unwrap().contains("prepared part");
        assert!(report["learned"].as_array().unwrap().iter().any(sentence), "{report}");
        // What a run without preparation gives.
        let (job, out) = (service.job("a"), service.home.at("plain"));
        let inputs = [("authority", "list.csv"), ("client", "client.csv")]
            .map(|(name, file)| format!("{name}={}", service.home.at(file)));
        tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out]).well();
        assert_eq!(rows_of(format!("{out}/client.csv")), rows_of(service.home.at("out.csv")));
        let asked = clients.len();
        service.asked(&format!("{asked} clients asked so far, for {} keys in all", 2 * asked));
    }
}

#[test]
fn only_the_client_may_differ() {
    let mut service = Service::payload("");
    service.prepare(&[]).well();
    let list = service.home.at("list.csv");
    for ended in service.ask("b", &["--input", &list]) {
        ended.well();
    }
    let other = service.home.file("other.csv", &LIST.replace('z', "zz"));
    service.open(&["--input", &other]).failed(2, &["other data", "--rotate"]);
    let head = service.head.clone();
    for (from, to) in [("service", "services"), ("max_rows = 10", "max_rows = 11"), ("\"id\", \"note\"", "\"note\"")] {
        service.head = head.replace(from, to);
        service.open(&[]).failed(2, &["other terms", "--rotate"]);
    }
}

#[test]
fn quotas_are_charged_before_anything_is_answered() {
    let service = Service::payload("max_queries = 5\nmax_clients = 2\n");
    service.prepare(&[]).well();
    for client in ["a", "a", "b"] {
        for ended in service.ask(client, &[]) {
            ended.well();
        }
    }
    std::fs::remove_file(service.home.at("out.csv")).unwrap();
    for (client, word) in [("a", "limits.max_queries"), ("c", "limits.max_clients")] {
        let [authority, asked] = service.ask(client, &[]);
        authority.failed(2, &[word, "--rotate"]);
        asked.failed(3, &["authority"]);
        assert!(!files(&service.home.at("")).contains(&"out.csv".to_owned()));
    }
    service.asked("2 clients asked so far, for 6 keys in all");
    // A new key, and everything from the start.
    let epoch = || json(service.home.at("work/prepared.json"))["sizes"]["epoch"].clone();
    let before = (epoch(), std::fs::read(service.home.at("work/prepared.bin")).unwrap());
    service.prepare(&[]).failed(2, &["--rotate"]);
    assert_eq!(epoch(), before.0);
    service.prepare(&["--rotate"]).well();
    let after = (epoch(), std::fs::read(service.home.at("work/prepared.bin")).unwrap());
    assert!(before.0 != after.0 && before.1 != after.1);
    service.asked("0 clients asked so far, for 0 keys in all");
    for ended in service.ask("c", &[]) {
        ended.well();
    }
}

#[test]
fn what_cannot_be_prepared_is_refused() {
    let count = Service::new("reveal = \"count\"\nreveal_to = [\"client\"]", "");
    count.prepare(&[]).failed(2, &["count"]);
    let learner = Service::new("reveal_to = [\"client\", \"authority\"]", "");
    learner.prepare(&[]).failed(2, &["authority learns"]);
    for ruled_out in ["protocol = \"vole\"", "protocol = \"bloom\"", "security = \"malicious\""] {
        let other = Service::new(&format!("{ruled_out}\nreveal_to = [\"client\"]"), "");
        other.prepare(&[]).failed(2, &["prepared part", "ecdh", "security"]);
    }
    let mut open = Service::payload("");
    open.head = open.head.replace("max_rows = 10\n", "");
    open.prepare(&[]).failed(2, &["limits.max_rows"]);
    let mut several = Service::new("reveal_to = [\"client\"]", "");
    several.head = several.head.replace("columns = [\"name\"]", "any = [[\"name\"], [\"id\"]]");
    several.prepare(&[]).failed(2, &["--work", "key.any", "agree on one"]);
}

#[test]
fn a_part_of_another_version_is_refused_with_what_to_do() {
    let service = Service::payload("");
    service.prepare(&[]).well();
    let path = service.home.at("work/prepared.json");
    let good = text(&path);
    assert!(good.contains("\"tacita_prepared\": 3"), "{good}");
    for (version, which) in [("2", "an older"), ("4", "a newer")] {
        std::fs::write(&path, good.replace("\"tacita_prepared\": 3", &format!("\"tacita_prepared\": {version}")))
            .unwrap();
        service.open(&[]).failed(2, &["work", &format!("prepared by {which} version"), "tacita prepare --rotate"]);
    }
    service.prepare(&["--rotate"]).well();
    for ended in service.ask("a", &[]) {
        ended.well();
    }
}

/// Each file with a flipped bit and in one other form, and two of them as links.
#[test]
fn damaged_parts_are_one_clear_line() {
    damaged_parts_are_refused(false);
}

#[test]
#[ignore = "slow: each file in each form"]
fn all_damaged_parts_are_one_clear_line() {
    damaged_parts_are_refused(true);
}

fn damaged_parts_are_refused(all: bool) {
    let service = Service::payload("");
    service.open(&[]).failed(2, &["tacita prepare"]);
    service.prepare(&[]).well();
    for (place, name) in ["prepared.bin", "prepared.json", "clients.sealed", "clients.mark"].into_iter().enumerate() {
        let path = service.home.at(&format!("work/{name}"));
        let good = std::fs::read(&path).unwrap();
        let mut flipped = good.clone();
        flipped[good.len() / 2] ^= 0x80;
        for (form, bad) in [&flipped[..], &good[..good.len() / 2], b""].into_iter().enumerate() {
            if all || form == 0 || form == 1 + place % 2 {
                std::fs::write(&path, bad).unwrap();
                service.open(&[]).failed(2, &["damaged", "--rotate"]);
            }
        }
        if !all && ["prepared.json", "clients.sealed"].contains(&name) {
            std::fs::write(&path, &good).unwrap();
            continue;
        }
        // A link is refused even if it leads to what should be there.
        std::fs::remove_file(&path).unwrap();
        let elsewhere = service.home.at("elsewhere");
        std::fs::write(&elsewhere, &good).unwrap();
        std::fs::set_permissions(&elsewhere, Permissions::from_mode(0o600)).unwrap();
        symlink(&elsewhere, &path).unwrap();
        service.open(&[]).failed(2, &[name, "is a link"]);
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(&elsewhere, &path).unwrap();
    }
    service.asked("0 clients asked so far, for 0 keys in all");
}

#[test]
fn an_earlier_ledger_is_not_taken_for_the_last_one() {
    let service = Service::payload("max_queries = 6\n");
    service.prepare(&[]).well();
    let fresh = service.keep("fresh");
    service.ask("a", &[]).into_iter().for_each(|ended| drop(ended.well()));
    let one = service.keep("one");
    service.ask("a", &[]).into_iter().for_each(|ended| drop(ended.well()));
    let two = service.keep("two");
    // Quotas that a client has used up come back with no file of an earlier time, nor with none.
    for kept in [&fresh, &one] {
        service.put_back(kept, "clients.sealed");
        let [authority, asked] = service.ask("a", &[]);
        authority.failed(2, &["clients.sealed", "an earlier state", "--rotate"]);
        asked.failed(3, &[]);
        service.put_back(&two, "clients.sealed");
    }
    for file in ["clients.sealed", "clients.mark"] {
        std::fs::remove_file(service.home.at(&format!("work/{file}"))).unwrap();
        service.open(&[]).failed(2, &[file, "cannot read", "--rotate"]);
        service.put_back(&two, file);
    }
    service.asked("1 client asked so far, for 4 keys in all");
    // The ledger of another part is none of this one's, whose quotas are fresh.
    service.prepare(&["--rotate"]).well();
    let rotated = service.keep("rotated");
    for file in ["clients.sealed", "clients.mark"] {
        service.put_back(&two, file);
        service.open(&[]).failed(2, &[file, "of another part", "--rotate"]);
        service.put_back(&rotated, file);
    }
    service.asked("0 clients asked so far, for 0 keys in all");
}

#[test]
fn a_full_disk_is_told_with_what_to_do() {
    let service = Service::payload("");
    let full = |said: String, file: &str| {
        let last = said.lines().last().unwrap_or_default();
        let words = [file, ": the disk is full", "make room, then run the command again"];
        assert!(words.iter().all(|word| last.contains(word)) && !last.contains("--resume"), "{said}");
    };
    service.job("a");
    full(service.without_room(&["prepare", "--input", &service.home.at("list.csv")]), "work/clients.sealed.part");
    service.prepare(&[]).well();
    let client = service.client("a");
    let said = service.without_room(&["run", "--identity", &service.home.at("authority"), "--timeout", "5s"]);
    // No run goes on that is not in the ledger.
    full(said, "authority/ledger");
    client.end().failed(3, &["authority"]);
    service.asked("0 clients asked so far, for 0 keys in all");
}

#[test]
fn directories_of_others_and_parts_of_other_versions_are_refused() {
    let service = Service::payload("");
    service.prepare(&[]).well();
    let work = service.home.at("work");
    std::fs::set_permissions(&work, Permissions::from_mode(0o770)).unwrap();
    service.open(&[]).failed(2, &["/work: others can write", "chmod 700"]);
    service.prepare(&["--rotate"]).failed(2, &["/work: others can write", "chmod 700"]);
    std::fs::set_permissions(&work, Permissions::from_mode(0o700)).unwrap();
    let path = service.home.at("work/prepared.json");
    let earlier = text(&path).replace("\"tacita_prepared\": 3", "\"tacita_prepared\": 2");
    std::fs::write(&path, earlier).unwrap();
    service.open(&[]).failed(2, &["an older version", "--rotate"]);
    service.prepare(&["--rotate"]).well();
    service.asked("0 clients asked so far, for 0 keys in all");
}
