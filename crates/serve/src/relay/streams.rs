//! Whole records and words on a socket.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use tacita_node::transport::relay::{HEADER_BYTES, RelayMessage, RelayRequest, record_bytes};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::rendezvous::{PendingPeer, Rendezvous};

/// Time limit for the other end to read why it was refused.
const LINGER: Duration = Duration::from_secs(1);

/// Time limit for sending a few bytes to a party that waits for them.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// Finds out who has come, and for what. The error is the end of a sentence about it; it is told.
pub(super) async fn receive(
    socket: TcpStream,
    hall: &Rendezvous,
) -> std::result::Result<(PendingPeer, RelayRequest), String> {
    let mut reception = hall.reception().map_err(|error| error.to_string())?;
    let failed = |error: Error| match error.kind() {
        ErrorKind::UnexpectedEof => "it closed the connection before it asked for anything".into(),
        ErrorKind::InvalidData => error.to_string(),
        _ => format!("the connection failed: {error}"),
    };
    loop {
        let record = record(&socket).await.map_err(failed)?;
        let taken = reception.take(&record);
        put(&socket, &reception.outgoing()).await.map_err(failed)?;
        match taken {
            Ok(None) => {}
            Ok(Some((who, request))) => return Ok((PendingPeer { socket, reception, who }, request)),
            Err(what) => {
                part(&socket).await;
                return Err(what);
            }
        }
    }
}

/// Reads one TLS record, and not a byte more.
async fn record(socket: &TcpStream) -> Result<Vec<u8>> {
    let mut record = vec![0; HEADER_BYTES];
    fill(socket, &mut record).await?;
    let length = record.first_chunk().map_or(Ok(0), |header| record_bytes(*header))?;
    record.resize(HEADER_BYTES + length, 0);
    fill(socket, &mut record[HEADER_BYTES..]).await?;
    Ok(record)
}

async fn fill(socket: &TcpStream, mut rest: &mut [u8]) -> Result<()> {
    while !rest.is_empty() {
        socket.readable().await?;
        match socket.try_read(rest) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => rest = &mut rest[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn put(socket: &TcpStream, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        socket.writable().await?;
        match socket.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl PendingPeer {
    /// Says a word; whether it could be said.
    pub(super) async fn tell(&mut self, word: RelayMessage) -> bool {
        self.reception.say(word);
        let bytes = self.reception.outgoing();
        timeout(SEND_LIMIT, put(&self.socket, &bytes)).await.is_ok_and(|sent| sent.is_ok())
    }

    /// Says a last word.
    pub(super) async fn dismiss(mut self, word: RelayMessage) {
        if self.tell(word).await {
            part(&self.socket).await;
        }
    }
}

/// Waits until the other end hangs up, so that the last word is not lost: closing a socket with unread bytes would
/// destroy it on its way.
async fn part(socket: &TcpStream) {
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
    let _ = timeout(LINGER, async { while fill(socket, &mut [0]).await.is_ok() {} }).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that follow a record stay on the socket.
    #[tokio::test]
    async fn nothing_is_read_behind_a_record() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dialer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (socket, _) = listener.accept().await.unwrap();
        put(&dialer, b"\x17\x03\x03\x00\x02abrest").await.unwrap();
        assert_eq!(record(&socket).await.unwrap(), b"\x17\x03\x03\x00\x02ab");
        let mut rest = [0; 4];
        fill(&socket, &mut rest).await.unwrap();
        assert_eq!(&rest, b"rest");
        put(&dialer, b"GET / HTTP/1.1").await.unwrap();
        assert_eq!(record(&socket).await.unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
