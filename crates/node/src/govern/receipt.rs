//! Receipts: each party of a connection signs that a run has begun, before the first message with data, and that it has
//! ended.
//!
//! A receipt proves who agreed to what, with how many rows, and when the signer says that it was. It says nothing about
//! the data: no message is in it, not even as a digest, which would make what was sent provable to others. A party that
//! leaves with a result has signed that the run began. The key is one for receipts alone, certified by the identity.

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use crate::base::hex::{hex, unhex};
use crate::base::text::json;
use crate::govern::time::UtcTime;
use crate::identity::{Fingerprint, Identity, SigningKey, ed25519_fingerprint, verify};

/// Version of the receipts' format.
const VERSION: u32 = 1;

/// Beginnings of the messages that are signed.
const CERTIFICATE_CONTEXT: &[u8] = b"tacita 1 receipt key\0";
const RECEIPT_CONTEXT: &[u8] = b"tacita 1 receipt\0";

/// Maximum length of a receipt in bytes, on the wire and in a file.
pub const MAX_RECEIPT_BYTES: usize = 1 << 16;

/// Maximum length of a file of receipts in bytes.
const MAX_FILE_BYTES: u64 = 1 << 24;

/// Phase that a run has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The parties have agreed, and no message with data was sent.
    Begun,
    /// The signer has sent its last message to the other party.
    Ended,
}

/// Facts of a run that all its parties know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFacts {
    /// Hash of the run's session, in hexadecimal.
    pub run: String,
    /// Fingerprint of the terms, in hexadecimal.
    pub agreement: String,
    /// The kind of job, and the parties' name for it.
    pub job: String,
    /// The parties' name for the job.
    pub id: String,
    /// Protocol that was chosen.
    pub protocol: String,
    /// Epsilon, or epsilon and delta, that the run is charged for the rows of each party from which another learns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<String>,
    /// The parties, in the order of the job file.
    pub parties: Vec<PartyFacts>,
}

/// Facts of one party of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartyFacts {
    /// Name of the party in the job.
    pub name: String,
    /// Fingerprint of its key.
    pub identity: String,
    /// Whether it learns the result.
    pub learns: bool,
    /// Number of rows, or keys, that it has announced.
    pub announced: u64,
}

/// Statement that a party signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    tacita_receipt: u32,
    /// Phase that the run has reached.
    pub phase: Phase,
    /// The party that signs.
    pub by: String,
    /// The party that it is given to.
    pub to: String,
    /// Facts of the run.
    pub facts: RunFacts,
    /// Time, by the clock of the signer.
    pub time: UtcTime,
    /// Number of the entry in the signer's ledger; 0 without one.
    pub entry: u64,
    /// Salted hash of the head of the signer's ledger, in hexadecimal.
    pub head: String,
}

/// Statement with its signature. Keys and signatures are in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Statement that is signed.
    pub statement: Statement,
    identity: String,
    key: String,
    certificate: String,
    signature: String,
}

/// Receipts of one phase of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipts {
    /// Salt of the own ledger's head, in hexadecimal; it is in the ledger alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub salt: String,
    /// Own receipts, one for each peer.
    pub own: Vec<Receipt>,
    /// Receipts of the peers.
    pub peers: Vec<Receipt>,
}

/// A file of receipts: those of a run at one party.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptFile {
    tacita_receipts: u32,
    /// Receipts of the beginning.
    pub begun: Receipts,
    /// Receipts of the end.
    pub ended: Receipts,
}

/// Place of a run in the signer's ledger, as its receipts have it.
#[derive(Debug, Clone, Default)]
pub struct LedgerState {
    /// Number of the entry; 0 without a ledger.
    pub entry: u64,
    /// Salted hash of the head, in hexadecimal.
    pub head: String,
}

/// Key with which an identity signs its receipts.
pub struct ReceiptKey {
    key: SigningKey,
    identity: String,
    certificate: String,
}

impl ReceiptKey {
    /// Derives the key of an identity, and certifies it.
    pub fn of(identity: &Identity) -> Result<ReceiptKey> {
        let key = identity.signing_key("receipt");
        let (identity, certificate) = identity.sign(&[CERTIFICATE_CONTEXT, &key.public()?].concat())?;
        Ok(ReceiptKey { key, identity: hex(&identity), certificate: hex(&certificate) })
    }

    /// Signs that a run has reached a phase.
    pub fn sign(&self, phase: Phase, by: &str, to: &str, facts: &RunFacts, ledger: &LedgerState) -> Result<Receipt> {
        let LedgerState { entry, head } = ledger.clone();
        let (by, to, facts, time) = (by.to_owned(), to.to_owned(), facts.clone(), UtcTime::now());
        let statement = Statement { tacita_receipt: VERSION, phase, by, to, facts, time, entry, head };
        let (key, signature) = self.key.sign(&statement.message()?)?;
        let (identity, certificate) = (self.identity.clone(), self.certificate.clone());
        Ok(Receipt { statement, identity, key: hex(&key), certificate, signature: hex(&signature) })
    }
}

impl Statement {
    fn message(&self) -> Result<Vec<u8>> {
        let statement = json(serde_json::to_vec(self))?;
        Ok([RECEIPT_CONTEXT, &statement].concat())
    }
}

impl Receipt {
    /// Reads a receipt as it travels.
    pub fn decode(bytes: &[u8]) -> Option<Receipt> {
        serde_json::from_slice(bytes).ok().filter(|_| bytes.len() <= MAX_RECEIPT_BYTES)
    }

    /// Writes it as it travels.
    pub fn encode(&self) -> Result<Vec<u8>> {
        json(serde_json::to_vec(self))
    }

