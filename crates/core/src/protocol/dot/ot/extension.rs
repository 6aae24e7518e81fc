//! Source of the OTs: the extension that the parties run.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::primitive::ot::softspoken::{self, MAX_K};
use crate::security::Security;

/// Extension that makes OTs out of the base OTs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// SoftSpoken with this k, 1 to 8: 128 / k bits an OT, and the more computation the larger k is.
    SoftSpoken(usize),
    /// Silent COT: a little more than one bit an OT, one flight more each way, and more computation and memory.
    Silent,
}

const NAMES: [&str; MAX_K] = [
    "softspoken-1",
    "softspoken-2",
    "softspoken-3",
    "softspoken-4",
    "softspoken-5",
    "softspoken-6",
    "softspoken-7",
    "softspoken-8",
];

const SILENT: &str = "silent";

impl Extension {
    /// The word for it: `softspoken-1` to `softspoken-8`, or `silent`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Extension::SoftSpoken(k) => NAMES.get(k.wrapping_sub(1)).copied().unwrap_or("softspoken"),
            Extension::Silent => SILENT,
        }
    }

    /// SoftSpoken's parameters, if that is what it is. Fails for a k that is not possible.
    pub(super) fn softspoken(&self) -> Result<Option<softspoken::Params>> {
        match self {
            Extension::SoftSpoken(k) => softspoken::Params::new(Security::SemiHonest, *k).map(Some),
            Extension::Silent => Ok(None),
        }
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Extension {
    type Err = Error;

    fn from_str(word: &str) -> Result<Extension> {
        let softspoken = (1..).zip(NAMES).find(|(_, name)| *name == word).map(|(k, _)| Extension::SoftSpoken(k));
        softspoken.or((word == SILENT).then_some(Extension::Silent)).ok_or_else(|| {
            let shown: String = word.chars().take(60).collect::<String>().escape_debug().collect();
            Error::Input(format!(
                "extension = \"{shown}\" is unknown: use \"softspoken-1\" to \"softspoken-8\", or \"silent\""
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let all = (1..=MAX_K).map(Extension::SoftSpoken).chain([Extension::Silent]);
        for extension in all {
            assert_eq!(extension.name().parse::<Extension>().unwrap(), extension);
        }
        for word in ["", "softspoken", "softspoken-0", "softspoken-9", "Silent", "silent "] {
            assert!(matches!(word.parse::<Extension>(), Err(Error::Input(_))), "{word}");
        }
    }
}
