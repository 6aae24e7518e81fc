//! `tacita init`

mod ask;
mod draft;
mod parties;
mod policy;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tacita_core::{Error, Result};
use toml::Value;

use super::help;
use crate::console::print;
use crate::interrupt;
use ask::{Asker, list, some};
use draft::{JobDraft, key};
use tacita_node::agreement::{Answering, CommonKey, InitQuestion, Job, JobSpec, Reveal};
use tacita_node::base::files::write_whole_new;
use tacita_node::base::text::{meant, pasted};
use tacita_node::jobs;
use tacita_node::table::Profile;
use tacita_node::table::inspect::{ColumnFacts, InspectOptions, look};
use tacita_node::table::read::ReadOptions;

/// Write a job file, by questions or from options.
///
/// Asks on a terminal; elsewhere, options give the answers. The file passes the same checks as in `tacita run`, and no
/// existing file is overwritten.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita init job.toml
  tacita init job.toml --job intersect \
    --party hospital=hospital.example:7400 --party insurer \
    --learns hospital --key name,dob --normalize name,date --yes
  tacita init job.toml --job intersect --party a --party b --party c \
    --via relay=relay.example:7450 --key id --learns a,b,c --yes")]
pub struct Init {
    /// File to write; - for standard output.
    #[arg(value_name = "FILE", default_value = "job.toml")]
    file: PathBuf,
    #[arg(long, help = format!("Job: {}", job_names().join(", ")), help_heading = help::TERMS)]
    job: Option<String>,
    /// Name of the job, the same at all parties.
    #[arg(long, help_heading = help::TERMS)]
    id: Option<String>,
    /// Party, in the order of the job file. Each party listens at its address, HOST:PORT, for those after it. In an
    /// aggregation: proxy, oracle and database, each with its address.
    #[arg(long, value_name = "NAME[=ADDRESS]", help_heading = help::PARTIES)]
    party: Vec<String>,
    /// Connection of the parties: direct, relay[=HOST:PORT], helper[=HOST:PORT] or desk. With relay, all parties dial
    /// out. With helper, it does the work in their place (protocol "outsourced"). With desk, the first party serves a
    /// list, and the second stands for all desks.
    #[arg(long, value_name = "WAY", help_heading = help::PARTIES)]
    via: Option<String>,
    /// Fingerprint of a party, as its `tacita identity show` prints it. It can be added later.
    #[arg(long, value_name = "NAME=SHA256:...", help_heading = help::PARTIES)]
    identity: Vec<String>,
    /// Kind of result.
    #[arg(long, value_name = "WORD", help_heading = help::TERMS)]
    reveal: Option<String>,
    /// Parties that learn the result.
    #[arg(long, value_name = "NAME,...", help_heading = help::TERMS)]
    learns: Option<String>,
    /// Columns that a party gives, with --reveal payload, sum:COLUMN or mean:COLUMN, or with the rows of a union.
    #[arg(long, value_name = "NAME=A,B", help_heading = help::TERMS)]
    gives: Vec<String>,
    /// Columns to match rows by. NAME=HEADER if the header in --input differs from the agreed name;
    /// for other parties, --set parties.PARTY.columns.NAME=HEADER.
    #[arg(long, value_name = "A,B", help_heading = help::MATCHING)]
    key: Option<String>,
    /// Normalisation profiles, one a key column.
    #[arg(long, value_name = "PROFILE,...", requires = "key", help_heading = help::MATCHING)]
    normalize: Option<String>,
    /// Any other key of the job file, as min_support=1% or limits.max_rows=1000.
    #[arg(long, value_name = "KEY=VALUE", help_heading = help::TERMS)]
    set: Vec<String>,
    /// Table whose columns and fitting profiles are offered as answers.
    #[arg(long, value_name = "FILE", help_heading = help::INPUT)]
    input: Option<PathBuf>,
    /// Owner of that table, or of that policy [default: the first party].
    #[arg(long = "as", value_name = "NAME", help_heading = help::INPUT)]
    me: Option<String>,
    /// Also write a policy by which that party takes part in this job, and in no other.
    #[arg(long, value_name = "FILE", help_heading = help::GOVERNANCE)]
    policy: Option<PathBuf>,
    /// Ask nothing: take the usual answer where no option gives another.
    #[arg(long, help_heading = help::TERMS)]
    yes: bool,
}

