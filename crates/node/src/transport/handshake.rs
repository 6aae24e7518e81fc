//! The TLS handshake on a blocking socket: bounded in time, and abortable.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rustls::Connection;
use tacita_core::Error;

use super::tls::{Fault, Purpose, Refusal, fault};
use super::{ConnectCancel, HELLO_LIMIT, POLL};

/// Time limit for the other end to read why it was refused.
const LINGER: Duration = Duration::from_secs(1);

/// Reason why there is no connection.
pub(super) enum Failure {
    /// The other end, or the network, is at fault.
    Fault(Fault),
    /// The other end is the peer, but serves another purpose.
    Elsewhere(Purpose),
    /// Fatal error, which no other attempt can help.
    Fatal(Error),
}

/// One TLS connection while its handshake runs.
pub(super) struct Handshake<'a> {
    pub(super) connection: Connection,
    pub(super) refusal: Refusal,
    pub(super) socket: &'a TcpStream,
    pub(super) writer: &'a mut dyn Write,
    pub(super) until: Instant,
    pub(super) cancel: &'a ConnectCancel,
}

impl Handshake<'_> {
    /// Waits for the dialer's first message. Every dialer can send it at once, before it proves anything: a stranger
    /// that says nothing has less time than a handshake.
    pub(super) fn await_hello(&mut self) -> Result<(), Failure> {
        self.poll()?;
        let until = self.until.min(Instant::now() + HELLO_LIMIT);
        let whole = std::mem::replace(&mut self.until, until);
        while self.connection.negotiated_cipher_suite().is_none() {
            self.receive()?;
        }
        self.until = whole;
        Ok(())
    }

    /// Runs the handshake to its end. The connection is then authenticated as far as this side can tell.
    pub(super) fn run(&mut self) -> Result<(), Failure> {
        self.poll()?;
        self.send()?;
        while self.connection.is_handshaking() {
            self.receive()?;
        }
        if self.connection.alpn_protocol().is_none() {
            return Err(unknown("the other end is not a Tacita party"));
        }
        Ok(())
    }

    /// Sends one byte of application data, which says what this end is there for.
    pub(super) fn greet(&mut self, purpose: Purpose) -> Result<(), Failure> {
        let written = self.connection.writer().write_all(&[purpose.greeting()]);
        written.map_err(|e| unknown(format!("no greeting: {e}")))?;
        self.send()
    }

    /// Waits for one byte of application data, which must say that the other end is there for the same.
    pub(super) fn await_greeting(&mut self, purpose: Purpose) -> Result<(), Failure> {
        let mut byte = [0];
        loop {
            match self.connection.reader().read(&mut byte) {
                Ok(1) => {
                    return match Purpose::greets(byte[0]) {
                        Some(other) if other == purpose => Ok(()),
                        Some(other) => Err(Failure::Elsewhere(other)),
                        None => Err(unknown(format!("it greets with {}; is its version the same?", byte[0]))),
                    };
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.receive()?,
                Ok(_) | Err(_) => return Err(unknown("it closed the connection before it greeted")),
            }
        }
    }

    /// Makes reads return often enough to see that the wait is over.
    fn poll(&self) -> Result<(), Failure> {
        self.socket.set_read_timeout(Some(POLL)).map_err(|e| unknown(format!("the socket failed: {e}")))
    }

    fn receive(&mut self) -> Result<(), Failure> {
        self.cancel.check().map_err(Failure::Fatal)?;
        if Instant::now() >= self.until {
            return Err(unknown("it did not complete the TLS handshake"));
        }
        match self.connection.read_tls(&mut &*self.socket) {
            Ok(0) => return Err(unknown("it closed the connection during the TLS handshake")),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                return Ok(());
            }
            Err(e) => return Err(unknown(format!("the connection failed during the TLS handshake: {e}"))),
        }
        match self.connection.process_new_packets() {
            Ok(_) => self.send(),
            Err(error) => {
                let fault = match fault(&error, &self.refusal) {
                    // Only a party of ours speaks our protocol; a scanner's opinion of our certificate means nothing.
                    Fault::OurIdentity(_) if self.connection.alpn_protocol().is_none() => {
                        Fault::Unknown("the other end is not a Tacita party".into())
                    }
                    fault => fault,
                };
                self.say_goodbye();
                Err(Failure::Fault(fault))
            }
        }
    }

    /// Sends what rustls has to say.
    fn send(&mut self) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut bytes).map_err(|e| unknown(e.to_string()))?;
        }
        let sent = self.writer.write_all(&bytes).and_then(|()| self.writer.flush());
        sent.map_err(|e| unknown(format!("the connection failed during the TLS handshake: {e}")))
    }

    /// Sends the alert, and reads on until the other end has it: closing a socket with unread bytes would destroy it
    /// on its way.
    fn say_goodbye(&mut self) {
        let until = Instant::now() + LINGER;
        // All of this is a courtesy to an end that has failed already.
        let _ = self.send();
        let _ = self.socket.shutdown(Shutdown::Write);
        let mut sink = [0; 4096];
        while Instant::now() < until && self.cancel.check().is_ok() {
            match (&mut &*self.socket).read(&mut sink) {
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Ok(count) if count > 0 => {}
                _ => return,
            }
        }
    }
}

fn unknown(what: impl Into<String>) -> Failure {
    Failure::Fault(Fault::Unknown(what.into()))
}
