//! The figures of Yang, Wright & Subramaniam, "Experimental analysis of a privacy-preserving scalar product protocol"
//! (2006), measured with this program's `paillier`, and beside the numbers that the paper's text gives.
//!
//! Each party has one thread, and all are in this process, with nothing between them. What counts are the CPU seconds
//! of each. The paper names no rate of its network ("an Ethernet"): bytes are counted, and their transfer is computed
//! at [`LINK_BITS_PER_SECOND`]. Keys are made beforehand.

use std::io::{Result, Write};

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use serde_json::{Value, json};
use tacita_bench::pair::Pair;
use tacita_bench::{All, Json, Repeat, about, key_size, measure, median};
use tacita_core::Channel;
use tacita_core::primitive::kernel::backend;
use tacita_core::primitive::ot::Choices;
use tacita_core::primitive::paillier::{KeySize, PaillierCiphertexts, PaillierSecretKey};
use tacita_core::protocol::dot::paillier::{
    self, EncryptionSource, LiveEncryptions, Params, Stock, Store, Taken, clients,
};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};

const LINK_BITS_PER_SECOND: f64 = 100e6;

/// Number of rows for which the paper's text gives numbers.
const PAPER_ROWS: usize = 200_000;

/// Bits of keys and rows: 512 and 1024 are the paper's, 2048 and 3072 what is used today.
const SOME: [(usize, &[usize]); 4] =
    [(512, &[10_000, 50_000, 200_000]), (1024, &[10_000, 50_000, 200_000]), (2048, &[10_000]), (3072, &[5_000])];
const FULL: [(usize, &[usize]); 4] = [
    (512, &[10_000, 100_000, 200_000, 300_000, 400_000, 500_000]),
    (1024, &[10_000, 100_000, 200_000, 300_000, 400_000, 500_000]),
    (2048, &[10_000, 50_000]),
    (3072, &[10_000, 20_000]),
];

/// Way in which the protocol is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Figures 2 to 5: all is encrypted before the first ciphertext leaves.
    Plain,
    /// Figure 6: in chunks of 100 rows.
    Batched,
    /// Figure 7: with encryptions of zeros and ones made before.
    Prepared,
    /// Figure 10: three clients encrypt a third each.
    Clients,
}

impl Way {
    const ALL: [Way; 4] = [Way::Plain, Way::Batched, Way::Prepared, Way::Clients];

    fn name(self) -> &'static str {
        match self {
            Way::Plain => "plain",
            Way::Batched => "chunks of 100",
            Way::Prepared => "preprocessed",
            Way::Clients => "3 clients",
        }
    }

    fn clients(self) -> usize {
        if self == Way::Clients { 3 } else { 1 }
    }

    /// Rows of a message, as many as possible where the paper does not say.
    fn chunk(self) -> usize {
        if self == Way::Batched { 100 } else { usize::MAX }
    }
}

/// One run. Times in seconds.
struct Point {
    bits: usize,
    rows: usize,
    way: Way,
    /// CPU time of each client: online.
    encryptors: Vec<f64>,
    /// CPU time of the party that multiplies, with all clients.
    answerer: f64,
    /// CPU time for encryptions that were made before.
    prepared: f64,
    /// Measured on this machine, without a network.
    wall: f64,
    /// Number of bytes, both ways.
    bytes: u64,
}

impl Point {
    /// CPU time of the client that works longest.
    fn encryptor(&self) -> f64 {
        self.encryptors.iter().copied().fold(0.0, f64::max)
    }

    fn transfer(&self) -> f64 {
        self.bytes as f64 * 8.0 / LINK_BITS_PER_SECOND
    }

    /// One after the other: encrypting, transfer, multiplying.
    fn in_turns(&self) -> f64 {
        self.encryptor() + self.transfer() + self.answerer
    }

    /// Returns the time with all three at once: no longer than the longest.
    fn overlapped(&self) -> f64 {
        self.encryptor().max(self.transfer()).max(self.answerer)
    }

    fn print(&self) {
        println!(
            "| {} | {} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} % |",
            self.bits,
            self.rows,
            self.way.name(),
            self.prepared,
            self.encryptor(),
            self.answerer,
            self.wall,
            self.bytes as f64 / 1e6,
            self.transfer(),
            self.in_turns(),
            self.overlapped(),
            1e2 * self.encryptor() / self.in_turns()
        );
    }

