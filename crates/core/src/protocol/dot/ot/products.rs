//! A party's shares while they grow.

use zeroize::Zeroizing;

use super::Params;
use super::params::{Piece, Segment};
use super::ring::{AnyRing, Ring};
use super::words::{Expander, Work, only_sums};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::kernel::Block;
use crate::primitive::ot::messages::{self, Piece as _};
use crate::primitive::ot::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender};
use crate::protocol::dot::{Columns, Shares};
use crate::role::Side;
use crate::session::Session;

/// Sums of shares, and all that a piece needs to add to them. Nothing here is as long as the columns.
pub(super) struct Products<'a> {
    params: &'a Params,
    columns: &'a Columns,
    expander: Expander,
    totals: Zeroizing<Vec<u128>>,
    /// Number of OTs so far.
    index: u64,
}

impl<'a> Products<'a> {
    pub(super) fn new(
        side: Side,
        columns: &'a Columns,
        params: &'a Params,
        session: &Session,
        channel: &Channel,
    ) -> Result<Products<'a>> {
        let shape = params.shape();
        let agreed = (shape.integers, shape.rows, shape.columns(side));
        if (columns.integers(), columns.rows(), columns.count()) != agreed {
            return Err(Error::Internal("ot: columns of another shape than was agreed on".into()));
        }
        // The words of the lowest bits are the longest.
        let expander = match params.ring(0) {
            AnyRing::Narrow(ring) => Expander::new(ring, params, session),
            AnyRing::Wide(ring) => Expander::new(ring, params, session),
            AnyRing::Residues(ring) => Expander::new(ring, params, session),
        };
        channel.progress().start("transfers", usize::try_from(params.transfers()).unwrap_or(usize::MAX));
        let totals = Zeroizing::new(vec![0; shape.products()]);
        Ok(Products { params, columns, expander, totals, index: 0 })
    }

    /// The OTs of a segment, as their sender.
    pub(super) fn send(
        &mut self,
        segment: &Segment,
        ot: &mut impl RandomOtSender,
        channel: &mut Channel,
    ) -> Result<()> {
        let progress = channel.progress().clone();
        messages::send(ot, segment.pieces(), channel, |piece, pairs| {
            progress.advance(piece.count());
            Ok(match self.params.ring(self.params.place(piece.plane).1) {
                AnyRing::Narrow(ring) => self.send_piece(ring, &piece, pairs),
                AnyRing::Wide(ring) => self.send_piece(ring, &piece, pairs),
                AnyRing::Residues(ring) => self.send_piece(ring, &piece, pairs),
            })
        })
    }

    /// The OTs of a segment, as their receiver.
    pub(super) fn receive(
        &mut self,
        segment: &Segment,
        ot: &mut impl RandomOtReceiver,
        channel: &mut Channel,
    ) -> Result<()> {
        let (params, columns, progress) = (self.params, self.columns, channel.progress().clone());
        let choices = |piece: &Piece| {
            let (column, bit) = params.place(piece.plane);
            columns.plane(column, bit, piece.rows.clone())
        };
        let bytes = |piece: &Piece| params.message_bytes(piece.count(), params.place(piece.plane).1);
        messages::receive(ot, segment.pieces(), choices, bytes, channel, |piece, choices, blocks, message, channel| {
            progress.advance(piece.count());
            let right = match params.ring(params.place(piece.plane).1) {
                AnyRing::Narrow(ring) => self.receive_piece(ring, &piece, choices, blocks, message),
                AnyRing::Wide(ring) => self.receive_piece(ring, &piece, choices, blocks, message),
                AnyRing::Residues(ring) => self.receive_piece(ring, &piece, choices, blocks, message),
            };
            if right {
                Ok(())
            } else {
                Err(channel.violation(format!("`{}` hold no words below the modulus", MESSAGES.name)))
            }
        })
    }

    /// Returns the shares that have been summed.
    pub(super) fn shares(self) -> Result<Shares> {
        Shares::new(self.params.modulus(), self.totals.to_vec())
    }

    fn send_piece<R: Ring>(&mut self, ring: R, piece: &Piece, pairs: &[[Block; 2]]) -> Vec<u8> {
        let mut message = vec![0; self.params.message_bytes(pairs.len(), self.params.place(piece.plane).1)];
        let sums = self.work(ring).send(self.columns, piece.rows.start, pairs, &mut message, only_sums());
        self.add(ring, piece, &sums);
        message
    }

    fn receive_piece<R: Ring>(
        &mut self,
        ring: R,
        piece: &Piece,
        choices: &Choices,
        blocks: &[Block],
        message: &[u8],
    ) -> bool {
        let sums = self.work(ring).receive(choices, blocks, message, only_sums());
        sums.is_some_and(|sums| {
            self.add(ring, piece, &sums);
            true
        })
    }

    fn work<R: Ring>(&self, ring: R) -> Work<'_, R> {
        Work { ring, expander: &self.expander, columns: self.params.sender_columns(), index: self.index }
    }

    /// Adds the shares of a piece, one for each of the sender's columns, times what its bits stand for.
    fn add<R: Ring>(&mut self, ring: R, piece: &Piece, sums: &[R::Word]) {
        let (params, modulus) = (self.params, self.params.modulus());
        let (column, bit) = params.place(piece.plane);
        let negative = params.shape().integers.weight(bit) < 0;
        for (of_sender, sum) in sums.iter().enumerate() {
            let mut share = ring.number(*sum);
            if modulus.is_power_of_two() {
                share <<= bit;
            } else {
                (0..bit).for_each(|_| share = modulus.add(share, share));
            }
            let place = match params.ot_sender() {
                Side::First => of_sender * params.shape().second + column,
                Side::Second => column * params.shape().second + of_sender,
            };
            let total = &mut self.totals[place];
            *total = if negative { modulus.subtract(*total, share) } else { modulus.add(*total, share) };
        }
        self.index += piece.count() as u64;
    }
}
