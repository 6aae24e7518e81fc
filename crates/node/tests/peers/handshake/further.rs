//! Claims that fit some of the terms and not all: of several keys, of parts that were prepared, of texts, and of what
//! was chosen.

use tacita_node::table::PayloadSchema;

use super::*;

/// A job by two keys, of which one is enough.
fn several(limits: &str) -> JobSpec {
    let text = format!(
        "job = \"intersect\"\nid = \"test\"\nreveal_to = [\"hospital\"]\n[key]\nany = [[\"name\"], [\"dob\"]]\n[limits]\nmax_rows = 1000\n\
         {limits}\n[parties.hospital]\n[parties.insurer]\n"
    );
    JobSpec::parse(&text, false).unwrap()
}

fn by_keys(items: u64, any: &[Value]) -> Vec<u8> {
    json!({"items": items, "entries": 0, "row_bytes": 0, "schema": "", "any": any}).to_string().into()
}

fn by_key(items: u64) -> Value {
    json!({"items": items, "entries": 0, "row_bytes": 0, "schema": ""})
}

#[test]
fn sizes_by_several_keys_fit_each_other_and_the_limits() {
    let job = several("");
    for me in NAMES {
        let sizes = |items: u64, any: &[Value]| with(&job, me, SIZES, by_keys(items, any));
        play(&job, me, &sizes(5, &[by_key(5), by_key(3)]), false).0.unwrap();
        let given = json!({"items": 5, "entries": 1001, "row_bytes": 0, "schema": ""});
        let again = json!({"items": 5, "entries": 0, "row_bytes": 0, "schema": "", "any": [by_key(5), by_key(5)]});
        for (what, items, any) in [
            ("no keys", 5, vec![]),
            ("one key of two", 5, vec![by_key(5)]),
            ("three keys of two", 5, vec![by_key(5), by_key(3), by_key(3)]),
            ("fewer than by one", 4, vec![by_key(5), by_key(3)]),
            ("more than by any", 6, vec![by_key(5), by_key(3)]),
            ("rows beyond the limit by one", 5, vec![by_key(5), given]),
            ("keys of keys", 5, vec![by_key(5), again]),
        ] {
            refused(&job, me, &sizes(items, &any), ErrorKind::Protocol, what);
        }
        let padded = several("pad_to = 20");
        let sizes = |one, other| with(&padded, me, SIZES, by_keys(20, &[by_key(one), by_key(other)]));
        play(&padded, me, &sizes(20, 20), false).0.unwrap();
        refused(&padded, me, &sizes(20, 3), ErrorKind::Protocol, "sets by one key that are not padded");
    }
}

/// Both parties run the protocol that was chosen. Neither answers the choice with another protocol, though the terms
/// would allow that.
#[test]
fn a_choice_is_confirmed_and_not_changed() {
    let job = rows();
    play(&job, "insurer", &with(&job, "insurer", CHOICE, "vole"), false).0.unwrap();
    refused(
        &job,
        "hospital",
        &with(&job, "hospital", CHOICE, "vole"),
        ErrorKind::Protocol,
        "another protocol than ecdh",
    );
}

#[test]
fn a_prepared_part_is_of_who_does_not_learn_and_for_a_protocol_that_uses_it() {
    let part = |tags: u64| json!({"items": 5, "entries": 0, "row_bytes": 0, "schema": "", "epoch": "ab".repeat(32), "tag_bytes": tags});
    // As long as they have to be where one learns.
    let fitting = part(9).to_string();
    let one = job("reveal_to = [\"hospital\"]", "");
    play(&one, "hospital", &with(&one, "hospital", SIZES, fitting.clone()), false).0.unwrap();
    for me in NAMES {
        refused(&rows(), me, &with(&rows(), me, SIZES, fitting.clone()), ErrorKind::Protocol, "a part of a learner");
    }
    let other = job("protocol = \"vole\"\nreveal_to = [\"hospital\"]", "");
    refused(&other, "hospital", &with(&other, "hospital", SIZES, fitting), ErrorKind::Protocol, "a part for vole");

    // A sender whose part was prepared, and a receiver that chooses what cannot use it.
    let own = Sizes { epoch: Some("ab".repeat(32)), tag_bytes: Some(9), ..sizes(5) };
    for (choice, taken) in [("ecdh", true), ("vole", false)] {
        let (mut peer, mut channel) = Channel::pair("hospital", "insurer");
        for (label, payload) in with(&one, "insurer", CHOICE, choice) {
            peer.send(label, payload).unwrap();
        }
        let ended = shake(&one, "insurer", &own, &EXPORTER, 1, &mut channel);
        assert_eq!(ended.map_err(|error| error.kind()).err(), (!taken).then_some(ErrorKind::Protocol), "{choice}");
    }
}

/// If the terms limit the queries to a part, nobody answers without a part: nobody would count them.
#[test]
fn a_bound_on_questions_asks_for_a_part_that_counts() {
    for limit in ["max_queries = 20", "max_clients = 3"] {
        let job = job("reveal_to = [\"hospital\"]", limit);
        refused(&job, "hospital", &honest(&job, "insurer"), ErrorKind::Terms, limit);
        play(&job, "insurer", &honest(&job, "hospital"), false).0.unwrap();
    }
}

/// The length of the longest text does not show where a bound hides it.
#[test]
fn given_texts_are_filled_up_to_their_bound() {
    let job = payload("max_text = 30");
    for me in NAMES {
        let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
        let sizes = |bytes: u64| {
            let schema = PayloadSchema::of_texts(job.given_by(peer), bytes).unwrap();
            let text = tacita_node::base::hex::hex(&schema.encode());
            let sizes = json!({"items": 5, "entries": 6, "row_bytes": schema.row_bytes(), "schema": text});
            with(&job, me, SIZES, sizes.to_string())
        };
        play(&job, me, &sizes(30), false).0.unwrap();
        for bytes in [0, 29, 31] {
            refused(&job, me, &sizes(bytes), ErrorKind::Protocol, "texts of another length");
        }
    }
}
