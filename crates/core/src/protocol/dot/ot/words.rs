//! Conversion of random blocks to messages, and of messages to sums of shares: one piece of one plane.
//!
//! A piece is worked on in items: the columns of one group, whose words are cut from the same blocks, in some of the
//! rows.

use std::ops::Range;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::Params;
use super::ring::Ring;
use crate::primitive::kernel::RekeyedHash;
use crate::primitive::kernel::block::{self, Block};
use crate::primitive::kernel::mask;
use crate::primitive::ot::Choices;
use crate::primitive::ot::packing::{self, STRIP};
use crate::protocol::dot::Columns;
use crate::session::Session;

/// Rows whose blocks are hashed at once.
const ROWS: usize = 8 * STRIP;

/// Words of a message from which on several threads make it.
const PARALLEL: usize = 1 << 16;

/// Hashes that make more blocks out of one, where the words of all columns do not fit it: block b becomes H_0(b),
/// H_1(b), ... with the number of its OT as tweak.
pub(super) struct Expander(Vec<RekeyedHash>);

impl Expander {
    /// The hashes for words for all of the sender's columns, in this ring and in smaller ones.
    pub(super) fn new<R: Ring>(ring: R, params: &Params, session: &Session) -> Expander {
        Expander::of(ring, params.sender_columns(), |number| params.words_label(number), session)
    }

    /// The hashes for words for up to `columns` columns; `label` says what the key of each is derived for.
    pub(super) fn of<R: Ring>(ring: R, columns: usize, label: impl Fn(usize) -> String, session: &Session) -> Expander {
        let count = if fits(ring, columns) { 0 } else { columns.div_ceil(ring.words()) * R::BLOCKS };
        let hash = |number| RekeyedHash::new(Block::from_le_slice(&session.derive(&label(number))));
        Expander((0..count).map(hash).collect())
    }

    /// The hashes for the blocks of one group of `columns`: none if words are cut from the OT's blocks themselves.
    fn of_group<R: Ring>(&self, ring: R, columns: usize, group: usize) -> &[RekeyedHash] {
        if fits(ring, columns) { &[] } else { &self.0[group * R::BLOCKS..][..R::BLOCKS] }
    }
}

/// Whether the block of an OT has words for all columns.
fn fits<R: Ring>(ring: R, columns: usize) -> bool {
    R::BLOCKS == 1 && columns <= ring.words()
}

/// Numbers that the OT sender multiplies the chooser's bits with: its integers, or its shares of products.
pub(super) trait Factors<R: Ring>: Sync {
    /// Writes the words of a column in the rows from `start` on, [`STRIP`] at most. `room` is for integers on the way.
    fn words(&self, ring: R, column: usize, start: usize, room: &mut [i64], words: &mut [R::Word]);
}

impl<R: Ring> Factors<R> for Columns {
    #[inline(always)]
    fn words(&self, ring: R, column: usize, start: usize, room: &mut [i64], words: &mut [R::Word]) {
        let room = &mut room[..words.len()];
        self.copy(column, start, room);
        words.iter_mut().zip(room).for_each(|(word, value)| *word = ring.word(*value));
    }
}

/// A party's share of each row of a column, where more than their sum is wanted: the shares of a piece are added to it.
pub(super) type RowShares<'m, W> = Option<&'m mut [W]>;

/// Columns of which only the sums are wanted.
pub(super) fn only_sums<'m, W: 'm>() -> impl Iterator<Item = RowShares<'m, W>> {
    std::iter::repeat_with(|| None)
}

/// The rows of an item, `each` of them at a time.
fn divide_rows<'m, W: 'm>(rows: RowShares<'m, W>, each: usize) -> impl Iterator<Item = RowShares<'m, W>> {
    rows.into_iter().flat_map(move |rows| rows.chunks_mut(each)).map(Some).chain(only_sums())
}

/// Data that all items of a piece have in common.
#[derive(Clone, Copy)]
pub(super) struct Work<'a, R> {
    pub(super) ring: R,
    pub(super) expander: &'a Expander,
    /// Columns of the OT sender.
    pub(super) columns: usize,
    /// The number of the piece's first OT.
    pub(super) index: u64,
}

