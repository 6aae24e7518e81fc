//! `tacita plan`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tacita_core::{Error, Result};

use super::{arguments, help};
use crate::console::print;
use crate::threads::set_threads;
use tacita_node::agreement::cost::Calibration;
use tacita_node::agreement::{Ability, Disclosure, DiskRun, JobSpec, PartyInput, RELAY_LEARNS, Sizes, Source};
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::json;
use tacita_node::base::text::{self, count, counted};
use tacita_node::jobs::aggregate::load;
use tacita_node::jobs::intersect::disk;
use tacita_node::jobs::intersect::live::{Live, at_a_glance, learned, protocol};
use tacita_node::jobs::on_disk::memory as disk_memory;
use tacita_node::plan::{self, assessment::assessment};
use tacita_node::transport::LinkShape;

/// Estimate a job's cost, and state what each party learns.
///
/// Prints protocol, rounds, bytes, memory and time before any data is sent. The figures are calibrated on this
/// machine.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita plan examples/patients/job.toml \
    --rows hospital=1000000 --rows insurer=500000 \
    --bandwidth 100Mbit --latency 20ms
  tacita plan examples/patients/job.toml \
    --input hospital=examples/patients/hospital.csv --rows insurer=150
  tacita plan examples/attackers/job.toml --load 500/s
  tacita plan examples/patients/job.toml \
    --rows hospital=1000000 --rows insurer=500000 --assessment")]
pub struct PlanCommand {
    /// Job file.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Number of distinct keys or rows of a party without --input. Not needed where limits.pad_to gives it.
    #[arg(long, value_name = "NAME=N", value_parser = arguments::named_count, help_heading = help::INPUT)]
    rows: Vec<(String, u64)>,
    /// Table of a party, for exact counts.
    #[arg(long, value_name = "NAME=FILE", value_parser = arguments::named_file, help_heading = help::INPUT)]
    input: Vec<(String, PathBuf)>,
    #[command(flatten)]
    reading: arguments::ReadingOf,
    /// Maximum total length of the columns that a party gives [default: 24 bytes a column].
    #[arg(long, value_name = "NAME=BYTES", value_parser = arguments::named_count, help_heading = help::INPUT)]
    row_bytes: Vec<(String, u64)>,
    /// One-way latency of the network, as 20ms.
    #[arg(long, value_name = "TIME", value_parser = arguments::latency, help_heading = help::CONNECTION)]
    latency: Option<Duration>,
    /// Bandwidth of the network, as 100Mbit.
    #[arg(long, value_name = "RATE", value_parser = arguments::bandwidth, help_heading = help::CONNECTION)]
    bandwidth: Option<u64>,
    /// Memory of a run with --work, as 2GiB: plan for tables on disk.
    #[arg(long, value_name = "SIZE", value_parser = arguments::memory, help_heading = help::RESOURCES)]
    memory: Option<u64>,
    /// Rate of reports from all participants of a standing aggregation, as 500/s, 2000000/h or 10000000/day. Prints
    /// how many proxies, oracles and databases it needs.
    #[arg(
        long,
        value_name = "N/TIME",
        value_parser = arguments::rate,
        conflicts_with_all = ["rows", "input", "memory", "latency", "bandwidth"],
        help_heading = help::AGGREGATION
    )]
    load: Option<f64>,
    /// Reports in one submission. In small submissions, each report costs a proxy more.
    #[arg(
        long,
        value_name = "N",
        requires = "load",
        default_value_t = load::AT_ONCE,
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = help::AGGREGATION
    )]
    at_once: u64,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N", help_heading = help::RESOURCES)]
    threads: Option<usize>,
    /// Print the plan as JSON.
    #[arg(long, help_heading = help::RESULT)]
    json: bool,
    /// Print a template of a data protection impact assessment in Markdown, filled in from the plan.
    #[arg(long, conflicts_with_all = ["json", "load"], help_heading = help::RESULT)]
    assessment: bool,
}

