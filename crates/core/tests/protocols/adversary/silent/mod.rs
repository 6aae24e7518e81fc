//! Silent VOLE and silent COT: both roles, one tree after the other.

mod receiver;
mod sender;

pub use receiver::dealer;

use tacita_core::primitive::kernel::block::{self, BLOCK_BYTES, Block};
use tacita_core::primitive::kernel::{Aes128, Doubling, RekeyedHash, gf128};
use tacita_core::primitive::ot::{Choices, CorrelatedOtReceiver, CorrelatedOtSender};
use tacita_core::primitive::vole::code::{Binary, FRONT, FieldCode};
use tacita_core::primitive::vole::params::{Parameters, VoleKind};
use tacita_core::primitive::vole::{ANSWER, CHALLENGE, TREE_SUMS, TREE_TIPS, VoleReceiver, VoleSender};
use tacita_core::security::Security;
use tacita_core::session::Session;
use tacita_core::{Channel, Result};

use crate::adversary::tree::{descend, sum};
use crate::support::rng;

/// Behaviour of a weak party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Behaviour by the protocol.
    Sound,
    /// A sender: the tip adds up the last level alone, and not the nodes that were dropped on the way because no leaf
    /// that counts is below them.
    WithoutDropped,
    /// A sender: both sums of a level have one mask.
    OneMask,
    /// A sender: the answer is the value, not its hash.
    BareAnswer,
    /// Both parties: all coefficients of the check are one.
    Ones,
    /// A receiver: the challenge comes before it has the tips.
    Hasty,
}

/// Instance of a protocol between two parties.
#[derive(Clone)]
pub struct Instance {
    pub kind: VoleKind,
    pub security: Security,
    pub session: Session,
    pub purpose: &'static str,
    pub form: Form,
}

/// Public values of the first run of an instance.
struct Keys {
    parameters: Parameters,
    instance: Instance,
    trees: [u8; 32],
    masks: RekeyedHash,
    code: Block,
    answer: [u8; 32],
}

/// The number of the run.
const RUN: u64 = 1;

impl Keys {
    fn new(instance: &Instance, outputs: usize) -> Keys {
        let name = if instance.kind == VoleKind::Field { "VOLE" } else { "COT" };
        let derive = |what: &str| instance.session.derive(&format!("silent {name} for {}: {what}", instance.purpose));
        Keys {
            parameters: Parameters::new(instance.kind, outputs).unwrap(),
            instance: instance.clone(),
            trees: derive("trees"),
            masks: RekeyedHash::new(Block::from_le_slice(&derive("masks"))),
            code: Block::from_le_slice(&instance.session.derive_shared(&format!("silent {name}: code"))),
            answer: derive("answer"),
        }
    }

    fn malicious(&self) -> bool {
        self.instance.security == Security::Malicious
    }

    fn field(&self) -> bool {
        self.instance.kind == VoleKind::Field
    }

    /// Values whose bits are the first choices: that of each tree of a VOLE, and the one that masks the challenge.
    fn values(&self) -> usize {
        let of_trees = if self.field() { self.parameters.trees } else { 0 };
        of_trees + usize::from(self.malicious())
    }

    /// The generator of the nodes of a level.
    fn doubling(&self, level: usize) -> Doubling {
        let key = blake3::keyed_hash(&self.trees, &[RUN.to_le_bytes(), (level as u64).to_le_bytes()].concat());
        Doubling::new([0, BLOCK_BYTES].map(|at| Block::from_le_slice(&key.as_bytes()[at..])))
    }

    /// Takes what is dropped from a level: all nodes that no leaf that counts is below. On the last one nothing is.
    fn drop_from<T>(&self, level: usize, nodes: &mut Vec<T>) -> Vec<T> {
        let kept = if level < self.parameters.depth { self.parameters.nodes(level) } else { nodes.len() };
        nodes.split_off(kept)
    }

    /// The coefficient of each leaf in the check.
    fn coefficients(&self, challenge: &[u8]) -> Vec<Block> {
        let mut coefficients = vec![Block::ONE; self.parameters.trees * self.parameters.leaves];
        if self.instance.form != Form::Ones {
            Aes128::new(Block::from_le_slice(challenge)).encrypt_counters(0, &mut coefficients);
        }
        coefficients
    }

    fn answer(&self, challenge: &[u8], value: Block) -> Vec<u8> {
        if self.instance.form == Form::BareAnswer {
            return [value.to_bytes(), [0; BLOCK_BYTES]].concat();
        }
        let input = [&RUN.to_le_bytes()[..], challenge, &value.to_bytes()].concat();
        blake3::keyed_hash(&self.answer, &input).as_bytes().to_vec()
    }

