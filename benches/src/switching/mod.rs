//! A union without curves, to compare with that of `ecdh`: its membership test is made of symmetric operations.
//!
//! Garimella, Mohassel, Rosulek, Sadeghian & Singh, "Private set operations from oblivious switching" (PKC 2021), with
//! the comparison before the network, so that a switch passes on bits and not values. The roles are those of
//! [`tacita_core::protocol::union`]:
//!
//! 1. *Values* ([`table`]). The sender puts its items into a cuckoo table. An OPPRF gives both a value for each bin: the
//!    same one if the receiver has the bin's item, unrelated ones if not.
//! 2. *Comparison* ([`comparison`]). Both get a share of a bit for each bin: whether the values are equal. This is what
//!    circuit PSI ends with.
//! 3. *Network* ([`network`]). The sender routes the bins that hold an item to the first places, in a random order, and
//!    the shares go through the switches. The receiver learns nothing of the order.
//! 4. *Transfer*. The sender opens the bits of the first places to the receiver, and gives its items by one OT each, as
//!    in `ecdh`. The receiver sees bits in a random order, so it learns their number alone.
//!
//! A measurement: semi-honest parties, no views, no hostile peers.

pub mod comparison;
pub mod network;
pub mod table;

use std::borrow::Cow;
use std::ops::Range;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use tacita_core::primitive::ot::Choices;
use tacita_core::primitive::ot::softspoken::{self, RandomReceiver, RandomSender};
use tacita_core::primitive::shuffle::random_order;
use tacita_core::protocol::intersect::opprf;
use tacita_core::protocol::union::{ItemSource, SenderItems, TAGS, transfer};
use tacita_core::security::{Chance, STATISTICAL_BITS, Security};
use tacita_core::{Channel, Item, Result, Session};
use tacita_node::base::usage;

use crate::pair::Pair;
use table::Table;

/// Agreed public values of one run.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// Items of the receiver.
    pub receiver_items: usize,
    /// Items of the sender, of which there is at least one.
    pub sender_items: usize,
    /// Bytes that the sender gives for an item.
    pub payload_bytes: usize,
    /// The parameter k of the OT extension.
    pub k: usize,
}

impl Params {
    /// Number of bins of the sender's table.
    pub fn bins(&self) -> usize {
        table::bins(self.sender_items)
    }

    /// Bits of a value that are compared: an item of the sender is taken for one that the receiver has with probability
    /// 2^-40 at most, over all bins.
    pub fn bits(&self) -> usize {
        STATISTICAL_BITS as usize + self.bins().next_power_of_two().ilog2() as usize
    }

    /// OTs of comparison and network.
    pub fn transfers(&self) -> usize {
        self.bins() * comparison::transfers(self.bits()) + network::switches(self.bins())
    }

    fn opprf(&self) -> opprf::Params {
        let programmed = table::PLACES * self.receiver_items;
        opprf::Params { asked: self.bins(), programmed, planes: 1, free: false, store_bits: Chance::Store.bits() }
    }

    fn extension(&self) -> Result<softspoken::Params> {
        softspoken::Params::new(Security::SemiHonest, self.k)
    }
}

/// Purpose of the OTs of comparison and network.
const PURPOSE: &str = "union by switching";

/// The sender between its phases.
struct Sender<'a> {
    params: Params,
    session: &'a Session,
    rng: ChaCha20Rng,
    items: &'a [Item],
    payload: &'a (dyn Fn(usize, &mut Vec<u8>) + Sync),
    table: Table,
    transfers: Option<RandomReceiver>,
    values: Vec<u64>,
    /// Shares of the bins' bits, later of the places'.
    shares: Vec<u8>,
    /// Bin whose bit comes to each place.
    order: Vec<u32>,
}

/// The receiver between its phases.
struct Receiver<'a> {
    params: Params,
    session: &'a Session,
    rng: ChaCha20Rng,
    items: &'a [Item],
    transfers: Option<RandomSender>,
    values: Vec<u64>,
    shares: Vec<u8>,
}

