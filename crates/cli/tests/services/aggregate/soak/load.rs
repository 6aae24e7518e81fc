//! Actions of participants in a round, and the results: each report is repeated until it is acknowledged, and has to
//! count exactly once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::field::Field;
use crate::aggregate::world::rows;
use crate::common::{Ended, Running};

/// No command is longer on its way, and no round.
const LIMIT: Duration = Duration::from_secs(600);

/// Each report shows in the count of its row.
pub const EVERY: &str = "count >= 1 and distinct >= 1";

/// Size of a round.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Reports of a participant.
    pub reports: usize,
    /// Reports of a batch.
    pub batch: usize,
}

/// Totals of the rounds that have ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    pub rounds: usize,
    pub reports: u64,
    /// Commands that were given up, and given again.
    pub again: usize,
    /// Batches that had been there when they were sent again.
    pub known: u64,
}

/// Numbers that look random, the same of a seed (xorshift64).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

impl Field {
    /// A round from its opening to its result, which is compared with the truth; `closing` is called when all reports
    /// are in.
    pub fn round(&self, name: &str, size: Size, seed: u64, closing: impl FnOnce()) -> Done {
        let mut done = Done { rounds: 1, ..Done::default() };
        self.operate("open", name, &mut done);
        let mut draw = Draw::new(seed);
        let mut truth = BTreeMap::new();
        let mut tables = Vec::new();
        for _ in &self.world.names {
            // Few keys are popular, many are rare, and some come twice from one participant.
            let item = |draw: &mut Draw| {
                let popular = 1 + draw.below(4 * size.reports as u64);
                draw.below(popular)
            };
            let items: Vec<String> = (0..size.reports).map(|_| format!("item-{:05}", item(&mut draw))).collect();
            for item in &items {
                *truth.entry(item.clone()).or_insert(0) += 1;
            }
            tables.push(items);
        }
        let submit = |place: usize| self.submit(name, place, &tables[place], size, place % 4 == 3);
        std::thread::scope(|scope| {
            let submit = &submit;
            let all: Vec<_> = (0..tables.len()).map(|place| scope.spawn(move || submit(place))).collect();
            for one in all {
                let of = one.join().unwrap();
                done.reports += of.reports;
                done.again += of.again;
                done.known += of.known;
            }
        });
        closing();
        self.operate("close", name, &mut done);
        let until = Instant::now() + LIMIT;
        loop {
            let status = self.operate("status", name, &mut done);
            match status["state"].as_str() {
                Some("revealed") => break,
                Some("open" | "closed" | "counted" | "revealing") if Instant::now() < until => (),
                _ => panic!("round {name} (seed {seed}): {status}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let who = self.world.names[draw.below(tables.len() as u64) as usize].clone();
        let output = self.world.home.at(&format!("{name}.result.csv"));
        let arguments = ["--round", name, "--force", "--output", &output, "--timeout", "60s"];
        self.persist(&mut done, || self.world.as_participant("results", &who, &arguments));
        let found: BTreeMap<String, u64> =
            rows(&output).into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect();
        let wrong: Vec<_> = truth
            .iter()
            .map(|(item, count)| (item, *count, found.get(item).copied().unwrap_or_default()))
            .filter(|(_, count, found)| count != found)
            .collect();
        assert!(wrong.is_empty() && found.len() == truth.len(), "round {name} (seed {seed}): {wrong:?}");
        std::fs::remove_file(&output).unwrap();
        done
    }

    /// Submits until all of it is acknowledged; `twice`, and then all of it once more.
    fn submit(&self, round: &str, place: usize, items: &[String], size: Size, twice: bool) -> Done {
        let mut done = Done { reports: items.len() as u64, ..Done::default() };
        let who = &self.world.names[place];
        let input = self.world.home.file(&format!("{round}-{who}.csv"), &format!("item\n{}\n", items.join("\n")));
        let (report, batch) = (self.world.home.at(&format!("{round}-{who}.json")), size.batch.to_string());
        let mut arguments = vec!["--input", &input, "--round", round, "--batch", &batch, "--report", &report];
        arguments.extend(["--timeout", "20s", "--patience", "20s"]);
        for time in 0..1 + usize::from(twice) {
            self.persist(&mut done, || self.world.as_participant("submit", who, &arguments));
            let told = crate::common::json(&report);
            assert_eq!(told["rounds"], serde_json::json!([round]), "{told}");
            done.known += if time == 0 { told["submitted"]["known"].as_u64().unwrap() } else { 0 };
        }
        std::fs::remove_file(&input).unwrap();
        done
    }

    /// Runs an operator's action on a round.
    fn operate(&self, action: &str, round: &str, done: &mut Done) -> Value {
        let (job, id) = (self.world.job(), self.world.home.at("id-database"));
        let arguments = ["round", action, &job, "--identity", &id, "--round", round, "--json"];
        let ended = self.persist(done, || Running::start(&arguments));
        serde_json::from_str(&ended.stdout).unwrap_or_default()
    }

    /// Starts a command again until it ends well. It may only fail because somebody was silent, had no room, or too
    /// much was going on.
    fn persist(&self, done: &mut Done, start: impl Fn() -> Running) -> Ended {
        let until = Instant::now() + LIMIT;
        loop {
            let ended = start().end_within(LIMIT);
            match ended.code {
                0 => return ended,
                3 | 75 if Instant::now() < until => done.again += 1,
                2 if ended.stderr.contains("make room, and try again") => done.again += 1,
                code => panic!("{code}: {}", ended.stderr),
            }
        }
    }
}