impl PlanCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let job = JobSpec::load(&self.job)?;
        if job.clients.is_some() {
            if self.assessment {
                return Err(Error::Input("--assessment is for runs, and this job serves a list ([clients])".into()));
            }
            return self.list(job);
        }
        if let Some(load) = self.load {
            return self.standing(&job, load);
        }
        let served = job.job.served().is_some();
        for list in [&self.rows, &self.row_bytes] {
            for (position, (name, _)) in list.iter().enumerate() {
                if !served {
                    job.party(name)?;
                }
                if list[..position].iter().any(|(earlier, _)| earlier == name) {
                    return Err(Error::Input(format!("{name} is given twice: give its number of rows once")));
                }
            }
        }
        self.reading.check(&job)?;
        if self.memory.is_some() {
            job.job.can(&job, Ability::Disk)?;
            disk_memory::enough_for_data(self.memory)?;
        }
        set_threads(self.threads)?;
        let (mut sizes, mut parts) = (BTreeMap::new(), BTreeMap::new());
        for name in self.names(&job)? {
            let (of_party, brought) = self.sizes(&job, name)?;
            let work = self.memory.map(|memory| DiskRun { memory: disk_memory::for_run(memory), kept: None });
            sizes.insert(name.to_owned(), of_party.with_work(work.as_ref()));
            parts.extend(brought.map(|part| (name.to_owned(), part)));
        }
        let network = LinkShape { latency: self.latency.unwrap_or_default(), bandwidth: self.bandwidth };
        let calibration = Calibration::measure(&mut fresh_rng()?)?;
        let plan = plan::plan(&job, &sizes, &parts, calibration, network)?;
        if self.json {
            let text = json(serde_json::to_string_pretty(&plan))?;
            print(text)?;
        } else if self.assessment {
            print(assessment(&job, &plan).trim_end())?;
        } else {
            self.print(&job, &plan)?;
        }
        Ok(())
    }

    /// Prints the number of instances of each role that a standing load needs, as measured on this machine.
    fn standing(&self, job: &JobSpec, reports: f64) -> Result<()> {
        set_threads(self.threads)?;
        let machine = Calibration::measure(&mut fresh_rng()?)?;
        let needed = load::needed(job, reports, self.at_once, &machine)?;
        if self.json {
            let plan = serde_json::json!({
                "reports_per_second": reports, "at_once": self.at_once, "cores_of_a_machine": machine.threads, "busy": load::BUSY, "roles": needed,
            });
            return print(json(serde_json::to_string_pretty(&plan))?);
        }
        let digits = if reports < 10.0 { 3 } else { 1 };
        print(format_args!(
            "For {reports:.digits$} reports a second, {} at once, on machines with {} like this one's, {:.0} % of them busy:",
            count(self.at_once),
            counted(machine.threads as u64, "core"),
            100.0 * load::BUSY
        ))?;
        print(format_args!(
            "\n{:<10}{:>10}{:>12}{:>14}{:>18}",
            "role", "machines", "cores busy", "sent a second", "on disk a day"
        ))?;
        for (role, needed) in &needed {
            print(format_args!(
                "{role:<10}{:>10}{:>12.3}{:>14}{:>18}",
                count(needed.machines),
                needed.cores,
                text::bytes(needed.bytes_per_second.ceil() as u64),
                needed.disk_per_day.map_or_else(|| "-".into(), |bytes| text::bytes(bytes.ceil() as u64))
            ))?;
        }
        print(
            "\nAdd one machine of each role to tolerate a failure. The figures assume that every key passes. \
             Proxies free their disk when reports are sent, databases when the round is removed.",
        )
    }

    /// Prints the cost of a served list. Serving is not a run, and the size is given by the job, whatever the parties
    /// bring.
    fn list(&self, job: JobSpec) -> Result<()> {
        if let Some((name, _)) = self.rows.first() {
            return Err(Error::Input(format!(
                "--rows {name}: a served list ([clients]) is padded to limits.pad_to; omit --rows"
            )));
        }
        let desk = job.receiver().to_owned();
        let live = Live::of(job, &desk)?;
        let params = live.params;
        let (table, asked) = (params.table_bytes() as u64, live.keys() * params.suite.element_bytes());
        let parties = [&live.desk, &live.authority];
        let learned = parties.map(|party| (party.clone(), learned(&live.job, party)));
        if self.json {
            let learned: BTreeMap<_, _> = learned.into_iter().collect();
            let plan = serde_json::json!({
                "protocol": "ecdh", "table_bytes": table, "row_bytes": asked, "change_bytes": params.tag_bytes, "learned": learned,
            });
            return print(json(serde_json::to_string_pretty(&plan))?);
        }
        print(protocol(&live))?;
        print(format!(
            "A desk fetches {} once an epoch, and {} for each change; to ask for a row, {} travel each way.",
            text::bytes(table),
            text::bytes(params.tag_bytes as u64),
            text::bytes(asked as u64)
        ))?;
        glance(&at_a_glance(&live.job), &live.job.parties.names())?;
        for (party, sentences) in learned {
            print(format!("\n{party}:"))?;
            sentences.iter().try_for_each(|sentence| print(format!("  - {sentence}")))?;
        }
        Ok(())
    }

    /// Returns the parties that bring an input: all parties, or those who are named where others may come, too.
    fn names<'a>(&'a self, job: &'a JobSpec) -> Result<Vec<&'a str>> {
        let Some(served) = job.job.served() else { return Ok(job.parties.names()) };
        if let Some((name, _)) = self.input.first() {
            return Err(Error::Input(format!(
                "--input {name}: a plan of an aggregation takes numbers only; give the number of reports, as \
                 --rows {name}=N"
            )));
        }
        let names: Vec<&str> = self.rows.iter().map(|(name, _)| name.as_str()).collect();
        match (names.is_empty(), names.iter().find(|name| served.roles.contains(name))) {
            (true, _) => Err(Error::Input(format!(
                "the number of {} of each participant is missing: add --rows NAME=N for each",
                job.item_noun()
            ))),
            (false, Some(role)) => {
                Err(Error::Input(format!("--rows {role}: a role has no reports of its own; name participants")))
            }
            (false, None) => Ok(names),
        }
    }

    /// Returns the sizes of a party's input, and the input itself if that is there.
    fn sizes(&self, job: &JobSpec, name: &str) -> Result<(Sizes, Option<Box<dyn PartyInput>>)> {
        let inputs: Vec<_> =
            self.input.iter().filter(|(party, _)| party == name).map(|(_, path)| path.clone()).collect();
        if !inputs.is_empty() {
            let source = Source::of(job, name, inputs, self.reading.options(name), false)?;
            let part = job.job.load(job, name, &source, None)?;
            return Ok((part.sizes(), Some(part)));
        }
        let things = job.item_noun();
        let find = |list: &[(String, u64)]| list.iter().find(|(party, _)| party == name).map(|(_, number)| *number);
        // Who is padded is as large as the terms say, whatever it has.
        let padded = job.limits.pad_to.filter(|_| job.job.pads(job, name));
        let items = find(&self.rows).or(padded).ok_or_else(|| {
            Error::Input(format!("how many {things} has {name}? Add --rows {name}=N, or --input {name}=FILE"))
        })?;
        if let Some(bound) = padded.filter(|bound| items > *bound) {
            return Err(Error::Input(format!(
                "--rows {name}={items}: exceeds limits.pad_to = {}; agree on a higher bound",
                count(bound)
            )));
        }
        if items > u64::from(u32::MAX) {
            return Err(Error::Input(format!("--rows {name}={items}: exceeds the maximum of {} {things}", u32::MAX)));
        }
        Ok((job.job.assumed(job, name, padded.unwrap_or(items), find(&self.row_bytes))?, None))
    }

    fn print(&self, job: &JobSpec, plan: &plan::Plan) -> Result<()> {
        print(format_args!("Protocol  {} ({}, {}): {}", plan.choice, job.security, job.level, plan.why))?;
        let least = if plan.notes.is_empty() { "" } else { "at least " };
        let handshake = if job.job.served().is_some() { "" } else { ", the handshake's included" };
        print(format_args!("Rounds    {least}{} message flights{handshake}", plan.rounds))?;
        let total: u64 = plan.parties.values().map(|share| share.bytes_sent).sum();
        print(format_args!("Traffic   {least}{} in all, TLS aside", text::bytes(total)))?;
        let time = |seconds: f64| text::duration(Duration::from_secs_f64(seconds));
        print(format_args!(
            "Time      {least}{} if each party has a machine like this one, {} if all share this one; reading and writing \
             tables {}",
            time(plan.seconds_apart),
            time(plan.seconds_together),
            if plan.buckets.is_some() { "included, as far as they cost CPU" } else { "not counted" }
        ))?;
        if let Some(buckets) = plan.buckets {
            let buckets = counted(buckets as u64, "bucket");
            print(format_args!("Buckets   {buckets}, {} at a time, with --work", disk::at_once(job)))?;
        }
        if self.bandwidth.is_none() {
            print("          assumes an unlimited network; give --bandwidth and --latency to estimate yours")?;
        }
        for note in &plan.notes {
            print(format_args!("          {note}"))?;
        }
        let names = match job.job.served() {
            Some(served) => served.roles.iter().copied().chain(readers(plan, served.roles)).collect(),
            None => job.parties.names(),
        };
        glance(&plan.at_a_glance, &names)?;
        for (name, share) in &plan.parties {
            let besides = match share.disk {
                Some(disk) => format!("of memory, and about {} on disk", text::bytes(disk)),
                None => "besides its table".into(),
            };
            print(format_args!(
                "\n{name}: {}, sends {least}{}, needs {least}{} of CPU and up to {} {besides}",
                counted(share.items, job.thing()),
                text::bytes(share.bytes_sent),
                time(share.cpu_seconds),
                text::bytes(share.memory)
            ))?;
            for sentence in &share.learned {
                print(format_args!("  - {sentence}"))?;
            }
        }
        if let Some(helper) = &plan.helper {
            let who = match &job.helper {
                Some(_) => "the helper",
                None => "the helper (the first party in its place, beside its own work)",
            };
            print(format_args!(
                "\n{who}: is sent {}, sends {}, needs {} of CPU",
                text::bytes(helper.bytes_received),
                text::bytes(helper.bytes_sent),
                time(helper.cpu_seconds)
            ))?;
            for sentence in &helper.learned {
                print(format_args!("  - {sentence}"))?;
            }
        }
        if job.relay.is_some() {
            print(format_args!("\nthe relay: carries all of it\n  - {}.", RELAY_LEARNS))?;
        }
        if let Some(bound) = job.limits.pad_to {
            let padded: Vec<_> = job.parties.names().into_iter().filter(|name| job.job.pads(job, name)).collect();
            let whose = match padded[..] {
                [one] => format!("{one}'s set is"),
                _ => "Sets are".to_owned(),
            };
            print(format_args!("\n{whose} padded to {}: time and traffic are those of full ones.", count(bound)))?;
        }
        for warning in &plan.warnings {
            print(format_args!("\nWarning: {warning}."))?;
        }
        Ok(())
    }
}

