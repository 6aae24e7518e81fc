//! Cost of a union without curves, by oblivious switching, beside `union` by `ecdh` of the same sets in the same run:
//! CPU time and bytes by phase. Its phases up to the comparison are what circuit PSI takes. Times on a line of 1 Gbit/s
//! are computed from CPU times and bytes: each party's work, divided among its cores, and after it the busier
//! direction.

use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::pair::both;
use tacita_bench::switching::{self, Params, Phase};
use tacita_bench::{Repeat, Verdicts, about, median};
use tacita_core::primitive::ot::softspoken::MAX_K;
use tacita_core::protocol::union::{self, MemorySpace, ShuffledItems};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Item, Result, Role};
use tacita_node::base::usage;

/// Minimum CPU time of a union by `ecdh`, in that of one without curves, for which the latter is worth building.
const WIN: f64 = 1.5;

/// Bytes a second of a line of 1 Gbit/s.
const LINE: f64 = 125e6;

/// Cores of each party for which times are computed.
const CORES: [f64; 3] = [1.0, 2.0, 8.0];

/// Phases of the protocol that circuit PSI consists of.
const CIRCUIT_PSI: usize = 3;

#[derive(Parser)]
#[command(about = about(include_str!("union_switching.rs")))]
struct Arguments {
    /// Items of each party, as powers of two
    #[arg(default_values_t = [14, 16], value_parser = clap::value_parser!(u32).range(1..=22))]
    log2_items: Vec<u32>,
    /// Parameters k of the OT extension
    #[arg(long, value_delimiter = ',', default_values_t = [4, 8])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_K as i64))]
    k: Vec<u32>,
    /// Bytes that the sender gives for each item
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    payload: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
}

pub fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse_from(tacita_bench::arguments());
    let mut verdicts = Verdicts::default();
    for &log2_items in &arguments.log2_items {
        Size::new(log2_items, &arguments).measure(&mut verdicts)?;
    }
    let peak = usage::peak_memory().map_or("unknown".into(), |bytes| format!("{:.0} MiB", bytes as f64 / 1048576.0));
    println!("peak memory of both sides in this process: {peak}");
    Ok(verdicts.end())
}

/// Sets of one size, half of them common, and what is measured with them.
struct Size<'a> {
    log2_items: u32,
    receiver_items: Vec<Item>,
    sender_items: Vec<Item>,
    arguments: &'a Arguments,
}

