//! The power fails while files are replaced as all that a role keeps is: its list of participants, its rounds, its
//! keys, its sealed parts.

use std::path::Path;

use tacita_node::base::folder::Folder;
use tacita_node::store::seal::{self, SealKey, SealedReader};
use zeroize::Zeroizing;

use super::{Recording, Syncs, tell, told};

const CHILD: &str = "TACITA_TEST_FILES";

const VERSIONS: usize = 4;

fn key() -> SealKey {
    SealKey::new(Zeroizing::new([5; 32]))
}

fn content(version: usize) -> Vec<u8> {
    vec![version as u8; 300 * version]
}

fn folder(home: &Path) -> Folder {
    Folder::make(&home.join("state/of/a-role")).unwrap()
}

#[test]
#[ignore = "the process that is recorded"]
fn child() {
    let Ok(home) = std::env::var(CHILD) else { return };
    let home = Path::new(&home);
    for version in 1..=VERSIONS {
        let folder = folder(home);
        folder.write("plain", &content(version)).unwrap();
        tell(home, "plain", version);
        seal::put(&folder, "sealed", &key(), "test", content(version), String::new()).unwrap();
        tell(home, "sealed", version);
    }
}

fn is_kept(home: &Path) {
    let folder = folder(home);
    let is_told = |name: &str, found: Option<Vec<u8>>| {
        let told = told(home, name);
        let known = [told, told + 1].map(|version| (version > 0).then(|| content(version)));
        assert!(known.contains(&found), "something else than version {told} or the next, for {name}");
    };
    is_told("plain", std::fs::read(folder.at("plain")).ok());
    let sealed = folder.has("sealed").then(|| {
        SealedReader::open(&folder, "sealed", &key(), "test").and_then(|reader| reader.only()).unwrap().to_vec()
    });
    is_told("sealed", sealed);
}

#[test]
fn wherever_the_power_fails_a_file_is_the_one_before_or_the_next() {
    let recording = Recording::of("crashes::files::child", CHILD);
    recording.cuts("state", Syncs::All).keep("files", is_kept);
    for syncs in [Syncs::None, Syncs::OfFiles, Syncs::OfDirectories] {
        assert!(!recording.cuts("state", syncs).wrong(1, is_kept).is_empty(), "{syncs:?}");
    }
}