    /// The leaves of all trees as the code takes them: the first ones of all trees first.
    fn symbols(&self, trees: &[Vec<Block>]) -> Vec<Block> {
        (0..self.parameters.leaves).flat_map(|leaf| trees.iter().map(move |leaves| leaves[leaf])).collect()
    }

    /// Computes the outputs of the code.
    fn encode(&self, symbols: &[Block], outputs: &mut [Block]) {
        let mut word = block::zeros(FRONT + self.parameters.symbols());
        word[FRONT..][..symbols.len()].copy_from_slice(symbols);
        if self.field() {
            FieldCode::new(self.code, self.parameters.length).encode(&mut word, [outputs])
        } else {
            Binary::new(self.code, self.parameters.length).encode(&mut word, outputs)
        }
    }
}

/// The sum of x^i times OT i, of 128 each.
fn gathered(transfers: &[Block]) -> Vec<Block> {
    let powers: Vec<Block> = (0..128).map(|bit| Block(1 << bit)).collect();
    transfers.chunks(128).map(|transfers| gf128::inner_product(transfers, &powers)).collect()
}

/// Deviations of a sender from the protocol.
#[derive(Clone, Default)]
struct Deviation {
    /// Differences that are added to the sum of a side of a level (counted from 1) of a tree: tree, level, side,
    /// difference.
    sums: Vec<(usize, usize, usize, Block)>,
    /// Differences that are added to a tree's tip.
    tips: Vec<(usize, Block)>,
    /// Differences that the sender assumes in the receiver's leaves, in its answer and its outputs: tree, leaf,
    /// difference.
    leaves: Vec<(usize, usize, Block)>,
    /// Whether the sender keeps the tips to itself, and looks whether the challenge comes.
    withholds_tips: bool,
}

/// The sender, for one run.
pub struct Sender<O> {
    instance: Instance,
    transfers: O,
    seed: u8,
    deviation: Deviation,
    /// Without its tips the receiver has said nothing.
    waited: bool,
}

impl<O: CorrelatedOtSender> Sender<O> {
    pub fn new(instance: Instance, transfers: O, seed: u8) -> Sender<O> {
        Sender { instance, transfers, seed, deviation: Deviation::default(), waited: false }
    }
}

impl<O: CorrelatedOtSender> VoleSender for Sender<O> {
    fn delta(&self) -> Block {
        self.transfers.delta()
    }

    fn extend(&mut self, b: &mut [Block], channel: &mut Channel) -> Result<()> {
        let (keys, delta) = (Keys::new(&self.instance, b.len()), self.delta());
        let Parameters { trees, depth, leaves: count, .. } = keys.parameters;
        let mut transfers = block::zeros(128 * keys.values() + trees * depth);
        self.transfers.send(&mut transfers, channel)?;
        let (of_values, masks) = transfers.split_at(128 * keys.values());
        let shares = gathered(of_values);

        let roots = block::random(trees, &mut rng(self.seed));
        let mut nodes: Vec<Vec<Block>> = roots.into_iter().map(|root| vec![root]).collect();
        let mut tips = if keys.field() { shares[..trees].to_vec() } else { vec![delta; trees] };
        for level in 1..=depth {
            let (doubling, first) = (keys.doubling(level), (level - 1) * trees);
            let mut pads = vec![[Block::ZERO; 2]; trees];
            keys.masks.hash_pairs(first as u64, &masks[first..][..trees], delta, &mut pads, false);
            let mut message = Vec::new();
            for tree in 0..trees {
                let mut children = block::zeros(2 * nodes[tree].len());
                let mut sums = doubling.expand(&nodes[tree], &mut children);
                for (_, _, side, difference) in self.deviation.sums.iter().filter(|at| (at.0, at.1) == (tree, level)) {
                    sums[*side] ^= *difference;
                }
                let second = if self.instance.form == Form::OneMask { 0 } else { 1 };
                message.extend([sums[0] ^ pads[tree][0], sums[1] ^ pads[tree][second]]);
                let dropped = keys.drop_from(level, &mut children);
                if self.instance.form != Form::WithoutDropped {
                    dropped.iter().for_each(|node| tips[tree] ^= *node);
                }
                nodes[tree] = children;
            }
            channel.send(TREE_SUMS, block::as_bytes(&message).to_vec())?;
        }
        for (tip, leaves) in tips.iter_mut().zip(&mut nodes) {
            *tip = leaves.iter().fold(*tip, |tip, leaf| tip ^ *leaf);
            leaves.truncate(count);
        }
        self.deviation.tips.iter().for_each(|(tree, difference)| tips[*tree] ^= *difference);
        self.deviation.leaves.iter().for_each(|(tree, leaf, difference)| nodes[*tree][*leaf] ^= *difference);
        if self.deviation.withholds_tips {
            self.waited = crate::adversary::waits(channel);
            return Ok(());
        }
        channel.send(TREE_TIPS, block::as_bytes(&tips).to_vec())?;

        let mut symbols = keys.symbols(&nodes);
        if keys.malicious() {
            let challenge = channel.receive(CHALLENGE, 2 * BLOCK_BYTES)?;
            let sum = gf128::inner_product(&keys.coefficients(&challenge), &symbols);
            let value = sum ^ shares[shares.len() - 1] ^ (delta * Block::from_le_slice(&challenge[BLOCK_BYTES..]));
            channel.send(ANSWER, keys.answer(&challenge, value))?;
        }
        if !keys.field() {
            symbols.iter_mut().for_each(|leaf| leaf.0 &= !1);
        }
        keys.encode(&symbols, b);
        Ok(())
    }
}

