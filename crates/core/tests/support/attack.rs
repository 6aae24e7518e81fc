//! Peers that break a protocol: one frame replaced, and what the victim makes of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tacita_core::channel::Label;
use tacita_core::{Error, Role, Side};

use super::two::run_over;
use super::*;

/// Change that is made to one frame; `None` cuts the connection.
pub type Mutation = Arc<dyn Fn(Frame) -> Option<Vec<Frame>> + Send + Sync>;

/// Two parties that can be run over any channels. Where they are a first and a second one, the first has the receiver's
/// end of the wire.
pub trait Parties: Send + Sync {
    /// Runs the role of a party at its end of the channel.
    fn part(&self, role: Role, channel: &mut Channel) -> Result<()>;

    /// Name of the protocol that they run.
    fn name(&self) -> String;

    /// Runs both: how the receiver ended, and how the sender.
    fn run(&self, receiver: Channel, sender: Channel) -> (Result<()>, Result<()>) {
        let part = |role| move |channel: &mut Channel| self.part(role, channel);
        let (received, sent) = run_over((receiver, sender), &part(Role::Receiver), &part(Role::Sender));
        (received.map(drop), sent.map(drop))
    }
}

/// Side of a scalar product that has this end of the wire.
pub fn side(role: Role) -> Side {
    match role {
        Role::Receiver => Side::First,
        Role::Sender => Side::Second,
    }
}

impl Parties for Case {
    fn part(&self, role: Role, channel: &mut Channel) -> Result<()> {
        match role {
            Role::Receiver => self.receive(channel, 1).map(drop),
            Role::Sender => self.send(channel, 2).map(drop),
        }
    }

    fn name(&self) -> String {
        format!("{:?}, {:?}", self.protocol, self.params.reveal)
    }
}

/// One attack: the culprit's frame with this number is replaced.
pub struct Attack {
    pub name: String,
    pub case: Arc<dyn Parties>,
    /// Role of the party that breaks the protocol.
    pub culprit: Role,
    pub frame: usize,
    pub mutation: Mutation,
    /// Predicate for the error with which the victim must end.
    pub expected: fn(&Error) -> bool,
}

/// Runs all attacks, many at once, because most of their time is spent waiting for the other end to read an abort.
/// Tests take turns: who computes for too long counts as silent.
pub fn run_all(attacks: Vec<Attack>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..48 {
            scope.spawn(|| {
                while let Some(attack) = attacks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(failure) = run_attack(attack) {
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    drop(turn);
    let failures = failures.into_inner().unwrap();
    assert!(
        !attacks.is_empty() && failures.is_empty(),
        "{} of {} attacks: {failures:#?}",
        failures.len(),
        attacks.len()
    );
}

fn run_attack(attack: &Attack) -> std::result::Result<(), String> {
    let (count, mutation, frame) = (AtomicUsize::new(0), attack.mutation.clone(), attack.frame);
    let tap: Arc<Tap> =
        Arc::new(
            move |data| if count.fetch_add(1, Ordering::Relaxed) == frame { mutation(data) } else { Some(vec![data]) },
        );
    let (receiver, sender) = match attack.culprit {
        Role::Receiver => tapped(tap, passing()),
        Role::Sender => tapped(passing(), tap),
    };
    let (received, sent) = attack.case.run(receiver, sender);
    let victim = match attack.culprit {
        Role::Receiver => sent,
        Role::Sender => received,
    };
    match victim {
        Err(error) if (attack.expected)(&error) => Ok(()),
        other => {
            let Attack { name, case, culprit, frame, .. } = attack;
            Err(format!("{}, {culprit:?} at frame {frame}, {name}: {other:?}", case.name()))
        }
    }
}

pub fn network(error: &Error) -> bool {
    matches!(error, Error::Network { .. })
}

/// Whether an error blames the peer for a check that is told in these words.
pub fn says(error: &Error, words: &str) -> bool {
    matches!(error, Error::Protocol { check, .. } if check.contains(words))
}

/// A frame of an honest run: what is run, who sends it, and its number among those that this party sends.
pub type Sent<P> = (Arc<P>, Role, usize, Frame);

/// Every frame of an honest run from both parties, the closing ones included.
pub fn sent<P: Parties>(case: Arc<P>) -> Vec<Sent<P>> {
    let recorded = recorded(|receiver, sender| {
        let (received, sent) = case.run(receiver, sender);
        received.unwrap();
        sent.unwrap();
    });
    let of = |role, frames: Vec<Frame>| {
        let numbered = frames.into_iter().enumerate();
        numbered.map(|(number, frame)| (case.clone(), role, number, frame)).collect::<Vec<_>>()
    };
    [of(Role::Receiver, recorded.receiver), of(Role::Sender, recorded.sender)].concat()
}

/// Every frame in every wrong form, and left out.
pub fn in_all_wrong_forms<P: Parties + 'static>(frames: &[Sent<P>]) -> Vec<Attack> {
    let forms = frames.iter().flat_map(|(case, culprit, number, frame)| {
        in_wrong_forms(case, *culprit, *number, frame).into_iter().chain(left_out(case, *culprit, *number, frame))
    });
    forms.collect()
}

/// Some of the attacks that `forms` makes of each frame: every kind of message of either party in every form, each in
/// another of the messages of that kind if there are several, and every message in one form or more.
pub fn by_turns<P: Parties + 'static>(frames: &[Sent<P>], forms: impl Fn(&[Sent<P>]) -> Vec<Attack>) -> Vec<Attack> {
    let mut kinds: BTreeMap<(usize, u8, u8), Vec<&Sent<P>>> = BTreeMap::new();
    for sent in frames {
        let (_, culprit, _, data) = sent;
        kinds.entry((*culprit as usize, data.kind, data.label)).or_default().push(sent);
    }
    let mut attacks = Vec::new();
    for alike in kinds.values() {
        for (number, &sent) in alike.iter().enumerate() {
            let forms = forms(std::slice::from_ref(sent));
            let turns = alike.len().min(forms.len());
            let own = forms.into_iter().enumerate().filter(|(form, _)| form % turns == number % turns);
            attacks.extend(own.map(|(_, attack)| attack));
        }
    }
    attacks
}

/// The attack of a message that never comes.
pub fn left_out<P: Parties + 'static>(case: &Arc<P>, culprit: Role, frame: usize, data: &Frame) -> Option<Attack> {
    (data.kind == Frame::DATA).then(|| Attack {
        name: "left out".into(),
        case: case.clone(),
        culprit,
        frame,
        mutation: Arc::new(|_| Some(Vec::new())),
        // Both may then wait for each other, until the transport has heard nothing for too long.
        expected: |error| blames(error) || network(error),
    })
}

/// Every message grown to the length of the longest frame.
pub fn oversized<P: Parties + 'static>(frames: &[Sent<P>]) -> Vec<Attack> {
    let data = frames.iter().filter(|(.., data)| data.kind == Frame::DATA);
    let attack = |(case, culprit, frame, _): &Sent<P>| Attack {
        name: "oversized".into(),
        case: case.clone(),
        culprit: *culprit,
        frame: *frame,
        mutation: change(|frame| frame.payload.resize(1 << 20, 0)),
        expected: blames,
    };
    data.map(attack).collect()
}

