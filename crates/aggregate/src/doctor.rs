//! Checks of what a party needs before a job of any kind; those for an aggregation, from the side of a participant or
//! of one of its services, are here.

use std::net::TcpListener;

use tacita_core::{Error, Result};
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::base::text::{count, counted, duration};
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::reports::ReportsInput;
use tacita_node::jobs::aggregate::results::ResultFormat;
use tacita_node::jobs::aggregate::{Aggregate, Reports};
use tacita_node::transport::listening_at;
use tacita_serve::doctor::{DoctorInput, Examination, Finding, Findings, judge};

use crate::probe::{ProbeReport, Prober, look};
use crate::registry::Registry;
use crate::setting::ServiceConfig;
use crate::transport::Endpoint;
use crate::wire::service::Service;

/// Examines a party. `tell` gets what is found, the first part of it before peers are waited for. Returns the number of
/// problems to be mended.
///
/// Errors: those of `tell`.
pub fn examine(
    doctor: &Examination,
    job: Result<JobSpec>,
    registry: Option<&Registry>,
    tell: &mut dyn FnMut(Finding) -> Result<()>,
) -> Result<usize> {
    let mut findings = Findings::default();
    doctor.machine(&mut findings);
    match job {
        Ok(job) if job.clients.is_some() => doctor.list(job, &mut findings),
        Ok(job) if Aggregate::of(&job).is_ok() => {
            AggregateDoctor { doctor, registry }.aggregation(job, &mut findings);
        }
        loaded => doctor.run(loaded, &mut findings, tell)?,
    }
    findings.tell(tell)?;
    Ok(findings.problems())
}

/// A party of an aggregation that is to be examined.
struct AggregateDoctor<'a> {
    doctor: &'a Examination,
    /// Registry where roles register, if they do.
    registry: Option<&'a Registry>,
}

