//! Messages between drivers. They speak in turn: first the leader, which is the first party's driver, then each of
//! the others.

use std::collections::BTreeMap;
use std::net::ToSocketAddrs;

use crate::base::text::json;
use serde::{Deserialize, Serialize};
use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

/// Maximum number of words in one message.
pub const MAX_WORDS: usize = 4096;

/// Maximum length of a message in bytes.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// Maximum length of an address: a name of a host, and a port.
const MAX_ADDRESS_BYTES: usize = 261;

/// Message from one driver to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
pub enum DriverMessage {
    /// Own work of this party's machines is done; from the leader: that of all.
    Ready,
    /// Announcement that so many buckets can be done here at a time.
    Slots {
        /// Number of buckets at a time.
        slots: u32,
    },
    /// Instruction from the leader to begin with a bucket.
    Start {
        /// Number of the bucket.
        bucket: u32,
        /// Number of earlier attempts at the bucket.
        attempt: u32,
        /// Listening addresses of the machines of earlier parties that do it, by the parties' names.
        at: BTreeMap<String, String>,
    },
    /// Notice to the leader that the machine for the bucket listens here.
    Stands {
        /// Number of the bucket.
        bucket: u32,
        /// Number of the attempt at it.
        attempt: u32,
        /// Address of the machine.
        address: String,
    },
    /// Notice to the leader that what this party learns of the bucket is kept.
    Done {
        /// Number of the bucket.
        bucket: u32,
        /// Number of the attempt at it.
        attempt: u32,
    },
    /// Notice to the leader that the bucket did not finish here, and may be tried again.
    Failed {
        /// Number of the bucket.
        bucket: u32,
        /// Number of the attempt at it.
        attempt: u32,
        /// The party that has ended it by itself, as its machine has told: it needs no [`DriverMessage::Stop`], and
        /// knows why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Notice from the leader that the bucket has failed elsewhere.
    Stop {
        /// Number of the bucket.
        bucket: u32,
        /// Number of the attempt at it.
        attempt: u32,
    },
    /// Notice from the leader that all buckets are done.
    End,
}

impl DriverMessage {
    /// Whether a peer may say it, in a job with so many buckets of which these are the parties.
    fn is_possible(&self, from_leader: bool, buckets: usize, parties: &[&str]) -> bool {
        let (bucket, of_leader) = match self {
            DriverMessage::Ready => return true,
            DriverMessage::Slots { slots } => return !from_leader && (1..=1 << 16).contains(slots),
            DriverMessage::End => return from_leader,
            DriverMessage::Start { bucket, at, .. } => {
                let known = at.iter().all(|(name, address)| parties.contains(&name.as_str()) && is_address(address));
                (known.then_some(bucket), true)
            }
            DriverMessage::Stop { bucket, .. } => (Some(bucket), true),
            DriverMessage::Stands { bucket, address, .. } => (is_address(address).then_some(bucket), false),
            DriverMessage::Done { bucket, .. } => (Some(bucket), false),
            DriverMessage::Failed { bucket, by, .. } => {
                let known = by.as_deref().is_none_or(|name| parties.contains(&name));
                (known.then_some(bucket), false)
            }
        };
        of_leader == from_leader && bucket.is_some_and(|bucket| (*bucket as usize) < buckets)
    }
}

/// Whether this can be where a machine listens: a host and a port, and nothing that is looked up here.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']');
    let literal = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(|inner| (inner, 0u16).to_socket_addrs().is_ok()),
        None => !host.contains([':', '[', ']']),
    };
    let named = !host.is_empty() && text.len() <= MAX_ADDRESS_BYTES && text.bytes().all(plain);
    named && literal && port.parse::<u16>().is_ok_and(|port| port > 0 && port.to_string() == text[host.len() + 1..])
}