/// Columns of one group in some rows of a piece, with each column's part of the message.
struct Item<M> {
    group: usize,
    columns: Range<usize>,
    rows: Range<usize>,
    parts: Vec<M>,
}

impl<R: Ring> Work<'_, R> {
    /// The sender's part of a piece whose first row is `start`: writes its message, and returns its share for each
    /// column. `rows` are, for each column, where the share of each row goes.
    pub(super) fn send<'m>(
        &self,
        input: &impl Factors<R>,
        start: usize,
        pairs: &[[Block; 2]],
        message: &'m mut [u8],
        rows: impl Iterator<Item = RowShares<'m, R::Word>>,
    ) -> Zeroizing<Vec<R::Word>>
    where
        R::Word: 'm,
    {
        let columns = message.chunks_mut(packing::bytes(pairs.len(), self.ring.bits()).max(1)).zip(rows);
        let divide = |(column, rows): (&'m mut [u8], _), each| {
            column.chunks_mut(packing::bytes(each, self.ring.bits())).zip(divide_rows(rows, each))
        };
        let items = self.items(pairs.len(), columns, divide);
        self.sums(items, |item, sums| self.send_item(input, start, pairs, item, sums)).0
    }

    /// The chooser's part: its share for each column, or `None` if the message holds something else than words.
    pub(super) fn receive<'m>(
        &self,
        choices: &Choices,
        blocks: &[Block],
        message: &'m [u8],
        rows: impl Iterator<Item = RowShares<'m, R::Word>>,
    ) -> Option<Zeroizing<Vec<R::Word>>>
    where
        R::Word: 'm,
    {
        let columns = message.chunks(packing::bytes(blocks.len(), self.ring.bits()).max(1)).zip(rows);
        let divide = |(column, rows): (&'m [u8], _), each| {
            column.chunks(packing::bytes(each, self.ring.bits())).zip(divide_rows(rows, each))
        };
        let items = self.items(blocks.len(), columns, divide);
        let (sums, right) = self.sums(items, |item, sums| self.receive_item(choices, blocks, item, sums));
        right.then_some(sums)
    }

    /// Divides a piece into items, more than one for each group only if there are threads for them.
    fn items<M, I: Iterator<Item = M>>(
        &self,
        rows: usize,
        columns: impl Iterator<Item = M>,
        divide: impl Fn(M, usize) -> I,
    ) -> Vec<Item<M>> {
        let (group, groups) = (self.ring.words(), self.columns.div_ceil(self.ring.words()));
        let threads = if rows * self.columns < PARALLEL { 1 } else { rayon::current_num_threads() };
        let each = rows.div_ceil(threads.div_ceil(groups)).next_multiple_of(ROWS);
        let mut items: Vec<Item<M>> = Vec::new();
        for (index, column) in columns.enumerate() {
            let parts = rows.div_ceil(each);
            if index % group == 0 {
                items.extend((0..parts).map(|part| Item {
                    group: index / group,
                    columns: index..self.columns.min(index + group),
                    rows: part * each..rows.min((part + 1) * each),
                    parts: Vec::new(),
                }));
            }
            let place = items.len() - parts;
            items[place..].iter_mut().zip(divide(column, each)).for_each(|(item, part)| item.parts.push(part));
        }
        items
    }

    /// The sum of all items' shares, and whether all went well.
    fn sums<M: Send>(
        &self,
        items: Vec<Item<M>>,
        work: impl Fn(Item<M>, &mut [R::Word]) -> bool + Sync,
    ) -> (Zeroizing<Vec<R::Word>>, bool) {
        let one = |item: Item<M>| {
            let mut sums = Zeroizing::new(vec![R::Word::default(); item.columns.len()]);
            let columns = item.columns.clone();
            let right = work(item, &mut sums);
            (columns, sums, right)
        };
        let size: usize = items.iter().map(|item| item.rows.len() * item.columns.len()).sum();
        let all: Vec<_> = if items.len() > 1 && size >= PARALLEL {
            items.into_par_iter().map(one).collect()
        } else {
            items.into_iter().map(one).collect()
        };
        let mut total = Zeroizing::new(vec![R::Word::default(); self.columns]);
        for (columns, sums, _) in &all {
            for (total, sum) in total[columns.clone()].iter_mut().zip(sums.iter()) {
                *total = self.ring.add(*total, *sum);
            }
        }
        (total, all.iter().all(|(.., right)| *right))
    }

    fn send_item(
        &self,
        input: &impl Factors<R>,
        start: usize,
        pairs: &[[Block; 2]],
        mut item: Item<(&mut [u8], RowShares<'_, R::Word>)>,
        sums: &mut [R::Word],
    ) -> bool {
        let mut room = Room::new(self.expander.of_group(self.ring, self.columns, item.group), item.rows.len());
        let mut values = Zeroizing::new([0; STRIP]);
        let mut words = Zeroizing::new([R::Word::default(); STRIP]);
        for rows in in_steps(item.rows.clone(), ROWS) {
            let cut = room.pairs(self.index + rows.start as u64, &pairs[rows.clone()]);
            let places = item.columns.clone().zip(&mut item.parts).zip(sums.iter_mut()).enumerate();
            for (place, ((column, (part, of_rows)), sum)) in places {
                for strip in in_steps(0..rows.len(), STRIP) {
                    let words = &mut words[..strip.len()];
                    input.words(self.ring, column, start + rows.start + strip.start, &mut *values, words);
                    let cut = cut.map(|pairs| &pairs[strip.clone()]);
                    let from = rows.start - item.rows.start + strip.start;
                    let of_rows = of_rows.as_deref_mut().map(|shares| &mut shares[from..from + strip.len()]);
                    let of_strip = match place {
                        0 => self.correct::<true>(place, cut, words, of_rows),
                        _ => self.correct::<false>(place, cut, words, of_rows),
                    };
                    *sum = self.ring.add(*sum, of_strip);
                    let at = packing::bytes(from, self.ring.bits());
                    let length = packing::bytes(strip.len(), self.ring.bits());
                    self.ring.pack(words, &mut part[at..at + length]);
                }
            }
        }
        true
    }

    /// Makes of the words x the words d = m_0 + x - m_1. Returns the sum of all -m_0, and adds each to its row.
    #[inline(always)]
    fn correct<const FIRST: bool>(
        &self,
        place: usize,
        cut: [&[[Block; 2]]; 2],
        words: &mut [R::Word],
        rows: RowShares<'_, R::Word>,
    ) -> R::Word {
        let ring = self.ring;
        let mut sum = R::Word::default();
        if let Some(rows) = rows {
            for ((pair, second), row) in cut[0].iter().zip(cut[1]).zip(rows) {
                *row = ring.subtract(*row, ring.cut::<FIRST>(place, pair[0], second[0]));
            }
        }
        for ((pair, second), word) in cut[0].iter().zip(cut[1]).zip(words) {
            let zero = ring.cut::<FIRST>(place, pair[0], second[0]);
            let one = ring.cut::<FIRST>(place, pair[1], second[1]);
            *word = ring.subtract(ring.add(zero, *word), one);
            sum = ring.subtract(sum, zero);
        }
        sum
    }

    fn receive_item(
        &self,
        choices: &Choices,
        blocks: &[Block],
        mut item: Item<(&[u8], RowShares<'_, R::Word>)>,
        sums: &mut [R::Word],
    ) -> bool {
        let mut room = Room::new(self.expander.of_group(self.ring, self.columns, item.group), item.rows.len());
        let mut masks = Zeroizing::new([0; STRIP]);
        let mut words = Zeroizing::new([R::Word::default(); STRIP]);
        let mut right = true;
        for rows in in_steps(item.rows.clone(), ROWS) {
            let cut = room.blocks(self.index + rows.start as u64, &blocks[rows.clone()]);
            for strip in in_steps(0..rows.len(), STRIP) {
                mask::masks(choices.word_at(rows.start + strip.start), &mut *masks);
                let (words, cut) = (&mut words[..strip.len()], cut.map(|blocks| &blocks[strip.clone()]));
                let from = rows.start - item.rows.start + strip.start;
                let at = packing::bytes(from, self.ring.bits());
                let length = packing::bytes(strip.len(), self.ring.bits());
                for (place, ((part, of_rows), sum)) in item.parts.iter_mut().zip(sums.iter_mut()).enumerate() {
                    right &= self.ring.unpack(&part[at..at + length], words);
                    let of_rows = of_rows.as_deref_mut().map(|shares| &mut shares[from..from + strip.len()]);
                    let of_strip = match place {
                        0 => self.choose::<true>(place, cut, &*masks, words, of_rows),
                        _ => self.choose::<false>(place, cut, &*masks, words, of_rows),
                    };
                    *sum = self.ring.add(*sum, of_strip);
                }
            }
        }
        right
    }

    /// Returns the sum of all m_y + y d, and adds each to its row.
    #[inline(always)]
    fn choose<const FIRST: bool>(
        &self,
        place: usize,
        cut: [&[Block]; 2],
        masks: &[i64],
        words: &[R::Word],
        rows: RowShares<'_, R::Word>,
    ) -> R::Word {
        let ring = self.ring;
        let mut sum = R::Word::default();
        if let Some(rows) = rows {
            let cuts = cut[0].iter().zip(cut[1]).zip(masks).zip(words);
            for ((((block, second), mask), word), row) in cuts.zip(rows) {
                let share = ring.add(ring.cut::<FIRST>(place, *block, *second), ring.select(*mask, *word));
                *row = ring.add(*row, share);
            }
        }
        for (((block, second), mask), word) in cut[0].iter().zip(cut[1]).zip(masks).zip(words) {
            sum = ring.add(sum, ring.cut::<FIRST>(place, *block, *second));
            sum = ring.add(sum, ring.select(*mask, *word));
        }
        sum
    }
}

/// Memory for the results of a group's hashes: for each hash `rows` blocks.
struct Room<'h> {
    hashes: &'h [RekeyedHash],
    rows: usize,
    blocks: Zeroizing<Vec<Block>>,
    of_side: Zeroizing<Vec<Block>>,
    pairs: Zeroizing<Vec<[Block; 2]>>,
}

