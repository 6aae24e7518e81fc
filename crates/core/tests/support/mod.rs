//! Helpers that the tests of the intersections share: parties, a runner for each variant, and a wire tap.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod attack;
pub mod buckets;
pub mod dealer;
pub mod dot;
pub mod many;
pub mod mesh;
pub mod outsourced;
pub mod published;
pub mod two;
pub mod views;

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::primitive::oprf::Suite;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::primitive::vole::ideal;
use tacita_core::protocol::intersect::ecdh::{self, TagDomain, count, payload, rows, sum};
use tacita_core::protocol::intersect::tag_exchange::{Params, Payload, ReceiverReveal, ReturnedRows};
use tacita_core::protocol::intersect::vole;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Error, ErrorKind, Item, Result, Security};

pub fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

pub fn session() -> Session {
    Session::new(Transcript::new("test"))
}

pub fn item(number: usize) -> Item {
    Item::new(&[7; 32], &number.to_le_bytes())
}

pub fn items(numbers: impl IntoIterator<Item = usize>) -> Vec<Item> {
    numbers.into_iter().map(item).collect()
}

/// Rows for items: item `i` of the party `name` has 1 + i mod 3 rows, each of which says whose it is.
pub fn payload_of(name: u8, items: &[Item], row_bytes: usize) -> Payload {
    let mut payload = Payload::new(row_bytes);
    for (index, item) in items.iter().enumerate() {
        let count = 1 + index % 3;
        let rows: Vec<u8> = (0..count)
            .flat_map(|row| blake3::hash(&[&[name, row as u8][..], &item.0].concat()).as_bytes()[..row_bytes].to_vec())
            .collect();
        payload.push(count, &rows).unwrap();
    }
    payload
}

/// Inputs of both parties.
pub struct Case {
    pub receiver: Vec<Item>,
    pub sender: Vec<Item>,
    pub receiver_rows: Payload,
    pub sender_rows: Payload,
    pub sender_numbers: Vec<i128>,
    pub params: Params,
    /// The group of `ecdh`.
    pub suite: Suite,
    pub protocol: Protocol,
}

/// Numbers of items: none, small, negative, and longer than 64 bits.
pub fn numbers(count: usize) -> Vec<i128> {
    [7, -3, 0, 1, -(1 << 80), 22_766, (1 << 90) + 5].into_iter().cycle().take(count).collect()
}

/// Keys that are quickly made.
pub fn short_key() -> KeySize {
    KeySize::new(512).unwrap()
}

/// Protocol that a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Ecdh,
    /// `vole` on a trusted dealer's correlations, made from this seed.
    Vole(Security, u8),
    /// `vole` with everything that it is made of.
    RealVole(Security),
}

pub const SENDER_ROW_BYTES: usize = 11;
pub const RECEIVER_ROW_BYTES: usize = 6;

/// Every variant of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    Rows,
    RowsBoth,
    Count,
    CountBoth,
    Sum,
    SumBoth,
    /// Three numbers for each item, as many as there is room for under short keys.
    SumsBoth,
    Payload,
    PayloadBoth,
    PayloadReturned,
}

pub const VARIANTS: [Variant; 10] = [
    Variant::Rows,
    Variant::RowsBoth,
    Variant::Count,
    Variant::CountBoth,
    Variant::Sum,
    Variant::SumBoth,
    Variant::SumsBoth,
    Variant::Payload,
    Variant::PayloadBoth,
    Variant::PayloadReturned,
];

impl Case {
    /// A case in which each party's set is padded by `padding` elements and messages have `chunk` elements.
    pub fn new(variant: Variant, receiver: Vec<Item>, sender: Vec<Item>, padding: usize, chunk: usize) -> Case {
        let receiver_rows = payload_of(1, &receiver, RECEIVER_ROW_BYTES);
        let sender_rows = payload_of(2, &sender, SENDER_ROW_BYTES);
        let (asks, has, rows) = (receiver.len() + padding, sender.len() + padding, sender_rows.rows() + padding);
        let params = match variant {
            Variant::Rows => Params::rows(asks, has),
            Variant::RowsBoth => Params::rows(asks, has).to_both(),
            Variant::Count => Params::count(asks, has),
            Variant::CountBoth => Params::count(asks, has).to_both(),
            Variant::Sum => Params::sum(asks, has, short_key()),
            Variant::SumBoth => Params::sum(asks, has, short_key()).to_both(),
            Variant::SumsBoth => Params::sum(asks, has, short_key()).of_sums(3).to_both(),
            Variant::Payload => Params::payload(asks, rows, SENDER_ROW_BYTES),
            Variant::PayloadBoth => Params::payload(asks, rows, SENDER_ROW_BYTES).to_both(),
            Variant::PayloadReturned => {
                Params::payload(asks, rows, SENDER_ROW_BYTES).returning(receiver_rows.rows(), RECEIVER_ROW_BYTES)
            }
        };
        Case {
            sender_numbers: numbers(sender.len() * if variant == Variant::SumsBoth { 3 } else { 1 }),
            receiver,
            sender,
            receiver_rows,
            sender_rows,
            params: Params { chunk, ..params },
            suite: Suite::Ristretto255,
            protocol: Protocol::Ecdh,
        }
    }

