//! Peers that break a protocol: one frame replaced, and what the victim makes of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tacita_core::Error;

use super::*;

/// Who breaks the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Culprit {
    Receiver,
    Sender,
}

/// What is done to one frame; `None` cuts the connection.
pub type Mutation = Arc<dyn Fn(Frame) -> Option<Vec<Frame>> + Send + Sync>;

/// Two parties that can be run over any channels.
pub trait Parties: Send + Sync {
    /// Runs both: how the receiver ended, and how the sender.
    fn run(&self, receiver: Channel, sender: Channel) -> (Result<()>, Result<()>);

    /// What they run.
    fn name(&self) -> String;
}

impl Parties for Case {
    fn run(&self, receiver: Channel, sender: Channel) -> (Result<()>, Result<()>) {
        let (received, sent) = run_over(self, receiver, sender, (1, 2));
        (received.map(drop), sent.map(drop))
    }

    fn name(&self) -> String {
        format!("{:?}, {:?}", self.protocol, self.params.reveal)
    }
}

/// One attack: the culprit's frame with this number is replaced.
pub struct Attack {
    pub name: String,
    pub case: Arc<dyn Parties>,
    pub culprit: Culprit,
    pub frame: usize,
    pub mutation: Mutation,
    /// What the victim must make of it.
    pub expected: fn(&Error) -> bool,
}

/// Runs all attacks, many at once, because most of their time is spent waiting for the other end to read an abort.
pub fn run_all(attacks: Vec<Attack>) {
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
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} attacks: {failures:#?}", failures.len(), attacks.len());
}

fn run_attack(attack: &Attack) -> std::result::Result<(), String> {
    let (count, mutation, frame) = (AtomicUsize::new(0), attack.mutation.clone(), attack.frame);
    let tap: Arc<Tap> = Arc::new(move |data| match count.fetch_add(1, Ordering::Relaxed) == frame {
        true => mutation(data),
        false => Some(vec![data]),
    });
    let (receiver, sender) = match attack.culprit {
        Culprit::Receiver => tapped(tap, passing()),
        Culprit::Sender => tapped(passing(), tap),
    };
    let (received, sent) = attack.case.run(receiver, sender);
    let victim = match attack.culprit {
        Culprit::Receiver => sent,
        Culprit::Sender => received,
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

pub fn change(change: impl Fn(&mut Frame) + Send + Sync + 'static) -> Mutation {
    Arc::new(move |mut frame| {
        change(&mut frame);
        Some(vec![frame])
    })
}

/// The attacks on the form of a frame that every message of every protocol must withstand.
pub fn in_wrong_forms<P: Parties + 'static>(
    case: &Arc<P>,
    culprit: Culprit,
    frame: usize,
    data: &Frame,
) -> Vec<Attack> {
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
