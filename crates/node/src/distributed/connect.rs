//! Meeting of the drivers: connections to all others, terms, sizes, the choice of protocol, and the seed of the
//! buckets.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tacita_core::channel::{Channel, conclude_all_for};
use tacita_core::protocol::intersect::buckets::{self, BucketsParty, BucketsShape, KeptRun};
use tacita_core::{Error, Result, Session};

use super::work::Agreed;
use super::{DriverMesh, DriverRun, bound, buckets_for, check_rows, in_buckets, most_buckets};
use crate::agreement::handshake::{self, Greeted, fresh_nonce};
use crate::agreement::{BucketProposal, JobSpec, Network, Protocol, Reveal, Sizes, Terms, mesh};
use crate::base::cancel::Cancel;
use crate::base::hex::hex;
use crate::base::random::fresh_rng;
use crate::base::text::{advised, count, counted};
use crate::identity::Identity;
use crate::run::check::check_identity;
use crate::run::connect::{ConnectPlan, company};
use crate::table::RowCounts;
use crate::transport::links::Links;
use crate::transport::{self, Connected};

/// Input with which a driver meets the others.
pub struct Meet<'a> {
    /// Job that is run.
    pub job: &'a JobSpec,
    /// Name of the party.
    pub me: &'a str,
    /// Key pair of the party.
    pub identity: &'a Identity,
    /// Plan for connecting to the others.
    pub meeting: ConnectPlan,
    /// Counts of the party's rows by outcome; `items` are those with a key.
    pub rows: RowCounts,
    /// Digest of the rows: their [`Commitment::digest`](super::BlockCommitment::digest).
    pub digest: [u8; 32],
    /// Number of buckets that it asks for.
    pub buckets: usize,
    /// The buckets of which it has kept what it learns.
    pub finished: Vec<usize>,
    /// Time-out for connecting to the others.
    pub timeout: Duration,
    /// Time-out for others that are connected and alive, but send or read nothing.
    pub patience: Duration,
    /// Handle that ends the meeting.
    pub cancel: Cancel,
}

/// Meets the drivers of the other parties, and agrees with them on a run, or on resuming the one in `work`.
///
/// Errors: the job cannot be spread; connections fail; another party has other terms, resumes another run, or rows that
/// have changed.
pub fn meet(meet: &Meet<'_>, work: &mut DriverRun) -> Result<DriverMesh> {
    in_buckets(meet.job)?;
    check_identity(meet.job, meet.me, meet.identity)?;
    check_rows(meet.job, meet.me, meet.rows.items as u64)?;
    let links = Links::new(meet.cancel.clone());
    let job = meet.job.of_drivers();
    let (mut channels, greeted, round_trip) = connect(meet, &job, &links)?;
    links
        .guard(|| settle(meet, &job, work, &mut channels, greeted, round_trip))
        .map(|settled| DriverMesh::new(meet, settled, channels, links))
}

/// Settings on which drivers have agreed.
pub(super) struct Settled {
    pub session: Session,
    pub protocol: Protocol,
    pub sizes: BTreeMap<String, u64>,
    pub bounds: BTreeMap<String, u64>,
    pub run: buckets::BucketAgreement,
    pub buckets: usize,
}

type Met = (Vec<Channel>, Vec<Greeted>, Duration);

/// Connects to all others, and compares terms.
fn connect(meet: &Meet<'_>, job: &JobSpec, links: &Links) -> Result<Met> {
    let listener = meet.meeting.listener()?;
    let options =
        transport::Options { timeout: meet.timeout, shape: meet.meeting.shape, ..transport::Options::default() };
    let nonce = fresh_nonce(&mut fresh_rng()?);
    let greet = |connected: Connected| {
        let Connected { mut channel, exporter, round_trip, .. } = connected;
        company(job, meet.me, &mut channel);
        links.add(channel.handle());
        channel.set_patience(meet.timeout);
        let greeted = handshake::greet_as(job, meet.me, nonce, &exporter, &mut channel)
            // What is told to the others.
            .inspect_err(|error| links.end(error))?;
        channel.set_patience(meet.patience);
        Ok((channel, greeted, round_trip))
    };
    let met = Mutex::new((Vec::new(), None));
    std::thread::scope(|scope| {
        let (connecting, connected) = std::sync::mpsc::channel::<()>();
        // Ctrl-C ends the wait for those who have not come.
        scope.spawn(|| {
            let connected = connected;
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) =
                connected.recv_timeout(Duration::from_millis(100))
            {
                if meet.cancel.is_cancelled() {
                    options.cancel.cancel();
                }
            }
        });
        meet.meeting.connect(listener, meet.identity, &options, |_, connected| {
            let greeted = connected.and_then(greet);
            let mut met = met.lock().unwrap_or_else(PoisonError::into_inner);
            match greeted {
                Ok(greeted) => met.0.push(greeted),
                Err(error) => {
                    met.1.get_or_insert(error);
                    options.cancel.cancel();
                }
            }
        });
        drop(connecting);
    });
    let (mut met, failed) = met.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = failed {
        links.end(&error);
        return Err(meet.meeting.blame(error, meet.identity));
    }
    met.sort_by_key(|(channel, ..)| job.parties.position(channel.peer()));
    let round_trip = met.iter().map(|(.., round_trip)| *round_trip).max().unwrap_or_default();
    let (channels, greeted) = met.into_iter().map(|(channel, greeted, _)| (channel, greeted)).unzip();
    Ok((channels, greeted, round_trip))
}