    /// The same case in another group.
    pub fn in_suite(mut self, suite: Suite) -> Case {
        self.suite = suite;
        self
    }

    /// The parameters, as `ecdh` takes them.
    pub fn ecdh(&self) -> ecdh::Params {
        ecdh::Params::new(self.params, self.suite)
    }

    /// The same case by `vole`.
    pub fn by_vole(mut self, security: Security, seed: u8) -> Case {
        self.params = vole::Params::new(self.params, security).unwrap().entries;
        self.protocol = Protocol::Vole(security, seed);
        self
    }

    /// The same case by `vole`, base OTs and all.
    pub fn by_real_vole(self, security: Security) -> Case {
        Case { protocol: Protocol::RealVole(security), ..self.by_vole(security, 0) }
    }

    /// Indices of the receiver's common items, and of the sender's.
    pub fn truth(&self) -> (Vec<usize>, Vec<usize>) {
        let common = |own: &[Item], other: &[Item]| {
            let other: std::collections::HashSet<&Item> = other.iter().collect();
            (0..own.len()).filter(|&index| other.contains(&own[index])).collect()
        };
        (common(&self.receiver, &self.sender), common(&self.sender, &self.receiver))
    }

    /// Returns the result that the receiver should learn, and that of the sender.
    pub fn expected(&self) -> (Learned, Learned) {
        let (mine, theirs) = self.truth();
        let rows_for = |own: &[Item], indices: &[usize], other: &[Item], rows: &Payload| {
            let mut payload = Payload::new(rows.row_bytes());
            for &index in indices {
                let at = other.iter().position(|item| *item == own[index]).unwrap();
                payload.push(rows.rows_of(at), rows.item(at)).unwrap();
            }
            payload
        };
        let (receiver, sender) = match self.params.reveal {
            ReceiverReveal::Rows => (Learned::Rows(mine), Learned::Rows(theirs)),
            ReceiverReveal::Count => (Learned::Count(mine.len()), Learned::Count(mine.len())),
            ReceiverReveal::Sum { sums, .. } => {
                let sum = |place: usize| theirs.iter().map(|&item| self.sender_numbers[sums * item + place]).sum();
                let sums: Vec<i128> = (0..sums).map(sum).collect();
                (Learned::Sum(mine.len(), sums.clone()), Learned::Sum(mine.len(), sums))
            }
            ReceiverReveal::Payload { returned, .. } => {
                let given = rows_for(&self.receiver, &mine, &self.sender, &self.sender_rows);
                let returned = returned.map(|_| rows_for(&self.sender, &theirs, &self.receiver, &self.receiver_rows));
                (Learned::Payload(mine, Some(given)), Learned::Payload(theirs, returned))
            }
        };
        (receiver, if self.params.to_sender { sender } else { Learned::Nothing })
    }

    pub fn returned(&self) -> ReturnedRows {
        let (mine, _) = self.truth();
        ReturnedRows { items: mine.len(), rows: mine.iter().map(|&item| self.receiver_rows.rows_of(item)).sum() }
    }

    pub fn receive(&self, channel: &mut Channel, seed: u8) -> Result<Learned> {
        let (items, params, rng) = (&self.receiver, &self.params, &mut rng(seed));
        let domain = TagDomain::of_session(&session());
        if let Protocol::Vole(security, seed) = self.protocol {
            let params = vole::Params { entries: *params, security };
            let (_, mut dealer) = ideal::pair([seed; 32]);
            return match params.entries.reveal {
                ReceiverReveal::Payload { .. } => {
                    let own = Some(&self.receiver_rows);
                    let common =
                        vole::payload::receive_over(items, own, &session(), &params, &mut dealer, channel, rng)?;
                    Ok(Learned::Payload(common.items, common.payload))
                }
                _ => vole::rows::receive_over(items, &session(), &params, &mut dealer, channel, rng).map(Learned::Rows),
            };
        }
        if let Protocol::RealVole(security) = self.protocol {
            let params = vole::Params { entries: *params, security };
            return match params.entries.reveal {
                ReceiverReveal::Payload { .. } => {
                    let own = Some(&self.receiver_rows);
                    let common = vole::payload::receive(items, own, &session(), &params, channel, rng)?;
                    Ok(Learned::Payload(common.items, common.payload))
                }
                _ => vole::rows::receive(items, &session(), &params, channel, rng).map(Learned::Rows),
            };
        }
        let params = &self.ecdh();
        match params.entries.reveal {
            ReceiverReveal::Rows => rows::receive(items, &domain, params, channel, rng).map(Learned::Rows),
            ReceiverReveal::Count => count::receive(items, &session(), params, channel, rng).map(Learned::Count),
            ReceiverReveal::Sum { .. } => sum::receive(items, &session(), params, channel, rng).map(Learned::of_total),
            ReceiverReveal::Payload { .. } => {
                let own = Some(&self.receiver_rows);
                let common = payload::receive(items, own, &domain, params, channel, rng)?;
                Ok(Learned::Payload(common.items, common.payload))
            }
        }
    }