/// The value of a key, if it is there, and own headers by the names that are agreed on.
type Answer = (Option<Value>, Vec<(String, String)>);

/// Facts known of the own table.
struct Own {
    /// Name of the party that owns the table.
    party: String,
    source: String,
    columns: Vec<ColumnFacts>,
}

impl Init {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let to_screen = self.file.as_os_str() == "-";
        if !to_screen && self.file.symlink_metadata().is_ok() {
            return Err(Error::Input(format!(
                "{}: already exists, and is not overwritten; name another file",
                self.file.display()
            )));
        }
        policy::check(&self)?;
        let asker = Asker::new(self.yes);
        if asker.is_heard() {
            interrupt::calls(|| ());
        }
        let (text, missing) = self.text(&asker)?;
        if to_screen {
            print(text.trim_end())?;
        } else {
            write_whole_new(&self.file, text.as_bytes())?;
            tracing::info!(
                "wrote {0}: give it to all parties; next, see `tacita plan --help`",
                pasted(self.file.display())
            );
        }
        self.policy.iter().try_for_each(|path| policy::write(path, &text, self.me.as_deref()))?;
        if !missing.is_empty() {
            tracing::warn!("the job file has no {} yet: fill in before a run", missing.join(", "));
        }
        Ok(())
    }

    /// The text of a file that makes sense, and the keys in it that are left to be filled in.
    fn text(&self, asker: &Asker) -> Result<(String, Vec<String>)> {
        let mut draft = JobDraft::default();
        let job = self.question(asker)?;
        draft.set(key("job"), job.name(), job.info().about);
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let usual = stem.filter(|stem| !["job", "-"].contains(&stem.as_str())).unwrap_or_else(|| job.name().to_owned());
        let id = asker.ask(("--id", "The parties' name for this job"), self.id.clone(), Some(&usual), some)?;
        draft.set(key("id"), id, "name of this job, the same at all parties");
        let names = match job.served() {
            Some(served) => {
                self.members(asker, served.roles, &mut draft)?;
                Vec::new()
            }
            None => self.parties(asker, &*job, &mut draft)?,
        };
        let own = self.own(&names)?;
        let given = pairs("--set", &self.set)?;
        let mut asked = Vec::new();
        for question in job.info().questions {
            self.answer(asker, question, &given, own.as_ref(), &mut asked, &mut draft)?;
        }
        let answered = |name: &str| job.info().questions.iter().any(|question| question.key == name);
        for (name, value) in given.iter().filter(|(name, _)| !answered(name)) {
            draft.set(key(name), typed(value), "");
        }
        if let Some(own) = &own {
            own.offer_to_others(&names, &mut draft);
        }
        let text = self.learners(asker, &*job, &names, &mut draft)?;
        Ok((text, draft.missing()))
    }

    /// Asks for the kind of job.
    fn question(&self, asker: &Asker) -> Result<Arc<dyn Job>> {
        let names = job_names();
        jobs::usual().try_for_each(|job| asker.tell(&format!("  {:10} {}", job.name(), job.info().about)))?;
        let read = |answer: &str| {
            let found = jobs::usual().find(|job| job.name() == answer);
            let meant = meant(answer, names.iter().copied());
            found.ok_or_else(|| {
                Error::Input(format!("unknown job \"{answer}\"{meant}: use one of {}", names.join(", ")))
            })
        };
        asker.ask(("--job", "Which job"), self.job.clone(), None, read)
    }

    /// The own table, if the user names it.
    fn own(&self, names: &[String]) -> Result<Option<Own>> {
        let Some(path) = &self.input else { return Ok(None) };
        let party = match self.me.clone().or_else(|| names.first().cloned()) {
            Some(party) => party,
            None => return Err(Error::Input("--input: the owner of the table is unknown; add --as NAME".into())),
        };
        if !names.is_empty() && !names.contains(&party) {
            let meant = meant(&party, names.iter().map(String::as_str));
            return Err(Error::Input(format!("--as {party}{meant}: the parties are {}", names.join(" and "))));
        }
        let looked = look(path, &ReadOptions::default(), &InspectOptions::default())?;
        let columns = looked.columns.into_iter().filter(|column| !column.is_index).collect();
        Ok(Some(Own { party, source: looked.source, columns }))
    }

    /// Asks one of a job's own questions, and writes the answer down. `asked` are the headers of the columns that were
    /// last asked for.
    fn answer(
        &self,
        asker: &Asker,
        question: &InitQuestion,
        given: &BTreeMap<String, String>,
        own: Option<&Own>,
        asked: &mut Vec<String>,
        draft: &mut JobDraft,
    ) -> Result<()> {
        let (option, short) = match question.key {
            "key.columns" => ("--key".to_owned(), self.key.clone()),
            "key.normalize" => ("--normalize".to_owned(), self.normalize.clone()),
            other => (format!("--set {other}=..."), None),
        };
        let given = short.or_else(|| given.get(question.key).cloned());
        let read_off_table = own.filter(|_| given.is_none() && question.answer == Answering::Profiles);
        let fit = own.filter(|_| question.answer == Answering::Profiles).map(|own| own.profiles(asked));
        if let (Some(own), Answering::Columns) = (own, question.answer) {
            let columns = own
                .columns
                .iter()
                .map(|column| format!("{} ({})", column.name, own.profiles(std::slice::from_ref(&column.name))));
            asker.tell(&format!("  {} has the columns {}", own.source, columns.collect::<Vec<_>>().join(", ")))?;
        }
        let usual = fit.as_deref().or(question.usual).map(|usual| match question.answer {
            // One for each column.
            Answering::Profiles if !usual.contains(',') => vec![usual; asked.len().max(1)].join(","),
            _ => usual.to_owned(),
        });
        let check = |answer: &str| -> Result<Answer> {
            match (answer, question.answer) {
                ("", _) if question.usual != Some("") => Err(Error::Input("an answer is required".into())),
                ("", _) => Ok((None, Vec::new())),
                ("*", Answering::Columns) => Ok((Some("*".into()), Vec::new())),
                (_, Answering::Word) => Ok((Some(typed(answer)), Vec::new())),
                (_, Answering::Profiles) => {
                    let profiles = list(answer);
                    for profile in &profiles {
                        profile.parse::<Profile>()?;
                    }
                    if profiles.len() == asked.len() {
                        Ok((Some(profiles.into()), Vec::new()))
                    } else {
                        Err(Error::Input(format!(
                            "{} profiles for {} columns; give one for each column",
                            profiles.len(),
                            asked.len()
                        )))
                    }
                }
                (_, Answering::Columns) => {
                    let (names, mapping) = super::pair::named_columns("columns", &list(answer))?;
                    let mapping: Vec<_> = mapping.into_iter().collect();
                    if let Some(own) = own {
                        own.check(&names, &mapping)?;
                    } else if !mapping.is_empty() {
                        return Err(Error::Input(
                            "NAME=HEADER needs --input and --as, to know whose header it is; without the table, use --set \
                             parties.PARTY.columns.NAME=HEADER"
                                .into(),
                        ));
                    }
                    Ok((Some(names.into()), mapping))
                }
            }
        };
        let (value, mapping) = asker.ask((&option, question.asks), given, usual.as_deref(), check)?;
        let Some(value) = value else { return Ok(()) };
        if question.answer == Answering::Columns {
            let names = value.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str);
            let header = |name: &str| {
                mapping.iter().find(|(logical, _)| logical == name).map_or(name, |(_, header)| header).to_owned()
            };
            *asked = names.map(header).collect();
        }
        let value = read_off_table.map_or(value.clone(), |own| own.profiles_of_all(value, draft));
        draft.set(key(question.key), value, question.means);
        if let (Some(own), false) = (own, mapping.is_empty()) {
            let columns: toml::Table = mapping.into_iter().map(|(name, header)| (name, Value::from(header))).collect();
            draft.set(party_key(&own.party, "columns"), Value::Table(columns), OWN_HEADERS);
        }
        Ok(())
    }

    /// Asks who learns what. This is the last question, so that the check of the whole file can say who has to learn
    /// something. Returns the text.
    fn learners(&self, asker: &Asker, job: &dyn Job, names: &[String], draft: &mut JobDraft) -> Result<String> {
        let mut usual = job.info().usual_reveal.to_string();
        if job.served().is_some() && !draft.has("round.value") {
            usual = usual.replace("+values", "");
        }
        let words = job.info().reveals.join(", ");
        let known = |answer: &str| match answer.parse::<Reveal>() {
            Ok(reveal) if job.info().reveals.contains(&reveal.kind()) => Ok(answer.to_owned()),
            _ => Err(Error::Input(format!("reveal = \"{answer}\" is not for this job: use one of {words}"))),
        };
        let reveal = match job.info().reveals {
            [one] => self.reveal.clone().unwrap_or_else(|| (*one).to_owned()),
            _ => asker.ask(
                ("--reveal", &format!("What is learned: {words}")),
                self.reveal.clone(),
                Some(&usual),
                known,
            )?,
        };
        draft.set(key("reveal"), reveal.clone(), &format!("kind of result: one of {words}"));
        let summed = ["sum:", "mean:"].into_iter().find_map(|word| reveal.strip_prefix(word));
        if !self.gives.is_empty() || job.has(CommonKey::Gives) && (reveal == "payload" || summed.is_some()) {
            let column = summed.zip(names.get(1)).map(|(columns, name)| format!("{name}={columns}"));
            let given = (!self.gives.is_empty()).then(|| self.gives.join(";"));
            let read = |answer: &str| pairs("--gives", &answer.split(';').map(str::to_owned).collect::<Vec<_>>());
            let gives =
                asker.ask(("--gives", "Whose columns the other gets, as NAME=A,B"), given, column.as_deref(), read)?;
            let table: toml::Table = gives.into_iter().map(|(name, columns)| (name, list(&columns).into())).collect();
            draft.set(key("gives"), Value::Table(table), "columns that a party gives to those who learn");
        }
        const MEANS: &str = "parties that learn the result";
        let words = job.served().map_or(&[][..], |served| served.audience);
        let first = names.first().map(String::as_str).or(words.first().copied()).unwrap_or_default().to_owned();
        draft.set(key("reveal_to"), vec![first.clone()], MEANS);
        // In some jobs the second has to, or all, as the check of the file knows.
        let mut alone = names.iter().find(|name| {
            draft.set(key("reveal_to"), vec![(*name).clone()], MEANS);
            JobSpec::parse(&draft.text(), false).is_ok()
        });
        let usual = match names {
            [] => first,
            // Of a list that is served, those learn who ask it.
            [_, asks] if draft.has("clients.") => asks.clone(),
            _ => alone.take().cloned().unwrap_or_else(|| names.join(",")),
        };
        let known = |answer: &str| {
            let (learners, mut all) = (list(answer), names.iter().map(String::as_str).chain(words.iter().copied()));
            match learners.iter().find(|name| !all.clone().any(|known| known == *name)) {
                // Whoever takes part in an aggregation may be named, and is in no list here.
                Some(name) if job.served().is_none() => {
                    let meant = meant(name, all.by_ref());
                    Err(Error::Input(format!("\"{name}\" is no party of this job{meant}: use {}", names.join(", "))))
                }
                _ => Ok(learners),
            }
        };
        let learners = asker.ask(("--learns", "Who learns it"), self.learns.clone(), Some(&usual), known)?;
        draft.set(key("reveal_to"), learners, MEANS);
        let text = draft.text();
        if let Err(error) = JobSpec::parse(&text, false) {
            // So that nobody has to answer all of it once more.
            asker.tell(&text)?;
            return Err(Error::Input(format!("the answers make no job: {error}")));
        }
        Ok(text)
    }
}

