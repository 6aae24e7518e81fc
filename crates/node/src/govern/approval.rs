//! Approvals: an organisation's own keys sign that a job may be run, so often and so long, before a policy with
//! `approve` allows it.
//!
//! An approval covers the terms by their fingerprint, and what the terms leave open: the party, and the columns of its
//! own table that stand for the agreed names.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Terms};
use crate::base::hex::{hex, unhex};
use crate::base::random::fill_random;
use crate::base::text::json;
use crate::govern::columns::UsedColumns;
use crate::govern::time::Day;
use crate::identity::{Fingerprint, Identity, ed25519_fingerprint, verify};

/// Directory of approvals beside a policy.
pub const APPROVALS: &str = "approvals";

const VERSION: u32 = 1;

/// Beginning of each message that is signed.
const CONTEXT: &[u8] = b"tacita 1 approval\0";

/// Maximum length of a file in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// An approval whose signature is right.
#[derive(Debug, Clone)]
pub struct Approval {
    body: Body,
    approver: Fingerprint,
}

/// Everything that is signed, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    tacita_approval: u32,
    /// 16 random bytes in hexadecimal.
    id: String,
    agreement: String,
    party: String,
    columns: BTreeMap<String, String>,
    /// Columns that the job uses of this party, by the job's names: terms leave items of `rules` to each party.
    uses: Vec<String>,
    runs: u64,
    until: Day,
}

/// The file of an approval.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    approval: Body,
    /// Public key of the approver, in hexadecimal.
    key: String,
    signature: String,
}

impl Approval {
    /// Signs that `me` may run the job `runs` times, until the end of a day (UTC). Returns the file.
    pub fn sign(job: &JobSpec, me: &str, runs: u64, until: Day, identity: &Identity) -> Result<String> {
        if UsedColumns::of(job, me).unnamed {
            return Err(Error::Input(
                "the job does not name the columns of its items, so that an approval would be for any: name them, as in items = [\"item\"]"
                    .into(),
            ));
        }
        let mut id = [0; 16];
        fill_random(&mut id)?;
        let body = Body {
            tacita_approval: VERSION,
            id: hex(&id),
            agreement: Terms::of(job).agreement(),
            party: me.to_owned(),
            columns: job.party(me)?.columns.clone(),
            uses: job.job.columns(job, me),
            runs,
            until,
        };
        let (key, signature) = identity.sign(&body.message()?)?;
        let signed = Signed { approval: body, key: hex(&key), signature: hex(&signature) };
        let text = json(serde_json::to_string_pretty(&signed))?;
        Ok(text + "\n")
    }

    /// Reads an approval, and checks its signature.
    pub fn parse(text: &str) -> std::result::Result<Approval, String> {
        let signed: Signed = serde_json::from_str(text).map_err(|error| format!("no approval: {error}"))?;
        if signed.approval.tacita_approval != VERSION {
            return Err("an approval of another version".into());
        }
        let bytes = |text: &str| unhex(text).unwrap_or_default();
        let (Ok(key), Ok(signature)) = (bytes(&signed.key).try_into(), bytes(&signed.signature).try_into()) else {
            return Err("its key or its signature has a wrong length".into());
        };
        let message = signed.approval.message().map_err(|error| error.to_string())?;
        if !verify(&key, &message, &signature) {
            return Err("its signature is not that of its key: it was changed".into());
        }
        Ok(Approval { body: signed.approval, approver: ed25519_fingerprint(&key) })
    }

    /// Returns all approvals in a directory; none if it is not there. Files that are none are told to the user, and
    /// left out.
    pub fn all_in(directory: &Path) -> Vec<Approval> {
        let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let read = |path: &Path| {
            let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
            if length > MAX_FILE_BYTES {
                return Err("too large for an approval".into());
            }
            Approval::parse(&std::fs::read_to_string(path).map_err(|error| error.to_string())?)
        };
        let tell = |path: &Path| read(path).inspect_err(|what| tracing::warn!("{}: {what}", path.display())).ok();
        paths.iter().filter_map(|path| tell(path)).collect()
    }

    /// Returns the random name of the approval.
    pub fn id(&self) -> String {
        self.body.id.clone()
    }

    /// Returns the key that has signed.
    pub fn approver(&self) -> Fingerprint {
        self.approver
    }

    /// Returns the number of runs that it is for.
    pub fn runs(&self) -> u64 {
        self.body.runs
    }

    /// Whether it is for this job, of this party, now.
    pub fn covers(&self, job: &JobSpec, me: &str, now: Timestamp) -> bool {
        let columns = job.party(me).map(|party| &party.columns);
        self.body.agreement == Terms::of(job).agreement()
            && self.body.party == me
            && columns.is_ok_and(|columns| *columns == self.body.columns)
            && self.body.uses == job.job.columns(job, me)
            && !UsedColumns::of(job, me).unnamed
            && Day::of(now) <= self.body.until
    }
}

impl Body {
    fn message(&self) -> Result<Vec<u8>> {
        let body = json(serde_json::to_vec(self))?;
        Ok([CONTEXT, &body].concat())
    }
}
