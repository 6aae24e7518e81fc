//! The party that encrypts its columns, and reads the answers.

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::params::{LatticeAnswer, SEED_BYTES};
use super::plaintext::{Decoder, Encoder};
use super::{ANSWERS, COLUMNS, PUBLIC_KEY, Params, SEED, internal};
use crate::channel::{Channel, Incoming, Label, Outgoing};
use crate::error::Result;
use crate::primitive::kernel::{Block, Prg};
use crate::primitive::rlwe::{Ring, RlwePublicKey, RlweSecretKey, Uniform, errors, pack, unpack};
use crate::progress::Progress;
use crate::protocol::dot::Columns;
use crate::session::Session;

/// The encryptor's keys, for one session.
pub struct Encryptor {
    params: Params,
    pub(super) ring: Ring,
    pub(super) key: RlweSecretKey,
    pub(super) public: RlwePublicKey,
    seed: [u8; SEED_BYTES],
    masks: Uniform,
    encoder: Encoder,
    decoder: Decoder,
    /// The first group that can still be encrypted. No mask is ever used for two plaintexts.
    next: usize,
}

/// Prints the parameters only.
impl std::fmt::Debug for Encryptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encryptor").field("params", &self.params).finish_non_exhaustive()
    }
}

/// The masks that follow from a seed in a session. The first of them is the public key's.
pub(super) fn masks(session: &Session, seed: &[u8; SEED_BYTES]) -> Uniform {
    let hash = blake3::keyed_hash(&session.derive("dot lattice masks"), seed);
    Uniform::new(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
}

/// The public key's mask.
pub(super) fn public_mask(ring: &Ring, masks: &Uniform) -> Vec<u64> {
    let mut mask = ring.zero();
    for (index, (values, ntt)) in mask.chunks_exact_mut(ring.degree()).zip(ring.primes()).enumerate() {
        masks.fill(ntt, ring.bits(), index as u64, values);
    }
    mask
}

impl Encryptor {
    /// Generates fresh keys for a run.
    pub fn new(params: &Params, session: &Session, rng: &mut impl CryptoRng) -> Encryptor {
        let ring = params.ring();
        let mut seed = [0; SEED_BYTES];
        rng.fill_bytes(&mut seed);
        let masks = masks(session, &seed);
        let key = RlweSecretKey::new(&ring, &mut Prg::new(Block::random(rng)));
        let public = key.public(&ring, public_mask(&ring, &masks), &mut Prg::new(Block::random(rng)));
        let (encoder, decoder) = (Encoder::new(params, &ring), Decoder::new(params, &ring));
        Encryptor { params: params.clone(), ring, key, public, seed, masks, encoder, decoder, next: 0 }
    }

    /// Sends the public key.
    pub fn send_keys(&self, channel: &mut Channel) -> Result<()> {
        channel.send(SEED, self.seed.to_vec())?;
        let mut payload = Vec::new();
        for values in self.public.first.chunks_exact(self.params.degree) {
            pack(self.params.prime_bits, values, &mut payload);
        }
        self.send_frames(PUBLIC_KEY, payload, channel.halves().0)
    }

    /// Encrypts a group of columns, and sends it. Groups have to come in order.
    ///
    /// Errors: the columns are not those agreed on; this group or a later one was sent before; the channel fails.
    pub fn send_columns(
        &mut self,
        columns: &Columns,
        group: usize,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<()> {
        if group < self.next {
            return Err(internal("groups of columns are encrypted once each, in order"));
        }
        self.next = group + 1;
        let progress = channel.progress().clone();
        self.encrypt(columns, group, &progress, channel.halves().0, &mut Prg::new(Block::random(rng)))
    }

    /// Sends the columns of groups with answers, and hands over each answer's values as it comes; columns travel on
    /// while answers do.
    pub(super) fn send_all(
        &mut self,
        columns: &Columns,
        groups: &[(usize, Vec<LatticeAnswer>)],
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
        mut take: impl FnMut(&LatticeAnswer, &[u128]),
    ) -> Result<()> {
        if self.next > 0 {
            return Err(internal("columns that were sent before"));
        }
        self.next = self.params.groups.len();
        let (this, progress, mut prg) = (&*self, channel.progress().clone(), Prg::new(Block::random(rng)));
        let mut send = |outgoing: &mut Outgoing| {
            groups.iter().try_for_each(|(group, _)| this.encrypt(columns, *group, &progress, outgoing, &mut prg))
        };
        let receive = |incoming: &mut Incoming| {
            groups.iter().flat_map(|(_, answers)| answers).try_for_each(|answer| {
                take(answer, &this.read_answer(answer, incoming)?);
                Ok(())
            })
        };
        channel.duplex(|outgoing| send(outgoing), receive).map(drop)
    }

    fn encrypt(
        &self,
        columns: &Columns,
        group: usize,
        progress: &Progress,
        outgoing: &mut Outgoing,
        prg: &mut Prg,
    ) -> Result<()> {
        self.params.check(self.params.encryptor, columns)?;
        let (params, ring) = (&self.params, &self.ring);
        for blocks in params.chunks(group) {
            // The blocks' errors, each with a seed of its own.
            let seeds = Zeroizing::new(blocks.clone().map(|_| prg.block()).collect::<Vec<_>>());
            let first = params.first_block(group);
            let encrypted: Vec<_> = blocks
                .clone()
                .into_par_iter()
                .zip(seeds.par_iter())
                .map(|(block, seed)| {
                    let errors = errors(params.degree, &mut Prg::new(*seed));
                    let mut values = self.encoder.block(columns, (params, ring), (group, block), errors);
                    let mut bytes = Vec::with_capacity(params.primes * params.unit_bytes());
                    let mut mask = vec![0; params.degree];
                    for (index, values) in values.chunks_exact_mut(params.degree).enumerate() {
                        // The public key's mask stands before those of all blocks.
                        let number = (1 + first + block) * params.primes + index;
                        self.masks.fill(&ring.primes()[index], params.prime_bits, number as u64, &mut mask);
                        self.key.encrypt(ring, index, &mask, values);
                        pack(params.prime_bits, values, &mut bytes);
                    }
                    bytes
                })
                .collect();
            self.send_frames(COLUMNS, encrypted.concat(), outgoing)?;
            progress.advance(blocks.len());
        }
        Ok(())
    }

    /// Sends polynomials modulo all primes, as many in a frame as there is room for.
    fn send_frames(&self, label: Label, payload: Vec<u8>, outgoing: &mut Outgoing) -> Result<()> {
        let unit = self.params.unit_bytes();
        let frames: Vec<_> = self.params.frames(payload.len() / unit / self.params.primes).collect();
        match frames[..] {
            [_] => outgoing.send(label, payload),
            _ => frames
                .into_iter()
                .try_for_each(|units| outgoing.send(label, payload[units.start * unit..units.end * unit].to_vec())),
        }
    }

    /// Receives an answer, and decrypts it: `digits` residues for each product that is wanted.
    pub fn receive_answer(&self, answer: &LatticeAnswer, channel: &mut Channel) -> Result<Zeroizing<Vec<u128>>> {
        self.read_answer(answer, channel.halves().1)
    }

    fn read_answer(&self, answer: &LatticeAnswer, incoming: &mut Incoming) -> Result<Zeroizing<Vec<u128>>> {
        let (params, degree) = (&self.params, self.params.degree);
        let layout = params.layout(answer.group);
        let mut phases = Zeroizing::new(vec![vec![0; params.kept]; answer.wanted.len()]);
        for index in 0..params.kept {
            let payload = incoming.receive(ANSWERS, params.answer_payload(answer))?;
            let prime = self.ring.primes()[index].prime();
            let mut residues = vec![0; degree + answer.wanted.len()];
            if !unpack(params.prime_bits, prime.value(), &payload, &mut residues) {
                return Err(incoming.violation(format!("`{}` hold something that is no residue", ANSWERS.name)));
            }
            let (second, outputs) = residues.split_at_mut(degree);
            let product = self.key.negative_product(&self.ring, index, second);
            for ((phase, output), &(slot, other)) in phases.iter_mut().zip(outputs).zip(&answer.wanted) {
                phase[index] = prime.subtract(*output, product[layout.output(slot, other)]);
            }
        }
        // All the room at once: what grows leaves copies behind.
        let mut values = Zeroizing::new(Vec::with_capacity(phases.len() * params.digits));
        phases.iter().for_each(|phase| self.decoder.read(phase, &mut values));
        Ok(values)
    }
}
