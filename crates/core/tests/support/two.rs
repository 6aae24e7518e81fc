//! Protocols between a first and a second party: runs, recorded runs, and attacks, in which the first party has the
//! receiver's end of the wire and the second the sender's.

use std::sync::Arc;

use tacita_core::channel::Traffic;
use tacita_core::{Channel, Result, Role};

use super::attack::{Attack, Parties, change, in_wrong_forms};
use super::{Frame, blames, recorded};

/// A party: what it does with its end of the channel.
pub type Part<'a, T> = &'a (dyn Fn(&mut Channel) -> Result<T> + Sync);

/// Output of a party's run, and its traffic after a good end.
pub type Ended<T> = Result<(T, Traffic)>;

/// Ends a party's channel as a program does: in good order, or telling the peer why not.
pub fn conclude<T>(mut channel: Channel, part: impl FnOnce(&mut Channel) -> Result<T>) -> Ended<T> {
    let outcome = part(&mut channel);
    channel.end(outcome)
}

/// Runs both over channels, which need not be connected to each other directly.
pub fn run_over<T: Send>(ends: (Channel, Channel), first: Part<T>, second: Part<T>) -> (Ended<T>, Ended<T>) {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| conclude(ends.1, second));
        let one = conclude(ends.0, first);
        (one, other.join().unwrap())
    })
}

/// Runs both in memory.
pub fn run<T: Send>(first: Part<T>, second: Part<T>) -> (Ended<T>, Ended<T>) {
    run_over(Channel::pair("first", "second"), first, second)
}

/// The frames that the first and the second sent in an honest run, and what both got.
pub fn record<T: Send>(first: Part<T>, second: Part<T>) -> ([Vec<Frame>; 2], [T; 2]) {
    let mut outcomes = None;
    let frames = recorded(|one, other| {
        let (one, other) = run_over((one, other), first, second);
        outcomes = Some([one.unwrap().0, other.unwrap().0]);
    });
    ([frames.receiver, frames.sender], outcomes.unwrap())
}

/// A party that can be run again and again.
pub type Repeated = Box<dyn Fn(&mut Channel) -> Result<()> + Send + Sync>;

/// Two parties that can be attacked.
pub struct Two {
    pub name: String,
    pub first: Repeated,
    pub second: Repeated,
}

impl Parties for Two {
    fn part(&self, role: Role, channel: &mut Channel) -> Result<()> {
        match role {
            Role::Receiver => (self.first)(channel),
            Role::Sender => (self.second)(channel),
        }
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// The parties as attackers: the first, and the second.
pub const CULPRITS: [Role; 2] = [Role::Receiver, Role::Sender];

/// Every frame of both parties whose label is not `but` in every wrong form.
pub fn wrong_forms(case: &Arc<Two>, frames: &[Vec<Frame>; 2], but: Option<u8>) -> Vec<Attack> {
    let of_party = |(party, frames): (usize, &Vec<Frame>)| -> Vec<Attack> {
        let frames = frames.iter().enumerate().filter(|(_, frame)| Some(frame.label) != but);
        frames.flat_map(|(number, frame)| in_wrong_forms(case, CULPRITS[party], number, frame)).collect()
    };
    frames.iter().enumerate().flat_map(of_party).collect()
}

/// A change of a payload, which the victim must blame the culprit for.
pub fn on_payload(
    case: &Arc<Two>,
    name: &str,
    culprit: usize,
    frame: usize,
    payload: impl Fn(&mut Vec<u8>) + Send + Sync + 'static,
) -> Attack {
    Attack {
        name: name.into(),
        case: case.clone(),
        culprit: CULPRITS[culprit],
        frame,
        mutation: change(move |frame| payload(&mut frame.payload)),
        expected: blames,
    }
}
