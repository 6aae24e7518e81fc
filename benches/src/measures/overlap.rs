//! Overlap of computation and network in a channel, and the cost of TLS.
//!
//! The sender computes each chunk and sends it; the receiver takes the chunks. Both talk TLS over the loopback
//! interface, which is shaped to a link. Compared are computation alone, the network alone, the channel, and strict
//! alternation: the sender computes the next chunk only when the receiver has acknowledged the last. Of several runs
//! the best counts: other work on the machine only ever adds to a time.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use clap::Parser;
use serde_json::json;
use tacita_bench::{Sample, about, measure};
use tacita_core::Channel;
use tacita_core::channel::{Label, MAX_PAYLOAD_BYTES};
use tacita_node::identity::{Identity, VALIDITY};
use tacita_node::transport::{LinkShape, Options, Peer, dial, listen};

const CHUNK: Label = Label::new(1, "chunk");
const ACKNOWLEDGEMENT: Label = Label::new(2, "acknowledgement");

const CHUNK_BYTES: usize = 1 << 18;

struct Link {
    name: &'static str,
    shape: LinkShape,
    chunks: usize,
}

#[derive(Parser)]
#[command(about = about(include_str!("overlap.rs")))]
struct Arguments {
    /// Chunks of a run; by default 250 over the fast link, 36 over the slow one, 1000 without a limit
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    chunks: Option<u16>,
    /// Runs of each measurement
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// File for all numbers as JSON, made anew
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn main() {
    let Arguments { chunks, runs, json: file } = Arguments::parse_from(tacita_bench::arguments());
    let chunks_or = |default| chunks.map_or(default, usize::from);
    let links = [
        Link { name: "1 Gbit/s, 0.1 ms", shape: shape(100, 1_000_000_000), chunks: chunks_or(250) },
        Link { name: "100 Mbit/s, 50 ms", shape: shape(50_000, 100_000_000), chunks: chunks_or(36) },
    ];
    println!("{:18} {:>8} {:>9} {:>9} {:>9} {:>9}", "link", "ratio", "compute", "network", "channel", "alternate");
    let mut rows = Vec::new();
    for link in &links {
        let transfer = CHUNK_BYTES as f64 * 8.0 / link.shape.bandwidth.expect("a shaped link") as f64;
        for ratio in [0.25, 1.0, 4.0] {
            let each = Duration::from_secs_f64(transfer * ratio);
            // Taken in turns, so that a busy machine bears on all of them alike.
            let mut seconds = [const { Vec::new() }; 4];
            for _ in 0..runs {
                seconds[0].push(time(|| (0..link.chunks).for_each(|_| work(each))));
                seconds[1].push(pipeline(link, Duration::ZERO, false));
                seconds[2].push(pipeline(link, each, false));
                seconds[3].push(pipeline(link, each, true));
            }
            let [compute, network, channel, alternate] = seconds.map(|runs| least(&runs));
            println!("{:18} {ratio:8} {compute:8.2}s {network:8.2}s {channel:8.2}s {alternate:8.2}s", link.name);
            rows.push(
                json!({ "link": link.name, "ratio": ratio, "bytes": link.chunks * CHUNK_BYTES, "compute": compute,
                "network": network, "channel": channel, "alternate": alternate }),
            );
        }
    }
    let throughput = [("one way", false), ("both ways", true)].map(|(name, both)| {
        let runs: Vec<_> = (0..runs).map(|_| raw(chunks_or(1000), both)).collect();
        let wall = least(&runs.iter().map(|run| run.0).collect::<Vec<_>>());
        let cpu = least(&runs.iter().map(|run| run.1).collect::<Vec<_>>());
        let gigabits = 8.0 / wall;
        println!("TLS channel, {name}: {gigabits:.1} Gbit/s, {cpu:.2} CPU seconds per GB (both ends together)");
        json!({ "direction": name, "gigabits_per_second": gigabits, "cpu_seconds_per_gigabyte": cpu })
    });
    if let Some(path) = file {
        let all = json!({ "chunk_bytes": CHUNK_BYTES, "overlap": rows, "throughput": throughput });
        std::fs::write(&path, format!("{all:#}\n")).expect("the JSON file can be written");
    }
}

fn shape(latency_microseconds: u64, bandwidth: u64) -> LinkShape {
    LinkShape { latency: Duration::from_micros(latency_microseconds), bandwidth: Some(bandwidth) }
}

/// Connects two ends, and returns their channels.
fn connect(shape: LinkShape) -> (Channel, Channel) {
    let now = SystemTime::now();
    let [one, other] = ["one", "other"].map(|name| Identity::generate(name, now, now + VALIDITY).expect("an identity"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let options = Options { shape, ..Options::default() };
    let expect = |identity: &Identity| Peer { name: identity.name().into(), pin: identity.fingerprint() };
    std::thread::scope(|scope| {
        let listening = scope.spawn(|| listen(&listener, &expect(&other), &one, &options).expect("a connection"));
        let dialed = dial(&address, &expect(&one), &other, &options).expect("a connection");
        (listening.join().expect("no panic").channel, dialed.channel)
    })
}

/// Seconds from the first chunk's computation until the receiver has the last chunk.
fn pipeline(link: &Link, each: Duration, alternate: bool) -> f64 {
    let (mut sender, mut receiver) = connect(link.shape);
    let chunks = link.chunks;
    let start = Instant::now();
    let receiving = std::thread::spawn(move || {
        for _ in 0..chunks {
            receiver.receive(CHUNK, CHUNK_BYTES).expect("a chunk");
            if alternate {
                receiver.send(ACKNOWLEDGEMENT, vec![1]).expect("sent");
            }
        }
        let end = Instant::now();
        receiver.finish().expect("a good end");
        end
    });
    for _ in 0..chunks {
        work(each);
        sender.send(CHUNK, vec![7; CHUNK_BYTES]).expect("sent");
        if alternate {
            sender.receive(ACKNOWLEDGEMENT, 1).expect("an acknowledgement");
        }
    }
    sender.finish().expect("a good end");
    (receiving.join().expect("no panic") - start).as_secs_f64()
}

/// Seconds and CPU seconds per gigabyte of a link that is not shaped.
fn raw(chunks: usize, both: bool) -> (f64, f64) {
    let (one, other) = connect(LinkShape::default());
    let side = |mut channel: Channel, sends: bool, receives: bool| {
        let count = |is: bool| if is { chunks } else { 0 };
        channel
            .duplex(
                |out| (0..count(sends)).try_for_each(|_| out.send(CHUNK, vec![7; MAX_PAYLOAD_BYTES])),
                |inc| (0..count(receives)).try_for_each(|_| inc.receive(CHUNK, MAX_PAYLOAD_BYTES).map(drop)),
            )
            .expect("a transfer");
        channel.finish().expect("a good end");
    };
    let ((), Sample { wall, cpu }) = measure(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| side(one, true, both));
            side(other, both, true);
        });
    });
    let gigabytes = (chunks * MAX_PAYLOAD_BYTES) as f64 * if both { 2.0 } else { 1.0 } / 1e9;
    (wall.as_secs_f64() / gigabytes, cpu.as_secs_f64() / gigabytes)
}

/// Keeps a core busy for so long. A fixed amount of work would take longer on a machine that does other things too,
/// differently so in each of the runs that are compared.
fn work(each: Duration) {
    let end = Instant::now() + each;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn time(act: impl FnOnce()) -> f64 {
    let start = Instant::now();
    act();
    start.elapsed().as_secs_f64()
}
