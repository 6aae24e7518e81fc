//! Pools of encryptions, by whole processes: no encryption travels twice, whatever happens to a process.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::{Home, NAMES, Pair, Running, files, json, keys, tacita, text};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Two parties of whom the hospital learns, and so encrypts.
const TERMS: &str = "job = \"dot\"\nid = \"t\"\nreveal_to = [\"hospital\"]\ncolumn = \"x\"\nprotocol = \"paillier\"\nlevel = \"paper80\"\n";

fn pair(terms: &str, rows: usize) -> Pair {
    let pair = Pair::new(terms);
    let column = |every: usize| (0..rows).map(|row| format!("{}\n", usize::from(row % every == 0))).collect::<String>();
    pair.table("hospital", &format!("x\n{}", column(2)));
    pair.table("insurer", &format!("x\n{}", column(3)));
    pair
}

fn fill(home: &Home, ones: u64, zeros: u64) -> crate::common::Ended {
    let counts = [ones.to_string(), zeros.to_string()];
    let (pool, key) = (home.at("pool"), home.at("pool.key"));
    let fixed = ["pool", "fill", &pool, "--key", &key, "--level", "paper80", "--allow-insecure"];
    tacita(&[&fixed[..], &["--ones", &counts[0], "--zeros", &counts[1]]].concat())
}

fn left(home: &Home) -> [u64; 2] {
    let said = tacita(&["pool", "status", &home.at("pool")]).well().stdout;
    let number = |word: &str| {
        let line = said.lines().find(|line| line.starts_with(word)).unwrap_or_else(|| panic!("{said}"));
        line.split(' ').nth(1).unwrap().parse().unwrap()
    };
    [number("ones "), number("zeros ")]
}

/// Runs both parties, the hospital with the pool and more, and returns the hospital's report.
#[track_caller]
fn run(pair: &Pair, more: &[&str]) -> Value {
    let pool = pair.home.at("pool");
    let one = pair.start("hospital", &[&["--allow-insecure", "--pool", &pool], more].concat());
    let other = pair.start("insurer", &["--allow-insecure"]);
    let one = one.end().well();
    other.end().well();
    assert!(one.stderr.contains("from the pool"), "{}", one.stderr);
    json(pair.out("hospital", "report.json"))
}

#[test]
fn a_pool_is_filled_used_and_used_up() {
    let pair = pair(TERMS, 100);
    let home = &pair.home;
    let said = fill(home, 70, 70).well();
    assert!(said.stderr.contains("new key SHA256:"), "{}", said.stderr);
    let key = text(home.at("pool.key"));
    assert!(said.stdout.starts_with("ones 70\nzeros 70\nkey SHA256:") && said.stdout.contains("bits 1024\n"));
    // Twice the numbers from the pool, then what is left and the rest live, then all live: the value is right always.
    for (pool, live) in [(100, 0), (40, 60), (0, 100)] {
        let report = run(&pair, &[]);
        assert_eq!(report["result"], json!({"value": 17}));
        assert_eq!(report["encryptions"], json!({"pool": pool, "live": live}));
    }
    assert_eq!(left(home), [0, 0]);
    fill(home, 3, 0).well();
    assert_eq!((left(home), text(home.at("pool.key"))), ([3, 0], key));
    // Without a pool there is nothing to report.
    let running = NAMES.map(|name| pair.start(name, &["--allow-insecure"]));
    running.into_iter().for_each(|running| drop(running.end().well()));
    assert!(!keys(&json(pair.out("hospital", "report.json"))).contains(&"encryptions"));
    assert_eq!(left(home), [3, 0]);
}

#[test]
fn what_is_taken_does_not_depend_on_the_column_and_any_integers_are_served() {
    let terms = TERMS.to_owned() + "bits = 9\nsigned = true\n";
    let mut counts = BTreeSet::new();
    for column in ["0", "1", "-200"] {
        let pair = pair(&terms, 0);
        pair.table("hospital", &format!("x\n{}", format!("{column}\n").repeat(30)));
        pair.table("insurer", &format!("x\n{}", "-7\n".repeat(30)));
        fill(&pair.home, 40, 20).well();
        let report = run(&pair, &[]);
        assert_eq!(report["result"], json!({"value": column.parse::<i64>().unwrap() * -7 * 30}));
        counts.insert(left(&pair.home));
    }
    assert_eq!(counts, BTreeSet::from([[20, 10]]));
}

