//! The network between a service and all who ask it, which can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

/// Interval between checks whether a silent wire lets bytes pass again.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Fate of the bytes that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Bytes arrive without interference.
    None,
    /// Connections break, and none is made.
    Broken,
    /// Bytes are held up, and nobody is told.
    Silent,
}

/// A port of this machine behind which a service listens at another one.
pub struct Wire {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    broken: AtomicBool,
    silent: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
    /// Bytes on their way when it was broken, and connections that were.
    lost: AtomicUsize,
}

impl Wire {
    pub fn to(service: u16) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            broken: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            open: Mutex::default(),
            lost: AtomicUsize::new(0),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", service)) else { continue };
                if shared.broken.load(Ordering::Acquire) {
                    continue;
                }
                let both = [near.try_clone().unwrap(), far.try_clone().unwrap()];
                shared.open.lock().unwrap().extend(both);
                for (from, to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
                    let shared = shared.clone();
                    std::thread::spawn(move || pass(from, to, &shared));
                }
            }
        });
        Wire { port, state }
    }

    pub fn cut(&self, cut: Cut) {
        self.state.silent.store(cut == Cut::Silent, Ordering::Release);
        self.state.broken.store(cut == Cut::Broken, Ordering::Release);
        let mut open = self.state.open.lock().unwrap();
        if cut == Cut::Broken {
            for stream in open.drain(..) {
                let lost = usize::from(stream.shutdown(Shutdown::Both).is_ok());
                self.state.lost.fetch_add(lost, Ordering::Relaxed);
            }
        }
    }

    /// Connections that were broken, each counted at both ends.
    pub fn lost(&self) -> usize {
        self.state.lost.load(Ordering::Relaxed)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        while state.silent.load(Ordering::Acquire) {
            sleep(POLL_INTERVAL);
        }
        if to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
    let ended = |stream: &TcpStream| stream.peer_addr().is_err();
    state.open.lock().unwrap().retain(|stream| !ended(stream));
}
