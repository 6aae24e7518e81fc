//! Outputs that must not change without a decision. They are the terms of jobs and their fingerprints, messages on
//! wrong job files, who learns what, plans, and the keys of reports. Share files, prepared parts and work directories
//! hold fingerprints and terms.
//!
//! Each test compares with a file beside this one. `TACITA_GOLDENS=write cargo test --release -p tacita --test goldens`
//! writes them anew: look at the difference before it is committed.

mod jobs;
mod plans;
mod refused;
mod reports;
mod terms;

use std::path::Path;

/// Compares `found` with what is kept in a file.
#[track_caller]
fn compare(file: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/goldens").join(file);
    if std::env::var("TACITA_GOLDENS").is_ok_and(|what| what == "write") {
        std::fs::write(&path, found).unwrap();
        return;
    }
    let kept = crate::common::text(&path);
    let differ = kept.lines().zip(found.lines()).enumerate().find(|(_, (kept, found))| kept != found);
    if let Some((place, (kept, found))) = differ {
        panic!("{file}, line {}:\n  it was  {kept}\n  it is   {found}", place + 1);
    }
    assert_eq!(kept.len(), found.len(), "{file}: one of them goes on where the other ends");
}
