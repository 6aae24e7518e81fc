//! Template of a data protection impact assessment, filled in from a job and its plan as far as these know.

use std::fmt::Write;

use tacita_core::Security;

use super::Plan;
use crate::agreement::{Disclosure, JobSpec, RELAY_LEARNS, Terms};
use crate::base::html::visible;
use crate::base::text::{count, counted};
use crate::govern::columns::UsedColumns;
use crate::govern::policy::informed;

/// Place that the reader fills in.
const OPEN: &str = "_To be filled in._";

/// Returns the template in Markdown. What no job file says is left to the reader: purpose, legal basis, necessity,
/// retention, and the decision.
pub fn assessment(job: &JobSpec, plan: &Plan) -> String {
    let mut page = format!("# Data protection impact assessment: {}\n", plain(&job.id));
    section(&mut page, "Purpose and legal basis", &[OPEN.to_owned()]);
    section(&mut page, "Processing", &processing(job, plan));
    section(&mut page, "Parties", &parties(job, plan));
    section(&mut page, "Categories of data", &data(job));
    section(&mut page, "What each party learns", &learned(job, plan));
    section(&mut page, "Security model", &security(job));
    section(&mut page, "Safeguards in the terms", &safeguards(job));
    section(&mut page, "Risks that stay", &risks(job, plan));
    let open = [
        "Necessity: why a result that tells less does not serve the purpose.",
        "Data subjects: how they are informed, and how they object.",
        "Retention: of the result, the report, the ledger and the receipts.",
        "Consultation, decision, date and signature.",
    ];
    section(&mut page, "Left to the reader", &open.map(|what| format!("- {what} {OPEN}")));
    page
}

fn section(page: &mut String, heading: &str, lines: &[String]) {
    let _ = writeln!(page, "\n## {heading}\n");
    lines.iter().for_each(|line| page.extend([line.as_str(), "\n"]));
}

/// A text of a job file, in which no character forms tables, links or tags.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in visible(text).chars() {
        if "\\`*_{}[]<>|#&".contains(c) {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(plain).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn row(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

fn table(heading: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let heading: Vec<_> = heading.iter().map(|cell| (*cell).to_owned()).collect();
    let under = vec!["---".to_owned(); heading.len()];
    [heading, under].into_iter().chain(rows).map(|cells| row(&cells)).collect()
}

fn processing(job: &JobSpec, plan: &Plan) -> Vec<String> {
    [
        format!("Job: {} (`job = \"{}\"`). {}", plain(&job.id), job.job.name(), plain(job.job.info().about)),
        format!("Result: `{}`, for {}.", job.reveal.kind(), list(job.reveal_to.iter().map(String::as_str))),
        format!("Protocol: {}, {}, {}.", plain(&plan.choice), job.security, job.level),
        format!("Fingerprint of the terms: `{}`.", Terms::of(job).agreement()),
    ]
    .map(|line| format!("- {line}"))
    .into()
}

fn parties(job: &JobSpec, plan: &Plan) -> Vec<String> {
    let identity = |name: &str| {
        let pin = job.party(name).ok().and_then(|party| party.identity);
        pin.map_or_else(|| "not in the job file".to_owned(), |pin| format!("`{pin}`"))
    };
    let of_plan =
        plan.parties.iter().map(|(name, share)| vec![plain(name), identity(name), counted(share.items, job.thing())]);
    let helper = job.helper.iter().map(|helper| {
        let pin = helper.identity.map_or_else(|| "not in the job file".to_owned(), |pin| format!("`{pin}`"));
        vec!["the helper".to_owned(), pin, "none of its own".to_owned()]
    });
    table(&["party", "identity", "brings"], of_plan.chain(helper))
}

fn data(job: &JobSpec) -> Vec<String> {
    let of_party = |name: &str| {
        let UsedColumns { keys, gives, computes, unnamed } = UsedColumns::of(job, name);
        let columns = |columns: &std::collections::BTreeSet<String>| list(columns.iter().map(String::as_str));
        let computes = if unnamed { "all columns of its table".to_owned() } else { columns(&computes) };
        vec![plain(name), columns(&keys), columns(&gives), computes]
    };
    let names = job.parties.names();
    let mut lines =
        table(&["party", "matches rows by", "gives to others", "computes on"], names.into_iter().map(of_party));
    lines.push(format!("\nSpecial categories of data among these columns, and whose data they are: {OPEN}"));
    lines
}

fn learned(job: &JobSpec, plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, share) in &plan.parties {
        let (_, lacks) = Disclosure::split(&plan.at_a_glance, name);
        lines.push(format!("**{}**\n", plain(name)));
        lines.extend(share.learned.iter().map(|sentence| format!("- {}", plain(sentence))));
        lines.extend(lacks.iter().map(|thing| format!("- It does not learn by itself: {}.", plain(&thing.what))));
        lines.push(String::new());
    }
    if let Some(helper) = &plan.helper {
        lines.push("**The helper**\n".to_owned());
        lines.extend(helper.learned.iter().map(|sentence| format!("- {}", plain(sentence))));
        lines.push(String::new());
    }
    lines.extend(job.relay.as_ref().map(|_| format!("**The relay**\n\n- {RELAY_LEARNS}.\n")));
    lines.pop_if(|line| line.is_empty());
    lines
}

fn security(job: &JobSpec) -> Vec<String> {
    let model = match job.security {
        Security::SemiHonest => {
            "Semi-honest: what each party learns is as above as long as all run the protocol as it is written. One that runs \
             another program may learn more."
        }
        Security::Malicious => "Malicious: what each party learns is as above whatever programs the others run.",
    };
    let lines = [
        model,
        "In both models a party chooses what it brings: invented rows are rows, and the result tells about them.",
        "Transport: TLS 1.3, in which each party proves its identity to the other.",
    ];
    lines.map(|line| format!("- {line}")).into()
}

fn safeguards(job: &JobSpec) -> Vec<String> {
    let terms = Terms::of(job);
    let limits = terms.json()["limits"].as_object().cloned().unwrap_or_default();
    let set = limits.into_iter().filter(|(_, value)| !value.is_null());
    let mut lines: Vec<_> =
        set.map(|(name, value)| format!("- `limits.{name}`: {}", plain(&value.to_string()))).collect();
    if lines.is_empty() {
        lines.push("- No limits are agreed on.".to_owned());
    }
    if let Some(bound) = job.limits.pad_to {
        lines.push(format!("- The number of rows is hidden behind {}.", count(bound)));
    }
    lines.push(format!("- Policy of each party, approvals, ledger and receipts: {OPEN}"));
    lines
}

fn risks(job: &JobSpec, plan: &Plan) -> Vec<String> {
    let mut lines: Vec<_> = plan.warnings.iter().map(|warning| format!("- {}.", plain(warning))).collect();
    for name in job.parties.names() {
        let told = informed(job, name);
        if !told.is_empty() {
            lines.push(format!(
                "- Repetition: {} learns something exact about the rows of {}. Two answers about rows of which one is missing tell that \
                 row. How many answers there may be: `exact_answers` in the policy of {}.",
                list(told),
                plain(name),
                plain(name)
            ));
        }
    }
    lines.push("- The result is information: whoever has it can join it with what it knows.".to_owned());
    lines.push(format!("- Risks to the rights of data subjects, their likelihood and severity: {OPEN}"));
    lines
}
