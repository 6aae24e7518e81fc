//! Key exchange of all TLS connections: which groups both ends offer, and which of them a connection has taken.

mod hybrid;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, LazyLock};

use rustls::crypto::{CryptoProvider, ring};
use rustls::{CommonState, NamedGroup};
use tacita_core::{Error, Result};

/// The environment variable that, set to `classical`, keeps a process from offering a post-quantum key exchange: for
/// networks in which a first message of two packets is lost.
pub const KEY_EXCHANGE_VARIABLE: &str = "TACITA_KEY_EXCHANGE";

/// Groups that an end of a connection offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferedGroups {
    /// X25519MLKEM768 first, then the classical ones, for other ends that have nothing else.
    Hybrid,
    /// The classical ones alone.
    Classical,
}

impl OfferedGroups {
    /// Returns the groups that the environment asks for: [`OfferedGroups::Hybrid`] without [`KEY_EXCHANGE_VARIABLE`].
    ///
    /// Errors ([`Error::Input`]): it has another value.
    pub fn of_environment() -> Result<OfferedGroups> {
        match std::env::var_os(KEY_EXCHANGE_VARIABLE) {
            None => Ok(OfferedGroups::Hybrid),
            Some(value) if value.is_empty() => Ok(OfferedGroups::Hybrid),
            Some(value) if value == "classical" => Ok(OfferedGroups::Classical),
            Some(value) => Err(Error::Input(format!(
                "{KEY_EXCHANGE_VARIABLE} is {value:?}: set it to `classical` to offer no post-quantum key exchange, or leave it out"
            ))),
        }
    }

    /// Returns the cryptography of a connection with these groups.
    pub fn provider(self) -> Arc<CryptoProvider> {
        static HYBRID: LazyLock<Arc<CryptoProvider>> = LazyLock::new(|| {
            let mut provider = ring::default_provider();
            provider.kx_groups.insert(0, hybrid::X25519MLKEM768);
            Arc::new(provider)
        });
        match self {
            OfferedGroups::Hybrid => HYBRID.clone(),
            OfferedGroups::Classical => Arc::new(ring::default_provider()),
        }
    }

    /// The group that two ends with these take.
    #[cfg(test)]
    pub(crate) fn first(self) -> NegotiatedGroup {
        NegotiatedGroup(self.provider().kx_groups[0].name())
    }
}

/// Returns the cryptography of every TLS connection of this process.
///
/// Errors: as of [`OfferedGroups::of_environment`].
pub fn provider() -> Result<Arc<CryptoProvider>> {
    OfferedGroups::of_environment().map(OfferedGroups::provider)
}

/// The group that a connection has taken for its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NegotiatedGroup(NamedGroup);

impl NegotiatedGroup {
    /// Returns the group of a connection whose handshake is over.
    pub fn of(connection: &CommonState) -> Result<NegotiatedGroup> {
        let group = connection.negotiated_key_exchange_group();
        group.map(|group| NegotiatedGroup(group.name())).ok_or_else(|| Error::Internal("TLS without its keys".into()))
    }

    /// Whether it withstands quantum computers: whoever records the connection cannot read it later.
    pub fn is_post_quantum(self) -> bool {
        self.0 == NamedGroup::X25519MLKEM768
    }

    /// The one of several that protects least; `None` of none.
    pub fn weakest(groups: impl IntoIterator<Item = NegotiatedGroup>) -> Option<NegotiatedGroup> {
        groups.into_iter().reduce(|one, other| if one.is_post_quantum() { other } else { one })
    }
}

impl fmt::Display for NegotiatedGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