impl Sender<'_> {
    fn set_up(&mut self, channel: &mut Channel) -> Result<()> {
        let extension = self.params.extension()?;
        self.transfers = Some(RandomReceiver::setup(&extension, self.session, PURPOSE, channel, &mut self.rng)?);
        Ok(())
    }

    fn evaluate(&mut self, channel: &mut Channel) -> Result<()> {
        self.table = Table::new(self.items, self.session, &mut self.rng)?;
        self.values = self.table.evaluate(self.items, &self.params.opprf(), self.session, channel, &mut self.rng)?;
        Ok(())
    }

    fn compare(&mut self, channel: &mut Channel) -> Result<()> {
        let transfers = self.transfers.as_mut().expect("it is set up");
        self.shares = comparison::choose(&self.values, self.params.bits(), transfers, channel)?;
        Ok(())
    }

    fn switch(&mut self, channel: &mut Channel) -> Result<()> {
        let (held, empty) = self.table.held_and_empty();
        let order = random_order(held.len(), &mut self.rng);
        self.order = order.iter().map(|&place| held[place as usize]).chain(empty).collect();
        let settings = network::route(&self.order);
        network::choose(&settings, &mut self.shares, self.transfers.as_mut().expect("it is set up"), channel)
    }

    fn give(&mut self, channel: &mut Channel) -> Result<()> {
        let own = self.shares[..self.items.len()].chunks(8);
        let bytes = own.map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit)).collect::<Vec<u8>>();
        for part in bytes.chunks(tacita_core::channel::MAX_PAYLOAD_BYTES) {
            channel.send(TAGS, part.to_vec())?;
        }
        let item = |bin: &u32| self.table.item(*bin).expect("these bins hold an item");
        let order = self.order[..self.items.len()].iter().map(item).collect();
        let given = Given { items: self.items, order, payload: self.payload };
        transfer::send(&given, self.params.payload_bytes, self.session, channel, &mut self.rng)
    }
}

impl Receiver<'_> {
    fn set_up(&mut self, channel: &mut Channel) -> Result<()> {
        let extension = self.params.extension()?;
        self.transfers = Some(RandomSender::setup(&extension, self.session, PURPOSE, channel, &mut self.rng)?);
        Ok(())
    }

    fn program(&mut self, channel: &mut Channel) -> Result<()> {
        let (bins, opprf) = (self.params.bins(), self.params.opprf());
        self.values = table::program(self.items, bins, &opprf, self.session, channel, &mut self.rng)?;
        Ok(())
    }

    fn compare(&mut self, channel: &mut Channel) -> Result<()> {
        let transfers = self.transfers.as_mut().expect("it is set up");
        self.shares = comparison::offer(&self.values, self.params.bits(), transfers, channel)?;
        Ok(())
    }

    fn switch(&mut self, channel: &mut Channel) -> Result<()> {
        network::offer(&mut self.shares, self.transfers.as_mut().expect("it is set up"), channel)
    }

    /// Returns what is given for the items that it lacks.
    fn take(&mut self, channel: &mut Channel) -> Result<Vec<Vec<u8>>> {
        let count = self.params.sender_items;
        let mut bytes = Vec::new();
        while bytes.len() < count.div_ceil(8) {
            let length = (count.div_ceil(8) - bytes.len()).min(tacita_core::channel::MAX_PAYLOAD_BYTES);
            bytes.extend(channel.receive(TAGS, length)?);
        }
        let theirs = Choices::from_bytes(&bytes, count);
        let has = Choices::from_bits(theirs.iter().zip(&self.shares).map(|(theirs, own)| theirs ^ (*own == 1)));
        let mut missing = Vec::new();
        let mut take = |payload: &[u8]| {
            missing.push(payload.to_vec());
            Ok(())
        };
        transfer::receive(&has, self.params.payload_bytes, self.session, channel, &mut self.rng, &mut take)?;
        Ok(missing)
    }
}

/// Items of the sender in the order of the places, with what it gives for each.
struct Given<'a> {
    items: &'a [Item],
    order: Vec<u32>,
    payload: &'a (dyn Fn(usize, &mut Vec<u8>) + Sync),
}

impl ItemSource for Given<'_> {
    fn count(&self) -> usize {
        self.order.len()
    }

    fn items(&self, range: Range<usize>) -> Result<Cow<'_, [Item]>> {
        Ok(self.order[range].iter().map(|&index| self.items[index as usize]).collect())
    }
}

