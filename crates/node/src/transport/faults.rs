//! Broken links, for tests: a writer that spoils frames, and a relay that spoils bytes beneath TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use tacita_core::channel::HEADER_BYTES;

/// Fault in a stream of frames. Frames count from 0, heartbeats included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFault {
    /// Drop: this frame never arrives.
    Drop(u32),
    /// Replay: this frame arrives twice.
    Replay(u32),
    /// Reordering: this frame arrives after the one that follows it.
    Reorder(u32),
    /// Truncation: this frame ends in its middle, and the next one follows at once.
    Truncate(u32),
    /// Cut: this frame ends in its middle, and so does the connection.
    Cut(u32),
    /// One bit of byte `.1` of frame `.0` is flipped.
    Flip(u32, usize),
}

/// Hands frames on to another writer, one of them spoilt.
pub struct FaultyWriter<W> {
    /// `None` once the connection is cut.
    inner: Option<W>,
    fault: FrameFault,
    /// Bytes of the frame that is being written.
    partial: Vec<u8>,
    index: u32,
    held: Vec<u8>,
}

impl<W: Write> FaultyWriter<W> {
    /// A writer of frames into `inner`, which is dropped when the connection is cut.
    pub fn new(inner: W, fault: FrameFault) -> FaultyWriter<W> {
        FaultyWriter { inner: Some(inner), fault, partial: Vec::new(), index: 0, held: Vec::new() }
    }

    /// Passes one whole frame on.
    fn pass(&mut self, mut frame: Vec<u8>) -> io::Result<()> {
        let Some(inner) = &mut self.inner else { return Err(ErrorKind::BrokenPipe.into()) };
        let index = self.index;
        self.index += 1;
        let held = std::mem::take(&mut self.held);
        match self.fault {
            FrameFault::Drop(at) if at == index => {}
            FrameFault::Replay(at) if at == index => inner.write_all(&[&frame[..], &frame[..]].concat())?,
            FrameFault::Reorder(at) if at == index => self.held = frame,
            FrameFault::Truncate(at) if at == index => inner.write_all(&frame[..frame.len() / 2])?,
            FrameFault::Cut(at) if at == index => {
                inner.write_all(&frame[..frame.len() / 2])?;
                self.inner = None;
                return Err(ErrorKind::BrokenPipe.into());
            }
            FrameFault::Flip(at, byte) if at == index => {
                if let Some(byte) = frame.get_mut(byte) {
                    *byte ^= 1;
                }
                inner.write_all(&frame)?;
            }
            _ => inner.write_all(&frame)?,
        }
        match &mut self.inner {
            Some(inner) => inner.write_all(&held),
            None => Ok(()),
        }
    }
}

impl<W: Write> Write for FaultyWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial.extend_from_slice(bytes);
        while let Some(header) = self.partial.first_chunk::<HEADER_BYTES>() {
            let [l0, l1, l2, l3, ..] = *header;
            let length = HEADER_BYTES + u32::from_le_bytes([l0, l1, l2, l3]) as usize;
            if self.partial.len() < length {
                break;
            }
            let rest = self.partial.split_off(length);
            let frame = std::mem::replace(&mut self.partial, rest);
            self.pass(frame)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Fault in a stream of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteFault {
    /// No fault at all.
    None,
    /// Cut: both directions end after this many bytes of this one.
    Cut(u64),
    /// Stall: from this byte on nothing arrives, and the connection stays open.
    Stall(u64),
    /// One bit of this byte is flipped.
    Flip(u64),
}

/// A relay in front of `target` that serves one connection after another, from the dialer with the fault `forth` and
/// back with `back`. It lives on threads of its own until the process ends. Returns where to dial it.
pub fn relay(target: SocketAddr, forth: ByteFault, back: ByteFault) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        while let Ok((dialer, _)) = listener.accept() {
            let Ok(listener) = TcpStream::connect(target) else { continue };
            for (from, to, fault) in [(&dialer, &listener, forth), (&listener, &dialer, back)] {
                let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
                std::thread::spawn(move || carry(from, to, fault));
            }
        }
    });
    Ok(address)
}

/// Carries bytes one way until either end is done or the fault cuts the connection.
fn carry(mut from: TcpStream, mut to: TcpStream, fault: ByteFault) {
    let mut buffer = vec![0; 1 << 16];
    let mut done = 0u64;
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut kept = count;
        let within = |at: u64| at.checked_sub(done).map(|at| at as usize).filter(|at| *at < count);
        match fault {
            ByteFault::None => {}
            ByteFault::Cut(at) | ByteFault::Stall(at) => kept = within(at).unwrap_or(if done < at { count } else { 0 }),
            ByteFault::Flip(at) => {
                if let Some(at) = within(at) {
                    buffer[at] ^= 1;
                }
            }
        }
        done += count as u64;
        if to.write_all(&buffer[..kept]).is_err() {
            break;
        }
        if kept < count && matches!(fault, ByteFault::Cut(_)) {
            let _ = from.shutdown(Shutdown::Both);
            break;
        }
    }
    let _ = to.shutdown(if matches!(fault, ByteFault::Cut(_)) { Shutdown::Both } else { Shutdown::Write });
}
