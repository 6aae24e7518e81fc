//! Tests of what parties can do with all that they hold together, in every coalition. The same programs do more against
//! weakened forms of the protocol.
//!
//! A coalition holds every seed of its members, what they get, and F wherever they have it. It works on what an honest
//! run computes: the answers of an ideal OPPRF, which are those of the protocol ([`crate::protocol::intersect::opprf`]
//! has its own tests), so that nothing else is there to be seen.

use std::collections::HashSet;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use super::shares::Plane;
use super::{Gives, MeshLink, Params, StarParty};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::Block;
use crate::protocol::intersect::opprf::{self, EvaluateOprf, Function, Planes, ProgramOprf, QueryStore};
use crate::protocol::intersect::tag_exchange::{ENTRIES, Payload, TagDomain};
use crate::session::{Session, Transcript};

/// Form in which the protocol is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Unchanged form of the protocol.
    Sound,
    /// Shares are made of ordered pairs, so that the two ends of a link add different values.
    Ordered,
    /// Rows are sealed with the giver's function alone.
    Pairwise,
    /// Rows are sealed with the giver's shares alone.
    Seeds,
}

/// Sets of small numbers, one for each party, of which the first leads.
struct World {
    form: Form,
    sets: Vec<HashSet<usize>>,
    params: Params,
    session: Session,
    links: Vec<Vec<MeshLink>>,
}

const LEADER: usize = 0;

/// Numbers that items are made of: a domain that anybody can try.
const DOMAIN: usize = 64;

fn item(number: usize) -> Item {
    Item::new(&[7; 32], &number.to_le_bytes())
}

impl World {
    /// Every party but the leader gives rows. Number k is in the sets of the parties whose bits k has.
    fn new(form: Form, parties: usize) -> World {
        let session = Session::new(Transcript::new("test"));
        let sets: Vec<HashSet<usize>> =
            (0..parties).map(|party| (0..DOMAIN).filter(|number| number >> party & 1 == 1).collect()).collect();
        let givers = (1..parties).map(|party| Gives { party, rows: sets[party].len(), row_bytes: 4 }).collect();
        let sizes = sets.iter().map(HashSet::len).collect();
        let params = Params::new(sizes, LEADER, vec![LEADER], givers).unwrap();
        let link = |me: usize, peer: usize| {
            // In the ordered form each end makes of the pair what the other does not.
            let pair = if form == Form::Ordered { [me, peer] } else { [me.min(peer), me.max(peer)] };
            let seed = Zeroizing::new(*blake3::hash(&pair.map(|place| place as u8)).as_bytes());
            MeshLink { peer, session: session.clone(), seed }
        };
        let links = |me: usize| (0..parties).filter(|&peer| peer != me).map(|peer| link(me, peer)).collect();
        World { form, sets, params, links: (0..parties).map(links).collect(), session }
    }

    fn parties(&self) -> usize {
        self.sets.len()
    }

    fn party(&self, me: usize) -> StarParty<'_> {
        let (params, session, links) = (&self.params, &self.session, &self.links[me]);
        StarParty { me, items: &[], rows: None, params, session, links }
    }

    /// A party's share of an item.
    fn share(&self, me: usize, plane: Plane, number: usize) -> Block {
        self.party(me).shares(plane, &[item(number)])[0]
    }

    /// A random function of a party's link with the leader.
    fn function(&self, me: usize, label: &str, number: usize) -> Block {
        let mut transcript = Transcript::new(label);
        transcript.append("party", &[me as u8]).append("item", &item(number).0);
        Block::from_le_slice(&transcript.challenge("block")[..16])
    }

    /// Returns the leader's value from a party for an item of the leader's own: the party's share, or something random.
    fn answer(&self, from: usize, plane: Plane, number: usize) -> Block {
        if self.sets[from].contains(&number) {
            self.share(from, plane, number)
        } else {
            self.function(from, &format!("{plane:?}"), number)
        }
    }

    /// Returns the key with which a giver's rows for an item are sealed.
    fn key(&self, giver: usize, number: usize) -> Block {
        let share = self.share(giver, Plane::RowsOf(giver), number);
        let free = self.function(giver, "free", number);
        match self.form {
            Form::Sound | Form::Ordered => share ^ free,
            Form::Pairwise => free,
            Form::Seeds => share,
        }
    }

    /// Whether the leader takes an item of its own for common.
    fn accepts(&self, number: usize) -> bool {
        let answers = (1..self.parties()).map(|party| self.answer(party, Plane::Membership, number));
        answers.fold(self.share(LEADER, Plane::Membership, number), |sum, answer| sum ^ answer) == Block::ZERO
    }
}

