//! The party that multiplies, and answers.

use std::ops::Range;

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::blocks::{EncryptedBlocks, PreparedBlocks, Sums};
use super::encryptor::{masks, public_mask};
use super::layout::Layout;
use super::params::{LatticeAnswer, SEED_BYTES};
use super::plaintext::ShareEncoder;
use super::{ANSWERS, COLUMNS, PUBLIC_KEY, Params, SEED, internal};
use crate::channel::{Channel, Label};
use crate::error::Result;
use crate::primitive::kernel::{Prg, block};
use crate::primitive::rlwe::{Flood, Ring, RlwePublicKey, Switch, Uniform, errors, pack, unpack};
use crate::protocol::dot::Columns;
use crate::session::Session;

/// Bytes of own columns that are prepared at a time, so that they are still in the caches when they are multiplied;
/// more if there are more threads than polynomials then.
const PREPARED_BYTES: usize = 4 << 20;

/// Answers that are made before they are sent.
const BATCH: usize = 16;

/// An answer: its messages, one for each prime that is kept, and this party's shares.
type Made = (Vec<Vec<u8>>, Zeroizing<Vec<u128>>);

/// The answerer, with the encryptor's public key.
pub struct Answerer {
    params: Params,
    ring: Ring,
    public: RlwePublicKey,
    masks: Uniform,
    flood: Flood,
    shares: ShareEncoder,
    switch: Switch,
    /// Answers that may still be given: the flood is for as many.
    left: usize,
}

/// Prints the parameters only.
impl std::fmt::Debug for Answerer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answerer").field("params", &self.params).finish_non_exhaustive()
    }
}

/// The encryptor's columns, encrypted and kept: for each group its blocks.
pub struct EncryptedColumns {
    pub(super) groups: Vec<Vec<EncryptedBlocks>>,
}

/// Columns of the answerer, made ready to be multiplied. Secret: zeroized when dropped, never printed.
pub struct PreparedColumns {
    /// The number of the first polynomial.
    start: usize,
    polynomials: usize,
    /// For each number of slots that some group has: for each chunk of blocks the polynomials.
    layouts: Vec<(usize, Vec<Vec<PreparedBlocks>>)>,
}

/// Products with a group of columns, which may go to the columns' owner only as an answer.
pub struct GroupProducts {
    group: usize,
    /// Numbers of the polynomials.
    polynomials: Vec<usize>,
    pub(super) sums: Sums,
}

impl PreparedColumns {
    /// Adds columns, of which the first one follows the last one of these.
    pub fn append(&mut self, further: PreparedColumns) -> Result<()> {
        if further.start != self.start + self.polynomials {
            return Err(internal("columns that do not follow each other"));
        }
        self.polynomials += further.polynomials;
        for ((_, chunks), (_, further)) in self.layouts.iter_mut().zip(further.layouts) {
            chunks.iter_mut().zip(further).for_each(|(blocks, further)| blocks.extend(further));
        }
        Ok(())
    }
}

impl Answerer {
    /// Receives the encryptor's public key.
    pub fn receive_keys(params: &Params, session: &Session, channel: &mut Channel) -> Result<Answerer> {
        let ring = params.ring();
        let seed = channel.receive(SEED, SEED_BYTES)?;
        let masks = masks(session, seed[..].try_into().map_err(|_| internal("a seed of another length"))?);
        let payload = receive_frames(params, 1, PUBLIC_KEY, channel)?;
        let mut first = ring.zero();
        let units = payload.chunks_exact(params.unit_bytes()).zip(first.chunks_exact_mut(params.degree));
        for ((bytes, values), ntt) in units.zip(ring.primes()) {
            if !unpack(params.prime_bits, ntt.prime().value(), bytes, values) {
                return Err(channel.violation(no_residue(PUBLIC_KEY)));
            }
        }
        let public = RlwePublicKey { first, mask: public_mask(&ring, &masks) };
        let (flood, left) = (params.flood()?, params.noise().answers);
        let (shares, switch) = (ShareEncoder::new(params, &ring), Switch::new(&ring, params.kept));
        Ok(Answerer { params: params.clone(), ring, public, masks, flood, shares, switch, left })
    }

    /// Receives all of the encryptor's columns, to be kept. That takes 16 bytes for each prime and coefficient.
    pub fn receive_columns(&self, channel: &mut Channel) -> Result<EncryptedColumns> {
        let groups = (0..self.params.groups.len()).map(|group| {
            let chunks = self.params.chunks(group);
            chunks.map(|blocks| self.receive_blocks(group, blocks, channel)).collect::<Result<_>>()
        });
        Ok(EncryptedColumns { groups: groups.collect::<Result<_>>()? })
    }