    pub fn send(&self, channel: &mut Channel, seed: u8) -> Result<Learned> {
        let (items, params, rng) = (&self.sender, &self.params, &mut rng(seed));
        let domain = TagDomain::of_session(&session());
        let nothing = Learned::Nothing;
        if let Protocol::Vole(security, seed) = self.protocol {
            let params = vole::Params { entries: *params, security };
            let (mut dealer, _) = ideal::pair([seed; 32]);
            return match params.entries.reveal {
                ReceiverReveal::Payload { .. } => {
                    let rows = &self.sender_rows;
                    let common = vole::payload::send_over(items, rows, &session(), &params, &mut dealer, channel, rng)?;
                    Ok(common.map_or(nothing, |common| Learned::Payload(common.items, common.payload)))
                }
                _ => {
                    let common = vole::rows::send_over(items, &session(), &params, &mut dealer, channel, rng)?;
                    Ok(common.map_or(nothing, Learned::Rows))
                }
            };
        }
        if let Protocol::RealVole(security) = self.protocol {
            let params = vole::Params { entries: *params, security };
            return match params.entries.reveal {
                ReceiverReveal::Payload { .. } => {
                    let common = vole::payload::send(items, &self.sender_rows, &session(), &params, channel, rng)?;
                    Ok(common.map_or(nothing, |common| Learned::Payload(common.items, common.payload)))
                }
                _ => Ok(vole::rows::send(items, &session(), &params, channel, rng)?.map_or(nothing, Learned::Rows)),
            };
        }
        let params = &self.ecdh();
        match params.entries.reveal {
            ReceiverReveal::Rows => {
                Ok(rows::send(items, &domain, params, channel, rng)?.map_or(nothing, Learned::Rows))
            }
            ReceiverReveal::Count => {
                Ok(count::send(items, &session(), params, channel, rng)?.map_or(nothing, Learned::Count))
            }
            ReceiverReveal::Sum { .. } => {
                let total = sum::send(items, &self.sender_numbers, &session(), params, channel, rng)?;
                Ok(total.map_or(nothing, Learned::of_total))
            }
            ReceiverReveal::Payload { .. } => {
                let common = payload::send(items, &self.sender_rows, &domain, params, channel, rng)?;
                Ok(common.map_or(nothing, |common| Learned::Payload(common.items, common.payload)))
            }
        }
    }
}

/// Result that a party has learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Learned {
    Nothing,
    Rows(Vec<usize>),
    Count(usize),
    Sum(usize, Vec<i128>),
    Payload(Vec<usize>, Option<Payload>),
}

impl Learned {
    fn of_total(total: sum::Total) -> Learned {
        Learned::Sum(total.count, total.sums)
    }
}

/// A party's end: what it learned, and its traffic after a good end.
pub type Outcome = two::Ended<Learned>;

/// Runs both roles over channels, which need not be connected to each other directly.
pub fn run_over(case: &Case, receiver: Channel, sender: Channel, seeds: (u8, u8)) -> (Outcome, Outcome) {
    let receive = |channel: &mut Channel| case.receive(channel, seeds.0);
    let send = |channel: &mut Channel| case.send(channel, seeds.1);
    two::run_over((receiver, sender), &receive, &send)
}

pub fn run(case: &Case) -> (Outcome, Outcome) {
    let (receiver, sender) = Channel::pair("receiver", "sender");
    run_over(case, receiver, sender, (1, 2))
}

/// One frame as it stood on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub label: u8,
    pub payload: Vec<u8>,
}

impl Frame {
    pub const DATA: u8 = 0;
    pub const HEARTBEAT: u8 = 1;
    pub const CLOSE: u8 = 3;

    pub fn close() -> Frame {
        Frame { kind: Frame::CLOSE, label: 0, payload: Vec::new() }
    }
}

/// Action of a tap on a frame: the frames to pass on instead, or the end of the connection.
pub type Tap = dyn Fn(Frame) -> Option<Vec<Frame>> + Send + Sync;