impl Own {
    /// The profiles that read these columns, the first one where several do.
    fn profiles(&self, headers: &[String]) -> String {
        let fit = |header: &String| {
            let column = self.columns.iter().find(|column| column.name == *header);
            column.and_then(|column| column.fitting.first()).map_or("none".to_owned(), ToString::to_string)
        };
        headers.iter().map(fit).collect::<Vec<_>>().join(",")
    }

    /// Returns the profiles for all parties. An order of dates and the like was read off this table alone, and goes
    /// into its party's part.
    fn profiles_of_all(&self, own: Value, draft: &mut JobDraft) -> Value {
        let words = own.as_array().into_iter().flatten().filter_map(Value::as_str);
        let profiles: Vec<Profile> = words.filter_map(|word| word.parse().ok()).collect();
        let all = Value::from(profiles.iter().map(Profile::kind).collect::<Vec<_>>());
        if all != own {
            draft.set(party_key(&self.party, "normalize"), own, OWN_FORMATS);
        }
        all
    }

    /// Shows the other parties where to map their headers and formats, if this one had to.
    fn offer_to_others(&self, names: &[String], draft: &mut JobDraft) {
        for (what, shape, means) in
            [("columns", "{ NAME = \"HEADER\" }", OWN_HEADERS), ("normalize", "[\"PROFILE\"]", OWN_FORMATS)]
        {
            if draft.has(&party_key(&self.party, what).join(".")) {
                let others = names.iter().filter(|name| **name != self.party);
                others.for_each(|name| draft.offer(party_key(name, what), shape, means));
            }
        }
    }

