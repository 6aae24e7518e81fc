//! Sizes and choices that the terms do not allow.

use super::*;

#[test]
fn sizes_beyond_the_terms_are_violations() {
    let too_many = u64::from(u32::MAX) + 1;
    for me in NAMES {
        let job = rows();
        for (key, value) in [
            ("items", json!(1001)),
            ("items", json!(too_many)),
            ("items", json!(u64::MAX)),
            ("items", json!(-1)),
            ("items", json!(1.5)),
            ("items", json!("5")),
            ("items", json!(null)),
            ("surprise", json!(1)),
            // Columns that nobody gives.
            ("entries", json!(5)),
            ("row_bytes", json!(9)),
            ("schema", json!("01")),
            // Halves of a prepared part, and one of a party that learns.
            ("epoch", json!("ab".repeat(32))),
            ("tag_bytes", json!(8)),
        ] {
            let what = format!("{key} = {value}");
            refused(&job, me, &changed(&job, me, SIZES, key, value), ErrorKind::Protocol, &what);
        }
        let prepared = json!({
            "items": 5, "entries": 0, "row_bytes": 0, "schema": "", "epoch": "ab".repeat(32), "tag_bytes": 8
        });
        refused(&job, me, &with(&job, me, SIZES, prepared.to_string()), ErrorKind::Protocol, "a part of a learner");

        let job = payload("");
        let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
        let other = schema(&["other".to_owned()]);
        let good = schema(job.given_by(peer));
        for (key, value) in [
            ("entries", json!(1001)),
            ("entries", json!(too_many)),
            ("entries", json!(4)),
            ("entries", json!(0)),
            ("items", json!(0)),
            ("row_bytes", json!(0)),
            ("row_bytes", json!(8)),
            ("row_bytes", json!(u32::MAX)),
            ("schema", json!("")),
            ("schema", json!("zz")),
            ("schema", json!(good[..good.len() - 2])),
            ("schema", json!(format!("{good}00"))),
            ("schema", json!(other)),
            ("schema", json!("ff".repeat(100_000))),
        ] {
            let what = format!("{key} = {value:.40}");
            refused(&job, me, &changed(&job, me, SIZES, key, value), ErrorKind::Protocol, &what);
        }
    }
}

#[test]
fn fewer_keys_than_were_agreed_on_are_a_violation() {
    for me in NAMES {
        let least = job("reveal_to = [\"hospital\", \"insurer\"]", "min_rows = 4");
        refused(&least, me, &changed(&least, me, SIZES, "items", json!(3)), ErrorKind::Protocol, "too few keys");
        play(&least, me, &changed(&least, me, SIZES, "items", json!(4)), false).0.unwrap();
    }
}

#[test]
fn padded_sizes_are_the_bound_and_nothing_else() {
    for me in NAMES {
        let plain = job("reveal_to = [\"hospital\", \"insurer\"]", "pad_to = 20");
        for items in [0, 5, 19, 21] {
            refused(&plain, me, &changed(&plain, me, SIZES, "items", json!(items)), ErrorKind::Protocol, "no padding");
        }
        let (outcome, _) = play(&plain, me, &changed(&plain, me, SIZES, "items", json!(20)), false);
        outcome.unwrap();

        let padded = payload("pad_to = 20");
        let peer = NAMES.into_iter().find(|name| *name != me).unwrap();
        let sizes = |entries: u64| {
            let schema = schema(padded.given_by(peer));
            let sizes = json!({"items": 20, "entries": entries, "row_bytes": 9, "schema": schema});
            with(&padded, me, SIZES, sizes.to_string())
        };
        play(&padded, me, &sizes(20), false).0.unwrap();
        for entries in [19, 21, 1000] {
            refused(&padded, me, &sizes(entries), ErrorKind::Protocol, "given rows without padding");
        }
    }
}