impl<'h> Room<'h> {
    /// Room for an item of `rows` rows, of which [`ROWS`] at most are hashed at once.
    fn new(hashes: &'h [RekeyedHash], rows: usize) -> Room<'h> {
        let (blocks, of_side, pairs) = (Zeroizing::default(), Zeroizing::default(), Zeroizing::default());
        Room { hashes, rows: rows.min(ROWS), blocks, of_side, pairs }
    }

    /// The blocks that the words are cut from, of OTs from number `index` on: the first and the second of each OT, or
    /// twice the only one.
    fn blocks<'a>(&'a mut self, index: u64, blocks: &'a [Block]) -> [&'a [Block]; 2] {
        let Some(last) = self.hashes.len().checked_sub(1) else {
            return [blocks; 2];
        };
        self.hash(index, blocks);
        [0, last].map(|hash| &self.blocks[hash * self.rows..][..blocks.len()])
    }

    /// Hashes as [`Room::blocks`] does, for both blocks of pairs.
    fn pairs<'a>(&'a mut self, index: u64, pairs: &'a [[Block; 2]]) -> [&'a [[Block; 2]]; 2] {
        let Some(last) = self.hashes.len().checked_sub(1) else {
            return [pairs; 2];
        };
        if self.pairs.is_empty() {
            self.pairs = Zeroizing::new(vec![[Block::ZERO; 2]; self.hashes.len() * self.rows]);
            self.of_side = Zeroizing::new(block::zeros(self.rows));
        }
        for side in 0..2 {
            let mut of_side = std::mem::take(&mut self.of_side);
            of_side.iter_mut().zip(pairs).for_each(|(block, pair)| *block = pair[side]);
            self.hash(index, &of_side[..pairs.len()]);
            self.of_side = of_side;
            for (room, hashed) in self.pairs.chunks_mut(self.rows).zip(self.blocks.chunks(self.rows)) {
                room.iter_mut().zip(hashed).for_each(|(pair, block)| pair[side] = *block);
            }
        }
        [0, last].map(|hash| &self.pairs[hash * self.rows..][..pairs.len()])
    }

    fn hash(&mut self, index: u64, blocks: &[Block]) {
        if self.blocks.is_empty() {
            self.blocks = Zeroizing::new(block::zeros(self.hashes.len() * self.rows));
        }
        for (hash, room) in self.hashes.iter().zip(self.blocks.chunks_mut(self.rows)) {
            hash.hash(index, blocks, &mut room[..blocks.len()], false);
        }
    }
}

fn in_steps(range: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(step).map(move |start| start..end.min(start + step))
}
