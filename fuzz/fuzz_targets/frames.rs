//! What a peer writes on the wire, up to the first frame that breaks the framing: no panic, no hang, no memory taken on
//! its word alone.

#![no_main]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{Cursor, sink};
use std::thread::JoinHandle;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tacita_core::Channel;
use tacita_core::channel::{Label, MAX_PAYLOAD_BYTES};

const LABEL: Label = Label::new(1, "fuzzed");

fuzz_target!(|wire: &[u8]| {
    let reader = Cursor::new(wire.to_vec());
    let mut channel = Channel::over("peer", reader, sink(), Duration::from_secs(10), || ());
    let mut payload_bytes = 0;
    while let Ok(payload) = channel.receive_up_to(LABEL, MAX_PAYLOAD_BYTES) {
        payload_bytes += payload.len();
    }
    assert!(payload_bytes <= wire.len());
    ENDING.with_borrow_mut(|ending| ending.push(channel));
});

/// Channels whose frames are all read. A channel takes a moment to end (it lets its writer tell the peer why), which
/// the next inputs need not wait for.
struct Ending(VecDeque<JoinHandle<()>>);

/// How many channels may be ending: each has three threads.
const ENDING_AT_ONCE: usize = 200;

thread_local! {
    static ENDING: RefCell<Ending> = const { RefCell::new(Ending(VecDeque::new())) };
}

impl Ending {
    fn push(&mut self, channel: Channel) {
        self.0.push_back(std::thread::spawn(move || drop(channel)));
        if self.0.len() > ENDING_AT_ONCE {
            self.0.pop_front().map(JoinHandle::join);
        }
    }
}

/// The search for leaks at the end of a run must not find what is still in use.
impl Drop for Ending {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            let _ = thread.join();
        }
    }
}