    fn to_json(&self) -> Value {
        json!({
            "bits": self.bits,
            "rows": self.rows,
            "way": self.way.name(),
            "prepared_cpu": self.prepared,
            "encryptor_cpu": self.encryptors,
            "answerer_cpu": self.answerer,
            "wall": self.wall,
            "bytes": self.bytes,
            "transfer": self.transfer(),
            "in_turns": self.in_turns(),
            "overlapped": self.overlapped(),
        })
    }
}

#[derive(Parser)]
#[command(about = about(include_str!("paper_yws.rs")))]
struct Arguments {
    /// Points of the paper's curves: `some`, `full` for all, or bits of a key and rows, as in 1024:200000
    #[arg(default_value = "some", value_parser = points)]
    points: Vec<Points>,
    /// Repetitions of the rates of encryption; each point is one run
    #[command(flatten)]
    repeat: Repeat<5>,
    #[command(flatten)]
    all: All,
    #[command(flatten)]
    json: Json,
}

/// Bits of keys and rows.
type Points = Vec<(KeySize, usize)>;

fn points(text: &str) -> std::result::Result<Points, String> {
    let all = |list: [(usize, &[usize]); 4]| {
        let points = list.into_iter().flat_map(|(bits, rows)| rows.iter().map(move |&rows| (bits, rows)));
        points.map(|(bits, rows)| (KeySize::new(bits).expect("a length of keys"), rows)).collect()
    };
    match text.split_once(':') {
        None if text == "some" => Ok(all(SOME)),
        None if text == "full" => Ok(all(FULL)),
        Some((bits, rows)) => match rows.parse() {
            Ok(rows @ 3..=100_000_000) => Ok(vec![(key_size(bits)?, rows)]),
            _ => Err("rows are 3 to 100000000".into()),
        },
        None => Err("`some`, `full`, or BITS:ROWS".into()),
    }
}

pub fn main() -> Result<()> {
    let Arguments { points: wanted, repeat: Repeat { runs }, all: All { all }, json } =
        Arguments::parse_from(tacita_bench::arguments());
    let wanted = if all { vec![points("full").expect("a name of points")] } else { wanted };
    let mut json = json.file()?;
    let mut keep = |value: Value| json.as_mut().map_or(Ok(()), |file| writeln!(file, "{value}"));
    rates(runs).into_iter().try_for_each(&mut keep)?;
    let cores = std::thread::available_parallelism()?;
    println!("\nProducts by {}. {cores} cores: three clients and their server want 4.", backend::chosen().name());
    println!("With fewer only CPU times show what clients gain. Of three, the time of the busiest.");
    println!("Seconds; transfer computed at {:.0} Mbit/s.\n", LINK_BITS_PER_SECOND / 1e6);
    println!(
        "| bits | rows | way | prepared, CPU | encryptor, CPU | answerer, CPU | wall, measured | MB | transfer | in turns | overlapped | encryptor's part |"
    );
    println!("|{}", "---|".repeat(12));
    let mut points = Vec::new();
    for (size, rows) in wanted.into_iter().flatten() {
        for way in Way::ALL {
            let point = run(size, rows, way);
            point.print();
            keep(point.to_json())?;
            points.push(point);
        }
    }
    if points.iter().any(|point| point.rows == PAPER_ROWS) {
        beside_the_paper(&points);
    }
    Ok(())
}

/// Encryptions a second of CPU time by the key's owner, on one thread.
fn rates(runs: u32) -> [Value; 4] {
    println!("| bits | encryptions a second |\n|---|---|");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
    let rate = |bits: usize| {
        let key = PaillierSecretKey::generate(KeySize::new(bits).expect("a length of keys"), &mut rng(1));
        let zeros = key.public().encode(&vec![0; (1 << 41) / bits.pow(3)]);
        let seconds = (0..runs).map(|_| {
            let work = || key.encrypt(&zeros, &mut rng(2)).len();
            pool.install(|| measure(work).1.cpu.as_secs_f64())
        });
        let rate = zeros.len() as f64 / median(&seconds.collect::<Vec<_>>());
        println!("| {bits} | {rate:.0} |");
        json!({ "bits": bits, "encryptions_a_second": rate })
    };
    let rates = [512, 1024, 2048, 3072].map(rate);
    println!("\nphe 1.5 with gmpy2: 124 a second at 2048 bits, measured on a machine of this kind.");
    rates
}