    /// Prepares columns to be multiplied. The first of them is the answerer's column `start` among those agreed on,
    /// which must be the first one of a polynomial; the last one must be the last of a polynomial or of all columns.
    pub fn prepare(&self, columns: &Columns, start: usize) -> Result<PreparedColumns> {
        let (params, others) = (&self.params, self.params.others);
        let end = start + columns.count();
        // Room that is left in a polynomial would stay empty, whatever is appended.
        let whole = end.is_multiple_of(others) || end == params.other_columns();
        let fits = start.is_multiple_of(others) && whole && end <= params.other_columns();
        if !fits || columns.rows() != params.shape.rows || columns.integers() != params.shape.integers {
            return Err(internal("columns that were not agreed on"));
        }
        let polynomials: Vec<_> = (0..columns.count().div_ceil(others)).collect();
        let mut layouts: Vec<(usize, Vec<Vec<PreparedBlocks>>)> = Vec::new();
        for group in 0..params.groups.len() {
            let layout = params.layout(group);
            if layouts.iter().all(|(slots, _)| *slots != layout.slots) {
                let chunks =
                    params.chunks(group).map(|blocks| self.prepare_blocks(columns, &layout, &polynomials, &blocks));
                layouts.push((layout.slots, chunks.collect()));
            }
        }
        Ok(PreparedColumns { start: start / others, polynomials: polynomials.len(), layouts })
    }

    /// Multiplies kept columns with the prepared columns of some answers of one group.
    pub fn multiply(
        &self,
        encrypted: &EncryptedColumns,
        prepared: &PreparedColumns,
        answers: &[LatticeAnswer],
    ) -> Result<GroupProducts> {
        let group = answers.first().ok_or_else(|| internal("no answers"))?.group;
        let known = prepared.start..prepared.start + prepared.polynomials;
        if answers.iter().any(|answer| answer.group != group || !known.contains(&answer.polynomial)) {
            return Err(internal("answers of several groups, or from columns that are not prepared"));
        }
        let layout = self.params.layout(group);
        let chunks = prepared.layouts.iter().find(|(slots, _)| *slots == layout.slots).map(|(_, chunks)| chunks);
        let chunks = chunks.ok_or_else(|| internal("columns prepared for other groups"))?;
        let mut sums = Sums::new(&self.ring, answers.len());
        for (encrypted, prepared_blocks) in encrypted.groups[group].iter().zip(chunks) {
            let wanted = answers.iter().map(|answer| &prepared_blocks[answer.polynomial - prepared.start]);
            sums.add((&self.ring, &layout), encrypted, 0, &wanted.collect::<Vec<_>>());
        }
        Ok(GroupProducts { group, polynomials: answers.iter().map(|answer| answer.polynomial).collect(), sums })
    }

    /// Receives a group of columns, and multiplies them with the own columns that its answers need, as they come:
    /// nothing is kept but sums, 16 bytes for each prime, coefficient and polynomial.
    pub(super) fn receive_and_multiply(
        &self,
        columns: &Columns,
        group: usize,
        answers: &[LatticeAnswer],
        channel: &mut Channel,
    ) -> Result<GroupProducts> {
        let (params, layout) = (&self.params, self.params.layout(group));
        let polynomials: Vec<_> = answers.iter().map(|answer| answer.polynomial).collect();
        let mut sums = Sums::new(&self.ring, polynomials.len());
        for blocks in params.chunks(group) {
            let encrypted = self.receive_blocks(group, blocks.clone(), channel)?;
            let bytes = 8 * blocks.len() * params.degree / layout.slots * params.primes;
            let together = (PREPARED_BYTES / bytes).max(rayon::current_num_threads());
            for start in (0..polynomials.len()).step_by(together) {
                let some = &polynomials[start..(start + together).min(polynomials.len())];
                let prepared = self.prepare_blocks(columns, &layout, some, &blocks);
                sums.add((&self.ring, &layout), &encrypted, start, &prepared.iter().collect::<Vec<_>>());
            }
            channel.progress().advance(blocks.len());
        }
        Ok(GroupProducts { group, polynomials, sums })
    }

    fn prepare_blocks(
        &self,
        columns: &Columns,
        layout: &Layout,
        polynomials: &[usize],
        blocks: &Range<usize>,
    ) -> Vec<PreparedBlocks> {
        let prepare = |&polynomial| PreparedBlocks::new(columns, (&self.ring, layout), polynomial, blocks.clone());
        polynomials.par_iter().map(prepare).collect()
    }