/// Parties that pool what they have.
struct Coalition<'a> {
    world: &'a World,
    members: Vec<usize>,
}

impl Coalition<'_> {
    fn honest(&self) -> Vec<usize> {
        (0..self.world.parties()).filter(|party| !self.members.contains(party)).collect()
    }

    fn leads(&self) -> bool {
        self.members.contains(&LEADER)
    }

    /// Returns an honest party's share without the parts that only honest parties have of it: the part that the
    /// coalition can compute.
    fn known_share(&self, party: usize, plane: Plane, number: usize) -> Block {
        let known = |link: &&MeshLink| self.members.contains(&link.peer);
        let links: Vec<MeshLink> = self.world.links[party].iter().filter(known).map(copy).collect();
        let world = StarParty { links: &links, ..self.world.party(party) };
        world.shares(plane, &[item(number)])[0]
    }

    /// Numbers of the domain that the coalition can tell to be in all honest sets. For these, the leader's values from
    /// the honest parties sum to what the coalition expects of their shares. The parts that only honest parties know
    /// are in two of the shares.
    fn tested(&self) -> HashSet<usize> {
        let Some(leads) = self.leads().then_some(self.world) else { return HashSet::new() };
        let sums_up = |&number: &usize| {
            let honest = self.honest();
            let sum = honest.iter().fold(Block::ZERO, |sum, &party| {
                sum ^ leads.answer(party, Plane::Membership, number)
                    ^ self.known_share(party, Plane::Membership, number)
            });
            sum == Block::ZERO
        };
        // It has asked for the leader's items only.
        leads.sets[LEADER].iter().copied().filter(sums_up).collect()
    }

    /// Every block that it can make for an item and a giver: all sums of what it knows. The rows open with one of them,
    /// or not.
    fn keys(&self, giver: usize, number: usize) -> HashSet<u128> {
        let asked = self.leads() && self.world.sets[LEADER].contains(&number);
        let plane = Plane::RowsOf(giver);
        let mut parts = vec![self.known_share(giver, plane, number)];
        for party in self.honest().into_iter().filter(|&party| party != giver) {
            parts.push(self.known_share(party, plane, number));
            parts.extend(asked.then(|| self.world.answer(party, plane, number)));
        }
        parts.extend(asked.then(|| self.world.function(giver, "free", number)));
        let sum = |chosen: usize| {
            let chosen = parts.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
            chosen.fold(Block::ZERO, |sum, (_, part)| sum ^ *part).0
        };
        (0..1 << parts.len()).map(sum).collect()
    }

    /// The numbers for which it opens the rows of an honest giver.
    fn opened(&self, giver: usize) -> HashSet<usize> {
        let rows = self.world.sets[giver].iter().copied();
        rows.filter(|&number| self.keys(giver, number).contains(&self.world.key(giver, number).0)).collect()
    }

    /// Whether it learns what the functionality gives it, and nothing else: with the leader, which of the leader's
    /// items all honest parties have, and the rows of these; without, nothing.
    fn check(&self) -> std::result::Result<(), String> {
        let honest = self.honest();
        let all_have = |number: &usize| honest.iter().all(|&party| self.world.sets[party].contains(number));
        let allowed: HashSet<usize> = if self.leads() {
            self.world.sets[LEADER].iter().copied().filter(all_have).collect()
        } else {
            HashSet::new()
        };
        if self.tested() != allowed {
            return Err(format!("{:?} tell {} items, not {}", self.members, self.tested().len(), allowed.len()));
        }
        for giver in honest.into_iter().filter(|&party| party != LEADER) {
            let opened = self.opened(giver);
            if opened != allowed {
                let (opens, may) = (opened.len(), allowed.len());
                return Err(format!("{:?} open rows of {giver} for {opens} items, not {may}", self.members));
            }
        }
        Ok(())
    }
}

fn copy(link: &MeshLink) -> MeshLink {
    MeshLink { peer: link.peer, session: link.session.clone(), seed: link.seed.clone() }
}

