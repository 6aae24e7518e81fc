//! The protocols, as job files name them.

use std::str::FromStr;

use tacita_core::{Error, Result};

use super::words::{later, unknown};

/// The protocol that a job runs, as the file names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The first party chooses by sizes and network.
    #[default]
    Auto,
    /// Diffie-Hellman: see `tacita_core::protocol::intersect::ecdh`.
    Ecdh,
    /// Vector oblivious linear evaluation: see `tacita_core::protocol::intersect::vole`.
    Vole,
    /// Oblivious Bloom intersection: see `tacita_core::protocol::intersect::bloom`.
    Bloom,
    /// Oblivious transfer: see `tacita_core::protocol::dot::ot`.
    Ot,
    /// Homomorphic encryption: see `tacita_core::protocol::dot::lattice`.
    Lattice,
    /// Paillier's encryption: see `tacita_core::protocol::dot::paillier`.
    Paillier,
    /// Goldwasser and Micali's encryption, and Bloom filters: see `tacita_core::protocol::dot::gm_bloom`.
    GmBloom,
    /// Nothing but sending shares: see `tacita_core::protocol::dot::reveal`.
    Open,
}

impl Protocol {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Auto => "auto",
            Protocol::Ecdh => "ecdh",
            Protocol::Vole => "vole",
            Protocol::Bloom => "bloom",
            Protocol::Ot => "ot",
            Protocol::Lattice => "lattice",
            Protocol::Paillier => "paillier",
            Protocol::GmBloom => "gm-bloom",
            Protocol::Open => "open",
        }
    }

    /// Whether it is there as a paper has it, for who names it, and costs more than others that do the same.
    pub fn is_published(self) -> bool {
        matches!(self, Protocol::Paillier | Protocol::GmBloom)
    }
}

impl FromStr for Protocol {
    type Err = Error;

    fn from_str(word: &str) -> Result<Protocol> {
        let all = [
            Protocol::Auto,
            Protocol::Vole,
            Protocol::Ecdh,
            Protocol::Bloom,
            Protocol::Ot,
            Protocol::Lattice,
            Protocol::Paillier,
            Protocol::GmBloom,
            Protocol::Open,
        ];
        let instead = "\"auto\", \"vole\", \"ecdh\" or \"bloom\" (intersect), \"ot\", \"lattice\", \"paillier\" or \"gm-bloom\" \
                       (dot, rules)";
        match all.into_iter().find(|protocol| protocol.name() == word) {
            Some(protocol) => Ok(protocol),
            None => match word {
                "polynomial" | "star" | "outsourced" | "outsourced-bloom" | "dh" | "naor-reingold" => {
                    later("protocol", word, instead)
                }
                _ => unknown("protocol", word, instead),
            },
        }
    }
}