/// Two ends of a channel over sockets, with a tap on what the receiver sends and on what the sender sends.
pub fn tapped(from_receiver: Arc<Tap>, from_sender: Arc<Tap>) -> (Channel, Channel) {
    tapped_between(["receiver", "sender"], from_receiver, from_sender)
}

/// The same of two parties with these names.
pub fn tapped_between(names: [&str; 2], from_first: Arc<Tap>, from_second: Arc<Tap>) -> (Channel, Channel) {
    use std::os::unix::net::UnixStream;
    let ((first, first_tap), (second, second_tap)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    let copies = [(first_tap.try_clone().unwrap(), second_tap.try_clone().unwrap(), from_first)];
    for (input, output, tap) in copies.into_iter().chain([(second_tap, first_tap, from_second)]) {
        std::thread::spawn(move || relay(input, output, &*tap));
    }
    let end = |peer: &str, stream: UnixStream| {
        // Nobody in these tests is silent for so long: whoever is has hung.
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        Channel::over_socket(peer, stream, std::time::Duration::from_secs(60), UnixStream::shutdown)
    };
    (end(names[1], first), end(names[0], second))
}

fn relay(
    mut input: std::os::unix::net::UnixStream,
    mut output: std::os::unix::net::UnixStream,
    tap: &Tap,
) -> Option<()> {
    use std::io::{Read, Write};
    let mut sequence = 0u32;
    let end = |stream: &std::os::unix::net::UnixStream, how| {
        let _ = stream.shutdown(how);
    };
    loop {
        let mut header = [0; 10];
        if input.read_exact(&mut header).is_err() {
            end(&output, std::net::Shutdown::Write);
            return None;
        }
        let mut payload = vec![0; u32::from_le_bytes(header[..4].try_into().unwrap()) as usize];
        input.read_exact(&mut payload).ok()?;
        let Some(frames) = tap(Frame { kind: header[8], label: header[9], payload }) else {
            end(&output, std::net::Shutdown::Both);
            end(&input, std::net::Shutdown::Both);
            return None;
        };
        for frame in frames {
            let mut bytes = (frame.payload.len() as u32).to_le_bytes().to_vec();
            bytes.extend_from_slice(&sequence.to_le_bytes());
            bytes.extend_from_slice(&[frame.kind, frame.label]);
            bytes.extend_from_slice(&frame.payload);
            sequence = sequence.wrapping_add(1);
            if output.write_all(&bytes).is_err() {
                end(&input, std::net::Shutdown::Both);
                return None;
            }
        }
    }
}

pub fn passing() -> Arc<Tap> {
    Arc::new(|frame| Some(vec![frame]))
}

/// The frames of one honest run, of the receiver and of the sender.
pub struct Recorded {
    pub receiver: Vec<Frame>,
    pub sender: Vec<Frame>,
}

pub fn record(case: &Case, seeds: (u8, u8)) -> Recorded {
    recorded(|receiver, sender| {
        let (received, sent) = run_over(case, receiver, sender, seeds);
        received.unwrap();
        sent.unwrap();
    })
}

/// Records the frames that travel between the ends that `run` is given.
pub fn recorded(run: impl FnOnce(Channel, Channel)) -> Recorded {
    use std::sync::Mutex;
    let frames: [Arc<Mutex<Vec<Frame>>>; 2] = Default::default();
    let recorder = |frames: &Arc<Mutex<Vec<Frame>>>| -> Arc<Tap> {
        let frames = frames.clone();
        Arc::new(move |frame| {
            frames.lock().unwrap().push(frame.clone());
            Some(vec![frame])
        })
    };
    let (receiver, sender) = tapped(recorder(&frames[0]), recorder(&frames[1]));
    run(receiver, sender);
    let [receiver, sender] = frames.map(|frames| std::mem::take(&mut *frames.lock().unwrap()));
    Recorded { receiver, sender }
}

/// Returns all payload bytes under one label.
pub fn payloads(frames: &[Frame], label: u8) -> Vec<u8> {
    let data = |frame: &&Frame| frame.kind == Frame::DATA && frame.label == label;
    frames.iter().filter(data).flat_map(|frame| frame.payload.iter().copied()).collect()
}

/// Labels and lengths of messages.
pub fn lengths(frames: &[Frame]) -> Vec<(u8, usize)> {
    frames.iter().filter(|frame| frame.kind == Frame::DATA).map(|frame| (frame.label, frame.payload.len())).collect()
}

/// Whether an error blames the peer for breaking the protocol.
pub fn blames(error: &Error) -> bool {
    matches!(error, Error::Protocol { .. } | Error::OneOf { .. })
}

/// Whether an error says that a message did not come: to this party, or to another that noticed it sooner.
pub fn misses(error: &Error) -> bool {
    matches!(error, Error::Network { .. } | Error::Peer { kind: ErrorKind::Network, .. })
}
