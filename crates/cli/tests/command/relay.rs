//! Parties that meet at a relay, each a process of its own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::{Home, NAMES, Pair, Running, free_port, tacita, text};
use rustix::process::Signal;
use tacita_node::transport::faults::{ByteFault, relay as faulty};

const ROWS: &str =
    "job = \"intersect\"\nid = \"t\"\nprotocol = \"vole\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"name\"]\n";
const PARTIES: &str = "[parties.hospital]\nidentity = \"HOSPITAL\"\n[parties.insurer]\nidentity = \"INSURER\"\n";

/// A relay that is not running yet, and the parties of a job that meet there.
struct Meeting {
    pair: Pair,
    address: String,
    pin: String,
}

impl Meeting {
    fn new() -> Meeting {
        Meeting::of(ROWS, &format!("127.0.0.1:{}", free_port()), None)
    }

    /// With a relay that has an identity, or a new one.
    fn of(rows: &str, address: &str, relay: Option<(&str, &str)>) -> Meeting {
        let home = Home::new();
        let pin = match relay {
            Some((_, pin)) => pin.to_owned(),
            None => tacita(&["identity", "new", &home.at("relay")]).well().stdout.trim().to_owned(),
        };
        let pair = Pair::new(&format!("{rows}{}{PARTIES}", at(address, &pin)));
        let kept = relay.map_or_else(|| home.at("relay"), |(directory, _)| directory.to_owned());
        copy(&kept, &pair.home.at("relay"));
        pair.table("hospital", &rows_of(1..1001));
        pair.table("insurer", &rows_of(900..2001));
        Meeting { pair, address: address.to_owned(), pin }
    }

    fn relay(&self) -> Running {
        self.relay_of(&[&self.pair.home.at("hospital.toml")])
    }

    fn relay_of(&self, jobs: &[&str]) -> Running {
        let identity = self.pair.home.at("relay");
        Running::start(&[&["relay", "--listen", &self.address, "--identity", &identity], jobs].concat())
    }

    fn start(&self, name: &str) -> Running {
        self.pair.start(name, &["--timeout", "20s"])
    }

    /// Gives a party a job file of its own, with another relay or terms.
    fn change(&self, name: &str, from: &str, to: &str) {
        let path = self.pair.home.at(&format!("{name}.toml"));
        let changed = text(&path).replace(from, to);
        std::fs::write(path, changed).unwrap();
    }

    /// Checks that the hospital has its rows.
    #[track_caller]
    fn has_met(&self) {
        let rows = text(self.pair.out("hospital", "rows.csv"));
        assert_eq!(rows.lines().count(), 1 + 101, "{rows}");
    }

    /// Has both meet, as they do when nothing is wrong.
    #[track_caller]
    fn meets(&self) {
        NAMES.map(|name| self.start(name)).into_iter().for_each(|party| drop(party.end().well()));
        self.has_met();
    }

    #[track_caller]
    fn has_nothing(&self) {
        assert!(!std::path::Path::new(&self.pair.out("hospital", "rows.csv")).exists());
    }
}

fn at(address: &str, pin: &str) -> String {
    format!("[relay]\naddress = \"{address}\"\nidentity = \"{pin}\"\n")
}

fn rows_of(numbers: std::ops::Range<u32>) -> String {
    numbers.fold("name\n".to_owned(), |text, number| text + &format!("person {number}\n"))
}

fn copy(from: &str, to: &str) {
    tacita(&["identity", "new", to]).well();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), std::path::Path::new(to).join(entry.file_name())).unwrap();
    }
}

fn until_listening(relay: &mut Running) {
    relay.until_it_says("serving job");
}