#[test]
fn a_pool_that_does_not_fit_is_refused_by_name() {
    let pair = pair(TERMS, 10);
    let home = &pair.home;
    fill(home, 5, 5).well();
    let refused = |more: &[&str], words: &[&str]| {
        let all = [&["--allow-insecure", "--timeout", "2s"], more].concat();
        pair.start("hospital", &all).end().failed(2, words)
    };
    let (pool, key) = (home.at("pool"), home.at("pool.key"));
    // No pool, no key, another key, a key that others can read.
    refused(&["--pool", &home.at("none")], &["none", "no pool", "pool fill"]);
    refused(&["--pool", &pool, "--pool-key", &home.at("none")], &["none", "--pool-key"]);
    let other = ["pool", "fill", &home.at("other"), "--key", &home.at("other.key"), "--ones", "1", "--zeros", "1"];
    tacita(&[&other[..], &["--level", "paper80", "--allow-insecure"]].concat()).well();
    refused(&["--pool", &pool, "--pool-key", &home.at("other.key")], &["/pool:", "other.key"]);
    tacita(&["pool", "fill", &pool, "--key", &home.at("other.key"), "--ones", "1", "--zeros", "1"])
        .failed(2, &["/pool:", "other.key"]);
    tacita(&["pool", "fill", &pool, "--key", &home.at("none"), "--ones", "1", "--zeros", "1"])
        .failed(2, &["none", "SHA256:"]);
    assert!(!Path::new(&home.at("none")).exists());
    tacita(&["pool", "fill", &pool, "--key", &key, "--ones", "1", "--zeros", "1", "--level", "bits128"])
        .failed(2, &["--level", "1024"]);
    tacita(&[
        "pool",
        "fill",
        &home.at("new"),
        "--key",
        &home.at("new.key"),
        "--ones",
        "1",
        "--zeros",
        "1",
        "--level",
        "bits112",
    ])
    .failed(2, &["bits112", "--allow-insecure"]);
    std::process::Command::new("chmod").args(["644", &key]).status().unwrap();
    refused(&["--pool", &pool], &["pool.key", "chmod 600"]);
    std::process::Command::new("chmod").args(["600", &key]).status().unwrap();
    // A damaged segment.
    let segment = files(&pool).into_iter().find(|name| name.ends_with(".pool")).unwrap();
    let path = Path::new(&pool).join(&segment);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    refused(&["--pool", &pool], &[&segment, "damaged"]);
    tacita(&["pool", "status", &pool]).failed(2, &[&segment, "damaged"]);
    std::fs::write(&path, &whole).unwrap();
    // A job that does not encrypt, or under a longer key.
    home.file("hospital.toml", &pair.job(&TERMS.replace("\"paillier\"", "\"ot\"").replace("paper80", "bits128")));
    refused(&["--pool", &pool], &["--pool", "paillier"]);
    home.file("hospital.toml", &pair.job(&TERMS.replace("paper80", "bits112")));
    refused(&["--pool", &pool], &["/pool:", "1024", "2048"]);
    assert_eq!(left(home), [5, 5]);
    // The key may be elsewhere, and the party that does not encrypt takes nothing.
    let moved = home.at("moved.key");
    std::fs::rename(&key, &moved).unwrap();
    home.file("hospital.toml", &pair.job(TERMS));
    let report = run(&pair, &["--pool-key", &moved]);
    assert_eq!(report["encryptions"], json!({"pool": 10, "live": 0}));
    let one = pair.start("hospital", &["--allow-insecure"]);
    let other = pair.start("insurer", &["--allow-insecure", "--pool", &home.at("other")]);
    one.end().well();
    assert!(other.end().well().stderr.contains("it is hospital who encrypts"));
}

/// Reads what a process would send of a pool: all entries that are left, opened with the key, through the library.
fn entries(home: &Home) -> Vec<Vec<u8>> {
    let job = tacita_node::agreement::JobSpec::parse(&format!("{TERMS}[parties.hospital]\n[parties.insurer]\n"), false)
        .unwrap();
    let place = tacita_node::agreement::PoolPlace { directory: PathBuf::from(home.at("pool")), key_file: None };
    let mut pool = &tacita_node::jobs::dot::pool::EncryptionPool::open(&place, &job).unwrap();
    let mut all = Vec::new();
    loop {
        let taken = tacita_core::protocol::dot::paillier::Store::take(&mut pool, 1000).unwrap();
        if taken.integers.is_empty() {
            return all;
        }
        all.extend(taken.ciphertexts.to_bytes().chunks(256).map(<[u8]>::to_vec));
    }
}