impl AggregateDoctor<'_> {
    /// Looks at what `submit` and `results` need, or `proxy`, `oracle` and `database`, whose words --as takes for them.
    fn aggregation(&self, job: JobSpec, findings: &mut Findings) {
        let shown = format!("{}: {}, {}", self.doctor.shown, job.job.name(), job.reveal);
        let setting = match ServiceConfig::new(job) {
            Ok(setting) => setting,
            Err(error) => return findings.bad("job", error),
        };
        match setting.check_roles() {
            Ok(()) => findings.good("job", shown),
            Err(error) => findings.bad("job", error),
        }
        self.round(&setting, findings);
        let identity = match Identity::load(&self.doctor.identity) {
            Ok(identity) => identity,
            Err(error) => {
                findings.bad("identity", error);
                return self.reports(&setting, findings);
            }
        };
        let looker = match self.who(&setting, &identity) {
            Ok(looker) => looker,
            Err(error) => return findings.bad("identity", error),
        };
        findings.good("identity", identity.fingerprint());
        findings.dates(&identity);
        match looker {
            Prober::Participant => {
                self.reports(&setting, findings);
                self.results(findings);
            }
            Prober::Service(service) => {
                if let (Service::Database(_), Ok(databases @ 2..)) = (service, setting.count("database")) {
                    let told = format_args!(
                        "the job file names {databases} [[database]]: each needs the same --storage postgresql://..."
                    );
                    findings.note("storage", told);
                }
                self.participants(&setting, findings);
                self.listens(&setting, service, findings);
            }
        }
        if self.doctor.meet.is_some() {
            findings.note("meet", "not needed: the doctor asks the running services below in any case");
        }
        match look(&setting, &identity, looker, self.registry) {
            Err(error) => findings.bad("network", error),
            Ok(all) => all.into_iter().for_each(|found| self.found(&setting, looker, found, findings)),
        }
    }

    /// Returns the end of the job that --as and the identity stand for.
    fn who(&self, setting: &ServiceConfig, identity: &Identity) -> Result<Prober> {
        let service = match self.doctor.me.as_str() {
            "proxy" => Service::Proxy(setting.place_of("proxy", identity)?),
            "oracle" => Service::Oracle(setting.place_of("oracle", identity)?),
            "database" => Service::Database(setting.place_of("database", identity)?),
            name => {
                let own = identity.fingerprint();
                return match setting.parties().into_iter().find(|(_, party)| party == name) {
                    Some((pin, _)) if pin != own => Err(Error::Input(format!(
                        "parties.{name}.identity is {pin}, the key pair is {own}: give the identity of {name}"
                    ))),
                    _ => Ok(Prober::Participant),
                };
            }
        };
        Ok(Prober::Service(service))
    }

    /// Checks the job's statements about rounds that the clock may have overtaken.
    fn round(&self, setting: &ServiceConfig, findings: &mut Findings) {
        let Ok(own) = Aggregate::of(&setting.spec) else { return };
        if let Some(moment) = own.own.round.close_at
            && moment.system_time() <= std::time::SystemTime::now()
        {
            findings.bad("round", format_args!("round.close_at = \"{moment}\" has passed: agree on a later time"));
        }
        if let Some(weak) = own.weak_conditions() {
            findings.note("round", weak);
        }
    }

    /// Reads all of the input as `submit` would.
    fn reports(&self, setting: &ServiceConfig, findings: &mut Findings) {
        let DoctorInput::Files { paths, options } = &self.doctor.input else {
            return findings.note("input", "not looked at: give a file");
        };
        let [path] = &paths[..] else {
            return match paths.len() {
                0 => findings.note("input", "not looked at: give --input FILE"),
                _ => findings.bad("input", "several --input: `tacita submit` takes one file, so check one at a time"),
            };
        };
        let input = ReportsInput {
            path: path.clone(),
            options: options.clone(),
            listing: None,
            expand: None,
            allow_unreadable: false,
        };
        let read = || -> Result<Reports> {
            let mut reports = Reports::open(&setting.own()?, &self.doctor.me, &input)?;
            while reports.next_batch()?.is_some() {}
            Ok(reports)
        };
        match read().and_then(|mut reports| Ok((reports.counts(), reports.warnings()?))) {
            Err(error) => findings.bad("input", error),
            Ok((rows, warnings)) => {
                let said = format!(
                    "{}: {}, {}; {} without a key or value, {} unreadable, {} repeated",
                    path.display(),
                    counted(rows.read as u64, "row"),
                    counted(rows.items as u64, "report"),
                    count(rows.nulls as u64),
                    count(rows.unreadable as u64),
                    count(rows.duplicates as u64)
                );
                match rows.items {
                    0 => findings.bad("input", format_args!("{said}: no reports to submit")),
                    _ => judge(&setting.spec, &self.doctor.me, &rows, &said, findings),
                }
                warnings.into_iter().for_each(|warning| findings.note("input", warning.text_for_own_user()));
            }
        }
    }

    fn results(&self, findings: &mut Findings) {
        if let Some(path) = &self.doctor.output {
            match ResultFormat::check(path, None, self.doctor.existing) {
                Ok(_) => findings.good("output", format_args!("{} can be written", path.display())),
                Err(error) => findings.bad("output", error),
            }
        }
    }

    /// The list of those who may report, which proxies and databases read.
    fn participants(&self, setting: &ServiceConfig, findings: &mut Findings) {
        if self.doctor.me == "oracle" {
            return;
        }
        match setting.participants() {
            Err(error) => findings.bad("list", error),
            Ok(0) => findings.bad(
                "list",
                "no participant is allowed: list names and identities in a file, one a line, and set \
                 participants.allow to it",
            ),
            Ok(number) => {
                let told = format!("{} may report", counted(number as u64, "participant"));
                match setting.own().map(|own| own.own.round.min_participants) {
                    Ok(least) if number < least as usize => findings.bad(
                        "list",
                        format_args!("{told}, but round.min_participants = {least}: no shuffle can take place"),
                    ),
                    _ => findings.good("list", told),
                }
            }
        }
    }

    /// Whether the service's port can be had.
    fn listens(&self, setting: &ServiceConfig, service: Service, findings: &mut Findings) {
        let place = match (&self.doctor.listen, setting.place(service, None)) {
            (Some(listen), _) => listen.clone(),
            (None, Ok(Endpoint::At(address))) => address,
            (None, Ok(_)) => return,
            (None, Err(_)) if self.registry.is_some() => {
                return findings
                    .note("network", "the job file has no address for this role: give --listen, as for the service");
            }
            (None, Err(error)) => return findings.bad("network", error),
        };
        match listening_at(&place).map(|address| (TcpListener::bind(&address), address)) {
            Ok((Ok(_), address)) => findings.good("network", format_args!("can listen on {address}")),
            Ok((Err(error), address)) => findings.note(
                "network",
                format_args!(
                    "cannot listen on {address} ({error}): expected if the {} is running; else give another --listen",
                    self.doctor.me
                ),
            ),
            Err(error) => findings.bad("network", error),
        }
    }

    /// Reports the observations of a service.
    fn found(
        &self,
        setting: &ServiceConfig,
        looker: Prober,
        ProbeReport { name, address, seen }: ProbeReport,
        findings: &mut Findings,
    ) {
        let seen = match seen {
            Ok(seen) => seen,
            Err(error @ Error::Terms(_)) => {
                findings.good("network", format_args!("{name} answers at {address}, and has proved its identity"));
                return findings.bad("terms", format_args!("{error}: all parties need the same job file"));
            }
            Err(error @ Error::Network { .. }) => {
                return findings.note("network", format_args!("{error}: expected if it is not running yet"));
            }
            Err(error) => return findings.bad("network", error),
        };
        findings.good(
            "network",
            format_args!(
                "{name} answers at {address}, and each has proved its identity ({})",
                duration(seen.round_trip)
            ),
        );
        if let Some(group) = seen.group {
            findings.key_exchange("network", &name, group);
        }
        findings.clocks(&name, seen.clock_ahead.into());
        let agreement = Terms::of(&setting.spec).agreement();
        findings.good(
            "terms",
            format_args!("as {name}'s (agreement {}), which runs {}", &agreement[..16], seen.here.version),
        );
        if looker == Prober::Participant {
            match seen.here.check_name(&self.doctor.me, &name) {
                Ok(()) => findings.good("name", format_args!("{name} knows this identity as {}", self.doctor.me)),
                Err(error) => findings.bad("name", error),
            }
        }
    }
}