    /// Checks the signatures: that of the statement, and that of its key by the identity of the party that it names as
    /// its signer.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.statement.tacita_receipt != VERSION {
            return Err("it is of another version".into());
        }
        let identity = bytes(&self.identity).ok_or("its identity has a wrong length")?;
        let key: [u8; 32] = bytes(&self.key).ok_or("its key has a wrong length")?;
        let certificate = bytes(&self.certificate).ok_or("its certificate has a wrong length")?;
        let signature = bytes(&self.signature).ok_or("its signature has a wrong length")?;
        let parties = &self.statement.facts.parties;
        let signer = parties.iter().find(|party| party.name == self.statement.by).ok_or("its signer is no party")?;
        if signer.identity != ed25519_fingerprint(&identity).to_string() {
            return Err(format!("its key is not of {}", signer.identity));
        }
        if !verify(&identity, &[CERTIFICATE_CONTEXT, &key].concat(), &certificate) {
            return Err("its key is not certified by the identity".into());
        }
        let message = self.statement.message().map_err(|error| error.to_string())?;
        if verify(&key, &message, &signature) { Ok(()) } else { Err("its signature is wrong: it was changed".into()) }
    }

    /// Checks that it is the receipt that `by` has to give to `to` in this run.
    pub fn check_about(&self, phase: Phase, by: &str, to: &str, facts: &RunFacts) -> std::result::Result<(), String> {
        let Statement { phase: its_phase, by: its_by, to: its_to, facts: its_facts, .. } = &self.statement;
        if (*its_phase, its_by.as_str(), its_to.as_str()) != (phase, by, to) || its_facts != facts {
            return Err("it is about another run, or another phase of it".into());
        }
        self.check()
    }
}

impl Receipts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.peers.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &Receipt> {
        self.own.iter().chain(&self.peers)
    }

    /// Checks that `me` has given one receipt to each of these others, and has one from each.
    fn check_mirrored(&self, me: &String, others: &[&String]) -> std::result::Result<(), String> {
        let own = self.own.iter().map(|own| (&own.statement.by, &own.statement.to));
        let theirs = self.peers.iter().map(|peer| (&peer.statement.to, &peer.statement.by));
        for mut pairs in [own.collect::<Vec<_>>(), theirs.collect()] {
            pairs.sort_unstable();
            if !pairs.iter().copied().eq(others.iter().map(|other| (me, *other))) {
                return Err("each party has to have one receipt for each other, and one in return".into());
            }
        }
        Ok(())
    }
}

impl ReceiptFile {
    /// Creates the file with what there is of a run.
    pub fn new(begun: Receipts, ended: Receipts) -> ReceiptFile {
        let without = |receipts| Receipts { salt: String::new(), ..receipts };
        ReceiptFile { tacita_receipts: VERSION, begun: without(begun), ended: without(ended) }
    }

    /// Reads a file of receipts, and checks all of them: each is signed by the party that it names, all are about one
    /// run, and for each given one there is one in return.
    ///
    /// Errors ([`Error::Input`]): one is not; the text says which.
    pub fn load(path: &std::path::Path) -> Result<ReceiptFile> {
        let fault = |what: &str| Error::Input(format!("{}: {what}", path.display()));
        let length = std::fs::metadata(path).map_err(|error| fault(&format!("cannot be read: {error}")))?.len();
        if length > MAX_FILE_BYTES {
            return Err(fault("too large for receipts"));
        }
        let bytes = std::fs::read(path).map_err(|error| fault(&format!("cannot be read: {error}")))?;
        let file: ReceiptFile =
            serde_json::from_slice(&bytes).map_err(|error| fault(&format!("no receipts: {error}")))?;
        file.check().map_err(|what| fault(&what))?;
        Ok(file)
    }

    /// The facts that all receipts are about.
    pub fn facts(&self) -> Option<&RunFacts> {
        self.begun.all().next().map(|receipt| &receipt.statement.facts)
    }

    fn check(&self) -> std::result::Result<(), String> {
        if self.tacita_receipts != VERSION {
            return Err("receipts of another version".into());
        }
        let facts = self.facts().ok_or("there are no receipts")?;
        let phases = [(Phase::Begun, &self.begun), (Phase::Ended, &self.ended)];
        for (phase, receipts) in phases {
            for receipt in receipts.all() {
                let Statement { by, to, .. } = &receipt.statement;
                let named = format!("the receipt of {} for {}", by.escape_debug(), to.escape_debug());
                receipt.check_about(phase, by, to, facts).map_err(|what| format!("{named}: {what}"))?;
            }
        }
        let me = &self.begun.own.first().ok_or("there are no own receipts")?.statement.by;
        let mut others: Vec<&String> =
            facts.parties.iter().map(|party| &party.name).filter(|name| *name != me).collect();
        others.sort_unstable();
        self.begun.check_mirrored(me, &others)?;
        // A run that was cut off has not ended with all.
        let mut with: Vec<&String> = self.ended.own.iter().map(|own| &own.statement.to).collect();
        with.sort_unstable();
        with.dedup();
        if !with.iter().all(|name| others.contains(name)) {
            return Err("a receipt is for a party that is not of the job".into());
        }
        self.ended.check_mirrored(me, &with)
    }
}

/// Facts of a party.
impl PartyFacts {
    /// Facts of a party with this key.
    pub fn new(name: &str, identity: Fingerprint, learns: bool, announced: u64) -> PartyFacts {
        PartyFacts { name: name.to_owned(), identity: identity.to_string(), learns, announced }
    }
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    unhex(text)?.try_into().ok()
}

#[cfg(test)]
mod tests;
