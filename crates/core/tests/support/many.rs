//! Intersections among any number of parties: inputs, a run with every party on a thread of its own, and what all
//! should learn.

use std::collections::HashSet;
use std::sync::Mutex;

use tacita_core::channel::Traffic;
use tacita_core::protocol::intersect::opprf::ideal;
use tacita_core::protocol::intersect::star::{self, Gives, MeshLink, Params, StarMatches, StarParty};
use tacita_core::protocol::intersect::tag_exchange::Payload;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Item, Result};
use zeroize::Zeroizing;

use super::{items, payload_of, rng, session};

/// Inputs of all parties.
pub struct Many {
    pub items: Vec<Vec<Item>>,
    pub rows: Vec<Option<Payload>>,
    pub params: Params,
    /// Whether functions are a trusted dealer's.
    pub ideal: bool,
}

/// Output of a party's run, and the traffic of its links after a good end.
pub type Ended = Result<(Option<StarMatches>, Vec<Traffic>)>;

/// Result that a party should learn: its items, and the rows of each other that gives.
pub type Expected = (Vec<usize>, Vec<(usize, Payload)>);

/// Connection between two parties: each end's own channel.
pub type Wire<'a> = &'a dyn Fn(usize, usize) -> (Channel, Channel);

/// Connects two parties through memory only.
pub fn in_memory(one: usize, other: usize) -> (Channel, Channel) {
    Channel::pair(&one.to_string(), &other.to_string())
}

impl Many {
    /// Sets of these numbers, each announced with so many dummies; the party at `leader` leads, the `learners` learn,
    /// the `givers` give rows of 5 bytes and their place.
    pub fn new(sets: &[Vec<usize>], padding: usize, leader: usize, learners: &[usize], givers: &[usize]) -> Many {
        let all: Vec<Vec<Item>> = sets.iter().map(|set| items(set.iter().copied())).collect();
        let rows: Vec<Option<Payload>> = (0..sets.len())
            .map(|place| givers.contains(&place).then(|| payload_of(place as u8, &all[place], 5 + place)))
            .collect();
        let gives = |&party: &usize| {
            let rows = rows[party].as_ref().unwrap();
            Gives { party, rows: rows.rows() + padding, row_bytes: rows.row_bytes() }
        };
        let sizes = all.iter().map(|set| set.len() + padding).collect();
        let params = Params::new(sizes, leader, learners.to_vec(), givers.iter().map(gives).collect()).unwrap();
        Many { items: all, rows, params, ideal: false }
    }

    pub fn ideally(self) -> Many {
        Many { ideal: true, ..self }
    }

    pub fn parties(&self) -> usize {
        self.items.len()
    }

    /// The links of a party.
    pub fn links(&self, me: usize) -> Vec<MeshLink> {
        (0..self.parties()).filter(|&peer| peer != me).map(|peer| link(me, peer)).collect()
    }

    /// Returns the result that a party should learn.
    pub fn expected(&self, me: usize) -> Option<Expected> {
        let sets: Vec<HashSet<&Item>> = self.items.iter().map(|set| set.iter().collect()).collect();
        let own = &self.items[me];
        let common: Vec<usize> =
            (0..own.len()).filter(|&index| sets.iter().all(|set| set.contains(&own[index]))).collect();
        let rows = self.rows.iter().enumerate().filter(|(giver, _)| *giver != me).filter_map(|(giver, rows)| {
            let rows = rows.as_ref()?;
            let mut given = Payload::new(rows.row_bytes());
            for &index in &common {
                let at = self.items[giver].iter().position(|item| *item == own[index]).unwrap();
                given.push(rows.rows_of(at), rows.item(at)).unwrap();
            }
            Some((giver, given))
        });
        self.params.learners.contains(&me).then(|| (common.clone(), rows.collect()))
    }

    /// Runs all parties over these wires: how each ended.
    pub fn run_over(&self, wire: Wire<'_>) -> Vec<Ended> {
        let parties = self.parties();
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for place in 0..parties {
            let (sender, receiver) = ideal::pair();
            senders.push(Mutex::new(Some(sender)));
            receivers.extend((place != self.params.leader).then_some(receiver));
        }
        let receivers = Mutex::new(Some(receivers));
        run_parties(parties, wire, |me, channels| {
            let sender = senders[me].lock().unwrap().take().unwrap();
            let receivers = (me == self.params.leader).then(|| receivers.lock().unwrap().take().unwrap());
            self.part(me, sender, receivers, channels)
        })
    }

