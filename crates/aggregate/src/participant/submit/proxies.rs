//! Selection of the proxy: the one that answered last, and when it is silent or has too much to do, the next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tacita_node::base::text::shown;

use super::Submitting;
use crate::hello::meet;
use crate::transport::{ApiResponse, Client, Persistence, WaitNotice, all_silent};
use crate::wire::reply::RefusalReason;

/// Pauses when each of them has been asked in vain: the first, which doubles, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A round that is being opened at a proxy is waited for as long: if all went on at once, it would be left with those
/// of too few.
const OPENING: Duration = Duration::from_secs(3);

/// The proxies of a job, of which the first one is spoken with.
pub(super) struct Proxies {
    all: Vec<Client>,
    /// Proxies that serve the job on the same terms, and know the participant by its name.
    met: BTreeSet<String>,
}

impl Proxies {
    /// Creates a selection among all proxies, at least one, in the order in which they are tried.
    pub(super) fn new(all: Vec<Client>) -> Proxies {
        Proxies { all, met: BTreeSet::new() }
    }

    /// The one that is spoken with.
    pub(super) fn current(&self) -> &Client {
        &self.all[0]
    }

    /// Returns clients of all proxies.
    pub(super) fn all(&self) -> &[Client] {
        &self.all
    }

    /// Has one of them answer, which is spoken with from then on. The only one is waited for as long as it may be
    /// silent, and may have too much to do; of several each for a tenth of the silence, until none of them has answered
    /// for as long as they may all be silent, or the one that has too much to do has had it for as long as it may.
    ///
    /// Errors: the last one's; one that is no silence ends it.
    pub(super) fn ask(
        &mut self,
        told: &Submitting,
        mut ask: impl FnMut(&Client, Persistence) -> Result<ApiResponse>,
    ) -> Result<ApiResponse> {
        let several = self.all.len() > 1;
        let persistence = if several {
            Persistence { silence: told.timeout / 10, busy: Duration::ZERO }
        } else {
            Persistence { silence: told.timeout, busy: told.patience }
        };
        let began = Instant::now();
        let (mut heard, mut tried, mut pause) = (began, 0, FIRST_PAUSE);
        let (mut opening, mut silent, mut news) = (began, BTreeMap::new(), WaitNotice::default());
        loop {
            let done = self.meet(told, persistence).and_then(|()| ask(self.current(), persistence));
            match &done {
                Err(Error::Network { peer, what }) => drop(silent.insert(peer.clone(), what.clone())),
                _ => drop(silent.remove(self.current().name())),
            }
            let over = match &done {
                Ok(answer) if answer.come_again() => {
                    heard = Instant::now();
                    began.elapsed() >= told.patience
                }
                Err(Error::NotReady(_)) => {
                    heard = Instant::now();
                    began.elapsed() >= told.patience
                }
                // One that answers now and then is not waited for without end, either.
                Err(Error::Network { .. }) => {
                    heard.elapsed() >= told.timeout || began.elapsed() >= told.timeout.max(told.patience)
                }
                _ => true,
            };
            let all_asked = tried + 1 >= self.all.len() || !matches!(done, Err(Error::Network { .. }));
            if (over && all_asked) || !several {
                return match done {
                    Err(Error::Network { .. }) => Err(all_silent(silent)),
                    done => done,
                };
            }
            if opening.elapsed() < OPENING
                && matches!(&done, Ok(answer) if answer.told().error == RefusalReason::NotYet)
            {
                self.current().rest(FIRST_PAUSE)?;
                continue;
            }
            opening = Instant::now();
            match &done {
                Ok(answer) if news.is_due(began.elapsed()) => {
                    let more = WaitNotice::more(told.patience.saturating_sub(began.elapsed()));
                    let message = shown(&answer.told().message);
                    tracing::info!("{}: {message}; trying all again{more}", self.current().name());
                }
                Ok(answer) => tracing::debug!("{}: {}", self.current().name(), answer.told().message),
                Err(error) => tracing::info!("{error}; trying the next proxy"),
            }
            self.all.rotate_left(1);
            tried += 1;
            if tried % self.all.len() == 0 {
                let again = done.ok().and_then(|answer| answer.again).unwrap_or_default();
                self.current().rest(pause.max(again.min(LONGEST_PAUSE)))?;
                pause = LONGEST_PAUSE.min(2 * pause);
            }
        }
    }

    /// Sees to it that the current one is met.
    fn meet(&mut self, told: &Submitting, persistence: Persistence) -> Result<()> {
        let proxy = &self.all[0];
        if !self.met.contains(proxy.name()) {
            meet(proxy, &told.setting, persistence)?.check_name(&told.me, proxy.name())?;
            self.met.insert(proxy.name().to_owned());
        }
        Ok(())
    }
}