    /// Whether the table has these columns, under their own headers.
    fn check(&self, names: &[String], mapping: &[(String, String)]) -> Result<()> {
        let header = |name: &String| {
            mapping.iter().find(|(logical, _)| logical == name).map_or(name.clone(), |(_, header)| header.clone())
        };
        match names.iter().find(|name| !self.columns.iter().any(|column| column.name == header(name))) {
            None => Ok(()),
            Some(name) => {
                let known: Vec<_> = self.columns.iter().take(40).map(|column| column.name.as_str()).collect();
                Err(Error::Input(format!(
                    "{} has no column {:?}, but {}; if one of these holds it, write {name}=HEADER",
                    self.source,
                    header(name),
                    known.join(", ")
                )))
            }
        }
    }
}

/// Meanings of the keys by which a party maps its table.
const OWN_HEADERS: &str = "its own headers, where they differ";
const OWN_FORMATS: &str = "its own formats, where they differ";

/// A key in a party's part of the job file.
fn party_key(party: &str, of: &str) -> Vec<String> {
    vec!["parties".to_owned(), party.to_owned(), of.to_owned()]
}

/// The words for all jobs.
fn job_names() -> Vec<&'static str> {
    jobs::usual().map(|job| job.name()).collect()
}

/// `NAME=VALUE`, each name once.
fn pairs(option: &str, texts: &[String]) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for text in texts {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => (name.trim().to_owned(), value.to_owned()),
            _ => return Err(Error::Input(format!("{option} {text}: use NAME=VALUE"))),
        };
        if found.insert(name.clone(), value).is_some() {
            return Err(Error::Input(format!("{option}: {name} is given twice")));
        }
    }
    Ok(found)
}

/// An integer, a list or what else TOML reads as such; else a text, so that `1%` and `0.5` need no quotes: a decimal
/// stays exact.
fn typed(text: &str) -> Value {
    let read = toml::from_str::<toml::Table>(&format!("value = {text}")).ok().filter(|table| table.len() == 1);
    let read = read.and_then(|mut table| table.remove("value"));
    read.filter(|value| !matches!(value, Value::Float(_) | Value::Datetime(_))).unwrap_or_else(|| Value::from(text))
}
