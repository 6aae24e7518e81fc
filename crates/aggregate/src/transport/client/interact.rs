//! Requests that are answered with a channel.

use std::time::Instant;

use axum::http::{Method, Response, header};
use hyper::body::Incoming;
use tacita_core::{Channel, Error, ErrorKind, Result};

use super::{ApiResponse, Client, Link, Persistence};
use crate::transport::MEDIA_TYPE;
use crate::transport::stream::{Bounds, Outlet, join, outlet};

/// Bytes of an answer in place of a channel.
const MAX_TOLD_BYTES: usize = 1 << 16;

/// Number of times that a channel may break before the time that it took counts as silence.
const MAX_BROKEN: usize = 5;

impl Client {
    /// Sends a request as [`Client::ask`] does, to which the other end answers with a channel. `run` does everything on
    /// the channel, anew each time that it breaks. The result is its outcome, or the other end's answer instead of a
    /// channel.
    pub fn interact(
        &self,
        path: &str,
        bounds: Bounds,
        persistence: Persistence,
        mut run: impl FnMut(&mut Channel) -> Result<ApiResponse>,
    ) -> Result<ApiResponse> {
        let mut broken = 0;
        self.persist(persistence, |began| {
            let mut is_answered = false;
            let done = self.interact_once(path, bounds, &mut |channel| {
                is_answered = true;
                run(channel)
            });
            // Who has broken off has not been silent until then.
            if is_answered && broken < MAX_BROKEN && matches!(done, Err(Error::Network { .. })) {
                broken += 1;
                *began = Instant::now();
            }
            done
        })
    }

    fn interact_once(
        &self,
        path: &str,
        bounds: Bounds,
        run: &mut impl FnMut(&mut Channel) -> Result<ApiResponse>,
    ) -> Result<ApiResponse> {
        let mut channel = match self.wait_for(0, self.begin(path, bounds))? {
            Ok(channel) => channel,
            Err(answer) => return Ok(answer),
        };
        match run(&mut channel) {
            Ok(answer) => {
                // The outcome is known, whatever becomes of the connection.
                let _ = channel.conclude();
                Ok(answer)
            }
            // It was told to end, or has lost its network: it is asked again, as if it had gone without a word.
            Err(Error::Peer { kind, .. }) if kind != ErrorKind::Protocol => Err(self.silent("it broke off")),
            Err(error) => {
                channel.abort(&error);
                Err(error)
            }
        }
    }

    /// A channel over the bodies of a request; or an answer without one.
    async fn begin(&self, path: &str, bounds: Bounds) -> Result<std::result::Result<Channel, ApiResponse>> {
        let kept = match self.kept() {
            Some(link) => self.open(link, path).await.ok(),
            None => None,
        };
        let (answer, link, outlet) = match kept {
            Some(opened) => opened,
            None => self.open(self.reach().await?, path).await?,
        };
        let is_channel = answer.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == MEDIA_TYPE);
        if !is_channel || !answer.status().is_success() {
            return self.whole(answer, MAX_TOLD_BYTES, link).await.map(Err);
        }
        *self.lock() = Some(link);
        Ok(Ok(join(&self.peer.name, answer.into_body(), outlet, bounds, &self.cancel)))
    }

    async fn open(&self, link: Link, path: &str) -> Result<(Response<Incoming>, Link, Outlet)> {
        let (outlet, body) = outlet();
        let (answer, link) = self.send(link, &Method::POST, path, MEDIA_TYPE, body).await?;
        Ok((answer, link, outlet))
    }
}
