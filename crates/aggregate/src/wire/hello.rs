//! Statement that a service makes about itself before anything else.

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

/// Statement of a service about itself and the requester.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// The fingerprint of its terms, in hexadecimal.
    pub agreement: String,
    /// Name of the service within the job, such as `proxy-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Version of the service.
    pub version: String,
    /// Clock of the service, in milliseconds since 1970.
    pub clock: u64,
    /// Name of the requester in the service's list of participants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
}

impl ServiceInfo {
    /// Refuses to go on under another name than that by which the service knows this identity.
    ///
    /// Errors ([`Error::Input`]): it is another one, or `by` has no participant of this identity.
    pub fn check_name(&self, me: &str, by: &str) -> Result<()> {
        match &self.participant {
            Some(name) if name == me => Ok(()),
            Some(name) => Err(Error::Input(format!(
                "--as {me}: {by} knows this identity as {name}: use --as {name}, or the identity of {me}"
            ))),
            None => Err(Error::Input(format!(
                "--as {me}: to {by} this identity is no participant's: use the identity that its list of participants has for {me}"
            ))),
        }
    }
}
