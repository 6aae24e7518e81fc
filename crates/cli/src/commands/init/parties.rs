//! Parties of a job, and the connections between them.

use tacita_core::{Error, Result};
use tacita_node::agreement::{CommonKey, Job, check_name};
use tacita_node::base::text::meant;
use tacita_node::identity::Fingerprint;
use toml::Value;

use super::ask::{Asker, some};
use super::draft::{JobDraft, key};
use super::{Init, pairs};

/// Way in which parties reach each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    Relay,
    Helper,
    Desk,
}

impl Way {
    const ALL: [(Way, &str); 4] =
        [(Way::Direct, "direct"), (Way::Relay, "relay"), (Way::Helper, "helper"), (Way::Desk, "desk")];

    /// Returns the ways that a job has.
    fn of(job: &dyn Job) -> Vec<(Way, &'static str)> {
        let has = |way: &Way| match way {
            Way::Direct | Way::Relay => true,
            Way::Helper => job.has(CommonKey::Helper),
            Way::Desk => job.has(CommonKey::Clients),
        };
        Way::ALL.into_iter().filter(|(way, _)| has(way)).collect()
    }
}

/// A party as far as it is known.
struct Member {
    name: String,
    address: String,
    identity: String,
}

impl Init {
    /// Names, addresses and fingerprints of the parties, and of who stands between them; returns the names.
    pub(super) fn parties(&self, asker: &Asker, job: &dyn Job, draft: &mut JobDraft) -> Result<Vec<String>> {
        let (way, between) = self.way(asker, job)?;
        let most = if way == Way::Desk { 2 } else { job.info().most_parties };
        if self.party.len() > most {
            let more = if most == 2 { "; see docs/guides/dot.md for clients" } else { "" };
            return Err(Error::Input(format!(
                "--party: there are {}, and job = \"{}\" writes jobs of {} at most{more}",
                self.party.len(),
                job.name(),
                if most == 2 { "two".to_owned() } else { most.to_string() }
            )));
        }
        let listens = matches!(way, Way::Direct | Way::Desk);
        let mut members: Vec<Member> = Vec::new();
        let identities = pairs("--identity", &self.identity)?;
        while let Some((name, given)) = self.name(asker, way, &members, most)? {
            let own = match given {
                Some(given) => asker.ask(("--party", "Its address"), Some(given), None, address)?,
                None if listens && self.party.is_empty() && members.is_empty() => {
                    let question = ("--party NAME=ADDRESS", "Its address, as HOST:PORT; empty to fill it in later");
                    asker.ask(question, None, Some(""), address)?
                }
                None => String::new(),
            };
            // With another one behind it, the one before is dialed, too.
            if let [_, .., before] = &mut members[..]
                && listens
                && self.party.is_empty()
            {
                let question = format!(
                    "Address of {}, where {name} dials it, as HOST:PORT; empty to fill it in later",
                    before.name
                );
                before.address = asker.ask(("--party NAME=ADDRESS", &question), None, Some(""), address)?;
            }
            let question = format!("Fingerprint of {name} (`tacita identity show` there); empty to fill it in later");
            let identity = asker.ask(("--identity", &question), identities.get(&name).cloned(), Some(""), pin)?;
            members.push(Member { name, address: own, identity });
        }
        let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        let word = between.as_ref().map(|between| between.0);
        if let Some(name) = identities.keys().find(|name| !names.contains(name) && word != Some(name.as_str())) {
            let meant = meant(name, names.iter().map(String::as_str));
            return Err(Error::Input(format!("--identity: no party is called \"{name}\"{meant}")));
        }
        write(way, &members, draft);
        if let Some((word, address)) = between {
            let question =
                format!("Fingerprint of the {word} (`tacita identity show` there); empty to fill it in later");
            let identity = asker.ask(("--identity", &question), identities.get(word).cloned(), Some(""), pin)?;
            write_between(word, &address, &identity, draft);
            if let (Way::Helper, Some(helped)) = (way, job.capabilities().helped) {
                draft.set(key("protocol"), helped.protocol().name(), "the helper does the work");
            }
        }
        if way == Way::Desk {
            self.desk(asker, draft)?;
        }
        Ok(names)
    }

