//! `dot` with k clients: one side's rows are in slices at several parties, the *clients*, and the other side's all at
//! one, the
//! *server* (Yang, Wright & Subramaniam, section 3.4). `tacita_core::protocol::dot::paillier::clients` has the protocol.
//!
//! Every client has a connection to the server, and one to the client before it and after it.
//! [`agree`](crate::agreement::group::agree) binds all of them to one run; [`WithClients`] is what each party then
//! does.

mod check;
pub mod cost;
mod learned;

use std::collections::BTreeMap;
use std::ops::Range;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::paillier::{KeySize, PaillierSecretKey};
use tacita_core::protocol::dot::paillier::{self, LiveEncryptions, Params};
use tacita_core::protocol::dot::{Columns, Modulus, Shares};
use tacita_core::{Error, Result, Side};

use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::{
    Choice, Chosen, Clients, Disclosure, KnownSizes, Network, PartContext, Peers, Protocol, RunResult, Sizes, Slices,
};
use crate::base::random::fresh_rng;
use crate::jobs::dot::DotInput;
use crate::jobs::dot::found::Outcome;
use crate::jobs::dot::methods::{self, DotMethod};
use crate::jobs::dot::spec::DotJob;
use crate::transport::links::Links;

use cost::rounds_of_chain;
pub use learned::{at_a_glance, learned};

/// The most clients: the server works for all of them at once.
const MAX_CLIENTS: usize = 32;

/// The one protocol that there is for clients.
pub const PROTOCOL: Protocol = methods::paillier::PROTOCOL;

/// Time-out of a client for a neighbour that only signals that it is alive. To this fixed time is added the time
/// that the slowest machine takes to encrypt all numbers under keys of 3072 bits. Longer keys take the third power
/// of their length.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
const ENCRYPTION: Duration = Duration::from_millis(10);

/// Products of a server with clients.
pub struct WithClients<'a>(pub Clients<'a>);

impl DotMethod for WithClients<'_> {
    fn protocols(&self) -> Vec<Protocol> {
        vec![PROTOCOL]
    }

    fn choose(&self, _job: &DotJob<'_>, _sizes: &BTreeMap<String, Sizes>, _network: Network) -> Result<Choice> {
        Ok(Choice { chosen: Chosen::only(PROTOCOL), why: "the one for clients".into() })
    }

    fn memory(&self, job: &DotJob<'_>, me: &str, _chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        cost::memory(job, &self.0, me, &self.0.slices(sizes))
    }

    fn cost(
        &self,
        job: &DotJob<'_>,
        _chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::cost(job, &self.0, &self.0.slices(sizes), machine)
    }

    fn learned(&self, job: &DotJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned(job, &self.0, party, known.slices)
    }

    fn at_a_glance(&self, job: &DotJob<'_>) -> Vec<Disclosure> {
        at_a_glance(job, &self.0)
    }

    /// The clients get the products of all rows, the server nothing.
    ///
    /// Errors: a connection fails, or a peer breaks the protocol; all have then ended.
    fn run(&self, brought: &mut DotInput, run: PartContext<'_>) -> Result<RunResult> {
        let PartContext { job, me, rng, peers, .. } = run;
        let (job, columns, roles) = (&DotJob { spec: job, own: &brought.own }, &brought.columns, &self.0);
        let Peers::Several { rows, channels, links } = peers else {
            return Err(Error::Internal("clients in another job".into()));
        };
        let values = match roles.place(me) {
            None => {
                warn_of_empty(rows, roles);
                serve(job, roles, columns, rows, channels, links)?;
                None
            }
            Some(place) => {
                warn_of_slice(me, columns, rows);
                let sums = ask(job, roles, place, columns, rows, channels, rng)?;
                let (modulus, signed) = (sums.modulus(), job.integers()?.signed());
                Some(sums.residues().iter().map(|&residue| modulus.integer(residue, signed)).collect())
            }
        };
        Ok(RunResult {
            answer: values.map_or(Outcome::Nothing, Outcome::Values).answer(job),
            further_rounds: rounds_of_chain(roles),
            ..RunResult::nothing(PROTOCOL, learned(job, roles, me, Some(rows)))
        })
    }
}

/// Warns of clients that add nothing to the sums, which are then those of the others.
fn warn_of_empty(rows: &Slices, roles: &Clients<'_>) {
    let each = || roles.clients.iter().zip(&rows.slices);
    let empty: Vec<&str> = each().filter(|(_, slice)| **slice == Some(0)).map(|(name, _)| *name).collect();
    if empty.is_empty() || rows.all == 0 {
        return;
    }
    let others: Vec<&str> = each().filter(|(_, slice)| **slice != Some(0)).map(|(name, _)| *name).collect();
    let whose = match others[..] {
        [one] => format!("{one} alone, which every client learns"),
        _ => "the other clients".to_owned(),
    };
    tracing::warn!("no rows at {}: the sums are those of {whose}", empty.join(", "));
}