/// A message of these words.
pub(super) fn write(words: &[DriverMessage]) -> Result<Vec<u8>> {
    let bytes = json(serde_json::to_vec(words))?;
    if words.len() <= MAX_WORDS && bytes.len() <= MAX_MESSAGE_BYTES {
        Ok(bytes)
    } else {
        Err(Error::Internal(format!("{} words at a time", words.len())))
    }
}

/// The words of a peer's message; or why there are none.
pub fn parse(
    bytes: &[u8],
    from_leader: bool,
    buckets: usize,
    parties: &[&str],
) -> std::result::Result<Vec<DriverMessage>, String> {
    let words: Vec<DriverMessage> = serde_json::from_slice(bytes).map_err(|_| "`drivers` cannot be read".to_owned())?;
    let possible = |word: &DriverMessage| word.is_possible(from_leader, buckets, parties);
    if words.len() <= MAX_WORDS && words.iter().all(possible) {
        Ok(words)
    } else {
        Err("`drivers` has impossible values".into())
    }
}

/// The words of what came over a channel.
pub(super) fn read(
    bytes: &[u8],
    from_leader: bool,
    buckets: usize,
    parties: &[&str],
    channel: &Channel,
) -> Result<Vec<DriverMessage>> {
    parse(bytes, from_leader, buckets, parties).map_err(|wrong| channel.violation(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_is_taken() {
        let start = |at: &str| format!("[{{\"what\":\"start\",\"bucket\":3,\"attempt\":0,\"at\":{at}}}]");
        let good = |text: &str, from_leader| parse(text.as_bytes(), from_leader, 4, &["a", "b"]).is_ok();
        assert!(good("[]", true) && good("[]", false));
        assert!(good("[{\"what\":\"ready\"}]", true) && good("[{\"what\":\"ready\"}]", false));
        assert!(good(&start("{}"), true) && !good(&start("{}"), false));
        assert!(good(&start("{\"a\":\"node-1.example:7400\"}"), true));
        assert!(good(&start("{\"a\":\"[::1]:7400\"}"), true));
        for at in [
            "{\"c\":\"x:1\"}",
            "{\"a\":\"x\"}",
            "{\"a\":\":1\"}",
            "{\"a\":\"x:0\"}",
            "{\"a\":\"x:99999\"}",
            "{\"a\":\"x y:1\"}",
            "{\"a\":\"::1:1\"}",
            "{\"a\":\"[x:1\"}",
            "{\"a\":\"x:+1\"}",
            "{\"a\":\"x:01\"}",
        ] {
            assert!(!good(&start(at), true), "{at}");
        }
        assert!(!good(&start("{}").replace('3', "4"), true), "a bucket that there is not");
        assert!(good("[{\"what\":\"end\"}]", true) && !good("[{\"what\":\"end\"}]", false));
        assert!(
            good("[{\"what\":\"slots\",\"slots\":2}]", false) && !good("[{\"what\":\"slots\",\"slots\":0}]", false)
        );
        assert!(!good("[{\"what\":\"done\",\"bucket\":0,\"attempt\":0,\"more\":1}]", false));
        let failed = |more: &str| format!("[{{\"what\":\"failed\",\"bucket\":0,\"attempt\":0{more}}}]");
        assert!(
            good(&failed(""), false) && good(&failed(",\"by\":\"a\""), false) && !good(&failed(",\"by\":\"c\""), false)
        );
        assert!(
            !good("[{\"what\":\"done\",\"bucket\":-1,\"attempt\":0}]", false)
                && !good("[{\"what\":\"else\"}]", true)
                && !good("{}", true)
        );
        let many = format!("[{}]", vec!["{\"what\":\"end\"}"; MAX_WORDS + 1].join(","));
        assert!(!good(&many, true));
        let words = vec![DriverMessage::Stands { bucket: 1, attempt: 2, address: "10.0.0.1:80".into() }];
        assert_eq!(parse(&write(&words).unwrap(), false, 4, &[]).unwrap(), words);
    }
}
