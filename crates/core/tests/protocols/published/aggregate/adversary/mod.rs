//! `naor-reingold`: a participant with OTs of its own, against the proxy.

mod choices;
mod recorded;
mod reports;
use crate::published::aggregate::naor_reingold::round as stage;

use tacita_core::primitive::group::{Group, Ristretto255};
use tacita_core::primitive::kernel::Prg;
use tacita_core::primitive::kernel::block::{self, BLOCK_BITS, Block};
use tacita_core::primitive::ot::softspoken::{Params, RandomSender};
use tacita_core::primitive::ot::{MESSAGES, RandomOtSender, base as real_base};
use tacita_core::protocol::aggregate::Entry;
use tacita_core::protocol::published::aggregate::naor_reingold::{BLINDS, REPORTS, proxy};
use tacita_core::security::Security::{Malicious, SemiHonest};
use tacita_core::session::Session;
use tacita_core::{Channel, Result};

use self::stage::Round;
use crate::adversary::base::{self, Form as BaseForm};
use crate::adversary::extension::{Check, Form, Keys, Receiver, Sender, width};
use crate::aggregate::round::{rng, session};

type Point = <Ristretto255 as Group>::Point;

/// Purpose for which the transfers of the protocol are set up. Below it is the instance of OTs that follows from it.
const PURPOSE: &str = "naor-reingold";
const INSTANCE: &str = "random OT for naor-reingold";

const GROUP: Ristretto255 = Ristretto255;

/// Bytes of a message of a transfer: a scalar.
const MESSAGE_BYTES: usize = 32;

/// Bits of delta that a tree of the protocol stands for.
const K: usize = 4;

fn params() -> Params {
    Params::new(Malicious, K).unwrap()
}

/// Source of the proxy's OTs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ot {
    /// OTs of the protocol.
    Real,
    /// OTs among semi-honest parties.
    SemiHonest,
    /// OTs written here, with a check that is left out or known beforehand.
    Written(Check),
}

impl Ot {
    fn params(self) -> Params {
        Params::new(if self == Ot::SemiHonest { SemiHonest } else { Malicious }, K).unwrap()
    }
}

/// The proxy, in a connection of this name: the entries that it makes of so many reports of "hostile", in one stage.
/// Whatever it draws follows from the seed.
fn receive(round: &Round, ot: Ot, connection: &str, count: usize, seed: u64, channel: &mut Channel) -> Result<Vec<u8>> {
    let (session, params) = (session(connection), ot.params());
    match ot {
        Ot::Real => {
            let mut ot = proxy::connect(&session, channel, &mut rng(seed))?;
            receive_over(round, &mut ot, count, seed, channel)
        }
        Ot::SemiHonest => {
            let mut ot = RandomSender::setup(&params, &session, PURPOSE, channel, &mut rng(seed))?;
            receive_over(round, &mut ot, count, seed, channel)
        }
        Ot::Written(check) => {
            let rng = &mut rng(seed);
            let mut base = real_base::BaseOtReceiver::new(&session, INSTANCE, rng);
            let keys = Keys::of(&params, Form::Sound, &session, INSTANCE);
            let mut ot = Sender::setup(keys, Block::random(rng), check, &mut base, channel)?;
            receive_over(round, &mut ot, count, seed, channel)
        }
    }
}

fn receive_over(
    round: &Round,
    ot: &mut impl RandomOtSender,
    count: usize,
    seed: u64,
    channel: &mut Channel,
) -> Result<Vec<u8>> {
    let (reporting, mut all) = (round.reporting("hostile", 0, count), Vec::new());
    proxy::receive(&reporting, &round.proxy, count, ot, channel, &mut rng(!seed), |entries| {
        all.extend(entries);
        Ok(())
    })?;
    Ok(all)
}

/// The participant: its OTs, of which all is free that it sends.
struct Participant {
    receiver: Receiver,
}

impl Participant {
    /// Sets up a participant with its own roots of trees, and its own secret of the base OTs.
    fn setup(ot: Ot, session: &Session, roots: &[Block], channel: &mut Channel) -> Result<Participant> {
        let mut base = base::Sender::new(BaseForm::Sound, session, INSTANCE, 7);
        let keys = Keys::of(&ot.params(), Form::Sound, session, INSTANCE);
        Ok(Participant { receiver: Receiver::setup(keys, roots, &mut base, channel, |_| ())? })
    }

    /// The same with random ones, in the connection of this name.
    fn connect(ot: Ot, connection: &str, channel: &mut Channel) -> Result<Participant> {
        let roots = block::random(ot.params().trees(), &mut rng(8));
        Participant::setup(ot, &session(connection), &roots, channel)
    }

    /// A message that a block hides.
    fn open(&self, index: usize, block: Block, hidden: &[u8]) -> Vec<u8> {
        let (mut hash, mut pad) = ([Block::ZERO], vec![0; hidden.len()]);
        self.receiver.keys.hash.hash(index as u64, &[block], &mut hash, false);
        Prg::new(hash[0]).fill_bytes(&mut pad);
        pad.iter().zip(hidden).map(|(pad, byte)| pad ^ byte).collect()
    }
}

/// One stage as the participant has it.
struct Stage {
    /// Participant's blocks of the OTs.
    blocks: Vec<Block>,
    /// Hidden messages, both for each OT.
    hidden: Vec<u8>,
    blinds: Vec<Point>,
}

impl Stage {
    /// A stage of so many transfers and keys, with these choices in each tree.
    fn new(
        own: &mut Participant,
        (transfers, keys): (usize, usize),
        rows: &[Vec<Block>],
        channel: &mut Channel,
    ) -> Result<Stage> {
        let blocks = own.receiver.chunk(transfers, rows, 0, channel)?;
        let hidden = channel.receive(MESSAGES, 2 * MESSAGE_BYTES * transfers)?;
        let blinds = channel.receive(BLINDS, keys * GROUP.point_bytes())?;
        Ok(Stage { blocks, hidden, blinds: GROUP.decode(&blinds).unwrap() })
    }

    /// The message of this side of a pair, as it was sent.
    fn hidden(&self, index: usize, side: usize) -> &[u8] {
        &self.hidden[MESSAGE_BYTES * (2 * index + side)..][..MESSAGE_BYTES]
    }

    /// Opens the messages for somebody who has chosen with the same bits in all trees.
    fn chosen(&self, own: &Participant, bits: &[bool]) -> Vec<u8> {
        let one =
            |(index, bit): (usize, &bool)| own.open(index, self.blocks[index], self.hidden(index, usize::from(*bit)));
        bits.iter().enumerate().flat_map(one).collect()
    }
}

/// The bits of inputs, as their transfers are numbered.
fn bits(inputs: &[u8]) -> Vec<bool> {
    inputs.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect()
}

/// The same choices in each tree; what belongs to no OT is random, as an honest receiver has it.
fn rows(params: &Params, bits: &[bool]) -> Vec<Vec<Block>> {
    let mut row = block::random(width(params, bits.len()), &mut rng(9));
    row[..bits.len().div_ceil(BLOCK_BITS)].fill(Block::ZERO);
    bits.iter()
        .enumerate()
        .for_each(|(index, bit)| row[index / BLOCK_BITS].0 |= u128::from(*bit) << (index % BLOCK_BITS));
    vec![row; params.trees()]
}

/// Sends reports, of which the first has number 0, with these values of the function.
fn send_reports(round: &mut Round, entries: &[Entry], values: Vec<Point>, channel: &mut Channel) -> Result<()> {
    let reports = round.report(("hostile", 0), entries, values);
    channel.send(REPORTS, reports)
}
