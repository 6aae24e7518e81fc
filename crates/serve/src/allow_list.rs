//! Allow-list of those who may ask: a file with a name and an identity on each line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tacita_core::{Error, Result};
use tacita_node::base::text::shown;
use tacita_node::base::text_file::read_text;
use tacita_node::identity::Fingerprint;

/// Maximum length of such a file in bytes.
const MAX_FILE_BYTES: u64 = 1 << 22;

/// Allow-list of those who may ask, as the file says.
pub struct AllowList {
    path: PathBuf,
    seen: Option<(SystemTime, u64)>,
    names: BTreeMap<String, String>,
    fingerprints: Vec<Fingerprint>,
}

impl AllowList {
    /// Reads the allow-list from its file.
    ///
    /// Errors ([`Error::Input`]): it cannot be read, or a line of it.
    pub fn read(path: &Path) -> Result<AllowList> {
        let failed =
            |error: std::io::Error| Error::Input(format!("{}: cannot read the allow-list: {error}", path.display()));
        let seen = facts(path);
        if seen.is_some_and(|(_, length)| length > MAX_FILE_BYTES) {
            return Err(Error::Input(format!("{}: too large for a list of desks", path.display())));
        }
        let text = read_text(path).map_err(failed)?;
        let (names, fingerprints) = parse(&text).map_err(|(line, what)| {
            Error::Input(format!(
                "{}, line {line}: {what}: write a name, a blank and SHA256:..., as `tacita identity show` prints it",
                path.display()
            ))
        })?;
        Ok(AllowList { path: path.to_owned(), seen, names, fingerprints })
    }

    /// Whether the file has changed since it was read.
    pub fn is_stale(&self) -> bool {
        facts(&self.path) != self.seen
    }

    /// The same file, as it is now.
    pub fn read_again(&mut self) -> Result<()> {
        let seen = facts(&self.path);
        match AllowList::read(&self.path) {
            Ok(desks) => {
                *self = desks;
                Ok(())
            }
            Err(error) => {
                // Told once, until it changes again.
                self.seen = seen;
                Err(error)
            }
        }
    }

    /// Returns the name of an identity, if it may ask.
    pub fn name(&self, who: &Fingerprint) -> Option<&str> {
        self.names.get(&who.to_string()).map(String::as_str)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the fingerprints of all who may ask.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        self.fingerprints.clone()
    }
}

fn facts(path: &Path) -> Option<(SystemTime, u64)> {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

/// Names by fingerprint, and all fingerprints.
type Admitted = (BTreeMap<String, String>, Vec<Fingerprint>);

/// Parses the lines; or returns the number of the wrong line, and its fault.
fn parse(text: &str) -> std::result::Result<Admitted, (usize, String)> {
    let (mut names, mut fingerprints) = (BTreeMap::<String, String>::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |what: String| (number + 1, what);
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, identity] = words[..] else { return Err(wrong("it has not two words".into())) };
        if name.len() > 64 || !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) {
            return Err(wrong(format!("\"{}\" is no name: use letters, digits, - _ and .", shown(name))));
        }
        let who: Fingerprint =
            identity.parse().map_err(|_| wrong(format!("\"{}\" is no identity", shown(identity))))?;
        if names.values().any(|known| known == name) {
            return Err(wrong(format!("{name} is listed twice")));
        }
        if names.insert(who.to_string(), name.to_owned()).is_some() {
            return Err(wrong("this identity is listed twice".into()));
        }
        fingerprints.push(who);
    }
    Ok((names, fingerprints))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_or_said_to_be_wrong() {
        let (one, other) = (format!("SHA256:{}A", "A".repeat(42)), format!("SHA256:{}A", "B".repeat(42)));
        let text = format!("# desks\n\ngate-1 {one}  # the first\n gate_2\t{other}\n");
        let (names, fingerprints) = parse(&text).unwrap();
        assert_eq!((names.len(), fingerprints.len()), (2, 2));
        assert_eq!(names[&one], "gate-1");
        for (wrong, line) in [
            (format!("{one}\n"), 1),
            (format!("a {one}\nb {one}\n"), 2),
            (format!("a {one}\na {other}\n"), 2),
            (format!("a b {one}\n"), 1),
            ("a SHA256:short\n".into(), 1),
            (format!("a/b {one}\n"), 1),
        ] {
            assert_eq!(parse(&wrong).unwrap_err().0, line, "{wrong}");
        }
    }
}
