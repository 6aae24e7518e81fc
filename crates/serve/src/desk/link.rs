//! The connection with the authority: one thread keeps it, and the copy of the table, and asks what the others want to
//! know.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel as queue, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::live::{
    ASK, Facts, LIST, ListAnswer, ListQuery, ListQuestion, ListRequest, MAX_ELEMENTS, REPLY, Replica, TABLE,
};
use tacita_core::{Error, Result};
use tacita_node::agreement::handshake::{confirm, greet};
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::{count, counted};
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live::{Live, QueryRow};
use tacita_node::transport::key_exchange::NegotiatedGroup;
use tacita_node::transport::{ConnectCancel, OUR_IDENTITY, Options, Peer, Purpose, dial};

use crate::clock;
use crate::live::{HEARTBEAT, SILENCE, TABLE_CHUNK};

/// Interval at which a desk without questions checks for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Time limit for one attempt to connect while somebody waits for an answer.
const ATTEMPT: Duration = Duration::from_millis(1500);

/// Answers in a row that bring no answer, before the authority is said to misbehave.
const ATTEMPTS: usize = 64;

/// The authority, and who asks it.
pub struct Asking {
    /// Job with the live list.
    pub live: Live,
    /// Identity of this party.
    pub identity: Identity,
    /// Handle that cancels the desk.
    pub cancel: ConnectCancel,
}

/// Answer for one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowMatches {
    /// For each key, whether it is on the list.
    pub by: Vec<bool>,
    /// List that gave the answer: the first bytes of the epoch's name, in hexadecimal.
    pub epoch: String,
    /// Number of changes that the list has been through in the epoch.
    pub version: u64,
}

impl RowMatches {
    /// Whether the row is on the list, by whichever key.
    pub fn is_listed(&self) -> bool {
        self.by.contains(&true)
    }
}

/// Status of the connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkStatus {
    /// Whether the authority answered when it was last asked.
    pub connected: bool,
    /// Reason why the authority did not answer.
    pub problem: String,
    /// Current list, named as in [`RowMatches`].
    pub epoch: String,
    /// Changes of the list in its epoch.
    pub version: u64,
    /// Until when the key lasts at most, in seconds since 1970.
    pub ends: u64,
    /// Number of keys that may still be asked for.
    pub left: u64,
    /// Number of times that the whole table was fetched since this desk began.
    pub fetched: u64,
    /// Time at which the authority last answered, in seconds since 1970.
    pub heard: u64,
}

impl LinkStatus {
    /// Describes the status in a sentence or two: for the page and the log.
    pub fn sentence(&self, authority: &str) -> String {
        if !self.connected {
            let why = if self.problem.is_empty() { "the connection is being made" } else { &self.problem };
            let end = if why.ends_with(['.', '?']) { "" } else { "." };
            return format!("Not connected: nothing can be checked now. {why}{end} The desk keeps trying.");
        }
        let left = match self.left {
            u64::MAX => String::new(),
            left => format!(" {} more keys may be asked today.", count(left)),
        };
        let changes = counted(self.version, "change");
        format!("Connected to {authority}. List {}, {changes} since its key began.{left}", self.epoch)
    }
}

/// Rows that somebody wants to know about, and where the answer goes.
struct Errand {
    rows: Vec<QueryRow>,
    until: Instant,
    reply: SyncSender<Result<Vec<RowMatches>>>,
}

/// A connection that stands. Clones are the same one.
#[derive(Clone)]
pub struct DeskLink {
    errands: Sender<Errand>,
    standing: Arc<Mutex<LinkStatus>>,
    keys: usize,
}

impl DeskLink {
    /// Connects, now and whenever the connection is lost.
    pub fn start(asking: Asking) -> DeskLink {
        let (errands, waiting) = queue();
        let standing: Arc<Mutex<LinkStatus>> = Arc::default();
        let keys = asking.live.keys();
        let mut caller = Caller { asking, standing: standing.clone(), line: None, replica: None };
        std::thread::spawn(move || caller.run(&waiting));
        DeskLink { errands, standing, keys }
    }

    /// Returns the status of the connection.
    pub fn standing(&self) -> LinkStatus {
        lock(&self.standing).clone()
    }

    /// The most rows that can be asked for at once.
    pub fn most_rows(&self) -> usize {
        MAX_ELEMENTS / self.keys.max(1)
    }

    /// For how many rows the quota has room, as the authority said last.
    pub fn rows_left(&self) -> usize {
        usize::try_from(self.standing().left / self.keys.max(1) as u64).unwrap_or(usize::MAX)
    }

    /// The quota has no room for a row.
    pub(crate) fn spent(&self) -> Error {
        spent(self.standing().left, self.keys as u64)
    }

