//! Products that are wanted, in which order they are made, and the costs that follow.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::error::{Error, Result};
use crate::primitive::ot::{messages, packing};
use crate::protocol::dot::{Integers, MAX_ROWS, Modulus};
use crate::protocol::mesh::ots::{form, frame, role};
use crate::role::Role;

/// Shares of rows that a party holds at once.
pub(crate) const HELD_SHARES: usize = 1 << 22;

/// The fewest rows of a block, unless there are fewer.
const MIN_BLOCK_ROWS: usize = 1 << 10;

/// A party's column in a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Factor {
    /// Place of the party.
    pub party: usize,
    /// Number of the column among the party's.
    pub column: u32,
}

/// Products that all parties agree on, each of columns of two or more of them.
#[derive(Debug, Clone)]
pub struct MeshProducts {
    rows: usize,
    integers: Integers,
    /// Integers of a party whose are others.
    other_integers: BTreeMap<usize, Integers>,
    modulus: Modulus,
    parties: Vec<Vec<usize>>,
    nodes: Vec<Node>,
    /// Node of each product.
    leaves: Vec<usize>,
    block: usize,
}

/// The first factors of some products.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Node of all factors but the last.
    pub(super) parent: Option<usize>,
    /// The last factor of the product.
    pub(super) factor: Factor,
    /// Number of factors of the product.
    pub(super) depth: usize,
    /// Whether it is multiplied further, row by row. Otherwise it is a product.
    pub(super) inner: bool,
}

/// Transfers of one of the chooser's columns: the nodes for which they carry words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) column: u32,
    pub(super) nodes: Vec<usize>,
}

/// Transfers that share a message: some rows of a bit of one of the chooser's columns.
#[derive(Debug, Clone)]
pub(super) struct Piece<'t> {
    pub(super) transfer: &'t Transfer,
    pub(super) bit: u32,
    /// Rows of the block.
    pub(super) rows: Range<usize>,
}

impl messages::Piece for Piece<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }
}

impl MeshProducts {
    /// Products over `rows` rows of integers of one range, as shares modulo `modulus`. The factors of each are of
    /// different parties, in the order of their places.
    ///
    /// Errors: too many rows, or too many products of one column ([`Error::Input`]); factors out of order, a product
    /// that is there twice, or begins another ([`Error::Internal`]).
    pub fn new(rows: usize, integers: Integers, modulus: Modulus, products: &[Vec<Factor>]) -> Result<MeshProducts> {
        if rows > MAX_ROWS {
            return Err(Error::Input(format!("{rows} rows: {MAX_ROWS} are possible")));
        }
        let (mut nodes, mut known): (Vec<Node>, HashMap<&[Factor], usize>) = Default::default();
        let mut leaves = Vec::with_capacity(products.len());
        for product in products {
            if product.len() < 2 || !product.is_sorted_by(|one, other| one.party < other.party) {
                return Err(Error::Internal("mesh: factors that are no two parties', or out of order".into()));
            }
            let mut parent = None;
            for depth in 1..=product.len() {
                let node = *known.entry(&product[..depth]).or_insert_with(|| {
                    nodes.push(Node { parent, factor: product[depth - 1], depth, inner: false });
                    nodes.len() - 1
                });
                if let Some(parent) = parent {
                    nodes[parent].inner = true;
                }
                parent = Some(node);
            }
            leaves.extend(parent);
        }
        let mut distinct = leaves.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < leaves.len() || leaves.iter().any(|leaf| nodes[*leaf].inner) {
            return Err(Error::Internal("mesh: a product that is there twice, or begins another".into()));
        }
        let held = nodes.iter().filter(|node| node.inner && node.depth > 1).count();
        let block = HELD_SHARES.checked_div(held).map_or(rows, |share| share.max(MIN_BLOCK_ROWS) / 128 * 128);
        let parties = products.iter().map(|product| product.iter().map(|factor| factor.party).collect()).collect();
        let (block, other_integers) = (block.clamp(1, rows.max(1)), BTreeMap::new());
        let plan = MeshProducts { rows, integers, other_integers, modulus, parties, nodes, leaves, block };
        let most = plan.most_words();
        if most * packing::bytes(1, modulus.bits()) > crate::channel::MAX_PAYLOAD_BYTES {
            return Err(Error::Input(format!("{most} products of one column do not fit a message: ask for fewer")));
        }
        Ok(plan)
    }

    /// The same, but that the columns of one party hold other integers.
    pub fn with_integers_of(mut self, party: usize, integers: Integers) -> MeshProducts {
        self.other_integers.insert(party, integers);
        self
    }

    /// The same in blocks of so many rows, so that tests see several of them.
    #[doc(hidden)]
    pub fn in_blocks_of(self, rows: usize) -> MeshProducts {
        MeshProducts { block: rows.max(1), ..self }
    }

    /// Rows of each column.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the range of a party's integers.
    pub fn integers_of(&self, party: usize) -> Integers {
        self.other_integers.get(&party).copied().unwrap_or(self.integers)
    }

