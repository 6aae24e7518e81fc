//! `tacita demo`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use tacita_core::{Error, Result};

use super::help;
use super::simulate::program;
use crate::console::print;
use crate::interrupt;
use tacita_aggregate::simulate as aggregate;
use tacita_node::agreement::{JobSpec, KnownSizes};
use tacita_node::base::files::Existing;
use tacita_node::base::text::pasted;
use tacita_node::simulate::{JobText, Settings, Simulation, simulate};
use tacita_node::table::output::Format;
use tacita_node::watch::NoProgress;

/// Run a guided tour on small built-in samples.
///
/// Runs real jobs between parties on this machine, in about a minute.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita demo
  tacita demo --output tour")]
pub struct Demo {
    /// Directory for samples and results.
    #[arg(long, value_name = "DIR", default_value = "tacita-demo", help_heading = help::RESULT)]
    output: PathBuf,
}

/// One stop of the tour.
struct Stop {
    title: &'static str,
    story: &'static str,
    name: &'static str,
    job: &'static str,
    inputs: &'static [(&'static str, &'static str)],
}

const HOSPITAL: &str = include_str!("../../../../examples/patients/hospital.csv");
const INSURER: &str = include_str!("../../../../examples/patients/insurer.csv");
const FIRE_DEPARTMENT: &str = include_str!("../../../../examples/patients/fire_department.csv");
const AIRLINE: &str = include_str!("../../../../examples/do-not-fly/airline.csv");
const AUTHORITY: &str = include_str!("../../../../examples/do-not-fly/authority.csv");

const SHOP: &str = include_str!("../../../../examples/dot/shop.csv");
const PARTNER: &str = include_str!("../../../../examples/dot/partner.csv");

const RECEIPTS: &str = include_str!("../../../../examples/rules/shop.csv");
const BAKERY: &str = include_str!("../../../../examples/rules/bakery.csv");

const CARD: &str = include_str!("../../../../examples/rules/card.csv");
const DELIVERY: &str = include_str!("../../../../examples/rules/delivery.csv");

const CLINIC: &str = include_str!("../../../../examples/crosstab/clinic.csv");
const LABORATORY: &str = include_str!("../../../../examples/crosstab/laboratory.csv");
const PAYMENTS: &str = include_str!("../../../../examples/crosstab/insurer.csv");

/// Observations of the seven observers, by observer name.
const OBSERVED: [(&str, &str); 7] = [
    ("observer_1", include_str!("../../../../examples/certificates/observer_1.csv")),
    ("observer_2", include_str!("../../../../examples/certificates/observer_2.csv")),
    ("observer_3", include_str!("../../../../examples/certificates/observer_3.csv")),
    ("observer_4", include_str!("../../../../examples/certificates/observer_4.csv")),
    ("observer_5", include_str!("../../../../examples/certificates/observer_5.csv")),
    ("observer_6", include_str!("../../../../examples/certificates/observer_6.csv")),
    ("observer_7", include_str!("../../../../examples/certificates/observer_7.csv")),
];

