//! Some of the products of columns of zeros and ones: each of the chooser's columns with some of the sender's, over
//! given OTs. As in the [module above](super), but that a column's transfers carry words for its partners alone, and
//! that columns are asked for when their turn comes, so that memory does not grow with their number.

use std::ops::Range;

use zeroize::Zeroizing;

use super::ring::{Narrow, Ring};
use super::words::{Expander, Work, only_sums};
use crate::channel::{Channel, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::primitive::ot::messages;
use crate::primitive::ot::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender, packing};
use crate::progress::Progress;
use crate::protocol::dot::{Columns, Integers, MAX_ROWS, Modulus, Shares};
use crate::session::Session;

/// Pairs of columns whose products are wanted; both parties must use the same.
#[derive(Debug, Clone)]
pub struct ProductPairs {
    rows: usize,
    modulus: Modulus,
    /// Sender's columns with which each of the chooser's is multiplied.
    partners: Vec<Vec<u32>>,
    batch: u32,
}

impl ProductPairs {
    /// Products of columns of `rows` rows as shares modulo `modulus`; `partners` are, for each of the chooser's
    /// columns, the sender's columns that it is multiplied with. `batch` is another number in each run of a session.
    ///
    /// Errors: too many rows or partners ([`Error::Input`]); a modulus that is no power of two up to 2^64.
    pub fn new(rows: usize, modulus: Modulus, partners: Vec<Vec<u32>>, batch: u32) -> Result<ProductPairs> {
        let most = partners.iter().map(Vec::len).max().unwrap_or(0);
        if !modulus.is_power_of_two() || modulus.bits() > 64 {
            return Err(Error::Internal(format!("ot: pairs of columns modulo {modulus}")));
        }
        if rows <= MAX_ROWS && most * packing::bytes(1, modulus.bits()) <= MAX_PAYLOAD_BYTES {
            Ok(ProductPairs { rows, modulus, partners, batch })
        } else {
            Err(Error::Input(format!(
                "{most} products of one column of {rows} rows do not fit a message: ask for fewer, in rules by a higher \
                 min_support"
            )))
        }
    }

    /// Returns the number of products.
    pub fn products(&self) -> usize {
        self.partners.iter().map(Vec::len).sum()
    }

    /// Returns the number of OTs: one for each row of each of the chooser's columns that has a partner.
    pub fn transfers(&self) -> u64 {
        self.partners.iter().filter(|partners| !partners.is_empty()).count() as u64 * self.rows as u64
    }

    /// Bytes of the sender's messages, frames' headers included.
    pub fn message_bytes(&self) -> u64 {
        self.pieces().map(|piece| (HEADER_BYTES + self.bytes_of(&piece)) as u64).sum()
    }

    fn bytes_of(&self, piece: &Piece) -> usize {
        self.partners[piece.column].len() * packing::bytes(piece.rows.len(), self.modulus.bits())
    }

    /// Pieces that share a message: rows of one of the chooser's columns.
    fn pieces(&self) -> impl Iterator<Item = Piece> {
        let columns = self.partners.iter().enumerate().filter(|(_, partners)| !partners.is_empty());
        columns.flat_map(move |(column, partners)| {
            let chunk = messages::rows_per_message(partners.len(), self.modulus.bits());
            messages::chunks(self.rows, chunk).map(move |rows| Piece { column, rows })
        })
    }

    fn expander(&self, session: &Session) -> Expander {
        let most = self.partners.iter().map(Vec::len).max().unwrap_or(0);
        let label = |number| format!("dot words of pairs {} {number}", self.batch);
        Expander::of(Narrow::new(self.modulus.bits()), most, label, session)
    }
}

/// OTs of some rows of one of the chooser's columns.
struct Piece {
    column: usize,
    rows: Range<usize>,
}

impl messages::Piece for Piece {
    fn count(&self) -> usize {
        self.rows.len()
    }
}

/// Sums of shares: for each of the chooser's columns, and each of its partners.
struct Sums<'a> {
    pairs: &'a ProductPairs,
    expander: Expander,
    /// Index at which the sums of each of the chooser's columns begin.
    starts: Vec<usize>,
    sums: Zeroizing<Vec<u128>>,
    /// Number of OTs so far.
    index: u64,
}

