//! The relay's end of a party's connection until the pair is joined: bytes in, bytes out, no socket.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustls::Connection;
use tacita_core::Result;

use super::{REQUEST_BYTES, RelayMessage, RelayRequest};
use crate::identity::{Fingerprint, Identity};
use crate::transport::socket;
use crate::transport::tls::{self, Fault, Refusal, fault};

/// One that has come to a relay.
pub struct Reception {
    connection: Connection,
    refusal: Refusal,
    asked: Vec<u8>,
}

impl Reception {
    /// Creates the reception of a connection whose other end has to be the owner of one of `pins`.
    ///
    /// Errors: a bug.
    pub fn new(identity: &Identity, pins: Vec<Fingerprint>) -> Result<Reception> {
        let (connection, refusal) = tls::host(identity, pins)?;
        Ok(Reception { connection, refusal, asked: Vec::new() })
    }

    /// Takes one TLS record. Returns who it is and what it asks for, once that is known.
    ///
    /// Errors: it is nobody who is let in, or says what makes no sense; the end of a sentence about it. What is
    /// [`Reception::outgoing`] then tells it.
    pub fn take(&mut self, mut record: &[u8]) -> std::result::Result<Option<(Fingerprint, RelayRequest)>, String> {
        while !record.is_empty() {
            match self.connection.read_tls(&mut record) {
                Ok(1..) => {}
                _ => return Err("it sends too much".into()),
            }
            self.connection.process_new_packets().map_err(|error| match fault(&error, &self.refusal) {
                Fault::TheirIdentity(what) | Fault::Unknown(what) => what,
                Fault::OurIdentity(what) => format!("it refused {what}"),
            })?;
        }
        if self.connection.is_handshaking() {
            return Ok(None);
        }
        if self.connection.alpn_protocol().is_none() {
            return Err("it does not ask for a relay".into());
        }
        let mut rest = [0; REQUEST_BYTES + 1];
        let room = rest.len() - self.asked.len().min(REQUEST_BYTES);
        // Nothing to read is an error, too.
        let count = self.connection.reader().read(&mut rest[..room]).unwrap_or(0);
        self.asked.extend_from_slice(&rest[..count]);
        if self.asked.len() < REQUEST_BYTES {
            return Ok(None);
        }
        let request = self.asked.as_slice().try_into().ok().and_then(|bytes| RelayRequest::read(&bytes));
        let request = request.ok_or("its request is unknown to this version")?;
        let who = tls::presented(&self.connection).ok_or("it shows no certificate")?;
        Ok(Some((who, request)))
    }

    /// Says a word, which [`Reception::outgoing`] then has.
    pub fn say(&mut self, word: RelayMessage) {
        // It only fails at the limit of a buffer that is taken out after each word.
        let _ = self.connection.writer().write_all(&[word as u8]);
    }

    /// The bytes that are to be sent.
    pub fn outgoing(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.connection.wants_write() && self.connection.write_tls(&mut bytes).is_ok() {}
        bytes
    }
}

/// Prepares a relay's socket, as a party's, to be used without blocking.
///
/// Errors: those of the socket.
pub fn prepare(socket: &TcpStream) -> std::io::Result<()> {
    socket::prepare(socket)?;
    socket.set_nonblocking(true)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::transport::relay::{HEADER_BYTES, RelayWish, record_bytes};

    fn identity(name: &str) -> Identity {
        let now = SystemTime::now();
        Identity::generate(name, now, now + Duration::from_secs(3600)).unwrap()
    }

    /// Carries records until nobody has any more to say; what the relay makes of them.
    fn carry(
        guest: &mut Connection,
        host: &mut Reception,
    ) -> std::result::Result<Option<(Fingerprint, RelayRequest)>, String> {
        loop {
            let mut bytes = Vec::new();
            while guest.wants_write() {
                guest.write_tls(&mut bytes).unwrap();
            }
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let length = HEADER_BYTES + record_bytes(rest[..HEADER_BYTES].try_into().unwrap()).unwrap();
                if let Some(asked) = host.take(&rest[..length])? {
                    return Ok(Some(asked));
                }
                rest = &rest[length..];
            }
            let answer = host.outgoing();
            if answer.is_empty() && bytes.is_empty() {
                return Ok(None);
            }
            let mut answer = answer.as_slice();
            while !answer.is_empty() {
                guest.read_tls(&mut answer).unwrap();
                guest.process_new_packets().map_err(|error| error.to_string())?;
            }
        }
    }

    #[test]
    fn one_of_the_parties_is_let_in_and_asks() {
        let (relay, party, other) = (identity("relay"), identity("party"), identity("other"));
        let request = RelayRequest { agreement: [9; 32], wish: RelayWish::Meet { peer: other.fingerprint(), lane: 3 } };
        for extra in [false, true] {
            let mut host = Reception::new(&relay, vec![other.fingerprint(), party.fingerprint()]).unwrap();
            let (mut guest, _) = tls::guest(&party, relay.fingerprint()).unwrap();
            assert_eq!(carry(&mut guest, &mut host), Ok(None));
            let asked = request.write();
            let more: &[u8] = if extra { b"!" } else { b"" };
            guest.writer().write_all(&[&asked[..], more].concat()).unwrap();
            if extra {
                assert!(carry(&mut guest, &mut host).unwrap_err().contains("unknown to this version"));
                continue;
            }
            assert_eq!(carry(&mut guest, &mut host), Ok(Some((party.fingerprint(), request))));
            host.say(RelayMessage::Joined);
            let said = host.outgoing();
            guest.read_tls(&mut said.as_slice()).unwrap();
            guest.process_new_packets().unwrap();
            let mut word = [0; 2];
            assert_eq!(guest.reader().read(&mut word).unwrap(), 1);
            assert_eq!(RelayMessage::read(word[0]), Some(RelayMessage::Joined));
        }
    }

    #[test]
    fn strangers_and_other_protocols_are_not() {
        let (relay, party, other) = (identity("relay"), identity("party"), identity("other"));
        let mut host = Reception::new(&relay, vec![other.fingerprint()]).unwrap();
        let (mut guest, _) = tls::guest(&party, relay.fingerprint()).unwrap();
        assert!(carry(&mut guest, &mut host).unwrap_err().contains("it presents"));
        let mut host = Reception::new(&relay, vec![party.fingerprint()]).unwrap();
        let (mut guest, _) = tls::client(&party, relay.fingerprint(), tls::Purpose::Run).unwrap();
        assert!(carry(&mut guest, &mut host).is_err());
        let mut host = Reception::new(&relay, vec![party.fingerprint()]).unwrap();
        assert!(host.take(b"\x17\x03\x03\x00\x03abc").is_err());
    }
}
