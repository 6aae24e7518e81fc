//! Figure 3b: rates by the number of participants, over the service.

use std::io::Result;

use serde_json::json;
use tacita_bench::median;

use crate::measures::published::paper_raf::cores::{cores, stay_on};
use crate::measures::published::paper_raf::service::{Service, Terms};
use crate::measures::published::paper_raf::{Bench, VALUES, heading, paper};

/// One round: of proxy, database and all participants CPU seconds, and the seconds from the first report to the last.
struct Round {
    cpu: [f64; 3],
    wall: f64,
    bytes: [u64; 2],
}

/// A proxy with a core of its own, everything else on another.
pub fn figure_3b(bench: &mut Bench) -> Result<()> {
    let (participants, rate) = paper::PROXY_4_CORES;
    println!(
        "\npaper, on 4 cores each: proxies {rate} keys/s with {participants} participants; databases {}, always",
        paper::DATABASE_4_CORES
    );
    heading(
        "| figure 3b, ristretto255, 32 bits | participants | keys of each | proxy, keys/s of CPU | of wall time | its core is busy \
         | database, keys/s of CPU | participant, keys/s of CPU | kB a key |",
    );
    if cores() > 1 {
        stay_on(&format!("1-{}", cores() - 1))?;
    }
    for protocol in bench.protocols.clone() {
        for participants in bench.clients.clone() {
            tell(bench, protocol, participants)?;
        }
    }
    stay_on(&format!("0-{}", cores() - 1))
}

/// A line of the table: medians of several rounds.
fn tell(bench: &mut Bench, protocol: &'static str, participants: usize) -> Result<()> {
    let rounds = (0..bench.runs).map(|_| round(protocol, participants, bench.each)).collect::<Result<Vec<_>>>()?;
    let keys = (participants * bench.each) as f64;
    let of = |number: &dyn Fn(&Round) -> f64| median(&rounds.iter().map(number).collect::<Vec<_>>());
    let [proxy, database, participant] = [0, 1, 2].map(|role| keys / of(&|round| round.cpu[role].max(0.01)));
    let (wall, busy) = (keys / of(&|round| round.wall), of(&|round| round.cpu[0] / round.wall));
    let bytes = rounds[0].bytes;
    println!(
        "| {protocol} | {participants} | {} | {proxy:.0} | {wall:.0} | {:.0} % | {database:.0} | {participant:.0} | {:.1} |",
        bench.each,
        100.0 * busy,
        bytes.iter().sum::<u64>() as f64 / 1e3 / keys,
    );
    bench.keep(&json!({
        "figure": "3b", "protocol": protocol, "participants": participants, "each": bench.each, "runs": bench.runs,
        "proxy": proxy, "database": database, "participant": participant, "proxy_wall": wall, "busy": busy, "bytes": bytes,
    }))
}

/// Reports of different keys, none of which passes.
fn round(protocol: &'static str, participants: usize, each: usize) -> Result<Round> {
    let terms = Terms { protocol, key_bytes: 4, normalize: "none", values: VALUES, distinct: participants + 1 };
    let service = Service::start(&terms, 1, participants)?;
    let submitted = service.submit("key,value", &different(participants, each))?;
    assert!(service.result()?.is_empty(), "what nobody else has does not pass");
    let cpu = [service.proxies[0].cpu()?, service.database.cpu()?, submitted.cpu];
    Ok(Round { cpu, wall: submitted.wall, bytes: submitted.bytes })
}

/// Reports of which no two have the same key, of four characters, and each has a value.
pub fn different(participants: usize, each: usize) -> Vec<Vec<String>> {
    const CHARACTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let key = |number: usize| -> String {
        [15, 10, 5, 0].map(|shift| char::from(CHARACTERS[number >> shift & 31])).iter().collect()
    };
    let report = |number: usize| format!("{},{}", key(number), number as u32 % VALUES);
    let own = |place: usize| (place * each..(place + 1) * each).map(report).collect();
    (0..participants).map(own).collect()
}