/// Returns all coalitions but the empty one and that of all parties.
fn coalitions(world: &World) -> Vec<Coalition<'_>> {
    let members = |set: usize| (0..world.parties()).filter(|party| set >> party & 1 == 1).collect();
    (1..(1 << world.parties()) - 1).map(|set| Coalition { world, members: members(set) }).collect()
}

fn wrong(world: &World) -> Vec<String> {
    coalitions(world).iter().filter_map(|coalition| coalition.check().err()).collect()
}

#[test]
fn coalitions_learn_what_the_functionality_gives_them() {
    for parties in 2..=4 {
        let world = World::new(Form::Sound, parties);
        let wrong = wrong(&world);
        assert!(wrong.is_empty(), "{wrong:?}");
        for number in world.sets[LEADER].iter() {
            assert_eq!(world.accepts(*number), world.sets.iter().all(|set| set.contains(number)));
        }
    }
}

/// The leader and its colluders do learn which of the leader's items all honest parties have, though not all parties
/// have them.
#[test]
fn a_leader_with_colluders_learns_more_than_the_result() {
    let world = World::new(Form::Sound, 4);
    let coalition = Coalition { world: &world, members: vec![0, 1] };
    let common = world.sets[0].iter().filter(|number| (1..4).all(|party| world.sets[party].contains(number))).count();
    assert_eq!((coalition.tested().len(), common), (DOMAIN / 8, DOMAIN / 16));
}

#[test]
fn shares_of_ordered_pairs_find_nothing() {
    let world = World::new(Form::Ordered, 3);
    assert!(world.sets[LEADER].iter().all(|&number| !world.accepts(number)));
    assert!(!wrong(&world).is_empty());
}

/// A leader alone opens what it shares with one giver.
#[test]
fn rows_sealed_with_the_function_alone_open_for_two() {
    let wrong = wrong(&World::new(Form::Pairwise, 3));
    assert!(wrong.iter().any(|text| text.starts_with("[0] open rows of 1 for 16 items, not 8")), "{wrong:?}");
}

/// Checks that rows sealed with shares alone are open to guesses: all others together open any item of the domain, and
/// between two parties the leader does.
#[test]
fn rows_sealed_with_shares_alone_open_for_whoever_guesses() {
    for (parties, members) in [(2, "[0]"), (3, "[0, 1]"), (4, "[0, 1, 3]")] {
        let wrong = wrong(&World::new(Form::Seeds, parties));
        assert!(wrong.iter().any(|text| text.starts_with(&format!("{members} open rows"))), "{wrong:?}");
    }
}

/// An end whose function is known, and which programs nothing.
struct Known([u8; 32]);

impl ProgramOprf for Known {
    type Function = Known;

    fn program(
        self,
        _items: &[Item],
        _values: &Planes,
        _params: &opprf::Params,
        _channel: &mut Channel,
        _rng: &mut impl CryptoRng,
    ) -> Result<Known> {
        Ok(self)
    }
}

impl Function for Known {
    fn free(&self, items: &[Item]) -> Zeroizing<Vec<Block>> {
        let block = |item: &Item| Block::from_le_slice(&blake3::keyed_hash(&self.0, &item.0).as_bytes()[..16]);
        Zeroizing::new(items.iter().map(block).collect())
    }
}

/// Checks the messages of the protocol itself: their tags are those of share and function together, and of neither
/// alone.
#[test]
fn rows_are_sealed_with_share_and_function() {
    let world = World::new(Form::Sound, 3);
    let giver = 1;
    let items: Vec<Item> = world.sets[giver].iter().map(|&number| item(number)).collect();
    let mut rows = Payload::new(4);
    items.iter().for_each(|_| rows.push(1, &[9; 4]).unwrap());
    let party = StarParty { items: &items, rows: Some(&rows), ..world.party(giver) };
    let (mut leader, mut own) = Channel::pair("leader", "giver");
    let known = Known([3; 32]);
    let free = known.free(&items);
    super::answer_over(party, known, &mut own, &mut ChaCha20Rng::from_seed([1; 32])).unwrap();

    let gives = world.params.givers.iter().find(|gives| gives.party == giver).unwrap();
    let entries = world.params.entries(gives);
    let sent = entries.frames(entries.sender_entries, entries.entry_bytes()).receive(ENTRIES, &mut leader).unwrap();
    let sent: HashSet<&[u8]> = sent.chunks(entries.entry_bytes()).map(|entry| &entry[..entries.tag_bytes]).collect();
    let domain = TagDomain::of_protocol("star", &world.session);
    let found = |keys: &[Block]| {
        let outputs = party.row_keys(giver, &items, keys);
        outputs.iter().filter(|output| sent.contains(&domain.tag(output, 0)[..entries.tag_bytes])).count()
    };
    let share = party.shares(Plane::RowsOf(giver), &items);
    let both: Vec<Block> = share.iter().zip(free.iter()).map(|(share, free)| *share ^ *free).collect();
    assert_eq!((found(&both), found(&share), found(&free)), (items.len(), 0, 0));
}