impl SenderItems for Given<'_> {
    fn payloads(&self, range: Range<usize>) -> Result<Vec<u8>> {
        let mut payloads = Vec::new();
        self.order[range].iter().for_each(|&index| (self.payload)(index as usize, &mut payloads));
        Ok(payloads)
    }
}

/// Cost of one phase.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// Name of the phase.
    pub name: &'static str,
    /// CPU seconds of the sender's threads and of the receiver's.
    pub cpu: [f64; 2],
    /// CPU seconds of the whole process.
    pub process: f64,
    /// Bytes that the sender and the receiver have sent.
    pub bytes: [u64; 2],
}

/// Runs both parties in this process, one thread each, phase by phase: what the receiver gets, and the cost of each
/// phase. `payload` appends what is given for the sender's item at an index.
pub fn run(
    receiver_items: &[Item],
    sender_items: &[Item],
    payload: &(dyn Fn(usize, &mut Vec<u8>) + Sync),
    params: Params,
    session: &Session,
    rng: &mut impl CryptoRng,
) -> (Vec<Vec<u8>>, Vec<Phase>) {
    let mut of_party = || {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        ChaCha20Rng::from_seed(seed)
    };
    let mut sender = Sender {
        params,
        session,
        rng: of_party(),
        items: sender_items,
        payload,
        table: Table::default(),
        transfers: None,
        values: Vec::new(),
        shares: Vec::new(),
        order: Vec::new(),
    };
    let mut receiver = Receiver {
        params,
        session,
        rng: of_party(),
        items: receiver_items,
        transfers: None,
        values: Vec::new(),
        shares: Vec::new(),
    };
    let mut pair = Pair::new(1);
    let mut phases = Vec::new();
    macro_rules! phase {
        ($name:literal, $send:ident, $receive:ident) => {{
            let (before, sent) = (usage::cpu_time(), pair.bytes());
            let (((), result), _, cpu) =
                pair.run(|channel| sender.$send(channel), |channel| receiver.$receive(channel));
            let bytes = pair.bytes();
            phases.push(Phase {
                name: $name,
                cpu: cpu.map(|milliseconds| milliseconds / 1e3),
                process: (usage::cpu_time() - before).as_secs_f64(),
                bytes: [bytes[0] - sent[0], bytes[1] - sent[1]],
            });
            result
        }};
    }
    phase!("base OTs", set_up, set_up);
    phase!("values (OPPRF)", evaluate, program);
    phase!("comparison", compare, compare);
    phase!("network", switch, switch);
    let missing = phase!("transfer", give, take);
    (missing, phases)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand_core::Rng;
    use tacita_core::session::Transcript;

    use super::*;

    /// Checks that the receiver gets what it lacks, as plain sets say, whatever is common.
    #[test]
    fn a_union_is_that_of_plain_sets() {
        let seed = 7;
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        for (receiver, sender) in [(0, 1), (1, 1), (1, 10), (10, 1), (10, 10), (1000, 10), (10, 1000), (1000, 1000)] {
            for common in BTreeSet::from([0, receiver.min(sender) / 2, receiver.min(sender)]) {
                let item = |number: usize| Item::new(&[1; 32], &number.to_le_bytes());
                let [first, k] = [rng.next_u32() as usize, [4, 8][rng.next_u32() as usize % 2]];
                let own: Vec<Item> = (first..first + receiver).map(item).collect();
                let start = first + receiver - common;
                let order = random_order(sender, &mut rng);
                let theirs: Vec<usize> = order.iter().map(|&place| start + place as usize).collect();
                let items: Vec<Item> = theirs.iter().map(|&number| item(number)).collect();
                let payload = |index: usize, out: &mut Vec<u8>| out.extend(theirs[index].to_le_bytes());
                let params = Params { receiver_items: receiver, sender_items: sender, payload_bytes: 8, k };
                let session = Session::new(Transcript::new("test"));
                let (missing, _) = run(&own, &items, &payload, params, &session, &mut rng);
                let expected = (first + receiver..start + sender).map(|number| number.to_le_bytes().to_vec());
                let sizes = (receiver, sender, common);
                assert_eq!(missing.len(), sender - common, "{sizes:?}, seed {seed}");
                assert_eq!(missing.into_iter().collect::<BTreeSet<_>>(), expected.collect(), "{sizes:?}, seed {seed}");
            }
        }
    }
}
