//! Checks of what a party needs before a run, a list or a desk: files, identities, ports and clock. Nothing is
//! transferred. `tacita doctor` and the Python package hand out the findings.

mod findings;
mod instructions;
mod list;
mod rows;

use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use tacita_core::{Error, Result};

use self::findings::enough;
use self::instructions::instructions;
use tacita_node::agreement::{Ability, JobSpec, Source, Terms, Topology, memory};
use tacita_node::base::files::Existing;
use tacita_node::base::folder::Folder;
use tacita_node::base::text::{count, counted, duration};
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::prepared;
use tacita_node::jobs::on_disk::room_for;
use tacita_node::run::addresses::{meeting, place};
use tacita_node::run::check::{check_output, unwritten};
use tacita_node::run::helper::terms;
use tacita_node::run::rehearsal::{Rehearsal, RehearsedPeer};
use tacita_node::table::{ReadOptions, Table};
use tacita_node::transport::depot::look as look_at_helper;
use tacita_node::transport::relay::look;
use tacita_node::transport::{ConnectCancel, listening_at};

pub use findings::{Finding, FindingState, Findings};
pub use rows::judge;

/// A party that is to be examined.
pub struct Examination {
    /// Name of the job in findings: its file, if there is one.
    pub shown: String,
    /// Name of the party; in an aggregation a participant, or `proxy`, `oracle` or `database`.
    pub me: String,
    /// Directory of the party's key pair.
    pub identity: PathBuf,
    /// Input of the party.
    pub input: DoctorInput,
    /// Output file to check, if any.
    pub output: Option<PathBuf>,
    /// Whether the output may replace a file.
    pub existing: Existing,
    /// Directory for work on disk to check, if any.
    pub work: Option<PathBuf>,
    /// Longest wait for the peers' doctors, if they are to be met.
    pub meet: Option<Duration>,
    /// Address to listen on, in place of the one in the job.
    pub listen: Option<String>,
    /// Ends the wait for others from another thread.
    pub cancel: ConnectCancel,
}

/// Input of a party that is examined.
pub enum DoctorInput {
    /// Files; none if they are not to be examined.
    Files {
        /// Paths of the files.
        paths: Vec<PathBuf>,
        /// Options for reading them.
        options: ReadOptions,
    },
    /// A table in memory.
    Table(Table),
}

impl DoctorInput {
    /// Name of the input in findings; none if there is none.
    fn name(&self) -> Option<String> {
        match self {
            DoctorInput::Files { paths, .. } => paths.first().map(|path| path.display().to_string()),
            DoctorInput::Table(table) => Some(table.source().to_owned()),
        }
    }

    /// Paths of the files.
    pub fn paths(&self) -> &[PathBuf] {
        match self {
            DoctorInput::Files { paths, .. } => paths,
            DoctorInput::Table(_) => &[],
        }
    }

    fn source(&self, job: &JobSpec, me: &str) -> Result<Source> {
        match self {
            DoctorInput::Files { paths, options } => Source::of(job, me, paths.clone(), options.clone(), false),
            DoctorInput::Table(table) => Ok(Source::Table { table: table.clone(), allow_unreadable: false }),
        }
    }
}

/// Time for which the doctor waits for a connection.
const TIMEOUT: Duration = Duration::from_secs(3);

impl Examination {
    /// Looks at what a run needs.
    ///
    /// Errors: those of `tell`, which gets what was found before the peers are waited for.
    pub fn run(
        &self,
        job: Result<JobSpec>,
        findings: &mut Findings,
        tell: &mut dyn FnMut(Finding) -> Result<()>,
    ) -> Result<()> {
        match job.and_then(|job| job.party(&self.me).map(|_| job.clone())) {
            Ok(job) => {
                findings.good("job", format_args!("{}: {}, {}", self.shown, job.job.name(), job.reveal));
                if let Some(warning) = job.insecure() {
                    findings.note("level", warning);
                }
                if let Some(warning) = memory::unbounded(&job) {
                    findings.note("limits", warning);
                }
                self.identities(&job, findings);
                self.network(&job, findings);
                self.table(&job, findings);
                self.room(&job, findings);
                findings.tell(tell)?;
                if let Some(timeout) = self.meet {
                    self.peers(&job, timeout, findings);
                }
            }
            Err(error) => findings.bad("job", error),
        }
        Ok(())
    }