/// Heading of what a party lacks. The sentences below the table say what it can learn otherwise.
const LACKS: &str = "Does not learn by itself, if all follow the protocol (exceptions below)";

/// Prints who learns what, as a table with a row for each party.
fn glance(things: &[Disclosure], names: &[&str]) -> Result<()> {
    if things.is_empty() {
        return Ok(());
    }
    let width = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let first = width(&mut names.iter().copied().chain(["Party"]));
    let second = width(&mut things.iter().map(|thing| thing.what.as_str()).chain(["Learns"]));
    print(format_args!("\n{:first$}  {:second$}  {LACKS}", "Party", "Learns"))?;
    for name in names {
        let (learns, lacks) = Disclosure::split(things, name);
        for line in 0..learns.len().max(lacks.len()) {
            let cell = |things: &[&Disclosure]| things.get(line).map_or(String::new(), |thing| thing.what.clone());
            let party = if line == 0 { name } else { "" };
            let row = format!("{party:first$}  {:second$}  {}", cell(&learns), cell(&lacks));
            print(row.trim_end())?;
        }
    }
    Ok(())
}

/// Returns the parties, other than the roles, that learn something.
fn readers<'a>(plan: &'a plan::Plan, roles: &[&str]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for party in plan.at_a_glance.iter().flat_map(|line| &line.parties) {
        if !roles.contains(&party.as_str()) && !found.contains(&party.as_str()) {
            found.push(party);
        }
    }
    found
}