fn copy(from: &str, to: &str) {
    std::fs::create_dir(to).unwrap();
    for name in files(from) {
        std::fs::copy(Path::new(from).join(&name), Path::new(to).join(&name)).unwrap();
    }
}

/// Kills the encryptor at many moments. What it may have sent is known from the bytes that it sent and from what is
/// missing in the pool: as many are missing as were sent, at least.
#[test]
fn a_killed_process_has_taken_at_least_what_it_has_sent() {
    killed_processes_have_taken_what_they_sent(6, 18_500);
}

#[test]
#[ignore = "slow: 120,000 encryptions, and more kills"]
fn processes_killed_at_more_moments_have_taken_at_least_what_they_have_sent() {
    killed_processes_have_taken_what_they_sent(14, 60_000);
}

/// Kills the encryptor so many times, with a pool of `each` ones and as many zeros.
fn killed_processes_have_taken_what_they_sent(rounds: u32, each: u64) {
    let terms = TERMS.to_owned() + "chunk = 50\n";
    let pair = pair(&terms, 6000);
    let home = &pair.home;
    fill(home, each, each).well();
    let mut wait = Duration::from_millis(20);
    let (mut killed, mut before) = (0, left(home).iter().sum::<u64>());
    let pool = home.at("pool");
    for round in 0..rounds {
        let started = Instant::now();
        let (counter, address) = counting(&pair.address);
        home.file("insurer.toml", &pair.job(&terms).replace(&pair.address, &address));
        let mut one = pair.start("hospital", &["--allow-insecure", "--pool", &pool]);
        let other = pair.start("insurer", &["--allow-insecure", "--timeout", "20s"]);
        if round.is_multiple_of(2) {
            one.until_it_says("agreed with insurer");
        }
        std::thread::sleep(wait);
        one.signal(Signal::KILL);
        let ended = one.end();
        killed += usize::from(ended.code == -1);
        drop(other);
        let sent = *counter.lock().unwrap();
        let now = left(home).iter().sum::<u64>();
        // TLS and the handshake aside, whatever was sent are ciphertexts.
        let ciphertexts = (sent as u64).saturating_sub(16_000) / 256;
        assert!(before - now >= ciphertexts, "round {round}: {ciphertexts} sent, {} missing", before - now);
        before = now;
        wait += Duration::from_millis(126) / rounds;
        assert!(started.elapsed() < crate::common::LIMIT);
    }
    assert!(3 * killed >= rounds as usize, "{killed} of {rounds} were killed before their end");
    // What is left is whole, and each encryption there once.
    let all = entries(home);
    assert_eq!(all.len() as u64, before);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}

