//! Runs of all roles, and what each takes.

use std::sync::Mutex;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use serde_json::{Value, json};
use tacita_bench::measure;
use tacita_bench::pair::Pair;
use tacita_core::primitive::group::Embedding;
use tacita_core::primitive::ot::base;
use tacita_core::protocol::aggregate::{
    DatabaseKey, Entry, Params, ReportRow, RevealThreshold, RoundKeys, RowAnswer, answer, ask, open,
};
use tacita_core::protocol::published::aggregate::naor_reingold::{
    NaorReingoldProxyKey, Reporting, TransferForm, basic, evaluate, inputs, offer, participant, proxy, report, unblind,
};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Result};
use zeroize::Zeroizing;

use crate::measures::published::paper_raf::VALUES;
use crate::measures::published::paper_raf::counting::Counting;

/// Everything that a round has.
pub struct Round<G: Embedding> {
    pub params: Params<G>,
    proxy: NaorReingoldProxyKey<G>,
    database: DatabaseKey<G>,
    keys: RoundKeys<G>,
}

/// Way in which transfers are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Transfers {
    /// Amortised by extension, from 128.
    Amortised,
    /// Single transfers, each by itself.
    Single,
}

/// Cost of a run: CPU milliseconds, and bytes.
pub struct Taken {
    pub setup: [f64; 2],
    pub proxy: f64,
    pub participant: f64,
    pub database: f64,
    pub asking: f64,
    pub oracle: f64,
    pub bytes: [u64; 2],
}

impl Taken {
    /// Adds the cost to a line beside the description of the run.
    pub fn to_json(&self, mut line: Value) -> Value {
        line["setup_ms"] = json!(self.setup);
        line["bytes"] = json!(self.bytes);
        let roles = [self.proxy, self.participant, self.database, self.asking, self.oracle];
        for (role, milliseconds) in ["proxy", "participant", "database", "asking", "oracle"].into_iter().zip(roles) {
            line[format!("{role}_ms")] = json!(milliseconds);
        }
        line
    }
}

/// Reports made by participant and proxy, and their cost: CPU milliseconds of proxy and participant.
struct Made {
    setup: [f64; 2],
    cpu: [f64; 2],
    passed: Vec<u8>,
    bytes: [u64; 2],
}

/// Milliseconds of the parts of both roles.
pub struct Parts {
    /// Milliseconds of the proxy: its draws for transfers, and of these its blinds; its work on reports, and of this
    /// two powers of each.
    pub proxy: [f64; 4],
    /// Milliseconds of the participant: the value of the function, and of this one power of each; reports.
    pub participant: [f64; 3],
}

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub fn session(name: &str) -> Session {
    Session::new(Transcript::new(name))
}

pub fn milliseconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (result, sample) = measure(work);
    (result, 1e3 * sample.cpu.as_secs_f64())
}

/// Keys of so many bytes, all different, none with a zero byte at its end.
pub fn entries(count: usize, key_bytes: usize, rng: &mut impl CryptoRng) -> Vec<Entry> {
    let entry = |number: usize| {
        let mut key = vec![0; key_bytes];
        rng.fill_bytes(&mut key);
        key[..3].copy_from_slice(&(number as u32).to_le_bytes()[..3]);
        key[key_bytes - 1] |= 1;
        Entry { key, value: number as u32 % VALUES }
    };
    (0..count).map(entry).collect()
}

impl<G: Embedding + Sync> Round<G> {
    pub fn new(group: G, key_bytes: usize, distinct: bool) -> Round<G> {
        let params = Params::in_group(group, session("bench"), key_bytes, VALUES, distinct).expect("parameters");
        let rng = &mut rng(1);
        let (proxy, database) = (NaorReingoldProxyKey::generate(&params, rng), DatabaseKey::generate(&params, rng));
        let (public, other) = (database.public(&params, rng), proxy.public(&params, rng));
        let keys = RoundKeys::new(&params, &public, &other, rng).expect("keys");
        Round { params, proxy, database, keys }
    }

