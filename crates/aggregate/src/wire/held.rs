//! The list of rounds whose secrets a proxy has, in parts: an answer has a bound, and rounds that were removed are told
//! for good.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tacita_core::Result;

use super::rounds::check_name;
use super::same_keys::KeysFingerprint;

/// Bytes of a list of rounds.
pub(crate) const MAX_LIST_BYTES: usize = 1 << 22;

/// Rounds that are asked for at once: each takes at most 200 bytes of an answer.
pub(crate) const PAGE_ROUNDS: usize = 1 << 12;

/// Rounds of a proxy that are taken note of, at most: it follows half as many.
const MAX_ROUNDS: usize = 1 << 18;

/// Statement of a proxy to oracles, and other proxies, about its secrets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Held {
    /// Rounds whose secrets it has, with the fingerprints of their keys.
    pub rounds: BTreeMap<String, KeysFingerprint>,
    /// Rounds that were removed.
    pub removed: Vec<String>,
}

impl Held {
    /// The names of all rounds in it.
    fn names(&self) -> BTreeSet<&String> {
        self.rounds.keys().chain(&self.removed).collect()
    }

    /// Returns the part with this many rounds behind one, in the order of their names.
    pub(crate) fn part(mut self, after: Option<&str>, limit: usize) -> Held {
        let is_behind = |name: &&&String| after.is_none_or(|after| name.as_str() > after);
        let part: BTreeSet<String> =
            self.names().iter().filter(is_behind).take(limit).map(|name| (*name).clone()).collect();
        self.rounds.retain(|name, _| part.contains(name));
        self.removed.retain(|name| part.contains(name));
        self
    }

    /// Collects all parts, each of [`PAGE_ROUNDS`] rounds at most, that `ask` gets behind a name.
    ///
    /// Errors: those of `ask`; what is wrong with a part, in words.
    pub(crate) fn whole(
        mut ask: impl FnMut(Option<&str>) -> Result<Held>,
    ) -> Result<std::result::Result<Held, &'static str>> {
        let (mut all, mut after, mut rounds) = (Held::default(), None::<String>, 0);
        loop {
            let part = ask(after.as_deref())?;
            let names = part.names();
            if !names.iter().all(|name| check_name(name).is_ok()) {
                return Ok(Err("it names a round as no round can be named"));
            }
            let is_in_order = names.first().is_none_or(|first| after.as_ref().is_none_or(|after| *first > after));
            if !is_in_order || names.len() > PAGE_ROUNDS {
                return Ok(Err("its list of rounds is not split as requested"));
            }
            rounds += names.len();
            let is_last = names.len() < PAGE_ROUNDS;
            after = names.last().map(|name| (*name).clone());
            all.rounds.extend(part.rounds);
            all.removed.extend(part.removed);
            if is_last {
                return Ok(Ok(all));
            }
            if rounds >= MAX_ROUNDS {
                return Ok(Err("it has more rounds than an oracle follows"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(rounds: usize, removed: usize) -> Held {
        let name = |place: usize| format!("r{place:06}");
        Held {
            rounds: (0..rounds).map(|place| (name(2 * place), KeysFingerprint([7; 32]))).collect(),
            removed: (0..removed).map(|place| name(2 * place + 1)).collect(),
        }
    }

    /// Also of more rounds than one answer has room for.
    #[test]
    fn parts_are_the_whole_and_each_fits_an_answer() {
        for (rounds, removed) in [(0, 0), (1, 0), (PAGE_ROUNDS, 0), (3, PAGE_ROUNDS), (20_000, 30_000)] {
            let mut asked = 0;
            let whole = Held::whole(|after| {
                asked += 1;
                let part = held(rounds, removed).part(after, PAGE_ROUNDS);
                assert!(serde_json::to_vec(&part).unwrap().len() < MAX_LIST_BYTES);
                Ok(part)
            });
            let (whole, all) = (whole.unwrap().unwrap(), held(rounds, removed));
            assert!(whole.rounds == all.rounds && whole.removed == all.removed, "{rounds} {removed}");
            assert_eq!(asked, (rounds + removed) / PAGE_ROUNDS + 1);
        }
    }

    /// A proxy that tells the same part again, too much, or what is no name, is not followed.
    #[test]
    fn parts_that_were_not_asked_for_are_refused() {
        let told = |part: fn(Option<&str>) -> Held| Held::whole(|after| Ok(part(after))).unwrap().unwrap_err();
        assert!(told(|_| held(PAGE_ROUNDS, 0)).contains("not split"));
        assert!(told(|_| held(PAGE_ROUNDS + 1, 0)).contains("not split"));
        assert!(
            told(|_| Held { removed: vec!["a&limit=0".into()], ..Held::default() }).contains("no round can be named")
        );
    }
}