#[test]
fn two_parties_meet_in_every_order() {
    for order in [["relay", "hospital", "insurer"], ["hospital", "insurer", "relay"], ["insurer", "relay", "hospital"]]
    {
        let meeting = Meeting::new();
        let (mut relay, mut parties) = (None, Vec::new());
        for name in order {
            match name {
                "relay" => relay = Some(meeting.relay()),
                name => parties.push(meeting.start(name)),
            }
            std::thread::sleep(Duration::from_millis(400));
        }
        parties.into_iter().for_each(|party| drop(party.end().well()));
        meeting.has_met();
        let mut relay = relay.unwrap();
        relay.until_it_says("are done: ");
        let ended = relay.stop().well();
        for words in
            ["t: hospital and insurer are connected", "kB from hospital", "relay stopped: 0 connections cut off"]
        {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("person"));
    }
}

#[test]
fn two_jobs_meet_at_once_and_a_pair_again() {
    let one = Meeting::new();
    let kept = one.pair.home.at("relay");
    let two = Meeting::of(&ROWS.replace("\"t\"", "\"u\""), &one.address, Some((&kept, &one.pin)));
    let mut relay = one.relay_of(&[&one.pair.home.at("hospital.toml"), &two.pair.home.at("insurer.toml")]);
    until_listening(&mut relay);
    for _ in 0..2 {
        let parties: Vec<_> = [&one, &two].iter().flat_map(|job| NAMES.map(|name| job.start(name))).collect();
        parties.into_iter().for_each(|party| drop(party.end().well()));
        one.has_met();
        two.has_met();
    }
    // The same one twice is one job too many.
    let twice = one.relay_of(&[&one.pair.home.at("hospital.toml"), &one.pair.home.at("insurer.toml")]).end();
    twice.failed(2, &["insurer.toml", "is the same job as", "hospital.toml"]);
}

/// Three parties, each two of them through the relay; and nobody has an address.
#[test]
fn several_parties_meet() {
    let home = Home::new();
    let new = |name: &str| tacita(&["identity", "new", &home.at(name)]).well().stdout.trim().to_owned();
    let address = format!("127.0.0.1:{}", free_port());
    let terms = "job = \"dot\"\nid = \"t\"\ncolumn = \"x\"\nreveal_to = [\"c1\", \"c2\"]\n";
    let parties =
        [("s", "role = \"server\""), ("c1", "role = \"client\"\nslice = 1"), ("c2", "role = \"client\"\nslice = 2")];
    let parties = parties.map(|(name, role)| format!("[parties.{name}]\nidentity = \"{}\"\n{role}\n", new(name)));
    let job = home.file("job.toml", &format!("{terms}{}{}", at(&address, &new("relay")), parties.concat()));
    let start = |(name, rows): (&str, &str)| {
        let (input, identity) = (home.file(&format!("{name}.csv"), rows), home.at(name));
        let fixed = ["run", &job, "--as", name, "--input", &input, "--identity", &identity, "--timeout", "20s"];
        Running::start(&fixed)
    };
    let running = [("c2", "x\n1\n1\n"), ("s", "x\n1\n1\n1\n1\n0\n"), ("c1", "x\n1\n0\n1\n")].map(start);
    let relay = Running::start(&["relay", "--listen", &address, "--identity", &home.at("relay"), &job]);
    let [c2, s, c1] = running.map(|party| party.end().well().stdout);
    assert!(c1.contains("value 3") && c2.contains("value 3") && s.is_empty(), "{c1} {c2} {s}");
    let said = relay.stop().stderr;
    for pair in ["s and c1", "s and c2", "c1 and c2"] {
        assert!(said.contains(&format!("t: {pair} are done: ")), "{pair}: {said}");
    }
}

#[test]
fn a_relay_that_is_not_there_and_a_peer_that_is_not_are_told_apart() {
    let meeting = Meeting::new();
    let alone = || meeting.pair.start("hospital", &["--timeout", "2s"]).end();
    let ended = alone();
    ended.failed(3, &[&format!("the relay ({})", meeting.address), "did not answer within 2 s", "connection refused"]);
    let mut relay = meeting.relay();
    until_listening(&mut relay);
    alone().failed(3, &["insurer: did not come to the relay", "within 2 s", "[relay]"]);
    relay.until_it_says("hospital has left");
}