impl<'a> Sums<'a> {
    fn new(pairs: &'a ProductPairs, session: &Session) -> Sums<'a> {
        let starts = pairs.partners.iter().scan(0, |start, partners| {
            let here = *start;
            *start += partners.len();
            Some(here)
        });
        let (starts, sums) = (starts.collect(), Zeroizing::new(vec![0; pairs.products()]));
        Sums { pairs, expander: pairs.expander(session), starts, sums, index: 0 }
    }

    fn work(&self, piece: &Piece) -> Work<'_, Narrow> {
        let (ring, columns) = (Narrow::new(self.pairs.modulus.bits()), self.pairs.partners[piece.column].len());
        Work { ring, expander: &self.expander, columns, index: self.index }
    }

    fn add(&mut self, piece: &Piece, words: &[u64], progress: &Progress) {
        let (ring, modulus) = (Narrow::new(self.pairs.modulus.bits()), self.pairs.modulus);
        let sums = &mut self.sums[self.starts[piece.column]..][..words.len()];
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = modulus.add(*sum, ring.number(*word));
        }
        self.index += piece.rows.len() as u64;
        if piece.rows.end == self.pairs.rows {
            progress.advance(words.len());
        }
    }

    fn shares(self) -> Result<Shares> {
        Shares::new(self.pairs.modulus, self.sums.to_vec())
    }
}

/// The sender's part: its shares, for one of the chooser's columns after the other and each of its partners. `column`
/// gives the bits of one of the sender's own.
///
/// Errors: the channel fails, or the peer breaks the protocol.
pub fn send(
    pairs: &ProductPairs,
    mut column: impl FnMut(u32) -> Choices,
    session: &Session,
    ot: &mut impl RandomOtSender,
    channel: &mut Channel,
) -> Result<Shares> {
    let mut sums = Sums::new(pairs, session);
    let progress = channel.progress().clone();
    // Those of the piece at hand.
    let mut partners: Option<(usize, Columns)> = None;
    messages::send(ot, pairs.pieces(), channel, |piece, blocks| {
        let (_, columns) = match partners.take() {
            Some(same) if same.0 == piece.column => partners.insert(same),
            _ => {
                let mut columns = Columns::new(Integers::BINARY, pairs.rows);
                pairs.partners[piece.column].iter().for_each(|&partner| columns.push_bits(column(partner)));
                partners.insert((piece.column, columns))
            }
        };
        let mut message = vec![0; pairs.bytes_of(&piece)];
        let words = sums.work(&piece).send(&*columns, piece.rows.start, blocks, &mut message, only_sums());
        sums.add(&piece, &words, &progress);
        Ok(message)
    })?;
    sums.shares()
}