    /// Participant and proxy, with so many keys in stages of `stage`.
    fn make(&self, entries: &[Entry], stage: usize, transfers: Transfers) -> Made {
        let count = entries.len();
        let reporting = Reporting { params: &self.params, keys: &self.keys, participant: "bench", first: 0, stage };
        let mut pair = Pair::new(1);
        let made = Mutex::new(Vec::new());
        let take = |entries| {
            made.lock().expect("nobody panics").push(entries);
            Ok(())
        };
        let session = session("connection");
        let mut setup = [0.0; 2];
        let cpu = match transfers {
            Transfers::Amortised => {
                let connect = |channel: &mut Channel| proxy::connect(&session, channel, &mut rng(3));
                let (ots, _, cpu) = pair.run(connect, |channel| participant::connect(&session, channel, &mut rng(4)));
                setup = cpu;
                let (mut sender, mut receiver) = ots;
                let receive = |channel: &mut Channel| {
                    proxy::receive(&reporting, &self.proxy, count, &mut sender, channel, &mut rng(5), take)
                };
                let send =
                    |channel: &mut Channel| participant::send(&reporting, entries, &mut receiver, channel, &mut rng(6));
                pair.run(receive, send).2
            }
            Transfers::Single => {
                let receive = |channel: &mut Channel| -> Result<()> {
                    let mut ot = base::BaseOtSender::new(&session, "bench", &mut rng(3));
                    proxy::receive(&reporting, &self.proxy, count, &mut ot, channel, &mut rng(5), take)
                };
                let send = |channel: &mut Channel| -> Result<()> {
                    let mut ot = base::BaseOtReceiver::new(&session, "bench", &mut rng(4));
                    participant::send(&reporting, entries, &mut ot, channel, &mut rng(6))
                };
                pair.run(receive, send).2
            }
        };
        Made { setup, cpu, passed: made.into_inner().expect("nobody panics").concat(), bytes: pair.bytes() }
    }

    /// Entries of so many different keys, as they come to the database.
    pub fn passed(&self, count: usize) -> Vec<u8> {
        let entries = entries(count, self.params.key_bytes(), &mut rng(2));
        self.make(&entries, count, Transfers::Amortised).passed
    }

    /// Returns the number of rows that the database finds in them.
    pub fn rows(&self, passed: &[u8]) -> usize {
        open(&self.params, &self.database, passed).expect("entries").rows.len()
    }

    /// Runs all roles, with this many keys in stages of `stage`. There is a row for each key, all of which are told.
    pub fn run(&self, count: usize, stage: usize, transfers: Transfers) -> Taken {
        let entries = entries(count, self.params.key_bytes(), &mut rng(2));
        let Made { setup, cpu, passed, bytes } = self.make(&entries, stage, transfers);
        let (rows, database) = milliseconds(|| open(&self.params, &self.database, &passed).expect("entries").rows);
        assert_eq!(rows.len(), count, "every key has its row");
        let sealed: Vec<&[u8]> = rows.iter().map(|row| &row.sealed[..]).collect();
        let (asked, asking) = milliseconds(|| ask(&self.params, &self.keys, &sealed, &mut rng(7)).expect("rows"));
        // The first of these: a table of strings is made in some groups.
        self.check(&rows, &asked, &entries, 1);
        let told = count.min(50);
        let (_, oracle) = milliseconds(|| self.check(&rows, &asked, &entries, told));
        let oracle = oracle * count as f64 / told as f64;
        Taken { setup, proxy: cpu[0], participant: cpu[1], database, asking, oracle, bytes }
    }

    /// Checks that the oracle tells the first of the keys.
    fn check(&self, rows: &[ReportRow], asked: &[u8], entries: &[Entry], count: usize) {
        let least = RevealThreshold { count: 1, distinct: 1 };
        let reporters: &[u32] = if self.params.distinct() { &[0] } else { &[] };
        let sealed = asked.chunks(self.params.sealed_bytes());
        for ((row, sealed), entry) in rows.iter().zip(sealed).zip(entries).take(count) {
            let told = answer(&self.params, &self.proxy, &row.id, sealed, reporters, least).expect("a question");
            assert!(told == RowAnswer::Key(entry.key.clone()), "the oracle tells another key");
        }
    }

    /// The function's inputs of keys.
    fn inputs(&self, entries: &[Entry]) -> Zeroizing<Vec<u8>> {
        let length = self.params.key_points() * G::EMBEDDED_BYTES;
        let padded = |entry: &Entry| {
            let mut padded = Zeroizing::new(vec![0; length]);
            padded[..entry.key.len()].copy_from_slice(&entry.key);
            padded
        };
        inputs(&self.params, &entries.iter().map(padded).collect::<Vec<_>>())
    }

