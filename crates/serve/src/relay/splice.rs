//! Transport of bytes between the two of a pair, in both directions.

use std::io::ErrorKind;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

/// Bytes that are read at once; all that is held of a direction.
const BUFFER_BYTES: usize = 1 << 15;

/// After how long without a byte a party is taken for gone: parties send heartbeats every two seconds. Only time counts
/// in which there is nothing to read.
const IDLE: Duration = Duration::from_secs(30);

/// Time for which one party may go on when the other has sent its last bytes.
const LINGER: Duration = Duration::from_secs(10);

/// Way in which one direction has ended.
#[derive(PartialEq, Eq)]
enum End {
    /// Closed: the sender has sent its last bytes, and the receiver knows.
    Closed,
    /// One of the two is gone.
    Lost,
}

/// Carries until both have ended, or one is gone. Counts what the first and the second have sent in `counts`.
pub(super) async fn splice(first: TcpStream, second: TcpStream, counts: &[AtomicU64; 2]) {
    let ((first_reader, first_writer), (second_reader, second_writer)) = (first.into_split(), second.into_split());
    let mut forth = pin!(carry(first_reader, second_writer, &counts[0]));
    let mut back = pin!(carry(second_reader, first_writer, &counts[1]));
    // Of what is dropped unfinished, both sockets are closed.
    tokio::select! {
        end = &mut forth => if end == End::Closed { let _ = timeout(LINGER, back).await; },
        end = &mut back => if end == End::Closed { let _ = timeout(LINGER, forth).await; },
    }
}

/// Carries one way. Nothing is read before what was read is sent, so that a slow receiver slows its sender.
async fn carry(from: OwnedReadHalf, to: OwnedWriteHalf, count: &AtomicU64) -> End {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match timeout(IDLE, from.readable()).await {
            Ok(Ok(())) => {}
            _ => return End::Lost,
        }
        let read = match from.try_read(&mut buffer) {
            // Dropping the other end's half tells it.
            Ok(0) => return End::Closed,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(_) => return End::Lost,
        };
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            if to.writable().await.is_err() {
                return End::Lost;
            }
            match to.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return End::Lost,
            }
        }
        count.fetch_add(read as u64, Ordering::Relaxed);
    }
}