impl Size<'_> {
    fn new(log2_items: u32, arguments: &Arguments) -> Size<'_> {
        let size = 1usize << log2_items;
        let items = |first: usize| -> Vec<Item> {
            (first..first + size).map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
        };
        Size { log2_items, receiver_items: items(0), sender_items: items(size / 2), arguments }
    }

    fn measure(&self, verdicts: &mut Verdicts) -> Result<()> {
        let size = self.receiver_items.len();
        let runs = self.arguments.repeat.runs;
        let mut by_ecdh = Vec::new();
        let mut by_switching: Vec<Vec<Vec<Phase>>> = vec![Vec::new(); self.arguments.k.len()];
        for run in 0..runs {
            by_ecdh.push(self.ecdh(run as u8)?);
            for (k, all) in self.arguments.k.iter().zip(&mut by_switching) {
                all.push(self.switching(*k as usize, run as u8));
            }
        }
        let ecdh = median(&by_ecdh);
        let params = union::Params::new(size, size, self.arguments.payload as usize);
        let ecdh_bytes = [Role::Sender, Role::Receiver].map(|role| params.bytes_sent_by(role));
        println!("2^{} items of each party, median of {runs}", self.log2_items);
        println!("| k | phase | CPU s of sender | of receiver | of both | bytes of sender | of receiver | of both |");
        println!("|---|---|---|---|---|---|---|---|");
        line("", "union by `ecdh`", [ecdh / 2.0; 2], ecdh, ecdh_bytes);
        let times = |cpu: [f64; 2], bytes: [u64; 2]| {
            CORES.map(|cores| cpu[0].max(cpu[1]) / cores + bytes[0].max(bytes[1]) as f64 / LINE)
        };
        let mut lines = vec![(String::from("`ecdh`"), times([ecdh / 2.0; 2], ecdh_bytes))];
        for (k, runs) in self.arguments.k.iter().zip(&by_switching) {
            let k = k.to_string();
            let sum = |phases: usize| {
                let of = |value: &dyn Fn(&Phase) -> f64| {
                    median(&runs.iter().map(|run| run[..phases].iter().map(value).sum()).collect::<Vec<f64>>())
                };
                let bytes = [0, 1].map(|side| runs[0][..phases].iter().map(|phase| phase.bytes[side]).sum::<u64>());
                ([of(&|phase| phase.cpu[0]), of(&|phase| phase.cpu[1])], of(&|phase| phase.process), bytes)
            };
            for (number, phase) in runs[0].iter().enumerate() {
                let of = |value: &dyn Fn(&Phase) -> f64| {
                    median(&runs.iter().map(|run| value(&run[number])).collect::<Vec<f64>>())
                };
                let cpu = [of(&|phase| phase.cpu[0]), of(&|phase| phase.cpu[1])];
                line(&k, phase.name, cpu, of(&|phase| phase.process), phase.bytes);
            }
            let (cpu, process, bytes) = sum(CIRCUIT_PSI);
            line(&k, "circuit PSI", cpu, process, bytes);
            let (cpu, process, bytes) = sum(runs[0].len());
            line(&k, "all", cpu, process, bytes);
            lines.push((format!("switching, k = {k}"), times(cpu, bytes)));

            let ratio = median(&by_ecdh.iter().zip(runs).map(|(ecdh, run)| ecdh / total(run)).collect::<Vec<f64>>());
            let what = format!("2^{}, k = {k}: CPU time of `ecdh`, in that of switching", self.log2_items);
            verdicts.add(format!("{what}: {ratio:.2} (target {WIN})"), ratio >= WIN);
            let extra = (bytes.iter().sum::<u64>() as f64 - ecdh_bytes.iter().sum::<u64>() as f64) / LINE;
            let saved = (ecdh - process) / 2.0;
            verdicts.add(
                format!("  seconds of the line for its further bytes: {extra:.2} (target {saved:.2}, the time saved on one core)"),
                extra <= saved,
            );
        }
        println!("| computed seconds at 1 Gbit/s | 1 core each | 2 | 8 |");
        println!("|---|---|---|---|");
        for (name, times) in lines {
            println!("| {name} | {} |", times.map(|seconds| format!("{seconds:.2}")).join(" | "));
        }
        Ok(())
    }

    /// CPU seconds of both parties.
    fn ecdh(&self, run: u8) -> Result<f64> {
        let (size, payload) = (self.sender_items.len(), self.arguments.payload as usize);
        let params = union::Params::new(size, size, payload);
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let rng = |role: u8| ChaCha20Rng::from_seed([100 * role + run; 32]);
        let (outcome, sample) = both(
            |channel| {
                let mut missing = 0;
                let mut take = |_: &[u8]| {
                    missing += 1;
                    Ok(())
                };
                let (items, rng) = (&self.receiver_items[..], &mut rng(0));
                union::ecdh::receive(items, &MemorySpace, &session, &params, channel, rng, &mut take)?;
                Ok(missing)
            },
            |channel| {
                let given = |_: usize, out: &mut Vec<u8>| out.resize(out.len() + payload, 7);
                let given = ShuffledItems::new(&self.sender_items, &given, &mut rng(2))?;
                union::ecdh::send(&given, &MemorySpace, &session, &params, channel, &mut rng(1))
            },
        );
        assert_eq!(outcome?.0, size / 2, "the union by ecdh is wrong");
        Ok(sample.cpu.as_secs_f64())
    }

    fn switching(&self, k: usize, run: u8) -> Vec<Phase> {
        let (size, payload_bytes) = (self.sender_items.len(), self.arguments.payload as usize);
        let params = Params { receiver_items: size, sender_items: size, payload_bytes, k };
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let payload = |_: usize, out: &mut Vec<u8>| out.resize(out.len() + payload_bytes, 7);
        let mut rng = ChaCha20Rng::from_seed([50 + run; 32]);
        let (missing, phases) =
            switching::run(&self.receiver_items, &self.sender_items, &payload, params, &session, &mut rng);
        assert!(missing.len() == size / 2 && missing.iter().all(|given| given.iter().all(|byte| *byte == 7)));
        phases
    }
}

/// CPU seconds of both parties.
fn total(phases: &[Phase]) -> f64 {
    phases.iter().map(|phase| phase.process).sum()
}

fn line(k: &str, name: &str, cpu: [f64; 2], process: f64, bytes: [u64; 2]) {
    println!(
        "| {k} | {name} | {:.3} | {:.3} | {process:.3} | {} | {} | {} |",
        cpu[0],
        cpu[1],
        bytes[0],
        bytes[1],
        bytes[0] + bytes[1]
    );
}