    /// The pure steps one after the other, which `measured` wraps.
    fn steps(&self, count: usize, form: TransferForm, mut measured: impl FnMut(Step, &G)) {
        let (group, bytes) = (self.params.group(), self.proxy.function().input_bytes());
        let entries = entries(count, self.params.key_bytes(), &mut rng(2));
        let inputs = self.inputs(&entries);
        measured(Step::Start, group);
        let made = offer(group, self.proxy.function(), count, form, &mut rng(5));
        measured(Step::Offer, group);
        let blinds = group.decode(&made.blinds).expect("points");
        let length = group.scalar_bytes();
        let bit = |index: usize| usize::from(inputs[index / 8] >> (index % 8) & 1);
        let chosen = |(index, pair): (usize, &[u8])| pair[bit(index) * length..][..length].to_vec();
        let chosen = Zeroizing::new(made.pairs.chunks(2 * length).enumerate().flat_map(chosen).collect::<Vec<_>>());
        measured(Step::Start, group);
        let values = evaluate(group, bytes, &blinds, &chosen);
        measured(Step::Evaluate, group);
        let again = [values.clone(), blinds];
        measured(Step::Start, group);
        let reports = report(&self.params, &self.keys, ("bench", 0), &entries, values, &mut rng(6)).expect("pairs");
        measured(Step::Report, group);
        let passed = match form {
            TransferForm::Blinded => {
                let of = (&self.params, &self.keys, &self.proxy);
                unblind(of, ("bench", 0), &reports, &made.unblind, &mut rng(7)).expect("reports")
            }
            TransferForm::Plain => basic::pass(&self.params, &reports).expect("reports"),
        };
        measured(Step::Unblind, group);
        let rows = open(&self.params, &self.database, &passed).expect("entries").rows;
        measured(Step::Open, group);
        let sealed: Vec<&[u8]> = rows.iter().map(|row| &row.sealed[..]).collect();
        if form == TransferForm::Blinded {
            ask(&self.params, &self.keys, &sealed, &mut rng(7)).expect("rows");
        }
        measured(Step::Ask, group);
        // Powers alone, for the parts of the steps above.
        let powers = group.random_scalars(count, &mut rng(8));
        measured(Step::Start, group);
        group.multiply_generator(&powers);
        measured(Step::Generator, group);
        again.iter().for_each(|points| drop(group.multiply_each(points, &powers)));
        measured(Step::Powers, group);
    }

    /// Measures the duration of the steps.
    pub fn parts(&self, count: usize) -> Parts {
        let mut taken = [0.0; 9];
        let mut last = tacita_node::base::usage::cpu_time();
        self.steps(count, TransferForm::Blinded, |step, _| {
            let now = tacita_node::base::usage::cpu_time();
            taken[step as usize] = 1e3 * (now - last).as_secs_f64();
            last = tacita_node::base::usage::cpu_time();
        });
        let of = |step: Step| taken[step as usize];
        Parts {
            proxy: [of(Step::Offer), of(Step::Generator), of(Step::Unblind), of(Step::Powers)],
            participant: [of(Step::Evaluate), of(Step::Powers) / 2.0, of(Step::Report)],
        }
    }
}

/// A step that has just ended.
#[derive(Clone, Copy)]
enum Step {
    Start,
    Offer,
    Evaluate,
    Report,
    Unblind,
    Open,
    Ask,
    Generator,
    Powers,
}

/// Products of points a key: alone and in sums, of participant, proxy and database.
pub fn products<G: Embedding + Sync>(group: G, key_bytes: usize, distinct: bool, form: TransferForm) -> [[f64; 2]; 3] {
    const KEYS: usize = 256;
    let round = Round::new(Counting::new(group), key_bytes, distinct);
    let mut counted = [[0; 2]; 9];
    round.steps(KEYS, form, |step, group| {
        counted[step as usize] = group.take();
    });
    let of = |steps: &[Step]| {
        [0, 1].map(|kind| steps.iter().map(|step| counted[*step as usize][kind] as f64).sum::<f64>() / KEYS as f64)
    };
    [of(&[Step::Evaluate, Step::Report]), of(&[Step::Offer, Step::Unblind]), of(&[Step::Open, Step::Ask])]
}
