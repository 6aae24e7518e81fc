//! A channel over a socket, whichever kind of socket it is.

use std::io::{Read, Result, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use super::Channel;

/// Operation that shuts down a direction of a socket, such as [`std::net::TcpStream::shutdown`].
type ShutDown<S> = fn(&S, Shutdown) -> Result<()>;

/// The reading half of a socket.
struct Reading<S>(Arc<S>);

/// The writing half of a socket: its end is the end of what the peer can read.
struct Writing<S>(Arc<S>, ShutDown<S>);

impl<S> Read for Reading<S>
where
    for<'a> &'a S: Read,
{
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl<S> Write for Writing<S>
where
    for<'a> &'a S: Write,
{
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        (&*self.0).flush()
    }
}

impl<S> Drop for Writing<S> {
    fn drop(&mut self) {
        let _ = self.1(&self.0, Shutdown::Write);
    }
}

impl Channel {
    /// A channel to `peer` over a connected socket, as [`Channel::over`] makes one of its halves.
    ///
    /// Nothing is encrypted, and nobody proves who they are: what travels has to go through a tunnel that does both, or
    /// stay on one machine. `tacita-node` has TLS. For a peer that falls silent, the socket needs a time-out for
    /// reading that is longer than the peer's `heartbeat`.
    ///
    /// ```
    /// use std::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    /// use tacita_core::Channel;
    ///
    /// let channel = |peer, socket: TcpStream| {
    ///     socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    ///     std::io::Result::Ok(Channel::over_socket(peer, socket, Duration::from_secs(2), TcpStream::shutdown))
    /// };
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut to_insurer = channel("insurer", TcpStream::connect(listener.local_addr()?)?)?;
    /// let mut to_hospital = channel("hospital", listener.accept()?.0)?;
    /// # use tacita_core::protocol::intersect::ecdh::BLINDED;
    /// # to_insurer.send(BLINDED, vec![1]).unwrap();
    /// # assert_eq!(to_hospital.receive(BLINDED, 1).unwrap(), [1]);
    /// # std::thread::scope(|scope| {
    /// #     let other = scope.spawn(|| to_hospital.finish());
    /// #     assert_eq!(to_insurer.finish().unwrap().sent, other.join().unwrap().unwrap().received);
    /// # });
    /// # std::io::Result::Ok(())
    /// ```
    pub fn over_socket<S>(peer: &str, socket: S, heartbeat: Duration, shut_down: ShutDown<S>) -> Channel
    where
        S: Send + Sync + 'static,
        for<'a> &'a S: Read + Write,
    {
        let socket = Arc::new(socket);
        let (reader, writer) = (Reading(socket.clone()), Writing(socket.clone(), shut_down));
        Channel::over(peer, reader, writer, heartbeat, move || drop(shut_down(&socket, Shutdown::Both)))
    }
}
