//! A round of three proxies, of which one role is a process that ends itself at a step.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tacita_core::{Error, Result};

use super::process::Process;
use super::world::{ONCE, World, put};
use crate::participant::operate::RoundOrder;
use crate::transport::Client;
use crate::wire::rounds::{RoundState, RoundStatus};
use crate::wire::service::Service;

/// Time limit for any event that has to come.
const TIMEOUT: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(10);

/// A participant's batch, by its number, and the proxies that it is given to.
type Given = (&'static str, u8, &'static [usize]);

/// The second proxy has too few for a shuffle, whoever's the batches are that two have: it hands over what is its own.
const AT_CLOSE: [Given; 8] = [
    ("a", 1, &[0]),
    ("b", 1, &[0]),
    ("c", 1, &[0, 2]),
    ("d", 1, &[1]),
    ("d", 2, &[0, 1]),
    ("d", 3, &[1]),
    ("e", 1, &[2]),
    ("f", 1, &[2]),
];

/// The batches of each proxy leave as soon as three are its own; of two enough for a shuffle are left for the close.
const EARLY: [Given; 8] = [
    ("a", 1, &[0]),
    ("b", 1, &[0]),
    ("c", 1, &[0, 2]),
    ("d", 1, &[1]),
    ("a", 2, &[1]),
    ("b", 2, &[1]),
    ("e", 1, &[2]),
    ("f", 1, &[2]),
];

/// Reports of three batches.
const BATCH_SIZE: usize = 6;

/// The proxy that hands over, and the one that takes over while it is there.
const FEW: usize = 1;
const COLLECTOR: usize = 0;

/// Fate of a process that has ended itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Restart: the process is started again at once.
    Again,
    /// The round goes on without it, and then it comes back.
    GivenUp,
}

#[derive(Debug, Clone, Copy)]
pub struct RoundPlan {
    /// Whether batches leave while the round is open.
    pub early: bool,
    pub ends: Ends,
    /// A proxy that is away from the close on; the round goes on without it, and then it comes back.
    pub without: Option<usize>,
}

/// Outcome of a round.
pub struct Played {
    plan: RoundPlan,
    role: &'static str,
    at: String,
    /// Whether the process came to its step.
    pub killed: bool,
    /// The steps that it has made.
    pub steps: Vec<String>,
    status: RoundStatus,
    counts: BTreeMap<String, u64>,
    acknowledged: BTreeMap<String, Vec<usize>>,
    /// The proxy that the round has gone on without.
    lost: Option<usize>,
}

/// The role, and what has become of it.
struct Killed {
    process: Mutex<Process>,
    ended: AtomicBool,
    /// Whether all proxies take reports. Before that nobody gives one up: it may be the only one that has the round's
    /// secrets.
    begun: AtomicBool,
    given_up: AtomicBool,
    over: AtomicBool,
}

impl Killed {
    fn new(process: Process) -> Killed {
        let [ended, begun, given_up, over] = std::array::from_fn(|_| AtomicBool::new(false));
        Killed { process: Mutex::new(process), ended, begun, given_up, over }
    }

    /// Starts it again when it has ended itself, or gives it up.
    fn look_after(&self, home: &Path, role: &str, ends: Ends) {
        while !self.over.load(Ordering::Acquire) {
            std::thread::sleep(PAUSE);
            let mut process = self.process.lock().unwrap();
            if self.ended.load(Ordering::Acquire) || !process.has_ended() {
                continue;
            }
            if ends == Ends::GivenUp && self.begun.load(Ordering::Acquire) {
                self.given_up.store(true, Ordering::Release);
            } else {
                *process = Process::start(home, role, None);
            }
            self.ended.store(true, Ordering::Release);
        }
    }

    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }
}

/// Ends what looks after a process, also when a test fails.
struct Over<'a>(&'a Killed);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
    }
}

/// Plays a round in which a role ends itself at a step.
pub fn play(plan: RoundPlan, role: &'static str, at: &str) -> Played {
    let mut round = json!({ "reveal_when": "count >= 1 and distinct >= 1", "min_participants": 2 });
    if plan.early {
        round["batch_size"] = json!(BATCH_SIZE);
    }
    let names = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
    let mut world = World::of_proxies(3, "dh", &names, round);
    for other in ["database", "oracle", "proxy", "proxy-1", "proxy-2"].into_iter().filter(|other| *other != role) {
        world.start(other);
    }
    let killed = Killed::new(Process::start(world.home.path(), role, Some(at)));
    let home = world.home.path().to_owned();
    let played = std::thread::scope(|scope| {
        let _over = Over(&killed);
        let (killed, home) = (&killed, &home);
        scope.spawn(move || killed.look_after(home, role, plan.ends));
        through(&mut world, plan, role, at, killed)
    });
    killed.process.lock().unwrap().kill();
    played
}

fn name(place: usize) -> String {
    if place == 0 { "proxy".to_owned() } else { format!("proxy-{place}") }
}