const TOUR: [Stop; 12] = [
    Stop {
        title: "Which of the hospital's patients does the insurer insure?",
        story: "The hospital writes \"LAST, First\" and ISO dates, the insurer \"First  last\" and dates without dashes: the \
                job file says how each is read. Each gets its own rows of the persons in common, and nothing of the other's.",
        name: "rows",
        job: include_str!("../../../../examples/patients/job.toml"),
        inputs: &[("hospital", HOSPITAL), ("insurer", INSURER)],
    },
    Stop {
        title: "And who pays for them?",
        story: "The same rows, with columns that the insurer gives. They travel sealed: only rows in common open.",
        name: "payload",
        job: include_str!("../../../../examples/patients/payload.toml"),
        inputs: &[("hospital", HOSPITAL), ("insurer", INSURER)],
    },
    Stop {
        title: "How many are there? (without saying who)",
        story: "The insurer learns the number. Nobody learns a name.",
        name: "count",
        job: include_str!("../../../../examples/patients/count.toml"),
        inputs: &[("hospital", HOSPITAL), ("insurer", INSURER)],
    },
    Stop {
        title: "Whom does either of them know?",
        story: "The hospital gets the insured persons that it has no record of, below its own. Whom they share stays hidden, \
                but for the number.",
        name: "union",
        job: include_str!("../../../../examples/patients/union.toml"),
        inputs: &[("hospital", HOSPITAL), ("insurer", INSURER)],
    },
    Stop {
        title: "What happened to the patients whom hospital, fire department and insurer all know?",
        story: "Three parties. The hospital gets its own rows of those whom all three know, joined with columns of the other two; \
                of somebody whom only two know, nobody learns anything.",
        name: "join",
        job: include_str!("../../../../examples/patients/join.toml"),
        inputs: &[("hospital", HOSPITAL), ("fire_department", FIRE_DEPARTMENT), ("insurer", INSURER)],
    },
    Stop {
        title: "Which passengers are on the do-not-fly list?",
        story: "The list stays with the authority, the other passengers with the airline.",
        name: "do-not-fly",
        job: include_str!("../../../../examples/do-not-fly/job.toml"),
        inputs: &[("airline", AIRLINE), ("authority", AUTHORITY)],
    },
    Stop {
        title: "How many customers buy coffee from the shop and cake from its partner?",
        story: "Each holds a column of zeros and ones about the same customers. They are multiplied row by row and added up; \
                both learn the sum, and nobody a row.",
        name: "dot",
        job: include_str!("../../../../examples/dot/job.toml"),
        inputs: &[("shop", SHOP), ("partner", PARTNER)],
    },
    Stop {
        title: "What do customers buy together at the shop and at the bakery next door?",
        story: "The association rules of both parties' receipts, exactly as if they were in one table. Rare things are not \
                even named. (With --html FILE there is a page with plots, too.)",
        name: "rules",
        job: include_str!("../../../../examples/rules/job.toml"),
        inputs: &[("shop", RECEIPTS), ("bakery", BAKERY)],
    },
    Stop {
        title: "And how does what they buy go with how it is paid, and how delivered?",
        story: "Rules among three: the shop, its payment provider and its delivery service. All learn the itemsets that are \
                frequent, whoever has their items. Of a combination that is rare, nobody learns anything but that it is rare.",
        name: "rules-of-three",
        job: include_str!("../../../../examples/rules/three.toml"),
        inputs: &[("shop", RECEIPTS), ("card", CARD), ("delivery", DELIVERY)],
    },
    Stop {
        title: "How many patients of each age have which diagnosis?",
        story: "The clinic knows ages, the laboratory diagnoses, and neither learns which patients both know. Cells with fewer \
                than five patients are closed, and so many others that nothing tells what is in them.",
        name: "crosstab",
        job: include_str!("../../../../examples/crosstab/job.toml"),
        inputs: &[("clinic", CLINIC), ("laboratory", LABORATORY)],
    },
    Stop {
        title: "And what was paid for them on average, says their insurer?",
        story: "A third party has the payments. The clinic gets the mean of each open cell, the insurer no cell at all. All \
                three learn which patients all know, and which cells are closed.",
        name: "crosstab-of-three",
        job: include_str!("../../../../examples/crosstab/three.toml"),
        inputs: &[("clinic", CLINIC), ("laboratory", LABORATORY), ("insurer", PAYMENTS)],
    },
    Stop {
        title: "Which certificate do most of seven observers see for a host?",
        story: "A proxy, an oracle and a database serve, and seven observers report. A host that fewer than four visit stays unknown, \
                and nobody learns who visits which.",
        name: "certificates",
        job: include_str!("../../../../examples/certificates/job.toml"),
        inputs: &OBSERVED,
    },
];

/// Lines of a result that the tour prints.
const SHOWN_LINES: usize = 6;
const SHOWN_COLUMNS: usize = 110;

impl Demo {
    /// Carries the command out.
    pub fn execute(self) -> Result<u8> {
        print("Every party below is a process of its own. They talk over TLS, each sees only its own file.")?;
        for (number, stop) in TOUR.iter().enumerate() {
            print(format_args!("\n{}. {}\n", number + 1, stop.title))?;
            print(format_args!("{}\n", wrap(stop.story)))?;
            let code = self.visit(stop)?;
            if code != 0 {
                return Ok(code);
            }
        }
        print(format_args!(
            "\nInputs, job files and results are in {}/. Next: docs/start.md, with two machines.",
            self.output.display()
        ))?;
        Ok(0)
    }

