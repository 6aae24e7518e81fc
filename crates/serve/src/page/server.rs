//! Serves pages to browsers and programs on the same machine: few connections at a time, and none that idles for long.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

/// Connections at a time. One more takes the place of the one that has been idle for longest.
const MAX_CONNECTIONS: usize = 32;

/// Time limit of a connection until the head of its next request is here.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a request that are held at a time: its head has to be shorter.
const BUFFER_BYTES: usize = 64 << 10;

/// Pause when no connection can be accepted, as when there are no more descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves `pages` until `ended` is over, and the requests under way are answered.
pub async fn serve(listener: TcpListener, pages: Router, ended: impl Future<Output = ()>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (ending, is_ending) = watch::channel(false);
    let mut connections = Connections::default();
    let mut ended = pin!(ended);
    loop {
        let socket = tokio::select! {
            accepted = listener.accept() => accepted.map(|(socket, _)| socket),
            () = &mut ended => break,
        };
        match socket {
            Ok(socket) => connections.add(socket, &pages, &is_ending),
            Err(_) => sleep(PAUSE).await,
        }
    }
    drop(listener);
    // Nobody listens where there is no connection.
    let _ = ending.send(true);
    while connections.tasks.join_next().await.is_some() {}
    Ok(())
}

/// The connections that are open.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    open: Vec<(Arc<Use>, AbortHandle)>,
}

/// Time at which a connection was last used.
struct Use(Mutex<(usize, Instant)>);

impl Connections {
    /// Serves one more, if there is a place for it.
    fn add(&mut self, socket: TcpStream, pages: &Router, is_ending: &watch::Receiver<bool>) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|(_, task)| !task.is_finished());
        if self.open.len() >= MAX_CONNECTIONS {
            let idle = self.open.iter().enumerate().filter_map(|(place, (of, _))| Some((of.idle_since()?, place)));
            // Where every one of them is answered, who comes tries again.
            let Some((_, place)) = idle.min() else { return };
            self.open.swap_remove(place).1.abort();
        }
        let of = Arc::new(Use(Mutex::new((0, Instant::now()))));
        let task = self.tasks.spawn(attend(socket, pages.clone(), of.clone(), is_ending.clone()));
        self.open.push((of, task));
    }
}

/// One connection from its first byte to its last.
async fn attend(socket: TcpStream, pages: Router, of: Arc<Use>, mut is_ending: watch::Receiver<bool>) {
    let _ = socket.set_nodelay(true);
    let pages = TowerToHyperService::new(pages);
    let answer = service_fn(move |request: Request<Incoming>| {
        let (pages, of) = (pages.clone(), of.clone());
        async move {
            of.change(|busy| busy + 1);
            let answer = pages.call(request).await;
            of.change(|busy| busy - 1);
            answer
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(BUFFER_BYTES);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(socket), answer));
    tokio::select! {
        // A connection that is cut off is the other end's affair.
        _ = serving.as_mut() => return,
        _ = is_ending.wait_for(|ending| *ending) => (),
    }
    serving.as_mut().graceful_shutdown();
    let _ = serving.await;
}

impl Use {
    fn change(&self, busy: impl FnOnce(usize) -> usize) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = (busy(state.0), Instant::now());
    }

    /// Returns the time since which nothing is asked; nothing while something is answered.
    fn idle_since(&self) -> Option<Instant> {
        let (busy, last) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (busy == 0).then_some(last)
    }
}
