//! Nothing of a party's table is in what travels, in what is logged, or in what is reported.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::common::{NAMES, Pair, Running, text};

const TERMS: &str = "job = \"intersect\"\nid = \"secrets\"\nreveal = \"payload\"\nreveal_to = [\"hospital\", \"insurer\"]\n\
                     gives = { hospital = [\"ward\"], insurer = [\"payer\"] }\n[key]\ncolumns = [\"name\"]\n\
                     normalize = [\"name\"]\n";

/// Texts that stand in both tables' keys, in one's, and in values; each also as the key that is made of it.
const SECRETS: [&str; 7] =
    ["Wintergreen", "wintergreen", "Oleander", "oleander", "Foxglove", "WARD-XYZZY", "PAYER-PLUGH"];

fn pair(terms: &str) -> Pair {
    let pair = Pair::new(terms);
    let fill = |word: &str| (0..200).map(|number| format!("{word} {number},\"x\"\n")).collect::<String>();
    let shared = fill("Wintergreen");
    pair.table("hospital", &format!("name,ward\nOleander Rose,WARD-XYZZY\n{shared}"));
    pair.table("insurer", &format!("name,payer\nFoxglove May,PAYER-PLUGH\nRose Oleander,PAYER-PLUGH\n{shared}"));
    pair
}

#[track_caller]
fn assert_hidden(what: &str, bytes: &[u8]) {
    assert_without(&SECRETS, what, bytes);
}

