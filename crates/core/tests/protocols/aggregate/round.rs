//! A round in memory: all roles, with everything that passes between them; those of participant and proxy are those of
//! `dh` here.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::primitive::group::{Embedding, Group, Ristretto255};
use tacita_core::primitive::shuffle::random_order;
use tacita_core::protocol::aggregate::*;
use tacita_core::session::{Session, Transcript};

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// The session of the round with this name.
pub fn session(round: &str) -> Session {
    let mut transcript = Transcript::new("test");
    transcript.append("round", round.as_bytes());
    Session::new(transcript)
}

/// Round of a test: parameters, all keys, and a source of randomness.
pub struct Round<K = ProxyKey, G: Group = Ristretto255> {
    pub params: Params<G>,
    pub proxy: K,
    pub database: DatabaseKey<G>,
    pub keys: RoundKeys<G>,
    /// Public keys that the database and the proxy have published.
    pub public: (Vec<u8>, Vec<u8>),
    pub rng: ChaCha20Rng,
}

/// A report of one key, and its value.
pub fn entry(key: impl AsRef<[u8]>, value: u32) -> Entry {
    Entry { key: key.as_ref().to_vec(), value }
}

/// Keys that the oracle has told, and the values that the database then had for each, in order.
pub type Revealed = BTreeMap<Vec<u8>, Vec<u32>>;

impl Round {
    pub fn new(key_bytes: usize, values: u32, distinct: bool, seed: u64) -> Round {
        let params = Params::new(session("one"), key_bytes, values, distinct).unwrap();
        let mut rng = rng(seed);
        let proxy = ProxyKey::generate(&params, &mut rng);
        Round::of(params, proxy, rng)
    }

    /// The reports of a participant, from number 0 on.
    pub fn report(&mut self, participant: &str, entries: &[Entry]) -> Vec<u8> {
        report(&self.params, &self.keys, participant, 0, entries, &mut self.rng).unwrap()
    }

    /// Makes the proxy's entries of the reports of a participant.
    pub fn blind(&mut self, participant: &str, reports: &[u8]) -> Result<Vec<u8>, Refused> {
        blind(&self.params, &self.keys, &self.proxy, participant, 0, reports, &mut self.rng)
    }

    /// The entries of all participants, shuffled.
    pub fn entries<'a>(&mut self, reported: impl IntoIterator<Item = (&'a str, &'a [Entry])>) -> Vec<u8> {
        let mut all = Vec::new();
        for (participant, entries) in reported {
            let reports = self.report(participant, entries);
            all.extend(self.blind(participant, &reports).unwrap());
        }
        self.shuffle(&all)
    }
}

impl<K: RowFunction<G>, G: Embedding + Sync> Round<K, G> {
    /// The round of a proxy.
    pub fn of(params: Params<G>, proxy: K, mut rng: ChaCha20Rng) -> Round<K, G> {
        let database = DatabaseKey::generate(&params, &mut rng);
        let public = (database.public(&params, &mut rng), proxy.blinding().public(&params, &mut rng));
        let keys = RoundKeys::new(&params, &public.0, &public.1, &mut rng).unwrap();
        Round { params, proxy, database, keys, public, rng }
    }

    pub fn shuffle(&mut self, entries: &[u8]) -> Vec<u8> {
        let length = self.params.entry_bytes();
        let order = random_order(entries.len() / length, &mut self.rng);
        order.iter().flat_map(|&from| entries[from as usize * length..][..length].to_vec()).collect()
    }

    /// The rows that the database has, by their ids.
    pub fn rows(&self, entries: &[u8]) -> BTreeMap<[u8; 32], Vec<ReportRow>> {
        let mut rows = BTreeMap::<_, Vec<ReportRow>>::new();
        for row in open(&self.params, &self.database, entries).unwrap().rows {
            rows.entry(row.id).or_default().push(row);
        }
        rows
    }

    /// Returns the oracle's answer about a row, whose entries it is asked about in this order.
    pub fn ask(&mut self, row: &[ReportRow], least: RevealThreshold) -> RowAnswer {
        let sealed: Vec<&[u8]> = row.iter().map(|entry| &entry.sealed[..]).collect();
        let asked = ask(&self.params, &self.keys, &sealed, &mut self.rng).unwrap();
        let reporters = if self.params.distinct() { classes(row) } else { Vec::new() };
        answer(&self.params, &self.proxy, &row[0].id, &asked, &reporters, least).unwrap()
    }

    /// Reveals all keys of rows that have enough entries, after those that the oracle found inconsistent are dropped.
    pub fn reveal(&mut self, entries: &[u8], least: RevealThreshold) -> Revealed {
        let mut revealed = Revealed::new();
        for (_, mut row) in self.rows(entries) {
            while passes(&row, least) {
                match self.ask(&row, least) {
                    RowAnswer::Key(key) => {
                        let mut values: Vec<u32> = row.iter().map(|entry| entry.value).collect();
                        values.sort_unstable();
                        assert!(revealed.insert(key, values).is_none(), "two rows have one key");
                        break;
                    }
                    RowAnswer::Inconsistent(places) => {
                        let mut place = 0..;
                        row.retain(|_| !places.contains(&place.next().unwrap()));
                    }
                    RowAnswer::TooFew => break,
                }
            }
        }
        revealed
    }
}

/// A number for each entry that says which have the same tag.
pub fn classes(row: &[ReportRow]) -> Vec<u32> {
    let place = |entry: &ReportRow| row.iter().position(|other| other.tag == entry.tag).unwrap() as u32;
    row.iter().map(place).collect()
}

/// Whether the database sees enough in a row.
pub fn passes(row: &[ReportRow], least: RevealThreshold) -> bool {
    let mut classes = classes(row);
    classes.sort_unstable();
    classes.dedup();
    !row.is_empty() && row.len() >= least.count as usize && classes.len() >= least.distinct as usize
}