/// Warns of a slice that adds nothing to the sums, and of one beside which all others are empty.
fn warn_of_slice(me: &str, columns: &Columns, rows: &Slices) {
    let is_zero = |column: usize| (0..columns.rows()).all(|row| columns.value(column, row) == 0);
    if rows.all == 0 {
        return;
    }
    if columns.rows() == 0 {
        tracing::warn!("{me} has no rows: it adds nothing, and the sums are those of the other clients");
    } else if (0..columns.count()).any(is_zero) {
        tracing::warn!(
            "a column of {me} holds nothing but zeros: it adds nothing, and its sums are those of the other clients"
        );
    }
    if columns.rows() as u64 == rows.all {
        tracing::warn!(
            "no other client than {me} has rows: the sums are those of {me} alone, which every client learns"
        );
    }
}

/// The server's part: it answers all clients at once, each with its own blindings.
fn serve(
    job: &DotJob<'_>,
    roles: &Clients<'_>,
    columns: &Columns,
    rows: &Slices,
    channels: &mut [Channel],
    links: &Links,
) -> Result<()> {
    let modulus = modulus(job, rows)?;
    let zeros = Shares::new(modulus, vec![0; job.dot_shape(0)?.products()])?;
    let blindings = paillier::clients::blindings(roles.clients.len(), &zeros, &mut fresh_rng()?)?;
    let slices = slices(rows)?;
    let answer = |channel: &mut Channel| {
        let place = roles.place(channel.peer()).ok_or_else(|| Error::Internal("a peer that is no client".into()))?;
        let slice = slices[place].clone();
        let params = params(job, modulus, slice.len())?;
        let part = columns.select(&slice.map(|row| row as u32).collect::<Vec<_>>());
        paillier::answer_with(&part, &params, &blindings[place], channel, &mut fresh_rng()?).map(drop)
    };
    std::thread::scope(|scope| {
        let answer = &answer;
        // One that fails ends them all.
        let guarded = |channel| move || answer(channel).inspect_err(|error| links.end(error));
        let working: Vec<_> = channels.iter_mut().map(|channel| scope.spawn(guarded(channel))).collect();
        let join =
            |one: ScopedJoinHandle<'_, Result<()>>| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        working.into_iter().try_for_each(join)
    })
}

/// A client's part: it gets its blinded products from the server, and adds them up with the other clients.
fn ask(
    job: &DotJob<'_>,
    roles: &Clients<'_>,
    place: usize,
    columns: &Columns,
    rows: &Slices,
    channels: &mut [Channel],
    rng: &mut ChaCha20Rng,
) -> Result<Shares> {
    let (mut server, mut before, mut after) = (None, None, None);
    for channel in channels {
        let end = match roles.place(channel.peer()) {
            None => &mut server,
            Some(other) if other < place => &mut before,
            Some(_) => &mut after,
        };
        *end = Some(channel);
    }
    for neighbour in [&mut before, &mut after].into_iter().flatten() {
        neighbour.set_patience(patience(job, columns.count(), rows));
    }
    let server = server.ok_or_else(|| Error::Internal("no connection to the server".into()))?;
    let params = params(job, modulus(job, rows)?, columns.rows())?;
    let key = PaillierSecretKey::generate(params.key_size(), rng);
    let mine = paillier::encrypt_over(columns, &params, &mut LiveEncryptions::new(&key, rng), server)?;
    paillier::clients::sum_up(&mine, before, after)
}

/// Returns a client's time-out for a neighbour, which may have many more rows to encrypt.
fn patience(job: &DotJob<'_>, columns: usize, rows: &Slices) -> Duration {
    let length = KeySize::of(job.level).bits() as f64 / 3072.0;
    TIMEOUT + ENCRYPTION.mul_f64(rows.all as f64 * columns as f64 * length.powi(3))
}

/// Returns the modulus of all sums.
fn modulus(job: &DotJob<'_>, rows: &Slices) -> Result<Modulus> {
    job.modulus(rows.all as usize)
}

/// Returns the parameters on which the server and a client with so many rows agree. The client is the first party.
fn params(job: &DotJob<'_>, modulus: Modulus, rows: usize) -> Result<Params> {
    let params = Params::new(job.dot_shape(rows)?, modulus, KeySize::of(job.level), None)?.encrypted_by(Side::First);
    Ok(job.own.chunk.map_or(params.clone(), |rows| params.with_chunk(rows as usize)))
}

/// Returns the range of the server's rows that belongs to each client.
fn slices(rows: &Slices) -> Result<Vec<Range<usize>>> {
    let mut start = 0;
    let slice = |length: &Option<u64>| {
        let length = length.ok_or_else(|| Error::Internal("a slice of unknown length".into()))? as usize;
        start += length;
        Ok(start - length..start)
    };
    rows.slices.iter().map(slice).collect()
}
