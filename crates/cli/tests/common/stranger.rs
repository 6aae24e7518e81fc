//! Strangers at a listener, hundreds at a time, and what the process that listens holds: it has to let others in
//! meanwhile, and to hold what it held before when they are gone.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustls::{ClientConfig, ClientConnection};
use tacita_node::identity::{Fingerprint, Identity, VALIDITY};
use tacita_node::transport::Peer;
use tacita_node::transport::http::Dialer;

/// Time limit for operations that a busy machine does slowly.
const LIMIT: Duration = Duration::from_secs(60);

/// In one crowd. Those that stay are more than any listener keeps at a time.
const OPENED: usize = 100;
const RESET: usize = 60;
const ASKED: usize = 40;
const STRANGE: usize = 20;
const SILENT: usize = 70;
const BEGUN: usize = 200;
const DRIPPED: usize = 10;

/// Number of additional descriptors and threads that a process may hold, for those that it opens for its own affairs
/// meanwhile. Of each kind of stranger, more than this number come.
const OWN: usize = 8;

/// Additional memory in bytes that a process may hold, for what allocators keep. Buffers of TLS or HTTP left behind by
/// every stranger would take more.
const MEMORY: u64 = 8 << 20;

/// A listener, as strangers know it.
pub struct Listener {
    pub address: SocketAddr,
    /// Fingerprint of the listener, and the protocol's name in TLS; `None` where it is HTTP.
    tls: Option<(Fingerprint, &'static [u8])>,
    stranger: Identity,
}

/// Resources that a process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    descriptors: usize,
    threads: usize,
    bytes: u64,
}

impl Held {
    fn by(process: u32) -> Held {
        let count = |what: &str| std::fs::read_dir(format!("/proc/{process}/{what}")).unwrap().count();
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
        Held { descriptors: count("fd"), threads: count("task"), bytes: kilobytes << 10 }
    }