fn settle(
    meet: &Meet<'_>,
    job: &JobSpec,
    work: &mut DriverRun,
    channels: &mut [Channel],
    greeted: Vec<Greeted>,
    round_trip: Duration,
) -> Result<Settled> {
    let (of_buckets, items) = (in_buckets(meet.job)?, check_rows(meet.job, meet.me, meet.rows.items as u64)?);
    // Here the others hear of it.
    meet.job.check_quality(meet.me, &meet.rows)?;
    for warning in greeted.iter().flat_map(|greeted| &greeted.warnings) {
        tracing::warn!("{warning}");
    }
    let kept = work.agreed().cloned();
    let wish = BucketProposal {
        buckets: kept.as_ref().map_or(meet.buckets, |kept| kept.buckets) as u64,
        kept: work.public_id(),
    };
    let own = Sizes { items, spread: Some(wish), ..Sizes::default() };
    let check = |theirs: &Sizes, channel: &Channel| {
        if *theirs == (Sizes { items: theirs.items, spread: theirs.spread.clone(), ..Sizes::default() }) {
            Ok(())
        } else {
            Err(channel.violation("it announces more than rows and buckets"))
        }
    };
    let network = Network { round_trip, bandwidth: meet.meeting.shape.bandwidth };
    let choose = |sizes: &BTreeMap<String, Sizes>| choose(&of_buckets, sizes, buckets_of(job, sizes), network);
    let agreed = mesh::agree(job, meet.me, &own, greeted, channels, check, choose)?;

    let names = job.parties.names();
    let buckets = buckets_of(job, &agreed.sizes);
    check_resumed(meet.me, &agreed.sizes).map_err(|error| conclude_all_for(channels, error))?;
    check_by_position(&of_buckets, &agreed.sizes).map_err(|error| conclude_all_for(channels, error))?;
    check_padded(meet, buckets).map_err(|error| conclude_all_for(channels, error))?;
    let protocol = agreed.chosen.protocol;
    if let Some(kept) = kept.as_ref().filter(|kept| kept.protocol != protocol.name()) {
        let what = format!("the run that is kept is by {}, and {} was chosen now", kept.protocol, protocol.name());
        return Err(conclude_all_for(channels, Error::Terms(format!("{what}: name it in the job, or start again"))));
    }
    let place = job.parties.position(meet.me).unwrap_or_default();
    let each = names.iter().map(|name| agreed.sizes[*name].items);
    let shape =
        BucketsShape { buckets, learners: learners(&of_buckets), numbers: each.chain([buckets as u64]).collect() };
    let commitment = work.commitment(&meet.digest);
    let run = work.run()?;
    let kept = run.as_ref().map(|run| KeptRun { run, finished: &meet.finished });
    let party = BucketsParty { place, commitment: &commitment, kept };
    let terms = Terms::of(job).agreement_bytes();
    let run = buckets::agree(party, &terms, &shape, &agreed.session, channels, &mut fresh_rng()?)
        .map_err(|error| advised(error, "use the work directories of one run, or all remove them and start again"))?;
    work.keep(Agreed { run: hex(&run.run.to_bytes()), protocol: protocol.name().into(), buckets })?;
    let each: Vec<_> =
        names.iter().map(|name| format!("{name} {}", counted(agreed.sizes[*name].items, "row"))).collect();
    tracing::info!(
        "agreed with all: {}, {}, {} of them left: {}",
        protocol.name(),
        counted(buckets as u64, "bucket"),
        run.remaining.len(),
        each.join(", ")
    );
    Ok(Settled {
        session: agreed.session.clone(),
        protocol,
        bounds: bounds(job, &agreed.sizes, buckets),
        sizes: agreed.sizes.into_iter().map(|(name, sizes)| (name, sizes.items)).collect(),
        run,
        buckets,
    })
}

