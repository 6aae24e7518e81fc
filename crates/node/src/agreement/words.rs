//! Job files hold words; these are the types that the words stand for.

use serde::de::{Deserialize, Deserializer};

use super::from_word;
use crate::identity::Fingerprint;
use crate::table::{Duplicates, Nulls, Profile};

impl Duplicates {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Duplicates::All => "all",
            Duplicates::First => "first",
            Duplicates::Error => "error",
        }
    }
}

impl Nulls {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Nulls::Skip => "skip",
            Nulls::Error => "error",
        }
    }
}

/// Reads each type from the word that stands for it.
macro_rules! deserialize_from_word {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_word(deserializer)
            }
        }
    )*};
}

deserialize_from_word!(super::Protocol, super::Reveal, super::Operation, Duplicates, Nulls, Profile, Fingerprint);