/// Choices of a receiver for a tree.
pub struct Point {
    /// For each level whether it takes the sum of the right children.
    pub right: Vec<bool>,
    /// The value at the noisy place, in a VOLE.
    pub value: Block,
}

impl Point {
    /// The point of an honest receiver.
    pub fn at(hole: usize, value: Block, parameters: &Parameters) -> Point {
        let right = (1..=parameters.depth).map(|level| hole >> (parameters.depth - level) & 1 == 0);
        Point { right: right.collect(), value }
    }
}

/// Values that a receiver saw of a tree.
struct Seen {
    /// Nodes that the tip adds up: the last level, and behind it the dropped nodes.
    frontier: Vec<Option<Block>>,
    /// Nodes of the last level.
    last: usize,
    /// Other nodes of the tree, as far as they are known.
    inner: Vec<Block>,
    tip: Block,
    /// Receiver's share of delta times the value, in a VOLE.
    share: Block,
    value: Block,
}

/// The receiver, for one run.
pub struct Receiver<O> {
    instance: Instance,
    transfers: O,
    seed: u8,
    /// The point of each tree.
    #[allow(clippy::type_complexity, reason = "it is said once")]
    points: Box<dyn Fn(&Parameters, usize) -> Point + Send>,
    seen: Vec<Seen>,
    /// Difference that is added to the challenge's second half.
    lie: Block,
    /// Value that the answer gives away, if it is bare.
    answered: Block,
}

impl<O: CorrelatedOtReceiver> Receiver<O> {
    pub fn new(
        instance: Instance,
        transfers: O,
        seed: u8,
        points: impl Fn(&Parameters, usize) -> Point + Send + 'static,
    ) -> Receiver<O> {
        let (lie, answered) = (Block::ZERO, Block::ZERO);
        Receiver { instance, transfers, seed, points: Box::new(points), seen: Vec::new(), lie, answered }
    }

    /// Guesses at delta by all that the receiver has seen: the nodes that it knows taken off each tip, in several ways.
    pub fn guesses(&self) -> impl Iterator<Item = Block> + '_ {
        let of_tree = |seen: &Seen| {
            let bare = [seen.tip ^ sum(&seen.frontier[..seen.last]), seen.tip ^ sum(&seen.frontier)];
            let (share, inverse) = (seen.share, seen.value.invert());
            let field = self.instance.kind == VoleKind::Field;
            let known = seen.frontier.iter().flatten().chain(&seen.inner).copied();
            let hidden: Vec<Block> = bare.into_iter().chain(known.map(|node| bare[1] ^ node)).collect();
            hidden.into_iter().map(move |hidden| if field { (hidden ^ share) * inverse } else { hidden })
        };
        let of_answer = self.answered * self.lie.invert();
        self.seen.iter().flat_map(of_tree).chain([of_answer])
    }

    /// The nodes of each tree's frontier that it does not know.
    fn unknown(&self) -> impl Iterator<Item = usize> + '_ {
        self.seen.iter().map(|seen| seen.frontier.iter().filter(|node| node.is_none()).count())
    }
}

