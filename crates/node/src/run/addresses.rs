//! Peers of a party and their addresses, as the job file states them, in the order of its parties.

use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Party, Topology};
use crate::run::connect::ConnectPlan;
use crate::transport::relay::RelayAddress;
use crate::transport::{LinkShape, Peer, depot};

/// Returns the plan by which a party of a job file meets its peers: a later party dials earlier ones.
pub fn meeting(job: &JobSpec, me: &str, listen: Option<String>) -> Result<ConnectPlan> {
    if job.topology() == Topology::Helper {
        return at_helper(job, me, listen);
    }
    let (mut dials, mut awaits) = (Vec::new(), Vec::new());
    let relay = job.relay.is_some().then(|| place(job)).transpose()?;
    for name in job.peers_of(me) {
        let pin = job.party(name)?.identity.ok_or_else(|| {
            Error::Input(format!(
                "parties.{name}.identity is missing: ask {name} for its fingerprint (`tacita identity show`)"
            ))
        })?;
        let peer = Peer { name: name.to_owned(), pin };
        if job.parties.position(me) < job.parties.position(name) {
            awaits.push(peer);
            continue;
        }
        let address = match &relay {
            Some(place) => Some(place.address.clone()),
            None => job.party(name)?.address.clone(),
        };
        let address = address.ok_or_else(|| {
            Error::Input(format!("parties.{name}.address is missing: {me} dials it, being the later party in the file"))
        })?;
        dials.push((peer, address));
    }
    if let Some(place) = relay {
        return match listen {
            Some(_) => Err(Error::Input(format!(
                "--listen: the job has a relay, at {}, where {me} meets the others: leave --listen out",
                place.address
            ))),
            None => Ok(ConnectPlan {
                dials,
                awaits,
                listen: String::new(),
                relay: Some(place),
                helper: None,
                announce: None,
                shape: LinkShape::default(),
            }),
        };
    }
    let listen = match (awaits.is_empty(), listen, &dials[..]) {
        (true, Some(_), [(peer, address), ..]) => {
            return Err(Error::Input(format!(
                "--listen: {me} is the later party in the file: it dials {} at {address}",
                peer.name
            )));
        }
        (true, ..) => String::new(),
        (false, Some(listen), _) => listen,
        (false, None, _) => job.party(me)?.address.clone().ok_or_else(|| {
            Error::Input(format!(
                "parties.{me}.address is missing: {me} listens, being {} party in the file",
                if job.parties.position(me) == Some(0) { "the first" } else { "an earlier" }
            ))
        })?,
    };
    Ok(ConnectPlan { dials, awaits, listen, relay: None, helper: None, announce: None, shape: LinkShape::default() })
}

/// Returns the place at the relay where the parties of a job meet.
pub fn place(job: &JobSpec) -> Result<RelayAddress> {
    let relay = job.relay.clone().unwrap_or_default();
    let address = relay.address.ok_or_else(|| {
        Error::Input(
            "relay.address is missing: say where the relay listens, as address = \"relay.example:7500\"".into(),
        )
    })?;
    let pin = relay.identity.ok_or_else(|| {
        Error::Input(
            "relay.identity is missing: ask the relay's operator for its fingerprint (`tacita identity show`)".into(),
        )
    })?;
    Ok(RelayAddress { address, pin, agreement: job.agreement_in_file(), lane: job.lane() })
}

