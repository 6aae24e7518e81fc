//! One TLS connection, used by a reading and a writing thread at once.
//!
//! rustls' connection stands behind a lock that is only held for cryptography: the socket is read and written outside
//! of it, so a blocked writer never keeps the reader from reading. Ciphertext leaves in the order in which it was
//! made because the [`TlsWriter`] alone writes to the socket; what rustls itself wants to send (an alert, a new key)
//! leaves with the next write or flush.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard};

use rustls::Connection;

/// Bytes that are read from the socket at once.
const RAW_BYTES: usize = 1 << 17;

/// Bytes that are encrypted or decrypted while the lock is held once: four full TLS records.
const LOCKED_BYTES: usize = 1 << 16;

/// Two halves of `connection`, whose handshake is done: one reads from `socket`, the other writes to `writer`.
pub(super) fn split(
    mut connection: Connection,
    socket: TcpStream,
    writer: Box<dyn Write + Send>,
) -> (TlsReader, TlsWriter) {
    // What is encrypted is taken out of rustls at once, so its own limit only gets in the way.
    connection.set_buffer_limit(None);
    let shared = Arc::new(Mutex::new(connection));
    let reader = TlsReader { connection: shared.clone(), socket, raw: vec![0; RAW_BYTES], start: 0, end: 0 };
    (reader, TlsWriter { connection: shared, socket: writer, ciphertext: Vec::with_capacity(LOCKED_BYTES + 4096) })
}

/// The reading half. Reports [`ErrorKind::TimedOut`] after the socket's read time-out, [`ErrorKind::InvalidData`] for
/// what does not decrypt, and the end of the stream with or without TLS' own goodbye: the frames above it have theirs.
pub(super) struct TlsReader {
    connection: Arc<Mutex<Connection>>,
    socket: TcpStream,
    /// Ciphertext; what lies between `start` and `end` has not been decrypted yet.
    raw: Vec<u8>,
    start: usize,
    end: usize,
}

impl Read for TlsReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            match self.decrypt(out) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return result,
            }
            // Nothing is left; and nothing may be taken for new if the read fails or is interrupted.
            (self.start, self.end) = (0, 0);
            self.end = match self.socket.read(&mut self.raw) {
                Ok(0) => return Ok(0),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
                Err(error) => return Err(error),
            };
        }
    }
}

impl TlsReader {
    /// Decrypts from `raw` into `out`. `WouldBlock` if `raw` is used up before any plaintext came of it.
    fn decrypt(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut connection = lock(&self.connection);
        let limit = out.len().min(LOCKED_BYTES);
        let mut filled = 0;
        loop {
            match connection.reader().read(&mut out[filled..limit]) {
                Ok(0) => return Ok(filled),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if filled == limit {
                return Ok(filled);
            }
            if self.start == self.end {
                return if filled > 0 { Ok(filled) } else { Err(ErrorKind::WouldBlock.into()) };
            }
            self.start += connection.read_tls(&mut &self.raw[self.start..self.end])?;
            connection.process_new_packets().map_err(|error| match error {
                rustls::Error::AlertReceived(alert) => {
                    io::Error::other(format!("the other end's TLS gave up with {alert:?}"))
                }
                error => io::Error::new(ErrorKind::InvalidData, error),
            })?;
        }
    }
}

/// The writing half. Says goodbye (close_notify) when it is dropped.
pub(super) struct TlsWriter {
    connection: Arc<Mutex<Connection>>,
    socket: Box<dyn Write + Send>,
    ciphertext: Vec<u8>,
}

impl Write for TlsWriter {
    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        let part = &plaintext[..plaintext.len().min(LOCKED_BYTES)];
        self.encrypt(|connection| connection.writer().write_all(part))?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encrypt(|_| Ok(()))?;
        self.socket.flush()
    }
}

impl TlsWriter {
    /// Runs `act` on the connection and sends the ciphertext that it made.
    fn encrypt(&mut self, act: impl FnOnce(&mut Connection) -> io::Result<()>) -> io::Result<()> {
        self.ciphertext.clear();
        {
            let mut connection = lock(&self.connection);
            act(&mut connection)?;
            while connection.wants_write() {
                connection.write_tls(&mut self.ciphertext)?;
            }
        }
        self.socket.write_all(&self.ciphertext)
    }
}

impl Drop for TlsWriter {
    fn drop(&mut self) {
        // The peer may be gone already, and nothing depends on this.
        let _ = self.encrypt(|connection| {
            connection.send_close_notify();
            Ok(())
        });
        let _ = self.socket.flush();
    }
}

/// A thread that panicked with the lock held was inside rustls; the connection then fails its own checks.
fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
