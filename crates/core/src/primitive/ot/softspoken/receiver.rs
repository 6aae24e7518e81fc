//! The receiver's side of the extension.

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

use super::check::{self, Chain, Hashes};
use super::keys::Keys;
use super::params::{DIGEST_BYTES, Params, TILE_BLOCKS};
use super::{Division, FAR_BYTES, for_columns, on_threads, pieces, trees};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::block::{self, BLOCK_BITS, BLOCK_BYTES, Block};
use crate::primitive::kernel::{LeafStreams, gf128};
use crate::primitive::ot::{CONSISTENCY, CORRECTIONS, Choices, RandomOtSender, TREES};
use crate::session::Session;

pub(super) struct Receiver {
    pub(super) params: Params,
    pub(super) keys: Keys,
    trees: Vec<LeafStreams>,
    pub(super) chain: Chain,
    rng: ChaCha20Rng,
    /// The next block of all streams.
    pub(super) position: u64,
    /// The index of the next OT.
    index: u64,
    /// A call has failed, or is under way.
    broken: bool,
}

/// Processing that turns columns into outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Columns that are the outputs.
    Correlated,
    /// Columns that are hashed.
    Random,
    /// Columns that are hashed, and written past the caches.
    RandomFar,
}

/// Memory of one thread: the rows of its tiles, one tile after the other, and their hashes.
struct Work {
    rows: Zeroizing<Vec<Block>>,
    hashes: Zeroizing<Hashes>,
}