    /// Asks how the parties reach each other. Returns the way, and the intermediary with its address, which may be
    /// empty.
    fn way(&self, asker: &Asker, job: &dyn Job) -> Result<(Way, Option<(&'static str, String)>)> {
        let ways = Way::of(job);
        let words = ways.iter().map(|(_, word)| *word).collect::<Vec<_>>().join(", ");
        let read = |answer: &str| {
            let (word, given) = answer.split_once('=').map_or((answer, None), |(word, given)| (word, Some(given)));
            let way = ways.iter().find(|(_, known)| *known == word).ok_or_else(|| {
                let meant = meant(word, ways.iter().map(|(_, word)| *word));
                Error::Input(format!("\"{word}\" is no way for parties of this job{meant}: use one of {words}"))
            })?;
            match (way.0, given) {
                (Way::Direct | Way::Desk, Some(_)) => Err(Error::Input(format!(
                    "\"{answer}\": nobody stands between the parties, whose addresses --party gives"
                ))),
                (_, Some(given)) => Ok((*way, Some(address(given)?))),
                (_, None) => Ok((*way, None)),
            }
        };
        let question = format!("How the parties reach each other: {words}");
        let given = self.via.clone().or_else(|| (!self.party.is_empty()).then(|| "direct".to_owned()));
        let ((way, word), given) = asker.ask(("--via", &question), given, Some("direct"), read)?;
        match (way, given) {
            (Way::Direct | Way::Desk, _) => Ok((way, None)),
            (_, Some(address)) => Ok((way, Some((word, address)))),
            (_, None) if self.via.is_some() => Ok((way, Some((word, String::new())))),
            (_, None) => {
                let question = format!("Address of the {word}, as HOST:PORT; empty to fill it in later");
                Ok((way, Some((word, asker.ask(("--via", &question), None, Some(""), address)?))))
            }
        }
    }

    /// The name of the next party, and the address that an option gives; none after the last.
    fn name(
        &self,
        asker: &Asker,
        way: Way,
        members: &[Member],
        most: usize,
    ) -> Result<Option<(String, Option<String>)>> {
        let place = members.len();
        let given = self.party.get(place).map(|party| match party.split_once('=') {
            Some((name, address)) => (name.to_owned(), Some(address.to_owned())),
            None => (party.clone(), None),
        });
        let (given, address) = given.map_or((None, None), |(name, address)| (Some(name), address));
        if place == most || (place >= 2 && given.is_none() && !(self.party.is_empty() && asker.is_heard())) {
            return Ok(None);
        }
        let (about, usual) = match (place, way) {
            (0, Way::Direct) => ("Name of the first party, which listens", None),
            (1, Way::Direct) => ("Name of the second party, which dials it", None),
            (0, Way::Desk) => ("Name of the party that serves its list", None),
            (1, Way::Desk) => ("Name of the party that stands for all desks", None),
            (0, _) => ("Name of the first party", None),
            (1, _) => ("Name of the second party", None),
            _ => ("Name of another party; empty if there is none", Some("")),
        };
        let read = |name: &str| match name {
            "" if usual.is_some() => Ok(None),
            name if members.iter().any(|member| member.name == name) => {
                Err(Error::Input(format!("there is a party {name} already")))
            }
            name => check_name(&some(name)?).map(|()| Some(name.to_owned())),
        };
        let name = asker.ask(("--party NAME=ADDRESS", about), given, usual, read)?;
        Ok(name.map(|name| (name, address)))
    }

    /// Asks for the settings of the job file of a served list.
    fn desk(&self, asker: &Asker, draft: &mut JobDraft) -> Result<()> {
        let given = pairs("--set", &self.set)?;
        for (name, asks, usual, means) in [
            (
                "clients.allow",
                "File of those who may ask, beside the job file",
                "desks.txt",
                "a name and an identity on each line",
            ),
            (
                "limits.pad_to",
                "How many rows the list may ever have",
                "10000",
                "the table of the list is always as long as that",
            ),
            (
                "limits.daily_queries",
                "How many keys one desk may ask a day",
                "1000",
                "keys that one desk may ask a day",
            ),
        ] {
            let read = |answer: &str| some(answer).map(|answer| super::typed(&answer));
            let value = asker.ask((&format!("--set {name}"), asks), given.get(name).cloned(), Some(usual), read)?;
            draft.set(key(name), value, means);
        }
        Ok(())
    }

    /// Addresses and fingerprints of those who serve.
    pub(super) fn members(&self, asker: &Asker, roles: &[&str], draft: &mut JobDraft) -> Result<()> {
        let (addresses, identities) = (pairs("--party", &self.party)?, pairs("--identity", &self.identity)?);
        for (option, names) in [("--party", &addresses), ("--identity", &identities)] {
            if let Some(name) = names.keys().find(|name| !roles.contains(&name.as_str())) {
                return Err(Error::Input(format!(
                    "{option} {name}: this names {}: participants are in the file of participants.allow",
                    roles.join(", ")
                )));
            }
        }
        for role in roles {
            let mut member = toml::Table::new();
            let question = format!("Address of the {role}, as HOST:PORT; empty to fill it in later");
            let address = asker.ask(("--party", &question), addresses.get(*role).cloned(), Some(""), address)?;
            let question =
                format!("Fingerprint of the {role} (`tacita identity show` there); empty to fill it in later");
            let identity = asker.ask(("--identity", &question), identities.get(*role).cloned(), Some(""), pin)?;
            for (name, value) in
                [("address", address), ("identity", identity)].into_iter().filter(|(_, value)| !value.is_empty())
            {
                member.insert(name.to_owned(), value.into());
            }
            if member.is_empty() {
                draft.leave(key(role), "[{ address = \"HOST:PORT\", identity = \"SHA256:...\" }]", "")
            } else {
                draft.set(
                    key(role),
                    vec![Value::Table(member)],
                    "its address, and the fingerprint that its `tacita identity show` prints",
                );
            }
        }
        Ok(())
    }
}

/// `HOST:PORT`, or nothing.
fn address(answer: &str) -> Result<String> {
    let fits = answer.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if answer.is_empty() || fits {
        Ok(answer.to_owned())
    } else {
        Err(Error::Input(format!("\"{answer}\" is no address: use HOST:PORT, as hospital.example:7400")))
    }
}

/// A fingerprint, or nothing.
fn pin(answer: &str) -> Result<String> {
    match answer {
        "" => Ok(String::new()),
        pin => pin.parse::<Fingerprint>().map(|pin| pin.to_string()),
    }
}

/// Writes the parties down.
fn write(way: Way, members: &[Member], draft: &mut JobDraft) {
    let last = members.len().saturating_sub(1);
    for (place, member) in members.iter().enumerate() {
        let says = match (way, place) {
            (Way::Relay | Way::Helper, _) => "dials out",
            (Way::Desk, 0) => "serves its list",
            (Way::Desk, _) => "all desks",
            (_, 0) => "the first party listens, and chooses what the file leaves open",
            _ => "a later party dials the earlier ones",
        };
        let at = |of: &str| vec!["parties".to_owned(), member.name.clone(), of.to_owned()];
        draft.table(vec!["parties".to_owned(), member.name.clone()], says);
        let is_dialed = matches!(way, Way::Direct | Way::Desk) && place < last;
        match (member.address.as_str(), is_dialed) {
            ("", true) => draft.leave(at("address"), "\"HOST:PORT\"", "where later ones dial it"),
            ("", false) => (),
            (address, _) => draft.set(at("address"), address, "address at which it listens"),
        }
        match (member.identity.as_str(), way == Way::Desk && place == last) {
            // Each desk has its own, in the file of those who may ask.
            ("", true) => (),
            ("", false) => {
                draft.leave(at("identity"), "\"SHA256:...\"", "fingerprint, as its `tacita identity show` prints it")
            }
            (identity, _) => {
                draft.set(at("identity"), identity, "fingerprint, as its `tacita identity show` prints it")
            }
        }
    }
}

/// Writes down who stands between the parties.
fn write_between(word: &'static str, address: &str, identity: &str, draft: &mut JobDraft) {
    let at = |of: &str| vec![word.to_owned(), of.to_owned()];
    draft.table(vec![word.to_owned()], "all parties dial it");
    match address {
        "" => draft.leave(at("address"), "\"HOST:PORT\"", "address at which it listens"),
        address => draft.set(at("address"), address, "address at which it listens"),
    }
    match identity {
        "" => draft.leave(at("identity"), "\"SHA256:...\"", "fingerprint, as its `tacita identity show` prints it"),
        identity => draft.set(at("identity"), identity, "fingerprint, as its `tacita identity show` prints it"),
    }
}
