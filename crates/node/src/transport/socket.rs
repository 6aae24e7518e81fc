//! Settings of the sockets under a channel.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// Prepares a new connection: blocking, small messages sent at once, and probed by the system while nothing travels.
///
/// There is no `TCP_USER_TIMEOUT`: on Linux it also ends connections whose healthy peer announces a full window for
/// that long, which is what a party in a long computation does. The silence limit of the reader does its work.
pub(super) fn prepare(socket: &TcpStream) -> io::Result<()> {
    const IDLE: Duration = Duration::from_secs(5);
    const INTERVAL: Duration = Duration::from_secs(2);
    const PROBES: u32 = 3;
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(IDLE).with_interval(INTERVAL).with_retries(PROBES);
    SockRef::from(socket).set_tcp_keepalive(&keepalive)
}