/// Returns the largest number of buckets that any party asks for, but no more than are good for the announced
/// sizes.
fn buckets_of(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> usize {
    let asked = sizes.values().filter_map(|sizes| Some(sizes.spread.as_ref()?.buckets)).max().unwrap_or(1) as usize;
    let rows: Vec<u64> = sizes.values().map(|sizes| sizes.items).collect();
    buckets_for(job, asked, &rows)
}

/// Returns the bound to which each party pads a bucket. Where rows go by their position, all parties have as many
/// in each.
fn bounds(job: &JobSpec, sizes: &BTreeMap<String, Sizes>, buckets: usize) -> BTreeMap<String, u64> {
    if job.aligns_by_position() {
        return BTreeMap::new();
    }
    sizes.iter().map(|(name, theirs)| (name.clone(), bound(theirs.items, buckets, sizes.len()))).collect()
}

/// The places of those who must have kept a bucket for it to be done: who learn; all where each has a share; of a count
/// the sender, who keeps what all buckets are counted from.
fn learners(job: &JobSpec) -> Vec<usize> {
    let keeps = |name: &str| match job.reveal {
        Reveal::Shares => true,
        Reveal::Count => name != job.receiver(),
        _ => job.learns(name),
    };
    let learns = |(place, name): (usize, &str)| keeps(name).then_some(place);
    job.parties.names().into_iter().enumerate().filter_map(learns).collect()
}

/// Chooses the protocol that runs in each bucket.
fn choose(
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    buckets: usize,
    network: Network,
) -> Result<crate::agreement::Chosen> {
    let bounds = bounds(job, sizes, buckets);
    let of_bucket = |(name, sizes): (&String, &Sizes)| {
        let items = bounds.get(name).copied().unwrap_or(sizes.items.div_ceil(buckets as u64));
        let given = job.reveal == Reveal::Payload && !job.given_by(name).is_empty();
        (name.clone(), Sizes { items, entries: if given { items } else { 0 }, ..Sizes::default() })
    };
    let sizes: BTreeMap<_, _> = sizes.iter().map(of_bucket).collect();
    job.job.choose(job, &sizes, network).map(|choice| choice.chosen)
}

/// Checks padded own rows, of which there may be too few for so many buckets. Only this party sees that.
fn check_padded(meet: &Meet<'_>, buckets: usize) -> Result<()> {
    let most = most_buckets(meet.job, meet.rows.items as u64, u64::MAX);
    if buckets <= most {
        Ok(())
    } else {
        Err(Error::Input(format!(
            "{} has enough rows for {}, and {} were agreed on: ask for fewer buckets, at all parties",
            meet.me,
            counted(most as u64, "bucket"),
            count(buckets as u64)
        )))
    }
}

/// Checks that all parties have equally many rows, if rows go by their position.
fn check_by_position(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> Result<()> {
    let mut all = sizes.iter();
    let (true, Some((one, first))) = (bounds(job, sizes, 1).is_empty(), all.next()) else { return Ok(()) };
    match all.find(|(_, theirs)| theirs.items != first.items) {
        Some((other, theirs)) => Err(Error::Terms(format!(
            "rows are aligned by position, and {one} has {} where {other} has {}: give tables of the same rows",
            count(first.items),
            count(theirs.items)
        ))),
        None => Ok(()),
    }
}

/// Whether all go on with one run, or all begin one; else what to do.
fn check_resumed(me: &str, sizes: &BTreeMap<String, Sizes>) -> Result<()> {
    let kept = |sizes: &Sizes| sizes.spread.as_ref().and_then(|wish| wish.kept.clone());
    let own = kept(&sizes[me]);
    let differs = |(_, theirs): &(&String, &Sizes)| kept(theirs) != own;
    match (sizes.iter().find(differs), &own) {
        (None, _) => Ok(()),
        (Some((peer, theirs)), Some(_)) if kept(theirs).is_some() => Err(Error::Terms(format!(
            "{peer} resumes a different run: use the work directories of one run, or all remove them and start again"
        ))),
        (Some((peer, _)), Some(_)) => Err(Error::Terms(format!(
            "this run is resumed, but {peer} begins a new one: let {peer} use resume=True and its work directory, too, or all \
             remove theirs and start again"
        ))),
        (Some((peer, _)), None) => Err(Error::Terms(format!(
            "{peer} resumes a run, but this one is new: use resume=True and its work directory here, too, or all remove theirs \
             and start again"
        ))),
    }
}