impl<O: CorrelatedOtReceiver> VoleReceiver for Receiver<O> {
    fn extend(&mut self, a: &mut [Block], c: &mut [Block], channel: &mut Channel) -> Result<()> {
        let keys = Keys::new(&self.instance, c.len());
        let Parameters { trees, depth, leaves: count, .. } = keys.parameters;
        let rng = &mut rng(self.seed);
        let points: Vec<Point> = (0..trees).map(|tree| (self.points)(&keys.parameters, tree)).collect();
        let mut values: Vec<Block> = points.iter().map(|point| point.value).collect();
        values.truncate(if keys.field() { trees } else { 0 });
        values.extend(keys.malicious().then(|| Block::random(rng)));
        let of_values = values.iter().flat_map(|value| (0..128).map(|bit| value.bit(bit)));
        let of_trees = (0..depth).flat_map(|level| points.iter().map(move |point| point.right[level]));
        let choices = Choices::from_bits(of_values.chain(of_trees));
        let mut transfers = block::zeros(choices.len());
        self.transfers.receive(&choices, &mut transfers, channel)?;
        let (of_values, masks) = transfers.split_at(128 * keys.values());
        let shares = gathered(of_values);

        let mut nodes: Vec<Vec<Option<Block>>> = vec![vec![None]; trees];
        let (mut dropped, mut inner) = (vec![Vec::new(); trees], vec![Vec::new(); trees]);
        for level in 1..=depth {
            let (doubling, first) = (keys.doubling(level), (level - 1) * trees);
            let mut pads = block::zeros(trees);
            keys.masks.hash(first as u64, &masks[first..][..trees], &mut pads, false);
            let message = block::from_bytes(&channel.receive(TREE_SUMS, keys.parameters.sums_bytes())?).unwrap();
            for (tree, masked) in message.as_chunks::<2>().0.iter().enumerate() {
                let taken = |side: usize| {
                    let mine = usize::from(points[tree].right[level - 1]) == side;
                    // With one mask for both, both are there for the taking.
                    (mine || self.instance.form == Form::OneMask).then(|| masked[side] ^ pads[tree])
                };
                inner[tree].extend(nodes[tree].iter().flatten().copied());
                nodes[tree] = descend(&doubling, &nodes[tree], [taken(0), taken(1)]);
                dropped[tree].extend(keys.drop_from(level, &mut nodes[tree]));
            }
        }
        let place = |leaves: &Vec<Option<Block>>| leaves[..count].iter().position(Option::is_none);
        let noise = |(leaves, value): (_, &Block)| {
            let mut noise = block::zeros(count);
            place(leaves).into_iter().for_each(|hole| noise[hole] = *value);
            noise
        };
        let ones = vec![Block::ONE; trees];
        let of_values: Vec<_> =
            nodes.iter().zip(if keys.field() { &values[..trees] } else { &ones }).map(noise).collect();
        let values_at = keys.symbols(&of_values);
        let challenge = keys.malicious().then(|| {
            let seed = Block::random(rng).to_bytes();
            let sum = gf128::inner_product(&keys.coefficients(&seed), &values_at);
            [seed, (sum ^ values[values.len() - 1] ^ self.lie).to_bytes()].concat()
        });
        let hasty = self.instance.form == Form::Hasty;
        let say = |channel: &mut Channel| challenge.iter().try_for_each(|said| channel.send(CHALLENGE, said.clone()));
        if hasty {
            say(channel)?;
        }
        let tips = block::from_bytes(&channel.receive(TREE_TIPS, keys.parameters.tips_bytes())?).unwrap();
        if !hasty {
            say(channel)?;
        }

        let mut of_leaves = Vec::new();
        for (tree, mut leaves) in nodes.into_iter().enumerate() {
            let (mut frontier, last) = (leaves.clone(), leaves.len());
            if self.instance.form != Form::WithoutDropped {
                frontier.append(&mut dropped[tree]);
            }
            let inner = std::mem::take(&mut inner[tree]);
            let share = if keys.field() { shares[tree] } else { Block::ZERO };
            let value = if keys.field() { values[tree] } else { Block::ONE };
            if let Some(hole) = place(&leaves) {
                leaves[hole] = Some(tips[tree] ^ sum(&frontier) ^ share);
            }
            leaves.truncate(count);
            of_leaves.push(leaves.into_iter().map(Option::unwrap_or_default).collect());
            self.seen.push(Seen { frontier, last, inner, tip: tips[tree], share, value });
        }
        let mut leaves = keys.symbols(&of_leaves);
        if let Some(challenge) = challenge {
            let answer = channel.receive(ANSWER, 2 * BLOCK_BYTES)?;
            let value = gf128::inner_product(&keys.coefficients(&challenge), &leaves) ^ shares[shares.len() - 1];
            self.answered = value ^ Block::from_le_slice(&answer);
            if self.lie == Block::ZERO && answer != keys.answer(&challenge, value) {
                return Err(channel.violation("the answer does not fit the trees"));
            }
        }
        if keys.field() {
            keys.encode(&values_at, a)
        } else {
            leaves.iter_mut().zip(&values_at).for_each(|(leaf, value)| leaf.0 = leaf.0 & !1 | value.0)
        }
        keys.encode(&leaves, c);
        Ok(())
    }
}
