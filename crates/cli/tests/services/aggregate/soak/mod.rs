//! Everything at once, and machines that fail meanwhile: three proxies, two oracles, two databases over one PostgreSQL,
//! an etcd, 26 participants. Every report that was acknowledged counts exactly once, and no round is stuck.

mod field;
mod load;
mod machine;
mod wire;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use self::field::{Field, Role};
use self::load::{Done, Draw, EVERY, Size};
use self::machine::Faults;
use self::wire::Cut;
use super::dashboard::look_at;
use crate::common::browser::{Browser, keep};

const ROLES: [&str; 7] = ["database", "database-1", "proxy", "proxy-1", "proxy-2", "oracle", "oracle-1"];

/// Duration of a long soak, if TACITA_SOAK does not give it in seconds.
const HOURS: Duration = Duration::from_secs(2 * 3600);

fn field(protocol: &str) -> Option<Field> {
    let names: Vec<String> = (b'a'..=b'z').map(|letter| char::from(letter).to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let round = json!({ "reveal_when": EVERY, "min_participants": 2, "batch_size": 200 });
    Field::start(&ROLES, &names, round, json!({ "protocol": protocol, "reveal_to": ["participants", "database"] }))
}

/// One of each kind is killed with batches under way, and started again.
#[test]
fn one_of_each_fails_while_reports_come_in() {
    let Some(field) = field("dh") else { return };
    let size = Size { reports: 300, batch: 10 };
    let ingesting = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| field.round("r", size, 1, || ingesting.store(false, Ordering::Release)));
        // Slow disks: a batch is under way for long enough to be met.
        field.roles.iter().for_each(|role| role.faults(Faults { flush_ms: 100, ..Faults::default() }));
        for name in ["proxy-1", "database"] {
            let role = field.role(name);
            role.until_something_is_under_way();
            assert!(role.kill() > 0, "{name} was idle");
            sleep(Duration::from_millis(500));
            field.begin(role);
        }
        let idle = field.role("database-1");
        idle.until_something_is_under_way();
        assert!(idle.kill() > 0, "it was idle");
        field.begin(idle);
        field.role("oracle-1").kill();
        field.begin(field.role("oracle-1"));
        field.role("database").until_something_is_under_way();
        field.postgres.lock().unwrap().kill();
        assert!(field::under_way(&field.role("database").log()) > 0, "nothing was under way");
        field.postgres.lock().unwrap().start_again();
        field.role("proxy").until_something_is_under_way();
        field.etcd.lock().unwrap().kill();
        assert!(field::under_way(&field.role("proxy").says()) > 0, "nothing was under way");
        field.etcd.lock().unwrap().start_again();
        assert!(ingesting.load(Ordering::Acquire), "all that fell on a round that takes reports");
        field.roles.iter().for_each(|role| role.faults(Faults::default()));
        let done = running.join().unwrap();
        eprintln!("{done:?}");
    });
    field.end();
}

/// Events that have happened to machines, and the number of batches that were under way then.
#[derive(Default)]
struct Tally(Mutex<BTreeMap<String, [usize; 3]>>);

impl Tally {
    fn add(&self, what: &str, under_way: usize) {
        let mut all = self.0.lock().unwrap();
        let [number, met, batches] = all.entry(what.to_owned()).or_default();
        *number += 1;
        *met += usize::from(under_way > 0);
        *batches += under_way;
    }
}

/// Hours of mixed load, in which something fails all the time.
#[test]
#[ignore = "hours, or as many seconds as TACITA_SOAK says"]
fn soak() {
    let time = std::env::var("TACITA_SOAK").map_or(HOURS, |text| Duration::from_secs(text.parse().unwrap()));
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    eprintln!("seed {seed}, {} s", time.as_secs());
    let began = Instant::now();
    for (place, protocol) in ["dh", "naor-reingold"].into_iter().enumerate() {
        let Some(field) = field(protocol) else { return };
        let until = began + time * (place as u32 + 1) / 2;
        soaked(&field, protocol, seed, until);
        field.end();
    }
}