    /// Asks for rows, and waits for the answer, for no longer than `patience`.
    ///
    /// Errors: what keeps the authority from answering. It may have charged the question.
    pub fn ask(&self, rows: Vec<QueryRow>, patience: Duration) -> Result<Vec<RowMatches>> {
        let (reply, answer) = sync_channel(1);
        let late = || Error::NotReady("the authority did not answer in time".into());
        let errand = Errand { rows, until: Instant::now() + patience, reply };
        self.errands.send(errand).map_err(|_| Error::Interrupted)?;
        answer.recv_timeout(patience).map_err(|_| late())?
    }
}

/// The thread that keeps the connection.
struct Caller {
    asking: Asking,
    standing: Arc<Mutex<LinkStatus>>,
    line: Option<Channel>,
    replica: Option<Copied>,
}

/// The copy of the table of an epoch.
struct Copied {
    replica: Replica,
    item_keys: Vec<[u8; 32]>,
    name: String,
}

impl Caller {
    fn run(&mut self, waiting: &Receiver<Errand>) {
        while !self.asking.cancel.is_cancelled() {
            match waiting.recv_timeout(if self.line.is_some() { POLL_INTERVAL } else { POLL_INTERVAL / 2 }) {
                Ok(errand) if Instant::now() < errand.until => {
                    let found = self.attempt(&errand.rows, errand.until);
                    // Whoever asked may be gone.
                    let _ = errand.reply.send(found);
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => drop(self.attempt(&[], Instant::now() + SILENCE)),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(line) = self.line.take() {
            line.abort(&Error::Interrupted);
        }
    }

    /// Asks, and notes how it stands then. A connection that was lost meanwhile is made again, once.
    fn attempt(&mut self, rows: &[QueryRow], until: Instant) -> Result<Vec<RowMatches>> {
        let mut asked = None;
        let was_connected = self.line.is_some();
        let mut found = self.ask(rows, &mut asked);
        if was_connected && matches!(found, Err(Error::Network { .. } | Error::Peer { .. })) && Instant::now() < until {
            found = self.ask(rows, &mut asked);
        }
        let mut standing = lock(&self.standing);
        let before = (standing.connected, standing.problem.clone());
        match &found {
            Ok(_) => (standing.connected, standing.problem, standing.heard) = (true, String::new(), clock::now()),
            // The authority is there, and says no.
            Err(Error::NotReady(_)) => (standing.connected, standing.heard) = (true, clock::now()),
            Err(error) => (standing.connected, standing.problem) = (false, error.to_string()),
        }
        if before != (standing.connected, standing.problem.clone()) {
            let sentence = standing.sentence(&self.asking.live.authority);
            if standing.connected { tracing::info!("{sentence}") } else { tracing::warn!("{sentence}") }
        }
        found
    }

    fn ask(&mut self, rows: &[QueryRow], asked: &mut Option<(String, ListQuestion)>) -> Result<Vec<RowMatches>> {
        let mut line = match self.line.take() {
            Some(line) => line,
            None => connect(&self.asking)?.0,
        };
        match self.ask_over(&mut line, rows, asked) {
            Ok(found) => {
                self.line = Some(line);
                Ok(found)
            }
            Err(error @ Error::NotReady(_)) => {
                self.line = Some(line);
                Err(error)
            }
            Err(error) => {
                line.abort(&error);
                Err(error)
            }
        }
    }

    /// Asks until there is an answer to the list as it is. The question stays the same as long as the epoch does: it is
    /// charged once.
    fn ask_over(
        &mut self,
        line: &mut Channel,
        rows: &[QueryRow],
        asked: &mut Option<(String, ListQuestion)>,
    ) -> Result<Vec<RowMatches>> {
        let params = self.asking.live.params;
        let mut rng = fresh_rng()?;
        for _ in 0..ATTEMPTS {
            if self.replica.is_none() {
                self.fetch(line)?;
            }
            let copied =
                self.replica.as_mut().ok_or_else(|| Error::Internal("a table that was fetched is gone".into()))?;
            if asked.as_ref().is_none_or(|(epoch, _)| *epoch != copied.name) {
                *asked = question(rows, copied, &params, &mut rng)?.map(|question| (copied.name.clone(), question));
            }
            let question = asked.as_ref().map(|(_, question)| question);
            let (blinded, elements) = question.map_or((Vec::new(), 0), |one| (one.blinded().to_vec(), one.elements()));
            let ask = ListRequest::Ask(ListQuery { state: *copied.replica.state(), blinded });
            line.send(ASK, ask.encode())?;
            let bytes = line.receive_up_to(REPLY, ListAnswer::most_bytes(&params, elements))?;
            let wrong = |what: &str| line.violation(format!("`{}` {what}", REPLY.name));
            match ListAnswer::decode(&bytes, &params, elements).map_err(wrong)? {
                ListAnswer::Stale => self.replica = None,
                ListAnswer::Spent { left } => {
                    lock(&self.standing).left = left;
                    return Err(spent(left, elements as u64));
                }
                ListAnswer::Answered { left, behind, changes, evaluated } => {
                    copied.replica.apply(&changes).map_err(wrong)?;
                    let version = copied.replica.state().version;
                    {
                        let mut standing = lock(&self.standing);
                        (standing.left, standing.version) = (left, version);
                    }
                    if behind > 0 {
                        continue;
                    }
                    let Some(question) = question else { return Ok(Vec::new()) };
                    let listed =
                        copied.replica.answers(question, &evaluated).map_err(|error| wrong(&error.to_string()))?;
                    let found = |by: &[bool]| RowMatches { by: by.to_vec(), epoch: copied.name.clone(), version };
                    return Ok(listed.chunks(self.asking.live.keys()).map(found).collect());
                }
            }
        }
        Err(line.violation("its list changes without end"))
    }

    /// Fetches the whole table.
    fn fetch(&mut self, line: &mut Channel) -> Result<()> {
        let live = &self.asking.live;
        line.send(ASK, ListRequest::Fetch.encode())?;
        let facts = line.receive(LIST, Facts::BYTES)?;
        let facts =
            Facts::decode(&facts, &live.params).map_err(|wrong| line.violation(format!("`{}` {wrong}", LIST.name)))?;
        if live.epoch(&facts.id) != facts.state.epoch {
            return Err(line.violation(format!("`{}` has an epoch that is not of these terms", LIST.name)));
        }
        let (length, mut table) = (facts.table_bytes(&live.params), Vec::new());
        while table.len() < length {
            table.extend(line.receive(TABLE, TABLE_CHUNK.min(length - table.len()))?);
        }
        let replica = Replica::new(&facts, live.params, &table);
        let replica = replica.map_err(|wrong| line.violation(format!("`{}` {wrong}", TABLE.name)))?;
        let name: String = facts.id[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut standing = lock(&self.standing);
        (standing.epoch, standing.version) = (name.clone(), facts.state.version);
        (standing.ends, standing.fetched) = (clock::now().saturating_add(facts.lasts), standing.fetched + 1);
        self.replica = Some(Copied { replica, item_keys: live.item_keys(&facts.state.epoch), name });
        Ok(())
    }
}

/// Connects with the authority, and compares versions and terms with it. Returns the group from which the connection
/// has its keys, too.
///
/// Errors: it does not answer; it is somebody else; it does not let this desk in; its terms are others.
pub fn connect(asking: &Asking) -> Result<(Channel, NegotiatedGroup)> {
    let Asking { live, identity, cancel } = asking;
    let authority = live.job.party(&live.authority)?;
    let missing =
        |what: &str| Error::Input(format!("parties.{}.{what} is missing: a desk must know it", live.authority));
    let address = authority.address.as_ref().ok_or_else(|| missing("address"))?;
    let pin = authority.identity.ok_or_else(|| missing("identity"))?;
    let options = Options {
        purpose: Purpose::Desk,
        timeout: ATTEMPT,
        cancel: cancel.clone(),
        heartbeat: HEARTBEAT,
        silence: SILENCE,
        ..Options::default()
    };
    let peer = Peer { name: live.authority.clone(), pin };
    let mut connected = dial(address, &peer, identity, &options).map_err(|error| not_listed(error, asking))?;
    let channel = &mut connected.channel;
    channel.set_patience(SILENCE * 2);
    let agreed = greet(&live.job, &live.desk, &connected.exporter, channel, &mut fresh_rng()?).and_then(|greeted| {
        greeted.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        confirm(&greeted.bound_to(&[]), &live.job, &live.desk, channel)
    });
    match agreed {
        Ok(()) => Ok((connected.channel, connected.group)),
        Err(error) => {
            connected.channel.abort(&error);
            Err(error)
        }
    }
}

/// An authority lets in those who are on its list of desks: whom it refuses is not.
fn not_listed(error: Error, asking: &Asking) -> Error {
    match error {
        Error::Authentication { what, .. } if what.contains(&format!("refused {OUR_IDENTITY}")) => {
            Error::Input(format!(
                "this desk is not on the authority's list: ask {} to put its identity, {}, on a line of its list of desks ([clients] allow)",
                asking.live.authority,
                asking.identity.fingerprint()
            ))
        }
        other => other,
    }
}

/// The question for some rows in an epoch; none for no rows.
fn question(
    rows: &[QueryRow],
    copied: &Copied,
    params: &tacita_core::protocol::intersect::live::Params,
    rng: &mut ChaCha20Rng,
) -> Result<Option<ListQuestion>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let items = rows.iter().flat_map(|row| row.items(&copied.item_keys, rng)).collect();
    ListQuestion::new(items, params, rng).map(Some)
}

/// A quota has room for fewer keys than a question takes.
fn spent(left: u64, needed: u64) -> Error {
    Error::NotReady(format!(
        "the quota is used up: {} needed, and {} left",
        match needed {
            1 => "1 key is".into(),
            several => format!("{} keys are", count(several)),
        },
        match left {
            1 => "1 is".into(),
            several => format!("{} are", count(several)),
        }
    ))
}

fn lock(standing: &Mutex<LinkStatus>) -> MutexGuard<'_, LinkStatus> {
    standing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
