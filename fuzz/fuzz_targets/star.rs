//! The messages of a `star`, as a peer may change them: the run ends, the error blames a peer, and the leader finds no
//! item and no row that an honest run does not have.

#![no_main]

use std::sync::LazyLock;
use std::thread::{scope, spawn};

use chacha20::ChaCha20Rng;
use libfuzzer_sys::fuzz_target;
use rand_core::{CryptoRng, SeedableRng};
use tacita_core::channel::{Label, MAX_PAYLOAD_BYTES};
use tacita_core::primitive::vole::ideal;
use tacita_core::protocol::intersect::opprf::{
    EvaluateOprf, LinkFunction, OpprfReceiver, OpprfSender, PROGRAMMED, Params as LinkParams, Planes, ProgramOprf,
    QueryStore, STORE_SEED,
};
use tacita_core::protocol::intersect::star::{
    COMMON, GIVEN_COUNTS, GIVEN_ROWS, Gives, MeshLink, Params, StarMatches, StarParty, answer_over, lead_over,
};
use tacita_core::protocol::intersect::tag_exchange::{ENTRIES, Payload};
use tacita_core::protocol::intersect::vole::{MASKED, SEED};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Error, Item, Result};
use zeroize::Zeroizing;

const PARTIES: usize = 3;
const LEADER: usize = 1;
const OTHERS: [usize; 2] = [0, 2];

/// The messages between the leader and another party, in their order, each with whether the leader sends it.
const MESSAGES: [(bool, Label); 11] = [
    (true, SEED),
    (true, MASKED),
    (false, STORE_SEED),
    (false, PROGRAMMED),
    (false, PROGRAMMED),
    (false, ENTRIES),
    (true, COMMON),
    (true, GIVEN_COUNTS),
    (true, GIVEN_ROWS),
    (true, GIVEN_COUNTS),
    (true, GIVEN_ROWS),
];

/// The messages of one link.
type Conversation = Vec<Vec<u8>>;

/// A change of a message: of which link, which message, and where bytes are added to it; nowhere if they take its
/// place.
struct Change<'a> {
    link: usize,
    message: usize,
    at: Option<usize>,
    bytes: &'a [u8],
}

/// A run of three parties that all give and learn, with fixed randomness, so that recorded messages fit it again.
struct Run {
    items: Vec<Vec<Item>>,
    rows: Vec<Payload>,
    params: Params,
    session: Session,
}

/// An end of a link's function over a dealer's correlation.
struct End<'a> {
    link: &'a MeshLink,
    session: &'a Session,
}

static RUN: LazyLock<Run> = LazyLock::new(Run::new);

/// Messages of an honest run over the leader's links, and the leader's result.
static HONEST: LazyLock<([Conversation; 2], StarMatches)> = LazyLock::new(|| {
    let ends = OTHERS.map(|other| (Channel::pair("1", "relay"), Channel::pair("relay", &other.to_string())));
    let (mut channels, mut conversations) = (Vec::new(), Vec::new());
    for (other, ((leader, mut to_leader), (mut to_other, mut end))) in OTHERS.into_iter().zip(ends) {
        channels.push(leader);
        let other = spawn(move || RUN.answer(other, &mut end).unwrap().unwrap());
        conversations.push(spawn(move || {
            let pass_on = |(of_leader, label): (bool, Label)| {
                let (from, to) =
                    if of_leader { (&mut to_leader, &mut to_other) } else { (&mut to_other, &mut to_leader) };
                let message = from.receive_up_to(label, MAX_PAYLOAD_BYTES).unwrap();
                to.send(label, message.clone()).unwrap();
                message
            };
            let conversation = MESSAGES.map(pass_on).to_vec();
            other.join().unwrap();
            conversation
        }));
    }
    let common = RUN.lead(&mut channels).unwrap();
    assert_eq!(common.items.len(), 4);
    let mut conversations = conversations.into_iter().map(|relay| relay.join().unwrap());
    ([(); 2].map(|()| conversations.next().unwrap()), common)
});

impl Run {
    fn new() -> Run {
        let item = |number: usize| Item::new(&[7; 32], &number.to_le_bytes());
        let items: Vec<Vec<Item>> = [0..6, 2..9, 1..8].map(|numbers| numbers.map(item).collect()).to_vec();
        let rows: Vec<Payload> = (0..PARTIES).map(|party| rows(party, &items[party])).collect();
        let gives = |party: usize| Gives { party, rows: rows[party].rows() + 1, row_bytes: rows[party].row_bytes() };
        let sizes = items.iter().map(|items| items.len() + 1).collect();
        let params = Params::new(sizes, LEADER, vec![0, 1, 2], (0..PARTIES).map(gives).collect()).unwrap();
        Run { items, rows, params, session: Session::new(Transcript::new("fuzz")) }
    }

    fn links(&self, me: usize) -> Vec<MeshLink> {
        let link = |peer: usize| {
            let (session, seed) = (self.session.clone(), Zeroizing::new([(me + peer) as u8; 32]));
            MeshLink { peer, session: session.child("link", (me + peer) as u64), seed }
        };
        (0..PARTIES).filter(|peer| *peer != me).map(link).collect()
    }

    fn party<'a>(&'a self, me: usize, links: &'a [MeshLink]) -> StarParty<'a> {
        let (items, rows) = (&self.items[me][..], Some(&self.rows[me]));
        StarParty { me, items, rows, params: &self.params, session: &self.session, links }
    }

    fn lead(&self, channels: &mut [Channel]) -> Result<StarMatches> {
        let links = self.links(LEADER);
        let ends = links.iter().map(|link| End { link, session: &self.session }).collect();
        lead_over(self.party(LEADER, &links), ends, channels, &mut rng(LEADER))
    }