fn soaked(field: &Field, protocol: &str, seed: u64, until: Instant) {
    let tally = Tally::default();
    let (all, ended) = (Mutex::new(Done::default()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..2)
            .map(|lane: u64| {
                let all = &all;
                scope.spawn(move || {
                    for number in 0.. {
                        if Instant::now() >= until {
                            break;
                        }
                        let size = [Size { reports: 300, batch: 20 }, Size { reports: 60, batch: 7 }][lane as usize];
                        let done = field.round(&format!("r-{lane}-{number}"), size, seed + 1000 * lane + number, || ());
                        let mut all = all.lock().unwrap();
                        all.rounds += done.rounds;
                        all.reports += done.reports;
                        all.again += done.again;
                        all.known += done.known;
                    }
                })
            })
            .collect();
        let failing = scope.spawn(|| {
            let (mut draw, mut pictured) = (Draw::new(seed), false);
            while !ended.load(Ordering::Acquire) {
                fail(field, &mut draw, &tally);
                // As many rounds as a page shows at once.
                if !pictured && all.lock().unwrap().rounds > 4 {
                    pictured = true;
                    take_pictures(field);
                }
            }
        });
        let results: Vec<_> = lanes.into_iter().map(|lane| lane.join()).collect();
        ended.store(true, Ordering::Release);
        failing.join().unwrap();
        results.into_iter().for_each(|result| result.unwrap());
    });
    let lost: usize = field.roles.iter().map(|role| role.wire.lost()).sum();
    eprintln!("{protocol}: {:?}, {} connections cut", all.lock().unwrap(), lost / 2);
    for (what, [number, met, batches]) in tally.0.lock().unwrap().iter() {
        eprintln!("{what}: {number}, of which {met} met {batches} batches or questions under way");
    }
}

/// The dashboard in the middle of all this, for the documentation.
fn take_pictures(field: &Field) {
    if let Some(browser) = Browser::start(1000, 900) {
        look_at(&browser, &field.role("database").link(), "r-0-0", |name| keep(&browser, name));
    }
}

/// Something fails, for a while.
fn fail(field: &Field, draw: &mut Draw, tally: &Tally) {
    let role = &field.roles[draw.below(field.roles.len() as u64) as usize];
    let kind = role.name.split('-').next().unwrap();
    let for_a_while = |draw: &mut Draw, most: u64| sleep(Duration::from_millis(200 + draw.below(most)));
    sleep(Duration::from_millis(draw.below(2000)));
    let slow = Faults { flush_ms: 20 + draw.below(200) as i64, ..Faults::default() };
    match draw.below(11) {
        0..3 => {
            let until = Instant::now() + Duration::from_secs(3);
            while field::under_way(&role.says()) == 0 && Instant::now() < until {
                sleep(Duration::from_millis(2));
            }
            tally.add(&format!("{kind} killed"), role.kill());
            for_a_while(draw, 1500);
            field.begin(role);
        }
        3 => {
            let under_way: usize = field.roles.iter().map(|role| field::under_way(&role.says())).sum();
            field.postgres.lock().unwrap().kill();
            tally.add("PostgreSQL killed", under_way);
            for_a_while(draw, 1500);
            field.postgres.lock().unwrap().start_again();
        }
        4 => {
            let under_way: usize = field.roles.iter().map(|role| field::under_way(&role.says())).sum();
            let mut etcd = field.etcd.lock().unwrap();
            etcd.kill();
            tally.add("etcd killed", under_way);
            for_a_while(draw, 15_000);
            etcd.start_again();
        }
        5 => during(role, tally, "stopped", |role| {
            role.signal(Signal::STOP);
            for_a_while(draw, 12_000);
            role.signal(Signal::CONT);
        }),
        6 => during(role, tally, "cut off", |role| {
            role.cut(Cut::Broken);
            for_a_while(draw, 5000);
            role.cut(Cut::None);
        }),
        7 => during(role, tally, "out of hearing", |role| {
            role.cut(Cut::Silent);
            for_a_while(draw, 10_000);
            role.cut(Cut::None);
        }),
        8 => during(role, tally, "on a slow disk", |role| {
            role.faults(slow);
            for_a_while(draw, 6000);
            role.faults(Faults::default());
        }),
        9 => during(role, tally, "on a full disk", |role| {
            role.faults(Faults { is_full: true, ..Faults::default() });
            for_a_while(draw, 4000);
            role.faults(Faults::default());
        }),
        _ => during(role, tally, "with a clock that steps", |role| {
            let clock_s = draw.below(1200) as i64 - 600;
            role.faults(Faults { clock_s, ..Faults::default() });
            for_a_while(draw, 5000);
            role.faults(Faults::default());
        }),
    }
}

fn during(role: &Role, tally: &Tally, what: &str, fault: impl FnOnce(&Role)) {
    let kind = role.name.split('-').next().unwrap();
    tally.add(&format!("{kind} {what}"), field::under_way(&role.says()));
    fault(role);
}
