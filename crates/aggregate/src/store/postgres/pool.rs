//! Connections to a server: so many at a time, made when they are needed and kept; what passes is tried again for a
//! while.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, NoTls, Socket};

use super::fault::Fault;
use super::place::Place;
use super::tls::Tls;
use tacita_node::base::random::fill_random;

/// Connections at a time.
const MAX_CONNECTIONS: usize = 8;

/// Time limit for waiting for a connection where all are in use.
const QUEUE: Duration = Duration::from_secs(30);

/// Time limit of the server for a statement, and of this end for the answer. The latter is longer, so that the server
/// says itself what it could not do.
const STATEMENT_SECONDS: u64 = 30;
const ANSWER: Duration = Duration::from_secs(STATEMENT_SECONDS + 15);

/// Time for which operations with a passing fault are retried, and the first and the longest pause between attempts.
const TIMEOUT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(800);

pub(super) struct Pool {
    /// Absent when it ends.
    runtime: Option<Runtime>,
    place: Place,
    idle: Mutex<Vec<Client>>,
    places: Semaphore,
    /// The server was not there when it was last asked.
    away: AtomicBool,
    /// Whether the server has ever been there.
    known: AtomicBool,
}

/// A connection that is in use.
pub(super) struct Lease<'a> {
    pub(super) client: Client,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(super) fn new(place: Place) -> Result<Pool> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("postgresql").enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(format!("no threads: {error}")))?;
        Ok(Pool {
            runtime: Some(runtime),
            place,
            idle: Mutex::default(),
            places: Semaphore::new(MAX_CONNECTIONS),
            away: AtomicBool::new(false),
            known: AtomicBool::new(false),
        })
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Does `work` with a connection, again where that may help. Whatever `work` does has to be fit to be done again
    /// after it was broken off anywhere, also when it has come to its end and nobody was told.
    pub(super) fn run<T>(&self, work: impl AsyncFn(&mut Client) -> std::result::Result<T, Fault>) -> Result<T> {
        self.run_within(Some(ANSWER), work)
    }

    /// The same, for what may take as long as it takes if there is no limit.
    pub(super) fn run_within<T>(
        &self,
        limit: Option<Duration>,
        work: impl AsyncFn(&mut Client) -> std::result::Result<T, Fault>,
    ) -> Result<T> {
        let (begun, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let done = self.block_on(async {
                let mut lease = self.lease().await?;
                let done = match limit {
                    Some(limit) => within(limit, work(&mut lease.client)).await?,
                    None => work(&mut lease.client).await?,
                };
                self.give_back(lease);
                Ok(done)
            })?;
            match done {
                Ok(done) => {
                    self.is_back();
                    return Ok(done);
                }
                Err(fault @ Fault::Lasting(_)) => return Err(self.error(&fault)),
                // When it is known that the server is away, whoever asks is told so at once.
                Err(fault @ Fault::Away(_)) if self.away.load(Ordering::Acquire) => return Err(self.error(&fault)),
                Err(fault) if begun.elapsed() + pause > TIMEOUT => {
                    if matches!(fault, Fault::Away(_)) {
                        self.is_away(&fault);
                    }
                    return Err(self.error(&fault));
                }
                Err(_) => std::thread::sleep(varied(pause)?),
            }
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }

    /// A connection for several steps, which are waited for with [`Pool::wait`].
    pub(super) async fn lease(&self) -> std::result::Result<Lease<'_>, Fault> {
        let permit = match timeout(QUEUE, self.places.acquire()).await {
            Ok(Ok(permit)) => permit,
            _ => return Err(Fault::Lasting("all connections to it are in use".into())),
        };
        let kept = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            std::iter::from_fn(|| idle.pop()).find(|client| !client.is_closed())
        };
        let client = match kept {
            Some(client) => client,
            None => self.connect().await?,
        };
        Ok(Lease { client, _permit: permit })
    }

    /// Keeps a connection on which nothing is under way.
    pub(super) fn give_back(&self, lease: Lease<'_>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(lease.client);
    }

    /// Waits for one step.
    pub(super) fn wait<T, F>(&self, step: impl Future<Output = std::result::Result<T, F>>) -> Result<T>
    where
        Fault: From<F>,
    {
        self.block_on(async { within(ANSWER, async { Ok(step.await?) }).await })?.map_err(|fault| self.error(&fault))
    }

    /// Converts a fault: [`Error::NotReady`] if it passes, [`Error::Input`] if it lasts, and [`Error::Network`] for a
    /// server that was never there.
    pub(super) fn error(&self, fault: &Fault) -> Error {
        let shown = &self.place.shown;
        match fault {
            Fault::Away(what) if !self.known.load(Ordering::Acquire) => {
                let what = format!("does not answer: {what}: start it, or correct the address, and start this again");
                Error::Network { peer: shown.clone(), what }
            }
            Fault::Away(what) => Error::NotReady(format!("{shown} does not answer: {what}")),
            Fault::Again(what) => Error::NotReady(format!("{shown}: {what}")),
            Fault::Lasting(what) => Error::Input(format!("{shown}: {what}")),
        }
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let runtime = self.runtime.as_ref().ok_or_else(|| Error::Internal("the connections have ended".into()))?;
        Ok(runtime.block_on(work))
    }

    async fn connect(&self) -> std::result::Result<Client, Fault> {
        let client = match &self.place.tls {
            Some(config) => self.connect_by(Tls(config.clone())).await?,
            None => self.connect_by(NoTls).await?,
        };
        // What is acknowledged has to be on disk, whatever the server does by default. Whose machine fails amid a
        // transaction is not waited for long.
        let session = format!(
            "SET search_path = \"{}\"; SET statement_timeout = '{STATEMENT_SECONDS}s'; SET idle_in_transaction_session_timeout = '15s'; \
             SET default_transaction_isolation = 'read committed'; SET default_transaction_deferrable = off; \
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
            self.place.schema
        );
        within(ANSWER, async { Ok(client.batch_execute(&session).await?) }).await?;
        Ok(client)
    }

    async fn connect_by<T>(&self, tls: T) -> std::result::Result<Client, Fault>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
    {
        // The time-out of a connection is over before it is let in.
        let (client, connection) = within(ANSWER, async { Ok(self.place.config.connect(tls).await?) }).await?;
        // It ends with the client, or with the server, which the client is told.
        tokio::spawn(async move { drop(connection.await) });
        Ok(client)
    }

    fn is_away(&self, fault: &Fault) {
        if self.known.load(Ordering::Acquire) && !self.away.swap(true, Ordering::AcqRel) {
            tracing::warn!(
                "{} does not answer ({}): waiting for it; until then, clients are asked to try again",
                self.place.shown,
                fault.text()
            );
        }
    }

    fn is_back(&self) {
        self.known.store(true, Ordering::Release);
        if self.away.swap(false, Ordering::AcqRel) {
            tracing::info!("{} answers again", self.place.shown);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Also where no thread may wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = std::result::Result<T, Fault>>,
) -> std::result::Result<T, Fault> {
    let silent = || Fault::Away(format!("nothing came for {} s", limit.as_secs()));
    timeout(limit, work).await.unwrap_or_else(|_| Err(silent()))
}

/// Between half of a pause and one and a half of it, so that two that are in each other's way do not stay so.
fn varied(pause: Duration) -> Result<Duration> {
    let mut random = [0];
    fill_random(&mut random)?;
    Ok(pause * (128 + u32::from(random[0])) / 256)
}