/// Encodings that are no elements of the group, or the one that nobody may send.
const NO_POINTS: [(&str, [u8; 32]); 4] = [
    ("the identity", [0; 32]),
    ("not reduced", {
        let mut prime = [0xff; 32];
        (prime[0], prime[31]) = (0xed, 0x7f);
        prime
    }),
    ("negative", {
        let mut one = [0; 32];
        one[0] = 1;
        one
    }),
    ("all ones", [0xff; 32]),
];

/// The attacks in which the first or the last point of a message with one of these labels is none.
pub fn no_points<P: Parties + 'static>(frames: &[Sent<P>], labels: &[Label]) -> Vec<Attack> {
    no_elements(frames, labels, &NO_POINTS.map(|(name, bytes)| (name, bytes.to_vec())))
}

/// The same with these encodings.
pub fn no_elements<P: Parties + 'static>(
    frames: &[Sent<P>],
    labels: &[Label],
    encodings: &[(&'static str, Vec<u8>)],
) -> Vec<Attack> {
    let mut attacks = Vec::new();
    for (case, culprit, frame, data) in frames {
        if data.kind != Frame::DATA || labels.iter().all(|label| label.code != data.label) {
            continue;
        }
        for (name, bytes) in encodings {
            for start in [0, data.payload.len() - bytes.len()] {
                let bytes = bytes.clone();
                attacks.push(Attack {
                    name: (*name).into(),
                    case: case.clone(),
                    culprit: *culprit,
                    frame: *frame,
                    mutation: change(move |frame| frame.payload[start..start + bytes.len()].copy_from_slice(&bytes)),
                    expected: blames,
                });
            }
        }
    }
    attacks
}

pub fn change(change: impl Fn(&mut Frame) + Send + Sync + 'static) -> Mutation {
    Arc::new(move |mut frame| {
        change(&mut frame);
        Some(vec![frame])
    })
}

/// The attacks on the form of a frame that every message of every protocol must withstand.
pub fn in_wrong_forms<P: Parties + 'static>(case: &Arc<P>, culprit: Role, frame: usize, data: &Frame) -> Vec<Attack> {
    let mut attacks = Vec::new();
    let mut add = |name: &str, expected: fn(&Error) -> bool, mutation: Mutation| {
        attacks.push(Attack { name: name.into(), case: case.clone(), culprit, frame, mutation, expected });
    };
    add("cut", network, Arc::new(|_| None));
    if data.kind == Frame::CLOSE {
        // The honest end behind the tap then hangs up, which may be noticed first.
        add(
            "data at the end",
            |error| blames(error) || network(error),
            change(|frame| (frame.kind, frame.label) = (Frame::DATA, 1)),
        );
        return attacks;
    }
    add("shortened", blames, change(|frame| frame.payload.truncate(frame.payload.len() - 1)));
    add("lengthened", blames, change(|frame| frame.payload.push(0)));
    add("emptied", blames, change(|frame| frame.payload.clear()));
    add("wrong label", blames, change(|frame| frame.label ^= 0x40));
    add("other kind", blames, change(|frame| (frame.kind, frame.payload) = (9, Vec::new())));
    add("closed early", blames, Arc::new(|_| Some(vec![Frame::close()])));
    add("twice", blames, Arc::new(|frame| Some(vec![frame.clone(), frame])));
    attacks
}