    fn answer(&self, me: usize, channel: &mut Channel) -> Result<Option<StarMatches>> {
        let links = self.links(me);
        let link = links.iter().find(|link| link.peer == LEADER).unwrap();
        answer_over(self.party(me, &links), End { link, session: &self.session }, channel, &mut rng(me))
    }
}

impl EvaluateOprf for End<'_> {
    fn evaluate(
        self,
        asked: &QueryStore,
        params: &LinkParams,
        channel: &mut Channel,
        _: &mut impl CryptoRng,
    ) -> Result<Planes> {
        let (_, mut vole) = ideal::pair(*self.link.seed);
        OpprfReceiver { session: &self.link.session }.evaluate_over(asked, params, &mut vole, channel)
    }
}

impl ProgramOprf for End<'_> {
    type Function = LinkFunction;

    fn program(
        self,
        items: &[Item],
        values: &Planes,
        params: &LinkParams,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<LinkFunction> {
        let (mut vole, _) = ideal::pair(*self.link.seed);
        let sender = OpprfSender { session: &self.link.session, whole: self.session };
        sender.program_over(items, values, params, &mut vole, channel, rng)
    }
}

fn rng(party: usize) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([party as u8 + 1; 32])
}

/// One to three rows of each item.
fn rows(party: usize, items: &[Item]) -> Payload {
    let mut rows = Payload::new(4 + party);
    for (index, item) in items.iter().enumerate() {
        let count = 1 + index % 3;
        rows.push(count, &item.0[..count * (4 + party)]).unwrap();
    }
    rows
}

/// The changes that the input has: of each the message (a byte, of which the lowest bit is the link and the next one
/// whether all of it is replaced), the place (two bytes), the length (one byte), and as many bytes.
fn changes(mut input: &[u8]) -> Vec<Change<'_>> {
    let mut changes = Vec::new();
    while let Some((&[which, low, high, length], rest)) = input.split_first_chunk() {
        let (bytes, rest) = rest.split_at(rest.len().min(length.into()));
        let at = (which & 2 == 0).then_some(usize::from(u16::from_le_bytes([low, high])));
        changes.push(Change { link: (which & 1).into(), message: usize::from(which >> 2) % MESSAGES.len(), at, bytes });
        input = rest;
    }
    changes
}

/// Honest messages, changed.
fn changed(changes: &[Change<'_>]) -> [Conversation; 2] {
    let mut all = HONEST.0.clone();
    for Change { link, message, at, bytes } in changes {
        let message = &mut all[*link][*message];
        match at {
            Some(at) => {
                let at = at % message.len().max(1);
                message[at..].iter_mut().zip(*bytes).for_each(|(byte, added)| *byte ^= added);
            }
            None => *message = bytes.to_vec(),
        }
    }
    all
}

/// A peer that says these messages, and takes whatever the victim says.
fn play(is_leader: bool, messages: &[Vec<u8>], mut channel: Channel) {
    for ((of_leader, label), message) in MESSAGES.iter().zip(messages) {
        let done = if *of_leader == is_leader {
            channel.send(*label, message.clone())
        } else {
            channel.receive_up_to(*label, MAX_PAYLOAD_BYTES).map(drop)
        };
        if done.is_err() {
            return;
        }
    }
}

/// Each item once, in order, with rows of every giver.
fn is_whole(common: &StarMatches, me: usize) {
    assert!(common.items.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(common.items.iter().all(|item| *item < RUN.items[me].len()));
    assert_eq!(common.rows.len(), PARTIES - 1);
    for (giver, rows) in &common.rows {
        assert_eq!(rows.items(), common.items.len());
        assert!(rows.rows() <= RUN.params.givers[*giver].rows);
    }
}

fn lead(conversations: &[Conversation; 2]) {
    let (mut channels, peers): (Vec<Channel>, Vec<Channel>) =
        OTHERS.map(|other| Channel::pair("1", &other.to_string())).into_iter().unzip();
    let found = scope(|scope| {
        // Joined, and not only waited for: what is left of a thread that ends would pass for a leak.
        let peers = conversations.iter().zip(peers);
        let peers: Vec<_> =
            peers.map(|(messages, channel)| scope.spawn(move || play(false, messages, channel))).collect();
        let found = RUN.lead(&mut channels);
        drop(channels);
        peers.into_iter().for_each(|peer| peer.join().unwrap());
        found
    });
    let found = match found {
        Ok(found) => found,
        Err(error) => return assert!(matches!(error, Error::Protocol { .. }), "{error}"),
    };
    is_whole(&found, LEADER);
    let honest = &HONEST.1;
    for (place, item) in found.items.iter().enumerate() {
        let at = honest.items.binary_search(item).unwrap();
        for ((_, rows), (_, all)) in found.rows.iter().zip(&honest.rows) {
            // A row that cannot be opened ends those of its item.
            assert!(all.item(at).starts_with(rows.item(place)));
        }
    }
}

fn answer(me: usize, messages: &[Vec<u8>]) {
    let (mut channel, peer) = Channel::pair(&me.to_string(), "1");
    let learned = scope(|scope| {
        let peer = scope.spawn(|| play(true, messages, peer));
        let learned = RUN.answer(me, &mut channel);
        drop(channel);
        peer.join().unwrap();
        learned
    });
    match learned {
        Ok(learned) => is_whole(&learned.unwrap(), me),
        Err(error) => assert!(matches!(error, Error::Protocol { .. }), "{error}"),
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((victim, input)) = input.split_first() else { return };
    let conversations = changed(&changes(input));
    match usize::from(*victim) % PARTIES {
        LEADER => lead(&conversations),
        0 => answer(0, &conversations[0]),
        me => answer(me, &conversations[1]),
    }
});