    /// The longest of the parties' integers.
    pub(super) fn widest(&self) -> Integers {
        let all = self.other_integers.values().chain([&self.integers]);
        all.copied().max_by_key(|integers| integers.bits()).unwrap_or(self.integers)
    }

    /// Returns the modulus of the sum of shares.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The parties of each product.
    pub fn parties(&self) -> &[Vec<usize>] {
        &self.parties
    }

    /// The products that a party has a share of, in order.
    pub fn of_party(&self, party: usize) -> impl Iterator<Item = usize> {
        (0..self.parties.len()).filter(move |&product| self.parties[product].contains(&party))
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node of a product.
    pub(super) fn leaf(&self, product: usize) -> usize {
        self.leaves[product]
    }

    /// The most factors of a product.
    pub(super) fn depth(&self) -> usize {
        self.nodes.iter().map(|node| node.depth).max().unwrap_or(0)
    }

    /// Rows that are worked on at once.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        messages::chunks(self.rows, self.block)
    }

    /// Whether a party is among those of a node.
    fn has(&self, node: usize, party: usize) -> bool {
        let mut at = Some(node);
        while let Some(node) = at {
            if self.nodes[node].factor.party == party {
                return true;
            }
            at = self.nodes[node].parent;
        }
        false
    }

    /// Transfers between two parties for products of so many factors: the one at `sender` has shares of all factors but
    /// the last, which is the chooser's.
    pub(super) fn transfers(&self, depth: usize, sender: usize, chooser: usize) -> Vec<Transfer> {
        let mut columns: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            let wanted = node.depth == depth && node.factor.party == chooser;
            if wanted && node.parent.is_some_and(|parent| self.has(parent, sender)) {
                columns.entry(node.factor.column).or_default().push(place);
            }
        }
        columns.into_iter().map(|(column, nodes)| Transfer { column, nodes }).collect()
    }

    /// Pieces of transfers to a chooser in a block of so many rows: the highest bit of a column first.
    pub(super) fn pieces<'t>(
        &self,
        transfers: &'t [Transfer],
        chooser: usize,
        rows: usize,
    ) -> impl Iterator<Item = Piece<'t>> {
        let (integers, modulus) = (self.integers_of(chooser), self.modulus);
        transfers.iter().flat_map(move |transfer| {
            let chunk = messages::rows_per_message(transfer.nodes.len(), modulus.bits());
            (0..integers.bits())
                .rev()
                .flat_map(move |bit| messages::chunks(rows, chunk).map(move |rows| Piece { transfer, bit, rows }))
        })
    }

    /// Bytes of a piece's message.
    pub(super) fn message_bytes(&self, piece: &Piece<'_>) -> usize {
        piece.transfer.nodes.len() * packing::bytes(piece.rows.len(), self.modulus.bits())
    }

    /// The most words that one transfer carries.
    pub fn most_words(&self) -> usize {
        let mut counts: HashMap<(usize, usize, u32), usize> = HashMap::new();
        for node in self.nodes.iter().filter(|node| node.depth > 1) {
            *counts.entry((node.depth, node.factor.party, node.factor.column)).or_default() += 1;
        }
        counts.into_values().max().unwrap_or(0)
    }

    /// Bytes that a party sends to another, by transfers with this k of SoftSpoken, frames' headers included, the setup
    /// of transfers and the closing frame not.
    pub fn bytes_sent(&self, k: usize, me: usize, peer: usize) -> Result<u64> {
        let (form, role) = (form(k)?, role(me, peer));
        let mut bytes = 0;
        for depth in 2..=self.depth() {
            let transfers = self.transfers(depth, me.min(peer), me.max(peer));
            for block in self.blocks() {
                for piece in self.pieces(&transfers, me.max(peer), block.len()) {
                    bytes += form.bytes_sent_by(role, piece.rows.len());
                    bytes += if role == Role::Sender { frame(self.message_bytes(&piece)) } else { 0 };
                }
            }
        }
        Ok(bytes)
    }

    /// Bytes of the shares of rows that a party has at once.
    pub fn held_bytes(&self) -> u64 {
        let held = self.nodes.iter().filter(|node| node.inner && node.depth > 1).count();
        let word = if self.modulus.is_power_of_two() && self.modulus.bits() <= 64 { 8 } else { 16 };
        (held * self.block.min(self.rows) * word) as u64
    }

    /// Number of transfers between two parties.
    pub fn transfers_between(&self, one: usize, other: usize) -> u64 {
        let columns = (2..=self.depth()).map(|depth| self.transfers(depth, one.min(other), one.max(other)).len());
        columns.sum::<usize>() as u64 * self.rows as u64 * u64::from(self.integers_of(one.max(other)).bits())
    }

    /// Message flights in sequence of a party, at most: the setup of transfers, and two for each step.
    pub fn rounds(&self) -> u32 {
        let steps = self.depth().saturating_sub(1) * self.blocks().count();
        2 + 2 * u32::try_from(steps).unwrap_or(u32::MAX / 4)
    }
}