#[test]
fn who_is_somebody_else_or_has_another_job_is_told() {
    let meeting = Meeting::new();
    let mut relay = meeting.relay();
    until_listening(&mut relay);
    // A relay with another identity.
    let other = tacita(&["identity", "new", &meeting.pair.home.at("other")]).well().stdout;
    meeting.change("hospital", &meeting.pin, other.trim());
    let ended = meeting.start("hospital").end();
    ended.failed(4, &[&format!("the relay ({})", meeting.address), "it presents", "tacita identity show"]);
    meeting.change("hospital", other.trim(), &meeting.pin);
    // Another job file.
    meeting.change("insurer", "id = \"t\"", "id = \"v\"");
    let ended = meeting.start("insurer").end();
    ended.failed(5, &["does not know this job (agreement ", "the same file"]);
    assert!(ended.took < Duration::from_secs(5));
    meeting.change("insurer", "id = \"v\"", "id = \"t\"");
    relay.until_it_says("insurer of job t asks for a job that is not served here");
    // Somebody whom the relay does not know at all.
    let stranger = Meeting::of(ROWS, &meeting.address, Some((&meeting.pair.home.at("relay"), &meeting.pin)));
    let ended = stranger.start("insurer").end();
    ended.failed(4, &["the relay (", "it refused our identity", "SHA256:"]);
    relay.until_it_says("refused a connection from 127.0.0.1");
    // The others meet all the same.
    meeting.meets();
}