/// Plays the round from the first report to the result.
fn through(world: &mut World, plan: RoundPlan, role: &'static str, at: &str, killed: &Killed) -> Played {
    let own = (0..3).find(|place| name(*place) == role);
    let goes = |place: usize| own == Some(place) && killed.is_given_up();
    (0..3).for_each(|place| drop(world.keys(&world.client("a", Service::Proxy(place)))));
    killed.begun.store(true, Ordering::Release);
    let alive = (0..3).find(|place| own != Some(*place)).unwrap();
    let mut acknowledged = BTreeMap::<String, Vec<usize>>::new();
    for (who, number, places) in if plan.early { EARLY } else { AT_CLOSE } {
        for place in places {
            let taken = give(world, (who, number), (*place, alive), || goes(*place));
            // Somebody goes on with the next proxy that does not hear from one.
            let place = if taken { *place } else { (place + 1) % 3 };
            assert!(taken || give(world, (who, number), (place, alive), || false));
            acknowledged.entry(format!("{who}-{number}")).or_default().push(place);
        }
    }
    let mut lost = plan.without;
    if let Some(place) = lost {
        world.stopper(&name(place))();
        world.ended(&name(place));
    }
    ordered(world, &RoundOrder::Close { without: lost.into_iter().collect() }).unwrap();
    lost.iter().for_each(|place| world.start(&name(*place)));
    let until = Instant::now() + TIMEOUT;
    let mut asked = false;
    let status = loop {
        let status = ordered(world, &RoundOrder::Status).unwrap();
        if status.state.is_over() {
            break status;
        }
        if !asked && let Some(place) = own.filter(|place| goes(*place)) {
            asked = true;
            lost = match ordered(world, &RoundOrder::Close { without: vec![place] }) {
                Ok(_) => Some(place),
                Err(error) => {
                    let told = error.to_string();
                    assert!(told.contains("has sent all") || told.contains("it waits for no proxy"), "{told}");
                    None
                }
            };
            *killed.process.lock().unwrap() = Process::start(world.home.path(), role, None);
        }
        assert!(Instant::now() < until, "{plan:?}, {role} killed at {at}: {status:?}\n{}", said(killed));
        std::thread::sleep(PAUSE);
    };
    let counts = if status.state == RoundState::Revealed { world.result("a") } else { BTreeMap::new() };
    let said = said(killed);
    let steps = said.lines().filter_map(|line| line.strip_prefix("step ").map(str::to_owned)).collect();
    let killed = killed.ended.load(Ordering::Acquire);
    Played { plan, role, at: at.to_owned(), killed, steps, status, counts, acknowledged, lost }
}

fn said(killed: &Killed) -> String {
    killed.process.lock().unwrap().said()
}

/// Gives a participant's batch to a proxy until it says that it has it, or is gone for good.
fn give(world: &World, (who, number): (&str, u8), (place, alive): (usize, usize), is_gone: impl Fn() -> bool) -> bool {
    let client = |place: usize| world.client(who, Service::Proxy(place));
    let (mut batch, own) = ([number; 16], format!("{who}-{number}"));
    batch[0] = who.as_bytes()[0];
    let until = Instant::now() + TIMEOUT;
    let proxy: Client = client(place);
    // The keys are the same at all of them.
    let reports = world.reports(&client(alive), who, &batch, &[("all", 0), (&own, 0)]);
    loop {
        let why = match proxy.ask(&put(&batch, reports.clone()), ONCE) {
            Ok(answer) if answer.is_ok() => return true,
            Ok(answer) => format!("{:?}", answer.told()),
            Err(error) => error.to_string(),
        };
        if is_gone() {
            return false;
        }
        assert!(Instant::now() < until, "{own} to {place}: {why}");
        std::thread::sleep(PAUSE);
    }
}

/// Carries out an order of the operator as soon as the database is there.
fn ordered(world: &World, order: &RoundOrder) -> Result<RoundStatus> {
    let until = Instant::now() + TIMEOUT;
    loop {
        match world.operate(order) {
            Err(Error::Network { .. }) if Instant::now() < until => std::thread::sleep(PAUSE),
            done => return done.map(|status| serde_json::from_value(status).unwrap()),
        }
    }
}

impl Played {
    /// Whether each report counts once, unless only a proxy had it that the round went on without: or else what is
    /// wrong.
    pub fn counts_once(&self) -> std::result::Result<(), String> {
        let Played { plan, role, at, status, counts, .. } = self;
        let wrong = |what: &str| {
            let reason = status.failure.as_ref().map(|failure| &failure.reason);
            Err(format!(
                "{plan:?}, {role} killed at {at}: {what}; {:?} {reason:?}, {counts:?}, given to {:?}",
                status.state, self.acknowledged
            ))
        };
        if status.state != RoundState::Revealed {
            return wrong("it has no result");
        }
        if status.without != self.lost.into_iter().collect::<Vec<_>>() {
            return wrong("it went on without another proxy");
        }
        for (item, places) in &self.acknowledged {
            let is_handed = plan.ends == Ends::GivenUp && self.lost == Some(COLLECTOR) && places.contains(&FEW);
            let may_miss = is_handed || self.lost.is_some_and(|lost| places.contains(&lost));
            match counts.get(item) {
                Some(1) => (),
                None if may_miss => (),
                other => return wrong(&format!("{item} counts {other:?}")),
            }
        }
        let all = self.acknowledged.keys().filter(|item| counts.contains_key(*item)).count() as u64;
        if counts.get("all").copied().unwrap_or(0) != all { wrong("what all have is another number") } else { Ok(()) }
    }
}