#[track_caller]
fn assert_without(secrets: &[&str], what: &str, bytes: &[u8]) {
    for secret in secrets {
        assert!(!contains(bytes, secret), "{what} shows {secret}");
    }
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// A relay in front of `target` that keeps all that it carries, both ways; where to dial it.
fn recording(target: String, record: Arc<Mutex<Vec<u8>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for dialer in listener.incoming() {
            let dialer = dialer.unwrap();
            // Until the listener is there.
            let Ok(server) = TcpStream::connect(&target) else { continue };
            for (mut from, mut to) in [(&dialer, &server), (&server, &dialer)]
                .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
            {
                let record = record.clone();
                std::thread::spawn(move || {
                    let mut buffer = [0; 1 << 14];
                    while let Ok(count @ 1..) = from.read(&mut buffer) {
                        record.lock().unwrap().extend_from_slice(&buffer[..count]);
                        if to.write_all(&buffer[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}

#[test]
fn no_key_or_value_is_in_what_travels_or_is_said() {
    let pair = pair(TERMS);
    let record = Arc::<Mutex<Vec<u8>>>::default();
    let relay = recording(pair.address.clone(), record.clone());
    let job = text(pair.home.at("insurer.toml")).replace(&pair.address, &relay);
    pair.home.file("insurer.toml", &job);
    let mut hospital = pair.start("hospital", &[]);
    hospital.until_it_says("waiting for");
    let insurer = pair.start("insurer", &["--log", "json"]);
    let ended = [hospital, insurer].map(|running| running.end().well());

    // The job has found and given what is looked for below: the search would see it.
    for name in NAMES {
        let result = text(pair.out(name, "rows.csv"));
        assert_eq!(result.lines().count(), 202);
        assert!(["Oleander", "WARD-XYZZY", "PAYER-PLUGH"].iter().any(|word| contains(result.as_bytes(), word)));
        assert!(contains(text(pair.home.at(&format!("{name}.csv"))).as_bytes(), "Wintergreen"));
    }
    let travelled = record.lock().unwrap().clone();
    assert!(travelled.len() > 2 * 200 * 32, "{} bytes were recorded", travelled.len());
    assert_hidden("the network", &travelled);
    for (name, ended) in NAMES.into_iter().zip(&ended) {
        assert!(ended.stderr.contains("agreed with"));
        assert_hidden("standard error", ended.stderr.as_bytes());
        assert_hidden("standard output", ended.stdout.as_bytes());
        assert_hidden("the report", text(pair.out(name, "report.json")).as_bytes());
    }
}

const RULES: &str = "job = \"rules\"\nid = \"secrets\"\nreveal_to = [\"hospital\", \"insurer\"]\nmin_support = 50\n\
                     min_confidence = 0.1\nrow_id = \"name\"\nitems = { column = \"items\", separator = \";\" }\n\
                     [key]\ncolumns = [\"name\"]\nnormalize = [\"name\"]\n";

/// Texts in ids, as written and as the key that is made of them; and items that are too rare for the result.
const RARE: [&str; 8] =
    ["Wintergreen", "wintergreen", "Oleander", "oleander", "Foxglove", "Nightshade", "Hemlock", "Mandrake"];
/// Items that the result shows, and nothing else.
const FREQUENT: [&str; 3] = ["Sourdough", "Rye", "Liniment"];

/// Baskets of 200 persons whom both know, and of one whom only one knows.
fn baskets(terms: &str) -> Pair {
    let pair = Pair::new(terms);
    let fill = |items: fn(u32) -> &'static str| -> String {
        (0..200).map(|number| format!("Wintergreen {number},{}\n", items(number))).collect()
    };
    let hospital = fill(|number| match number {
        0..40 => "Sourdough;Nightshade",
        40..150 => "Sourdough;Rye",
        _ => "Rye",
    });
    let insurer = fill(|number| match number {
        0..3 => "Liniment;Hemlock;Mandrake",
        3..120 => "Liniment",
        _ => "",
    });
    pair.table("hospital", &format!("name,items\nOleander Rose,Nightshade\n{hospital}"));
    pair.table("insurer", &format!("name,items\nFoxglove May,Mandrake\n{insurer}"));
    pair
}

#[test]
fn no_id_or_rare_item_is_in_what_rules_leave_and_no_item_is_in_what_they_say() {
    let pair = baskets(RULES);
    let page = pair.home.at("page.html");
    let hospital = pair.start("hospital", &["--html", &page]);
    let insurer = pair.start("insurer", &["--log", "json"]);
    let ended = [hospital, insurer].map(|running| running.end().well());
    for (name, ended) in NAMES.into_iter().zip(&ended) {
        // The job has found what is frequent: the search would see the rest.
        let (rules, itemsets) = (text(pair.out(name, "rows.csv")), text(pair.out(name, "rows.itemsets.csv")));
        for item in FREQUENT {
            assert!(contains(rules.as_bytes(), item) && contains(itemsets.as_bytes(), item), "{itemsets}");
        }
        assert!(contains(text(pair.home.at(&format!("{name}.csv"))).as_bytes(), "Wintergreen"));
        assert_without(&RARE, "the rules", rules.as_bytes());
        assert_without(&RARE, "the itemsets", itemsets.as_bytes());
        assert!(ended.stderr.contains("agreed with"));
        for secrets in [&RARE[..], &FREQUENT[..]] {
            assert_without(secrets, "standard error", ended.stderr.as_bytes());
            assert_without(secrets, "standard output", ended.stdout.as_bytes());
            assert_without(secrets, "the report", text(pair.out(name, "report.json")).as_bytes());
        }
    }
    let page = text(page);
    assert!(FREQUENT.iter().all(|item| contains(page.as_bytes(), item)));
    assert_without(&RARE, "the page", page.as_bytes());
}

#[test]
fn errors_of_failed_rules_show_no_id_and_no_item() {
    let without = |ended: &crate::common::Ended| {
        for secrets in [&RARE[..], &FREQUENT[..]] {
            assert_without(secrets, "standard error", ended.stderr.as_bytes());
            assert_without(secrets, "standard output", ended.stdout.as_bytes());
        }
    };
    // In the middle of the run, and before it.
    for (terms, words) in [
        (RULES.replace("min_support", "max_candidates = 1\nmin_support"), "max_candidates is 1"),
        (RULES.replace("[key]", "[limits]\nmax_rows = 100\n[key]"), "max_rows is 100"),
    ] {
        let pair = baskets(&terms);
        let running = NAMES.map(|name| pair.start(name, &["--log", "json", "--timeout", "5s"]));
        let ended = running.map(Running::end);
        // One of them may hear of it first.
        assert!(ended.iter().any(|ended| ended.code == 2 && ended.stderr.contains(words)), "{ended:?}");
        for ended in &ended {
            assert_ne!(ended.code, 0);
            without(ended);
        }
    }
    // Tables that cannot be read: an item that is none, and an id that is there twice.
    for (line, words) in [("Wintergreen 7,Nightshade\n", "same key"), ("Oleander,Hemlock|Mandrake\n", "holds `|`")] {
        let pair = baskets(RULES);
        let table = text(pair.home.at("hospital.csv"));
        pair.table("hospital", &(table + line));
        let ended = pair.start("hospital", &["--timeout", "1s"]).end();
        let error = ended.failed(2, &["hospital.csv", words]);
        without(&ended);
        assert!(error.contains("line"), "{error}");
    }
}

/// The same beneath TLS, between the roles of the protocol: what a peer that keeps everything sees of keys.
#[test]
fn no_key_is_in_what_the_peer_sees() {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;
    use tacita_core::channel::Channel;
    use tacita_core::primitive::oprf::Suite;
    use tacita_core::protocol::intersect::ecdh::{Params, TagDomain, rows};
    use tacita_core::protocol::intersect::tag_exchange;
    use tacita_core::session::Transcript;
    use tacita_core::{Item, Session};

    let session = Session::new(Transcript::new("test"));
    let key = session.derive("item");
    let items: Vec<_> = (0..50).map(|number| Item::new(&key, format!("Wintergreen {number}").as_bytes())).collect();
    let entries = tag_exchange::Params::rows(items.len(), items.len());
    let (domain, params) = (TagDomain::of_session(&session), Params::new(entries, Suite::Ristretto255));
    let (a, b) = std::os::unix::net::UnixStream::pair().unwrap();
    let record = Arc::<Mutex<Vec<u8>>>::default();
    let over = |peer: &str, socket: std::os::unix::net::UnixStream| {
        let writer = Recorder(socket.try_clone().unwrap(), record.clone());
        let shut = socket.try_clone().unwrap();
        let heartbeat = std::time::Duration::from_secs(5);
        Channel::over(peer, socket, writer, heartbeat, move || drop(shut.shutdown(Shutdown::Both)))
    };
    let (mut receiver, mut sender) = (over("sender", a), over("receiver", b));
    std::thread::scope(|scope| {
        let (items, domain, params) = (&items, &domain, &params);
        scope.spawn(move || {
            rows::send(items, domain, params, &mut sender, &mut ChaCha20Rng::from_seed([1; 32])).unwrap();
            sender.finish().unwrap();
        });
        let found = rows::receive(items, domain, params, &mut receiver, &mut ChaCha20Rng::from_seed([2; 32])).unwrap();
        receiver.finish().unwrap();
        assert_eq!(found.len(), items.len());
    });
    let travelled = record.lock().unwrap().clone();
    assert!(travelled.len() > 2 * 50 * 32);
    assert_hidden("the protocol", &travelled);
    for item in &items {
        assert!(!travelled.windows(item.0.len()).any(|window| window == item.0), "an item travels");
    }
}

struct Recorder(std::os::unix::net::UnixStream, Arc<Mutex<Vec<u8>>>);

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.1.lock().unwrap().extend_from_slice(bytes);
        self.0.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn errors_of_a_failed_job_show_no_key_either() {
    let pair = pair(&TERMS.replace("[key]", "[limits]\nmax_rows = 100\n[key]"));
    for name in NAMES {
        let ended = pair.start(name, &["--log", "json"]).end();
        assert_eq!(ended.code, 2);
        assert_hidden("standard error", ended.stderr.as_bytes());
    }
    let running: [Running; 2] = NAMES.map(|name| pair.start(name, &["--memory", "1MiB", "--timeout", "1s"]));
    for ended in running.map(Running::end) {
        assert_ne!(ended.code, 0);
        assert_hidden("standard error", ended.stderr.as_bytes());
    }
}