/// Whoever comes and says nothing, or nonsense, keeps nobody from meeting.
#[test]
fn strangers_that_stall_or_talk_nonsense_block_nobody() {
    let meeting = Meeting::new();
    let mut relay = meeting.relay();
    until_listening(&mut relay);
    let mut stalled: Vec<_> = (0..400).map(|_| TcpStream::connect(&meeting.address).unwrap()).collect();
    stalled.iter_mut().skip(200).for_each(|socket| drop(socket.write_all(b"\x16\x03\x01\x02\x00\x01")));
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x16\x03\x01\x00\x05hello", &[0xff; 3000]] {
        let mut socket = TcpStream::connect(&meeting.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.write_all(nonsense).unwrap();
        let mut answer = Vec::new();
        // It is hung up on, perhaps with an alert, perhaps with bytes unread.
        match socket.read_to_end(&mut answer) {
            Ok(_) => assert!(answer.len() < 100, "{answer:?}"),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
    let started = Instant::now();
    meeting.meets();
    assert!(started.elapsed() < Duration::from_secs(10));
    drop(stalled);
}

/// Two that are connected, of which the hospital has not loaded its table yet.
fn connected(meeting: &Meeting) -> (Running, [Running; 2]) {
    let mut relay = meeting.relay();
    until_listening(&mut relay);
    let files = ["--input", "-", "--force", "--output", &meeting.pair.out("hospital", "rows.csv")];
    let mut hospital = meeting.pair.start_on("hospital", &files, &[]);
    let mut insurer = meeting.start("insurer");
    hospital.until_it_says("connected to insurer");
    insurer.until_it_says("connected to hospital");
    (relay, [hospital, insurer])
}

#[test]
fn a_relay_that_dies_is_named_by_both() {
    let meeting = Meeting::new();
    let (relay, [mut hospital, insurer]) = connected(&meeting);
    let killed = Instant::now();
    relay.signal(Signal::KILL);
    let relay = relay.end();
    assert_eq!(relay.code, -1);
    hospital.until_it_says("error: ");
    for ended in [hospital.end(), insurer.end()] {
        ended.failed(3, &[&format!("the relay ({}): does not answer", meeting.address), "run again"]);
    }
    assert!(killed.elapsed() < Duration::from_secs(5));
    meeting.has_nothing();
    // One that is asked to end says what it cuts off.
    let (relay, [mut hospital, insurer]) = connected(&meeting);
    let ended = relay.stop();
    assert!(
        ended.code == 130 && ended.stderr.contains("1 connection cut off, 0 waiting parties turned away"),
        "{}",
        ended.stderr
    );
    hospital.until_it_says("error: ");
    [hospital.end(), insurer.end()].iter().for_each(|ended| drop(ended.failed(3, &["the relay ("])));
}

/// One that hangs, too: connections to it are still taken by the system.
#[test]
fn a_relay_that_hangs_is_named_by_both() {
    let meeting = Meeting::new();
    let (relay, [mut hospital, insurer]) = connected(&meeting);
    relay.signal(Signal::STOP);
    hospital.until_it_says("error: ");
    for ended in [hospital.end(), insurer.end()] {
        ended.failed(3, &["the relay (", "does not answer"]);
    }
    relay.signal(Signal::KILL);
}

#[test]
fn a_party_that_dies_is_named_by_the_other() {
    let meeting = Meeting::new();
    let (mut relay, [mut hospital, insurer]) = connected(&meeting);
    insurer.signal(Signal::KILL);
    hospital.until_it_says("error: ");
    hospital.end().failed(3, &["insurer: went away"]);
    relay.until_it_says("are done: ");
    meeting.has_nothing();
    drop(insurer);
    // One that dies while it waits is not met by the next one.
    let hospital = meeting.start("hospital");
    std::thread::sleep(Duration::from_millis(500));
    hospital.signal(Signal::KILL);
    drop(hospital.end());
    meeting.meets();
}

/// A second run of the same party takes the place of the first, which says so.
#[test]
fn a_party_that_comes_twice_is_met_once() {
    let meeting = Meeting::new();
    let mut relay = meeting.relay();
    until_listening(&mut relay);
    let mut first = meeting.start("insurer");
    first.until_it_says("waiting for hospital");
    let mut second = meeting.start("insurer");
    second.until_it_says("waiting for hospital");
    first.end().failed(3, &["the relay (", "another run with this identity", "start only one"]);
    meeting.start("hospital").end().well();
    second.end().well();
    meeting.has_met();
}

/// Checks that a change by the relay to the data it carries is noticed, and that nobody has a result.
#[test]
fn a_relay_that_changes_a_byte_is_noticed() {
    let meeting = Meeting::new();
    let mut relay = meeting.relay();
    until_listening(&mut relay);
    let own = meeting.address.clone();
    let mut address = own.clone();
    // The first is still of the words with the relay, the second of the handshake end to end, the rest of messages.
    for (forth, back, met) in [
        (ByteFault::Flip(200), ByteFault::None, false),
        (ByteFault::Flip(2500), ByteFault::None, false),
        (ByteFault::Flip(5000), ByteFault::None, true),
        (ByteFault::None, ByteFault::Flip(5000), true),
        (ByteFault::None, ByteFault::Flip(30_000), true),
    ] {
        let tampering = faulty(own.parse().unwrap(), forth, back).unwrap().to_string();
        meeting.change("insurer", &address, &tampering);
        address = tampering;
        let both = NAMES.map(|name| meeting.pair.start(name, &["--timeout", "3s"])).map(Running::end);
        for ended in both {
            // Nobody is accused: once the two have met, it is the connection between them that has failed.
            assert!(
                ended.code == 3 || (ended.code == 4 && !met),
                "{forth:?} {back:?}: {} {}",
                ended.code,
                ended.stderr
            );
            assert!(
                !ended.failed(ended.code, &[]).contains("broke the protocol"),
                "{forth:?} {back:?}: {}",
                ended.stderr
            );
        }
        meeting.has_nothing();
    }
    meeting.change("insurer", &address, &own);
    meeting.meets();
}

#[test]
fn doctors_meet_there_and_see_a_relay_that_is_not_right() {
    let meeting = Meeting::new();
    let doctor = |name: &str, more: &[&str]| {
        let (job, identity) = (meeting.pair.home.at(&format!("{name}.toml")), meeting.pair.home.at(name));
        Running::start(&[&["doctor", &job, "--as", name, "--identity", &identity], more].concat())
    };
    let absent = doctor("hospital", &[]).end();
    assert!(absent.code == 2 && absent.stdout.contains("MEND  relay      the relay ("), "{}", absent.stdout);
    let mut relay = meeting.relay();
    until_listening(&mut relay);
    for ended in NAMES.map(|name| doctor(name, &["--meet", "--timeout", "10s"])).map(Running::end) {
        let said = ended.well().stdout;
        for words in ["knows the job", "ok    meet       connected with", "ok    terms", "Nothing to mend."] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
    // A run that is met is told, and goes on waiting.
    let mut hospital = meeting.start("hospital");
    hospital.until_it_says("waiting for insurer");
    let seen = doctor("insurer", &["--meet"]).end().well().stdout;
    assert!(seen.contains("note  meet       hospital can be reached"), "{seen}");
    hospital.until_it_says("insurer's doctor was here");
    meeting.start("insurer").end().well();
    hospital.end().well();
    meeting.has_met();
    // Another job file, and one that lacks what a relay takes.
    meeting.change("insurer", "id = \"t\"", "id = \"v\"");
    let other = doctor("insurer", &[]).end();
    assert!(other.code == 2 && other.stdout.contains("does not know this job"), "{}", other.stdout);
    meeting.change("insurer", &format!("identity = \"{}\"", meeting.pin), "");
    let lacking = doctor("insurer", &[]).end();
    assert!(lacking.code == 2 && lacking.stdout.contains("relay.identity is missing"), "{}", lacking.stdout);
}

#[test]
fn what_cannot_be_is_refused() {
    let meeting = Meeting::new();
    let home = &meeting.pair.home;
    let (job, own) = (home.at("hospital.toml"), home.at("relay"));
    let relay = |job: &str, identity: &str| tacita(&["relay", "--listen", "127.0.0.1:0", "--identity", identity, job]);
    let changed = |from: &str, to: &str| home.file("changed.toml", &text(&job).replace(from, to));
    let insurer = meeting.pair.fingerprint("insurer");
    relay(&changed(&format!("identity = \"{insurer}\""), ""), &own)
        .failed(2, &["changed.toml", "parties.insurer.identity is missing"]);
    relay(&job, &home.at("insurer")).failed(2, &["relay.identity is SHA256:", "use the right --identity"]);
    relay(&changed(&meeting.pin, insurer), &own).failed(2, &["relay.identity is also insurer's"]);
    relay(&changed("127.0.0.1:", "x"), &own.replace("relay", "nobody")).failed(2, &["identity.key"]);
    tacita(&["relay", "--listen", "nowhere", "--identity", &own, &job]).failed(2, &["no address to listen on"]);
    tacita(&["relay", "--listen", "127.0.0.1:0", "--identity", &own]).failed(2, &["`tacita relay --help`"]);
    let run = |more: &[&str]| {
        let at = home.at("changed.toml");
        let fixed =
            ["run", &at, "--as", "insurer", "--input", &home.at("insurer.csv"), "--identity", &home.at("insurer")];
        tacita(&[&fixed[..], more].concat())
    };
    changed("", "");
    run(&["--listen", ":7400"]).failed(2, &["--listen: the job has a relay", "leave --listen out"]);
    changed(&format!("address = \"{}\"", meeting.address), "");
    run(&[]).failed(2, &["relay.address is missing"]);
    changed(&meeting.address, "nowhere");
    run(&[]).failed(2, &["`nowhere` is no address", "HOST:PORT"]);
    changed("[relay]", "[relay]\nport = 1");
    run(&[]).failed(2, &["port"]);
    // On this machine alone nobody needs it.
    changed(&meeting.address, "nowhere");
    let inputs = NAMES.map(|name| format!("{name}={}", home.at(&format!("{name}.csv"))));
    let planned =
        tacita(&["plan", &home.at("changed.toml"), "--rows", "hospital=9", "--rows", "insurer=9"]).well().stdout;
    assert!(planned.contains("the relay learns who meets whom"), "{planned}");
    let done = tacita(&["simulate", &home.at("changed.toml"), "--input", &inputs[0], "--input", &inputs[1]]).well();
    assert!(!done.stderr.contains("relay") && done.stdout.contains("rows 101"), "{} {}", done.stdout, done.stderr);
}