    /// Returns the resources held, as soon as they stay the same for a while.
    fn at_rest(process: u32) -> Held {
        let until = Instant::now() + LIMIT;
        let mut seen = Vec::new();
        loop {
            let held = Held::by(process);
            let same = |other: &Held| (other.descriptors, other.threads) == (held.descriptors, held.threads);
            if seen.iter().rev().take(10).filter(|other| same(other)).count() == 10 {
                return held;
            }
            assert!(Instant::now() < until, "it is never at rest: {held:?}");
            seen.push(held);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a process holds no more than this, but for what it may.
    #[track_caller]
    fn until_back(self, process: u32, memory: u64) {
        let until = Instant::now() + LIMIT;
        loop {
            let now = Held::by(process);
            let back = now.descriptors <= self.descriptors + OWN && now.threads <= self.threads + OWN;
            if back && now.bytes <= self.bytes.saturating_add(memory) {
                return;
            }
            assert!(Instant::now() < until, "it holds {now:?}, and held {self:?} before");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Listener {
    /// One that speaks TLS, for parties.
    pub fn of(address: &str, pin: &str, alpn: &'static [u8]) -> Listener {
        let now = SystemTime::now();
        let stranger = Identity::generate("stranger", now, now + VALIDITY).unwrap();
        Listener { address: address.parse().unwrap(), tls: Some((pin.trim().parse().unwrap(), alpn)), stranger }
    }

    /// One of pages.
    pub fn of_pages(address: &str) -> Listener {
        let now = SystemTime::now();
        let stranger = Identity::generate("stranger", now, now + VALIDITY).unwrap();
        Listener { address: address.parse().unwrap(), tls: None, stranger }
    }

    /// A thousand strangers come, and `admitted`, who is let in, comes before them, while they are there, and after
    /// them.
    #[track_caller]
    pub fn withstands(&self, process: u32, mut admitted: impl FnMut()) {
        admitted();
        // What is made once is made now.
        self.crowd(0.02);
        let before = Held::at_rest(process);
        let mut memory = u64::MAX;
        let mut first = before;
        for _ in 0..2 {
            let staying = self.crowd(1.0);
            admitted();
            admitted();
            drop(staying);
            Held { bytes: first.bytes, ..before }.until_back(process, memory);
            // Allocators keep what the first crowd took.
            (first, memory) = (Held::by(process), MEMORY);
        }
        admitted();
        before.until_back(process, u64::MAX);
    }

    /// Connects as many strangers as there are in a crowd, or in a part of one. Some of them stay until the returned
    /// value is dropped.
    #[track_caller]
    pub fn crowd(&self, part: f64) -> Vec<TcpStream> {
        let some = |whole: usize| 0..((whole as f64 * part).ceil() as usize);
        let mut staying = Vec::new();
        for _ in some(OPENED) {
            drop(self.come());
        }
        for _ in some(RESET) {
            let socket = self.come();
            rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).unwrap();
        }
        for _ in some(ASKED) {
            let mut socket = self.come();
            // It may have been ended already.
            let _ = socket.write_all(b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
            until_ended(&mut socket);
        }
        for _ in some(STRANGE) {
            self.show_a_certificate();
        }
        let hello = self.hello();
        staying.extend(some(SILENT).map(|_| self.come()));
        staying.extend(some(BEGUN).map(|_| {
            let mut socket = self.come();
            let _ = socket.write_all(&hello[..hello.len() / 2]);
            socket
        }));
        staying.extend(some(DRIPPED).map(|_| {
            let mut socket = self.come();
            let _ = hello.iter().take(100).try_for_each(|byte| socket.write_all(&[*byte]));
            socket
        }));
        staying
    }

    #[track_caller]
    fn come(&self) -> TcpStream {
        let socket = TcpStream::connect_timeout(&self.address, LIMIT).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        socket
    }

    fn connection(&self, identity: &Identity) -> ClientConnection {
        let (pin, alpn) = self.tls.unwrap_or((identity.fingerprint(), b"h2"));
        let dialer = Dialer::new(identity, &Peer { name: "listener".into(), pin }).unwrap();
        let mut config = ClientConfig::clone(&dialer.config);
        config.alpn_protocols = vec![alpn.to_vec()];
        ClientConnection::new(Arc::new(config), dialer.name()).unwrap()
    }

    /// The first message of a dialer.
    fn hello(&self) -> Vec<u8> {
        let (mut connection, mut bytes) = (self.connection(&self.stranger), Vec::new());
        connection.write_tls(&mut bytes).unwrap();
        if self.tls.is_some() { bytes } else { format!("GET /{} HTTP/1.1\r\n", "x".repeat(200)).into_bytes() }
    }

    /// A whole handshake, after which a party is told whether it is let in.
    fn show_a_certificate(&self) {
        assert_eq!(self.first_byte(&self.stranger, b""), None, "a stranger is let in");
    }

    /// Returns the first byte that a listener sends to a client that it admits and that says `words` first; `None` if
    /// it ends the connection.
    #[track_caller]
    pub fn first_byte(&self, identity: &Identity, words: &[u8]) -> Option<u8> {
        let (mut socket, mut connection) = (self.come(), self.connection(identity));
        let mut stream = rustls::Stream::new(&mut connection, &mut socket);
        let mut byte = [0];
        stream.write_all(words).and_then(|()| stream.flush()).ok()?;
        stream.read_exact(&mut byte).ok()?;
        Some(byte[0])
    }
}

/// Reads until the other end has said all.
#[track_caller]
fn until_ended(socket: &mut TcpStream) {
    let mut sink = [0; 4096];
    loop {
        match socket.read(&mut sink) {
            Ok(count) if count > 0 => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("a stranger is kept waiting"),
            _ => return,
        }
    }
}

/// The identity in a directory.
#[track_caller]
pub fn identity(directory: impl AsRef<Path>) -> Identity {
    Identity::load(directory.as_ref()).unwrap()
}