    /// Records the processor's cores and instructions.
    pub fn machine(&self, findings: &mut Findings) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        findings.good("cpu", format_args!("{}, {}", counted(cores as u64, "core"), instructions()));
    }

    fn identities(&self, job: &JobSpec, findings: &mut Findings) {
        match Identity::load(&self.identity) {
            Err(error) => findings.bad("identity", error),
            Ok(identity) => {
                let fingerprint = identity.fingerprint();
                match job.party(&self.me).ok().and_then(|party| party.identity) {
                    None => findings.bad(
                        "identity",
                        format_args!("parties.{}.identity is missing: put \"{fingerprint}\" there", self.me),
                    ),
                    Some(expected) if expected != fingerprint => findings.bad(
                        "identity",
                        format_args!("parties.{}.identity is {expected}, the key pair is {fingerprint}", self.me),
                    ),
                    Some(_) => findings.good("identity", fingerprint),
                }
                findings.dates(&identity);
            }
        }
        for peer in job.partners_of(&self.me) {
            match job.party(peer).ok().and_then(|party| party.identity) {
                Some(pin) => findings.good("peer", format_args!("{peer} is {pin}")),
                None => findings.bad(
                    "peer",
                    format_args!(
                        "parties.{peer}.identity is missing: ask {peer} for its fingerprint (`tacita identity show`)"
                    ),
                ),
            }
        }
    }

    /// The addresses of those whom this party dials, which stand before it in the job, and its own if it is dialed.
    fn network(&self, job: &JobSpec, findings: &mut Findings) {
        if job.topology() == Topology::Helper {
            return self.helper(job, findings);
        }
        if job.relay.is_some() {
            return self.relay(job, findings);
        }
        let peers = job.peers_of(&self.me);
        let place = |name: &str| job.parties.position(name);
        let dialed = peers.iter().filter(|peer| place(peer) < place(&self.me));
        let own = peers.iter().any(|peer| place(&self.me) < place(peer)).then_some(self.me.as_str());
        dialed.copied().chain(own).for_each(|listener| self.address(job, listener, findings));
    }

    /// Whether the helper is there, is who it should be, and serves the job on these terms; or whether this party can
    /// listen in its place.
    fn helper(&self, job: &JobSpec, findings: &mut Findings) {
        let Ok(identity) = Identity::load(&self.identity) else {
            return findings.note("helper", "not looked at: that takes an identity");
        };
        let place = match meeting(job, &self.me, self.listen.clone()).map(|meeting| meeting.helper) {
            Err(error) => return findings.bad("helper", error),
            Ok(None) => return,
            Ok(Some(place)) => place,
        };
        if place.address.is_empty() {
            return self.address(job, &self.me, findings);
        }
        let answers = format!("{} answers at {}, and lets this party in", place.helper.name, place.address);
        match look_at_helper(&place, &identity, &terms(job), TIMEOUT) {
            Ok(group) => {
                findings.good("helper", answers);
                findings.key_exchange("helper", &place.helper.name, group);
                let agreement = Terms::of(job).agreement();
                findings.good("terms", format_args!("as the helper's (agreement {})", &agreement[..16]));
            }
            Err(error @ Error::Terms(_)) => {
                findings.good("helper", answers);
                findings.bad("terms", error);
            }
            Err(error @ Error::Network { .. }) if job.helper.is_none() => findings.note("helper", error),
            Err(error) => findings.bad("helper", error),
        }
    }

    /// Whether the relay is there, is who it should be, and knows the job.
    fn relay(&self, job: &JobSpec, findings: &mut Findings) {
        let Ok(identity) = Identity::load(&self.identity) else {
            return findings.note("relay", "not looked at: that takes an identity");
        };
        match place(job).and_then(|place| Ok((look(&place, &identity, TIMEOUT)?, place))) {
            Ok((time, place)) => findings.good(
                "relay",
                format_args!(
                    "{} answers, has proved its identity, and knows the job ({})",
                    place.address,
                    duration(time)
                ),
            ),
            Err(error) => findings.bad("relay", error),
        }
    }

    fn address(&self, job: &JobSpec, listener: &str, findings: &mut Findings) {
        let own = self.listen.as_ref().filter(|_| listener == self.me).map(|own| listening_at(own));
        let address = match own {
            Some(Err(error)) => return findings.bad("network", error),
            Some(Ok(own)) => Some(own),
            None => job.party(listener).ok().and_then(|party| party.address.clone()),
        };
        let Some(address) = address else {
            findings.bad(
                "network",
                format_args!("parties.{listener}.address is missing: {listener} listens, later parties dial it"),
            );
            return;
        };
        let resolved: Vec<_> = match address.to_socket_addrs() {
            Ok(addresses) => addresses.collect(),
            Err(error) => {
                findings.bad("network", format_args!("{address}: {error}: check the name, and the form HOST:PORT"));
                return;
            }
        };
        if listener == self.me {
            match TcpListener::bind(resolved.as_slice()) {
                Ok(_) => findings.good("network", format_args!("can listen on {address}")),
                Err(error) => findings.bad(
                    "network",
                    format_args!(
                        "cannot listen on {address}: {error}: choose a free port. Behind NAT, use --listen 0.0.0.0:PORT"
                    ),
                ),
            }
            return;
        }
        if self.meet.is_some() {
            return findings.good("network", format_args!("{listener} will be dialed at {address}"));
        }
        let reached = resolved.iter().map(|address| TcpStream::connect_timeout(address, TIMEOUT));
        match reached.reduce(|one, other| one.or(other)) {
            Some(Ok(_)) => findings.good("network", format_args!("{listener} answers at {address}")),
            Some(Err(error)) => {
                findings.note(
                    "network",
                    format_args!(
                        "{listener} does not answer at {address} ({error}): expected if it is not running yet"
                    ),
                );
            }
            None => findings.bad("network", format_args!("{address}: the name does not resolve")),
        }
    }

    /// Whether the result can be written, and whether there is room for it, and for the work.
    fn room(&self, job: &JobSpec, findings: &mut Findings) {
        let input: u64 = self
            .input
            .paths()
            .iter()
            .filter_map(|path| Some(std::fs::metadata(path).ok()?.len()))
            .fold(0, u64::saturating_add);
        if let Some(path) = &self.output {
            let shown = path.display();
            let unused = unwritten(job, &self.me, path);
            match check_output(job, path, false, self.existing) {
                Err(error) => findings.bad("output", error),
                Ok(()) if unused.is_some() => findings.note("output", unused.unwrap_or_default()),
                // What is not there has no room to run out of.
                Ok(()) if path.as_os_str() == "-" => findings.good("output", "standard output"),
                Ok(()) => enough(
                    "output",
                    &format!("{shown} can be written"),
                    path,
                    ("as much as the input", input),
                    findings,
                ),
            }
        }
        if let Some(directory) = &self.work {
            let shown = directory.display();
            let usable = job
                .job
                .can(job, Ability::Disk)
                .or_else(|no| if prepared::is_in(directory) { job.job.can(job, Ability::Prepared) } else { Err(no) });
            let opened = if directory.exists() { Folder::open(directory).map(drop) } else { Ok(()) };
            let table = self.input.paths().iter().filter(|_| !prepared::is_in(directory)).map(|path| room_for(path));
            match usable.and(opened).and_then(|()| table.sum::<Result<u64>>()) {
                Err(error) => findings.bad("work", error),
                Ok(needed) => enough("work", &format!("{shown} can be used"), directory, ("about", needed), findings),
            }
        }
    }

    /// Meets the peers' doctors.
    fn peers(&self, job: &JobSpec, timeout: Duration, findings: &mut Findings) {
        if job.topology() == Topology::Helper {
            return findings.note(
                "meet",
                "not needed: the parties of this job connect only to the helper, and each doctor compares its terms",
            );
        }
        let meeting = meeting(job, &self.me, self.listen.clone());
        let (meeting, identity) = match meeting.and_then(|meeting| Ok((meeting, Identity::load(&self.identity)?))) {
            Ok(ready) => ready,
            Err(error) => return findings.bad("meet", format_args!("no peer was met: {error}")),
        };
        let (meeting, identity) = (&meeting, &identity);
        let (me, cancel) = (&self.me, self.cancel.clone());
        let rehearsal = Rehearsal { job, me, identity, meeting, timeout, cancel };
        match rehearsal.run() {
            Err(error) => findings.bad("meet", error),
            Ok(all) => all.into_iter().for_each(|(peer, seen)| met(job, &peer, seen, findings)),
        }
    }

    fn table(&self, job: &JobSpec, findings: &mut Findings) {
        let Some(shown) = self.input.name() else {
            return findings.note("input", "not looked at: give --input FILE");
        };
        let source = self.input.source(job, &self.me);
        match source.and_then(|source| job.job.load(job, &self.me, &source, None)) {
            Err(error) => findings.bad("input", error),
            Ok(part) => {
                let rows = part.rows();
                if !job.matches_keys() {
                    let said = format!("{shown}: {}", counted(rows.items as u64, job.thing()));
                    return judge(job, &self.me, &rows, &said, findings);
                }
                let (items, seen) = if job.is_of_multisets() {
                    (format!("{} with a key", count(rows.items as u64)), String::new())
                } else {
                    (
                        counted(rows.items as u64, "distinct key"),
                        format!(", {} with a key seen before", count(rows.duplicates as u64)),
                    )
                };
                let said = format!(
                    "{shown}: {}, {items}; {} without a key, {} unreadable{seen}",
                    counted(rows.read as u64, "row"),
                    count(rows.nulls as u64),
                    count(rows.unreadable as u64)
                );
                judge(job, &self.me, &rows, &said, findings);
            }
        }
    }
}

/// Reports the observations of a peer.
fn met(job: &JobSpec, peer: &str, seen: Result<RehearsedPeer>, findings: &mut Findings) {
    let seen = match seen {
        Ok(seen) => seen,
        Err(Error::NotReady(what)) => return findings.note("meet", what),
        // Where it is not the relay that is missing.
        Err(error @ Error::Network { .. }) if error.peer() == Some(peer) => {
            let hint = "check that its `tacita doctor` runs with --meet, too";
            return findings.bad("meet", format_args!("{error} {hint}"));
        }
        Err(error) => return findings.bad("meet", error),
    };
    let time = duration(seen.round_trip);
    findings.good("meet", format_args!("connected with {peer}, and each has proved its identity ({time} for TLS)"));
    findings.key_exchange("meet", peer, seen.group);
    findings.clocks(peer, seen.clock_ahead);
    match seen.terms {
        Err(error) => findings.bad("terms", format_args!("{error}: all parties need the same job file")),
        Ok((version, warnings)) => {
            let agreement = Terms::of(job).agreement();
            findings.good("terms", format_args!("as {peer}'s (agreement {}), which runs {version}", &agreement[..16]));
            warnings.into_iter().for_each(|warning| findings.note("terms", warning));
        }
    }
}