    fn receive_blocks(&self, group: usize, blocks: Range<usize>, channel: &mut Channel) -> Result<EncryptedBlocks> {
        let payload = receive_frames(&self.params, blocks.len(), COLUMNS, channel)?;
        let number = 1 + self.params.first_block(group) + blocks.start;
        EncryptedBlocks::read((&self.params, &self.ring), &self.masks, number, &payload)
            .ok_or_else(|| channel.violation(no_residue(COLUMNS)))
    }

    /// Sends answers for products, and hands over this party's shares: for each answer as many residues as it has
    /// values.
    pub fn send_answers(
        &mut self,
        answers: &[LatticeAnswer],
        products: &GroupProducts,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
        mut take: impl FnMut(&LatticeAnswer, &[u128]),
    ) -> Result<()> {
        for answers in answers.chunks(BATCH) {
            self.left = self.left.checked_sub(answers.len()).ok_or_else(|| internal("more answers than agreed on"))?;
            let seeds = Zeroizing::new(block::random(answers.len(), rng));
            let made: Vec<_> = answers
                .par_iter()
                .zip(seeds.par_iter())
                .map(|(answer, seed)| self.answer(answer, products, &mut Prg::new(*seed)))
                .collect::<Result<_>>()?;
            for (answer, (payloads, shares)) in answers.iter().zip(made) {
                payloads.into_iter().try_for_each(|payload| channel.send(ANSWERS, payload))?;
                take(answer, &shares);
            }
        }
        Ok(())
    }

    /// An answer: a fresh encryption of zero is added, errors, the flood and the share; then the modulus is switched.
    pub(super) fn answer(&self, answer: &LatticeAnswer, products: &GroupProducts, prg: &mut Prg) -> Result<Made> {
        let (params, ring, degree) = (&self.params, &self.ring, self.params.degree);
        let place = products.polynomials.iter().position(|&polynomial| polynomial == answer.polynomial);
        let place = place.filter(|_| products.group == answer.group).ok_or_else(|| internal("no such product"))?;
        let [mut first, mut second] = products.sums.halves(ring, place);
        self.public.add_zero(ring, [&mut first, &mut second], prg);
        for half in [&mut first, &mut second] {
            half.chunks_exact_mut(degree).zip(ring.primes()).for_each(|(values, ntt)| ntt.inverse(values));
        }
        let mut messages = vec![Vec::with_capacity(degree + answer.wanted.len()); params.kept];
        let mut residues = Zeroizing::new(vec![0; params.primes]);
        let mut finish = |residues: &mut [u64]| {
            self.switch.apply(residues);
            messages.iter_mut().zip(residues).for_each(|(message, residue)| message.push(*residue));
        };
        let number = |half: &[u64], coefficient: usize, error: i64, residues: &mut [u64]| {
            let values = half.iter().skip(coefficient).step_by(degree);
            for ((residue, value), ntt) in residues.iter_mut().zip(values).zip(ring.primes()) {
                *residue = ntt.prime().add_small(*value, error);
            }
        };
        for (coefficient, &error) in errors(degree, prg).iter().enumerate() {
            number(&second, coefficient, error, &mut residues);
            finish(&mut residues);
        }
        let layout = params.layout(answer.group);
        let mut shares = Zeroizing::new(Vec::with_capacity(answer.wanted.len() * params.digits));
        let errors = errors(answer.wanted.len(), prg);
        for (&(slot, other), &error) in answer.wanted.iter().zip(errors.iter()) {
            number(&first, layout.output(slot, other), error, &mut residues);
            self.flood.add(ring.primes(), &mut residues, prg);
            if params.values {
                shares.extend(std::iter::repeat_n(0, params.digits))
            } else {
                shares.push(self.shares.add(ring, &mut residues, prg))
            }
            finish(&mut residues);
        }
        let pack = |message: &Vec<u64>| {
            let mut bytes = Vec::new();
            pack(params.prime_bits, message, &mut bytes);
            bytes
        };
        Ok((messages.iter().map(pack).collect(), shares))
    }
}

/// Receives polynomials modulo all primes, `count` of each.
fn receive_frames(params: &Params, count: usize, label: Label, channel: &mut Channel) -> Result<Vec<u8>> {
    let mut payload = Vec::new();
    for units in params.frames(count) {
        let frame = channel.receive(label, units.len() * params.unit_bytes())?;
        if payload.is_empty() { payload = frame } else { payload.extend(frame) }
    }
    Ok(payload)
}

fn no_residue(label: Label) -> String {
    format!("`{}` hold something that is no residue", label.name)
}