#[test]
fn only_a_fitting_prepared_part_is_accepted() {
    let job = job("reveal_to = [\"hospital\"]", "");
    let script = |epoch: Value, tag_bytes: Value| {
        let sizes = json!({
            "items": 5, "entries": 0, "row_bytes": 0, "schema": "", "epoch": epoch, "tag_bytes": tag_bytes
        });
        with(&job, "hospital", SIZES, sizes.to_string())
    };
    let epoch = json!("ab".repeat(32));
    // 1000 rows at most, so 10 * 1000 * 1000 queries of 5 keys: (43 + log2(5 * 10^7)) / 8 bytes, rounded up.
    play(&job, "hospital", &script(epoch.clone(), json!(9)), false).0.unwrap();
    for (epoch, tag_bytes) in [
        (epoch.clone(), json!(0)),
        (epoch.clone(), json!(1)),
        (epoch.clone(), json!(8)),
        (epoch.clone(), json!(10)),
        (epoch.clone(), json!(33)),
        (epoch.clone(), json!(u32::MAX)),
        (epoch, json!(-1)),
        (json!("ab".repeat(31)), json!(9)),
        (json!("zz".repeat(32)), json!(9)),
        (json!(""), json!(9)),
    ] {
        let what = format!("epoch {epoch}, tags of {tag_bytes}");
        refused(&job, "hospital", &script(epoch, tag_bytes), ErrorKind::Protocol, &what);
    }
}

#[test]
fn only_a_run_on_disk_that_can_be_is_accepted() {
    let job = rows();
    let script = |job: &JobSpec, work: Value| {
        let sizes = json!({"items": 5, "entries": 0, "row_bytes": 0, "schema": "", "work": work});
        with(job, "hospital", SIZES, sizes.to_string())
    };
    let kept = |key: &str, value: Value| {
        let mut kept = json!({"run": "ab".repeat(32), "finished": 3, "buckets": 8, "protocol": "vole"});
        kept[key] = value;
        json!({"memory": 1 << 20, "kept": kept})
    };
    for work in [json!({"memory": 1 << 20}), kept("finished", json!(0)), kept("protocol", json!("ecdh"))] {
        play(&job, "hospital", &script(&job, work), false).0.unwrap();
    }
    let bad = [
        json!([]),
        json!({}),
        json!({"memory": 0}),
        json!({"memory": -1}),
        json!({"memory": 1 << 20, "surprise": 1}),
        kept("run", json!("zz".repeat(32))),
        kept("run", json!("ab".repeat(31))),
        kept("finished", json!(9)),
        kept("finished", json!(-1)),
        kept("buckets", json!(0)),
        kept("buckets", json!(65_537)),
        kept("protocol", json!("ot")),
        kept("protocol", json!("auto")),
        kept("surprise", json!(1)),
    ];
    for work in bad {
        refused(&job, "hospital", &script(&job, work.clone()), ErrorKind::Protocol, &format!("work = {work}"));
    }
    // Where nothing can be on disk.
    let job = payload("");
    let sizes = changed(&job, "hospital", SIZES, "work", json!({"memory": 1 << 20}));
    refused(&job, "hospital", &sizes, ErrorKind::Protocol, "a table on disk in another job");
}

#[test]
fn the_protocol_is_the_chosen_one_or_none() {
    let auto = rows();
    let named = job("protocol = \"ecdh\"\nreveal_to = [\"hospital\", \"insurer\"]", "");
    let count = job("reveal = \"count\"\nreveal_to = [\"hospital\", \"insurer\"]", "");
    let malicious = job("security = \"malicious\"\nreveal_to = [\"hospital\"]", "");
    for job in [&auto, &named, &count, &malicious] {
        for me in NAMES {
            let long = [b'e'; 65];
            for word in [&b""[..], b"auto", b"VOLE", b"ECDH", b"ecdh ", b"\xff\xfe", &long] {
                refused(job, me, &with(job, me, CHOICE, word), ErrorKind::Protocol, "another protocol");
            }
        }
    }
    // What the terms do not allow, although it exists: another than the named one, one that has no counts, one that
    // does not hold against cheating parties.
    let bloom = job("protocol = \"bloom\"\nreveal_to = [\"hospital\"]", "");
    let ruled_out: [(_, &[u8]); 4] = [(&named, b"vole"), (&count, b"vole"), (&malicious, b"ecdh"), (&auto, b"bloom")];
    for (job, word) in ruled_out {
        for me in NAMES {
            refused(job, me, &with(job, me, CHOICE, word), ErrorKind::Protocol, "a protocol that the terms rule out");
        }
    }
    for (job, word, protocol) in [(&auto, &b"vole"[..], vole::PROTOCOL), (&bloom, b"bloom", bloom::PROTOCOL)] {
        let (outcome, _) = play(job, "insurer", &with(job, "insurer", CHOICE, word), false);
        assert_eq!(outcome.unwrap().chosen.protocol, protocol);
    }
}
