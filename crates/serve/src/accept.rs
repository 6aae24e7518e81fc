//! Common part of all listeners: the address given to them, and the accepted connections. Each connection runs on a
//! task of its own. Its handshake makes room for others when there are too many.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tacita_node::transport::handshakes::{Handshakes, is_short};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::sync::lock;

/// Pause when no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(10);

/// Listens at an address, which `--listen` has named.
///
/// Errors ([`Error::Input`]): it cannot be had.
pub fn bind(address: &str) -> Result<(std::net::TcpListener, SocketAddr)> {
    let bound = std::net::TcpListener::bind(address).and_then(|listener| {
        let here = listener.local_addr()?;
        Ok((listener, here))
    });
    bound.map_err(|error| {
        Error::Input(format!("cannot listen on {address}: {error}: give another address with --listen"))
    })
}

/// Limits on concurrent handshakes at a listener.
#[derive(Debug, Clone, Copy)]
pub struct AcceptLimits {
    /// At a time. Who comes then takes the place of the oldest one of the network that holds most.
    pub handshakes: usize,
    /// Minimum age of the oldest handshake before another one from the same network displaces it: a crowd of honest
    /// clients gets done.
    pub grace: Duration,
}

/// A handshake that goes on: it is over when this is dropped.
pub struct Handshake {
    all: Arc<Mutex<Handshakes<UnderWay>>>,
    number: u64,
}

/// Handle that ends a handshake, and the time when it began.
struct UnderWay {
    since: Instant,
    task: AbortHandle,
}

impl Drop for Handshake {
    fn drop(&mut self) {
        lock(&self.all).remove(self.number);
    }
}

/// Takes connections until `ended` is over. Each needs a place that `enter` gives, and is attended to on a task of its
/// own, which others may end as long as it holds its [`Handshake`]; `failed` is told why one could not be taken.
///
/// Errors: the listener is none.
pub async fn accept<P, A: Future<Output = ()> + Send + 'static>(
    listener: std::net::TcpListener,
    limits: AcceptLimits,
    ended: impl Future<Output = ()>,
    failed: impl Fn(&io::Error),
    enter: impl Fn() -> Option<P>,
    attend: impl Fn(P, TcpStream, SocketAddr, Handshake) -> A,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let all = Arc::new(Mutex::new(Handshakes::<UnderWay>::new(limits.handshakes)));
    let mut ended = pin!(ended);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut ended => return Ok(()),
        };
        let (socket, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                failed(&error);
                let displaced = if is_short(&error) { lock(&all).displace() } else { None };
                displaced.iter().for_each(|one| one.task.abort());
                sleep(PAUSE).await;
                continue;
            }
        };
        // Who finds no place comes again.
        let Some(place) = enter() else { continue };
        let mut under_way = lock(&all);
        let is_young = |oldest: &UnderWay| oldest.since.elapsed() < limits.grace;
        if under_way.displaced_by(from.ip()).is_some_and(|(oldest, fair)| !fair && is_young(oldest)) {
            continue;
        }
        // A task waits for the lock before it takes itself off the list.
        let (_, displaced) = under_way.add(from.ip(), |number| {
            let task = tokio::spawn(attend(place, socket, from, Handshake { all: all.clone(), number }));
            UnderWay { since: Instant::now(), task: task.abort_handle() }
        });
        drop(under_way);
        // Without the lock, which its end takes.
        displaced.iter().for_each(|one| one.task.abort());
    }
}
