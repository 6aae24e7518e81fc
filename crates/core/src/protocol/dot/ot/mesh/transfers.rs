//! The transfers of one link in one step.

use zeroize::Zeroizing;

use super::plan::{MeshProducts, Piece, Transfer};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::messages::{self, Piece as _};
use crate::primitive::ot::{MESSAGES, RandomOtReceiver, RandomOtSender};
use crate::protocol::dot::ot::ring::Ring;
use crate::protocol::dot::ot::words::{Expander, Factors, RowShares, Work};
use crate::protocol::dot::{Columns, Integers};

/// A party's shares of a node in a block: of each row, or the one of their sum.
pub(super) type NodeShares<W> = Zeroizing<Vec<W>>;

/// Numbers that the sender multiplies: for each word of a transfer its own column, or its shares of a node.
pub(super) struct Held<'a, W> {
    pub(super) columns: &'a Columns,
    /// First row of the block.
    pub(super) start: usize,
    pub(super) words: Vec<HeldFactor<'a, W>>,
}

/// A number that goes into a product in each row.
#[derive(Clone, Copy)]
pub(super) enum HeldFactor<'a, W> {
    Column(usize),
    Shares(&'a [W]),
}

impl<R: Ring> Factors<R> for Held<'_, R::Word> {
    #[inline(always)]
    fn words(&self, ring: R, column: usize, start: usize, room: &mut [i64], words: &mut [R::Word]) {
        match self.words[column] {
            HeldFactor::Column(column) => {
                Factors::<R>::words(self.columns, ring, column, self.start + start, room, words)
            }
            HeldFactor::Shares(shares) => words.copy_from_slice(&shares[start..start + words.len()]),
        }
    }
}

/// One link's end in a step.
pub(super) struct Step<'a, R> {
    pub(super) plan: &'a MeshProducts,
    pub(super) ring: R,
    pub(super) expander: &'a Expander,
    pub(super) transfers: &'a [Transfer],
    /// Place of the party that chooses.
    pub(super) chooser: usize,
    /// Rows of the block.
    pub(super) rows: usize,
    /// Number of the next transfer of the batch.
    pub(super) index: u64,
}

impl<R: Ring> Step<'_, R> {
    /// The sender's part: its shares of the nodes of all transfers, in order. `held` gives the factors of a transfer's
    /// words.
    pub(super) fn send<'h>(
        &mut self,
        held: impl Fn(&Transfer) -> Held<'h, R::Word>,
        ot: &mut (impl RandomOtSender + ?Sized),
        channel: &mut Channel,
    ) -> Result<Vec<NodeShares<R::Word>>>
    where
        R::Word: 'h,
    {
        let progress = channel.progress().clone();
        let mut sums = Growing::of(self);
        let (plan, transfers) = (self.plan, self.transfers);
        messages::send(ot, plan.pieces(transfers, self.chooser, self.rows), channel, |piece, pairs| {
            let factors = held(piece.transfer);
            let mut message = vec![0; plan.message_bytes(&piece)];
            let work = self.work(&piece);
            sums.add(self.ring, plan, &piece, |rows| {
                Some(work.send(&factors, piece.rows.start, pairs, &mut message, rows.into_iter()))
            });
            self.index += piece.count() as u64;
            progress.advance(piece.count());
            Ok(message)
        })?;
        Ok(sums.shares)
    }

    /// The chooser's part, whose columns are multiplied.
    pub(super) fn receive(
        &mut self,
        columns: &Columns,
        start: usize,
        ot: &mut (impl RandomOtReceiver + ?Sized),
        channel: &mut Channel,
    ) -> Result<Vec<NodeShares<R::Word>>> {
        let progress = channel.progress().clone();
        let mut sums = Growing::of(self);
        let (plan, transfers) = (self.plan, self.transfers);
        let choices = |piece: &Piece<'_>| {
            let rows = start + piece.rows.start..start + piece.rows.end;
            columns.plane(piece.transfer.column as usize, piece.bit, rows)
        };
        let bytes = |piece: &Piece<'_>| plan.message_bytes(piece);
        let pieces = plan.pieces(transfers, self.chooser, self.rows);
        messages::receive(ot, pieces, choices, bytes, channel, |piece, choices, blocks, message, channel| {
            let work = self.work(&piece);
            let right =
                sums.add(self.ring, plan, &piece, |rows| work.receive(choices, blocks, message, rows.into_iter()));
            self.index += piece.count() as u64;
            progress.advance(piece.count());
            if right {
                Ok(())
            } else {
                Err(channel.violation(format!("`{}` hold no words below the modulus", MESSAGES.name)))
            }
        })?;
        Ok(sums.shares)
    }

    fn work(&self, piece: &Piece<'_>) -> Work<'_, R> {
        Work { ring: self.ring, expander: self.expander, columns: piece.transfer.nodes.len(), index: self.index }
    }
}

/// Shares of a step's nodes while they grow.
struct Growing<W: zeroize::Zeroize> {
    shares: Vec<NodeShares<W>>,
    /// Place of the transfer's first node, and the transfer that it belongs to.
    first: usize,
    column: Option<(u32, usize)>,
    /// Integers of the party that chooses.
    integers: Integers,
}

impl<W: Copy + Default + zeroize::Zeroize> Growing<W> {
    fn of<R: Ring<Word = W>>(step: &Step<'_, R>) -> Growing<W> {
        let nodes = step.transfers.iter().flat_map(|transfer| &transfer.nodes);
        let length = |node: &usize| if step.plan.nodes()[*node].inner { step.rows } else { 1 };
        let shares = nodes.map(|node| Zeroizing::new(vec![W::default(); length(node)])).collect();
        Growing { shares, first: 0, column: None, integers: step.plan.integers_of(step.chooser) }
    }

    /// Adds a piece, which `work` makes: what there is counts twice for each lower bit, and the highest is negative for
    /// a sign. False if the piece is none.
    fn add<R: Ring<Word = W>>(
        &mut self,
        ring: R,
        plan: &MeshProducts,
        piece: &Piece<'_>,
        work: impl FnOnce(Vec<RowShares<'_, W>>) -> Option<Zeroizing<Vec<W>>>,
    ) -> bool {
        let nodes = &piece.transfer.nodes;
        match self.column {
            Some((column, _)) if column == piece.transfer.column => (),
            Some((_, count)) => self.first += count,
            None => (),
        }
        self.column = Some((piece.transfer.column, nodes.len()));
        let shares = &mut self.shares[self.first..][..nodes.len()];
        let inner = |node: &usize| plan.nodes()[*node].inner;
        if piece.bit + 1 < self.integers.bits() {
            for (shares, node) in shares.iter_mut().zip(nodes) {
                let doubled = if inner(node) { piece.rows.clone() } else { 0..usize::from(piece.rows.start == 0) };
                shares[doubled].iter_mut().for_each(|share| *share = ring.add(*share, *share));
            }
        }
        let rows = shares.iter_mut().zip(nodes);
        let rows =
            rows.map(|(shares, node)| inner(node).then_some(&mut shares[..]).map(|all| &mut all[piece.rows.clone()]));
        let Some(sums) = work(rows.collect()) else { return false };
        let negative = self.integers.weight(piece.bit) < 0;
        for ((shares, node), sum) in shares.iter_mut().zip(nodes).zip(sums.iter()) {
            if !inner(node) {
                shares[0] = if negative { ring.subtract(shares[0], *sum) } else { ring.add(shares[0], *sum) };
            } else if negative {
                let rows = shares[piece.rows.clone()].iter_mut();
                rows.for_each(|share| *share = ring.subtract(W::default(), *share));
            }
        }
        true
    }
}