impl Receiver {
    pub(super) fn setup(
        params: &Params,
        session: &Session,
        purpose: &str,
        base: &mut impl RandomOtSender,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Receiver> {
        let mut pads = Zeroizing::new(vec![[Block::ZERO; 2]; BLOCK_BITS]);
        base.send(&mut pads, channel)?;
        let keys = Keys::new(params, session, purpose);
        let roots = Zeroizing::new(block::random(params.trees(), rng));
        let (trees, message) = trees::grow(params, &keys, &roots, &pads);
        let chain = Chain::new(&keys, &message);
        channel.send(TREES, message)?;
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let rng = ChaCha20Rng::from_seed(*seed);
        Ok(Receiver { params: *params, keys, trees, chain, rng, position: 0, index: 0, broken: false })
    }

    /// The next OTs; hashed ones are random, others correlated.
    pub(super) fn receive(
        &mut self,
        choices: &Choices,
        outputs: &mut [Block],
        hashed: bool,
        channel: &mut Channel,
    ) -> Result<()> {
        assert_eq!(choices.len(), outputs.len(), "one choice bit an OT");
        // A second try would send other choices under the same streams, and give away in what the two differ.
        if std::mem::replace(&mut self.broken, true) {
            return Err(super::after_failure());
        }
        let division = Division::new(self.params.width(outputs.len().min(self.params.chunk())));
        let work = |_| Work {
            rows: Zeroizing::new(block::zeros(division.tiles * division.tile())),
            hashes: Zeroizing::new([Block::ZERO; BLOCK_BITS]),
        };
        let mut works: Vec<Work> = (0..division.threads).map(work).collect();
        let form = if !hashed {
            Form::Correlated
        } else if size_of_val(outputs) <= FAR_BYTES {
            Form::Random
        } else {
            Form::RandomFar
        };
        let mut receive = || -> Result<()> {
            for (number, outputs) in outputs.chunks_mut(self.params.chunk()).enumerate() {
                let chosen = self.chosen(choices, number * self.params.chunk(), outputs.len());
                self.chunk(&chosen, outputs, form, &division, &mut works, channel)?;
            }
            Ok(())
        };
        let received = receive().inspect_err(|_| outputs.zeroize());
        self.broken = received.is_err();
        received
    }

    /// The row of choices of a chunk: `count` from `start` on, zeros that fill the last block, and random ones that
    /// mask the others in the check.
    pub(super) fn chosen(&mut self, choices: &Choices, start: usize, count: usize) -> Zeroizing<Vec<Block>> {
        let mut row = Zeroizing::new(block::zeros(self.params.width(count)));
        for (index, block) in row.iter_mut().enumerate() {
            *block = if index < count.div_ceil(BLOCK_BITS) {
                Block(choices.word_at(start + index * BLOCK_BITS))
            } else {
                Block::random(&mut self.rng)
            };
        }
        row
    }

    /// One chunk of OTs with the row of choices `chosen`.
    fn chunk(
        &mut self,
        chosen: &[Block],
        outputs: &mut [Block],
        form: Form,
        division: &Division,
        works: &mut [Work],
        channel: &mut Channel,
    ) -> Result<()> {
        let (params, count, width) = (self.params, outputs.len(), chosen.len());
        let (index, position, threads) = (self.index, self.position, division.threads);
        let tile_bytes = TILE_BLOCKS * params.trees() * BLOCK_BYTES;
        let mut corrections = vec![0; params.corrections_bytes(count)];
        let mut digests = vec![[0; DIGEST_BYTES]; width.div_ceil(TILE_BLOCKS)];

        let this = &*self;
        let messages = pieces(&mut corrections, division.tiles * tile_bytes, threads);
        let digested = pieces(&mut digests, division.tiles, threads);
        let parts = works.iter_mut().zip(messages).zip(digested).enumerate();
        on_threads(parts.collect(), |(part, ((work, corrections), digests))| {
            let tiles = work.rows.chunks_mut(division.tile()).zip(corrections.chunks_mut(tile_bytes)).zip(digests);
            for (tile, ((rows, corrections), digest)) in tiles.enumerate() {
                let columns = division.columns(part, tile, width);
                this.grow(position + columns.start as u64, &chosen[columns], rows, division.stride, corrections);
                if params.malicious() {
                    *digest = this.chain.tile_digest(corrections);
                }
            }
        });
        let coefficients = params.malicious().then(|| self.chain.challenge(&params, count, &digests));
        channel.send(CORRECTIONS, corrections)?;

        let this = &*self;
        let outputs = pieces(outputs, division.tiles * TILE_BLOCKS * BLOCK_BITS, threads);
        let parts = works.iter_mut().zip(outputs).enumerate();
        on_threads(parts.collect(), |(part, (work, outputs))| {
            work.hashes.zeroize();
            let mut outputs = outputs.chunks_mut(TILE_BLOCKS * BLOCK_BITS);
            for (tile, rows) in work.rows.chunks(division.tile()).enumerate() {
                let columns = division.columns(part, tile, width);
                if columns.is_empty() {
                    break;
                }
                if let Some(coefficients) = &coefficients {
                    let coefficients = &coefficients[columns.clone()];
                    check::add_hashes(rows, division.stride, coefficients, &mut work.hashes);
                }
                if let Some(outputs) = outputs.next() {
                    let index = index + (columns.start * BLOCK_BITS) as u64;
                    let hash = &this.keys.hash;
                    for_columns(rows, division.stride, outputs, |at, columns, outputs| match form {
                        Form::Correlated => outputs.copy_from_slice(columns),
                        Form::Random => hash.hash(index + at as u64, columns, outputs, false),
                        Form::RandomFar => hash.hash(index + at as u64, columns, outputs, true),
                    });
                }
            }
        });
        if let Some(coefficients) = coefficients {
            let mut rows = Zeroizing::new([Block::ZERO; BLOCK_BITS]);
            works.iter().for_each(|work| block::xor_into(&*work.hashes, &mut *rows));
            let choices = gf128::inner_product(chosen, &coefficients);
            channel.send(CONSISTENCY, check::response(&self.keys, choices, &rows))?;
        }
        self.position += width as u64;
        self.index += count as u64;
        Ok(())
    }

    /// One tile: the rows v of all trees from block `position` of the streams on, and what makes their u the choices.
    pub(super) fn grow(
        &self,
        position: u64,
        chosen: &[Block],
        rows: &mut [Block],
        stride: usize,
        corrections: &mut [u8],
    ) {
        let mut room = Zeroizing::new([Block::ZERO; TILE_BLOCKS]);
        let u = &mut room[..chosen.len()];
        for (tree, corrections) in corrections.chunks_mut(size_of_val(chosen)).enumerate() {
            let bits = self.params.bits(tree);
            self.trees[tree].fold(position, u, &mut rows[bits.start * stride..], stride);
            block::xor_into(chosen, u);
            corrections.copy_from_slice(block::as_bytes(u));
        }
    }
}
