//! The sender's side of the extension.

use zeroize::{Zeroize, Zeroizing};

use super::check::{self, Chain, Hashes};
use super::keys::Keys;
use super::params::{DIGEST_BYTES, Params, TILE_BLOCKS};
use super::{Division, FAR_BYTES, for_columns, on_threads, pieces, trees};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::LeafStreams;
use crate::primitive::kernel::block::{self, BLOCK_BITS, BLOCK_BYTES, Block};
use crate::primitive::ot::{CONSISTENCY, CORRECTIONS, RandomOtReceiver, TREES};
use crate::session::Session;

pub(super) struct Sender {
    params: Params,
    keys: Keys,
    delta: Block,
    trees: Vec<LeafStreams>,
    chain: Chain,
    /// The next block of all streams.
    position: u64,
    /// The index of the next OT.
    index: u64,
    /// A call has failed, or is under way.
    broken: bool,
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

/// Output of an OT for a sender: a block of the correlation, or two random ones.
pub(super) trait Output: Copy + Send {
    /// The outputs for columns, the first of which has the index `index`; past the caches if they are `far`.
    fn take(sender: &Sender, index: u64, columns: &[Block], far: bool, outputs: &mut [Self]);

    /// Wipes outputs from memory.
    fn wipe(outputs: &mut [Self]);
}

impl Output for Block {
    fn take(_: &Sender, _: u64, columns: &[Block], _: bool, outputs: &mut [Block]) {
        outputs.copy_from_slice(columns);
    }

    fn wipe(outputs: &mut [Block]) {
        outputs.zeroize();
    }
}

impl Output for [Block; 2] {
    fn take(sender: &Sender, index: u64, columns: &[Block], far: bool, outputs: &mut [[Block; 2]]) {
        sender.keys.hash.hash_pairs(index, columns, sender.delta, outputs, far);
    }

    fn wipe(outputs: &mut [[Block; 2]]) {
        outputs.as_flattened_mut().zeroize();
    }
}

/// Memory of one thread: the rows of a tile, and the hashes of the rows of all its tiles.
struct Work {
    rows: Zeroizing<Vec<Block>>,
    hashes: Zeroizing<Hashes>,
}

impl Sender {
    pub(super) fn setup(
        params: &Params,
        session: &Session,
        purpose: &str,
        delta: Block,
        base: &mut impl RandomOtReceiver,
        channel: &mut Channel,
    ) -> Result<Sender> {
        let mut pads = Zeroizing::new(vec![Block::ZERO; BLOCK_BITS]);
        base.receive(&trees::base_choices(params, delta), &mut pads, channel)?;
        let keys = Keys::new(params, session, purpose);
        let message = channel.receive(TREES, params.trees_bytes())?;
        let trees = trees::grow_punctured(params, &keys, delta, &pads, &message)
            .ok_or_else(|| channel.violation(format!("`{}` are not the same trees for every choice", TREES.name)))?;
        let chain = Chain::new(&keys, &message);
        Ok(Sender { params: *params, keys, delta, trees, chain, position: 0, index: 0, broken: false })
    }

    pub(super) fn delta(&self) -> Block {
        self.delta
    }

    /// Sends the next OTs, one for each output.
    pub(super) fn send<O: Output>(&mut self, outputs: &mut [O], channel: &mut Channel) -> Result<()> {
        // Every refused try would tell the receiver something about delta: there is no second one.
        if std::mem::replace(&mut self.broken, true) {
            return Err(super::after_failure());
        }
        let width = self.params.width(outputs.len().min(self.params.chunk()));
        let division = Division::new(width);
        let work = |_| Work {
            rows: Zeroizing::new(block::zeros(division.tile())),
            hashes: Zeroizing::new([Block::ZERO; BLOCK_BITS]),
        };
        let mut works: Vec<Work> = (0..division.threads).map(work).collect();
        let far = size_of_val(outputs) > FAR_BYTES;
        let mut send = || -> Result<()> {
            let mut chunks = outputs.chunks_mut(self.params.chunk());
            chunks.try_for_each(|outputs| self.chunk(outputs, far, &division, &mut works, channel))
        };
        let sent = send().inspect_err(|_| O::wipe(outputs));
        self.broken = sent.is_err();
        sent
    }

