//! `tacita doctor`

use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use tacita_core::Result;

use super::arguments;
use crate::console::print;
use tacita_node::agreement::{JobSpec, Source, memory};
use tacita_node::base::text::{count, counted};
use tacita_node::identity::Identity;
use tacita_node::table::read::ReadOptions;

/// Look at everything that a run needs, and say what to mend: files, identities, names, ports, clock, CPU.
#[derive(Args)]
pub struct Doctor {
    /// The job file.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The party to be.
    #[arg(long = "as", value_name = "NAME")]
    me: String,
    /// Directory of this party's key pair.
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// This party's table.
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,
    /// The character between CSV fields [default: found out from the header line].
    #[arg(long, value_name = "CHAR", value_parser = arguments::delimiter)]
    delimiter: Option<u8>,
}

/// How long the doctor waits for a connection.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the doctor has found.
#[derive(Default)]
struct Findings {
    lines: Vec<String>,
    problems: usize,
}

impl Findings {
    fn good(&mut self, what: &str, text: impl std::fmt::Display) {
        self.lines.push(format!("ok    {what:<10} {text}"));
    }

    fn note(&mut self, what: &str, text: impl std::fmt::Display) {
        self.lines.push(format!("note  {what:<10} {text}"));
    }

    fn bad(&mut self, what: &str, text: impl std::fmt::Display) {
        self.problems += 1;
        self.lines.push(format!("MEND  {what:<10} {text}"));
    }
}

impl Doctor {
    /// Carries the command out. The exit code is 2 if something needs mending.
    pub fn execute(self) -> Result<u8> {
        let mut findings = Findings::default();
        self.machine(&mut findings);
        match JobSpec::load(&self.job).and_then(|job| job.party(&self.me).map(|_| job.clone())) {
            Ok(job) => {
                findings.good("job", format_args!("{}: {}, {}", self.job.display(), job.job.name(), job.reveal));
                if let Some(warning) = job.insecure() {
                    findings.note("level", warning);
                }
                if let Some(warning) = memory::unbounded(&job) {
                    findings.note("limits", warning);
                }
                self.identities(&job, &mut findings);
                self.network(&job, &mut findings);
                self.table(&job, &mut findings);
            }
            Err(error) => findings.bad("job", error),
        }
        for line in &findings.lines {
            print(line)?;
        }
        match findings.problems {
            0 => print("\nNothing to mend.")?,
            problems => print(format_args!("\n{} to mend.", counted(problems as u64, "thing")))?,
        }
        Ok(if findings.problems == 0 { 0 } else { 2 })
    }

    fn machine(&self, findings: &mut Findings) {
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
                let now =
                    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
                match identity.certificate().check_dates(now) {
                    Ok(()) => findings.good("clock", "within the dates of the certificate"),
                    Err(error) => {
                        findings.bad("clock", format_args!("{error}: set the clock, or `tacita identity renew`"))
                    }
                }
            }
        }
        for peer in job.peers_of(&self.me) {
            match job.party(peer).ok().and_then(|party| party.identity) {
                Some(pin) => findings.good("peer", format_args!("{peer} is {pin}")),
                None => findings.bad(
                    "peer",
                    format_args!("parties.{peer}.identity is missing: ask {peer} for its `tacita identity show`"),
                ),
            }
        }
    }

    /// The addresses of those whom this party dials, which stand before it in the job, and its own if it is dialed.
    fn network(&self, job: &JobSpec, findings: &mut Findings) {
        let peers = job.peers_of(&self.me);
        let place = |name: &str| job.parties.position(name);
        let dialed = peers.iter().filter(|peer| place(peer) < place(&self.me));
        let own = peers.iter().any(|peer| place(&self.me) < place(peer)).then_some(self.me.as_str());
        dialed.copied().chain(own).for_each(|listener| self.address(job, listener, findings));
    }

    fn address(&self, job: &JobSpec, listener: &str, findings: &mut Findings) {
        let Some(address) = job.party(listener).ok().and_then(|party| party.address.clone()) else {
            findings.bad(
                "network",
                format_args!("parties.{listener}.address is missing: {listener} listens, later parties dial it"),
            );
            return;
        };
        let resolved: Vec<_> = match address.to_socket_addrs() {
            Ok(addresses) => addresses.collect(),
            Err(error) => {
                findings.bad("network", format_args!("{address}: {error}: is it host:port, and is the name right?"));
                return;
            }
        };
        if listener == self.me {
            match TcpListener::bind(resolved.as_slice()) {
                Ok(_) => findings.good("network", format_args!("can listen on {address}")),
                Err(error) => findings.bad(
                    "network",
                    format_args!("cannot listen on {address}: {error}: is the port taken? Behind NAT, run with --listen 0.0.0.0:PORT"),
                ),
            }
            return;
        }
        let reached = resolved.iter().map(|address| TcpStream::connect_timeout(address, PATIENCE));
        match reached.reduce(|one, other| one.or(other)) {
            Some(Ok(_)) => findings.good("network", format_args!("{listener} answers at {address}")),
            Some(Err(error)) => {
                findings.note(
                    "network",
                    format_args!(
                        "{listener} does not answer at {address} now ({error}): fine if it is not running yet"
                    ),
                );
            }
            None => findings.bad("network", format_args!("{address}: the name has no address")),
        }
    }

    fn table(&self, job: &JobSpec, findings: &mut Findings) {
        if self.input.is_empty() {
            findings.note("input", "not looked at: give --input FILE");
            return;
        }
        let shown = self.input[0].display().to_string();
        let options = ReadOptions { delimiter: self.delimiter, ..ReadOptions::default() };
        let source = Source::of(job, self.input.clone(), options, false);
        match source.and_then(|source| job.job.load(job, &self.me, &source, None)) {
            Err(error) => findings.bad("input", error),
            Ok(part) => {
                let rows = part.rows();
                if job.things() != "keys" {
                    findings.good("input", format_args!("{shown}: {}", counted(rows.items as u64, job.thing())));
                    return;
                }
                findings.good(
                    "input",
                    format_args!(
                        "{shown}: {}, {}; {} without a key, {} unreadable, {} with a key seen before",
                        counted(rows.read as u64, "row"),
                        counted(rows.items as u64, "distinct key"),
                        count(rows.nulls as u64),
                        count(rows.unreadable as u64),
                        count(rows.duplicates as u64)
                    ),
                );
            }
        }
    }
}

/// The instructions of this CPU that the program makes use of.
fn instructions() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let found = [
            ("AVX2", std::is_x86_feature_detected!("avx2")),
            ("AVX-512 IFMA", std::is_x86_feature_detected!("avx512ifma") && std::is_x86_feature_detected!("avx512vl")),
        ];
        let found: Vec<_> = found.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
        if !found.is_empty() {
            return format!("with {}", found.join(" and "));
        }
    }
    "without vector instructions that help: it works, more slowly".into()
}
