//! The model itself: what is not waited for may be lost, and nothing else.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use super::*;

const CHILD: &str = "TACITA_TEST_CUTS";

/// Replaces a file in the way that is right, and then without waiting for what is in it.
#[test]
#[ignore = "the process that is recorded"]
fn child() {
    let Ok(home) = std::env::var(CHILD) else { return };
    let home = Path::new(&home);
    let directory = home.join("kept");
    std::fs::create_dir(&directory).unwrap();
    File::open(home).unwrap().sync_all().unwrap();
    for (text, waits) in [("one", true), ("two", false)] {
        let mut file = File::create_new(directory.join("part")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        if waits {
            file.sync_data().unwrap();
        }
        std::fs::rename(directory.join("part"), directory.join("file")).unwrap();
        File::open(&directory).unwrap().sync_all().unwrap();
        tell(home, "replaced", usize::from(!waits) + 1);
    }
}

/// Returns the content of the file after each number of reported steps.
fn found(syncs: Syncs) -> BTreeSet<(usize, Option<String>)> {
    let recording = Recording::of("crashes::tests::child", CHILD);
    let all = Mutex::new(BTreeSet::new());
    recording.cuts("kept", syncs).keep("model", |home| {
        let file = std::fs::read(home.join("kept/file")).ok();
        let text = file.map(|bytes| String::from_utf8(bytes).unwrap().replace('\0', "0"));
        all.lock().unwrap().insert((told(home, "replaced"), text));
    });
    all.into_inner().unwrap()
}

#[test]
fn what_is_not_waited_for_may_be_lost_and_nothing_else() {
    let all = found(Syncs::All);
    let after = |told: usize| -> Vec<&str> {
        all.iter().filter(|(before, _)| *before == told).map(|(_, text)| text.as_deref().unwrap_or("-")).collect()
    };
    assert_eq!(after(0), ["-", "one"]);
    assert_eq!(after(1), ["", "000", "one", "t", "tw", "two"]);
    assert_eq!(after(2), ["", "000", "t", "tw", "two"]);
    let lost = |syncs, told: usize, text: Option<&str>| {
        assert!(found(syncs).contains(&(told, text.map(str::to_owned))), "{syncs:?}");
    };
    lost(Syncs::None, 2, None);
    lost(Syncs::OfFiles, 2, None);
    lost(Syncs::OfDirectories, 1, Some(""));
}