/// A relay in front of `address` that counts the bytes from there.
fn counting(address: &str) -> (std::sync::Arc<std::sync::Mutex<usize>>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (own, address) = (listener.local_addr().unwrap().to_string(), address.to_owned());
    let counter = std::sync::Arc::<std::sync::Mutex<usize>>::default();
    let counted = counter.clone();
    std::thread::spawn(move || {
        while let Ok((near, _)) = listener.accept() {
            // One that dials too early waits.
            let until = Instant::now() + Duration::from_secs(5);
            let far = loop {
                match TcpStream::connect(&address) {
                    Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                    connected => break connected,
                }
            };
            let Ok(far) = far else { continue };
            let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
            let (mut from, mut to, counted) = (far, near, counted.clone());
            std::thread::spawn(move || {
                let mut room = vec![0; 1 << 16];
                while let Ok(count @ 1..) = from.read(&mut room) {
                    *counted.lock().unwrap() += count;
                    if to.write_all(&room[..count]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    (counter, own)
}

/// Two runs at once, and a third one after: all entries that were there before are used once or still there.
#[test]
fn runs_at_the_same_time_share_a_pool() {
    let pairs = [pair(TERMS, 700), pair(TERMS, 700)];
    let home = &pairs[0].home;
    fill(home, 600, 500).well();
    let pool = home.at("pool");
    let all_before = {
        // A copy to look into; nobody runs from it.
        let looked = Home::new();
        copy(&pool, &looked.at("pool"));
        entries(&looked).into_iter().collect::<BTreeSet<_>>()
    };
    assert_eq!(all_before.len(), 1100);
    let running: Vec<Running> = pairs
        .iter()
        .flat_map(|pair| {
            [
                pair.start("hospital", &["--allow-insecure", "--pool", &pool]),
                pair.start("insurer", &["--allow-insecure"]),
            ]
        })
        .collect();
    running.into_iter().for_each(|running| drop(running.end().well()));
    let used: Vec<_> = pairs
        .iter()
        .map(|pair| {
            let report = json(pair.out("hospital", "report.json"));
            assert_eq!(report["result"], json!({"value": 117}));
            report["encryptions"].clone()
        })
        .collect();
    let number = |name: &str| used.iter().map(|used| used[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((number("pool"), number("live")), (1100, 300));
    assert!(entries(home).is_empty());
}

/// Compares the traffic of two runs in this process, over channels whose bytes are kept. No ciphertext comes twice.
#[test]
fn no_ciphertext_travels_twice() {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;
    use tacita_core::Side;
    use tacita_core::channel::Channel;
    use tacita_core::primitive::paillier::KeySize;
    use tacita_core::protocol::dot::paillier::{self, Params};
    use tacita_core::protocol::dot::{Columns, Integers, Shape};

    let home = Home::new();
    fill(&home, 50, 70).well();
    let job = tacita_node::agreement::JobSpec::parse(&format!("{TERMS}[parties.hospital]\n[parties.insurer]\n"), false)
        .unwrap();
    let place = tacita_node::agreement::PoolPlace { directory: PathBuf::from(home.at("pool")), key_file: None };
    let shape = Shape { rows: 50, first: 1, second: 1, integers: Integers::BINARY };
    let params =
        Params::new(shape, shape.value_modulus().unwrap(), KeySize::new(1024).unwrap(), Some(Side::First)).unwrap();
    let column = |every: i64| {
        let mut columns = Columns::new(Integers::BINARY, 50);
        columns.push((0..50).map(|row| i64::from(row % every == 0))).unwrap();
        columns
    };
    let mut seen = BTreeSet::new();
    for run in 0..3u8 {
        let pool = tacita_node::jobs::dot::pool::EncryptionPool::open(&place, &job).unwrap();
        let (mut near, mut heard) = Channel::pair("hospital", "insurer");
        let (mut said, mut far) = Channel::pair("hospital", "insurer");
        let all = std::thread::scope(|scope| {
            let (mine, theirs) = (column(2), column(3));
            let (pool, params) = (&pool, &params);
            scope.spawn(move || {
                let mut rng = ChaCha20Rng::from_seed([run; 32]);
                let (shares, _) = pool.encrypt(&mine, params, &mut near, &mut rng).unwrap();
                assert_eq!(shares.residues(), [9]);
            });
            scope.spawn(move || {
                paillier::run(Side::Second, &theirs, params, &mut far, &mut ChaCha20Rng::from_seed([9; 32])).unwrap();
            });
            // Passes on the key and one message of ciphertexts, and the answer back.
            let mut pass = |label, length| {
                let bytes: Vec<u8> = heard.receive(label, length).unwrap();
                said.send(label, bytes.clone()).unwrap();
                bytes
            };
            pass(paillier::PUBLIC_KEY, 3 * 1024 / 8);
            let all = pass(paillier::COLUMNS, 50 * 256);
            let answer = said.receive(paillier::ANSWERS, 256).unwrap();
            heard.send(paillier::ANSWERS, answer).unwrap();
            all
        });
        for ciphertext in all.chunks(256) {
            assert!(seen.insert(ciphertext.to_vec()), "a ciphertext travels twice");
        }
    }
    assert_eq!(seen.len(), 150);
}

#[test]
fn a_pool_that_others_can_write_to_is_refused_and_so_are_links_in_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let pair = pair(TERMS, 10);
    let (home, pool) = (&pair.home, pair.home.at("pool"));
    fill(home, 5, 5).well();
    let set_mode = |mode| std::fs::set_permissions(&pool, std::fs::Permissions::from_mode(mode)).unwrap();
    let run = || pair.start("hospital", &["--allow-insecure", "--pool", &pool]).end();
    set_mode(0o777);
    for refused in [run(), fill(home, 1, 0), tacita(&["pool", "status", &pool])] {
        refused.failed(2, &["/pool: others can write", "chmod 700"]);
    }
    set_mode(0o700);
    // A file of the user's that was to be cut off in the place of a segment, and one to be locked in that of the lock.
    let precious = home.file("precious", "precious");
    for name in ["ones-00.pool", "lock"] {
        let link = format!("{pool}/{name}");
        let _ = std::fs::remove_file(&link);
        symlink(&precious, &link).unwrap();
        for refused in [run(), fill(home, 1, 0), tacita(&["pool", "status", &pool])] {
            refused.failed(2, &[name, "is a link", "remove it"]);
        }
        std::fs::remove_file(&link).unwrap();
    }
    assert_eq!(text(&precious), "precious");
    assert_eq!(left(home), [5, 5]);
}
