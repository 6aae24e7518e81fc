//! Cost of buckets: `vole` and `ecdh` from items to common items, whole and in 16 buckets on one or two lanes. The
//! buckets are in memory. Both parties run in this process on the same threads, so that CPU time is that of both
//! together. Bytes are those of the sender and of the receiver.

use std::io::Result;
use std::sync::Mutex;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::{Json, Repeat, Row, about, measure, median};
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::buckets::{
    self, BucketProtocol, BucketSource, BucketsParty, BucketsRun, Params, bucket_of,
};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Item, Role};
use tacita_node::base::usage;

#[derive(Parser)]
#[command(about = about(include_str!("intersect_buckets.rs")))]
struct Arguments {
    /// Items of each party in `vole`, as a power of two
    #[arg(default_value_t = 20, value_parser = clap::value_parser!(u32).range(4..=26))]
    log2_vole: u32,
    /// Items of each party in `ecdh`, as a power of two
    #[arg(default_value_t = 12, value_parser = clap::value_parser!(u32).range(4..=20))]
    log2_ecdh: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> Result<()> {
    let Arguments { log2_vole, log2_ecdh, repeat: Repeat { runs }, json } =
        Arguments::parse_from(tacita_bench::arguments());
    let mut table = json.table()?;
    for (protocol, size) in
        [(BucketProtocol::Vole, 1 << log2_vole), (BucketProtocol::Ecdh(Suite::Ristretto255), 1 << log2_ecdh)]
    {
        for (buckets, lanes) in [(16, 1), (16, 2), (1, 1)] {
            table.add(&row(protocol, size, buckets, lanes, runs))?;
        }
    }
    Ok(())
}

fn row(protocol: BucketProtocol, n: usize, buckets: usize, lanes: usize, runs: u32) -> Row {
    let params = Params::new(protocol, n, n, buckets, lanes).expect("the sizes are possible");
    let (mut walls, mut cpus, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..runs {
        let (traffic, sample) = measure(|| both(&params, n, run as u8));
        walls.push(sample.wall.as_secs_f64() * 1e3);
        cpus.push(sample.cpu.as_secs_f64() * 1e3);
        bytes = traffic;
    }
    Row {
        primitive: format!("{protocol:?}").to_lowercase(),
        variant: format!("{buckets} buckets, {lanes} lanes"),
        n,
        threads: rayon::current_num_threads(),
        wall_ms: median(&walls),
        cpu_ms: vec![median(&cpus)],
        bytes,
        peak_memory: usage::peak_memory(),
    }
}

/// Runs both parties, and returns the bytes that the sender and the receiver have sent.
fn both(params: &Params, n: usize, run: u8) -> Vec<u64> {
    let (receiver, sender) = Channel::pair("receiver", "sender");
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| party(Role::Sender, n / 2..n / 2 + n, params, sender, run).0);
        let (received, common) = party(Role::Receiver, 0..n, params, receiver, run);
        assert_eq!(common, n - n / 2, "the intersection is wrong");
        vec![sending.join().expect("the sender does not panic"), received]
    })
}

/// Bytes that a party has sent, and how many of its items are common.
fn party(role: Role, keys: std::ops::Range<usize>, params: &Params, mut channel: Channel, run: u8) -> (u64, usize) {
    let session = Session::new(Transcript::new(&format!("bench {run}")));
    let mut rng = ChaCha20Rng::from_seed([2 * run + role as u8; 32]);
    let commitment = [role as u8; 32];
    let agreed = buckets::agree(
        BucketsParty { place: role as usize, commitment: &commitment, kept: None },
        &[0; 32],
        &params.shape(),
        &session,
        std::slice::from_mut(&mut channel),
        &mut rng,
    )
    .expect("both start");
    let source = Memory::new(keys, params.buckets, &agreed.run);
    buckets::run(role, &agreed.remaining, &source, params, &session, &mut channel, &mut rng).expect("both succeed");
    (channel.finish().expect("both end").sent, source.common.into_inner().expect("no lane panicked"))
}

struct Memory {
    buckets: Vec<Vec<Item>>,
    common: Mutex<usize>,
}

impl Memory {
    fn new(keys: std::ops::Range<usize>, count: usize, run: &BucketsRun) -> Memory {
        let mut buckets = vec![Vec::new(); count];
        for key in keys {
            let item = Item::new(&run.item_key(), &key.to_le_bytes());
            buckets[bucket_of(&item, count)].push(item);
        }
        Memory { buckets, common: Mutex::default() }
    }
}

impl BucketSource for Memory {
    fn load(&self, bucket: usize) -> tacita_core::Result<Vec<Item>> {
        Ok(self.buckets[bucket].clone())
    }

    fn finish(&self, _: usize, common: Option<&[usize]>) -> tacita_core::Result<()> {
        *self.common.lock().expect("no lane panicked") += common.map_or(0, <[usize]>::len);
        Ok(())
    }
}