    /// One chunk of OTs, whose outputs may be a part of `far` ones.
    fn chunk<O: Output>(
        &mut self,
        outputs: &mut [O],
        far: bool,
        division: &Division,
        works: &mut [Work],
        channel: &mut Channel,
    ) -> Result<()> {
        let (params, count, threads) = (self.params, outputs.len(), division.threads);
        let width = params.width(count);
        let tile_bytes = TILE_BLOCKS * params.trees() * BLOCK_BYTES;
        let mut corrections = channel.receive(CORRECTIONS, params.corrections_bytes(count))?;

        let mut digests = vec![[0; DIGEST_BYTES]; width.div_ceil(TILE_BLOCKS)];
        let coefficients = params.malicious().then(|| {
            let messages = pieces(&mut corrections, division.tiles * tile_bytes, threads);
            let parts = messages.into_iter().zip(pieces(&mut digests, division.tiles, threads));
            on_threads(parts.collect(), |(corrections, digests)| {
                for (corrections, digest) in corrections.chunks(tile_bytes).zip(digests) {
                    *digest = self.chain.tile_digest(corrections);
                }
            });
            self.chain.challenge(&params, count, &digests)
        });

        let this = &*self;
        let messages = pieces(&mut corrections, division.tiles * tile_bytes, threads);
        let outputs = pieces(outputs, division.tiles * TILE_BLOCKS * BLOCK_BITS, threads);
        let parts = works.iter_mut().zip(messages).zip(outputs).enumerate();
        on_threads(parts.collect(), |(part, ((work, corrections), outputs))| {
            work.hashes.zeroize();
            let mut outputs = outputs.chunks_mut(TILE_BLOCKS * BLOCK_BITS);
            for (tile, corrections) in corrections.chunks(tile_bytes).enumerate() {
                let columns = division.columns(part, tile, width);
                let (rows, stride) = (&mut work.rows[..], division.stride);
                this.grow(this.position + columns.start as u64, columns.len(), rows, stride, corrections);
                if let Some(coefficients) = &coefficients {
                    check::add_hashes(rows, stride, &coefficients[columns.clone()], &mut work.hashes);
                }
                if let Some(outputs) = outputs.next() {
                    let index = this.index + (columns.start * BLOCK_BITS) as u64;
                    for_columns(rows, stride, outputs, |at, columns, outputs| {
                        O::take(this, index + at as u64, columns, far, outputs);
                    });
                }
            }
        });
        if params.malicious() {
            let response = channel.receive(CONSISTENCY, Params::consistency_bytes())?;
            let mut rows = Zeroizing::new([Block::ZERO; BLOCK_BITS]);
            works.iter().for_each(|work| block::xor_into(&*work.hashes, &mut *rows));
            if !check::holds(&self.keys, self.delta, &rows, &response) {
                return Err(channel.violation(format!("`{}` are not the same choices in all trees", CORRECTIONS.name)));
            }
        }
        self.position += width as u64;
        self.index += count as u64;
        Ok(())
    }

    /// One tile of `width` blocks: the rows of all trees from block `position` of the streams on, which become those of
    /// the receiver's choices.
    fn grow(&self, position: u64, width: usize, rows: &mut [Block], stride: usize, corrections: &[u8]) {
        for (tree, corrections) in corrections.chunks(width * BLOCK_BYTES).enumerate() {
            let bits = self.params.bits(tree);
            self.trees[tree].fold_planes(position, width, &mut rows[bits.start * stride..], stride);
            let corrections = corrections.as_chunks::<BLOCK_BYTES>().0;
            for bit in bits {
                let mask = Block::select(self.delta.bit(bit));
                for (block, correction) in rows[bit * stride..][..width].iter_mut().zip(corrections) {
                    *block ^= Block::from_bytes(*correction) & mask;
                }
            }
        }
    }
}