/// Returns the plan by which a party reaches its helper. This is one that the file names, or the first party in its
/// place, which listens for the others.
fn at_helper(job: &JobSpec, me: &str, listen: Option<String>) -> Result<ConnectPlan> {
    let parties = parties(job)?;
    let first = &parties[0];
    let (address, helper, listens) = match &job.helper {
        Some(helper) => {
            if listen.is_some() {
                return Err(Error::Input(
                    "--listen: the job has a helper, and only the helper listens: leave --listen out".into(),
                ));
            }
            let address = helper.address.clone().ok_or_else(|| {
                Error::Input(
                    "helper.address is missing: say where the helper listens, as address = \"helper.example:7500\""
                        .into(),
                )
            })?;
            let pin = helper.identity.ok_or_else(|| {
                Error::Input(
                    "helper.identity is missing: ask the helper's operator for its fingerprint (`tacita identity show`)".into(),
                )
            })?;
            (address, Peer { name: "the helper".into(), pin }, None)
        }
        None => {
            let missing = || {
                Error::Input(format!(
                    "parties.{}.address is missing: it listens, being the first party of a job without [helper]",
                    first.name
                ))
            };
            let address = job.party(&first.name)?.address.clone();
            let helper = Peer { name: format!("{}, in the helper's place,", first.name), pin: first.pin };
            match (first.name == me, listen) {
                (true, listen) => {
                    let listens = listen.or(address).ok_or_else(missing)?;
                    (String::new(), helper, Some(listens))
                }
                (false, None) => (address.ok_or_else(missing)?, helper, None),
                (false, Some(_)) => {
                    return Err(Error::Input(format!(
                        "--listen: {me} dials {}, the first party in the file: leave it out",
                        first.name
                    )));
                }
            }
        }
    };
    let mut meeting = ConnectPlan::at(depot::HelperAddress { address, helper, parties });
    meeting.listen = listens.unwrap_or_default();
    Ok(meeting)
}

/// Returns all parties of a job, whose identities have to be known.
pub fn parties(job: &JobSpec) -> Result<Vec<Peer>> {
    let peer = |(name, party): &(String, Party)| {
        let pin = party.identity.ok_or_else(|| {
            Error::Input(format!(
                "parties.{name}.identity is missing: ask {name} for its fingerprint (`tacita identity show`)"
            ))
        })?;
        Ok(Peer { name: name.clone(), pin })
    };
    job.parties.0.iter().map(peer).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::agreement::{Bucket, Protocol, Terms};

    const A: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const B: &str = "SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    const R: &str = "SHA256:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE";

    fn job(id: &str, more: &str) -> JobSpec {
        let text = format!(
            "job = \"intersect\"\nid = \"{id}\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n{more}\n[parties.a]\naddress = \"a:1\"\nidentity = \
             \"{A}\"\n[parties.b]\nidentity = \"{B}\"\n"
        );
        JobSpec::parse(&text, false).unwrap()
    }

    #[test]
    fn the_later_party_dials_the_earlier_one_by_its_fingerprint() {
        let job = job("t", "");
        let (a, b) = (meeting(&job, "a", None).unwrap(), meeting(&job, "b", None).unwrap());
        assert_eq!((a.dials.len(), a.awaits), (0, vec![Peer { name: "b".into(), pin: B.parse().unwrap() }]));
        assert_eq!(b.dials, [(Peer { name: "a".into(), pin: A.parse().unwrap() }, "a:1".to_owned())]);
        assert_eq!((a.listen.as_str(), b.awaits.len()), ("a:1", 0));
    }

    /// At a relay those of one job meet, and of a job on many machines those of one attempt at a bucket.
    #[test]
    fn a_place_at_a_relay_is_for_one_job_and_lane() {
        let relay = format!("[relay]\naddress = \"r:1\"\nidentity = \"{R}\"");
        let (one, other) = (job("t", &relay), job("u", &relay));
        let of_job = place(&one).unwrap();
        assert_eq!((of_job.agreement, of_job.lane), (Terms::of(&one).agreement_bytes(), 0));
        assert_eq!(of_job.pin, R.parse().unwrap());
        assert_ne!(of_job.agreement, place(&other).unwrap().agreement);
        let bucket = |number, attempt| {
            let (session, bounds) = ("run".to_owned(), BTreeMap::new());
            let (counts, facts, told, pooled) = (None, Value::Null, None, None);
            let bucket = Bucket { session, number, of: 2, attempt, bounds, counts, facts, told, pooled };
            place(&one.of_bucket(bucket, Protocol::named("vole"), &BTreeMap::new()).unwrap()).unwrap()
        };
        let places = [of_job, bucket(0, 0), bucket(0, 1), bucket(1, 0)];
        assert!(places.iter().all(|place| place.agreement == places[0].agreement));
        let lanes: std::collections::BTreeSet<_> = places.iter().map(|place| place.lane).collect();
        assert_eq!(lanes.len(), places.len());
    }
}