/// Runs the protocol once, and checks the product.
fn run(size: KeySize, rows: usize, way: Way) -> Point {
    let (mine, theirs) = (Choices::random(rows, &mut rng(1)), Choices::random(rows, &mut rng(2)));
    let expected = mine.iter().zip(theirs.iter()).filter(|(mine, theirs)| mine & theirs).count() as u128;
    let count = way.clients();
    let modulus = shape(rows).value_modulus().expect("the rows are possible");
    // The paper's R. With several clients there is none: they learn the product.
    let own = match way {
        Way::Clients => Shares::new(modulus, vec![0]).expect("zero is below the modulus"),
        _ => Shares::random(modulus, 1, &mut rng(3)),
    };
    let blindings = clients::blindings(count, &own, &mut rng(4)).expect("there are clients");
    let mut ends = vec![None];
    for _ in 1..count {
        let (next, previous) = Channel::pair("before", "after");
        ends.extend([Some(next), Some(previous)]);
    }
    ends.push(None);
    let keys: Vec<_> =
        (0..count).map(|client| PaillierSecretKey::generate(size, &mut rng(10 + client as u8))).collect();
    let zeros_and_ones = || (0..rows as i64).map(|number| number & 1).collect();
    let (pool, before) = measure(|| (way == Way::Prepared).then(|| Made::new(&keys[0], zeros_and_ones())));
    let pools = std::iter::once(pool).chain(std::iter::repeat_with(|| None));
    let (parts, sample) = measure(|| {
        std::thread::scope(|scope| {
            let clients = keys.iter().zip(pools).zip(&blindings).zip(ends.chunks_mut(2)).enumerate();
            let running = clients.map(|(client, (((key, pool), blinding), ends))| {
                let slice = client * rows / count..(client + 1) * rows / count;
                let columns = [column(mine.slice(slice.clone())), column(theirs.slice(slice))];
                scope.spawn(move || one_client(way, key, pool, columns, modulus, blinding, ends))
            });
            let running: Vec<_> = running.collect();
            running.into_iter().map(|client| client.join().expect("no panic")).collect::<Vec<_>>()
        })
    });
    assert!(parts.iter().all(|part| part.sums.open(&own) == [expected]), "the product is wrong");
    Point {
        bits: size.bits(),
        rows,
        way,
        encryptors: parts.iter().map(|part| part.cpu[0] / 1e3).collect(),
        answerer: parts.iter().map(|part| part.cpu[1] / 1e3).sum(),
        prepared: before.cpu.as_secs_f64(),
        wall: sample.wall.as_secs_f64(),
        bytes: parts.iter().map(|part| part.bytes).sum(),
    }
}

/// Result of a client and of the other party's run with it: CPU milliseconds of both.
struct Part {
    sums: Shares,
    cpu: [f64; 2],
    bytes: u64,
}

/// A client's run, its neighbours' channels in `ends`, and the other party's with it.
fn one_client(
    way: Way,
    key: &PaillierSecretKey,
    pool: Option<Made>,
    [mine, theirs]: [Columns; 2],
    modulus: Modulus,
    blinding: &Shares,
    ends: &mut [Option<Channel>],
) -> Part {
    let rows = mine.rows();
    let params = Params::new(shape(rows), modulus, key.public().size(), None).expect("the shape is possible");
    let params = params.with_chunk(way.chunk());
    let [previous, next] = ends else { unreachable!("two neighbours") };
    let mut pair = Pair::new(1);
    let ((sums, _), _, cpu) = pair.run(
        |channel| {
            let shares = match (pool, way) {
                (Some(pool), _) => {
                    paillier::encrypt_over(&mine, &params, &mut Stock::new(key, pool, rows, rng(5)), channel)
                }
                (None, Way::Plain) => {
                    let integers = (0..rows).map(|row| mine.value(0, row)).collect();
                    paillier::encrypt_over(&mine, &params, &mut Made::new(key, integers), channel)
                }
                (None, _) => paillier::encrypt_over(&mine, &params, &mut LiveEncryptions::new(key, rng(5)), channel),
            }?;
            clients::sum_up(&shares, previous.as_mut(), next.as_mut())
        },
        |channel| paillier::answer_with(&theirs, &params, blinding, channel, &mut rng(6)),
    );
    Part { sums, cpu, bytes: pair.bytes().iter().sum() }
}

/// Encryptions that were all made at once, in memory.
struct Made<'a> {
    key: &'a PaillierSecretKey,
    ciphertexts: PaillierCiphertexts,
    integers: Vec<i64>,
    next: usize,
}