    fn visit(&self, stop: &Stop) -> Result<u8> {
        let directory = self.output.join(stop.name);
        let results = directory.join("results");
        std::fs::create_dir_all(&results)
            .map_err(|error| Error::Input(format!("{}: cannot make the directory: {error}", results.display())))?;
        let mut inputs = BTreeMap::new();
        for (party, text) in stop.inputs {
            let path = directory.join(format!("{party}.csv"));
            write(&path, text)?;
            inputs.insert((*party).to_owned(), vec![path]);
        }
        let job_path = directory.join("job.toml");
        write(&job_path, stop.job)?;
        let mut command = format!("tacita simulate {}", pasted(job_path.display()));
        for (party, path) in &inputs {
            command.push_str(&format!(" \\\n      --input {party}={}", pasted(path[0].display())));
        }
        print(format_args!("  $ {command} \\\n      --output {}\n", pasted(results.display())))?;

        let spec = JobSpec::parse(stop.job, false)?;
        let job = JobText { text: stop.job.into(), is_json: false };
        if spec.job.name() == "aggregate" {
            return among_many(&spec, job, inputs, results);
        }
        let simulation = Simulation {
            job,
            inputs,
            reading: BTreeMap::new(),
            output: Some(results.clone()),
            format: Format::Csv,
            html: None,
            // The directory is the tour's own: what an earlier one left in it is replaced.
            settings: Settings { force: true, ..Settings::default() },
            program: program()?,
        };
        let outcome = match simulate(&simulation, &NoProgress, interrupt::calls)? {
            Ok(outcome) => outcome,
            Err(failure) => {
                tracing::error!("{}: {}", failure.party, failure.text);
                return Ok(failure.code);
            }
        };
        for (party, lines) in &outcome.printed {
            for line in lines {
                print(format_args!("  {party}: {line}"))?;
            }
        }
        for party in spec.parties.names() {
            show_head(&results.join(format!("{party}.csv")))?;
        }
        print("\n  Who learned what:")?;
        for party in spec.parties.names() {
            let peer = &outcome.report["parties"][spec.peer_of(party)];
            let known = KnownSizes { items: peer["rows"]["items"].as_u64(), ..KnownSizes::default() };
            for sentence in spec.learned(party, known) {
                print(format_args!("  - {sentence}"))?;
            }
        }
        Ok(0)
    }
}

/// A job of which all participants learn the same: the first one stands for them.
fn among_many(spec: &JobSpec, job: JobText, inputs: BTreeMap<String, Vec<PathBuf>>, results: PathBuf) -> Result<u8> {
    let first = inputs.keys().next().cloned().unwrap_or_default();
    let simulation = aggregate::RoundSimulation {
        job,
        reading: BTreeMap::new(),
        inputs,
        output: Some(results.clone()),
        ending: Format::Csv.ending(),
        existing: Existing::Replaced,
        allow_unreadable: false,
        threads: None,
        at_once: 2,
        storage: None,
        directory: None,
        logged: false,
        program: program()?,
    };
    let outcome = match aggregate::simulate(&simulation, &NoProgress, interrupt::calls)? {
        Ok(outcome) => outcome,
        Err(failure) => {
            tracing::error!("{}: {}", failure.party, failure.text);
            return Ok(failure.code);
        }
    };
    for line in outcome.printed.iter().take(1).flat_map(|(_, lines)| lines) {
        print(format_args!("  all participants: {line}"))?;
    }
    show_head(&results.join(format!("{first}.csv")))?;
    print("\n  Who learned what:")?;
    for name in ["proxy", "oracle", "database", &first] {
        for sentence in spec.learned(name, KnownSizes::default()) {
            print(format_args!("  - {sentence}"))?;
        }
    }
    Ok(0)
}

fn write(path: &Path, text: &str) -> Result<()> {
    tacita_node::base::files::write_whole(path, text.as_bytes())
}

/// Prints the first lines of a result, cut to the width of a page.
fn show_head(path: &Path) -> Result<()> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(()) };
    print(format_args!("\n  {}:", path.display()))?;
    for line in text.lines().take(SHOWN_LINES) {
        let cut: String = line.chars().take(SHOWN_COLUMNS).collect();
        print(format_args!("    {cut}{}", if cut.len() < line.len() { " ..." } else { "" }))?;
    }
    let more = text.lines().count().saturating_sub(SHOWN_LINES);
    if more > 0 {
        print(format_args!("    ... and {more} more"))?;
    }
    Ok(())
}

/// Breaks a text into indented lines of at most 100 characters.
fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if lines.last().is_some_and(|line| line.chars().count() + word.chars().count() > 98) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("  {}", line.trim_start())).collect::<Vec<_>>().join("\n")
}
