//! Traces of section 5.2: who reports what, as popular as such things are, always the same; and what should come out.

use std::collections::{BTreeMap, BTreeSet};

use rand_core::CryptoRng;

/// Things of which the i-th is 1/i times as popular as the first.
pub struct Popular(Vec<f64>);

impl Popular {
    /// Creates a distribution over this many things.
    pub fn new(things: usize) -> Popular {
        let sum = |sum: &mut f64, place: usize| {
            *sum += 1.0 / place as f64;
            Some(*sum)
        };
        Popular((1..=things).scan(0.0, sum).collect())
    }

    /// Draws one of the things.
    pub fn draw(&self, rng: &mut impl CryptoRng) -> usize {
        let all = self.0.last().copied().unwrap_or_default();
        let at = all * (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        self.0.partition_point(|sum| *sum <= at).min(self.0.len() - 1)
    }

    /// Draws this many different things, or all.
    pub fn draw_different(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<usize> {
        let mut drawn = BTreeSet::new();
        while drawn.len() < count.min(self.0.len()) {
            drawn.insert(self.draw(rng));
        }
        drawn.into_iter().collect()
    }
}

/// Addresses of attackers that each network has seen, all different: of 100,000 machines of a botnet.
pub fn attackers(networks: usize, each: usize, rng: &mut impl CryptoRng) -> Vec<Vec<String>> {
    let botnet = Popular::new(100_000);
    let address = |machine: usize| {
        // Spread over all of version 4, each machine one of its own.
        let [_, a, b, c] = (machine as u32).wrapping_mul(0x9e35).to_be_bytes();
        format!("{}.{a}.{b}.{c}", 11 + machine % 97)
    };
    let network = |_| botnet.draw_different(each, rng).into_iter().map(address).collect();
    (0..networks).map(network).collect()
}

/// Draws the observations of each host in an hour of the 30 servers that it knows: certificates, of which one in a
/// hundred is forged.
pub fn certificates(hosts: usize, each: usize, rng: &mut impl CryptoRng) -> Vec<Vec<String>> {
    let servers = Popular::new(10_000);
    let mut host = |_| {
        let known = servers.draw_different(30, rng);
        let mut observe = |_| {
            let server = known[rng.next_u64() as usize % known.len()];
            let certificate = match rng.next_u64() % 100 {
                0 => rng.next_u64() as u32,
                _ => (server as u32).wrapping_mul(0x9e37_79b1),
            };
            format!("s{server:05}-{certificate:08x}")
        };
        (0..each).map(&mut observe).collect()
    };
    (0..hosts).map(&mut host).collect()
}

/// The pages that each user looks at in a day, of 5,000, some of them more than once.
pub fn pages(users: usize, each: usize, rng: &mut impl CryptoRng) -> Vec<Vec<String>> {
    let pages = Popular::new(5_000);
    let mut user = |_| (0..each).map(|_| format!("page-{:04}", pages.draw(rng))).collect();
    (0..users).map(&mut user).collect()
}

/// The keys that at least so many report, and how often each is reported.
pub fn truth(reports: &[Vec<String>], distinct: usize) -> BTreeMap<String, usize> {
    let mut found: BTreeMap<&str, (usize, BTreeSet<usize>)> = BTreeMap::new();
    for (place, own) in reports.iter().enumerate() {
        for key in own {
            let (count, reporters) = found.entry(key).or_default();
            *count += 1;
            reporters.insert(place);
        }
    }
    let passed = found.into_iter().filter(|(_, (_, reporters))| reporters.len() >= distinct);
    passed.map(|(key, (count, _))| (key.to_owned(), count)).collect()
}