impl<'a> Made<'a> {
    fn new(key: &'a PaillierSecretKey, integers: Vec<i64>) -> Made<'a> {
        let ciphertexts = LiveEncryptions::new(key, rng(7)).take(&integers).expect("integers can be encrypted");
        Made { key, ciphertexts, integers, next: 0 }
    }

    fn advance(&mut self, count: usize) -> std::ops::Range<usize> {
        let start = self.next;
        self.next = self.integers.len().min(start + count);
        start..self.next
    }
}

/// Encryptions of the column.
impl EncryptionSource for Made<'_> {
    fn key(&self) -> &PaillierSecretKey {
        self.key
    }

    fn take(&mut self, integers: &[i64]) -> tacita_core::Result<PaillierCiphertexts> {
        let range = self.advance(integers.len());
        Ok(self.ciphertexts.select(range))
    }
}

/// Zeros and ones for any column.
impl Store for Made<'_> {
    fn take(&mut self, count: usize) -> tacita_core::Result<Taken> {
        let range = self.advance(count);
        Ok(Taken { ciphertexts: self.ciphertexts.select(range.clone()), integers: self.integers[range].to_vec() })
    }
}

/// Compares the results with the numbers in the paper's text. Its curves are pictures, from which nothing is read here.
fn beside_the_paper(points: &[Point]) {
    let find = |bits, way| points.iter().find(|point| (point.bits, point.rows, point.way) == (bits, PAPER_ROWS, way));
    let line =
        |what: &str, paper: &str, here: String, ratio: String| println!("| {what} | {paper} | {here} | {ratio} |");
    let seconds = |what: &str, paper: f64, point: &Point| {
        let here = format!("{:.2} s, of it {:.2} transfer", point.in_turns(), point.transfer());
        line(what, &format!("{paper} s"), here, format!("{:.1}", paper / point.in_turns()));
    };
    println!("\n| {PAPER_ROWS} rows | paper | here | ratio |\n|---|---|---|---|");
    let plain = [512, 1024].map(|bits| find(bits, Way::Plain));
    for (point, minutes) in plain.iter().zip([17.4, 80.7]) {
        if let Some(point) = point {
            seconds(&format!("figure 2: {} bits, overall", point.bits), minutes * 60.0, point);
            // The encryptor's part is 98 %.
            let rows = PAPER_ROWS as f64;
            let (paper, here) = (rows / (minutes * 60.0 * 0.98), rows / point.encryptor());
            let what = format!("from figures 2 and 3: {} bits, encryptions a second", point.bits);
            line(&what, &format!("{paper:.0}"), format!("{here:.0}"), format!("{:.0}", here / paper));
        }
    }
    if let [Some(short), Some(long)] = plain {
        let times = long.in_turns() / short.in_turns();
        let computing = (long.encryptor() + long.answerer) / (short.encryptor() + short.answerer);
        let here = format!("{times:.1} times; computing {computing:.1}");
        line("figure 2: 1024 bits against 512", "4.6 times", here, "-".into());
        let computing = long.encryptor() / (long.encryptor() + long.answerer);
        let here = format!("{:.0} %; of computing {:.0} %", 1e2 * long.encryptor() / long.in_turns(), 1e2 * computing);
        line("figure 3: 1024 bits, encryptor's part", "98 %", here, "-".into());
    }
    if let (Some(plain), Some(batched)) = (find(512, Way::Plain), find(512, Way::Batched)) {
        let less = format!("at most {:.0} % less", 1e2 * (1.0 - batched.overlapped() / plain.in_turns()));
        line("figure 6: 512 bits, chunks of 100, overall", "about 10 % less", less, "-".into());
    }
    if let Some(prepared) = find(1024, Way::Prepared) {
        seconds("figure 7: 1024 bits, online with preprocessing", 19.72, prepared);
    }
    if let (Some(plain), Some(clients)) = (find(1024, Way::Plain), find(1024, Way::Clients)) {
        let here = format!(
            "{:.2} times less; encrypting {:.2}",
            plain.in_turns() / clients.in_turns(),
            plain.encryptor() / clients.encryptor()
        );
        line("figure 10: 1024 bits, 3 clients, overall", "2.99 times less", here, "-".into());
    }
}

fn shape(rows: usize) -> Shape {
    Shape { rows, first: 1, second: 1, integers: Integers::BINARY }
}

fn column(bits: Choices) -> Columns {
    let mut columns = Columns::new(Integers::BINARY, bits.len());
    columns.push_bits(bits);
    columns
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}