    fn part(
        &self,
        me: usize,
        sender: ideal::IdealOpprfSender,
        receivers: Option<Vec<ideal::IdealOpprfReceiver>>,
        channels: &mut [Channel],
    ) -> Result<Option<StarMatches>> {
        let (session, links) = (session(), self.links(me));
        let (items, rows, params) = (&self.items[me][..], self.rows[me].as_ref(), &self.params);
        let party = StarParty { me, items, rows, params, session: &session, links: &links };
        let rng = &mut rng(me as u8 + 1);
        match receivers {
            _ if !self.ideal => star::run(party, channels, rng),
            Some(receivers) => star::lead_over(party, receivers, channels, rng).map(Some),
            None => {
                let leader = links.iter().position(|link| link.peer == params.leader).unwrap();
                star::answer_over(party, sender, &mut channels[leader], rng)
            }
        }
    }

    /// Runs all in memory; all learn what they should, and send what they say.
    pub fn check(&self) {
        let about = format!("{:?}", self.params);
        let ended = self.run_over(&in_memory);
        let common = self.expected(self.params.leader).unwrap().0;
        for (me, ended) in ended.into_iter().enumerate() {
            let (learned, traffic) = ended.unwrap_or_else(|error| panic!("{me} in {about}: {error}"));
            let learned = learned.map(|common| (common.items, common.rows));
            assert_eq!(learned, self.expected(me), "{me} in {about}");
            if self.ideal {
                continue;
            }
            let peers = (0..self.parties()).filter(|&peer| peer != me);
            for (peer, traffic) in peers.zip(&traffic) {
                let mut bytes = self.params.bytes_sent_by(me, peer).unwrap();
                let forwards = me == self.params.leader && self.params.learners.contains(&peer);
                let given = self.params.givers.iter().filter(|gives| forwards && gives.party != peer);
                if !self.params.is_empty() {
                    bytes += given.map(|gives| self.forwarded(gives, &common)).sum::<u64>();
                }
                assert_eq!(traffic.sent, bytes, "from {me} to {peer} in {about}");
                assert!(traffic.rounds <= self.params.rounds(), "{} rounds in {about}", traffic.rounds);
            }
            let most = traffic.iter().map(|traffic| traffic.rounds).max();
            assert!(me != self.params.leader || most == Some(self.params.rounds()), "{most:?} rounds in {about}");
        }
    }

    fn forwarded(&self, gives: &Gives, common: &[usize]) -> u64 {
        let (own, rows) = (&self.items[gives.party], self.rows[gives.party].as_ref().unwrap());
        let leader = &self.items[self.params.leader];
        let at = |index: &usize| own.iter().position(|item| *item == leader[*index]).unwrap();
        let rows = common.iter().map(|index| rows.rows_of(at(index))).sum();
        self.params.bytes_forwarded(gives, common.len(), rows)
    }
}

/// Runs parties, each on a thread of its own with its channels to the others, over these wires: what each came to, with
/// the traffic of its links after a good end.
pub fn run_parties<A: Send>(
    parties: usize,
    wire: Wire<'_>,
    part: impl Fn(usize, &mut [Channel]) -> Result<A> + Sync,
) -> Vec<Result<(A, Vec<Traffic>)>> {
    let mut channels: Vec<Vec<Channel>> = (0..parties).map(|_| Vec::new()).collect();
    for one in 0..parties {
        for other in one + 1..parties {
            let (first, second) = wire(one, other);
            channels[one].push(first);
            channels[other].push(second);
        }
    }
    let part = &part;
    std::thread::scope(|scope| {
        let threads: Vec<_> = channels
            .into_iter()
            .enumerate()
            .map(|(me, mut channels)| {
                scope.spawn(move || {
                    let learned = part(me, &mut channels);
                    // In one order for all, so that no two wait for each other's second.
                    let finish =
                        |channels: Vec<Channel>| channels.into_iter().map(Channel::finish).collect::<Result<_>>();
                    match learned {
                        Ok(learned) => finish(channels).map(|traffic| (learned, traffic)),
                        Err(error) => {
                            channels.into_iter().for_each(|channel| channel.abort(&error));
                            Err(error)
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// One end of the link of two parties.
pub fn link(me: usize, peer: usize) -> MeshLink {
    let pair = [me.min(peer) as u8, me.max(peer) as u8];
    let mut transcript = Transcript::new("pair");
    transcript.append("pair", &pair);
    let seed = Zeroizing::new(*blake3::hash(&pair).as_bytes());
    MeshLink { peer, session: Session::new(transcript), seed }
}
