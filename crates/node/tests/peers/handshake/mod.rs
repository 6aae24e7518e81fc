//! The handshake against a peer that plays by a script: every message missing, spoilt, or saying what it must not; and
//! the session that two honest parties arrive at, computed a second time from what `docs/wire.md` says.

mod claims;
mod further;
mod messages;
mod sessions;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use tacita_core::channel::{Channel, Label};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Error, ErrorKind, Result};
use tacita_node::agreement::handshake::{self, HandshakeResult};
use tacita_node::agreement::{Chosen, JobSpec, Sizes, Terms};
use tacita_node::jobs::intersect;
use tacita_node::jobs::intersect::methods::published::bloom;
use tacita_node::jobs::intersect::methods::{ecdh, vole};

const HELLO: Label = Label::new(0xf0, "hello");
const SIZES: Label = Label::new(0xf1, "sizes");
const CHOICE: Label = Label::new(0xf2, "choice");

const MAX_MESSAGE_BYTES: usize = 262_144;
const EXPORTER: [u8; 32] = [7; 32];
const NAMES: [&str; 2] = ["hospital", "insurer"];

fn job(head: &str, limits: &str) -> JobSpec {
    let text = format!(
        "job = \"intersect\"\nid = \"test\"\n{head}\n[key]\ncolumns = [\"name\"]\nnormalize = [\"name\"]\n\
         [limits]\nmax_rows = 1000\n{limits}\n[parties.hospital]\n[parties.insurer]\n"
    );
    JobSpec::parse(&text, false).unwrap()
}

fn rows() -> JobSpec {
    job("reveal_to = [\"hospital\", \"insurer\"]", "")
}

/// Returns a job in which both parties give a column, and both learn.
fn payload(limits: &str) -> JobSpec {
    let gives = "gives = { hospital = [\"ward\"], insurer = [\"payer\"] }";
    job(&format!("reveal = \"payload\"\nreveal_to = [\"hospital\", \"insurer\"]\n{gives}"), limits)
}

fn sizes(items: u64) -> Sizes {
    Sizes { items, ..Sizes::default() }
}

/// The whole handshake of one party, and the checks of what the peer brings.
fn shake(
    job: &JobSpec,
    me: &str,
    own: &Sizes,
    exporter: &[u8; 32],
    seed: u8,
    channel: &mut Channel,
) -> Result<HandshakeResult> {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let greeted = handshake::greet(job, me, exporter, channel, &mut rng)?;
    let check = |theirs: &_, channel: &_| intersect::check_peer(job, own, theirs, channel);
    handshake::settle(greeted, job, me, own, check, |_| Ok(Chosen::only(ecdh::PROTOCOL)), channel)
}

/// Messages of a peer.
type Script = Vec<(Label, Vec<u8>)>;

/// Returns the messages of an honest party named `as`.
fn honest(job: &JobSpec, name: &str) -> Script {
    let given = !job.given_by(name).is_empty();
    let sizes = if given {
        json!({"items": 5, "entries": 6, "row_bytes": 9, "schema": schema(job.given_by(name))})
    } else {
        json!({"items": 5, "entries": 0, "row_bytes": 0, "schema": ""})
    };
    vec![(HELLO, hello(job, name).to_string().into()), (SIZES, sizes.to_string().into()), (CHOICE, b"ecdh".to_vec())]
}

fn hello(job: &JobSpec, name: &str) -> Value {
    json!({
        "tacita": 5,
        "version": "0.1.0",
        "as": name,
        "nonce": "ab".repeat(32),
        "profiles": ["name"],
        "terms": Terms::of(job).json(),
    })
}

/// One integer column, as `docs/wire.md` writes it.
fn schema(columns: &[String]) -> String {
    let name = columns[0].as_bytes();
    let mut bytes = vec![1, 1, 0, 2, 0, 0, 8, 0, 0, 0, name.len() as u8, 0];
    bytes.extend_from_slice(name);
    tacita_node::base::hex::hex(&bytes)
}

/// Runs `me` against a peer that says all of `script` at once and then, if it `leaves`, hangs up. Returns what comes of
/// it, and what the peer is told of it.
fn play(job: &JobSpec, me: &str, script: &Script, leaves: bool) -> (Result<HandshakeResult>, Option<ErrorKind>) {
    let (hospital, insurer) = Channel::pair("hospital", "insurer");
    let (mut channel, mut peer) = if me == "hospital" { (hospital, insurer) } else { (insurer, hospital) };
    for (label, payload) in script {
        peer.send(*label, payload.clone()).unwrap();
    }
    let mut peer = Some(peer);
    if leaves {
        peer = None;
    }
    let own = match job.given_by(me) {
        [] => sizes(3),
        columns => Sizes { items: 3, entries: 3, row_bytes: 9, schema: schema(columns), ..Sizes::default() },
    };
    let outcome = shake(job, me, &own, &EXPORTER, 1, &mut channel);
    match &outcome {
        Ok(_) => drop(channel),
        Err(error) => channel.abort(error),
    }
    // What was said to it comes first, in its order.
    let told = peer.and_then(|mut peer| {
        let failed = [HELLO, SIZES, CHOICE].into_iter().find_map(|label| peer.receive_up_to(label, 1 << 20).err());
        match failed {
            Some(Error::Peer { kind, .. }) => Some(kind),
            _ => None,
        }
    });
    (outcome, told)
}

/// Checks that a script ends with an error of this kind, in one line, that blames the peer.
#[track_caller]
fn refused(job: &JobSpec, me: &str, script: &Script, kind: ErrorKind, what: &str) {
    let (outcome, _) = play(job, me, script, false);
    let error = outcome.err().unwrap_or_else(|| panic!("{me} accepts {what}"));
    assert_eq!(error.kind(), kind, "{me}, {what}: {error}");
    let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
    let text = error.to_string();
    assert!(text.contains(peer) && !text.contains(['\n', '\u{1b}']) && text.len() < 2000, "{me}, {what}: {text}");
}

/// An honest script with one message replaced.
fn with(job: &JobSpec, me: &str, label: Label, payload: impl Into<Vec<u8>>) -> Script {
    let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
    let payload = payload.into();
    let replaced = |(known, old)| if known == label { (known, payload.clone()) } else { (known, old) };
    honest(job, peer).into_iter().map(replaced).collect()
}

/// An honest script with one key of a JSON message changed.
fn changed(job: &JobSpec, me: &str, label: Label, key: &str, value: Value) -> Script {
    let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
    let (_, payload) = honest(job, peer).into_iter().find(|(known, _)| *known == label).unwrap();
    let mut message: Value = serde_json::from_slice(&payload).unwrap();
    message[key] = value;
    with(job, me, label, message.to_string())
}