/// Checks that two parties share another key if only leader, run, purpose, giver or seed is another. The same holds for
/// the keys that seal rows.
#[test]
fn a_pair_has_another_key_for_everything() {
    let world = World::new(Form::Sound, 3);
    let (other, items) = (Session::new(Transcript::new("other")), [item(1)]);
    let sizes = world.params.items.clone();
    let led = Params::new(sizes, 2, vec![2], Vec::new()).unwrap();
    let usual = world.party(0);
    let parties = [usual, StarParty { params: &led, ..usual }, StarParty { session: &other, ..usual }];
    let mut seen = HashSet::new();
    for party in parties {
        for (label, about) in [("star shares", 0), ("star shares", 1), ("star told", 0)] {
            for link in &world.links[0] {
                let one = party.key_between(link, label, about);
                assert!(seen.insert(one.0), "{label} {about} with {}", link.peer);
                let seed = Zeroizing::new([9; 32]);
                let other = party.key_between(&MeshLink { seed, ..copy(link) }, label, about);
                // The seed is all that two links differ in.
                assert!(one != other);
            }
        }
        let planes = [Plane::Membership, Plane::RowsOf(0), Plane::RowsOf(1), Plane::RowsOf(2)];
        let shares = planes.map(|plane| party.shares(plane, &items)[0].0);
        assert_eq!(HashSet::from(shares).len(), planes.len(), "every sharing is another one");
    }
    // The rows of two givers, of two items, under two shares, in two runs.
    let row_key =
        |party: &StarParty<'_>, giver, number, share| party.row_keys(giver, &[item(number)], &[Block(share)])[0];
    let all = [
        row_key(&usual, 1, 1, 1),
        row_key(&usual, 2, 1, 1),
        row_key(&usual, 1, 2, 1),
        row_key(&usual, 1, 1, 2),
        row_key(&parties[2], 1, 1, 1),
    ];
    assert_eq!(HashSet::from(all).len(), all.len());
}

/// An end whose answers make every item of the leader's common, whatever its own are.
struct Agrees(Vec<Block>);

impl EvaluateOprf for Agrees {
    fn evaluate(self, _: &QueryStore, _: &opprf::Params, _: &mut Channel, _: &mut impl CryptoRng) -> Result<Planes> {
        Ok(vec![Zeroizing::new(self.0)])
    }
}

/// More items cannot be common than another has: it is named.
#[test]
fn no_more_is_common_than_the_smallest_set_has() {
    let world = World::new(Form::Sound, 2);
    let items: Vec<Item> = world.sets[LEADER].iter().map(|&number| item(number)).collect();
    for other in [items.len(), items.len() - 1, 0] {
        let params = Params::new(vec![items.len(), other], LEADER, vec![LEADER], Vec::new()).unwrap();
        let party = StarParty { items: &items, params: &params, ..world.party(LEADER) };
        let answers = StarParty { params: &params, ..world.party(1) }.shares(Plane::Membership, &items).to_vec();
        let (channel, _peer) = Channel::pair("leader", "other");
        let rng = &mut ChaCha20Rng::from_seed([1; 32]);
        let led = super::lead_over(party, vec![Agrees(answers)], &mut [channel], rng);
        if other == items.len() {
            assert_eq!(led.unwrap().items.len(), items.len())
        } else {
            assert!(matches!(led.unwrap_err(), Error::Protocol { peer, .. } if peer == "other"))
        }
    }
}