/// The chooser's part of [`send`]. `column` gives the bits of one of its own.
pub fn receive(
    pairs: &ProductPairs,
    column: impl Fn(u32) -> Choices,
    session: &Session,
    ot: &mut impl RandomOtReceiver,
    channel: &mut Channel,
) -> Result<Shares> {
    let mut sums = Sums::new(pairs, session);
    let progress = channel.progress().clone();
    let chosen = std::cell::RefCell::new(None);
    let choices = |piece: &Piece| -> Choices {
        let mut chosen = chosen.borrow_mut();
        let (_, bits) = match chosen.take() {
            Some(same @ (of, _)) if of == piece.column => chosen.insert(same),
            _ => chosen.insert((piece.column, column(piece.column as u32))),
        };
        bits.slice(piece.rows.clone())
    };
    let bytes = |piece: &Piece| pairs.bytes_of(piece);
    messages::receive(ot, pairs.pieces(), choices, bytes, channel, |piece, choices, blocks, message, channel| {
        let Some(words) = sums.work(&piece).receive(choices, blocks, message, only_sums()) else {
            return Err(channel.violation(format!("`{}` hold no words below the modulus", MESSAGES.name)));
        };
        sums.add(&piece, &words, &progress);
        Ok(())
    })?;
    sums.shares()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::primitive::kernel::Block;
    use crate::primitive::ot::ideal;
    use crate::session::Transcript;

    fn session() -> Session {
        Session::new(Transcript::new("pairs"))
    }

    /// Columns of pseudorandom bits.
    fn columns(seed: u8, count: usize, rows: usize) -> Vec<Choices> {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        (0..count).map(|_| Choices::from_bits((0..rows).map(|_| rng.next_u32() & 1 == 1))).collect()
    }

    /// Checks that both parties' shares add up to the products, in any shape, and that no share is the product itself.
    #[test]
    fn shares_add_up_to_the_products() {
        for (rows, bits, partners) in [
            (0, 5, vec![vec![0]]),
            (1, 2, vec![vec![0, 1], vec![1]]),
            (130, 9, vec![vec![2, 0], vec![], vec![0, 1, 2]]),
            (1000, 11, vec![(0..40).collect(), vec![39], vec![]]),
            (70_000, 18, vec![vec![0], (0..60).collect()]),
        ] {
            let modulus = Modulus::power_of_two(bits).unwrap();
            let pairs = ProductPairs::new(rows, modulus, partners.clone(), 3).unwrap();
            let (of_sender, of_chooser) = (columns(1, 60, rows), columns(2, partners.len(), rows));
            let (mut one, mut other) = Channel::pair("sender", "chooser");
            let (mut sender, mut receiver) = ideal::pair([4; 32]);
            let (sent, received, bytes) = std::thread::scope(|scope| {
                let (pairs, of_sender) = (&pairs, &of_sender);
                let sending = scope.spawn(move || {
                    let shares =
                        send(pairs, |column| of_sender[column as usize].clone(), &session(), &mut sender, &mut one);
                    (shares, one.finish().unwrap().sent)
                });
                let column = |column: u32| of_chooser[column as usize].clone();
                let received = receive(pairs, column, &session(), &mut receiver, &mut other).unwrap();
                other.finish().unwrap();
                let (sent, bytes) = sending.join().unwrap();
                (sent.unwrap(), received, bytes)
            });
            assert_eq!(bytes, pairs.message_bytes() + HEADER_BYTES as u64, "{rows}");
            let wanted = partners
                .iter()
                .enumerate()
                .flat_map(|(column, partners)| partners.iter().map(move |&partner| (column, partner as usize)));
            let product = |(column, partner): (usize, usize)| {
                let both = of_chooser[column].iter().zip(of_sender[partner].iter());
                both.filter(|(one, other)| *one && *other).count() as u128
            };
            let products: Vec<u128> = wanted.map(product).collect();
            assert_eq!(pairs.products(), products.len());
            let both = sent.residues().iter().zip(received.residues());
            assert!(both.map(|(one, other)| modulus.add(*one, *other)).eq(products.iter().copied()), "{rows}");
            assert!(rows < 1000 || sent.residues() != products);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let power = |bits| Modulus::power_of_two(bits).unwrap();
        assert!(ProductPairs::new(10, power(65), vec![vec![0]], 0).is_err());
        assert!(ProductPairs::new(10, "1000003".parse().unwrap(), vec![vec![0]], 0).is_err());
        assert!(ProductPairs::new(10, power(8), vec![vec![0; MAX_PAYLOAD_BYTES + 1]], 0).is_err());
    }

    /// The keys that make words of blocks are another batch's and another session's own.
    #[test]
    fn every_batch_has_keys_of_its_own() {
        let other = Session::new(Transcript::new("other"));
        let words = |batch: u32, session: &Session| {
            let partners = vec![(0..40).collect()];
            let pairs = ProductPairs::new(8, Modulus::power_of_two(60).unwrap(), partners, batch).unwrap();
            let mut sums = Sums::new(&pairs, session);
            let piece = Piece { column: 0, rows: 0..8 };
            let mut columns = Columns::new(Integers::BINARY, 8);
            (0..40).for_each(|_| columns.push_bits(Choices::zeros(8)));
            let mut message = vec![0; pairs.bytes_of(&piece)];
            let words = sums.work(&piece).send(&columns, 0, &[[Block::ONE, Block::ZERO]; 8], &mut message, only_sums());
            sums.add(&piece, &words, &Progress::default());
            message
        };
        let all = [words(1, &session()), words(2, &session()), words(1, &other)];
        assert!(all[0] != all[1] && all[0] != all[2]);
        assert_eq!(all[0], words(1, &session()));
    }
}
