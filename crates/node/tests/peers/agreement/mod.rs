//! Agreement between parties: the terms of jobs, job files that are refused, and the handshake among several.

mod mesh;
mod refused;
mod sentences;
mod terms;

/// Fingerprints of two parties, and of somebody else.
const A: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const B: &str = "SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const C: &str = "SHA256:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE";

/// A job of two, of every kind, with these keys.
fn two(job: &str, keys: &str) -> String {
    format!(
        "job = \"{job}\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\n{keys}\n[parties.a]\nidentity = \"{A}\"\n[parties.b]\nidentity = \"{B}\"\n"
    )
}

/// A job of two by one key.
fn intersection(keys: &str, limits: &str) -> String {
    let key =
        "[key]\ncolumns = [\"x\", \"y\"]\nnormalize = [\"name\", \"none\"]\nduplicates = \"all\"\nnulls = \"skip\"";
    two("intersect", &format!("{keys}\n{key}\n[limits]\nmax_rows = 100\n{limits}"))
}

/// A list that one party serves to many.
fn live(limits: &str) -> String {
    let text = format!("[clients]\nallow = \"desks.txt\"\n[key]\ncolumns = [\"x\"]\n[limits]\npad_to = 100\n{limits}");
    two("intersect", &text).replace("[\"a\", \"b\"]", "[\"a\"]").replace(&format!("identity = \"{A}\"\n"), "")
}

/// `text` with `new` in the place of `old`, which is there.
#[track_caller]
fn changed(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old} is not in\n{text}");
    text.replace(old, new)
}
